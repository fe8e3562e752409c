"""Answers as a careful reader writes them from the printed prompt alone: every sentence stands, and a changed digit does not."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

from assistant.answers.checking.numerals import Numeral, numerals
from assistant.answers.checking.verify import Verified, verify
from assistant.answers.model import prompt_to_copy
from assistant.answers.model.prompting import Prompt
from assistant.answers.understanding.language import detect
from tests.real import diagnosis_of_file

CASES = Path(__file__).resolve().parents[4] / "shared" / "cases" / "verl"

ANSWERS: list[tuple[str, str, str]] = [
    (
        "12_opd",
        "What is wrong with this run and what should I change first?",
        "Two problems, and the first causes the second: answers keep getting longer without a real gain, and from step 76 "
        "on many of them are cut off at the limit.\n"
        "\n"
        "- Length: `response_length/mean` rose from about 1030 tokens in the first ten steps to 4686 in the last ten, 4.55 "
        "times as long; it passed twice the start at step 45.\n"
        "- Truncation: `response_length/clip_ratio` went from 0.002 at step 1 to 0.3633 at step 159, so roughly a third "
        "(31.6%) of recent answers are cut at 8096 tokens.\n"
        "- Score: `critic/score/mean` moved only from -0.602 to -0.419 (medians), a small gain that the cut answers eat up.\n"
        "- Cost: a step went from about 202 s to 798 s.\n"
        "\n"
        "Do this first: turn on the overlong penalty, `reward_model.reward_kwargs.overlong_buffer_cfg.enable`: False → "
        "True (needs the dapo reward manager), and watch whether `response_length/mean` levels off while the score holds. "
        "If the long answers turn out to be the better ones, raise `data.max_response_length` from 8096 to 16192 instead. "
        "A token-mean loss also favours long wrong answers: `actor_rollout_ref.actor.loss_agg_mode` → "
        "seq-mean-token-sum-norm is the next thing to try.\n"
        "\n"
        "Not a problem: the policy loss is positive in 59.7% of the steps. Validation was only run at step 0 (0.03333), so "
        "this log cannot tell whether accuracy improved.",
    ),
    (
        "30_gui",
        "Why does one step take more than 17 minutes?",
        "Because more than half of every step is the policy update, and that update mostly computes padding. A step takes "
        "1054 s (17.6 minutes); `timing_s/update_actor` alone is 593 s of it, or 56.3%.\n"
        "\n"
        "The cause is `actor_rollout_ref.model.use_remove_padding=False`: sequences average 7264 tokens but are padded to "
        "23552, so only 30.8% of what is computed is real. Update and log-probability passes together are 72.7% of the "
        "step.\n"
        "\n"
        "Set `actor_rollout_ref.model.use_remove_padding` to True first, then `actor_rollout_ref.actor.use_dynamic_bsz` to "
        "True; both `timing_s/update_actor` and `timing_s/old_log_prob` (172 s at step 2) should fall while score and "
        "entropy stay the same. If your vision model does not support packing, lower `data.max_prompt_length` from 3072 to "
        "just above the longest prompt. With only 2 steps logged, nothing can be said about the trend.",
    ),
    (
        "38_ppo",
        "What makes critic/vf_loss nan?",
        "The critic's value loss is NaN from step 1, and the actor is not the reason: `actor/grad_norm` is 9.819 and "
        "`actor/entropy_loss` 0.442 at step 1, both finite. The fault is in the critic's update.\n"
        "\n"
        "Most likely the critic's mini-batch per GPU is smaller than its micro-batch, so the gradient accumulation becomes "
        "0 and the loss is divided by 0. Next in line is overflow in half precision. Stop the run, and restart from a "
        "checkpoint before the first NaN; later ones are not usable.",
    ),
    (
        "23_grpo",
        "这次训练健康吗？grad_norm 为什么有时是 0？",
        "先纠正一点：日志里 `actor/grad_norm` 从来没有等于 0，最小值是第 5 步的 0.000565，最大值是第 385 步的 "
        "0.07344，最后一步为 0.04758，整体在上升，并没有异常。\n"
        "\n"
        "不过这次训练不算健康：学习信号在减少，而且从第 189 步到第 699 步的 510 步里 score 没有新高，目前约 "
        "0.212。组里的奖励越来越一致，优势变成 0，更新就带不来信息。\n"
        "\n"
        "建议先把 `actor_rollout_ref.rollout.n` 从 4 调到 16，观察有差异的组是否变多；如果熵和 KL 都平稳，再考虑把学习率从 "
        "1e-05 提到 2e-05。另外每步约 37.8 秒，其中生成占 68.9%，而引擎真正解码只有 1.63 秒。`actor/ppo_kl` 为 0.0 "
        "是正常的，因为每步只更新一次。",
    ),
    (
        "54_dapo",
        "DAPO run dies with CPU out of memory, why?",
        "The node ran out of main memory, not GPU memory: Ray killed a worker when 246.41GB of 251.54GB were in use (98%), "
        "and the killed worker held 56.57GB by itself (line 1).\n"
        "\n"
        "The usual reason is that parameters and optimizer state of every worker are offloaded to host memory, on top of "
        "the rollout engine's sleep-mode copy. Try `actor_rollout_ref.actor.fsdp_config.optimizer_offload` → False first, "
        "then `actor_rollout_ref.actor.fsdp_config.param_offload` → False if the GPU has room, and lower "
        "`data.dataloader_num_workers` from 8 to 2. Watch `perf/cpu_memory_used_gb`. Raising RAY_memory_usage_threshold "
        "only delays the kill. This log has no steps, so a slow leak cannot be told apart from a start-up peak.",
    ),
    (
        "44_rllm",
        "Why is the test score always 0?",
        "Because no answer is ever rewarded: `critic/score/mean`, `critic/score/max` and `critic/score/min` all print as "
        "0.000 in both logged steps (1 and 4), and the validation before training is 0.000 too. With identical scores "
        "every advantage is zero, so nothing is learned; what little gradient there is (0.005 at step 4) comes from other "
        "terms.\n"
        "\n"
        "This usually means that the reward function does not find the answer, not that the model is hopeless. Take one "
        "answer you know to be right, in exactly the format the model writes, and call the reward function on it. Also "
        "check that `data_source` and the ground truth match what the function expects.\n"
        "\n"
        "If that works, allow more room: `data.max_response_length` from 4096 to 8192, or start from easier data. The "
        "learning rate printing as 0.000 is only rounding. Two steps are too few to say more.",
    ),
    (
        "49_tiny",
        "batch size 很小的时候 grad norm 一直是 NaN，请问该怎么改进？（6 块 V100，每卡 batch 只能是 1）",
        "从日志看，问题不只是 grad_norm：第 3663 步有 11 个指标都是 nan，包括 `actor/grad_norm`、`actor/pg_loss` 和 "
        "`actor/entropy_loss`，说明权重或前向已经坏了。日志从第 3663 步才开始，所以看不出是从哪一步坏的。\n"
        "\n"
        "最可能的原因是半精度溢出：V100 不支持 bf16，请用带 loss scaling 的 fp16，或者直接用 fp32。也可能是 attention "
        "算子的问题，可以先用 eager attention 跑几步看看 NaN 是否消失。每卡 batch 为 1 本身不会产生 NaN，但要保证 critic "
        "的 mini-batch 不小于 micro-batch，否则梯度累积为 0，会出现除以 0。\n"
        "\n"
        "处理顺序：停止训练，回到第一个 NaN 之前的 checkpoint；换精度；再看各指标是否恢复有限。另外当前 100% "
        "的回答都被截断在 1024 个 token，得分为 0.000，这些都是 NaN 的后果，先不用管。",
    ),
    (
        "46_ppo",
        "Everything was smooth until about 1000 steps (20-30 s/it); now a step takes about 118 s and the response length "
        "is exceptionally high. Why?",
        "The policy has collapsed onto one answer: at step 1049 entropy is 0.001 while the score is only 0.104 (0.100 to "
        "0.133 across the batch). A policy like that often runs on in a loop until it hits the length limit, which would "
        "explain long answers and slow steps, but this excerpt has no `response_length` and no timers, so the log itself "
        "cannot confirm the 118 s.\n"
        "\n"
        "Go back to a checkpoint from before entropy hit the floor; it does not come back by itself. Then print a few "
        "answers to see which repeated phrase is being rewarded, and raise `actor_rollout_ref.actor.clip_ratio_high` from "
        "0.2 to 0.28. Only one step is logged: paste the lines around step 1000 to see when it began.",
    ),
    (
        "02_",
        "Is this run healthy? What, if anything, is wrong?",
        "Yes, mostly: training works, but it has run out of things to learn. The training score climbed from 0.643 (median "
        "of the first ten steps) to 0.978 and has been near its maximum of 1.000 since step 112, while validation only "
        "moved from 0.648 to 0.697, with a best of 0.706 at step 900.\n"
        "\n"
        "So stop here, or move to harder prompts, and keep the checkpoint with the best validation. Validation has swung "
        "between 0.663 and 0.706 since step 380, so single values mean little.\n"
        "\n"
        "Odd but fine: entropy fell by 92.1% (0.283 → 0.0225) without harm; the learning rate prints as 0.000 because of "
        "rounding (the config says 1e-06); every 10 steps one step takes 105 s instead of 72.4 s because validation is "
        "inside it; and a few gradient spikes, the largest 19.057 at step 1036, were clipped.",
    ),
    (
        "10_opd",
        "response length dropped a lot, why?",
        "Because the KL penalty pays for short answers. Responses shrank from 957 tokens at the start to about 9, under 1% "
        "of where they began, and have been below a third since step 36.\n"
        "\n"
        "At step 2 the score averaged -0.5904 but the reward actually optimised was -19.27: the penalty costs 18.7 per "
        "answer, more than nine times the whole score range of 2. With `algorithm.kl_ctrl.kl_coef` at 0.05 the penalty is "
        "summed over tokens, so the cheapest thing the policy can do is stop early. The score fell with it, from -0.591 to "
        "-0.871.\n"
        "\n"
        "Lower the coefficient from 0.05 to 0.005 or set `algorithm.use_kl_in_reward` to False and use "
        "`actor_rollout_ref.actor.use_kl_loss` instead. Restart from a checkpoint before step 31; a policy with nine-token "
        "answers will not recover on its own. Watch whether `critic/rewards/mean` comes close to `critic/score/mean`.",
    ),
]

pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="no labelled logs beside the checkout")


@cache
def prompt(case: str, question: str) -> Prompt:
    (folder,) = CASES.glob(f"{case}*")
    return prompt_to_copy(question, diagnosis_of_file(folder / "log.txt"))


def checked(case: str, question: str, text: str) -> Verified:
    given = prompt(case, question)
    return verify(text, given.packed.evidence, detect(question), shown=given.packed.text, said=question)


@pytest.mark.parametrize(("case", "question", "text"), ANSWERS, ids=[case for case, *_ in ANSWERS])
def test_a_right_answer_stands(case: str, question: str, text: str) -> None:
    found = checked(case, question, text)
    assert [(issue.kind, issue.text) for issue in found.issues] == []
    assert len(found.numbers) >= 6


def test_a_changed_digit_is_noticed() -> None:
    rng = random.Random(0)
    tried = missed = 0
    for case, question, text in ANSWERS:
        for number in numerals(text):
            if number.spelled or number.version or number.value != number.value:
                continue
            tried += 1
            missed += not checked(case, question, changed(text, number, rng)).issues
    assert tried > 100
    assert missed <= 0.1 * tried


def changed(text: str, number: Numeral, rng: random.Random) -> str:
    """One of the leading digits of a number replaced."""
    places = [i for i, c in enumerate(number.text) if c.isdigit()]
    lead = next((i for i in places if number.text[i] != "0"), places[0])
    at = rng.choice([i for i in places if lead <= i <= lead + 2])
    digit = rng.choice([c for c in "123456789" if c != number.text[at]])
    return text[: number.start] + number.text[:at] + digit + number.text[at + 1 :] + text[number.end :]
