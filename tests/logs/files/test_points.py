from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from assistant.logs.files.points import Points
from assistant.run import Run, Style


def run_of(points: list[tuple[str, int, float]], parts: list[int] | None = None) -> Run:
    gathered = Points()
    for place, (name, step, value) in enumerate(points, 1):
        gathered.add(name, step, place, value)
    gathered.parts = parts or []
    return Run(**gathered.fields())


def test_metric_by_metric_becomes_step_by_step() -> None:
    run = run_of([("a", 1, 0.1), ("a", 2, 0.2), ("b", 1, 1.0), ("b", 2, 2.0)])
    assert list(run.records()) == [
        {"step": 1, "line": 1, "values": {"a": 0.1, "b": 1.0}},
        {"step": 2, "line": 2, "values": {"a": 0.2, "b": 2.0}},
    ]


def test_a_metric_that_goes_back_starts_a_new_stretch() -> None:
    run = run_of([("a", step, float(step)) for step in (1, 2, 3, 2, 3, 4)])
    assert [(s.first_step, s.last_step) for s in run.segments] == [(1, 3), (2, 4)]
    assert run.row_steps.tolist() == [1, 2, 3, 2, 3, 4]


def test_the_next_file_of_a_resumed_run_is_a_new_stretch_also_for_a_new_metric() -> None:
    run = run_of([("a", 1, 1.0), ("a", 2, 2.0), ("a", 2, 2.5), ("b", 2, 9.0), ("a", 3, 3.0)], parts=[2])
    assert run.row_steps.tolist() == [1, 2, 2, 3]
    assert run.row_lines.tolist() == [1, 2, 3, 5]
    assert run.columns["b"].rows.tolist() == [2]


def test_values_out_of_order_are_put_in_order() -> None:
    steps = [step + (5 if step % 7 == 0 else 0) - (5 if step % 7 == 5 else 0) for step in range(100)]
    run = run_of([("a", step, float(step)) for step in steps])
    assert len(run.segments) == 1
    assert (run.row_steps[1:] >= run.row_steps[:-1]).all()


def test_two_values_at_one_step_both_stay() -> None:
    run = run_of([("return", 7, 1.0), ("return", 7, 2.0), ("loss", 7, 0.5), ("return", 8, 3.0)])
    series = run.series("return")
    assert series is not None
    assert series.values.tolist() == [1.0, 2.0, 3.0]
    assert run.n_records == 2


def test_no_points() -> None:
    assert Run(**Points().fields()).n_rows == 0


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(-3, 12), st.floats(0, 1)), max_size=60), st.integers(0, 60))
def test_every_point_is_kept_with_its_own_place(points: list[tuple[str, int, float]], cut: int) -> None:
    run = run_of(points, [cut] if cut < len(points) else [])
    wanted: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for name, step, value in points:
        wanted[name].append((step, value))
    assert set(run.columns) == set(wanted)
    for name, values in wanted.items():
        series = run.series(name)
        assert series is not None
        assert sorted(zip(series.steps.tolist(), series.values.tolist(), strict=True)) == sorted(values)
        assert (series.styles == Style.REPR).all()
