"""Short pastes of other frameworks' logs, as people put them into an issue: what is found in a few lines, and what is left alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from assistant.diagnosis import Diagnosis, diagnose
from assistant.diagnosis.render import causes, summary
from assistant.logs import read_text
from tests.builders import run_of
from tests.diagnosis.pasted import faults


def dicts(columns: Mapping[str, Sequence[float]]) -> str:
    """One printed dict a record, as the Hugging Face trainer prints them."""
    n = len(next(iter(columns.values())))
    return "".join(str({name: values[i] for name, values in columns.items()}) + "\n" for i in range(n))


def table(**cells: object) -> str:
    """A table of Stable-Baselines3; ``__`` in a name stands for the slash."""
    rows = [(name.replace("__", "/"), str(value)) for name, value in cells.items()]
    border = "-" * 40 + "\n"
    return border + "".join(f"| {name:<24} | {value:<10} |\n" for name, value in rows) + border


def explained(text: str) -> set[str]:
    return {f.id for f in diagnose(read_text(text)).findings if f.severity == "info"}


def told(found: Diagnosis, name: str) -> str:
    return summary(next(f for f in found.findings if f.id == name))


GROWING_KL = [0.0004, 0.003, 0.02, 0.086, 0.41, 1.97, 13.4, 241.0, 9822.5]


def test_a_kl_that_grew_before_the_gradients_is_named_first() -> None:
    text = dicts(
        {
            "loss": [round(0.04 * kl, 4) for kl in GROWING_KL],
            "grad_norm": [0.41, 0.52, 0.6, 1.4, 3.9, 17.5, 210.4, 4113.0, 88213.0],
            "learning_rate": [5e-05] * 9,
            "reward": [0.61, 0.64, 0.7, 0.66, 0.52, 0.31, 0.08, 0.01, 0.0],
            "reward_std": [0.31, 0.3, 0.28, 0.3, 0.31, 0.26, 0.1, 0.02, 0.0],
            "kl": GROWING_KL,
        }
    )
    assert faults(text)[0] == "kl-blowup"
    assert {"gradient-explosion", "reward-collapse"} <= set(faults(text))


def test_likelihoods_that_both_fall_are_seen_in_eight_lines() -> None:
    chosen = [-0.02, -0.9, -3.1, -7.9, -14.2, -21.5, -27.7, -31.0]
    rejected = [-0.03, -1.6, -6.2, -15.0, -27.5, -41.2, -55.0, -63.4]
    text = dicts(
        {
            "loss": [0.6911, 0.4712, 0.3011, 0.1905, 0.1122, 0.0713, 0.0402, 0.0214],
            "rewards/chosen": chosen,
            "rewards/rejected": rejected,
            "rewards/margins": [round(c - r, 4) for c, r in zip(chosen, rejected, strict=True)],
            "logps/chosen": [-212.4 + 10 * c for c in chosen],
            "logps/rejected": [-233.1 + 10 * r for r in rejected],
            "epoch": [0.11 * i for i in range(1, 9)],
        }
    )
    assert "preference-degenerate" in faults(text)


def test_a_runaway_entropy_coefficient_is_the_cause_of_the_lost_reward() -> None:
    values = [(0.91, -310), (2.4, -325), (9.7, -340), (61.2, -402), (540, -511), (4600, -630)]
    text = "".join(
        table(rollout__ep_rew_mean=r, time__total_timesteps=4000 * (i + 1), train__ent_coef=c, train__critic_loss=10.0**i)
        for i, (c, r) in enumerate(values)
    )
    assert faults(text) == ["entropy-coefficient-growth", "reward-collapse"]


def critic(variances: Sequence[object], first: int) -> str:
    return "".join(
        table(rollout__ep_rew_mean=120 + i, time__total_timesteps=2048 * (first + i), train__explained_variance=v, train__value_loss=8.9e6)
        for i, v in enumerate(variances)
    )


def test_an_explained_variance_of_rounding_errors_is_nothing_explained() -> None:
    rounding = ["-2.38e-07", "1.19e-07", 0, "-1.19e-07", "5.96e-08", 0]
    assert faults(critic(rounding, 30)) == ["critic-useless"]
    assert faults(critic(rounding, 2)) == []  # the first ten rollouts tell nothing yet
    assert faults(critic([0.3, 0.31, 0.35, 0.4, 0.42, 0.5], 30)) == []


def test_an_agents_value_loss_may_grow_with_what_it_earns() -> None:
    n = 60
    loss = [float(5 + 3 * i) for i in range(n)]
    earning = run_of({"rollout/ep_rew_mean": [20.0 + 10 * i for i in range(n)], "train/value_loss": loss}, framework="sb3")
    losing = run_of({"rollout/ep_rew_mean": [900.0 - 10 * i for i in range(n)], "train/value_loss": loss}, framework="sb3")
    assert "value-loss-divergence" not in [f.id for f in diagnose(earning).faults]
    assert "value-loss-divergence" in [f.id for f in diagnose(losing).faults]


def test_a_fall_late_in_an_agents_curve_is_no_drift_of_its_mean() -> None:
    up = [2500 * min(1.0, i / 90) + 40 * (-1) ** i for i in range(180)]
    down = [max(60.0, 2500 * 0.93 ** (i + 1)) for i in range(120)]
    found = diagnose(run_of({"rollout/ep_rew_mean": [*up, *down]}, framework="sb3"))
    assert [f.id for f in found.faults if f.id.startswith("reward")] == ["reward-collapse"]


def mismatch(values: Sequence[float]) -> str:
    return "".join(
        f"(MegatronTrainRayActor pid=91101) [2025-11-02 09:1{i}:59] model.py:918 - step {i}: "
        + str({"train/loss": 1e-3, "train/pg_loss": 1e-3, "train/train_rollout_logprob_abs_diff": value, "train/grad_norm": 1.1})
        + "\n"
        for i, value in enumerate(values)
    )


def test_log_probabilities_of_sampler_and_trainer_far_apart() -> None:
    assert faults(mismatch([0.71, 0.83, 1.12, 1.61])) == ["weights-not-synced"]
    assert faults(mismatch([0.24, 0.25, 0.23, 0.26])) == ["rollout-mismatch"]
    assert faults(mismatch([0.02, 0.09, 0.08, 0.11])) == []  # models with experts are that far apart


def test_generation_alone_is_not_a_step() -> None:
    text = "".join(f"perf {i}: {{'perf/rollout_time': 101.2, 'rollout/response_len/mean': 2110.5}}\n" for i in range(4))
    assert faults(text) == []


OLD_PPO = {
    "objective/kl": [-1.2, -8.3, -21.4, -52.2, -103.1],
    "ppo/mean_scores": [0.41, 0.37, 0.12, -0.4, -1.1],
    "ppo/loss/policy": [-0.03] * 5,
    "ppo/policy/approxkl": [0.12, 0.4, 1.1, 2.2, 4.0],
    "ppo/policy/clipfrac": [0.21, 0.3, 0.41, 0.44, 0.5],
}


def test_a_kl_per_answer_that_stays_negative_in_trls_ppo() -> None:
    assert "kl-negative" in faults(dicts(OLD_PPO))
    assert "kl-nonzero-at-start" not in faults(dicts(OLD_PPO))  # its first line comes after four passes over the batch
    near = {**OLD_PPO, "objective/kl": [-0.2, 0.3, -0.1, 0.4, 0.2], "ppo/policy/approxkl": [0.01] * 5}
    assert "kl-negative" not in faults(dicts(near))


def test_a_kl_per_answer_of_hundreds_that_costs_the_score() -> None:
    sums = [0.1, 1.1, 4.2, 9.8, 18.1, 40.2, 88.0, 140.1, 201.0, 290.4, 333.0, 401.2, 455.5, 480.1]
    base = {"objective/kl": sums, "policy/approxkl_avg": [0.005] * 14, "loss/policy_avg": [-0.01] * 14}
    falling = {**base, "objective/scores": [1 - 0.1 * i for i in range(14)]}
    assert "kl-blowup" in faults(dicts(falling))
    paid = [score - 0.05 * kl for score, kl in zip(falling["objective/scores"], sums, strict=True)]
    assert "reward-kl-gap" not in faults(dicts({**falling, "objective/rlhf_reward": paid}))  # that the penalty grows is what it is for
    assert "kl-blowup" not in faults(dicts({**base, "objective/scores": [1 + 0.1 * i for i in range(14)]}))
    assert "kl-blowup" not in faults(dicts({**base, "objective/kl": [x / 30 for x in sums]}))


def test_entropy_gone_within_twelve_lines() -> None:
    entropy = [0.62 * 0.55**i for i in range(12)]
    found = diagnose(run_of({"critic/entropy/mean": entropy, "critic/score/mean": [0.31 + 0.005 * i for i in range(12)]}, framework="roll"))
    assert [f.id for f in found.faults] == ["entropy-collapse"]
    assert "Entropy is 0.00157 at step 12" in told(found, "entropy-collapse")  # the median of the last three of twelve, not of ten
    steady = [0.62 - 0.01 * i for i in range(12)]
    assert not diagnose(
        run_of({"critic/entropy/mean": steady, "critic/score/mean": [0.3 + 0.01 * (-1) ** i for i in range(12)]}, framework="roll")
    ).faults


@pytest.mark.parametrize(
    ("values", "expected"), [([0.6, 0.55, 0.41, 0.3, 0.16, 0.08, 0.03, 0.02], True), ([0.6, 0.2, 0.7, 0.1] * 2, False)]
)
def test_a_score_that_went_one_way_in_a_few_lines(values: list[float], expected: bool) -> None:
    text = dicts({"loss": [0.01] * 8, "reward": values, "reward_std": [0.2] * 8, "learning_rate": [1e-6] * 8})
    found = diagnose(read_text(text))
    assert ("reward-collapse" in [f.id for f in found.faults]) is expected
    if expected:
        assert "Over the 8 logged steps" in told(found, "reward-collapse")


# What ends a run


def test_a_distribution_of_nan_is_a_nan_and_no_dead_worker() -> None:
    text = (
        table(rollout__ep_rew_mean=-1210, time__total_timesteps=43008, train__approx_kl=0.412, train__clip_fraction=0.61)
        + "Traceback (most recent call last):\n"
        + '  File "train.py", line 31, in <module>\n    model.learn(1_000_000)\n'
        + '  File "/usr/lib/python3.10/site-packages/torch/distributions/distribution.py", line 68, in __init__\n    raise ValueError(\n'
        + "ValueError: Expected parameter loc (Tensor of shape (64, 2)) of distribution Normal(loc: torch.Size([64, 2]), scale: "
        + "torch.Size([64, 2])) to satisfy the constraint Real(), but found invalid values:\ntensor([[nan, nan]])\n"
    )
    assert faults(text)[0] == "non-finite"
    assert not [name for name in faults(text) if name.startswith("crash")]
    found = diagnose(read_text(text))
    assert "line 12" in told(found, "non-finite")
    assert all("non-finite" not in f.follows for f in found.faults)  # the large steps came first
    assert causes(next(f for f in found.faults if f.id == "non-finite"))[0].startswith("An update too large")


def test_an_engine_that_gives_up_on_its_loss_scale() -> None:
    text = "Traceback (most recent call last):\n" + (
        '  File "/usr/lib/python3.10/site-packages/deepspeed/runtime/fp16/loss_scaler.py", line 175, in update_scale\n'
        "    raise Exception(\n"
        "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.\n"
    )
    assert faults(text) == ["loss-scale-collapse"]


def test_a_users_reward_function_that_throws() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/usr/lib/python3.11/site-packages/trl/trainer/grpo_trainer.py", line 1021, in _calculate_rewards\n'
        "    output_reward_func = reward_func(\n"
        '  File "/workspace/src/open_r1/rewards.py", line 42, in accuracy_reward\n    gold = parse(sol["answer"])\n'
        "TypeError: string indices must be integers, not 'str'\n"
    )
    assert faults(text) == ["crash-reward-function"]


def test_a_full_disk_behind_a_checkpoint_that_cannot_be_written() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/usr/lib/python3.10/site-packages/torch/serialization.py", line 850, in save\n    _save(obj, opened_zipfile)\n'
        "RuntimeError: [enforce fail at inline_container.cc:603] . PytorchStreamWriter failed writing file data/211: file write failed\n"
        "OSError: [Errno 28] No space left on device\n"
    )
    assert faults(text) == ["crash-disk"]


# What looks odd and is none


def test_a_count_of_skipped_steps_that_stands_still_is_the_search_at_the_start() -> None:
    def line(step: int, skipped: int) -> str:
        return (
            f"[2023-09-01 10:00:11,211] [INFO] [logging.py:96:log_dist] [Rank 0] step={step}, skipped={skipped}, lr=[1e-05], "
            "mom=[(0.9, 0.95)]\n"
        )

    assert "loss-scale-warmup" in explained("".join(line(10 * i, 6) for i in range(1, 5)))
    assert "loss-scale-warmup" not in explained("".join(line(10 * i, 0) for i in range(1, 5)))
    assert "loss-scale-warmup" not in explained("".join(line(10 * i, 9 * i) for i in range(1, 5)))


def test_rollouts_without_an_advantage_in_prime_rl() -> None:
    def steps(zero: int) -> str:
        return "".join(
            f"16:4{i}:50 WARNING Detected {zero + 2}/128 rollouts (gibberish=2, zero_advantage={zero})\n"
            f"16:4{i}:51 SUCCESS Step {i} | Time: 73.77s | Reward: 0.0{3 + i % 4}11 | Throughput: 4121.2 tokens/s\n"
            for i in range(8)
        )

    assert "no-learning-signal" in faults(steps(126))
    assert faults(steps(119)) == ["many-uniform-groups"]
    assert faults(steps(40)) == []


def test_a_fine_tuning_that_starts_as_a_guess() -> None:
    base = {"grad_norm": [3.1, 3.0, 3.1], "learning_rate": [1e-5, 2e-5, 2e-5], "epoch": [0.01, 0.02, 0.03]}
    guessing = dicts({"loss": [11.9312, 11.9205, 11.9188], "mean_token_accuracy": [0.0, 0.0001, 0.0], **base})
    assert faults(guessing) == ["weights-not-loaded"]
    assert "11.93 in the first line" in told(diagnose(read_text(guessing)), "weights-not-loaded")
    summed = dicts({"loss": [11.9312, 11.9205, 11.9188], "mean_token_accuracy": [0.61, 0.62, 0.61], **base})  # over several batches
    falling = dicts({"loss": [10.9, 9.1, 7.9], "mean_token_accuracy": [0.001, 0.01, 0.015], **base})  # from scratch
    assert "weights-not-loaded" not in faults(summed) + faults(falling)


def test_a_constant_mean_of_rewards_that_differ_is_no_floor() -> None:
    base = {"loss": [0.01] * 6, "grad_norm": [0.05] * 6, "learning_rate": [1e-6] * 6, "reward": [0.03] * 6}
    assert "reward-flat-floor" in faults(dicts({**base, "reward_std": [0.0] * 6}))
    assert "reward-flat-floor" not in faults(dicts({**base, "reward_std": [0.05] * 6}))
