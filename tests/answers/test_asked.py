"""What engineers ask of real logs, tired: stretches, moments, steps, the run itself. Figures were recomputed from the log lines."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from assistant.answers import Answer, answer
from assistant.diagnosis import Diagnosis, diagnose
from assistant.run import Event
from tests.builders import run_of
from tests.real import diagnosis_of_file

CASES = Path(__file__).parents[3] / "shared" / "cases" / "verl"
pytestmark = pytest.mark.skipif(not CASES.exists(), reason="the labelled logs are not here")


@cache
def of_case(number: str) -> Diagnosis:
    return diagnosis_of_file(next(CASES.glob(f"{number}_*")) / "log.txt")


def ask(number: str, question: str) -> Answer:
    found = answer(question, of_case(number))
    assert found.checked["unverified"] == 0, [n.text for n in found.numbers if n.status == "unverified"]
    return found


ROWS: list[tuple[str, str, list[str], list[str]]] = [
    # Stretches
    ("10", "最近10步的平均得分", [r"第 49–59 步（10 个值）的平均值是 -0\.884\b"], ["第 10 步没有打印"]),
    ("10", "mean score of the last 10 steps", [r"averages -0\.884 over steps 49–59 \(10 values\)"], ["its last value"]),
    ("10", "what is the average response length?", [r"averages 472\.2 over steps 1–59 \(54 values\)"], ["Not normal"]),
    ("10", "score between step 20 and 40", [r"averages -0\.738 over steps 21–39", "falling overall"], []),
    ("02", "score last 50 steps avg?", [r"averages 0\.9719 over steps 1070–1119 \(50 values\)"], []),
    ("02", "highest score in the first 100 steps", [r"highest `critic/score/mean` in steps 1–100 is 0\.\d+ \(step \d+\)"], ["score/max"]),
    ("12", "median response length over the last 20 steps", [r"over steps 138–159 is 4620 \(20 values\)"], ["is not in this log"]),
    ("17", "avg train loss last 5 steps", [r"averages 0\.104 over steps 368–372 \(5 values\)"], []),
    ("03", "平均每步多久", ["各计时项之和", r"66\.\d 秒"], []),
    # Limits
    (
        "02",
        "when did score first exceed 0.9?",
        [r"first exceeds 0\.9 with 0\.905 \(step 65\)", "1047 of 1119", "from step 76 on"],
        ["Not normal"],
    ),
    ("02", "how many steps had grad norm over 1", ["above 1 in 11 of 1119 steps"], []),
    ("02", "how often is kl above 0.08", ["above 0.08 in 239 of 1119 steps"], []),
    ("02", "熵有没有低于过0.02", [r"从未低于 0\.02；最低是 0\.022（第 687 步）"], []),
    ("12", "截断率第一次超过10%是哪一步", [r"首次超过 0\.1 时是 0\.1055（第 59 步）", "144 步中有 81 步"], []),
    (
        "12",
        "clip ratio first above 0.1 when",
        [r"response_length/clip_ratio` first exceeds 0\.1 with 0\.1055 \(step 59\)"],
        ["pg_clipfrac"],
    ),
    # Moments
    ("02", "When did the length start falling?", [r"starts to fall around step \d\b", r"about 129"], ["could not tell"]),
    ("10", "length went to shit, when exactly", [r"starts to fall around step \d\b", "since step 36"], []),
    ("10", "从哪一步开始崩的", [r"最早的异常出现在第 1 步", "第 36 步"], ["没看懂"]),
    ("02", "哪一步开始崩的？", ["没有崩掉的地方"], ["没看懂", "最早的异常"]),
    ("02", "when did it plateau", [r"last clear gain around step 1\d\d", "since step 112"], []),
    ("03", "when does vf_loss stop falling", ["nearly all of its fall by step 5"], []),
    ("28", "什么时候挂的", ["它停止的原因：磁盘已满"], []),
    # Steps
    (
        "02",
        "compare step 10 and step 1000",
        [r"`critic/score/mean`: 0\.742 \(step 10\), 0\.986 \(step 1000\); up by 0\.244"],
        ["could not tell"],
    ),
    ("02", "val score at step 500 vs step 1000?", [r"0\.668 \(step 500\), 0\.691 \(step 1000\); up by 0\.023"], ["critic/score"]),
    ("02", "what happened at step 60?", [r"`timing_s/step` 107\.967", "also runs `timing_s/testing`"], ["could not tell"]),
    ("02", "what's going on with grad norm around step 1036", [r"is 19\.057 \(step 1036\)", "median of 0"], []),
    ("10", "第36步发生了什么", [r"`actor/pg_loss` 0\.4262", "回答长度骤减，自第 36 步起"], []),
    ("03", "step 200 anything weird?", ["Nothing stands out at step 200"], ["could not tell"]),
    ("10", "step 5000?", [r"Step 5000 is not in this log: it has steps 0–59"], []),
    # The run
    ("10", "Which version of verl is this?", [r"^verl 0\.6", "response/aborted_ratio is printed"], ["In general"]),
    ("02", "这个 run 用的是什么算法？", ["^GRPO", "第 10 行"], ["没看懂"]),
    ("03", "ppo or grpo??", ["^PPO with a critic", "line 51"], []),
    ("10", "How many GPUs do I use?", ["^4 GPUs"], ["default", r"\b8\b"]),
    ("02", "用了几张卡", ["共 8 张"], ["默认"]),
    ("10", "How many responses per step?", ["^512 responses a step"], ["could not tell", "default"]),
    ("02", "每步多少条回答", [r"1024 个 prompt × `actor_rollout_ref\.rollout\.n` 5 = 每步 5120 条回答"], []),
    ("10", "how long until it's done", ["step 59 of 55990, 55931 to go", r"About \d+ days"], []),
    ("02", "训练还要多久", ["已经跑完"], ["没看懂"]),
    ("10", "how many gpu hours so far", [r"6\.87 GPU hours"], []),
    ("10", "tokens per second in total", [r"About 5210 tokens a second over all GPUs", "on 4 GPUs"], []),
    ("02", "tokens per second in total", [r"About 15\d00 tokens a second in all: 5120 responses"], ["is not in this log"]),
    ("02", "how much memory do I use", ["prints no memory metrics"], ["memory\\(GiB\\)"]),
    # Outlook
    ("02", "is the model learning?", ["^It has learned", r"0\.6425, of the last 10 0\.978"], ["model.path"]),
    ("10", "is it learning anything at all", ["^No: The reward fell", "KL penalty outweighs"], []),
    ("40", "is it learning?", ["^No: No learning signal"], []),
    ("17", "is the sft run converging", ["^Yes, it is learning", "train/loss"], ["could not tell"]),
    ("42", "is it learning?", ["^This log cannot tell"], []),
    ("02", "Is my critic learning?", ["prints no metric of a critic"], ["could not tell"]),
    ("38", "is the critic learning?", ["NaN or Inf"], []),
    ("12", "Will it OOM?", ["^No sign of it", r"54\.96"], ["No crash is recorded"]),
    ("54", "will it oom?", ["^It already has: Host memory"], []),
    ("02", "is grad clipping active?", [r"default is 1\.0", "above it in 11 of 1119 steps"], ["In general"]),
    ("03", "梯度裁剪起作用了吗", [r"grad_clip` 是 1\.0", "435 步中有 435 步"], []),
    # Names, settings, premises
    ("02", "what is my learning rate?", [r"optim\.lr` is 1e-06"], ["learning_rate` is not"]),
    ("03", "what is my learning rate?", ["0.010 means 1e-06"], ["other than verl"]),
    ("03", "is lr(1e-4) 0.01 too big?", ["0.010 means 1e-06"], ["three decimals"]),
    ("03", "what's my kl coef", [r"`critic/kl_coeff`: 0\.001"], ["is not in this log"]),
    ("02", "Should I lower the temperature?", [r"rollout\.temperature", r"`1\.0`"], ["pg_clipfrac_lower"]),
    ("02", "clip_ratio 设多大合适", [r"actor\.clip_ratio", "0.1 到 0.3"], ["截断率"]),
    ("10", "is the KL penalty too large?", ["^Not normal: The KL penalty outweighs the score", "9.34 times"], ["Nothing in this log"]),
    ("10", "KL 系数要调吗？", [r"algorithm\.kl_ctrl\.kl_coef", r"0\.05", "KL 惩罚盖过了 score"], ["kl_loss_coef"]),
    ("10", "分数", ["reward 从最好水平大幅下跌"], ["没看懂"]),
    ("10", "现在的分数", [r"-0\.8826（第 59 步）"], ["没看懂"]),
    ("02", "最近100步平均分多少", [r"平均值是 0\.97"], ["没看懂"]),
    ("10", "奖励为什么下降", ["不正常：reward 从最好水平大幅下跌", "`critic/score/mean`"], ["并没有下降", "总体上升"]),
    ("10", "My reward is going up, right?", [r"^In this log `critic/score/mean` does not rise"], ["rising overall"]),
    ("02", "why is my pg_loss negative?", ["below zero in 475 of 1119 steps"], ["Policy loss is positive"]),
    ("02", "Why does the score not improve?", ["critic/score/mean"], ["No critic", "Training score and validation"]),
    ("02", "is kl_loss the same as ppo_kl?", ["^Not the same", "not the distance to the reference"], []),
    ("02", "is actor/entropy the same as actor/entropy_loss?", ["^Yes: `actor/entropy"], []),
    ("02", "is rewards the same as score here?", ["`critic/rewards/mean` and `critic/score/mean` are two metrics"], []),
    ("02", "why are my answers so short?", ["response_length/mean"], ["rising overall"]),
    ("10", "why?", ["^Not normal: The KL penalty outweighs the score"], ["could not tell"]),
    ("02", "为什么", ["^不正常"], ["没看懂"]),
    ("28", "why did it die", ["^Not normal: Disk full"], ["could not tell"]),
    ("42", "why did it hang", ["NCCL"], ["No crash is recorded"]),
    ("21", "why is it flat", ["`critic/score/mean`"], ["could not tell"]),
    ("21", "max response length setting?", [r"data\.max_response_length` is 128"], []),
    ("36", "eta?", ["139 to go"], []),
]


@pytest.mark.parametrize(("case", "question", "must", "must_not"), ROWS, ids=[f"{case}-{question}" for case, question, *_ in ROWS])
def test_real_log(case: str, question: str, must: list[str], must_not: list[str]) -> None:
    text = ask(case, question).markdown
    for pattern in must:
        assert re.search(pattern, text), f"missing {pattern!r} in:\n{text}"
    for pattern in must_not:
        assert not re.search(pattern, text), f"{pattern!r} in:\n{text}"


def test_an_average_knows_what_it_was_made_of() -> None:
    facts = [f for f in ask("10", "mean score of the last 10 steps").facts if f.formula.startswith("mean of critic/score/mean")]
    assert facts[0].formula == "mean of critic/score/mean, steps 49–59"
    assert isinstance(facts[0].value, float)
    assert abs(facts[0].value - -0.8839648) < 1e-6


def wave(n: int, at: float = 0.3) -> list[float]:
    return [at + 0.01 * ((i * 7) % 5 - 2) for i in range(n)]


def test_a_literal_key_is_not_exchanged_for_its_sibling() -> None:
    """The finding is about the score; the question gives the key of the reward, which rises."""
    text = ask("10", "why does critic/rewards/mean fall?").markdown
    assert text.startswith("In this log `critic/rewards/mean` does not fall")
    assert "What is not normal is `critic/score/mean`" in text


def test_nan_onset() -> None:
    values = [*wave(40), *[float("nan")] * 5]
    run = run_of({"actor/grad_norm": values, "critic/score/mean": wave(45)}, era="0.6", framework="verl")
    found = answer("from which step is grad_norm nan?", diagnose(run))
    assert "`actor/grad_norm` is first not a finite number with nan (step 41); so are 5 of 45 values." in found.markdown


def test_time_left_needs_an_announced_total() -> None:
    metrics = {"critic/score/mean": wave(20), "timing_s/step": [30.0] * 20}
    known = answer("eta?", diagnose(run_of(metrics, era="0.6", total_steps=140))).markdown
    assert known.startswith("About 60 minutes left: step 20 of 140, 120 to go, at 30 s a step")
    unknown = answer("eta?", diagnose(run_of(metrics, era="0.6"))).markdown
    assert "does not say how many steps" in unknown
    assert "A step takes 30 s" in unknown


def test_what_the_log_said_at_a_step() -> None:
    event = Event("checkpoint", 7, "local_global_step_folder: /ckpt/global_step_20", step=20)
    run = run_of({"critic/score/mean": wave(40), "actor/grad_norm": [*wave(19, 0.5), 9.0, *wave(20, 0.5)]}, era="0.6", events=[event])
    found = answer("what happened at step 20?", diagnose(run))
    assert "`actor/grad_norm` 9.0 (usual before it: 0.5)" in found.markdown
    assert "`local_global_step_folder: /ckpt/global_step_20` (line 7)" in found.markdown
    assert found.checked["unverified"] == 0


def test_trend_words_of_single_values_that_disagree() -> None:
    """First and last value happen to fall while the curve rises: the medians are named."""
    values = [0.9, *[0.2 + 0.01 * i for i in range(60)], 0.1]
    text = answer("how did critic/score/mean develop?", diagnose(run_of({"critic/score/mean": values}, era="0.6"))).markdown
    assert "rising overall (median of the first" in text


def test_a_word_that_is_a_key_elsewhere_is_a_word_here() -> None:
    """``Time``, ``loss`` and ``acc`` are keys of other frameworks; in a log of verl they do not name those metrics."""
    assert "timing_s/step" not in ask("02", "response length max 1024 hit how many times").markdown
    assert "critic/vf_loss" in ask("05", "critic的loss多少步之后稳定的").markdown


def test_the_curve_shown_is_the_one_the_finding_is_about() -> None:
    found = ask("13", "did validation improve")
    assert "between -0.6534 and -0.6177" in found.markdown
    assert "`val-aux/aime_2024/reward/mean@32`: -0.758 (step 10), -0.6423 (step 230)" in found.markdown
    assert "best@16" not in found.markdown.split("**Why.**")[0]
