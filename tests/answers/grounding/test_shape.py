"""The words for a curve agree with the values shown beside them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.answers.grounding.evidence import curve
from assistant.answers.grounding.shape import Shape, shape_of
from tests.builders import run_of


def shape(values: list[float]) -> Shape:
    series = run_of({"x": values}).series("x")
    assert series is not None
    return shape_of(curve(series))


def ramp(a: float, b: float, n: int) -> list[float]:
    return [a + (b - a) * i / (n - 1) for i in range(n)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (ramp(0, 1, 50), "rises"),
        (ramp(1, 0, 50), "falls"),
        (ramp(0, 1, 60) + ramp(1, 0, 60), "rose_then_fell"),
        (ramp(1, 0, 60) + ramp(0, 0.9, 60), "fell_then_rose"),
        (ramp(192, 128, 20) + ramp(128, 134, 1000), "fell_early"),
        ([0.5] * 30, "none"),
        ([0.5, 0.6, 0.5], "none"),
    ],
)
def test_kind(values: list[float], kind: str) -> None:
    assert shape(values).kind == kind


def test_turn_is_the_extreme() -> None:
    found = shape(ramp(0, 1, 60) + ramp(1, 0, 60))
    assert found.turn is not None
    assert abs(found.turn - 60) <= 2


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=4, max_size=150))
def test_one_direction_is_what_start_and_end_show(values: list[float]) -> None:
    found = shape(values)
    if found.kind == "rises":
        assert found.end > found.start
    if found.kind == "falls":
        assert found.end < found.start
    if found.kind in ("rises", "falls") and found.plain:
        assert np.sign(values[-1] - values[0]) == (1 if found.kind == "rises" else -1)
