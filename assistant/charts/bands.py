"""Where a metric usually is, as its card says: the rows of ``ranges`` that are marked ``level: usual``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from assistant.cards import in_folder, pick
from assistant.charts.curves import Band


def band_of(canonical: str, scale: float = 1.0) -> Band | None:
    """The usual range in the unit of the printed name (``scale`` is the factor that the name carries); None without one."""
    band = _bands().get(canonical)
    if band is None or scale == 1.0:
        return band
    low, high = (None if end is None else end / scale for end in (band.low, band.high))
    return Band(low, high, band.words)


@cache
def _bands() -> Mapping[str, Band]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for card in in_folder("metrics"):
        metrics = card.front.get("metrics") or ()
        for row in card.front.get("ranges") or ():
            if row.get("level") == "usual":
                named = row.get("metric") or (metrics[0]["id"] if metrics else "")
                found.setdefault(named, []).append(row)
    return {name: _joined(rows) for name, rows in found.items() if name}


def _joined(rows: list[Mapping[str, Any]]) -> Band:
    """Several usual ranges (for one update a step, for many) are drawn as one."""
    lows, highs = [row.get("low") for row in rows], [row.get("high") for row in rows]
    low = None if None in lows else min(lows)  # type: ignore[type-var]
    high = None if None in highs else max(highs)  # type: ignore[type-var]
    return Band(low, high, ("; ".join(pick(row, "en") for row in rows), "；".join(pick(row, "zh") for row in rows)))
