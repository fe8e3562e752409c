"""What a question asks, in both languages, named by any name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.answers.understanding.question import Turn, understand
from assistant.cards import in_folder
from assistant.lexicon import MAX_QUESTION, of_run
from tests.builders import run_of

QUESTIONS = Path(__file__).parents[4] / "shared" / "questions" / "questions.jsonl"


def canonical_of_keys() -> dict[str, str]:
    table: dict[str, str] = {}
    for card in in_folder("metrics"):
        for metric in card.front.get("metrics", ()):
            for keys in (metric.get("names") or {}).values():
                for key in keys:
                    table.setdefault(key["key"] if isinstance(key, Mapping) else key, metric["id"])
    return table


@pytest.mark.skipif(not QUESTIONS.exists(), reason="the question set is not here")
def test_metrics_named_in_real_questions() -> None:
    """Of the verl questions that name a metric, the first one to answer is recognised in at least nine of ten.

    Where the question names a setting instead (``gen_batch_size``), that one counts.
    """
    keys = canonical_of_keys()
    missed, n = [], 0
    for row in map(json.loads, QUESTIONS.read_text(encoding="utf-8").splitlines()):
        if not row["names_metric"] or row["framework"] not in ("verl", "any"):
            continue
        wanted = next((keys.get(t, "validation") for t in row["targets"] if t in keys or t.startswith(("val-core/", "val/"))), None)
        if wanted is None:
            continue
        n += 1
        asked = understand(row["question"])
        if wanted not in asked.metrics and not set(row["targets"]) & set(asked.settings):
            missed.append((row["id"], wanted))
    print(f"{1 - len(missed) / n:.3f} of {n}")
    assert n > 80
    assert 1 - len(missed) / n >= 0.9, missed


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("why is pg loss positive", "policy_loss"),
        ("pgloss?", "policy_loss"),
        ("策略损失为什么是正的", "policy_loss"),
        ("actor/pg_loss", "policy_loss"),
        ("is the entrpy ok?", "policy_entropy"),
        ("策略熵正常吗", "policy_entropy"),
        ("梯度范数太大了", "policy_grad_norm"),
        ("critic grad_norm is 500", "critic_grad_norm"),
        ("what is grad norm at step 5", "policy_grad_norm"),
        ("kl loss 是 0", "reference_kl"),
        ("clip_ratio is 0.9", "response_clip_ratio"),
        ("critic/score/max", "score_max"),
        ("update_actor is slow", "time_update_actor"),
        ("train/grad_norm of my SFT", "train_grad_norm"),
        ("best@16 比 mean@16 高好多", "validation"),
    ],
)
def test_metric_by_any_name(text: str, metric: str) -> None:
    assert metric in understand(text).metrics


@pytest.mark.parametrize("text", ["reward_stdev_q is 0", "rewards/liked falls", "frac_reward_zero_dev", "my_entropy_bonus_x/y"])
def test_part_of_a_longer_key_is_not_the_metric(text: str) -> None:
    asked = understand(text)
    assert not asked.metrics
    assert asked.unknown_keys


def test_a_key_of_another_framework_is_its_own_metric() -> None:
    assert understand("reward_std is 0").metrics == ("score_std",)
    assert understand("rewards/chosen falls").metrics == ("preference_chosen_reward",)


def test_several_statistics_of_one_family() -> None:
    asked = understand("critic/advantages mean, max and min are all 0.000, why?")
    assert {"advantage_mean", "advantage_max", "advantage_min"} <= set(asked.metrics)


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("why is my pg_loss positive?", "why"),
        ("pg_loss 为什么是正的？", "why"),
        ("is entropy 0.3 normal?", "normal"),
        ("熵 0.3 正常吗", "normal"),
        ("what does vf_explained_var mean?", "meaning"),
        ("vf_explained_var 是什么意思", "meaning"),
        ("critic/score/mean at step 12", "value"),
        ("第 12 步的 score 是多少", "value"),
        ("what is the highest score?", "extremes"),
        ("验证分数最高是多少", "extremes"),
        ("how did the entropy develop over time?", "trend"),
        ("熵的趋势怎样", "trend"),
        ("grad_norm is huge, what should I change?", "why"),
        ("what should I change?", "change"),
        ("我该改什么", "change"),
        ("which metrics matter?", "which"),
        ("新手 这么多指标看哪几个就行", "which"),
        ("where does the time go?", "time"),
        ("时间都花在哪里了", "time"),
        ("difference between score and returns", "compare"),
        ("score 和 returns 有什么区别", "compare"),
        ("is my run healthy?", "overview"),
        ("总结一下这次训练", "overview"),
        ("what is my batch size?", "setting"),
        ("why did it crash?", "crash"),
        ("为什么崩溃了", "crash"),
        ("tell me a joke", "unknown"),
        ("", "unknown"),
    ],
)
def test_intent(text: str, intent: str) -> None:
    asked = understand(text)
    if text.startswith("grad_norm is huge"):
        assert asked.intents >= {"change"}
        assert asked.intent in ("why", "change")
    else:
        assert asked.intent == intent


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("why is pg_loss positive", "positive"),
        ("pg_loss 一直为负", "negative"),
        ("ppo_kl is 0.000", "zero"),
        ("ppo_kl 显示 0", "zero"),
        ("grad_norm is NaN", "nan"),
        ("where is vf_loss, no vf_loss in my log", "missing"),
        ("日志里没有 vf_loss", "missing"),
        ("熵一直上升", "rising"),
        ("entropy keeps falling", "falling"),
    ],
)
def test_properties(text: str, said: str) -> None:
    assert said in understand(text).properties


def test_steps() -> None:
    assert understand("score at step 12 and step:30").steps == (12, 30)
    assert understand("第 7 步的熵").steps == (7,)


def test_fork_key_and_setting_of_the_run() -> None:
    run = run_of({"env/my_special_metric": [1.0, 2.0]}, config={"env.budget_tokens": 5})
    asked = understand("why is env/my_special_metric 2?", run_lexicon=of_run(run))
    assert asked.extra_keys == ("env/my_special_metric",)
    assert understand("what is env.budget_tokens?", run_lexicon=of_run(run)).settings == ("env.budget_tokens",)


def test_follow_up_takes_the_last_subject() -> None:
    history = [Turn("is the entropy normal?", metrics=("policy_entropy",))]
    asked = understand("and why?", history=history)
    assert asked.metrics == ("policy_entropy",)
    assert asked.intent == "why"
    assert asked.follow_up
    assert understand("那第 20 步呢？", history=history).metrics == ("policy_entropy",)


def test_follow_up_takes_the_last_intent() -> None:
    history = [Turn("how did the entropy develop over time?", metrics=("policy_entropy",))]
    asked = understand("and grad_norm?", history=history)
    assert asked.metrics == ("policy_grad_norm",)
    assert asked.intent == "trend"


def test_new_subject_is_no_follow_up() -> None:
    history = [Turn("is the entropy normal?", metrics=("policy_entropy",))]
    assert understand("why is grad_norm so large?", history=history).metrics == ("policy_grad_norm",)


@given(st.text(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_text_is_understood_somehow(text: str) -> None:
    asked = understand(text)
    assert asked.language in ("en", "zh")
    assert asked.intent


def test_long_question_is_read_to_a_bound() -> None:
    assert understand("x" * MAX_QUESTION + " pg_loss").metrics == ()
