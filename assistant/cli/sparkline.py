"""A curve in one line of text."""

from __future__ import annotations

import numpy as np

from assistant.run import FloatArray

BARS = "▁▂▃▄▅▆▇█"
MISSING = "×"  # a stretch without a finite value


def sparkline(values: FloatArray, width: int) -> str:
    """Medians of ``width`` stretches of ``values`` (fewer when there are fewer values), lowest to highest bar."""
    if not len(values):
        return ""
    parts = np.array_split(values, min(width, len(values)))
    levels = [float(np.median(kept)) if len(kept := part[np.isfinite(part)]) else float("nan") for part in parts]
    finite = [level for level in levels if level == level]
    if not finite:
        return MISSING * len(levels)
    low, high = min(finite), max(finite)
    span = (high - low) or 1.0
    return "".join(MISSING if level != level else BARS[int((level - low) / span * (len(BARS) - 1))] for level in levels)
