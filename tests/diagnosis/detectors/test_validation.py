"""Training against validation."""

from __future__ import annotations

import numpy as np
import pytest

from tests.builders import run_of
from tests.diagnosis.detectors.outcomes import findings, unknown


def _every(n: int, gap: int, values: np.ndarray | list[float]) -> list[float | None]:
    """Validation values printed every ``gap`` steps."""
    kept = iter(values)
    return [float(next(kept)) if i % gap == 0 else None for i in range(n)]


def _score(mean: np.ndarray) -> dict[str, list[float]]:
    return {"critic/score/mean": list(mean), "critic/score/max": [1.0] * len(mean), "critic/score/min": [0.0] * len(mean)}


def _noise(n: int, scale: float, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, scale, n)


RISING = np.linspace(0.2, 0.9, 200)


def test_score_up_validation_down_is_hacking_since_the_best_validation() -> None:
    validation = np.concatenate([np.linspace(0.3, 0.5, 8), np.linspace(0.48, 0.2, 12)])
    run = run_of({**_score(RISING + _noise(200, 0.01)), "val-core/x/acc/mean@1": _every(200, 10, validation)})
    found = findings(run, "reward-hacking")["reward-hacking"]
    assert (found.severity, found.first_step) == ("critical", 71)


@pytest.mark.parametrize("seed", range(6))
def test_a_flat_or_noisy_validation_is_not_hacking(seed: int) -> None:
    validation = 0.6 + _noise(20, 0.02, seed)
    run = run_of({**_score(RISING + _noise(200, 0.01, seed)), "val-core/x/acc/mean@1": _every(200, 10, validation)})
    assert not findings(run, "reward-hacking")


def test_one_falling_source_of_three_is_not_hacking() -> None:
    metrics = {f"val-core/{name}/acc/mean@1": _every(200, 10, np.linspace(0.3, 0.6, 20)) for name in "ab"}
    metrics["val-core/c/acc/mean@1"] = _every(200, 10, np.linspace(0.6, 0.2, 20))
    assert not findings(run_of({**_score(RISING), **metrics}), "reward-hacking")


def test_reward_up_score_down_is_a_hacked_penalty() -> None:
    score = np.concatenate([np.full(30, 0.5), np.linspace(0.5, 0.2, 30)]) + _noise(60, 0.005)
    rewards = score - np.linspace(18, 1, 60)
    found = findings(run_of({**_score(score), "critic/rewards/mean": list(rewards)}), "reward-hacking")["reward-hacking"]
    assert found.variant == "penalty"
    assert 30 <= found.first_step <= 42


def test_token_counts_are_no_validation_score() -> None:
    run = run_of({**_score(RISING), "val-core/x/response_tokens/mean@1": _every(200, 10, np.linspace(900, 400, 20))})
    assert unknown(run, "reward-hacking")


def test_overfitting_when_training_pulls_away_from_a_flat_validation() -> None:
    validation = np.concatenate([np.linspace(0.3, 0.5, 10), np.full(10, 0.5)])
    run = run_of({**_score(RISING), "val-core/x/acc/mean@1": _every(200, 10, validation)})
    assert findings(run, "overfitting")["overfitting"].facts["widened"].value > 0.2


def test_a_constant_gap_is_not_overfitting() -> None:
    run = run_of({**_score(RISING), "val-core/x/acc/mean@1": _every(200, 10, RISING[::10] - 0.15)})
    assert not findings(run, "overfitting")


def test_validation_loss_past_its_minimum() -> None:
    up = np.concatenate([np.linspace(1.0, 0.6, 6), np.linspace(0.62, 0.9, 6)])
    metrics = {"train/loss": list(np.linspace(1.0, 0.1, 120)), "val/loss": _every(120, 10, up)}
    found = findings(run_of(metrics, framework="verl-sft"), "overfitting")["overfitting"]
    assert (found.variant, found.first_step) == ("loss", 51)
    metrics["val/loss"] = _every(120, 10, np.linspace(1.0, 0.5, 12))
    assert not findings(run_of(metrics, framework="verl-sft"), "overfitting")


def _staircase(levels: list[float], length: int, noise: float = 0.01) -> np.ndarray:
    return np.concatenate([np.linspace(level, level * 0.97, length) for level in levels]) + _noise(len(levels) * length, noise)


def test_validation_at_the_level_of_memorised_text() -> None:
    loss = _staircase([0.40, 0.30, 0.20, 0.13, 0.10], 60)
    seen = run_of({"train/loss": list(loss), "val/loss": [None] * 299 + [0.1]}, framework="verl-sft")
    found = findings(seen, "validation-overlaps-train")["validation-overlaps-train"]
    assert found.facts["epochs"].value == 5
    assert found.first_step == 61
    held_out = run_of({"train/loss": list(loss), "val/loss": [None] * 299 + [0.41]}, framework="verl-sft")
    assert not findings(held_out, "validation-overlaps-train")


def test_a_smooth_decline_is_no_staircase() -> None:
    loss = 0.1 + 0.6 * np.exp(-np.arange(300) / 60) + _noise(300, 0.01)
    run = run_of({"train/loss": list(loss), "val/loss": [None] * 299 + [0.1]}, framework="verl-sft")
    assert not findings(run, "validation-overlaps-train")


def test_validation_above_training_is_explained() -> None:
    above = run_of({**_score(RISING), "val-core/x/acc/mean@1": _every(200, 10, RISING[::10] + 0.08)})
    assert findings(above, "validation-above-train")["validation-above-train"].severity == "info"
    below = run_of({**_score(RISING), "val-core/x/acc/mean@1": _every(200, 10, RISING[::10] - 0.05)})
    assert not findings(below, "validation-above-train")


def test_one_evaluation_is_above_the_training_episodes_by_its_own_scatter() -> None:
    def evaluated(reward: float, scatter: float) -> dict[str, list[float | None]]:
        return {
            "rollout/ep_rew_mean": [-1020.0, None],
            "time/total_timesteps": [24576.0, None],
            "episode_reward": [None, reward],
            "episode_reward +/-": [None, scatter],
        }

    found = findings(run_of(evaluated(-292.73, 132.72), framework="sb3", steps=[24576, 25000]), "validation-above-train")
    assert found["validation-above-train"].variant == "episodes"
    assert found["validation-above-train"].severity == "info"
    for reward, scatter in ((-700.0, 132.72), (-1200.0, 10.0), (float("nan"), 1.0)):
        assert not findings(run_of(evaluated(reward, scatter), framework="sb3", steps=[24576, 25000]), "validation-above-train")


def test_validation_that_only_swings_is_called_noisy() -> None:
    values = np.concatenate([np.linspace(0.3, 0.5, 8), 0.5 + 0.03 * (-1.0) ** np.arange(12)])
    noisy = run_of({**_score(RISING), "val-core/x/acc/mean@1": _every(200, 10, values)})
    assert findings(noisy, "validation-noisy")["validation-noisy"].severity == "info"
    steady = run_of({**_score(RISING), "val-core/x/acc/mean@1": _every(200, 10, np.linspace(0.3, 0.8, 20))})
    assert not findings(steady, "validation-noisy")
