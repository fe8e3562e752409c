from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.logs.shapes.printed import read_printed
from assistant.run import FIXED_DECIMALS, SCIENTIFIC, SCIENTIFIC_UPPER, Column, Run, Style, print_value


def resolution(text: str, *, fixed: bool) -> float:
    one = read_printed(text, fixed)
    column = Column(np.zeros(1, np.int32), np.array([one.value]), np.array([one.style], np.uint8), {0: one.text} if one.text else {})
    run = Run(row_steps=np.ones(1, np.int64), row_lines=np.ones(1, np.int64), row_records=np.zeros(1, np.int64), columns={"x": column})
    series = run.series("x")
    assert series is not None
    assert series.text(0) == text
    return series.resolution(0)


@pytest.mark.parametrize(
    ("text", "style"),
    [
        ("0.431", Style.REPR), ("1e-06", Style.REPR), ("-0.0", Style.REPR), ("5", Style.INT), ("nan", Style.REPR), ("inf", Style.REPR),
        ("0.500000", FIXED_DECIMALS + 6), ("7.399415E+00", SCIENTIFIC_UPPER + 6), ("-1.02e+03", SCIENTIFIC + 2), ("True", Style.BOOL),
        ("None", Style.NULL), ("null", Style.NULL), ("7,282", Style.OTHER), ("1e5", Style.OTHER), ("NaN", Style.OTHER), 
        ("00012", Style.OTHER),
    ],
)  # fmt: skip
def test_the_style_gives_the_digits_back_or_they_are_kept(text: str, style: int) -> None:
    one = read_printed(text)
    assert one.style == style
    assert (one.text or print_value(one.value, one.style)) == text


def test_a_printer_that_rounds_says_how_exact_it_is() -> None:
    assert resolution("0.4310", fixed=True) == pytest.approx(0.00005)
    assert resolution("0.431", fixed=True) == pytest.approx(0.0005)
    assert resolution("0.431", fixed=False) == 0.0
    assert resolution("7.399415E+00", fixed=True) == pytest.approx(5e-7)
    assert resolution("1.11e+04", fixed=False) == pytest.approx(50.0)
    assert resolution("0.0000e+00", fixed=True) == pytest.approx(0.00005)


@given(st.floats(), st.sampled_from(["{!r}", "{:.3f}", "{:.6f}", "{:.6E}", "{:.4e}", "{:.3g}", "{:.0f}"]), st.booleans())
def test_every_printed_number_comes_back(value: float, how: str, fixed: bool) -> None:
    text = how.format(value)
    one = read_printed(text, fixed)
    assert one.value == float(text) or (math.isnan(one.value) and math.isnan(value))
    assert (one.text or print_value(one.value, one.style)) == text
