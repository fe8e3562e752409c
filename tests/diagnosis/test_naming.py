"""What a printed key is, by framework and by what the log trains."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.cards import in_folder
from assistant.diagnosis.naming import FAMILIES, Name, family, first_names, held_out, log_kind, resolve, tables, validation_key


def canonical(framework: str, *names: str) -> dict[str, str]:
    return {name: found.canonical for name, found in resolve(names, framework).items()}


def test_one_key_means_what_the_log_trains() -> None:
    assert canonical("trl", "loss", "kl", "entropy", "reward")["loss"] == "policy_total_loss"
    assert canonical("trl", "loss", "kl", "entropy", "reward")["kl"] == "reference_kl"
    assert canonical("trl", "loss", "kl", "rewards/chosen") == {
        "loss": "preference_loss",
        "kl": "kto_kl",
        "rewards/chosen": "preference_chosen_reward",
    }
    assert canonical("hf-trainer", "loss", "entropy", "grad_norm") == {
        "loss": "train_loss",
        "entropy": "prediction_entropy",
        "grad_norm": "train_grad_norm",
    }


def test_look_alikes_are_kept_apart() -> None:
    named = canonical(
        "trl", "clip_ratio/region_mean", "completions/clipped_ratio", "objective/kl", "objective/entropy", "policy/entropy_avg"
    )
    assert named["clip_ratio/region_mean"] == "policy_clip_fraction"
    assert named["completions/clipped_ratio"] == "response_clip_ratio"
    assert (named["objective/kl"], named["objective/entropy"]) == ("reference_kl_sum", "policy_entropy_sum")
    assert named["policy/entropy_avg"] == "policy_entropy"
    assert canonical("sb3", "train/entropy_loss", "policy_entropy") == {
        "train/entropy_loss": "action_entropy_loss",
        "policy_entropy": "action_entropy",
    }
    assert canonical("slime", "train/entropy_loss", "rollout/rewards") == {"train/entropy_loss": "policy_entropy", "rollout/rewards": ""}
    assert canonical("roll", "critic/clipfrac", "actor/ppo_ratio_clipfrac", "critic/entropy/mean") == {
        "critic/clipfrac": "value_clip_fraction",
        "actor/ppo_ratio_clipfrac": "policy_clip_fraction",
        "critic/entropy/mean": "policy_entropy",
    }


@pytest.mark.parametrize("framework", ["trl", "unsloth", "ms-swift", "llama-factory", "hf-trainer"])
def test_who_trains_through_the_hugging_face_trainer_shares_its_names(framework: str) -> None:
    assert family(framework) == "trl"
    assert canonical(framework, "reward", "frac_reward_zero_std")["frac_reward_zero_std"] == "uniform_group_share"


def test_own_names_come_before_those_of_the_family() -> None:
    assert tables("ms-swift") == ("ms-swift", "trl")
    assert canonical("ms-swift", "entropy/mean", "reward")["entropy/mean"] == "policy_entropy"
    assert canonical("llama-factory", "loss", "accuracy", "lr") == {
        "loss": "preference_loss",
        "accuracy": "preference_accuracy",
        "lr": "train_lr",
    }


def test_prefixes_of_trackers_notebooks_and_exports() -> None:
    assert canonical("trl", "train/reward", "train/loss", "train/completions/mean_length") == {
        "train/reward": "score_mean",
        "train/loss": "policy_total_loss",
        "train/completions/mean_length": "response_length_mean",
    }
    assert canonical("trl", "Training Loss", "rewards / chosen", "rewards / margins")["rewards / margins"] == "preference_margin"
    assert canonical("rllib", "info/learner/default_policy/learner_stats/vf_loss", "env_runners/episode_return_mean") == {
        "info/learner/default_policy/learner_stats/vf_loss": "value_loss",
        "env_runners/episode_return_mean": "score_mean",
    }
    assert canonical("verl", "actor_entropy", "timing_s_step", "val-core_math_acc_mean@1") == {
        "actor_entropy": "policy_entropy",
        "timing_s_step": "time_step",
        "val-core_math_acc_mean@1": "validation",
    }


def test_a_scale_is_carried_by_the_name() -> None:
    assert resolve(["elapsed time per iteration (ms)"], "megatron")["elapsed time per iteration (ms)"] == Name("train_step_seconds", 0.001)


def test_td_loss_beside_exploration() -> None:
    assert canonical("sb3", "train/loss", "rollout/exploration_rate")["train/loss"] == "td_loss"
    assert canonical("sb3", "train/loss", "train/approx_kl")["train/loss"] == "policy_total_loss"


def test_validation_by_framework() -> None:
    assert validation_key("eval/mean_reward") is None
    found = validation_key("eval/mean_reward", "sb3")
    assert found is not None
    assert (found.source, found.variable, found.statistic) == ("eval", "reward", "mean@1")
    assert validation_key("eval_reward", "unsloth") is not None
    assert validation_key("eval_loss", "trl") is None
    assert held_out("recall@10") is not None
    assert held_out("elapsed") is None


def test_every_family_has_names() -> None:
    for framework in FAMILIES:
        assert first_names(framework), framework


def test_kinds() -> None:
    assert log_kind(["loss", "rewards/margins", "reward"]) == "preference"
    assert log_kind(["loss", "completion_length"]) == "rl"
    assert log_kind(["loss", "eval_loss"]) == "supervised"


def every_key() -> list[tuple[str, str]]:
    return [
        (framework, name["key"] if isinstance(name, Mapping) else name)
        for card in in_folder("metrics")
        for metric in card.front.get("metrics", ())
        for framework, names in metric.get("names", {}).items()
        for name in names
    ]


def test_every_framework_named_in_the_metrics_is_one_that_is_looked_up() -> None:
    known = {"verl", "generic", *FAMILIES, *FAMILIES.values()}
    known |= {"cleanrl", "rllib", "openrlhf", "slime", "areal", "roll", "nemo-rl", "skyrl", "prime-rl"}
    known |= {"torchtune", "torchtitan", "deepspeed", "megatron", "trlx", "mlx"}
    assert {framework for framework, _ in every_key()} <= known


@given(st.lists(st.sampled_from(every_key()), max_size=12), st.text(max_size=20))
def test_any_mixture_resolves_to_known_metrics(keys: list[tuple[str, str]], odd: str) -> None:
    known = {"", "validation", *(metric["id"] for card in in_folder("metrics") for metric in card.front["metrics"])}
    for framework in {framework for framework, _ in keys} | {"unknown", "never-heard-of"}:
        found = resolve([odd, *(key for _, key in keys)], framework)
        assert {name.canonical for name in found.values()} <= known
