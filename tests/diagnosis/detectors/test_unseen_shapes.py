"""Faults in shapes other than the textbook's: outliers in the scale, late or early onsets, logs that begin late, flat validation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from assistant.diagnosis import Diagnosis, diagnose
from assistant.diagnosis.render import causes, finding_json, summary
from assistant.run import FloatArray
from tests.builders import run_of

RNG = np.random.default_rng(7)


def curve(values: FloatArray, noise: float = 0.0) -> list[float | None]:
    return [float(v) for v in values + RNG.normal(0, 1, len(values)) * noise]


def ramp(n: int, start: int, width: int) -> FloatArray:
    return np.clip((np.arange(n) - start) / width, 0, 1)


def score(mean: FloatArray, low: float = 0.0, high: float = 1.0) -> dict[str, list[float | None]]:
    n = len(mean)
    names = ("critic/score", "critic/rewards")
    found: dict[str, list[float | None]] = {}
    for name in names:
        found |= {f"{name}/mean": [float(v) for v in mean], f"{name}/max": [high] * n, f"{name}/min": [low] * n}
    return found


def looked(metrics: dict[str, list[float | None]], **options: Any) -> Diagnosis:
    return diagnose(run_of(metrics, era="0.6", **options))


def ids(found: Diagnosis) -> list[str]:
    return [f.id for f in found.faults]


def of(found: Diagnosis, name: str) -> Any:
    return next(f for f in found.findings if f.id == name)


def every(values: list[float | None], step: int = 10) -> list[float | None]:
    return [value if (i + 1) % step == 0 else None for i, value in enumerate(values)]


def test_outliers_do_not_make_a_reward_sparse() -> None:
    metrics = score(np.array(curve(np.linspace(0.3, 0.5, 100), 0.02), np.float64))
    for i in range(5, 100, 10):
        metrics["critic/score/max"][i] = metrics["critic/rewards/max"][i] = 250.0
    found = looked(metrics)
    assert ids(found)[0] == "reward-outliers"
    assert "reward-sparse" not in ids(found)


def test_a_constant_consolation_is_not_a_solved_task() -> None:
    found = looked(score(np.full(60, 0.1) - np.abs(np.array(curve(np.zeros(60), 0.0005), np.float64)), high=0.1))
    assert "reward-saturated" not in ids(found)


def test_a_few_lucky_answers_are_no_skill_that_was_lost() -> None:
    mean = np.full(60, -1.0)
    mean[12] = -0.996
    metrics = score(mean, low=-1.0, high=-1.0)
    metrics["critic/score/max"][12] = metrics["critic/rewards/max"][12] = 1.0
    first = looked(metrics).faults[0]
    assert (first.id, first.variant) == ("reward-flat-floor", "rare")
    assert "lost" not in summary(first, "en")


def test_one_hit_among_thousands_is_a_sparse_reward() -> None:
    mean = np.full(60, -1.0)
    mean[[20, 55]] = -0.996
    metrics = score(mean, low=-1.0, high=-1.0)
    for i in (20, 55):
        metrics["critic/score/max"][i] = 1.0
    assert "reward-sparse" in ids(looked(metrics))


def test_a_longer_limit_is_not_advised_where_nothing_is_cut() -> None:
    metrics = score(np.zeros(20), high=0.0) | {
        "response_length/clip_ratio": [0.0] * 20,
        "response_length/mean": curve(np.full(20, 300.0), 5),
    }
    first = looked(metrics).faults[0]
    assert first.id == "reward-flat-floor"
    assert "data.max_response_length" not in [row["key"] for row in finding_json(first, run_of(metrics, era="0.6"))["fixes"]]
    assert "truncated" not in (first.causes or ())


@pytest.mark.parametrize("mode", ["seq-mean-token-sum", None])
def test_norms_of_a_summed_loss_are_no_explosion(mode: str | None) -> None:
    norm = 80 * np.exp(np.array(curve(np.zeros(120), 0.4), np.float64))
    loss = curve(np.zeros(120), 0.01 if mode else 40.0)
    config = {"actor_rollout_ref.actor.loss_agg_mode": mode} if mode else {}
    assert "gradient-explosion" not in ids(looked({"actor/grad_norm": curve(norm), "actor/pg_loss": loss}, config=config))


def test_large_norms_near_their_own_start_are_no_explosion_but_a_rise_is() -> None:
    wide = 60 * np.exp(np.array(curve(np.zeros(120), 0.4), np.float64))
    assert "gradient-explosion" not in ids(looked({"actor/grad_norm": curve(wide)}))
    assert "gradient-explosion" in ids(looked({"actor/grad_norm": curve(wide * (1 + 20 * ramp(120, 80, 5)))}))


def test_norms_large_from_the_first_step_are_said_so() -> None:
    found = looked({"actor/grad_norm": curve(np.full(60, 800.0), 60.0)})
    finding = of(found, "gradient-explosion")
    assert finding.variant == "always"


def test_a_late_explosion_is_not_helped_by_a_warm_up() -> None:
    late = curve(0.3 * (1 + 200 * ramp(200, 150, 5)), 0.02)
    early = curve(0.3 * (1 + 200 * ramp(60, 12, 5)), 0.02)
    keys = [
        [row["key"] for row in finding_json(of(looked({"actor/grad_norm": norm}), "gradient-explosion"), run_of({}, era="0.6"))["fixes"]]
        for norm in (late, early)
    ]
    warmup = "actor_rollout_ref.actor.optim.lr_warmup_steps_ratio"
    assert warmup not in keys[0]
    assert warmup in keys[1]


def test_a_few_noisy_validations_show_no_overfitting() -> None:
    train = np.array(curve(np.linspace(0.3, 0.5, 200), 0.02), np.float64)
    for seed in range(20):
        hits = np.random.default_rng(seed).binomial(30, np.linspace(0.3, 0.5, 200)) / 30
        found = looked({**score(train), "val-core/aime24/reward/mean@1": every(curve(hits), 5)})
        assert "overfitting" not in ids(found), seed


def test_a_gap_that_opened_early_is_overfitting_too() -> None:
    train = 0.3 + 0.55 * (1 - np.exp(-np.arange(300) / 60))
    found = looked({**score(train), "val-core/a/reward/mean@1": every(curve(np.full(300, 0.42), 0.01))})
    finding = of(found, "overfitting")
    assert finding.first_step <= 60
    assert abs(finding.facts["validation_now"].value - 0.42) < 0.03


def test_longer_answers_that_validation_does_not_pay_for_are_bought() -> None:
    n = 200
    metrics = {
        **score(0.3 + 0.5 * np.arange(n) / n),
        "response_length/mean": curve(300 + 1200 * np.arange(n) / n, 15),
        "response_length/clip_ratio": [0.0] * n,
    }
    flat = every(curve(np.full(n, 0.35), 0.01))
    rising = every(curve(0.32 + 0.45 * np.arange(n) / n, 0.01))
    bought = looked({**metrics, "val-core/a/reward/mean@1": flat})
    assert of(bought, "length-hacking").variant == "flat"
    assert "length-growth-healthy" not in [f.id for f in bought.findings]
    earned = looked({**metrics, "val-core/a/reward/mean@1": rising})
    assert "length-growth-healthy" in [f.id for f in earned.findings]
    assert "length-hacking" not in ids(earned)


def test_a_fall_of_the_validation_begins_where_it_was_last_as_good_as_the_best() -> None:
    n = 200
    wanted = 0.5 - 0.3 * ramp(n, 100, 100)
    found = looked({**score(0.3 + 0.5 * np.arange(n) / n), "val-core/a/reward/mean@1": every(curve(wanted, 0.012))})
    assert 90 <= of(found, "reward-hacking").first_step <= 130


def test_noise_is_no_gain_that_pays_for_five_times_the_length() -> None:
    n = 250
    metrics = {
        **score(np.array(curve(np.full(n, 0.36), 0.035), np.float64)),
        "response_length/mean": curve(500 * np.exp(1.8 * ramp(n, 100, 150)), 10),
        "response_length/clip_ratio": [0.0] * n,
    }
    assert "length-explosion" in ids(looked(metrics))


@pytest.mark.parametrize("start", [1, 801])
def test_entropy_explodes_in_a_resumed_run_too(start: int) -> None:
    n = 200
    metrics = {"actor/entropy": curve(0.3 * np.exp(2.6 * ramp(n, 100, 40)), 0.01), **score(0.5 * (1 - 0.9 * ramp(n, 124, 40)))}
    found = looked(metrics, start=start)
    assert ids(found)[0] == "entropy-explosion"
    assert start + 90 <= (found.faults[0].first_step or 0) <= start + 125


def test_a_low_that_a_later_log_comes_back_from_is_no_explosion() -> None:
    assert "entropy-explosion" not in ids(looked({"actor/entropy": curve(0.08 + 0.3 * ramp(100, 20, 60), 0.005)}, start=801))


def test_entropy_far_above_any_exploration_is_said_before_it_does_harm() -> None:
    metrics = {"actor/entropy": curve(0.35 * np.exp(1.5 * ramp(200, 60, 120)), 0.01), **score(np.linspace(0.3, 0.45, 200))}
    finding = of(looked(metrics), "entropy-explosion")
    assert finding.severity == "medium"
    near = {"actor/entropy": curve(0.35 * np.exp(0.8 * ramp(200, 60, 120)), 0.01), **score(np.linspace(0.3, 0.45, 200))}
    assert "entropy-explosion" not in ids(looked(near))


def test_a_bonus_that_is_off_by_default_is_not_the_first_suspect() -> None:
    metrics = {"actor/entropy": curve(0.3 * np.exp(2.6 * ramp(200, 100, 40)), 0.01), **score(0.5 * (1 - 0.9 * ramp(200, 124, 40)))}
    assert "bonus" not in causes(of(looked(metrics), "entropy-explosion"))[0]
    assert "bonus" in causes(of(diagnose(run_of(metrics, era="0.3")), "entropy-explosion"))[0]


def test_memory_that_grows_in_every_part_is_a_leak_though_one_answer_was_longer() -> None:
    n = 180
    longest = np.full(n, 2400.0)
    longest[100:] = 4000.0
    leak = {"perf/max_memory_allocated_gb": curve(30 + 0.2 * np.arange(n)), "response_length/max": curve(longest)}
    assert "gpu-memory-leak" in ids(looked(leak))
    grows = {**leak, "response_length/max": curve(2000 * (1 + np.arange(n) / 100))}
    assert "gpu-memory-leak" not in ids(looked(grows))


def test_rounds_of_refilling_are_the_cause_of_slower_steps() -> None:
    n = 200
    rounds = 2 + 8 * ramp(n, 40, 120)
    gen = 30 * rounds
    metrics = {
        "train/num_gen_batches": [float(round(v)) for v in rounds],
        "timing_s/gen": curve(gen, 1.0),
        "timing_s/update_actor": curve(np.full(n, 40.0), 0.5),
        "timing_s/step": curve(gen + 42, 0.5),
        "perf/total_num_tokens": curve(np.full(n, 270000.0), 500.0),
        **score(np.linspace(0.4, 0.6, n)),
    }
    found = looked(metrics)
    assert ids(found)[0] == "shrinking-learning-signal"
    assert 45 <= (found.faults[0].first_step or 0) <= 75


def test_length_collapse_does_not_blame_a_kl_that_is_not_in_the_reward() -> None:
    n = 200
    metrics = {"response_length/mean": curve(400 * (1 - 0.95 * ramp(n, 90, 40)), 3), **score(0.4 * (1 - 0.8 * ramp(n, 100, 40)))}
    finding = of(looked(metrics), "length-collapse")
    assert "kl_coef" not in str(finding_json(finding, run_of(metrics, era="0.6"))["fixes"])
    metrics["critic/rewards/mean"] = [v - 0.2 for v in metrics["critic/score/mean"] if v is not None]
    assert "kl_coef" in str(finding_json(of(looked(metrics), "length-collapse"), run_of(metrics, era="0.6"))["fixes"])


def test_a_run_that_is_set_to_validate_is_not_told_to() -> None:
    metrics = score(np.linspace(0.3, 0.5, 80))
    assert "no-validation" in ids(looked(metrics))
    assert "no-validation" not in ids(looked(metrics, config={"trainer.test_freq": 10}))
    assert "no-validation" not in ids(looked({**metrics, "timing_s/testing": every(curve(np.full(80, 50.0)))}))
    assert "no-validation" in ids(looked(metrics, config={"trainer.test_freq": -1}))


def test_aborted_samples_come_before_the_nan_they_leave() -> None:
    nan: list[float | None] = [float("nan")] * 30
    metrics: dict[str, list[float | None]] = {
        f"critic/{name}/{what}": nan for name in ("score", "advantages") for what in ("mean", "max", "min")
    }
    metrics |= {"response/aborted_ratio": [1.0] * 30, "actor/grad_norm": curve(np.full(30, 0.2), 0.01)}
    assert ids(looked(metrics))[0] == "all-aborted"
