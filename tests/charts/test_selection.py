from __future__ import annotations

import numpy as np
import pytest

from assistant.charts import against, caption, overlaid, panels_of, times_of
from assistant.charts.bands import band_of
from assistant.charts.selection import MOST_PANELS
from assistant.diagnosis import Finding, RunView
from tests.builders import run_of


def view(metrics, **more):
    return RunView(run_of(metrics, **more))


def finding(seen: RunView, *metrics: str, **more) -> Finding:
    points = [seen.printed(name).point(i) for name in metrics for i in (0, -1)]
    return Finding("entropy-collapse", evidence=points, **{"first_step": 4, "last_step": 9} | more)


RISING = [float(i) for i in range(1, 11)]


def test_one_panel_a_metric_of_the_evidence_with_its_onset() -> None:
    seen = view({"actor/entropy": RISING, "critic/score/mean": RISING})
    found = panels_of(finding(seen, "critic/score/mean", "actor/entropy"), seen)
    assert found.names == ("critic/score/mean", "actor/entropy")
    assert (found.onset, found.until) == (4, 9)
    assert [curve.marked.tolist() for curve in found.curves] == [[0, 9], [0, 9]]
    assert found.steps == (1, 10)


@pytest.mark.parametrize("more", [{"first_step": None}, {"first_step": 1, "last_step": None}, {"first_step": 11}])
def test_nothing_is_marked_where_no_onset_is_inside(more) -> None:
    seen = view({"actor/entropy": RISING})
    assert panels_of(finding(seen, "actor/entropy", **more), seen).onset is None


def test_a_finding_of_the_beginning_is_shaded_and_has_no_line() -> None:
    seen = view({"actor/entropy": RISING})
    found = panels_of(finding(seen, "actor/entropy", first_step=1, last_step=4), seen)
    assert found.begins is None
    assert found.stretch == (1, 4)
    later = panels_of(finding(seen, "actor/entropy"), seen)
    assert later.begins == 4
    assert later.stretch == (4, 9)


def test_a_crash_is_an_end_and_has_no_onset() -> None:
    seen = view({"actor/entropy": RISING})
    found = panels_of(Finding("crash-gpu-oom", evidence=[seen.printed("actor/entropy").point(2)], first_step=9), seen)
    assert found
    assert found.onset is None


def test_metrics_by_printed_or_canonical_name_once_each() -> None:
    seen = view({"actor/entropy": RISING, "one": [1.0]})
    found = panels_of(["policy_entropy", "one", "none", "policy_entropy"], seen)
    assert found.names == ("actor/entropy",)
    assert found.missing == ("one", "none")
    assert not panels_of(["none"], seen)
    assert not panels_of([], seen)


def test_a_range_of_steps() -> None:
    seen = view({"m": RISING})
    assert panels_of(["m"], seen, first=3, last=5).curves[0].steps.tolist() == [3, 4, 5]
    assert panels_of(["m"], seen, first=9).curves[0].steps.tolist() == [9, 10]
    assert not panels_of(["m"], seen, first=10)


def test_what_is_past_the_most_panels_is_named() -> None:
    names = [f"m{i}" for i in range(MOST_PANELS + 2)]
    found = panels_of(names, view(dict.fromkeys(names, RISING)))
    assert len(found.panels) == MOST_PANELS
    assert found.beyond == tuple(names[MOST_PANELS:])
    assert found.missing == ()


def test_log_scale_on_request_only_where_there_is_something_to_show() -> None:
    seen = view({"m": RISING, "negative": [-v for v in RISING], "mixed": [-1.0, 0.0, *RISING[2:]]})
    log = [panel.logarithmic for panel in panels_of(["m", "negative", "mixed"], seen, logarithmic=True).panels]
    assert log == [True, False, True]
    asked = panels_of(["m", "negative"], seen, logarithmic=True)
    assert asked.linear == ("negative",)
    assert "negative: no value above 0" in caption(asked)
    assert panels_of(["negative"], seen).linear == ()
    assert panels_of(["mixed"], seen, logarithmic=True).panels[0].below == 2


def test_the_usual_range_is_the_cards() -> None:
    band = band_of("response_clip_ratio")
    assert band is not None
    assert (band.low, band.high) == (None, 0.05)
    both = band_of("policy_clip_fraction")
    assert both is not None
    assert (both.low, both.high) == (None, 0.1)
    assert band_of("policy_entropy") is None
    assert band_of("") is None
    scaled = band_of("response_clip_ratio", 0.01)
    assert scaled is not None
    assert scaled.high == pytest.approx(5.0)
    assert panels_of(["response_length/clip_ratio"], view({"response_length/clip_ratio": RISING})).panels[0].band == band


def test_two_runs_meet_by_what_a_metric_means() -> None:
    a, b = view({"actor/entropy_loss": RISING}, era="0.3"), view({"actor/entropy": RISING[:6]}, era="0.6")
    found = overlaid(a, b, ["actor/entropy_loss"])
    assert [(c.run, c.name, len(c.values)) for c in found.curves] == [("A", "actor/entropy_loss", 10), ("B", "actor/entropy", 6)]
    only = overlaid(a, b, ["policy_entropy", "none"], runs=("x", "y"), parted=3)
    assert only.missing == ("none",)
    assert (only.runs, only.onset) == (("x", "y"), 3)


def test_two_runs_with_other_scales_in_the_name_are_brought_to_one() -> None:
    a, b = view({"actor/lr(1e-4)": [0.01] * 5}, era="0.1"), view({"actor/lr": [1e-6] * 5}, era="0.6")
    curves = overlaid(a, b, ["actor/lr"]).curves
    assert [c.values.tolist() for c in curves] == [pytest.approx([1e-6] * 5), [1e-6] * 5]
    assert curves[0].texts[0] == "1e-06"


def test_against_uses_the_steps_that_printed_both() -> None:
    seen = view({"x": RISING, "y": [None, *RISING[:8], float("nan")]})
    (panel,) = against("y", "x", seen).panels
    assert panel.x.tolist() == RISING[1:9]
    assert panel.y.tolist() == RISING[:8]
    assert panel.texts[0] == ("2.0", "1.0")
    assert (panel.total, panel.left_out) == (8, 1)
    assert against("y", "none", seen).missing == ("none",)
    assert not against("x", "one", view({"x": RISING, "one": [1.0]}))


def test_time_is_stacked_largest_first_and_adds_up() -> None:
    n = 20
    seen = view({"timing_s/step": [10.0] * n, "timing_s/gen": [6.0] * n, "timing_s/update_actor": [3.0] * n, "timing_s/adv": [0.01] * n})
    (panel,) = times_of(seen).panels
    assert [layer.name for layer in panel.layers] == ["timing_s/gen", "timing_s/update_actor", ""]
    total = np.sum([layer.seconds for layer in panel.layers], axis=0)
    assert total == pytest.approx(np.full(n, 10.0))
    assert not times_of(view({"m": RISING}))
    assert not times_of(seen, first=20)


def test_time_of_a_long_log_is_means_of_a_few_steps() -> None:
    n = 1001
    seen = view({"timing_s/step": [float(i % 7 + 1) for i in range(n)], "timing_s/gen": [float(i % 7) for i in range(n)]})
    (panel,) = times_of(seen, most=100).panels
    assert (panel.span, panel.total) == (11, n)
    assert len(panel.steps) == 91
    weights = np.diff([*range(0, n, 11), n])
    spent = sum(float((layer.seconds * weights).sum()) for layer in panel.layers)
    assert spent == pytest.approx(sum(i % 7 + 1 for i in range(n)))
