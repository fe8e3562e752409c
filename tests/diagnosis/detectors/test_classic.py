"""Agents of classic RL: missing episodes, a policy that stands still, a coefficient that runs away, actions that are always the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from assistant.run import Run
from tests.builders import run_of
from tests.diagnosis.detectors.looking import look, noise, ramp, unknown


def ppo(n: int = 60, seed: int = 0, **more: Sequence[Any]) -> dict[str, Sequence[Any]]:
    rng = np.random.default_rng(seed)
    found = {
        "rollout/ep_rew_mean": ramp(n, 10, 150, 4, seed),
        "rollout/ep_len_mean": noise(n, 200, 5, seed),
        "train/approx_kl": [abs(x) for x in noise(n, 0.01, 0.003, seed)],
        "train/clip_fraction": [abs(x) for x in noise(n, 0.1, 0.03, seed)],
        "train/entropy_loss": ramp(n, -1.4, -0.5, 0.02, seed),
        "train/explained_variance": list(np.clip(1 - np.exp(-np.arange(n) / 8) + 0.05 * rng.standard_normal(n), -1, 1)),
        "train/policy_gradient_loss": noise(n, -0.01, 0.003, seed),
        "train/value_loss": [abs(x) for x in noise(n, 20, 4, seed)],
        "time/total_timesteps": [2048.0 * (i + 1) for i in range(n)],
    }
    return {**found, **{key.replace("__", "/", 1): value for key, value in more.items()}}


def sb3(metrics: dict[str, Sequence[Any]]) -> Run:
    n = max(len(values) for values in metrics.values())
    return run_of(metrics, framework="sb3", steps=[2048 * (i + 1) for i in range(n)])


@pytest.mark.parametrize("n", [1, 5, 60, 500])
@pytest.mark.parametrize("seed", range(4))
def test_a_usual_agent_is_quiet(n: int, seed: int) -> None:
    for name in ("episode-stats-missing", "policy-frozen", "entropy-collapse", "reward-collapse"):
        assert look(name, sb3(ppo(n, seed))) is None, name


def test_no_episode_in_the_table() -> None:
    metrics = ppo(1)
    del metrics["rollout/ep_rew_mean"], metrics["rollout/ep_len_mean"]
    found = look("episode-stats-missing", sb3(metrics))
    assert found is not None
    assert (found.variant, found.severity) == ("absent", "medium")
    assert found.facts["wanted"].text == "rollout/ep_rew_mean"
    del metrics["time/total_timesteps"]  # a part of a table says nothing of the rest
    assert look("episode-stats-missing", sb3(metrics)) is None
    assert unknown("episode-stats-missing", sb3(metrics))


def test_episode_rewards_that_are_nan() -> None:
    run = run_of({"episode_reward_mean": [np.nan], "vf_loss": [227.5], "timesteps_total": [4000.0]}, framework="rllib")
    found = look("episode-stats-missing", run)
    assert found is not None
    assert (found.variant, found.facts["nan"].text, found.facts["value"].text) == ("nan", "nan", "227.5")
    assert look("metric-nan-only", run) is None  # one finding for one thing


def test_evaluation_instead_of_episodes() -> None:
    metrics = {"eval/mean_reward": [5.0], "train/value_loss": [1.0], "time/total_timesteps": [2048.0]}
    assert look("episode-stats-missing", sb3(metrics)) is None


def test_a_language_model_has_no_episodes() -> None:
    assert look("episode-stats-missing", run_of({"loss": [0.1], "reward": [np.nan]}, framework="trl")) is None


def test_updates_that_change_nothing() -> None:
    metrics = {
        "approxkl": [6.7e-16],
        "clipfrac": [0.0],
        "policy_loss": [-3e-8],
        "policy_entropy": [1.4189396],
        "total_timesteps": [54480.0],
    }
    found = look("policy-frozen", run_of(metrics, framework="sb3", steps=[54480]))
    assert found is not None
    assert (found.severity, found.variant) == ("high", "entropy")
    assert found.facts["entropy"].text == "1.419"
    moving = {**metrics, "approxkl": [6.7e-5]}
    assert look("policy-frozen", run_of(moving, framework="sb3")) is None
    one_update = {"actor/ppo_kl": [0.0] * 20, "actor/pg_clipfrac": [0.0] * 20, "actor/pg_loss": [0.0] * 20}
    assert look("policy-frozen", run_of(one_update)) is None  # verl: one update a step


def test_a_policy_that_freezes_later() -> None:
    n = 40
    still = ppo(
        n,
        train__approx_kl=[*noise(20, 0.01, 0.001), *[0.0] * 20],
        train__clip_fraction=[0.1] * 20 + [0.0] * 20,
        train__policy_gradient_loss=[-0.01] * 20 + [0.0] * 20,
    )
    found = look("policy-frozen", sb3(still))
    assert found is not None
    assert found.first_step == 2048 * 21


def sac(coefficient: list[float]) -> Run:
    n = len(coefficient)
    return sb3(
        {
            "rollout/ep_rew_mean": noise(n, 0, 1),
            "train/ent_coef": coefficient,
            "train/critic_loss": [1.0] * n,
            "time/total_timesteps": [float(i) for i in range(n)],
        }
    )


def test_a_temperature_that_runs_away() -> None:
    found = look("entropy-coefficient-growth", sac([*np.geomspace(1.0, 0.05, 20), *np.geomspace(0.05, 40, 60)]))
    assert found is not None
    assert found.severity == "high"
    assert found.facts["low"].text.startswith("0.05")
    assert found.first_step is not None
    assert 2048 * 20 < found.first_step < 2048 * 35


@pytest.mark.parametrize(
    "coefficient",
    [
        list(np.geomspace(1.0, 0.01, 60)),
        [*np.geomspace(1.0, 0.01, 30), *np.geomspace(0.01, 0.08, 30)],
        noise(60, 0.2, 0.03),
        [0.01] * 60,
    ],
)
def test_a_temperature_that_settles(coefficient: list[float]) -> None:
    assert look("entropy-coefficient-growth", sac(coefficient)) is None


def test_actions_that_are_always_the_same() -> None:
    n = 60
    entropy = [*ramp(20, -1.4, -0.01), *noise(40, -0.004, 0.0005)]
    reward = [*ramp(20, 10, 120, 3), *noise(40, 15, 2)]
    found = look("entropy-collapse", sb3(ppo(n, train__entropy_loss=entropy, rollout__ep_rew_mean=reward)))
    assert found is not None
    assert found.variant == "actions"
    assert found.facts["start"].value > 0
    learned = sb3(ppo(n, train__entropy_loss=entropy))  # certain, and the reward rises: that is learning
    assert look("entropy-collapse", learned) is None
    continuous = sb3({**ppo(n, train__entropy_loss=entropy, rollout__ep_rew_mean=reward), "train/std": ramp(n, 1.0, 0.2)})
    assert look("entropy-collapse", continuous) is None


def test_a_mean_over_past_episodes_wanders() -> None:
    rng = np.random.default_rng(0)
    n = 400
    wander = np.zeros(n)
    for i in range(1, n):
        wander[i] = 0.97 * wander[i - 1] + 0.03 * rng.standard_normal()
    reward = 2.6 - 1.0 * np.exp(-np.arange(n) / 30) + wander
    found = look("reward-plateau", sb3(ppo(n, rollout__ep_rew_mean=list(reward))))
    assert found is not None
    assert found.first_step is not None
    assert found.first_step < 2048 * 200


def over_episodes(n: int, level: Sequence[float], seed: int) -> list[float]:
    """The mean of the last hundred episodes, five new ones a record, as Stable-Baselines3 prints it."""
    episodes = np.repeat(np.asarray(level), 5) + np.random.default_rng(seed).standard_normal(5 * n)
    sums = np.insert(np.cumsum(episodes), 0, 0.0)
    ends = 5 * np.arange(1, n + 1)
    begins = np.maximum(ends - 100, 0)
    return list((sums[ends] - sums[begins]) / (ends - begins))


def test_a_drift_that_neighbouring_means_share_is_no_rise() -> None:
    at = np.linspace(0, 1, 1000)
    flat = [
        look("reward-plateau", sb3(ppo(1000, rollout__ep_rew_mean=over_episodes(1000, np.minimum(at / 0.15, 1), s)))) for s in range(20)
    ]
    assert sum(found is not None for found in flat) >= 11  # 8 when every record counted as one of its own
    for still in (0.5 * at, 2 * np.sqrt(at), 2 * np.maximum(at - 0.6, 0) / 0.4):
        assert not any(look("reward-plateau", sb3(ppo(1000, rollout__ep_rew_mean=over_episodes(1000, still, s)))) for s in range(10))
