from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.answers.checking.numerals import approximate, numerals

WRITTEN = [
    ("fell to 0.031", [(0.031, "")]),
    ("minus −0.5 and -0.25", [(-0.5, ""), (-0.25, "")]),
    ("a range of 0.2-0.6 or 0.2–0.6", [(0.2, ""), (0.6, ""), (0.2, ""), (0.6, "")]),
    ("1e-6, 1.5E+3", [(1e-6, ""), (1500, "")]),
    ("1.2 × 10⁻⁴ and 3×10^-5 and 10**-6", [(1.2e-4, ""), (3e-5, ""), (1e-6, "")]),
    ("1,234 tokens, 12,345,678", [(1234, ""), (12345678, "")]),
    ("0.4,0.3", [(0.4, ""), (0.3, "")]),
    ("1.2k, 3M, 1.5万, 2亿", [(1200, ""), (3e6, ""), (15000, ""), (2e8, "")]),
    ("48 %, 12％, 5 percent, 3个百分点", [(48, "%"), (12, "%"), (5, "%"), (3, "%")]),
    ("百分之三十，百分之12.5，三成，九成", [(30, "%"), (12.5, "%"), (30, "%"), (90, "%")]),
    ("3×, 2.5x, 4 times, 两倍，3 倍", [(3, "x"), (2.5, "x"), (4, "x"), (2, "x"), (3, "x")]),
    ("tenfold? half, doubled", [(10, "x"), (0.5, "x"), (2, "x")]),
    ("一百二十步，两千步", [(120, "step"), (2000, "step")]),
    ("forty-two percent of one hundred and forty", [(42, "%"), (140, "")]),
    ("210 s, 3.5 minutes, 2 小时, 15ms", [(210, "s"), (210, "s"), (7200, "s"), (0.015, "s")]),
    ("80GB, 512 MiB", [(80, "GB"), (0.5, "GB")]),
    ("１２０ and ０．０３", [(120, ""), (0.03, "")]),
    ("`lr=1e-6`, step:140, @140", [(1e-6, ""), (140, ""), (140, "")]),
]


@pytest.mark.parametrize(("text", "wanted"), WRITTEN, ids=[text[:24] for text, _ in WRITTEN])
def test_every_way_of_writing(text: str, wanted: list[tuple[float, str]]) -> None:
    found = [(one.value, one.unit) for one in numerals(text)]
    assert [unit for _, unit in found] == [unit for _, unit in wanted]
    assert [value for value, _ in found] == pytest.approx([value for value, _ in wanted])


@pytest.mark.parametrize(
    "text",
    [
        "gsm8k mean@1 val-core/openai/gsm8k fp16 bf16 A100 H100 8xH100 GPT-4 Qwen2.5-7B k3 2D",
        "1. first\n2) second\n   3. third",
        "- Step 1: restart\n- 步骤 2：改学习率",
        "the 1st, 2nd and 140th",
        "two causes, three things, 三个原因, 几十步, 一个问题",
        "the first half of the run",
    ],
)
def test_no_number(text: str) -> None:
    assert numerals(text) == []


def test_versions_and_non_finite() -> None:
    version, nan, inf = numerals("verl 0.6.1 printed nan, then -inf")
    assert version.version
    assert version.text == "0.6.1"
    assert math.isnan(nan.value)
    assert inf.value == -math.inf


def test_half_a_unit_of_the_last_digit() -> None:
    assert [one.half for one in numerals("0.03, 12, 1.2k, 1.20e-4, 3.5 minutes")] == pytest.approx([0.005, 0.5, 50, 5e-7, 3.0])


def test_words_that_round() -> None:
    text = "about 0.4, 约 0.3, 0.5 左右, exactly 0.2"
    assert [approximate(text, one) for one in numerals(text)] == [True, True, True, False]


@given(
    st.floats(-1e9, 1e9, allow_nan=False, allow_subnormal=False),
    st.sampled_from(["{:.4g}", "{:.3f}", "{:.2e}", "{:.0f}"]),
    st.sampled_from(["is {} here", "为 {}。", "({})", "`{}`"]),
)
def test_what_is_printed_is_read_back(value: float, form: str, frame: str) -> None:
    shown = form.format(value)
    (one,) = numerals(frame.format(shown))
    assert one.text == shown
    assert one.value == pytest.approx(float(shown), rel=1e-9, abs=1e-250)


@given(st.text(max_size=200))
def test_any_text_is_survived(text: str) -> None:
    found = numerals(text)
    assert all(text[one.start : one.end] == one.text for one in found)
    assert all(a.end <= b.start for a, b in itertools.pairwise(found))
