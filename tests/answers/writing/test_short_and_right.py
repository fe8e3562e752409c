"""Built-in answers on real logs: short, the answer first; and what the evidence of a prompt must hold."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from assistant.answers import answer
from assistant.answers.grounding.evidence import length
from assistant.answers.model import prompt_to_copy
from assistant.diagnosis import Diagnosis, diagnose, render
from tests.builders import run_of
from tests.real import diagnosis_of_file

CASES = Path(__file__).resolve().parents[4] / "shared" / "cases"


@cache
def of(case: str) -> Diagnosis:
    folder = CASES / case
    if not folder.is_dir():
        pytest.skip("needs ../shared/cases")
    return diagnosis_of_file(folder / "log.txt")


@pytest.mark.parametrize(
    ("case", "question"),
    [
        ("verl/32_lora_vllm_random_policy_entropy_9_49", "reward, loss and grad_norm are all 0. Why is nothing learned?"),
        ("verl/21_grpo_rollout_n1_no_baseline_700", "critic/advantages/mean equals critic/score/mean on every step. Is that right?"),
        ("verl/12_opd_truncation_growth_160", "response_length/clip_ratio 特别高，这是什么意思，该看什么？"),
        ("verl/02_healthy_grpo_deepseek7b_gsm8k_1120", "clipfrac 0 forever normal?"),
        ("other/18_trl_ppo_toy_negative_kl", "negative objective/kl and very high approxkl and clipfrac. Is that a problem?"),
    ],
)
def test_an_answer_is_short_and_more_gives_the_rest(case: str, question: str) -> None:
    given = answer(question, of(case))
    assert length(given.markdown) <= 165
    more = answer("详细说说" if given.language == "zh" else "more details", of(case), history=[given.turn])
    assert length(more.markdown) > 40


@pytest.mark.parametrize(
    ("case", "question", "first"),
    [
        ("verl/41_step0_and_step1_different_format", "Why does the step:0 line look completely different?", "nothing but validation"),
        ("verl/34_retool_step60_wandb_lags_one_step", "Why does the wandb page lag one step behind the console?", "one step behind"),
        ("verl/44_rllm_score_zero_solve_none_128", "solve_none is 30-32 out of 32. Is this normal?", "Not normal"),
        ("other/25_deepspeed_chat_early_overflow_question", "loss scale is halved at the beginning. Is my run broken?", "is normal here"),
        ("verl/46_ppo_musique_entropy_collapse_long_loops_1049", "entropy collapse 怎么办", "策略退化"),
        ("verl/02_healthy_grpo_deepseek7b_gsm8k_1120", "Is ppo_kl different from 0 normal?", "`actor/ppo_kl`"),
    ],
)
def test_the_first_paragraph_answers(case: str, question: str, first: str) -> None:
    assert first in answer(question, of(case)).markdown.split("\n\n")[0]


def test_the_kl_weight_is_read_from_loss_and_kl() -> None:
    diagnosis = of("long/37_trl_hotpotqa_kl_blowup_grad_spikes")
    lead = next(f for f in diagnosis.findings if f.id == "kl-blowup")
    fix = next(row for row in render.fixes(lead, diagnosis.run) if row["key"] == "beta")
    assert (fix["from"], fix["to"]) == (0.01, 0.02)


def test_an_unknown_group_size_is_not_taken_for_the_default() -> None:
    diagnosis = of("verl/40_sglang_gsm8k_advantages_all_zero_steps_80_83")
    rows = [row for f in diagnosis.faults for row in render.fixes(f, diagnosis.run) if row["key"] == "actor_rollout_ref.rollout.n"]
    assert rows
    assert all(row["from"] is None for row in rows)


def test_a_key_that_the_version_lacks_is_not_proposed() -> None:
    diagnosis = of("verl/63_adv_time_10751s")
    keys = [row["key"] for f in diagnosis.faults for row in render.fixes(f, diagnosis.run)]
    assert "reward.num_workers" not in keys


@pytest.mark.parametrize(
    ("case", "question", "words"),
    [
        (
            "verl/54_dapo_cpu_oom_ray_killed",
            "why was it killed?",
            "ray::WorkerDict.actor_rollout_generate_sequences (and 3 more such lines)",
        ),
        ("other/65_skyrl_oom_after_checkpoint", "why did it stop?", "trainer.py:243 train"),
        ("other/35_megatron_bert_first10_skipped_healthy", "the first iterations are all skipped, why?", "number of skipped iterations"),
    ],
)
def test_the_prompt_holds_what_is_needed(case: str, question: str, words: str) -> None:
    text = prompt_to_copy(question, of(case)).packed.text
    assert words in text
    assert "skipped: not printed" not in text


@pytest.mark.parametrize(("question", "first"), [("is the entropy normal?", "is not in this log"), ("熵正常吗？", "没有")])
def test_another_fault_says_nothing_of_a_metric_that_is_not_printed(question: str, first: str) -> None:
    made = run_of({"kl": [0.001 * 1.2**i for i in range(60)], "reward": [0.5] * 60, "loss": [0.01] * 60}, framework="trl")
    diagnosis = diagnose(made)
    assert diagnosis.faults
    lead = answer(question, diagnosis).markdown.split("\n")[0]
    assert first in lead
