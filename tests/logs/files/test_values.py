from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.logs.files.values import NULL, of_object, of_text, whole
from assistant.run import FIXED_DECIMALS, Style, print_value


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([repr, str, "{:.6f}".format, "{:.3e}".format, "{:g}".format]))
def test_the_text_of_a_number_comes_back(value: float, printed) -> None:  # type: ignore[no-untyped-def]
    text = printed(value)
    cell = of_text(text)
    assert cell is not None
    assert cell.value == float(text)
    assert (print_value(cell.value, cell.style) if cell.text is None else cell.text) == text


@pytest.mark.parametrize(
    ("text", "value", "style"),
    [
        ("12", 12.0, Style.INT),
        ("0.500", 0.5, FIXED_DECIMALS + 3),
        ("1e-06", 1e-06, Style.REPR),
        ("007", 7.0, Style.OTHER),
        ("1,234.5", 1234.5, Style.OTHER),
        ("True", 1.0, Style.BOOL),
        ("-Infinity", -math.inf, Style.REPR),
        (" 3 ", 3.0, Style.INT),
        ("9007199254740993", 9007199254740992.0, Style.OTHER),
    ],
)
def test_kinds_of_numbers(text: str, value: float, style: int) -> None:
    cell = of_text(text)
    assert cell is not None
    assert (cell.value, cell.style) == (value, style)


@pytest.mark.parametrize("text", ["", "  ", "abc", "1.2.3", "0:00:31", "12%", "1_000", "--5", "0x10"])
def test_what_is_no_number(text: str) -> None:
    assert of_text(text) is None


def test_nan_and_null_are_told_apart() -> None:
    nan = of_text("NaN")
    assert nan is not None
    assert math.isnan(nan.value)
    assert nan.style == Style.REPR
    assert of_text("None") is NULL
    assert of_object(None) is NULL
    assert of_object("null") is None, "a word in quotes is no missing value"


@pytest.mark.parametrize("value", [[1, 2], {}, "1m 3s", [None], 10**400])
def test_objects_that_are_no_number(value: object) -> None:
    assert of_object(value) is None


@pytest.mark.parametrize(("value", "step"), [(5, 5), (5.0, 5), ("5", 5), ("5.0", 5), (5.5, None), (True, None), (None, None), ("x", None)])
def test_a_step_is_a_whole_number(value: object, step: int | None) -> None:
    assert whole(value) == step
