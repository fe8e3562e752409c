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
