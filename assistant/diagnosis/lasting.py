"""Since when something holds, for runs of any length: a paste of one step, or a curve of thousands."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assistant.diagnosis.stats import Interval, sustained
from assistant.diagnosis.view import RunView
from assistant.run import Point


def holds(mask: NDArray[np.bool_], k: int = 3, m: int = 5) -> Interval | None:
    """The stretch in which ``mask`` holds in k of m steps: the one still open at the end, else the longest.

    A stretch that ended counts only if it covers a fifth of the run. A run shorter than ``m`` must hold throughout.
    """
    n = len(mask)
    if n < m:
        return Interval(0, n - 1, True) if n and mask.all() else None
    found = sustained(mask, k, m)
    if not found:
        return None
    if found[-1].open:
        return found[-1]
    longest = max(found, key=lambda i: i.end - i.start)
    return longest if longest.end - longest.start + 1 >= max(m, n / 5) else None


def evidence(view: RunView, steps: list[int | None], *canonical: str) -> list[Point]:
    """The printed points of these metrics at these steps; what was not printed there is left out."""
    found: list[Point] = []
    for name in canonical:
        series = view[name]
        if series is None:
            continue
        for step in dict.fromkeys(steps):
            point = series.point(-1) if step is None else series.at(step)
            if point is not None and point not in found:
                found.append(point)
    return found


def certainty(n: int, sure: float = 0.85) -> float:
    """Confidence by the number of steps that show it: one step is a hint, ten are a fact."""
    return round(sure * (0.7 + 0.3 * min(n, 10) / 10), 2)
