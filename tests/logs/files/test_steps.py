from __future__ import annotations

import pytest

from assistant.logs.files.steps import step_and_total, step_column


@pytest.mark.parametrize(
    ("rows", "name"),
    [
        ([{"step": i, "loss": 0.5} for i in range(5)], "step"),
        ([{"Step": str(i), "loss": "0.5"} for i in range(5)], "Step"),
        ([{"_step": i, "train/global_step": 5 * i} for i in range(5)], "train/global_step"),
        ([{"_step": i, **({"train/global_step": i} if i % 3 == 0 else {})} for i in range(9)], "_step"),
        ([{"step": 0, "iteration": i} for i in range(5)], "iteration"),
        ([{"epoch": i / 10, "loss": 1} for i in range(5)], ""),
        ([{"epoch": i, "loss": 1} for i in range(5)], "epoch"),
        ([{"epoch": i // 3, "step": i} for i in range(9)], "step"),
        ([{"time/total_timesteps": 2048 * i, "time/iterations": i} for i in range(5)], "time/total_timesteps"),
        ([{"global_step/max_steps": "2/10", "epoch": 1}], "global_step/max_steps"),
        ([{"step": 7}], "step"),
        ([{"timestamp": 17e8 + i, "loss": 1} for i in range(5)], ""),
    ],
)
def test_the_column_that_counts_steps(rows: list[dict[str, object]], name: str) -> None:
    assert step_column(rows).name == name


def test_what_is_worth_keeping_as_a_metric_stays_one() -> None:
    assert step_column([{"episode": i} for i in range(4)]).metric
    assert not step_column([{"global_step": i} for i in range(4)]).metric


def test_a_step_of_a_total() -> None:
    assert step_and_total("5/3766") == (5, 3766)
    assert step_and_total(5.0) == (5, None)
    assert step_and_total("a/b") == (None, None)
