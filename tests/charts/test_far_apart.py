"""Two runs whose steps lie far apart are drawn from their own starts, and the caption says so."""

from __future__ import annotations

import pytest

from assistant import charts
from assistant.diagnosis import RunView
from tests.builders import run_of


def view(first: int, n: int) -> RunView:
    return RunView(run_of({"actor/entropy": [0.5 + 0.01 * i for i in range(n)]}, start=first))


@pytest.mark.parametrize(
    ("a", "b", "starts"),
    [
        ((1, 20), (1000, 30), (1, 1000)),  # another stretch of another run
        ((5000, 20), (3, 20), (5000, 3)),
        ((1, 20), (21, 20), ()),  # resumed where the other one ended
        ((1, 20), (30, 40), ()),
        ((1, 20), (10, 20), ()),
    ],
)
def test_runs_far_apart_begin_at_the_same_place(a: tuple[int, int], b: tuple[int, int], starts: tuple[int, ...]) -> None:
    panels = charts.overlaid(view(*a), view(*b), ["actor/entropy"], runs=("old", "new"))
    assert panels.starts == starts
    assert [int(curve.steps[0]) for curve in panels.curves] == ([0, 0] if starts else [a[0], b[0]])
    said = charts.caption(panels, "en")
    assert ("each is drawn from its own start" in said) == bool(starts)
    assert f"at step {b[0]}," in charts.spoken(panels)


def test_the_picture_says_what_its_axis_counts_and_the_hover_names_the_printed_step() -> None:
    panels = charts.overlaid(view(1, 20), view(1000, 30), ["actor/entropy"], runs=("old", "new"))
    drawn = charts.figure(panels, "zh")
    assert drawn["layout"]["xaxis"]["title"]["text"] == "从各自起点算起的步数"
    later = next(trace for trace in drawn["data"] if trace.get("customdata") and trace["customdata"][0][2:] == [1000])
    assert later["x"][0] == 0
    assert "customdata[2]" in later["hovertemplate"]
    assert "steps since the run&#x27;s start" in charts.svg(panels, "en") or "steps since the run's start" in charts.svg(panels, "en")


def test_a_single_value_is_drawn_beside_a_curve() -> None:
    panels = charts.overlaid(view(1, 20), view(10, 1), ["actor/entropy"], runs=("old", "new"))
    assert [len(curve.values) for curve in panels.curves] == [20, 1]
    assert charts.figure(panels)["data"]
    assert charts.png(panels).startswith(b"\x89PNG")
    assert not charts.overlaid(view(1, 1), view(10, 1), ["actor/entropy"])
