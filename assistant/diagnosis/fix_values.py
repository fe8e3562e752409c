"""The new value that a fix proposes, seen from the value that the run has: "raise it" never lowers it.

A card's fix says in which direction it ``moves`` its setting: ``up``, ``down``, or ``set`` when the value itself is the aim
(a temperature of 1.0). ``to`` is the usual target. Where the run is already there, ``factor`` or ``add`` goes on from its own
value, no further than ``limit``; a fix with nowhere left to go is dropped. ``unlimited`` are values that stand for no limit
(``val_max_samples: -1``): every value is below them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from assistant.diagnosis.settings import Bounds, bounds
from assistant.run import Run


def change(row: Mapping[str, Any], key: str, to: Any, *, current: Any, default: Any, run: Run, computed: bool) -> tuple[Any, Any] | None:
    """(from, to) of one fix; None when there is nothing to change.

    ``current`` is the setting as the log shows it, None when it does not; the version's ``default`` then counts, unless the
    metrics refute it, or a target ``computed`` from this run lies on its wrong side. ``from`` is None where only a bound is known.
    """
    shown = start = current
    if current is None:
        known = bounds(run, key)
        if known.exact is not None:
            shown = start = known.exact
        elif known.allows(default):
            shown = start = default
        elif row.get("moves") in ("up", "down"):
            shown, start = None, _nearest(known, row["moves"])
            if start is None:
                return None, None
    new = target(row, to, start)
    if new is not UNCHANGED:
        return (None if shown == new and new is not None else shown), new
    if current is None and shown == default and (computed or default == to):
        return None, to  # "make sure that it is", for a setting that the log does not show
    return None


UNCHANGED = object()
"""The setting already is where the fix would move it, or can go no further."""


def target(row: Mapping[str, Any], to: Any, start: Any) -> Any:
    """The value to set, from ``start`` (None: not known); None when only the direction can be said."""
    moves, limit = row.get("moves"), row.get("limit")
    if moves not in ("up", "down"):
        return UNCHANGED if to is not None and to == start else to
    if to is not None and not is_number(to):
        return UNCHANGED if to == start else to
    if start is None:
        return to
    if start in row.get("unlimited", ()):
        return to if moves == "down" else UNCHANGED
    if not is_number(start):
        return None  # a setting in words, or computed from others: no number can be compared with it
    if to is not None and _beyond(to, start, moves):
        return to
    further = _further(row, start, whole=isinstance(to, int))
    if further is None:
        return to if to is None else UNCHANGED
    if limit is not None:
        further = min(further, limit) if moves == "up" else max(further, limit)
    return further if _beyond(further, start, moves) else UNCHANGED


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _beyond(value: float, start: float, moves: str) -> bool:
    return value > start if moves == "up" else value < start


def _further(row: Mapping[str, Any], start: float, *, whole: bool) -> float | None:
    """One step on from ``start`` to two digits; None when the card gives no step."""
    if "factor" not in row and "add" not in row:
        return None
    new = float(start * row.get("factor", 1) + row.get("add", 0))
    if whole or (isinstance(start, int) and new.is_integer()):
        return math.ceil(new) if row["moves"] == "up" else math.floor(new)
    return float(f"{new:.2g}")


def _nearest(known: Bounds, moves: Any) -> float | None:
    """The end of the bounds from which a step in the fix's direction is one for every value within them; None when it is open."""
    end = known.high if moves == "up" else known.low
    return end if math.isfinite(end) else None
