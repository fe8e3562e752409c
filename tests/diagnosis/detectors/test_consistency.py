"""The log against its own configuration."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.diagnosis import Finding, diagnose
from assistant.run import Event, Run, Style
from tests.builders import run_of
from tests.diagnosis.detectors.looking import healthy, look, noise, unknown, with_

N = 40
CONFIG: dict[str, Any] = {
    "algorithm.adv_estimator": "grpo",
    "algorithm.use_kl_in_reward": False,
    "actor_rollout_ref.rollout.n": 8,
    "actor_rollout_ref.actor.ppo_mini_batch_size": 64,
    "actor_rollout_ref.actor.optim.lr": 1e-6,
    "data.train_batch_size": 128,
    "data.max_response_length": 1024,
    "trainer.nnodes": 1,
    "trainer.n_gpus_per_node": 8,
}


def throughput(answers: float = 1024, gpus: float = 8) -> dict[str, Any]:
    lengths = noise(N, 300, 10, 8)
    tokens = [answers * (length + 100) for length in lengths]
    seconds = noise(N, 60, 1, 3)
    return {
        "response_length/mean": lengths,
        "prompt_length/mean": [100.0] * N,
        "perf/total_num_tokens": tokens,
        "perf/time_per_step": seconds,
        "perf/throughput": [t / s / gpus for t, s in zip(tokens, seconds, strict=True)],
    }


def found(metrics: dict[str, Any], **config: Any) -> Finding | None:
    settings = {**CONFIG, **{key.replace("__", "."): value for key, value in config.items()}}
    return look("log-contradicts-config", run_of(metrics, config=settings, era="0.6", algorithm="grpo"))


def run(**more: Any) -> dict[str, Any]:
    return {**healthy(N), **throughput(), **more}


def test_a_log_that_agrees_with_its_settings() -> None:
    assert found(run()) is None


def test_without_settings_nothing_can_be_said() -> None:
    assert unknown("log-contradicts-config", run_of(run())) == "config"


def test_an_advantage_that_no_group_of_this_size_has() -> None:
    finding = found(run(), actor_rollout_ref__rollout__n=4)
    assert finding is not None
    assert (finding.variant, finding.severity) == ("group_size", "medium")
    assert finding.facts["need"].value == 8
    assert finding.facts["bound"].value == pytest.approx(1.5)


def test_the_bound_itself_is_allowed() -> None:
    assert (
        found(
            {**run(), "critic/advantages/max": [1.5] * N, "critic/advantages/min": [-1.5] * N, **throughput(512)},
            actor_rollout_ref__rollout__n=4,
        )
        is None
    )


def test_dr_grpo_has_no_such_bound() -> None:
    finding = found(run(), actor_rollout_ref__rollout__n=4, algorithm__norm_adv_by_std_in_grpo=False)
    assert finding is None or finding.variant != "group_size"


def test_a_learning_rate_above_the_configured_one() -> None:
    finding = found(run(**{"actor/lr": [5e-6] * N}))
    assert finding is not None
    assert finding.variant == "learning_rate"
    assert finding.facts["rate"].text == "1e-06"
    assert found(run(**{"actor/lr": [1e-7 * i for i in range(N // 4)] + [1e-6] * (N - N // 4)})) is None  # a warm-up stays below


def test_several_updates_a_step_move_the_policy() -> None:
    still = {"actor/ppo_kl": [0.0] * N, "actor/pg_clipfrac": [0.0] * N}
    finding = found(run(**still))
    assert finding is not None
    assert (finding.variant, finding.facts["updates"].value) == ("updates", 2)
    assert found(run(**still), actor_rollout_ref__actor__ppo_mini_batch_size=128) is None


def test_three_decimals_prove_no_zero() -> None:
    still = run(**{"actor/ppo_kl": [0.0] * N, "actor/pg_clipfrac": [0.0] * N})
    assert look("log-contradicts-config", run_of(still, config=CONFIG, era="0.4", style=Style.FIXED3)) is None


@pytest.mark.parametrize(
    ("more", "variant"),
    [
        (throughput(answers=512), "responses"),
        (throughput(gpus=16), "gpus"),
        ({"response_length/max": [2048.0] * N}, "lengths"),
        ({"critic/rewards/mean": noise(N, 0.1, 0.01)}, "rewards"),
    ],
)
def test_arithmetic_that_does_not_come_out(more: dict[str, Any], variant: str) -> None:
    finding = found(run(**more))
    assert finding is not None
    assert (finding.variant, finding.severity) == (variant, "low")


def test_gpus_of_a_reward_model_count_too() -> None:
    assert found(run(**throughput(gpus=16)), reward_model__enable_resource_pool=True) is None


def test_gae_without_a_critic() -> None:
    finding = found({**run(), "timing_s/update_actor": [5.0] * N}, algorithm__adv_estimator="gae")
    assert finding is not None
    assert finding.variant == "estimator"
    assert found({**run(), "timing_s/update_actor": [5.0] * N, "critic/vf_loss": [0.1] * N}, algorithm__adv_estimator="gae") is None


def test_timers_that_add_up_to_more_than_the_step_are_explained() -> None:
    times = {"timing_s/step": [50.0] * N, "timing_s/gen": [40.0] * N, "timing_s/update_actor": [30.0] * N}
    finding = found(run(**times))
    assert finding is not None
    assert (finding.variant, finding.severity, finding.facts["share"].text) == ("timers", "info", "140%")
    assert found(run(**{**times, "timing_s/step": [72.0] * N})) is None


def double(**more: Any) -> Run:
    return run_of(with_(healthy(N), **more), era="0.6", config=CONFIG)


def test_two_kl_penalties() -> None:
    finding = look("double-kl", double(actor__reward_kl_penalty_coeff=[0.01] * N))
    assert finding is not None
    assert (finding.variant, finding.severity) == ("printed", "info")
    assert finding.facts["reward"].value == 0.01
    assert look("double-kl", double()) is None
    assert look("double-kl", double(actor__reward_kl_penalty_coeff=[0.0] * N)) is None


def test_the_trainers_own_notice_is_enough() -> None:
    notice = Event("double-kl", 3, "NOTICE: You have both enabled in-reward kl and kl loss.")
    metrics = {name: values for name, values in healthy(N).items() if "kl_coef" not in name}
    finding = look("double-kl", run_of(metrics, era="0.6", events=[notice]))
    assert finding is not None
    assert finding.variant == "default"


def _steady(n: int = 20, *, lr: float = 1e-6, score: float = 0.0) -> dict[str, list[float | None]]:
    mean = [0.3 + 0.001 * i for i in range(n)]
    return {"actor/lr": [lr] * n, "critic/score/mean": [*mean], "critic/rewards/mean": [value - score for value in mean]}


def _said(metrics: dict[str, list[float | None]], start: int = 1, **config: object) -> list[str]:
    keys = {
        "lr": "actor_rollout_ref.actor.optim.lr",
        "kl": "algorithm.use_kl_in_reward",
        "coef": "algorithm.kl_ctrl.kl_coef",
    }
    run = run_of(metrics, era="0.6", start=start, config={keys[name]: value for name, value in config.items()})
    return [f.variant for f in diagnose(run).findings if f.id == "log-contradicts-config"]


def test_a_rate_that_stands_below_the_configured_one() -> None:
    assert _said(_steady(), lr=5e-6) == ["lower_rate"]
    assert _said(_steady(), lr=1e-6) == []
    assert _said(_steady(), start=500, lr=5e-6) == []  # a decay may have ended at its floor
    rising = _steady() | {"actor/lr": [5e-6 * (i + 1) / 40 for i in range(20)]}
    assert _said(rising, lr=5e-6) == []  # warm-up


def test_a_penalty_that_never_reaches_the_reward() -> None:
    assert _said(_steady(), kl=True, coef=0.01) == ["no_penalty"]
    assert _said(_steady(score=0.02), kl=True, coef=0.01) == []
    assert _said(_steady(), kl=True, coef=0.0) == []
