"""How a curve went, in words that agree with the values shown beside them: a rank trend alone says "rising" of a curve that fell
and came half-way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from assistant.answers.grounding.evidence import Curve
from assistant.diagnosis import stats
from assistant.run import FloatArray

Kind = Literal["none", "rises", "falls", "rose_then_fell", "fell_then_rose", "rose_early", "fell_early"]
NET = 0.25
"""Share of the curve's span that start and end must differ by to be called one direction."""
EARLY = 0.4
"""Share of the span between start and end from which on a curve without a fitting rank trend is told as an early change."""
BACK = 0.5
"""Share of the span that a curve must lose again after its extreme to be told in two parts."""


@dataclass(frozen=True, slots=True)
class Shape:
    """``turn`` is the index (into the series) of the extreme between two directions; ``start`` and ``end`` are medians of the first
    and last ``k`` finite values; ``plain`` when the first and last single values show the same direction."""

    kind: Kind
    start: float
    end: float
    k: int
    turn: int | None = None
    plain: bool = True


def shape_of(curve: Curve) -> Shape:
    where = np.flatnonzero(curve.series.finite)
    values = curve.series.values[where]
    n = len(values)
    k = max(1, min(10, n // 4))
    if n < 4:
        return Shape("none", float("nan"), float("nan"), k)
    start, end = float(np.median(values[:k])), float(np.median(values[-k:]))
    level = smoothed(values)
    low, high = int(np.argmin(level)), int(np.argmax(level))
    span = float(level[high] - level[low])
    net, found = end - start, stats.trend(values)
    moved = float(values[-1] - values[0])
    if span <= 0:
        return Shape("none", start, end, k)
    if found.rising and net > NET * span and level[high] - end <= BACK * span:
        return Shape("rises", start, end, k, None, moved > 0)
    if found.falling and net < -NET * span and end - level[low] <= BACK * span:
        return Shape("falls", start, end, k, None, moved < 0)
    if (turn := _turn(values, level, high, start, end, span, 1)) is not None:
        return Shape("rose_then_fell", start, end, k, int(where[turn]))
    if (turn := _turn(values, level, low, start, end, span, -1)) is not None:
        return Shape("fell_then_rose", start, end, k, int(where[turn]))
    if abs(net) > EARLY * span and n >= 20 and net * moved > 0 and net * found.z <= 0:
        arrived = int(np.argmax(np.sign(net) * (level - end) >= -0.1 * span))
        return Shape("rose_early" if net > 0 else "fell_early", start, end, k, int(where[arrived]))
    if found.rising and net > 0 and moved > 0:
        return Shape("rises", start, end, k)
    if found.falling and net < 0 and moved < 0:
        return Shape("falls", start, end, k)
    return Shape("none", start, end, k)


def smoothed(values: FloatArray) -> FloatArray:
    """Centred running median over a twentieth of the values, shape (n,)."""
    half = min(len(values) // 40, 25)
    if not half:
        return values
    padded = np.pad(values, half, mode="edge")
    medians: FloatArray = np.median(sliding_window_view(padded, 2 * half + 1), axis=1)
    return medians


def _turn(values: FloatArray, level: FloatArray, at: int, start: float, end: float, span: float, sign: int) -> int | None:
    """``at`` when the curve goes one way up to it and back after it, each by a good part of its span and by rank."""
    n = len(values)
    margin = max(2, n // 20)
    if not margin <= at < n - margin or n < 10:
        return None
    top = sign * float(level[at])
    if min(top - sign * start, top - sign * end) < NET * span or max(top - sign * start, top - sign * end) < BACK * span:
        return None
    before, after = stats.trend(sign * values[: at + 1]), stats.trend(sign * values[at:])
    return at if before.z > 1.96 and after.z < -1.96 else None
