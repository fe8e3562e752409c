"""The framework that metric names belong to, whatever file they stand in."""

from __future__ import annotations

import pytest

from assistant.logs.formats.frameworks import framework_by_names


@pytest.mark.parametrize(
    ("names", "framework"),
    [
        (("actor/pg_loss", "critic/score/mean", "timing_s/step"), "verl"),
        (("actor_pg_loss", "critic_score_mean", "response_length_mean"), "verl"),
        (("loss", "grad_norm", "learning_rate", "epoch"), "hf-trainer"),
        (("eval_loss", "eval_runtime"), "hf-trainer"),
        (("loss", "grad_norm", "learning_rate", "reward", "reward_std", "epoch"), "trl"),
        (("train/reward", "train/completions/mean_length", "train/loss"), "trl"),
        (("rewards/chosen", "rewards/margins", "loss"), "trl"),
        (("loss", "reward", "learning_rate", "epoch"), "llama-factory"),
        (("loss", "token_acc", "memory(GiB)", "train_speed(iter/s)"), "ms-swift"),
        (("rollout/ep_rew_mean", "train/entropy_loss", "time/fps"), "sb3"),
        (("rollout/raw_reward", "train/pg_loss", "train/grad_norm"), "slime"),
        (("policy/policy_entropy", "loss/avg_final_rewards"), "skyrl"),
        (("charts/SPS", "losses/clipfrac"), "cleanrl"),
        (("lm loss", "grad norm", "loss scale"), "megatron"),
        (("reward_mean", "ndcg_mean", "kl"), "generic"),
        (("loss",), "generic"),
        ((), "generic"),
    ],
)
def test_names_tell_the_framework(names: tuple[str, ...], framework: str) -> None:
    assert framework_by_names(names) == framework


def test_what_the_text_says_decides_between_those_that_share_a_trainer() -> None:
    names = ("loss", "grad_norm", "learning_rate", "reward_std", "kl")
    assert framework_by_names(names, {"unsloth": 3}) == "unsloth"
    assert framework_by_names(names, {"llama-factory": 3}) == "llama-factory"
    assert framework_by_names(names, {"megatron": 3}) == "trl"
    assert framework_by_names(("rollout/ep_rew_mean",), {"unsloth": 3}) == "sb3"


def test_the_training_of_a_reward_model_is_trls() -> None:
    names = ["loss", "grad_norm", "learning_rate", "num_tokens", "min_reward", "mean_reward", "max_reward", "accuracy", "margin", "epoch"]
    assert framework_by_names(names, {}, "hf-trainer") == "trl"
    assert framework_by_names([name for name in names if "reward" not in name and name != "margin"], {}, "hf-trainer") == "hf-trainer"
