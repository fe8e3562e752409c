"""Where the time of a step goes: nesting by version and by what the log has room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.diagnosis.timing import StepTimes, step_times, work_per_step
from assistant.diagnosis.view import RunView
from assistant.run import NO_STEP
from tests.builders import run_of


def times_of(metrics: Mapping[str, Sequence[float | None]], era: str = "unknown") -> StepTimes:
    found = step_times(RunView(run_of(metrics, era=era)))
    assert found is not None
    return found


def test_parts_and_rest_add_up_to_the_step() -> None:
    times = times_of({"timing_s/step": [100.0, 100.0], "timing_s/gen": [60.0, 50.0], "timing_s/update_actor": [30.0, 30.0]})
    rows = {row.name: row for row in times.table()}
    assert rows["timing_s/gen"].seconds == 55.0
    assert rows["timing_s/gen"].share == pytest.approx(0.55)
    assert rows[""].canonical == "residual"
    assert sum(row.share for row in times.table() if row.parent == "step") == pytest.approx(1.0)
    assert [row.name for row in times.table()][:2] == ["timing_s/gen", "timing_s/update_actor"]


def test_engine_time_is_part_of_generation_and_not_of_the_sum() -> None:
    times = times_of(
        {"timing_s/step": [34.0], "timing_s/gen": [27.0], "timing_s/generate_sequences": [0.9], "timing_s/update_actor": [4.0]}
    )
    assert [(row.name, row.parent) for row in times.table()][:2] == [("timing_s/gen", "step"), ("timing_s/generate_sequences", "gen")]
    assert times.residual[0] == pytest.approx(3.0)


@pytest.mark.parametrize(("era", "total", "parent"), [("0.5", 130.0, "step"), ("0.6", 130.0, "step"), ("0.6", 100.0, "outside")])
def test_validation_is_inside_when_the_step_has_room_for_it(era: str, total: float, parent: str) -> None:
    times = times_of(
        {
            "timing_s/step": [100.0, total, 100.0],
            "timing_s/gen": [60.0] * 3,
            "timing_s/update_actor": [40.0] * 3,
            "timing_s/testing": [None, 30.0, None],
        },
        era,
    )
    part = times.part("time_testing")
    assert part is not None
    assert part.parent == parent
    assert times.net[1] == 100.0


@pytest.mark.parametrize(
    ("era", "parent"), [("0.5.0", "step"), ("0.6.1", "outside"), ("0.7.0", "outside"), ("0.7.1", "step"), ("0.9", "step")]
)
def test_version_decides_where_the_log_cannot(era: str, parent: str) -> None:
    """One step, with a rest as long as the checkpoint: it may be the checkpoint or something without a timer."""
    times = times_of({"timing_s/step": [100.0], "timing_s/gen": [70.0], "timing_s/save_checkpoint": [40.0]}, era)
    part = times.part("time_save_checkpoint")
    assert part is not None
    assert part.parent == parent


def test_passes_inside_adv_are_not_counted_twice() -> None:
    timers = {"step": 131.6, "gen": 100.1, "adv": 11.2, "old_log_prob": 5.3, "ref": 5.2, "update_actor": 20.3}
    times = times_of({f"timing_s/{name}": [value] for name, value in timers.items()})
    assert [(row.name, row.parent) for row in times.table()][2:5] == [
        ("timing_s/adv", "step"),
        ("timing_s/old_log_prob", "adv"),
        ("timing_s/ref", "adv"),
    ]
    assert abs(times.residual[0]) < 0.1


def test_timers_of_a_fork_join_the_parts_when_they_fit() -> None:
    times = times_of(
        {"timing_s/step": [100.0], "timing_s/update_actor": [50.0], "timing_s/get_batch": [40.0], "timing_s/total_of_all": [99.0]}
    )
    assert {part.name for part in times.parts} == {"timing_s/update_actor", "timing_s/get_batch"}
    assert times.residual[0] == pytest.approx(10.0)


def test_without_a_step_timer_the_total_is_the_sum() -> None:
    times = times_of({"timing/gen": [10.0, 12.0], "timing/update_actor": [5.0, 5.0], "timing/testing": [None, 50.0]})
    assert not times.measured
    assert times.total.tolist() == [15.0, 17.0]
    assert times.residual.tolist() == [0.0, 0.0]


def test_a_paste_without_a_step_number() -> None:
    times = step_times(RunView(run_of({"timing_s/adv": [10751.9]}, steps=[NO_STEP])))
    assert times is not None
    assert times.total.tolist() == [10751.9]


def test_no_timers_no_times() -> None:
    assert step_times(RunView(run_of({"actor/entropy": [0.4]}))) is None


def test_nan_times_are_left_out() -> None:
    times = times_of({"timing_s/step": [float("nan"), 10.0], "timing_s/gen": [3.0, float("nan")]})
    assert times.steps.tolist() == [2]
    assert times.seconds("time_gen").tolist() == [0.0]


def test_work_falls_back_to_lengths() -> None:
    view = RunView(run_of({"response_length/mean": [100.0, 200.0], "prompt_length/mean": [50.0, 50.0]}))
    work = work_per_step(view, np.array([1, 2]))
    assert work is not None
    assert work.tolist() == [150.0, 250.0]


@given(
    st.lists(st.tuples(st.floats(0, 1e4), st.floats(0, 1e4), st.floats(0, 1e4)), min_size=1, max_size=30),
    st.sampled_from(["unknown", "0.2", "0.5", "0.6.1", "0.7.1", "0.9"]),
)
def test_shares_never_exceed_what_was_printed(rows: list[tuple[float, float, float]], era: str) -> None:
    gen, update, testing = (list(column) for column in zip(*rows, strict=True))
    total = [sum(row[:2]) + 1.0 for row in rows]
    times = times_of({"timing_s/step": total, "timing_s/gen": gen, "timing_s/update_actor": update, "timing_s/testing": testing}, era)
    assert (times.net <= times.total).all()
    assert (times.net >= 0).all()
    assert (times.seconds("time_gen") == np.array(gen)).all()
    if (part := times.part("time_testing")) and part.parent == "outside":
        assert (times.residual >= -1e-6).all()
