"""Numbers of data files: a float, the style that gives its text back, and the text itself where no style does."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from assistant.logs.metric_part import MAX_WHOLE
from assistant.run import FIXED_DECIMALS, Style

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$")
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?$")
_FIXED = re.compile(r"[-+]?\d+\.(\d+)$")
_WHOLE = re.compile(r"[-+]?\d+$")
_SPECIAL = frozenset({"nan", "inf", "infinity"})
_NULL = frozenset({"null", "none"})
_NAN = float("nan")


class Cell(NamedTuple):
    """``text`` is None where ``style`` gives the text back."""

    value: float
    style: int
    text: str | None = None


class Printed(float):
    """A float of a JSON text whose digits are not those that Python would print."""

    __slots__ = ("text",)
    text: str


NULL = Cell(_NAN, Style.NULL)


@lru_cache(maxsize=65536)
def of_text(text: str, fixed: bool = True) -> Cell | None:
    """The number that a text is, None when it is none.

    ``fixed``: digits with needless zeros at the end come from a fixed number of decimals (in a CSV they do).
    """
    text = text.strip()
    if not text:
        return None
    if _WHOLE.match(text):
        value = float(text)
        return Cell(value, Style.INT) if abs(value) < MAX_WHOLE and str(int(value)) == text else Cell(value, Style.OTHER, text)
    if _NUMBER.match(text):
        value = float(text)
        if repr(value) == text:
            return Cell(value, Style.REPR)
        found = _FIXED.match(text) if fixed else None
        if found and len(found[1]) < 32 and f"{value:.{len(found[1])}f}" == text:
            return Cell(value, FIXED_DECIMALS + len(found[1]))
        return Cell(value, Style.OTHER, text)
    lowered = text.lower()
    if lowered.lstrip("+-") in _SPECIAL:
        return Cell(float(lowered), Style.REPR)
    if lowered in _NULL:
        return NULL
    if lowered in ("true", "false"):
        return Cell(float(lowered == "true"), Style.BOOL)
    if _GROUPED.match(text):
        return Cell(float(text.replace(",", "")), Style.OTHER, text)
    return None


def of_object(value: Any) -> Cell | None:
    """The number in a JSON value: a number, a flag, ``null``, a number in quotes, or a list of one of these."""
    if isinstance(value, bool):
        return Cell(float(value), Style.BOOL)
    if isinstance(value, Printed):
        return Cell(float(value), Style.OTHER, value.text)
    if isinstance(value, float):
        return Cell(value, Style.REPR)
    if isinstance(value, int):
        if abs(value) < MAX_WHOLE:
            return Cell(float(value), Style.INT)
        try:
            return Cell(float(value), Style.OTHER, str(value))
        except (OverflowError, ValueError):
            return None
    if value is None:
        return NULL
    if isinstance(value, str):
        found = of_text(value, False) if len(value) < 64 else None
        return None if found is NULL or (found and found.style == Style.BOOL) else found
    if isinstance(value, list) and len(value) == 1 and not isinstance(value[0], list):
        return of_object(value[0]) if value[0] is not None else None
    return None


def whole(value: Any) -> int | None:
    """A step: a whole number, also as ``5.0`` or in quotes; None when it is none."""
    cell = of_object(value)
    if cell is None or cell.style in (Style.BOOL, Style.NULL) or not cell.value.is_integer() or abs(cell.value) >= 2**62:
        return None
    return int(cell.value)
