"""The statistics that detectors rest on."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.diagnosis import stats

NOISE = np.random.default_rng(0)


def test_sustained_starts_at_the_first_true_step_of_the_window_that_triggered() -> None:
    mask = np.array([0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0], bool)
    (found,) = stats.sustained(mask, k=3, m=5)
    assert (found.start, found.end, found.open) == (2, 5, False)


def test_sustained_needs_k_true_steps_within_m() -> None:
    assert stats.sustained(np.array([1, 0, 0, 1, 0, 0, 1, 0, 0], bool), k=3, m=5) == []
    assert stats.sustained(np.array([1, 1], bool), k=3, m=5) == []


def test_sustained_holds_through_short_gaps_and_reports_each_stretch() -> None:
    mask = np.array([1, 1, 1, 0, 0, 1] + [0] * 8 + [1, 1, 1], bool)
    first, second = stats.sustained(mask, k=3, m=3, clear=5)
    assert (first.start, first.end) == (0, 5)
    assert (second.start, second.end, second.open) == (14, 16, True)


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 6), st.integers(0, 6), st.integers(1, 6))
def test_sustained_intervals_begin_and_end_on_true_steps_and_do_not_overlap(mask: list[bool], k: int, more: int, clear: int) -> None:
    found = stats.sustained(np.array(mask, bool), k, k + more, clear)
    for interval in found:
        assert mask[interval.start]
        assert mask[interval.end]
    assert all(a.end < b.start for a, b in itertools.pairwise(found))


def test_noise_around_zero_has_no_trend() -> None:
    called = sum(abs(stats.trend(NOISE.normal(0, 0.01, 300)).z) > 2.58 for _ in range(200))
    assert called <= 10  # 1 % by chance; a test on ratios of means calls nearly all of them


def test_a_slow_rise_is_a_trend_whatever_its_scale() -> None:
    rise = np.linspace(0, 1, 100) + NOISE.normal(0, 0.2, 100)
    assert stats.trend(rise).rising
    assert stats.trend(rise * 1e-9).rising
    assert stats.trend(-rise).falling
    assert stats.trend(rise).slope == pytest.approx(0.01, rel=0.3)


def test_the_slope_is_per_index_on_long_series_too() -> None:
    assert stats.trend(np.arange(50_000) * 0.5).slope == pytest.approx(0.5)


def test_trend_skips_what_is_not_finite() -> None:
    values = np.arange(20.0)
    values[[3, 7]] = np.nan, np.inf
    assert stats.trend(values).slope == pytest.approx(1)
    assert stats.trend(np.full(5, np.nan)).n == 0


def test_change_point_is_where_the_level_changes() -> None:
    values = np.concatenate([NOISE.normal(0, 1, 60), NOISE.normal(3, 1, 40)])
    assert stats.change_point(values) == pytest.approx(60, abs=3)
    assert stats.change_point(NOISE.normal(0, 1, 100)) is None
    assert stats.change_point(np.array([1.0, 2.0])) is None


def test_rolling_median_matches_the_definition() -> None:
    values = np.array([5.0, np.nan, 1.0, 9.0, 2.0])
    assert stats.rolling_median(values, 3).tolist() == [5.0, 5.0, 3.0, 5.0, 2.0]


def test_correlation_is_of_ranks_and_needs_data() -> None:
    x = np.arange(10.0)
    assert stats.correlation(x, np.exp(x)) == pytest.approx(1)
    assert np.isnan(stats.correlation(x, np.ones(10)))
    assert np.isnan(stats.correlation(x[:4], x[:4]))


def test_empty_input_gives_nan_not_an_error() -> None:
    empty = np.zeros(0)
    assert all(np.isnan(f(empty)) for f in (stats.median, stats.mad, stats.baseline, stats.tail))


def test_an_alarm_stays_until_it_is_clearly_over() -> None:
    values = np.array([0, 0, 5, 5, 5, 3, 3, 3, 3, 0.0])
    on, off = values > 4, values < 2
    found = stats.latched(on[:-1], off[:-1], k=2, m=3)
    assert found is not None
    assert (found.start, found.end, found.open) == (2, 8, True)  # 3 is below the alarm, and not yet quiet
    assert stats.latched(on, off, k=2, m=3) is None


def test_a_slow_all_clear_does_not_move_the_onset() -> None:
    on = np.array([0, 0, 0, 1, 1, 1, 1, 1], bool)
    slow = np.array([1, 1, 1, 1, 1, 1, 0, 0], bool)
    found = stats.latched(on, slow, k=3, m=4)
    assert found is not None
    assert found.start == 3


@given(st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=1, max_size=60), st.integers(1, 4), st.integers(0, 3))
def test_a_longer_log_gives_the_same_onset(values: list[float], k: int, more: int) -> None:
    curve = np.array(values)
    found = [stats.latched(curve[:n] > 1, curve[:n] < 1, k, k + more) for n in range(1, len(curve) + 1)]
    for before, after in itertools.pairwise(found):
        if before is not None and after is not None:
            assert before.start == after.start or after.start >= before.end


def test_the_last_new_best() -> None:
    level = np.array([0.0, 0.5, 0.55, 1.0, 1.02, 0.9, 1.05])
    assert stats.last_record(level, 0.1) == 3
    assert stats.last_record(level, 2.0) == 0
    assert stats.last_record(np.array([np.nan, 1.0, 2.0]), 0.5) == 2


@given(st.lists(st.one_of(st.floats(-5, 5), st.just(float("nan"))), max_size=30), st.integers(1, 8))
def test_rolling_median_and_maximum_are_those_of_the_window(values: list[float], window: int) -> None:
    curve = np.array(values, float)
    medians, largest = stats.rolling_median(curve, window), stats.rolling_max(np.nan_to_num(curve), window)
    for i in range(len(curve)):
        part = curve[max(0, i - window + 1) : i + 1]
        seen = part[np.isfinite(part)]
        assert np.isnan(medians[i]) if not len(seen) else medians[i] == pytest.approx(np.median(seen))
        assert largest[i] == np.nan_to_num(part).max()
