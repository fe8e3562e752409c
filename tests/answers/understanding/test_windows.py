"""Stretches, statistics and limits read out of a question."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.answers.understanding.question import understand
from assistant.answers.understanding.windows import Threshold, Window, han_number, stretches


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("mean score of the last 10 steps", Window("last", n=10)),
        ("average reward over the most recent 25 iterations", Window("last", n=25)),
        ("score last ten steps avg", Window("last", n=10)),
        ("val acc in the last 3 evals?", Window("last", n=3)),
        ("first 5 score values", Window("first", n=5)),
        ("entropy, first 5", Window("first", n=5)),
        ("score between step 20 and 40", Window("range", low=20, high=40)),
        ("kl from step 5 to step 9", Window("range", low=5, high=9)),
        ("steps 10-20: entropy", Window("range", low=10, high=20)),
        ("average kl after step 100", Window("range", low=100)),
        ("average kl before step 100", Window("range", high=99)),
        ("how noisy is it in the second half", Window("part", share=-0.5)),
        ("average score recently", Window("last", n=10, asked=False)),
        ("最近10步的平均得分", Window("last", n=10)),
        ("最后二十步的熵", Window("last", n=20)),
        ("最近几步的梯度范数", Window("last", n=5)),
        ("前20步的平均回答长度", Window("first", n=20)),
        ("20步到40步 分数怎么变的", Window("range", low=20, high=40)),
        ("第10步和第20步之间的熵", Window("range", low=10, high=20)),
        ("第100步之后的 kl", Window("range", low=100)),
        ("后半段平均分", Window("part", share=-0.5)),
        ("why is the score low at step 10?", None),
        ("is kl between 0.1 and 0.3 ok?", None),
        ("I use the last 2 GPUs", None),
        ("第100步前后发生了什么", None),
    ],
)
def test_window(text: str, window: Window | None) -> None:
    assert stretches(text, threshold=False).window == window


@pytest.mark.parametrize(
    ("text", "threshold"),
    [
        ("when did score first exceed 0.9?", Threshold(0.9, True)),
        ("when did it reach 90%?", Threshold(90, True, percent=True, reach=True)),
        ("how many steps had grad norm over 1", Threshold(1, True)),
        ("which step did entropy drop below 0.05", Threshold(0.05, False)),
        ("when did length get over 1k", Threshold(1000, True)),
        ("截断率第一次超过10%是哪一步", Threshold(10, True, percent=True)),
        ("什么时候得分到0.95的", Threshold(0.95, True, reach=True)),
        ("熵有没有低于过0.02", Threshold(0.02, False)),
        ("什么时候跌破 -0.5", Threshold(-0.5, False)),
        ("what is the score over 20 steps", None),
        ("20到40步什么时候最高", None),
    ],
)
def test_threshold(text: str, threshold: Threshold | None) -> None:
    assert stretches(text, threshold=True).threshold == threshold


def test_a_window_is_no_step() -> None:
    asked = understand("最近10步的平均得分")
    assert not asked.steps
    assert (asked.intent, asked.statistic, asked.metrics) == ("stretch", "mean", ("score_mean",))
    assert understand("第10步的平均得分").steps == (10,)


@pytest.mark.parametrize(
    ("text", "statistic"),
    [
        ("what is the average response length?", "mean"),
        ("median response length over the last 20 steps", "median"),
        ("回答长度的中位数", "median"),
        ("score的波动有多大", "std"),
        ("what does critic/score/mean mean?", ""),
        ("is critic/score/mean ok", ""),
    ],
)
def test_statistic(text: str, statistic: str) -> None:
    assert understand(text).statistic == statistic


@given(st.integers(1, 9999))
def test_chinese_numerals(value: int) -> None:
    digits = "零一二三四五六七八九"
    text, rest = "", value
    for unit, name in ((1000, "千"), (100, "百"), (10, "十")):
        if rest >= unit:
            text += digits[rest // unit] + name
            rest %= unit
    assert han_number(text + (digits[rest] if rest else "")) == value


@given(st.text(max_size=200))
def test_any_text_keeps_its_length(text: str) -> None:
    """Blanked words keep their place: positions of names are positions in the question."""
    assert len(stretches(text, threshold=True).rest) == len(text)
