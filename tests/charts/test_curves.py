from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assistant.charts.curves import MOST_POINTS, curve_of, moving_mean, thinned, wants_log
from assistant.diagnosis import RunView
from assistant.run import Style
from tests.builders import run_of

ANY = st.floats(allow_nan=True, allow_infinity=True, width=64)


def series(values, **more):
    found = RunView(run_of({"m": list(values)}, **more)).printed("m")
    assert found is not None
    return found


@settings(max_examples=80, deadline=None)
@given(arrays(np.float64, st.integers(1, 400), elements=ANY))
def test_thinning_keeps_both_ends_and_the_extremes(values: np.ndarray) -> None:
    kept = thinned(values, 40)
    assert len(kept) <= 42
    assert kept[0] == 0
    assert kept[-1] == len(values) - 1
    assert (np.diff(kept) > 0).all()
    finite, shown = values[np.isfinite(values)], values[kept]
    shown = shown[np.isfinite(shown)]
    if len(finite):
        assert shown.min() == finite.min()
        assert shown.max() == finite.max()


def test_what_is_drawn_is_what_was_printed() -> None:
    curve = curve_of(series([0.4312, float("nan"), -0.0004, 7e-9]), marked=[1, 4, None])
    assert curve.values.tolist()[::2] == [0.4312, -0.0004]
    assert curve.texts == ("0.4312", "nan", "-0.0004", "7e-09")
    assert curve.steps.tolist() == [1, 2, 3, 4]
    assert curve.lines.tolist() == [1, 2, 3, 4]
    assert curve.marked.tolist() == [0, 3]
    assert curve.broken.tolist() == [1]
    assert (curve.total, curve.n_broken) == (4, 1)


def test_three_decimals_stay_three_decimals() -> None:
    assert curve_of(series([0.4312, 0.0], style=Style.FIXED3)).texts == ("0.431", "0.000")


def test_evidence_survives_thinning() -> None:
    curve = curve_of(series(np.zeros(20_000)), marked=[777, 12_345])
    assert curve.steps[curve.marked].tolist() == [777, 12_345]
    assert len(curve.values) <= MOST_POINTS + 4
    assert curve.total == 20_000


@pytest.mark.parametrize("broken", [float("nan"), float("inf"), float("-inf")])
def test_broken_values_of_a_long_curve_are_kept(broken: float) -> None:
    values = np.ones(30_000)
    values[[5, 9_999, 20_000]] = broken
    curve = curve_of(series(values))
    assert curve.steps[curve.broken].tolist() == [6, 10_000, 20_001]


def test_moving_mean() -> None:
    values = np.array([1.0, 2.0, 6.0, np.nan, 4.0, np.inf])
    assert moving_mean(values, 3).tolist() == [1.5, 3.0, 4.0, 5.0, 4.0, 4.0]
    assert moving_mean(np.full(4, np.nan), 3).tolist() == pytest.approx([np.nan] * 4, nan_ok=True)
    assert moving_mean(np.zeros(0), 3).tolist() == []


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, st.integers(1, 60), elements=st.floats(-1e6, 1e6)), st.integers(2, 80))
def test_moving_mean_is_the_mean_of_the_window(values: np.ndarray, window: int) -> None:
    means = moving_mean(values, window)
    before = (window - 1) // 2
    for i in range(len(values)):
        around = values[max(i - before, 0) : i - before + window]
        assert means[i] == pytest.approx(around.mean(), abs=1e-6)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1e-6, 1e-4, 1.0], True),
        ([0.0, 1e-4, 1.0], False),
        ([0.0, *[1e-4, 1.0] * 5], True),
        ([1.0, 2.0, 900.0], False),
        ([-1.0, 1.0, 1e6], False),
        ([], False),
        ([5.0], False),
        ([5e-324, 1e308], True),
    ],
)
def test_a_wide_span_gets_a_logarithmic_axis(values: list[float], expected: bool) -> None:
    assert wants_log(np.array(values)) is expected
