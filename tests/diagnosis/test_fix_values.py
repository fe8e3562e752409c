"""Advice never goes against its own words: "raise it" raises, "lower it" lowers, from whatever value the run has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from assistant.cards import in_folder
from assistant.diagnosis.finding import Finding
from assistant.diagnosis.fix_values import UNCHANGED, is_number, target
from assistant.diagnosis.render import by_era, fixes
from assistant.diagnosis.settings import bounds
from assistant.run import Style
from tests.builders import run_of

ERAS = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "unknown")
FROM = [0, 1e-8, 1e-7, 5e-7, 1e-6, 2e-6, 1e-5, 1e-4, 5e-4, 0.001, 0.01, 0.05, 0.1, 0.2, 0.28, 0.4, 0.5, 0.7, 0.85, 0.9, 0.95, 1, 1.0, 1.2]
FROM += [2, 3, 4, 5, 7, 8, 10, 15, 16, 32, 63, 64, 128, 500, 512, 600, 1024, 2048, 3600, 4096, 8192, 30000, 100000]


def rows() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for card in in_folder("findings"):
        for row in card.front.get("fixes") or ():
            yield card.id.removeprefix("findings/"), row


def right(row: Mapping[str, Any], start: float, to: float) -> bool:
    if start in row.get("unlimited", ()):
        return bool(row["moves"] == "down")
    return to > start if row["moves"] == "up" else to < start


def test_every_number_to_set_has_a_direction_or_is_the_aim() -> None:
    unmarked = []
    for name, row in rows():
        targets = row["to"].values() if isinstance(row.get("to"), Mapping) else [row.get("to")]
        if any(is_number(to) for to in targets) and row.get("moves") not in ("up", "down", "set"):
            unmarked.append((name, row["id"]))
    assert unmarked == []


@pytest.mark.parametrize("era", ERAS)
def test_no_advice_goes_against_its_direction_for_any_value_in_the_config(era: str) -> None:
    judged = 0
    for name, row in rows():
        key = by_era(row.get("key"), era)
        if key is None or row.get("moves") not in ("up", "down"):
            continue
        for start in FROM:
            run = run_of({"critic/score/mean": [0.5] * 3}, era=era, config={key: start})
            for fix in fixes(Finding(name, fixes={row["id"]: None}), run):
                judged += 1
                assert fix["from"] == start
                assert not is_number(fix["to"]) or right(row, start, fix["to"]), (name, row["id"], start, fix)
    assert judged > 500


def test_a_value_that_a_detector_computed_obeys_the_direction_too() -> None:
    for name, row in rows():
        if row.get("moves") in ("up", "down"):
            for start in FROM:
                for computed in FROM:
                    to = target(row, computed, start)
                    assert to is UNCHANGED or to is None or right(row, start, to), (name, row["id"], start, computed)


@pytest.mark.parametrize(
    ("finding", "fix", "key", "start", "to"),
    [
        ("kl-blowup", "kl-reward-coef", "algorithm.kl_ctrl.kl_coef", 0.05, 0.1),
        ("kl-blowup", "kl-reward-coef", "algorithm.kl_ctrl.kl_coef", 0.001, 0.01),
        ("kl-blowup", "kl-loss-coef", "actor_rollout_ref.actor.kl_loss_coef", 0.05, 0.1),
        ("entropy-collapse", "clip-higher", "actor_rollout_ref.actor.clip_ratio_high", 0.2, 0.28),
        ("entropy-collapse", "clip-higher", "actor_rollout_ref.actor.clip_ratio_high", 0.4, 0.5),
        ("entropy-collapse", "clip-higher", "actor_rollout_ref.actor.clip_ratio_high", 0.5, None),
        ("entropy-collapse", "entropy-bonus", "actor_rollout_ref.actor.entropy_coeff", 0.001, 0.002),
        ("no-learning-signal", "rollout-n", "actor_rollout_ref.rollout.n", 4, 8),
        ("no-learning-signal", "rollout-n", "actor_rollout_ref.rollout.n", 16, 32),
        ("reward-sparse", "n", "actor_rollout_ref.rollout.n", 64, None),
        ("reward-plateau", "signal", "actor_rollout_ref.rollout.n", 32, 64),
        ("many-uniform-groups", "rollout-n", "actor_rollout_ref.rollout.n", 16, 32),
        ("gradient-explosion", "grad-clip", "actor_rollout_ref.actor.grad_clip", 0.2, 0.1),
        ("gradient-explosion", "grad-clip", "actor_rollout_ref.actor.grad_clip", 0.1, None),
        ("value-loss-divergence", "clip", "critic.grad_clip", 1.0, 0.5),
        ("reward-collapse", "lr", "actor_rollout_ref.actor.optim.lr", 1e-7, 5e-8),
        ("generation-bound", "cache", "actor_rollout_ref.rollout.gpu_memory_utilization", 0.85, 0.9),
        ("generation-bound", "cache", "actor_rollout_ref.rollout.gpu_memory_utilization", 0.5, 0.7),
        ("kv-preemption", "cache", "actor_rollout_ref.rollout.gpu_memory_utilization", 0.9, None),
        ("validation-noisy", "samples", "actor_rollout_ref.rollout.val_kwargs.n", 32, 64),
        ("validation-costly", "subset", "data.val_max_samples", -1, 512),
        ("no-validation", "test-freq", "trainer.test_freq", -1, 10),
        ("no-validation", "test-freq", "trainer.test_freq", 5, None),
        ("crash-nccl", "timeout-longer", "actor_rollout_ref.nccl_timeout", 3600, 7200),
        ("truncation", "limit", "data.max_response_length", 2048, 4096),
    ],
)
def test_the_value_follows_from_the_one_that_the_run_has(finding: str, fix: str, key: str, start: float, to: float | None) -> None:
    run = run_of({"critic/score/mean": [0.5]}, era="0.6", config={key: start})
    rows = fixes(Finding(finding, fixes={fix: None}), run)
    assert [(row["key"], row["from"], row["to"]) for row in rows] == ([(key, start, to)] if to is not None else [])


def test_a_setting_in_words_gets_a_direction_and_no_number() -> None:
    run = run_of({}, era="0.6", config={"algorithm.kl_ctrl.kl_coef": "${KL}"})
    [row] = fixes(Finding("kl-blowup", fixes={"kl-reward-coef": None}), run)
    assert (row["from"], row["to"]) == ("${KL}", None)
    assert row["why"]


def test_the_spelling_of_the_log_is_kept_when_its_version_is_unknown() -> None:
    run = run_of({}, config={"actor_rollout_ref.actor.grad_clip": 10.0})
    [row] = fixes(Finding("gradient-explosion", fixes={"grad-clip": None}), run)
    assert (row["key"], row["from"], row["to"]) == ("actor_rollout_ref.actor.grad_clip", 10.0, 0.5)


# Defaults that the metrics refute


def limit_of(longest: list[float], ratio: list[float], era: str) -> tuple[Any, Any]:
    run = run_of({"response_length/max": longest, "response_length/clip_ratio": ratio}, era=era)
    [row] = fixes(Finding("truncation", fixes={"limit": None}), run)
    return row["from"], row["to"]


def test_answers_that_reach_the_limit_show_it() -> None:
    assert limit_of([2048.0, 2048.0, 2048.0], [0.1, 0.2, 0.1], "0.6") == (2048, 4096)
    assert limit_of([2048.0, 2048.0, 1500.0], [0.1, 0.2, 0.0], "0.6") == (2048, 4096)


def test_answers_beyond_the_default_limit_refute_it_without_showing_the_real_one() -> None:
    assert limit_of([2048.0, 1900.0, 1700.0], [0.0, 0.0, 0.0], "0.6") == (None, None)
    assert limit_of([2048.0, 1900.0, 1700.0], [0.1, 0.1, 0.1], "0.9") == (None, None)  # 0.9 may count the batch's longest


def test_shorter_answers_leave_the_default_standing() -> None:
    assert limit_of([400.0, 410.0], [0.0, 0.0], "0.6") == (512, 1024)


def test_advantages_show_the_group_size() -> None:
    metrics = {"critic/advantages/max": [2.474874] * 5, "critic/advantages/min": [-2.474874] * 5, "critic/score/mean": [0.5] * 5}
    [row] = fixes(Finding("reward-sparse", fixes={"n": None}), run_of(metrics, era="0.6", algorithm="grpo"))
    assert (row["from"], row["to"]) == (8, 16)
    metrics["critic/advantages/max"] = [2.9] * 5
    run = run_of(metrics, era="0.6", algorithm="grpo")
    assert bounds(run, "actor_rollout_ref.rollout.n").low == 11  # 10/√11 is the first bound above 2.9
    [row] = fixes(Finding("reward-sparse", fixes={"n": None}), run)
    assert (row["from"], row["to"]) == (None, None)  # at least 11, perhaps 16 already


def test_responses_and_batch_show_the_group_size() -> None:
    metrics = {
        "perf/total_num_tokens": [512 * 400] * 3,
        "prompt_length/mean": [100.0] * 3,
        "response_length/mean": [300.0] * 3,
        "perf/throughput": [512 * 400 / 4 / 50] * 3,
        "perf/time_per_step": [50.0] * 3,
    }
    run = run_of(metrics, era="0.6", config={"data.train_batch_size": 64})
    assert bounds(run, "actor_rollout_ref.rollout.n").exact == 8
    assert bounds(run_of(metrics, era="0.6"), "data.train_batch_size").allows(1024) is False
    assert bounds(run_of(metrics, era="0.6"), "data.train_batch_size").allows(256)
    assert bounds(run, "trainer.n_gpus_per_node").allows(8) is False
    assert bounds(run, "trainer.n_gpus_per_node").allows(4)


def test_a_schedule_refutes_a_lower_default_rate() -> None:
    run = run_of({"actor/lr": [1e-5, 2e-5, 3e-5, 2e-5]}, era="0.6")
    [row] = fixes(Finding("reward-collapse", fixes={"lr": None}), run)
    assert row["from"] is None
    assert row["to"] == 1.5e-5


def test_a_coefficient_printed_with_three_decimals_refutes_another_default() -> None:
    def fix(value: float) -> tuple[Any, Any]:
        run = run_of({"actor/kl_coef": [value] * 3}, style=Style.FIXED3, era="0.3")
        [row] = fixes(Finding("kl-blowup", fixes={"kl-loss-coef": None}), run)
        return row["from"], row["to"]

    assert fix(0.001) == (0.001, 0.01)
    assert fix(0.005) == (None, 0.01)
    assert fix(0.1) == (0.1, 0.2)


def test_validations_show_how_often_they_come() -> None:
    val = [0.1 if step % 5 == 0 else None for step in range(1, 41)]
    run = run_of({"val-core/gsm8k/reward/mean@1": val, "critic/score/mean": [0.5] * 40}, era="0.6")
    assert bounds(run, "trainer.test_freq").exact == 5
