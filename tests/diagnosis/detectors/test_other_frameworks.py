"""What the detectors say where another framework than verl prints the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from assistant.diagnosis import diagnose
from assistant.run import Event, Note, Run
from tests.builders import run_of
from tests.diagnosis.detectors.looking import look, noise, ramp, unknown


def grpo(n: int = 60, seed: int = 0, **more: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """A usual GRPO run of TRL, one update a batch, no KL term."""
    found: dict[str, Sequence[Any]] = {
        "loss": [round(x, 4) for x in noise(n, 0.0, 0.02, seed)],
        "grad_norm": [abs(x) for x in noise(n, 0.2, 0.03, seed + 1)],
        "learning_rate": ramp(n, 1e-6, 1e-8),
        "reward": ramp(n, 0.4, 0.7, 0.02, seed + 2),
        "reward_std": noise(n, 0.3, 0.02, seed + 3),
        "frac_reward_zero_std": [min(max(x, 0.0), 0.9) for x in noise(n, 0.4, 0.05, seed + 4)],
        "completions/mean_length": noise(n, 300, 10, seed + 5),
        "completions/max_length": noise(n, 700, 20, seed + 6),
        "completions/clipped_ratio": [0.01] * n,
        "clip_ratio/region_mean": [0.0] * n,
        "entropy": ramp(n, 0.5, 0.35, 0.01, seed + 7),
        "epoch": [round(x, 2) for x in ramp(n, 0.01, 0.5)],
    }
    for key, value in more.items():
        found[key.replace("__", "/")] = value
    return found


def trl(metrics: dict[str, Sequence[Any]], **more: Any) -> Run:
    return run_of(metrics, framework="trl", **more)


def without(metrics: dict[str, Sequence[Any]], *names: str) -> dict[str, Sequence[Any]]:
    return {key: value for key, value in metrics.items() if key not in names}


@pytest.mark.parametrize("n", [1, 3, 12, 60, 400])
@pytest.mark.parametrize("seed", range(3))
def test_a_usual_run_raises_nothing(n: int, seed: int) -> None:
    assert [f.id for f in diagnose(trl(grpo(n, seed))).faults] == []


# The learning signal


def test_uniform_groups_leave_no_signal() -> None:
    run = trl(grpo(30, frac_reward_zero_std=[1.0] * 30, reward_std=[0.0] * 30, reward=[0.0] * 30, grad_norm=[0.0] * 30))
    found = look("no-learning-signal", run)
    assert found is not None
    assert (found.severity, found.first_step, found.variant) == ("high", 1, "groups")
    assert found.causes == ["too-hard", "reward-broken"]
    assert look("no-gradient", run) is None


def test_the_spread_of_one_reward_function_is_over_the_batch() -> None:
    once = {"reward": [1.2], "reward_std": [0.0], "frac_reward_zero_std": [1.0], "rewards/style/std": [5.08], "grad_norm": [0.0]}
    found = look("no-learning-signal", trl(once))
    assert found is not None
    assert found.variant == "groups_batch"
    assert found.facts["other"].text == "rewards/style/std"
    assert found.facts["other_value"].text == "5.08"


def test_cut_answers_come_before_missing_signal() -> None:
    cut = grpo(20, frac_reward_zero_std=[1.0] * 20, completions__clipped_ratio=[1.0] * 20, reward=[0.0] * 20, grad_norm=[0.0] * 20)
    cut["completions/mean_length"] = cut["completions/max_length"] = [256.0] * 20
    faults = [f.id for f in diagnose(trl(cut)).faults]
    assert faults[0] == "truncation"
    assert faults.index("no-learning-signal") > 0


def test_reward_and_loss_that_both_print_zero() -> None:
    run = run_of({"Avg Reward": [0.0], "Loss": [0.0], "Mean Generation Length": [201.0]}, framework="nemo-rl")
    found = look("no-learning-signal", run)
    assert found is not None
    assert found.variant == "nothing_earned"
    assert look("zero-loss-by-design", run) is None
    some = run_of({"Avg Reward": [0.1], "Loss": [0.0]}, framework="nemo-rl")
    assert look("no-learning-signal", some) is None
    assert unknown("no-learning-signal", some)


# The gradient


def test_no_gradient_although_rewards_differ() -> None:
    run = trl(grpo(2, grad_norm=[0.0, 0.0], frac_reward_zero_std=[0.5, 0.55]))
    found = look("no-gradient", run)
    assert found is not None
    assert (found.severity, found.variant) == ("critical", "rewards")
    assert found.facts["signal"].text == "reward_std"


def test_single_lines_without_a_gradient_are_the_last_step_of_a_window() -> None:
    """With logging_steps=5 the norm is that of one step, the share a mean over five."""
    norm = [0.0 if i % 3 else 0.2 for i in range(60)]
    assert look("no-gradient", trl(grpo(60, grad_norm=norm, frac_reward_zero_std=[0.7] * 60))) is None
    nearly_uniform = [0.0] * 60
    assert look("no-gradient", trl(grpo(60, grad_norm=nearly_uniform, frac_reward_zero_std=[0.92] * 60))) is None


def test_no_gradient_in_supervised_training() -> None:
    run = run_of({"loss": [2.1, 2.2, 2.0, 2.1], "grad_norm": [0.0] * 4, "learning_rate": [1e-5] * 4}, framework="hf-trainer")
    found = look("no-gradient", run)
    assert found is not None
    assert (found.severity, found.variant) == ("critical", "supervised")
    memorised = run_of({"loss": [0.0] * 4, "grad_norm": [0.0] * 4}, framework="hf-trainer")
    assert look("no-gradient", memorised) is None


# Odd and normal


def test_loss_about_zero_is_explained() -> None:
    found = look("zero-loss-by-design", trl(grpo(20, loss=[0.0] * 20)))
    assert found is not None
    assert (found.severity, found.variant, found.facts["signal_metric"].text) == ("info", "total", "reward_std")
    growing = without(grpo(10, loss=[0.0] * 8 + [0.0001] * 2, kl=ramp(10, 0.0, 0.0025)), "grad_norm", "frac_reward_zero_std")
    assert (found := look("zero-loss-by-design", trl(growing))) is not None
    assert found.variant == "total_kl"
    assert look("zero-loss-by-design", trl(grpo(20, loss=[0.0] * 20, grad_norm=[0.0] * 20))) is None
    assert look("zero-loss-by-design", trl(grpo(20, loss=[0.3] * 20))) is None


def test_nothing_clipped_with_one_update() -> None:
    found = look("on-policy-zero-kl", trl(grpo(20)))
    assert found is not None
    assert (found.severity, found.variant) == ("info", "clip_only")
    assert look("on-policy-zero-kl", trl(grpo(20, clip_ratio__region_mean=[0.01] * 20))) is None
    agent = run_of({"train/approx_kl": [0.0] * 20, "train/clip_fraction": [0.0] * 20}, framework="sb3")
    assert look("on-policy-zero-kl", agent) is None  # several passes over a batch: there it is a fault


# The start of a log


def numbered(run: Run) -> Run:
    run.notes.append(Note("numbered-records", 1))
    return run


def test_an_invented_first_step_is_no_start() -> None:
    late = trl({"reward": [0.07], "kl": [0.58], "epoch": [0.4], "reward_std": [0.1]})
    assert look("kl-nonzero-at-start", numbered(late)) is None
    assert look("too-early-to-tell", numbered(late)) is None
    early = trl({"reward": [0.07, 0.1], "kl": [0.58, 0.6], "epoch": [0.01, 0.02], "reward_std": [0.1, 0.1]})
    assert look("kl-nonzero-at-start", numbered(early)) is not None
    assert look("too-early-to-tell", numbered(early)) is not None


def test_a_kl_that_no_few_updates_can_make() -> None:
    steps = [10 * (i + 1) for i in range(8)]
    run = trl(grpo(8, kl=[10833.0, 1678.0, 907.0, 65.0, 14.0, 5.0, 2.5, 2.0]), steps=steps)
    found = look("kl-nonzero-at-start", run)
    assert found is not None
    assert (found.severity, found.variant, found.facts["kl"].text) == ("high", "window", "10833")
    assert look("kl-nonzero-at-start", trl(grpo(8, kl=[0.3] * 8), steps=steps)) is None
    assert look("kl-estimator-saturated", run) is None  # only verl cuts it off


def test_steps_at_a_distance_show_the_start_as_well() -> None:
    n = 60
    wild = {
        "train/approx_kl": [0.4] * n,
        "train/clip_fraction": [0.5] * n,
        "rollout/ep_rew_mean": noise(n, 7, 1),
        "train/learning_rate": [0.005] * n,
        "time/fps": [200.0] * n,
    }
    found = look("learning-rate-too-high", run_of(wild, framework="sb3", steps=[2048 * (i + 1) for i in range(n)]))
    assert found is not None
    resumed = run_of(wild, framework="sb3", steps=[1_000_000 + 2048 * i for i in range(n)])
    assert look("learning-rate-too-high", resumed) is None


def test_one_extreme_update_in_a_short_paste() -> None:
    ppo = {"policy/approxkl_avg": [0.327, 0.0187], "policy/clipfrac_avg": [0.38, 0.2], "objective/scores": [0.38, 0.26]}
    assert look("policy-step-too-large", trl(ppo)) is not None
    mild = {**ppo, "policy/approxkl_avg": [0.06, 0.0187]}
    assert look("policy-step-too-large", trl(mild)) is None


# NaN


def test_a_metric_that_is_nan_beside_a_finite_gradient() -> None:
    run = trl(grpo(1, kl=[np.nan], clip_ratio__region_mean=[np.nan]))
    found = look("metric-nan-only", run)
    assert found is not None
    assert found.facts["n_metrics"].text == "2"
    assert look("non-finite", run) is None


def test_a_loss_that_is_nan_beside_a_finite_gradient() -> None:
    kto = {
        "loss": [1.04, np.nan, np.nan, np.nan, 0.9],
        "grad_norm": [41.0, 29.0, 33.0, 45.0, 30.0],
        "rewards/chosen": [0.1, np.nan, 0.2, np.nan, 0.1],
        "rewards/rejected": [0.1, 0.1, np.nan, 0.3, 0.2],
    }
    found = look("metric-nan-only", trl(kto))
    assert found is not None
    assert (found.severity, found.variant, found.facts["n"].text) == ("medium", "loss", "3")
    assert look("non-finite", trl(kto)) is None


def test_a_loss_of_zero_after_nan_is_no_convergence() -> None:
    run = run_of({"loss": [3.6, 63.37, 0.0], "grad_norm": [7.3, np.nan, np.nan], "learning_rate": [5e-5] * 3}, framework="hf-trainer")
    found = look("non-finite", run)
    assert found is not None
    assert (found.severity, found.first_step, found.variant) == ("critical", 2, "default")
    assert look("skipped-updates", run) is None
    assert look("loss-divergence", run) is None
    assert look("metric-nan-only", run) is None


def test_a_loss_that_megatron_does_not_print() -> None:
    metrics = {
        "learning rate": [6.68e-6, 6.678e-6, 6.676e-6],
        "lm loss": [0.733, 0.707, None],
        "loss scale": [1.0] * 3,
        "number of skipped iterations": [0.0, 0.0, None],
    }
    found = look("non-finite", run_of(metrics, framework="megatron", start=3383))
    assert found is not None
    assert (found.variant, found.first_step) == ("not_printed", 3385)
    assert look("metric-missing", run_of(metrics, framework="megatron", start=3383)) is not None
    fp16 = {**metrics, "loss scale": [4096.0, 4096.0, 2048.0], "number of skipped iterations": [0.0, 0.0, 1.0]}
    assert look("non-finite", run_of(fp16, framework="megatron", start=3383)) is None


def test_intermittent_nan_is_told() -> None:
    kl = [0.01] * 30
    kl[5] = kl[12] = kl[20] = np.nan
    assert look("metric-nan-only", trl(grpo(30, kl=kl))) is not None


# Supervised


def test_a_jump_after_the_first_update() -> None:
    run = run_of({"lm loss": [1.93, 11.42], "learning rate": [1.4e-7, 2.8e-7]}, framework="megatron")
    found = look("loss-divergence", run)
    assert found is not None
    assert (found.variant, found.severity, found.first_step) == ("jump", "high", 2)
    assert look("loss-divergence", run_of({"lm loss": [1.93, 2.9]}, framework="megatron")) is None


def test_slight_overfitting_is_told_quietly() -> None:
    n = 65
    train = ramp(n, 1.9, 1.6, 0.02)
    steps = list(range(100, 100 * (n + 1), 100))
    curve = [1.641, 1.595, 1.577, 1.569, 1.571, 1.566, 1.561, 1.554, 1.552, 1.573, 1.576, 1.578, 1.578]
    held_out = [curve[(i + 1) // 5 - 1] if (i + 1) % 5 == 0 else None for i in range(n)]
    run = run_of({"loss": train, "eval_loss": held_out}, framework="llama-factory", steps=steps)
    found = look("overfitting", run)
    assert found is not None
    assert (found.severity, found.first_step) == ("low", 4500)
    flat = [1.552 if i > 8 else value for i, value in enumerate(curve)]
    level = [flat[(i + 1) // 5 - 1] if (i + 1) % 5 == 0 else None for i in range(n)]
    assert look("overfitting", run_of({"loss": train, "eval_loss": level}, framework="llama-factory", steps=steps)) is None


def skip(scale: float, reduced: float, line: int, step: int | None = None, **more: Any) -> Event:
    text = f"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {scale:g}, reducing to {reduced:g}"
    return Event("loss-scale-skip", line, text, step, data={"scale": scale, "reduced": reduced, **more})


def test_loss_scales_that_the_engine_tells() -> None:
    searching = run_of({}, framework="deepspeed-chat", events=[skip(65536, 32768, 2, repeats=3, last_line=4, last_reduced=8192)])
    found = look("loss-scale-warmup", searching)
    assert found is not None
    assert (found.severity, found.facts["now"].text, found.facts["line"].text) == ("info", "8192", "4")
    dying = run_of({"loss": [2.05]}, framework="hf-trainer", events=[skip(64, 32, 1, 378, repeats=5, last_line=9, last_reduced=2)])
    found = look("loss-scale-collapse", dying)
    assert found is not None
    assert (found.severity, found.facts["n"].text) == ("critical", "5")


def test_a_low_scale_that_was_reached_and_held() -> None:
    events = [skip(65536, 32768, 0, repeats=10, last_line=0, last_reduced=64)]
    settled = run_of({"loss": [2.0] * 12}, framework="hf-trainer", events=events)
    assert look("loss-scale-collapse", settled) is None
    assert look("loss-scale-warmup", settled) is not None


def test_skipped_first_iterations_of_megatron() -> None:
    first = {"learning rate": [0.0], "loss scale": [8388608.0], "number of skipped iterations": [10.0]}
    found = look("loss-scale-warmup", run_of(first, framework="megatron", steps=[10]))
    assert found is not None
    assert found.variant == "skipped"
    assert look("learning-rate-zero", run_of(first, framework="megatron", steps=[10])) is None


# Rewards, lengths, speed


def test_counted_as_cut_although_they_ended() -> None:
    odd = grpo(6, completions__clipped_ratio=[0.52] * 6, completions__mean_length=[2302.0] * 6, completions__max_length=[7141.0] * 6)
    assert look("eos-not-recognised", trl(odd)) is not None
    assert look("truncation", trl(odd)) is None


def test_a_trainers_own_evaluation_falls_while_its_reward_rises() -> None:
    n = 140
    task, bonus = ramp(n, 0.038, 0.028, 0.001), ramp(n, 0.01, 0.15, 0.004)
    measured = [None] * n
    held_out = {
        "ndcg@10": [0.0222, 0.0213, 0.0201, 0.0189, 0.0179, 0.0165],
        "cold_recall@10": [0.02, 0.026, 0.04, 0.037, 0.04, 0.037],
    }
    metrics: dict[str, Sequence[Any]] = {
        "reward_mean": [a + b for a, b in zip(task, bonus, strict=True)],
        "ndcg_mean": task,
        "bonus_mean": bonus,
        "reward_std": [0.1] * n,
        "loss": noise(n, 0, 0.01),
    }
    at = [i for i in range(n) if i % 20 == 19][:6]
    for name, values in metrics.items():
        metrics[name] = [None if i in at else value for i, value in enumerate(values)]
    for name, values in held_out.items():
        row: list[Any] = list(measured)
        for i, value in zip(at, values, strict=True):
            row[i] = value
        metrics[name] = row
    found = look("reward-hacking", run_of(metrics, framework="generic"))
    assert found is not None
    assert found.evidence[0].metric == "ndcg@10"
    honest = {**metrics, "ndcg@10": [None if v is None else 0.02 + 0.0001 * i for i, v in enumerate(metrics["ndcg@10"])]}
    assert look("reward-hacking", run_of(honest, framework="generic")) is None


def test_a_slow_first_step_shows_in_the_rate() -> None:
    run = run_of({"loss": ramp(12, 2, 0.7, 0.1), "tokens_per_second_per_gpu": [58.0, *noise(11, 700, 150)]}, framework="torchtune")
    found = look("first-step-slow", run)
    assert found is not None
    assert (found.severity, found.first_step, found.variant) == ("info", 1, "rate")
    steady = run_of({"loss": [1.0] * 12, "tokens_per_second_per_gpu": noise(12, 700, 50)}, framework="torchtune")
    assert look("first-step-slow", steady) is None


def test_a_mean_far_above_the_median_length() -> None:
    rollout = {"rollout/response_len/mean": [1921.6], "rollout/response_len/median": [784.0], "perf/rollout_time": [1756.3]}
    found = look("long-tail", run_of(rollout, framework="slime", start=13))
    assert found is not None
    assert found.variant == "median"
    even = {**rollout, "rollout/response_len/median": [1800.0]}
    assert look("long-tail", run_of(even, framework="slime", start=13)) is None
    assert look("metric-missing", run_of(rollout, framework="slime", start=13)) is not None


def test_one_fixed_answer_far_from_the_reference() -> None:
    n = 120
    dead = grpo(
        n,
        entropy=[*ramp(40, 0.9, 0.4), *[0.0011] * (n - 40)],
        kl=[*ramp(40, 0.0, 4.0), *[2.3] * (n - 40)],
        reward=noise(n, -1.2, 0.2, 3),
        completions__mean_length=[16.0] * n,
    )
    found = look("policy-degenerate", trl(dead))
    assert found is not None
    assert found.variant == "far"
    learned = {**dead, "reward": ramp(n, -1.2, 1.0, 0.05)}
    assert look("policy-degenerate", trl(learned)) is None
