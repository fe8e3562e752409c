"""Any series gives a valid PNG, SVG and plotly figure, with the log's values in them, and nothing of the log is taken for markup."""

from __future__ import annotations

import io
import json
import math
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assistant import charts
from assistant.charts.palette import DARK
from assistant.charts.scales import limits, tick
from assistant.diagnosis import Finding, RunView
from tests.builders import run_of

Image = pytest.importorskip("PIL.Image")

ANY = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True, width=64),
    st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, 1.7976931348623157e308, 1e-300, 0.001, 1.0]),
)
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</text></svg><script>alert(1)</script>",
    "a$\\frac{1}{0}$b",
    "%{y} %s {0} [[0]] [[99]]",
    '" onload="alert(1)',
    "奖励/均值🙂\u202e",
    "x" * 400,
    "&lt;b&gt;\x00\x1b[31m",
]
SVG = "{http://www.w3.org/2000/svg}"


def size(image: bytes) -> tuple[int, int]:
    opened = Image.open(io.BytesIO(image))
    opened.verify()
    return opened.size  # type: ignore[no-any-return]


def view(metrics, **more):
    return RunView(run_of(metrics, **more))


def check(panels) -> None:
    assert size(charts.png(panels))[0] > 300
    for language in ("en", "zh"):
        ElementTree.fromstring(charts.svg(panels, language))
        json.loads(json.dumps(charts.figure(panels, language), allow_nan=False))
        assert charts.caption(panels, language)
        assert charts.spoken(panels, language)


@settings(max_examples=14, phases=[Phase.generate], deadline=None)
@given(arrays(np.float64, st.integers(2, 70), elements=ANY), st.booleans(), st.sampled_from([0, 10]), st.sampled_from([None, True]))
def test_any_series_can_be_drawn(values: np.ndarray, evidence: bool, window: int, log: bool | None) -> None:
    seen = view({"m": values.tolist()})
    series = seen.printed("m")
    points = [series.point(0), series.point(-1)]
    panels = charts.panels_of(Finding("entropy-collapse", first_step=2, evidence=points), seen)
    if not evidence:
        panels = charts.panels_of(["m"], seen, window=window, logarithmic=log)
    check(panels)


@settings(max_examples=5, phases=[Phase.generate], deadline=None)
@given(arrays(np.float64, (2, 30), elements=ANY))
def test_any_pair_can_be_drawn(values: np.ndarray) -> None:
    seen = view({"x": values[0].tolist(), "y": values[1].tolist()})
    if panels := charts.against("y", "x", seen):
        check(panels)
    check(charts.overlaid(seen, view({"x": values[1].tolist()}), ["x", "y"], runs=("one.log", "two.log"), parted=5))


@settings(max_examples=5, phases=[Phase.generate], deadline=None)
@given(arrays(np.float64, (3, 12), elements=st.one_of(st.floats(-1e12, 1e12), st.sampled_from([math.nan, math.inf, -math.inf, 0.0]))))
def test_any_times_can_be_drawn(values: np.ndarray) -> None:
    seen = view({"timing_s/step": values[0].tolist(), "timing_s/gen": values[1].tolist(), "timing_s/update_actor": values[2].tolist()})
    if panels := charts.times_of(seen):
        check(panels)


@pytest.mark.parametrize("values", [[1.0, 1.0], [0.0, 0.0], [float("nan")] * 3, [float("inf"), 1.0], [1e300, -1e300], [5e-324, 0.0]])
def test_flat_and_broken_series(values: list[float]) -> None:
    check(charts.panels_of(["m"], view({"m": values})))


def test_a_chart_without_panels_is_refused() -> None:
    for draw in (charts.png, charts.svg, charts.figure):
        with pytest.raises(ValueError, match="without panels"):
            draw(charts.Panels())


def test_a_hundred_thousand_values_stay_small_and_quick() -> None:
    rng = np.random.default_rng(0)
    seen = view({f"m{i}": rng.normal(size=100_000).tolist() for i in range(4)})
    panels = charts.panels_of(list(seen.run.columns), seen)
    assert len(charts.png(panels)) <= 200_000
    assert len(charts.svg(panels)) < 400_000
    assert len(json.dumps(charts.figure(panels))) < 600_000
    assert "of 400000 values drawn" in charts.caption(panels)


def test_the_same_chart_gives_the_same_bytes() -> None:
    seen = view({"m": [1.0, 3.0, 2.0], "n": [1.0, 2.0, 4.0]})
    panels = charts.panels_of(["m", "n"], seen)
    assert charts.png(panels) == charts.png(panels)
    assert charts.svg(panels, "zh") == charts.svg(panels, "zh")


def test_several_threads_can_draw_at_once() -> None:
    seen = view({"m": [1.0, 3.0, 2.0], "n": [1.0, 2.0, 4.0]})
    panels = [charts.panels_of([name], seen) for name in ("m", "n")]
    alone = [(charts.png(one), charts.svg(one)) for one in panels]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda i: (charts.png(panels[i % 2]), charts.svg(panels[i % 2])), range(12)))
    assert together == [alone[i % 2] for i in range(12)]


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    script = (
        "import sys, assistant.charts, assistant.report; print([m for m in ('matplotlib', 'plotly', 'PIL', 'gradio') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_figure_holds_the_logs_values_and_lines() -> None:
    values = [0.4312345, float("nan"), 0.25, float("inf"), 1e-9]
    figure = charts.figure(charts.panels_of(["m"], view({"m": values})))
    line, broken = figure["data"]
    assert line["x"] == [1, 2, 3, 4, 5]
    assert line["y"] == [0.4312345, None, 0.25, None, 1e-9]
    assert line["customdata"] == [["0.4312345", 1], ["nan", 2], ["0.25", 3], ["inf", 4], ["1e-09", 5]]
    assert broken["x"] == [2, 4]
    low, high = figure["layout"]["yaxis"]["range"]
    assert broken["y"] == pytest.approx([10**low, 10**high])


def test_the_svg_draws_the_values_where_they_belong() -> None:
    values = [0.1, 0.9, 0.4, 0.4, 0.7]
    drawing = charts.svg(charts.panels_of(["m"], view({"m": values})))
    paths = [
        re.findall(r"[ML] ([\d.]+) ([\d.]+)", path.get("d", ""))
        for path in ElementTree.fromstring(drawing).iter(f"{SVG}path")
        if "z" not in path.get("d", "")
    ]
    curve = next(points for points in paths if len(points) == len(values))
    heights = [float(y) for _, y in curve]
    slopes = {round((ya - yb) / (b - a), 3) for (ya, yb), (a, b) in zip(pairwise(heights), pairwise(values), strict=True) if a != b}
    assert len(slopes) == 1
    assert slopes.pop() > 0


def test_an_svg_stands_alone() -> None:
    drawing = charts.svg(charts.panels_of(["m"], view({"m": [1.0, 2.0, float("nan")]})), "zh")
    assert drawing.startswith("<svg ")
    assert not re.search(r"<(script|style|image|a|metadata|foreignObject)\b", drawing)
    addresses = set(re.findall(r"https?://[^\"\s]+", drawing))
    assert addresses == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "步" in drawing
    used = set(re.findall(r"var\(--c(\w{6}),", drawing))
    assert used
    assert {f"#{name}" for name in used} <= {name.lower() for name in DARK}
    ids = re.findall(r' id="([^"]+)"', drawing)
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text_and_nothing_else(name: str) -> None:
    seen = view({name: [1.0, 2.0], "timing_s/step": [3.0, 3.0], f"timing_s/{name.replace('/', '')}": [2.0, 1.0]})
    for panels in (charts.panels_of([name], seen), charts.against(name, "timing_s/step", seen), charts.times_of(seen)):
        check(panels)
        drawing, figure = charts.svg(panels), json.dumps(charts.figure(panels))
        root = ElementTree.fromstring(drawing)
        allowed = {"svg", "g", "path", "text", "defs", "use", "clipPath", "rect"}
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= allowed
        assert not [key for element in root.iter() for key in element.attrib if key.lower().startswith("on")]
        assert "<img" not in figure
        assert "<script" not in figure
        assert all("%{y} %s" not in trace.get("hovertemplate", "") for trace in json.loads(figure)["data"])
    text = " ".join(element.text or "" for element in ElementTree.fromstring(charts.svg(charts.panels_of([name], seen))).iter(f"{SVG}text"))
    if len(name) < 80 and name.isprintable():
        assert name in text


@settings(max_examples=200, deadline=None)
@given(arrays(np.float64, st.integers(0, 20), elements=ANY), st.booleans())
def test_limits_hold_every_value(values: np.ndarray, logarithmic: bool) -> None:
    low, high = limits(values, logarithmic)
    assert math.isfinite(low)
    assert math.isfinite(high)
    assert low < high
    shown = np.clip(values[np.isfinite(values)], -1e200, 1e200)
    if logarithmic:
        assert low > 0
        shown = shown[shown > 1e-300]
    if len(shown):
        assert low <= shown.min()
        assert shown.max() <= high


@pytest.mark.parametrize(("value", "text"), [(0.0, "0"), (0.15, "0.15"), (1e-5, "1e-5"), (1e12, "1e12"), (1500.0, "1500"), (-2.5, "-2.5")])
def test_labels_of_an_axis(value: float, text: str) -> None:
    assert tick(value) == text
