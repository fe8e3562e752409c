"""Which values of a curve a stretch of the run covers."""

from __future__ import annotations

import numpy as np

from assistant.answers.understanding.windows import Window
from assistant.run import IntArray, Series


def selected(series: Series, window: Window | None) -> IntArray:
    """Indices of the values that the window covers, shape (k,)."""
    n = len(series)
    if window is None:
        return np.arange(n)
    if window.kind == "last":
        return np.arange(max(0, n - window.n), n)
    if window.kind == "first":
        return np.arange(min(n, window.n))
    steps = series.steps
    if window.kind == "part":
        first, last = int(steps[0]), int(steps[-1])
        cut = first + (last - first) * (window.share if window.share > 0 else 1 + window.share)
        return np.flatnonzero(steps <= cut if window.share > 0 else steps > cut)
    keep = np.ones(n, bool)
    if window.low is not None:
        keep &= steps >= window.low
    if window.high is not None:
        keep &= steps <= window.high
    return np.flatnonzero(keep)
