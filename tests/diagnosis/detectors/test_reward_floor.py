"""No reward at all, or hardly any."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from assistant.run import NO_STEP, Style
from tests.builders import run_of
from tests.diagnosis.detectors.outcomes import findings, unknown


def _same(value: float, n: int) -> dict[str, list[float]]:
    return {f"critic/score/{part}": [value] * n for part in ("mean", "max", "min")}


@pytest.mark.parametrize(("n", "severity"), [(1, "high"), (2, "high"), (3, "critical"), (40, "critical")])
@pytest.mark.parametrize("value", [0.0, -1.0])
def test_every_answer_on_the_floor(n: int, severity: str, value: float) -> None:
    found = findings(run_of(_same(value, n), style=Style.FIXED3), "reward-flat-floor")["reward-flat-floor"]
    assert (found.severity, found.first_step, found.last_step) == (severity, 1, n)
    assert found.facts["value"].text == f"{value:.3f}"


def test_a_handful_of_answers_proves_little() -> None:
    sizes = {"perf/total_num_tokens": [8 * 400.0] * 3, "prompt_length/mean": [100.0] * 3, "response_length/mean": [300.0] * 3}
    found = findings(run_of({**_same(0.0, 3), **sizes}), "reward-flat-floor")["reward-flat-floor"]
    assert (found.severity, found.confidence) == ("medium", 0.5)


def test_a_consolation_reward_is_a_floor_too() -> None:
    assert findings(run_of(_same(0.1, 5)), "reward-flat-floor")["reward-flat-floor"].variant == "partial"


def test_a_summary_without_steps() -> None:
    run = run_of({**_same(0.0, 1), "critic/advantages/max": [0.0]})
    run = dataclasses.replace(run, row_steps=np.array([NO_STEP]), segments=[])
    found = findings(run, "reward-flat-floor")["reward-flat-floor"]
    assert (found.variant, found.first_step) == ("summary", None)


def test_lost_after_a_good_start_since_the_loss() -> None:
    metrics = {"critic/score/mean": [0.5] * 30 + [0.0] * 15, "critic/score/max": [1.0] * 30 + [0.0] * 15, "critic/score/min": [0.0] * 45}
    found = findings(run_of(metrics), "reward-flat-floor")["reward-flat-floor"]
    assert (found.first_step, found.variant) == (31, "lost")
    assert found.causes is not None
    assert found.causes[0] == "collapsed"


def test_only_the_first_steps_on_the_floor_is_learning_the_format() -> None:
    metrics = {"critic/score/mean": [0.0] * 12 + [0.1] * 20, "critic/score/max": [0.0] * 12 + [1.0] * 20, "critic/score/min": [0.0] * 32}
    assert not findings(run_of(metrics), "reward-flat-floor")


def test_all_right_is_not_the_floor() -> None:
    assert not findings(run_of(_same(1.0, 5)), "reward-flat-floor")
    best_is_zero = {
        "critic/score/mean": [-0.5] * 10 + [0.0] * 12,
        "critic/score/max": [0.0] * 22,
        "critic/score/min": [-1.0] * 10 + [0.0] * 12,
    }
    assert not findings(run_of(best_is_zero), "reward-flat-floor")


def test_validation_of_zero_counts_only_without_a_training_score() -> None:
    zero = {"val-core/gsm8k/reward/mean@1": [0.0, None]}
    assert findings(run_of(zero), "reward-flat-floor")["reward-flat-floor"].severity == "medium"
    trained = {**zero, "critic/score/mean": [None, 0.089], "critic/score/max": [None, 1.0], "critic/score/min": [None, 0.0]}
    assert not findings(run_of(trained, start=0), "reward-flat-floor")


def test_nan_scores_say_nothing() -> None:
    assert unknown(run_of(_same(float("nan"), 3)), "reward-flat-floor")


def test_truncation_is_named_first_when_answers_are_cut() -> None:
    run = run_of({**_same(0.0, 5), "response_length/clip_ratio": [0.98] * 5})
    found = findings(run, "reward-flat-floor")["reward-flat-floor"]
    assert found.causes is not None
    assert found.causes[0] == "truncated"


def test_sparse_until_the_end_but_not_when_it_takes_off() -> None:
    sparse = {"critic/score/mean": [0.004] * 30, "critic/score/max": [1.0] * 30, "critic/score/min": [0.0] * 30}
    assert findings(run_of(sparse), "reward-sparse")["reward-sparse"].first_step == 1
    sparse["critic/score/mean"] = [0.004] * 20 + [0.02 + 0.02 * i for i in range(10)]
    assert not findings(run_of(sparse), "reward-sparse")
