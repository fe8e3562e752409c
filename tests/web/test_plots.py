from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assistant.diagnosis import RunView
from assistant.web import plots
from tests.builders import run_of
from tests.web.conftest import finding, hostile, run

pytestmark = pytest.mark.usefixtures("own_cards")


def plot(made, found, language="en"):
    made = plots.plot_of(found, RunView(made), language)
    return made, json.loads(made.figure.to_json())


def test_every_value_is_drawn_and_the_onset_is_marked() -> None:
    made = run()
    shown, figure = plot(made, finding("entropy-collapse", made))
    line = figure["data"][0]
    assert line["x"] == list(range(1, 31))
    assert line["y"] == pytest.approx([0.4 - 0.01 * i for i in range(30)])
    assert [(shape["type"], shape["x0"], shape["x1"]) for shape in figure["layout"]["shapes"]] == [("line", 12, 12), ("rect", 12, 30)]
    assert "since step 12" in [note["text"] for note in figure["layout"]["annotations"]]
    assert figure["data"][1]["x"] == [1, 30]
    assert "nothing smoothed" in shown.caption


def test_one_panel_a_metric() -> None:
    made = run()
    grad = RunView(made).printed("actor/grad_norm")
    found = finding("entropy-collapse", made, evidence=[*finding("entropy-collapse", made).evidence, grad.point(3)])
    _, figure = plot(made, found)
    lower, upper = figure["layout"]["yaxis2"]["domain"], figure["layout"]["yaxis"]["domain"]
    assert lower[1] < upper[0]
    assert {trace["yaxis"] for trace in figure["data"]} == {"y", "y2"}


def test_values_that_are_no_numbers_are_shown() -> None:
    made = run_of({"actor/entropy": [0.4, float("nan"), 0.3, float("inf"), 0.2]})
    shown, figure = plot(made, finding("entropy-collapse", made))
    assert figure["data"][0]["y"] == [0.4, None, 0.3, None, 0.2]
    crosses = [trace for trace in figure["data"] if trace.get("marker", {}).get("symbol") == "x"]
    assert crosses[0]["x"] == [2, 4]
    assert "2 values are NaN or Inf" in shown.caption


@pytest.mark.parametrize(("values", "expected"), [([1e-6, 1e-4, 1.0], True), ([0.0, 1e-4, 1.0], False), ([1.0, 2.0, 900.0], False)])
def test_a_wide_span_gets_a_logarithmic_axis(values: list[float], expected: bool) -> None:
    made = run_of({"actor/entropy": values})
    _, figure = plot(made, finding("entropy-collapse", made))
    assert (figure["layout"]["yaxis"].get("type") == "log") is expected
    assert any("log scale" in note["text"] for note in figure["layout"]["annotations"]) is expected


def test_a_single_step_or_no_metric_gives_no_plot() -> None:
    made = run_of({"actor/entropy": [0.4]})
    assert plots.plot_of(finding("entropy-collapse", made), RunView(made), "en") is None
    made = run()
    assert plots.plot_of(finding("entropy-collapse", made, evidence=[]), RunView(made), "en") is None


def test_long_runs_are_thinned_and_say_so() -> None:
    values = np.sin(np.arange(20_000) / 50)
    values[12_345] = 40.0
    made = run_of({"actor/entropy": values.tolist()})
    shown, figure = plot(made, finding("entropy-collapse", made, first_step=5_000))
    drawn = len(figure["data"][0]["x"])
    assert drawn <= plots.MOST_POINTS + 2
    assert 40.0 in figure["data"][0]["y"]
    assert f"{drawn} of 20000 values drawn" in shown.caption


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, st.integers(1, 400), elements=st.floats(allow_nan=True, allow_infinity=True, width=32)))
def test_thinning_keeps_both_ends_and_the_extremes(values: np.ndarray) -> None:
    kept = plots.thinned(values, 40)
    assert len(kept) <= 42
    assert kept[0] == 0
    assert kept[-1] == len(values) - 1
    assert (np.diff(kept) > 0).all()
    finite = values[np.isfinite(values)]
    if len(finite):
        shown = values[kept]
        shown = shown[np.isfinite(shown)]
        assert shown.min() == finite.min()
        assert shown.max() == finite.max()


def test_hostile_names_are_escaped() -> None:
    diagnosis = hostile()
    _, figure = plot(diagnosis.run, diagnosis.findings[0], "zh")
    assert "<img" not in json.dumps(figure)
    assert "<script" not in json.dumps(figure)


def test_a_crash_has_no_onset_line() -> None:
    made = run()
    _, figure = plot(made, finding("crash-gpu-oom", made, first_step=30))
    assert not figure["layout"].get("shapes")
