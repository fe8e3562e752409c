"""Faults that a reader of the printed prompt ran into, each as a kind: what the evidence says now."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from assistant.answers import answer
from assistant.answers.checking.verify import Verified, verify
from assistant.answers.model import prompt_to_copy
from assistant.diagnosis import Diagnosis, diagnose
from tests.builders import run_of
from tests.real import diagnosis_of_file

CASES = Path(__file__).resolve().parents[4] / "shared" / "cases"


@cache
def case(name: str) -> Diagnosis:
    folder = next(iter(sorted(CASES.glob(f"*/{name}*"))), None)
    if folder is None:
        pytest.skip("needs ../shared/cases")
    return diagnosis_of_file(next(path for path in sorted(folder.iterdir()) if path.name not in ("case.json", "metrics.jsonl")))


def evidence(diagnosis: Diagnosis, question: str) -> str:
    return prompt_to_copy(question, diagnosis).packed.text


def row(text: str, start: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(start))


def test_a_direction_agrees_with_the_medians_beside_it() -> None:
    text = evidence(case("02_healthy_grpo"), "how long are the answers?")
    shown = row(text, "response_length/mean")
    first, last = (float(re.search(rf"median of {part} 10 E\d+=([\d.]+)", shown)[1]) for part in ("first", "last"))  # type: ignore[index]
    assert last < first
    assert "| rising" not in shown


def test_updates_per_step_are_given_where_they_matter() -> None:
    assert "updates_per_step = 4" in evidence(case("02_healthy_grpo"), "ppo_kl 一直 0.000 是不是太保守了 要不要调小 kl_coef")


def test_a_default_is_not_called_observed() -> None:
    text = evidence(case("19_crash_oom"), "what should I change?")
    key = "actor_rollout_ref.actor.fsdp_config.param_offload"
    assert f"{key}: not in the log (default of this version False; the run may set another)" in text
    assert f"fix: {key} False (the default; not in the log, the run may set another) → True" in text
    shown = evidence(case("13_opd_slow"), "val acc going down?")
    assert "data.max_response_length 8096 (as the metrics show) → 16192" in shown


def test_a_limit_that_the_metrics_show_is_no_default_in_an_answer() -> None:
    text = answer("what should I change?", case("13_opd_slow")).markdown
    assert "`data.max_response_length`: 8096 → 16192" in text


def test_a_setting_that_only_a_metric_prints_is_given_with_it() -> None:
    text = evidence(case("37_trl_hotpotqa_kl"), "what should I change?")
    assert re.search(r"learning_rate: not in the log \(the metric learning_rate prints at most E\d+=4\.999e-06, at step 1\)", text)
    told = answer("what should I change?", case("37_trl_hotpotqa_kl")).markdown
    assert "`learning_rate`: printed 4.999e-06 (step 1) at most → 2e-06" in told


@pytest.mark.parametrize("name", ["37_trl_hotpotqa_kl", "57_sb3_ppo_breakout", "15_trl_dpo_rewards"])
def test_settings_of_verl_are_no_needs_of_another_framework(name: str) -> None:
    text = evidence(case(name), "is it healthy?")
    assert "actor_rollout_ref" not in text.split("THIS LOG CANNOT TELL")[1].split("\n\n")[0]
    assert "calculate_log_probs" not in answer("is it healthy?", case(name)).markdown


def test_a_setting_of_verl_in_a_question_is_not_looked_up_elsewhere() -> None:
    text = evidence(case("15_trl_dpo_rewards"), "LoRA 做 DPO，rewards 一直正好是 0")
    assert "actor_rollout_ref.model.lora_rank" not in text.split("SETTINGS IN THE LOG")[1].split("\n\n")[0]


def test_what_a_check_needs_is_named_by_its_key() -> None:
    text = evidence(case("37_trl_hotpotqa_kl"), "is the reward noisy?")
    assert "needs Score (raw reward) of the training batch in the log" not in text


def test_a_short_log_gives_all_its_values() -> None:
    text = evidence(case("11_trl_grpo_all_truncated"), "completions/clipped_ratio 长期是 1.0，怎么回事？")
    assert re.search(r"mean_terminated_length E\d+=0@1", text)


def test_names_that_do_not_fit_are_counted() -> None:
    run = run_of({f"custom{i}/value": [float(j) for j in range(30)] for i in range(400)})
    text = evidence(diagnose(run), "is it healthy?")
    assert re.search(r"… \(\d+ more\)", text.split("OTHER METRICS PRINTED IN THIS LOG")[1])


def test_statistics_of_one_quantity_stand_together() -> None:
    text = evidence(case("14_opd_healthy"), "is my run healthy?")
    assert "critic/returns/{mean,max,min}" in text


def test_a_long_line_of_the_log_says_that_it_goes_on() -> None:
    text = evidence(case("54_dapo_cpu_oom"), "跑一晚上内存爆了被 ray 杀了")
    assert "… (line goes on)" in text


def test_seconds_and_shares_of_timers_that_are_not_in_every_step() -> None:
    text = evidence(case("40_sglang"), "where does the time go?")
    assert re.search(r"timing_s/old_log_prob E\d+=6\.57 s, in 1 of 2 steps, E\d+=8\.9% of all step time", text)


def test_a_time_table_of_nothing_is_left_out() -> None:
    assert "in no timer" not in evidence(case("32_trl_qwen35"), "训练中熵和 KL 上升，这是什么问题？")


def test_the_validation_curve_is_one_that_has_a_course() -> None:
    text = evidence(case("14_opd_healthy"), "is my run healthy?")
    assert "val-aux/aime_2024/reward/mean@16 (Validation result) n=18" in text
    assert "(18 values" not in answer("how did validation develop?", case("14_opd_healthy")).markdown
    assert "`val-aux/aime_2024/reward/mean@16`" in answer("how did validation develop?", case("14_opd_healthy")).markdown


# What the built-in answers said


def test_one_point_zero_is_not_zero() -> None:
    text = answer("completions/clipped_ratio 长期是 1.0，训练结果也不正常，怎么回事？", case("11_trl_grpo_all_truncated")).markdown
    assert "没有回答到达上限" not in text
    assert text.startswith("不正常：大量回答触到长度上限")


def test_adv_is_the_advantage() -> None:
    text = answer("adv 全是 0", case("40_sglang")).markdown
    assert text.startswith("不正常：没有学习信号：优势全为零")
    assert "timing_s/adv" not in text
    assert "timing_s/adv" in answer("timing_s/adv huge only subtracting a mean lol", case("63_adv_time")).markdown


def test_an_absent_metric_with_a_finding_of_its_own() -> None:
    text = answer("Can 'Current loss scale already at minimum' be fixed by changing the learning rate?", case("26_deepspeed")).markdown
    assert text.startswith("Not normal: The fp16 loss scale fell to its minimum")
    assert "`loss_scale` is not in this log." in text


def test_a_share_of_time_that_the_question_takes_for_granted() -> None:
    text = answer("gen 占了 80% 时间 怎么提速", case("30_gui_cursor")).markdown
    assert text.startswith("这份日志里没有 `timing_s/gen`。")
    assert "`timing_s/update_actor`：1054 秒中的 593 秒（56.3%）" in text


def test_converged_answers_what_is_said_of_the_metrics() -> None:
    text = answer("Is my PPO converged when entropy_loss plateaus and explained_variance is 0?", case("57_sb3_ppo_breakout")).markdown
    assert "`train/explained_variance` is never zero" in text
    assert "0.8737 (step 500096)" in text


def test_the_metric_that_was_asked_for_is_said_to_be_missing() -> None:
    text = answer("vf_explained_var negative, critic broken?", case("46_ppo_musique")).markdown
    assert "`critic/vf_explained_var` is not in this log." in text
    assert "only 1 values" not in text


# Right sentences that the verifier used to mark


def checked(text: str, language: str = "en") -> Verified:
    n = 200
    rng = np.random.default_rng(5)
    run = run_of(
        {
            "actor/entropy": np.linspace(0.9, 0.21, n).round(4).tolist(),
            "actor/grad_norm": (19.6 + rng.random(n)).round(3).tolist(),
            "perf/cpu_memory_used_gb": np.linspace(140, 230, n).round(3).tolist(),
            "perf/max_memory_allocated_gb": [44.192] * n,
        },
        config={"data.train_batch_size": 1024, "actor_rollout_ref.actor.ppo_mini_batch_size": 256},
        era="0.6",
        algorithm="grpo",
    )
    question = "what about entropy and grad_norm and perf/cpu_memory_used_gb?"
    packed = prompt_to_copy(question, diagnose(run), language=language).packed  # type: ignore[arg-type]
    return verify(text, packed.evidence, language, shown=packed.text, said=question)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("`actor/entropy` fell from 0.9 at step 1 to 0.21 at step 200.", "en"),
        ("`actor/entropy` was 0.9 at step 1 and is now 0.21.", "en"),
        ("`actor/entropy` reached 0.9 at step 1 and has come back to 0.21.", "en"),
        ("`actor/entropy` 从 0.9 降到 0.21，第 1 步起一直下降。", "zh"),
        ("每步有 1024 / 256 = 4 次更新。", "zh"),
        ("One step makes 1024 / 256 = 4 updates.", "en"),
        ("Memory of the node went from 140 to 230 GiB.", "en"),
    ],
)
def test_a_right_sentence_stands(text: str, language: str) -> None:
    found = checked(text, language)
    assert [(i.kind, i.text, i.right) for i in found.issues] == []


@pytest.mark.parametrize(
    "text",
    [
        "`actor/entropy` fell from 0.9 at step 40 to 0.21 at step 200.",
        "`actor/entropy` fell from 0.9 at step 1 to 0.35 at step 200.",
        "One step makes 1024 / 256 = 8 updates.",
        "One step makes 1024 / 512 = 2 updates.",
        "第 1 步 `actor/entropy` 为 0.21，第 200 步为 0.9。",
        "`actor/kl_loss` is 44.192.",
    ],
)
def test_a_wrong_one_is_marked(text: str) -> None:
    assert checked(text, "zh" if "第" in text else "en").issues
