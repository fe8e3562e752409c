"""What looks odd because of the algorithm, the version or a setting without effect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assistant.diagnosis import RunView
from assistant.diagnosis.detector import registered
from assistant.diagnosis.finding import Finding
from assistant.diagnosis.render import finding_json, summary
from assistant.logs import read
from assistant.run import Event, Run, Style
from tests.builders import run_of

CASES = Path(__file__).parents[4] / "shared" / "cases"
ACTOR = "actor_rollout_ref.actor"


def look(finding: str, run: Run) -> Finding | None:
    one = registered()[finding]
    view = RunView(run)
    if any(view[name] is None for name in one.needs):
        return None
    outcome = one.function(view, one.thresholds())
    assert outcome is None or isinstance(outcome, Finding)
    if outcome is not None:
        assert summary(outcome, "en") != summary(outcome, "zh")
    return outcome


def training(n: int = 5, **more: Any) -> Run:
    return run_of({"actor/pg_loss": [0.02] * n, "critic/score/mean": [0.5] * n, "response_length/mean": [90.0] * n}, **more)


def test_no_critic_where_the_estimator_needs_none() -> None:
    found = look("no-critic-by-design", training(config={"algorithm.adv_estimator": "grpo"}))
    assert found is not None
    assert summary(found).startswith("grpo trains no critic")
    inferred = look("no-critic-by-design", training())
    assert inferred is not None
    assert inferred.variant == "inferred"


def test_a_critic_or_its_absence_from_a_cut_line_is_not_called_design() -> None:
    assert look("no-critic-by-design", training(config={"algorithm.adv_estimator": "gae"})) is None
    assert look("no-critic-by-design", run_of({"actor/pg_loss": [0.1], "critic/score/mean": [0.5], "critic/vf_loss": [0.3]})) is None
    assert look("no-critic-by-design", run_of({"critic/score/mean": [0.5]})) is None


def test_critic_warm_up() -> None:
    critic = {"critic/vf_loss": [0.5] * 10}
    early = look("critic-warmup", run_of(critic, config={"trainer.critic_warmup": 20}))
    assert early is not None
    assert early.variant == "default"
    done = look("critic-warmup", run_of({**critic, "actor/pg_loss": [None] * 4 + [0.1] * 6}))
    assert done is not None
    assert (done.variant, done.facts["start"].value) == ("done", 5)
    assert look("critic-warmup", run_of({**critic, "actor/pg_loss": [0.1] * 10})) is None
    assert look("critic-warmup", run_of(critic)) is None


@pytest.mark.parametrize(
    ("config", "era", "key"),
    [
        ({"algorithm.filter_groups.enable": True}, "0.6", None),
        ({"algorithm.kl_ctrl.kl_coef": 0.05, "algorithm.use_kl_in_reward": False}, "0.6", "algorithm.use_kl_in_reward"),
        ({f"{ACTOR}.kl_loss_coef": 0.01, f"{ACTOR}.use_kl_loss": False}, "0.6", f"{ACTOR}.use_kl_loss"),
        (
            {"reward_model.overlong_buffer.enable": True, "reward_model.reward_manager": "naive"},
            "0.6",
            "reward_model.reward_manager",
        ),
        ({f"{ACTOR}.clip_ratio": 0.1}, "0.4", f"{ACTOR}.clip_ratio_low"),
        (
            {f"{ACTOR}.clip_ratio": 0.1, f"{ACTOR}.clip_ratio_low": 0.2, f"{ACTOR}.clip_ratio_high": 0.2},
            "unknown",
            f"{ACTOR}.clip_ratio_low",
        ),
    ],
)
def test_settings_without_effect(config: dict[str, Any], era: str, key: str | None) -> None:
    run = training(config=config, era=era)
    found = look("setting-ignored", run)
    assert found is not None
    assert finding_json(found, run)["fixes"][0]["key"] == key


@pytest.mark.parametrize(
    ("config", "era"),
    [
        ({"algorithm.filter_groups.enable": True}, "0.9"),  # built into the v1 trainer
        ({"algorithm.filter_groups.enable": True}, "unknown"),
        ({"algorithm.kl_ctrl.kl_coef": 0.001, "algorithm.use_kl_in_reward": False}, "0.6"),  # the default, nobody set it
        ({"algorithm.kl_ctrl.kl_coef": 0.05}, "0.6"),
        ({f"{ACTOR}.kl_loss_coef": 0.0, f"{ACTOR}.use_kl_loss": False}, "0.6"),
        ({f"{ACTOR}.kl_loss_coef": 0.01, f"{ACTOR}.use_kl_loss": True}, "0.6"),
        ({"reward_model.overlong_buffer.enable": True, "reward_model.reward_manager": "dapo"}, "0.6"),
        ({}, "0.6"),
        ({f"{ACTOR}.clip_ratio": 0.1}, "0.3"),  # the only one there
        ({f"{ACTOR}.clip_ratio": 0.1}, "unknown"),
        ({f"{ACTOR}.clip_ratio": 0.1, f"{ACTOR}.clip_ratio_low": None, f"{ACTOR}.clip_ratio_high": None}, "0.6"),
        ({f"{ACTOR}.clip_ratio": 0.2, f"{ACTOR}.clip_ratio_low": 0.1, f"{ACTOR}.clip_ratio_high": 0.1}, "0.6"),
        ({f"{ACTOR}.clip_ratio": 0.3, f"{ACTOR}.clip_ratio_high": 0.28}, "0.6"),
    ],
)
def test_settings_that_work_or_were_not_set(config: dict[str, Any], era: str) -> None:
    assert look("setting-ignored", training(config=config, era=era)) is None


def test_group_filter_that_prints_its_rounds_works() -> None:
    run = run_of({"actor/pg_loss": [0.1], "train/num_gen_batches": [2.0]}, config={"algorithm.filter_groups.enable": True}, era="0.6")
    assert look("setting-ignored", run) is None


def test_whole_batches_aborted() -> None:
    found = look("all-aborted", run_of({"response/aborted_ratio": [0.0, 0.1, 1.0, 0.2]}))
    assert found is not None
    assert (found.first_step, found.facts["step"].value) == (3, 3)
    assert look("all-aborted", run_of({"response/aborted_ratio": [0.0, 0.5, 0.9]})) is None
    assert look("all-aborted", run_of({"response/aborted_ratio": [1.0] + [0.0] * 10})) is None  # long over
    message = Event("all-aborted", 6, "All samples are aborted, returning default score metrics")
    said = look("all-aborted", training(events=[message]))
    assert said is not None
    assert said.excerpt[0].line == 6
    assert look("all-aborted", training(20, events=[message])) is None  # training went on


def test_extremes_of_version_0_1_mean_nothing() -> None:
    metrics = {"critic/advantages/max": [2.0, 12.5, float("nan")], "critic/score/mean": [0.1, 0.1, 0.1]}
    found = look("stats-artefact-by-version", run_of(metrics, era="0.1", style=Style.FIXED3))
    assert found is not None
    assert (found.evidence[0].step, found.evidence[0].text) == (2, "12.500")
    assert look("stats-artefact-by-version", run_of(metrics, era="0.2")) is None


def test_loss_scale_is_told_where_the_settings_show_a_factor() -> None:
    batch = {"data.train_batch_size": 256, f"{ACTOR}.ppo_mini_batch_size": 64}
    found = look("loss-scale-by-version", training(config=batch, era="0.7"))
    assert found is not None
    assert (found.variant, found.facts["factor"].value) == ("summed", 4)
    micro = {f"{ACTOR}.ppo_mini_batch_size": 64, f"{ACTOR}.ppo_micro_batch_size_per_gpu": 4, "trainer.n_gpus_per_node": 8}
    divided = look("loss-scale-by-version", training(config=micro, era="0.6"))
    assert divided is not None
    assert (divided.variant, divided.facts["factor"].value) == ("divided", 2)
    assert look("loss-scale-by-version", training(config=batch, era="0.8")) is None
    assert look("loss-scale-by-version", training(era="0.7")) is None
    assert look("loss-scale-by-version", training(config={**batch, f"{ACTOR}.strategy": "megatron"}, era="0.7")) is None
    assert look("loss-scale-by-version", training(config={**batch, f"{ACTOR}.ppo_mini_batch_size": 256}, era="0.7")) is None


def test_the_critic_of_0_8_adds_up_its_micro_batches() -> None:
    metrics = {"critic/loss": [0.8, float("nan"), 0.4], "critic/vf_loss": [0.2, float("nan"), 0.1]}
    found = look("loss-scale-by-version", run_of(metrics, era="0.8"))
    assert found is not None
    assert (found.variant, found.facts["factor"].value, found.evidence[0].step) == ("critic", 4, 3)
    assert look("loss-scale-by-version", run_of(metrics, era="0.9")) is None
    assert look("loss-scale-by-version", run_of({"critic/loss": [0.2], "critic/vf_loss": [0.2]}, era="0.8")) is None
    assert look("loss-scale-by-version", run_of({"critic/loss": [0.2]}, era="0.8")) is None


@pytest.mark.parametrize(
    ("case", "finding"),
    [
        ("verl/52_tool_n1_all_critic_zero_wandb_summary", "no-critic-by-design"),
        ("verl/03_healthy_ppo_qwen05b_gsm8k_435_resp512", "stats-artefact-by-version"),
    ],
)
def test_real_logs(case: str, finding: str) -> None:
    log = CASES / case / "log.txt"
    if not log.exists():
        pytest.skip("labelled logs are not here")
    assert look(finding, read(log)) is not None
