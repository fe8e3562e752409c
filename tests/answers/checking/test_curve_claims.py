"""Claims on places, levels, stretches and pairs of curves, in tables and on the log as a whole: recomputed, so that wrong ones are
marked and right ones stand without a fact of their own."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from assistant.answers.checking.verify import Verified, verify
from assistant.answers.model import prompt_to_copy
from assistant.answers.packed.packing import Packed
from assistant.diagnosis import diagnose
from assistant.messages import Language
from tests.builders import run_of

N = 100
QUESTION: dict[Language, str] = {
    "en": "What about actor/entropy and critic/score/mean?",
    "zh": "actor/entropy 和 critic/score/mean 怎么样？",
}


@cache
def packed(language: Language) -> Packed:
    steps = np.arange(N)
    grad = 1.0 + 0.1 * np.sin(steps)
    grad[39] = 9.0
    run = run_of(
        {
            "actor/entropy": (0.9 - 0.007 * steps).round(4).tolist(),
            "actor/grad_norm": grad.round(4).tolist(),
            "critic/score/mean": (0.1 + 0.006 * steps).round(4).tolist(),
            "response_length/mean": (400.0 + 2 * steps).round(1).tolist(),
            "timing_s/gen": (30.0 + 0.01 * steps).round(3).tolist(),
            "timing_s/update_actor": (60.0 + 0.01 * steps).round(3).tolist(),
            "timing_s/step": (100.0 + 0.01 * steps).round(3).tolist(),
        },
        config={
            "data.train_batch_size": 1024,
            "actor_rollout_ref.actor.ppo_mini_batch_size": 256,
            "actor_rollout_ref.rollout.n": 5,
            "trainer.n_gpus_per_node": 8,
            "trainer.nnodes": 1,
            "trainer.test_freq": 10,
        },
        era="0.6",
        algorithm="grpo",
    )
    return prompt_to_copy(QUESTION[language], diagnose(run), language=language).packed


def checked(text: str, language: Language) -> Verified:
    found = packed(language)
    return verify(text, found.evidence, language, shown=found.text, said=QUESTION[language])


WRONG: list[tuple[Language, str]] = [
    # places
    ("en", "`actor/grad_norm` peaked at step 70."),
    ("en", "The lowest point of `actor/entropy` is step 1."),
    ("zh", "`actor/entropy` 的最低点在第 1 步。"),
    ("en", "`actor/entropy` bottomed out at step 1."),
    ("zh", "`critic/score/mean` 在第 1 步达到峰值。"),
    ("en", "The largest jump of `actor/grad_norm` is at step 80."),
    ("zh", "`actor/grad_norm` 最大的跳变在第 80 步。"),
    ("en", "`actor/entropy` is highest at the last step."),
    ("zh", "`actor/entropy` 在最后一步最高。"),
    ("en", "`critic/score/mean` is negative at the end."),
    ("zh", "`actor/grad_norm` 的最大值出现在最后一步。"),
    ("en", "`critic/score/mean` is back to 0.1 at the end."),
    ("en", "`actor/entropy` lost 23% of its starting value."),
    # levels
    ("en", "`critic/score/mean` first exceeded 0.4 at step 80."),
    ("zh", "`critic/score/mean` 在第 80 步首次超过 0.4。"),
    ("en", "`critic/score/mean` crossed 0.4 at step 1."),
    ("en", "`actor/entropy` is below 0.3 at step 10."),
    ("zh", "第 10 步 `actor/entropy` 低于 0.3。"),
    ("en", "`actor/entropy` is above 0.5 in 90 of 100 steps."),
    ("zh", "100 步中有 90 步 `actor/entropy` 高于 0.5。"),
    ("en", "`actor/entropy` stayed between 0.4 and 0.6 all the time."),
    ("zh", "`actor/entropy` 一直在 0.4 和 0.6 之间。"),
    ("en", "`actor/entropy` ranged from 0.4 to 0.6."),
    ("en", "`critic/score/mean` never reached 0.4."),
    ("zh", "`critic/score/mean` 从未达到 0.4。"),
    ("en", "`actor/entropy` is exactly 0.9 at all steps."),
    ("zh", "`actor/entropy` 每一步都是 0.9。"),
    # stretches
    ("en", "`actor/entropy` averaged 0.8 over steps 50–59."),
    ("zh", "第 50–59 步 `actor/entropy` 平均为 0.8。"),
    ("en", "The mean of `actor/entropy` over the last ten steps is 0.9."),
    ("zh", "`actor/entropy` 全程的均值是 0.9。"),
    ("en", "The median of `actor/entropy` is 0.9."),
    # two steps, two metrics
    ("en", "`actor/entropy` is higher at step 90 than at step 10."),
    ("zh", "第 90 步的 `actor/entropy` 比第 10 步高。"),
    ("en", "At step 100 `actor/entropy` is twice as high as at step 1."),
    ("en", "At the last step `actor/entropy` is higher than `critic/score/mean`."),
    ("zh", "最后一步 `actor/entropy` 高于 `critic/score/mean`。"),
    ("en", "`timing_s/gen` takes longer than `timing_s/update_actor`."),
    ("zh", "`timing_s/gen` 比 `timing_s/update_actor` 更耗时。"),
    ("en", "`timing_s/update_actor` takes 5 times as long as `timing_s/gen`."),
    ("en", "`actor/entropy` and `critic/score/mean` move in the same direction."),
    ("zh", "`actor/entropy` 和 `critic/score/mean` 走势一致。"),
    ("en", "`critic/score/mean` peaked before `actor/entropy` did."),
    ("en", "`actor/entropy` (0.207 → 0.9) is the metric to look at."),
    ("zh", "`actor/entropy`（0.207 → 0.9）是要看的指标。"),
    ("en", "`actor/entropy` goes from 0.9 up to 0.207."),
    ("zh", "`actor/entropy` 越来越大。"),
    # percentages that say which way
    ("en", "`actor/entropy` fell by 23% over the run."),
    ("en", "`actor/entropy` fell to 77% of its first value."),
    ("zh", "`actor/entropy` 降到最初的 77%。"),
    ("zh", "`actor/entropy` 全程下降了 23%。"),
    ("en", "`actor/entropy` fell to a third of its starting value."),
    ("en", "`critic/score/mean` ends at 0.694%."),
    ("en", "`actor/entropy` went from 0.9 to 0.207, a factor of 7.4."),
    # tables and console lines
    ("en", "| metric | first | last |\n|---|---|---|\n| `actor/entropy` | 0.207 | 0.9 |"),
    ("zh", "| 指标 | 首步 | 末步 |\n|---|---|---|\n| `actor/entropy` | 0.207 | 0.9 |"),
    ("en", "| step | actor/entropy |\n|---|---|\n| 50 | 0.55 |"),
    ("en", "| metric | min | mean |\n|---|---|---|\n| `actor/entropy` | 0.207 | 0.9 |"),
    ("en", "The console prints `step:50 - actor/entropy:0.55`."),
    # the log and its settings
    ("en", "The checks found eleven problems in this run."),
    ("zh", "检测一共发现十一个问题。"),
    ("en", "The log has thirty-seven steps."),
    ("en", "Training on sixteen GPUs took all the memory."),
    ("zh", "用了十六张显卡训练。"),
    ("en", "Validation runs every 25 steps."),
    ("en", "There are eight updates per step."),
    ("zh", "每个 prompt 采样 8 条回答。"),
    ("zh", "这是一次带 critic 的 PPO 训练。"),
    ("en", "PyTorch v3.7 changed this."),
    ("en", "Start again with `--kl-guard-mode strict`."),
    ("zh", "命令行加 --entropy-floor-auto 即可。"),
    ("en", "Add `+trainer.auto_rescue=True` to the command."),
]
RIGHT: list[tuple[Language, str]] = [
    ("en", "`actor/grad_norm` peaked at step 40."),
    ("zh", "`actor/grad_norm` 的最高点在第 40 步。"),
    ("zh", "`critic/score/mean` 在第 1 步跌到最低点。"),
    ("zh", "`actor/grad_norm` 在第 40 步升到最高的 9.0。"),
    ("en", "`critic/score/mean` is 0.694 at the end."),
    ("en", "`actor/entropy` lost 77% of its starting value."),
    ("en", "The largest jump of `actor/grad_norm` is at step 40."),
    ("en", "`critic/score/mean` first exceeded 0.4 at step 52."),
    ("zh", "`critic/score/mean` 在第 52 步首次超过 0.4。"),
    ("en", "`actor/entropy` is above 0.5 in 58 of 100 steps."),
    ("zh", "100 步中有 58 步 `actor/entropy` 高于 0.5。"),
    ("en", "`actor/entropy` stayed between 0.2 and 0.9 all the time."),
    ("zh", "`actor/entropy` 的取值范围是 0.207 到 0.9。"),
    ("en", "`critic/score/mean` never reached 0.8."),
    ("en", "`actor/entropy` averaged 0.5255 over steps 50–59."),
    ("zh", "第 50–59 步 `actor/entropy` 平均为 0.5255。"),
    ("en", "From step 50 to step 59 the mean entropy was 0.5255."),
    ("zh", "最后 10 步 `actor/entropy` 的平均值是 0.2385。"),
    ("en", "The mean of `actor/entropy` over the whole run is 0.5535."),
    ("zh", "`actor/entropy` 平均约为 0.55。"),
    ("en", "Over steps 50–59 `actor/entropy` is lowest with 0.494 (step 59) and highest with 0.557 (step 50)."),
    ("en", "`actor/entropy` is higher at step 10 than at step 90."),
    ("zh", "第 10 步的 `actor/entropy` 比第 90 步高。"),
    ("en", "The entropy at step 100 is about a quarter of that at step 1."),
    ("en", "At the last step `critic/score/mean` is higher than `actor/entropy`."),
    ("zh", "`timing_s/update_actor` 比 `timing_s/gen` 更耗时。"),
    ("en", "`timing_s/update_actor` takes twice as long as `timing_s/gen`."),
    ("en", "`actor/entropy` and `critic/score/mean` move in opposite directions."),
    ("en", "`actor/entropy` (0.9 → 0.207) is the metric to look at."),
    ("en", "`timing_s/gen` takes 31.0 s at the last step."),
    ("en", "`actor/entropy` fell by 77% over the run."),
    ("zh", "`actor/entropy` 降到最初的 23%。"),
    ("en", "`actor/entropy` went from 0.9 to 0.207, a factor of 4.3."),
    ("en", "At the last step generation is 31% of the step: 31.0 s of 101 s."),
    ("en", "| metric | first | last |\n|---|---|---|\n| `actor/entropy` | 0.9 | 0.207 |"),
    ("zh", "| 步数 | actor/entropy |\n|---|---|\n| 50 | 0.557 |\n| 51 | 0.55 |"),
    ("en", "The console prints `step:50 - actor/entropy:0.557`."),
    ("zh", "日志一共有 100 步。"),
    ("en", "Training on eight GPUs is enough for this."),
    ("en", "Validation runs every 10 steps."),
    ("en", "There are four updates per step."),
    ("zh", "每个 prompt 采样 5 条回答。"),
    ("en", "This is a GRPO run."),
    ("en", "Halve the learning rate and restart from an earlier checkpoint."),
    ("zh", "留意 `actor/entropy` 会不会再次冲高。"),
    ("en", "If `actor/entropy` peaks again, stop the run."),
    ("en", "Torchrun takes `--nproc_per_node`."),
]


@pytest.mark.parametrize(("language", "text"), WRONG, ids=[text[:48] for _, text in WRONG])
def test_a_wrong_claim_is_marked(language: Language, text: str) -> None:
    assert checked(text, language).issues


@pytest.mark.parametrize(("language", "text"), RIGHT, ids=[text[:48] for _, text in RIGHT])
def test_a_right_claim_stands(language: Language, text: str) -> None:
    assert [(issue.kind, issue.text, issue.right) for issue in checked(text, language).issues] == []


def test_the_mark_says_what_is_right() -> None:
    assert "9.0 @ 40" in checked("`actor/grad_norm` peaked at step 70.", "en").markdown
    assert "0.5535" in checked("The mean of `actor/entropy` over the whole run is 0.9.", "en").markdown
    assert "0.557" in checked("| step | actor/entropy |\n|---|---|\n| 50 | 0.55 |", "en").markdown
