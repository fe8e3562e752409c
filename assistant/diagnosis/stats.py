"""Robust statistics for training curves: nothing here divides by a mean or trusts a single step.

All functions take float arrays of shape (n,) in step order. NaN and Inf are skipped where a statistic allows it; each
docstring says what an empty input gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from assistant.run import FloatArray, IntArray

BLOCKS = 200
"""Trend tests look at this many block medians at the most: quadratic cost stays bounded, long logs stay robust."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Indices ``start`` … ``end`` (inclusive) in which a condition held; ``open`` when it still holds at the end."""

    start: int
    end: int
    open: bool


@dataclass(frozen=True, slots=True)
class Trend:
    """Mann–Kendall ``z`` (sign = direction, |z| > 2.58 ⇔ p < 0.01) and Theil–Sen ``slope`` per index; n blocks seen."""

    z: float
    slope: float
    n: int

    @property
    def rising(self) -> bool:
        return self.z > 2.58

    @property
    def falling(self) -> bool:
        return self.z < -2.58


def finite(values: FloatArray) -> FloatArray:
    return values[np.isfinite(values)]


def median(values: FloatArray) -> float:
    """Median of the finite values; NaN when there is none."""
    kept = finite(values)
    return float(np.median(kept)) if len(kept) else float("nan")


def mad(values: FloatArray) -> float:
    """Median absolute deviation × 1.4826 (≈ σ for normal data) of the finite values; NaN when there is none."""
    kept = finite(values)
    return float(np.median(np.abs(kept - np.median(kept))) * 1.4826) if len(kept) else float("nan")


def baseline(values: FloatArray, n: int = 10) -> float:
    """The run's own start: median of its first ``n`` finite values; NaN when there is none."""
    return median(finite(values)[:n])


def tail(values: FloatArray, n: int = 10) -> float:
    """Where the run is now: median of its last ``n`` finite values; NaN when there is none."""
    return median(finite(values)[-n:])


def few(n: int, most: int = 10) -> int:
    """How many of ``n`` values show a level of their own: ``most``, in a short log a quarter of them (at least 2), so that
    its start and its end do not overlap."""
    return min(most, max(2, n // 4))


def rolling_median(values: FloatArray, window: int) -> FloatArray:
    """Median of each value and the ``window - 1`` before it (fewer at the start), NaN skipped. Shape (n,)."""
    if not len(values):
        return values.copy()
    padded = np.concatenate([np.full(window - 1, np.nan), values])
    ordered = np.sort(sliding_window_view(padded, window), axis=1)  # NaN last
    seen = window - np.count_nonzero(np.isnan(ordered), axis=1)
    rows = np.arange(len(values))
    with np.errstate(all="ignore"):
        medians: FloatArray = (ordered[rows, np.maximum(seen - 1, 0) // 2] + ordered[rows, np.minimum(seen // 2, window - 1)]) / 2
    return medians


def rolling_max(values: FloatArray, window: int) -> FloatArray:
    """Largest of each value and the ``window - 1`` before it (fewer at the start). Shape (n,)."""
    padded = np.concatenate([np.full(window - 1, -np.inf), values])
    largest: FloatArray = sliding_window_view(padded, window).max(axis=1) if len(values) else values.copy()
    return largest


def last_record(level: FloatArray, band: float) -> int:
    """Index at which a curve last rose above its earlier best by more than ``band``; 0 when it never did."""
    best = np.maximum.accumulate(np.where(np.isfinite(level), level, -np.inf))
    anchor, at = float(best[0]), 0
    while True:  # each turn raises the anchor by more than the band
        higher = int(np.searchsorted(best, anchor + band, side="right"))
        if higher >= len(best):
            return at
        anchor, at = float(best[higher]), higher


def sustained(mask: NDArray[np.bool_], k: int, m: int, clear: int = 5) -> list[Interval]:
    """Where ``mask`` holds in at least ``k`` of the last ``m`` steps, until ``clear`` steps in a row without it.

    The start is the first true step of the window that triggered. Fewer than ``k`` steps trigger nothing.
    """
    n = len(mask)
    if n < k:
        return []
    counts = np.cumsum(np.concatenate([[0], mask.astype(np.int64)]))
    window = counts[1:] - counts[np.maximum(np.arange(1, n + 1) - m, 0)]
    hot = (window >= k) & mask
    found: list[Interval] = []
    true = np.flatnonzero(mask)
    i = 0
    while True:
        later = np.flatnonzero(hot[i:])
        if not len(later):
            return found
        trigger = i + int(later[0])
        start = int(true[np.searchsorted(true, max(trigger - m + 1, i))])
        following = true[np.searchsorted(true, trigger) :]
        gaps = np.flatnonzero(np.diff(following) > clear)
        end = int(following[gaps[0]] if len(gaps) else following[-1])
        found.append(Interval(start, end, open=n - 1 - end < clear))
        i = end + 1
        if i >= n:
            return found


def latched(mask: NDArray[np.bool_], off: NDArray[np.bool_], k: int, m: int) -> Interval | None:
    """The stretch still open at the end: it began when ``mask`` held in ``k`` of the last ``m`` steps and no ``off`` has come since.

    ``off`` is a clearly easier condition than "not mask" (a level well below the alarm's), so that a value near the limit does not
    switch the alarm on and off. What holds at a step depends on nothing after it: a longer log tells the same story.
    """
    n = len(mask)
    counts = np.cumsum(np.concatenate([[0], mask.astype(np.int64)]))
    within = counts[1:] - counts[np.maximum(np.arange(1, n + 1) - m, 0)]
    hot = (within >= k) & mask
    cleared = np.flatnonzero(off & ~hot)  # a slow ``off`` does not hold back an alarm that is on
    triggers = np.flatnonzero(hot)
    triggers = triggers[triggers > (cleared[-1] if len(cleared) else -1)]
    if not len(triggers):
        return None
    true = np.flatnonzero(mask)
    return Interval(int(true[np.searchsorted(true, int(triggers[0]) - m + 1)]), n - 1, True)


def trend(values: FloatArray) -> Trend:
    """Direction of a curve, by ranks: scale-free and safe around zero. Fewer than 4 finite values give z = 0."""
    where = np.flatnonzero(np.isfinite(values))
    kept, at = values[where], where.astype(np.float64)
    if len(kept) > BLOCKS:
        at, kept = _block_medians(at), _block_medians(kept)
    n = len(kept)
    if n < 4:
        return Trend(0.0, 0.0, n)
    i, j = _pairs(n)
    difference = kept[j] - kept[i]
    s = float(np.sign(difference).sum())
    _, ties = np.unique(kept, return_counts=True)
    variance = (n * (n - 1) * (2 * n + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18
    z = (s - np.sign(s)) / np.sqrt(variance) if variance > 0 else 0.0
    return Trend(float(z), float(np.median(difference / (at[j] - at[i]))), n)


def _block_medians(values: FloatArray) -> FloatArray:
    """Medians of ``BLOCKS`` stretches of equal length (the first ones are one longer where it does not divide). Shape (BLOCKS,)."""
    size, longer = divmod(len(values), BLOCKS)
    cut = longer * (size + 1)
    parts = [np.median(values[:cut].reshape(longer, size + 1), axis=1)] if longer else []
    medians: FloatArray = np.concatenate([*parts, np.median(values[cut:].reshape(BLOCKS - longer, size), axis=1)])
    return medians


@lru_cache(maxsize=64)
def _pairs(n: int) -> tuple[IntArray, IntArray]:
    i, j = np.triu_indices(n, 1)
    return i, j


def change_point(values: FloatArray) -> int | None:
    """Index at which the level changes most (Pettitt's rank statistic over at most ``BLOCKS`` × 10 points).

    None for fewer than 6 finite values or when no split stands out (p > 0.01).
    """
    where = np.flatnonzero(np.isfinite(values))
    if len(where) < 6:
        return None
    kept = where[np.linspace(0, len(where) - 1, min(len(where), BLOCKS * 10)).astype(np.int64)]
    ranks = rank(values[kept])
    n = len(kept)
    u = np.abs(2 * np.cumsum(ranks) - np.arange(1, n + 1) * (n + 1))
    split = int(np.argmax(u[:-1]))
    if 2 * np.exp(-6 * float(u[split]) ** 2 / (n**3 + n**2)) > 0.01:
        return None
    return int(kept[split + 1])


def rank(values: FloatArray) -> FloatArray:
    """Average ranks 1 … n of finite values."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return ((2 * last - counts + 1) / 2)[inverse].astype(np.float64)


def correlation(a: FloatArray, b: FloatArray) -> float:
    """Spearman's rank correlation of the pairs that are finite; NaN for fewer than 5 or a constant side."""
    both = np.isfinite(a) & np.isfinite(b)
    if np.count_nonzero(both) < 5:
        return float("nan")
    x, y = rank(a[both]), rank(b[both])
    if not x.std() or not y.std():
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])
