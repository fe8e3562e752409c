"""Quantities for a finding's sentences: each knows whether it was printed, computed or configured."""

from __future__ import annotations

from assistant.diagnosis.finding import Quantity
from assistant.run import Point


def printed(point: Point) -> Quantity:
    """A value that the log printed; a long one is shown to four digits (the point in ``evidence`` keeps them all)."""
    return Quantity(point.value, shown(point), "run", point.metric, point.step, point.line)


def shown(point: Point) -> str:
    """A printed value for people: as printed up to five significant digits, else rounded to four (tiny values: three)."""
    digits = point.text.partition("e")[0].lstrip("-+0.").replace(".", "")
    if (len(digits) <= 5 and len(point.text) <= 9) or point.value != point.value or abs(point.value) == float("inf"):
        return point.text
    if 1000 <= abs(point.value) < 1e9:
        return f"{point.value:.0f}"
    return f"{point.value:.4g}" if abs(point.value) >= 1e-3 else f"{point.value:.3g}"


def derived(value: float, formula: str, *, metric: str | None = None, text: str | None = None) -> Quantity:
    """A computed value; ``formula`` says from what, in metric names (``median of actor/entropy, steps 1–10``)."""
    return Quantity(value, number(value) if text is None else text, "derived", metric, formula=formula)


def percent(share: float, formula: str, *, metric: str | None = None) -> Quantity:
    """A share of 0–1, shown in percent."""
    return Quantity(share, f"{number(100 * share)}%", "derived", metric, formula=formula)


def configured(value: float, key: str, line: int | None = None) -> Quantity:
    return Quantity(value, number(value), "config", key, line=line)


def count(value: int, formula: str = "") -> Quantity:
    return Quantity(value, str(value), "count", formula=formula)


def number(value: float) -> str:
    """Three significant digits, no exponent between 1e-4 and 1e6: 0.0312, 43.5, 1180, 2.1e-06."""
    if value != value or value in (float("inf"), float("-inf")):
        return repr(value)
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    if abs(value) >= 1e6 or abs(value) < 1e-4:
        return f"{value:.2g}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"


def quoted(text: str, line: int) -> Quantity:
    """Words of the log, as they stand on ``line`` (the value is that line's number)."""
    return Quantity(float(line), text, "run", line=line)
