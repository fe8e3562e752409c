"""The training reward: solved, lost, flat, noisy, with outliers, eaten by the KL penalty."""

from __future__ import annotations

import numpy as np
import pytest

from tests.builders import run_of
from tests.diagnosis.detectors.outcomes import findings


def _binary(mean: list[float] | np.ndarray, **more: list[float]) -> dict[str, list[float]]:
    n = len(mean)
    return {"critic/score/mean": list(mean), "critic/score/max": [1.0] * n, "critic/score/min": [0.0] * n, **more}


def _noise(n: int, scale: float, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, scale, n)


def test_saturated_since_the_score_is_near_its_top() -> None:
    mean = np.concatenate([np.linspace(0.3, 0.97, 60), np.full(60, 0.975)]) + _noise(120, 0.005)
    found = findings(run_of(_binary(mean)), "reward-saturated")
    assert 50 < found["reward-saturated"].first_step < 70


@pytest.mark.parametrize("level", [0.5, 0.85])
def test_a_good_score_is_not_saturated(level: float) -> None:
    assert not findings(run_of(_binary(level + _noise(100, 0.02))), "reward-saturated")


def test_an_open_reward_has_no_top() -> None:
    mean = np.full(60, 9.7)
    run = run_of({"critic/score/mean": list(mean), "critic/score/max": list(10 + _noise(60, 0.2)), "critic/score/min": [0.0] * 60})
    assert not findings(run, "reward-saturated")


def test_collapse_to_zero_with_its_onset() -> None:
    mean = np.concatenate([np.linspace(0.2, 0.9, 80), np.linspace(0.9, 0.0, 10), np.zeros(30)]) + _noise(120, 0.01)
    found = findings(run_of(_binary(np.clip(mean, 0, 1))), "reward-collapse")
    assert found["reward-collapse"].severity == "critical"
    assert 81 <= found["reward-collapse"].first_step <= 88


def test_collapse_of_a_negative_score_is_measured_from_its_floor() -> None:
    mean = np.concatenate([np.full(50, -0.5), np.linspace(-0.5, -0.95, 10), np.full(30, -0.95)]) + _noise(90, 0.01)
    run = run_of({"critic/score/mean": list(mean), "critic/score/max": [1.0] * 90, "critic/score/min": [-1.0] * 90})
    assert findings(run, "reward-collapse")["reward-collapse"].facts["lost"].value > 0.8


@pytest.mark.parametrize("seed", range(5))
def test_a_dip_that_recovers_and_plain_noise_are_no_collapse(seed: int) -> None:
    mean = np.concatenate([np.full(60, 0.87), np.full(15, 0.6), np.full(60, 0.87)]) + _noise(135, 0.05, seed)
    assert not findings(run_of(_binary(mean)), "reward-collapse")
    assert not findings(run_of(_binary(0.4 + _noise(200, 0.12, seed))), "reward-collapse")


def test_plateau_is_a_quiet_note() -> None:
    mean = np.concatenate([np.linspace(0.1, 0.6, 60), np.full(200, 0.6)]) + _noise(260, 0.01)
    found = findings(run_of(_binary(mean)), "reward-plateau")
    assert found["reward-plateau"].severity == "low"
    assert 50 <= found["reward-plateau"].first_step <= 75


def test_no_plateau_while_score_or_validation_rises() -> None:
    rising = np.linspace(0.2, 0.7, 260) + _noise(260, 0.01)
    assert not findings(run_of(_binary(rising)), "reward-plateau")
    validation = [0.3 + 0.001 * i if i % 20 == 0 else None for i in range(260)]
    flat = run_of({**_binary(0.6 + _noise(260, 0.01)), "val-core/gsm8k/acc/mean@1": validation})
    assert not findings(flat, "reward-plateau")


@pytest.mark.parametrize("wander", [0.0, 0.001, 0.005])
def test_a_validation_that_stays_where_it_is_does_not_rise(wander: float) -> None:
    validation = [0.4 + wander * x if i % 5 == 4 else None for i, x in enumerate(_noise(300, 1.0))]
    found = findings(run_of({**_binary(0.3 + _noise(300, 0.03, 2)), "val-core/gsm8k/reward/mean@1": validation}), "reward-plateau")
    assert found["reward-plateau"].variant == "default"
    assert found["reward-plateau"].first_step < 20


def test_a_plateau_begins_when_validation_stops_too() -> None:
    validation = [min(0.3 + 0.002 * i, 0.5) if i % 10 == 9 else None for i in range(400)]
    found = findings(run_of({**_binary(0.5 + _noise(400, 0.02, 3)), "val-core/gsm8k/reward/mean@1": validation}), "reward-plateau")
    assert 70 <= found["reward-plateau"].first_step <= 120


def _levelled(validated: bool, level: float = 0.55, steps: int = 300) -> dict[str, list[float | None]]:
    half = steps // 2
    mean = np.concatenate([np.linspace(0.1, level, half), np.full(half, level)]) + _noise(steps, 0.015)
    metrics: dict[str, list[float | None]] = {**_binary(mean)}
    if validated:
        noise = _noise(steps, 0.005, 5)
        metrics["val-core/gsm8k/reward/mean@1"] = [
            0.2 + min(i / half, 1.0) * (level - 0.1) + noise[i] if i % 10 == 9 else None for i in range(steps)
        ]
    return metrics


def test_half_a_run_without_progress_after_a_clear_rise_is_a_plateau() -> None:
    found = findings(run_of(_levelled(True)), "reward-plateau")
    assert found["reward-plateau"].severity == "low"
    assert 130 <= found["reward-plateau"].first_step <= 170


def test_half_a_run_is_too_little_without_validation_near_the_top_or_when_short() -> None:
    assert not findings(run_of(_levelled(False)), "reward-plateau")
    assert not findings(run_of(_levelled(True, level=0.85)), "reward-plateau")
    assert not findings(run_of(_levelled(True, steps=150)), "reward-plateau")


def test_noise_is_told_in_prompts() -> None:
    few, many = 0.4 + _noise(200, 0.25), 0.4 + _noise(200, 0.03)
    found = findings(run_of(_binary(few)), "reward-noisy")
    assert found["reward-noisy"].facts["samples"].value == pytest.approx(4, abs=1)
    assert not findings(run_of(_binary(many)), "reward-noisy")


def test_outliers_are_repeated_and_far() -> None:
    low = [-1.0] * 60
    for step in (10, 30, 50):
        low[step] = -200.0
    metrics = {"critic/score/mean": [0.0] * 60, "critic/score/max": [1.0] * 60, "critic/score/min": low}
    found = findings(run_of(metrics), "reward-outliers")["reward-outliers"]
    assert found.facts["value"].value == -200.0
    assert (found.first_step, found.last_step) == (11, 51)
    metrics["critic/score/min"] = [-1.0] * 59 + [-200.0]
    assert not findings(run_of(metrics), "reward-outliers")


def test_a_high_reward_stays_saturated_beside_a_validation_that_stays_where_it_is() -> None:
    mean = np.concatenate([np.linspace(0.3, 0.97, 60), np.full(60, 0.975)]) + _noise(120, 0.005)
    validation = [0.6 if i % 5 == 4 else None for i in range(120)]
    assert findings(run_of({**_binary(mean), "val-core/gsm8k/reward/mean@1": validation}), "reward-saturated")


@pytest.mark.parametrize(("head", "tail"), [(3, 3), (7, 7), (1, 3), (12, 2)])
def test_a_kl_penalty_in_the_first_lines_is_seen_beside_last_lines_without_it(head: int, tail: int) -> None:
    steps = [*range(1, head + 1), *range(400, 400 + tail)]
    metrics = _binary([-0.5] * (head + tail), **{"critic/rewards/mean": [-19.0] * head + [-0.55] * tail})
    metrics["critic/score/min"] = [-1.0] * (head + tail)
    found = findings(run_of(metrics, steps=steps), "reward-kl-gap")["reward-kl-gap"]
    assert (found.first_step, found.last_step) == (1, head)
    assert found.confidence < 0.7


def test_the_kl_penalty_that_outweighs_the_score() -> None:
    n = 60
    metrics = {"critic/score/mean": [-0.5] * n, "critic/score/max": [1.0] * n, "critic/score/min": [-1.0] * n}
    metrics |= {"critic/rewards/mean": [-19.0] * n, "actor/reward_kl_penalty_coeff": [0.05] * n}
    found = findings(run_of(metrics), "reward-kl-gap")["reward-kl-gap"]
    assert (found.severity, found.first_step, found.variant) == ("high", 1, "with_kl")
    assert found.facts["kl"].value == pytest.approx(18.5 / 0.05)


@pytest.mark.parametrize("n", [1, 60])
def test_a_usual_penalty_is_no_gap(n: int) -> None:
    metrics = _binary([0.6] * n, **{"critic/rewards/mean": [0.55] * n})
    assert not findings(run_of(metrics), "reward-kl-gap")


def test_one_step_is_enough_for_a_penalty_of_many_ranges() -> None:
    assert findings(run_of(_binary([0.6], **{"critic/rewards/mean": [-8.0]})), "reward-kl-gap")["reward-kl-gap"].severity == "high"


def test_a_batch_in_which_nobody_scored_does_not_show_the_range() -> None:
    metrics = {"critic/score/mean": [0.0], "critic/score/max": [0.0], "critic/score/min": [0.0], "critic/rewards/mean": [-0.1]}
    assert not findings(run_of(metrics), "reward-kl-gap")
