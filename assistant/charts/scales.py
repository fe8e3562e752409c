"""Axis limits and labels that hold for any finite values: flat curves, one point, 1e308."""

from __future__ import annotations

import math

import numpy as np

from assistant.run import FloatArray

LARGEST = 1e200
"""Values beyond are drawn at this height: an axis cannot span more than a float can hold."""


def drawn_heights(values: FloatArray) -> FloatArray:
    """Values as an axis can hold them; NaN stays NaN, Inf becomes NaN."""
    heights: FloatArray = np.where(np.isfinite(values), np.clip(values, -LARGEST, LARGEST), np.nan)
    return heights


def limits(values: FloatArray, logarithmic: bool = False, margin: float = 0.06) -> tuple[float, float]:
    """Lower and upper end of an axis for these values (non-finite ones are ignored), with some room; low < high always."""
    heights = drawn_heights(values)
    finite = heights[np.isfinite(heights)]
    if logarithmic:
        finite = finite[finite > 0]
        if not len(finite):
            return 0.1, 1.0
        low, high = (max(math.log10(float(end)), -300.0) for end in (finite.min(), finite.max()))
        room = max((high - low) * margin, 0.05)
        return 10 ** max(low - room, -304.0), 10 ** (high + room)
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    size = max(abs(low), abs(high))
    if high - low <= 1e-9 * size or size < 1e-290:  # flat
        room = 0.1 * size if size >= 1e-290 else 0.5
        return low - room, high + room
    room = (high - low) * margin
    return low - room, high + room


def tick(value: float) -> str:
    """A label of an axis: six digits at the most, short exponents."""
    if value == 0:
        return "0"
    text = f"{value:.6g}"
    return text.replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


def edges(steps: FloatArray) -> tuple[float, float]:
    """Limits of a step axis; low < high always."""
    low, high = float(np.min(steps)), float(np.max(steps))
    room = max((high - low) * 0.012, 0.4)
    return low - room, high + room
