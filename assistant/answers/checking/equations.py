"""Numerals that stand in an equation ("1024 / 256 = 4"), and what kind of numeral one is."""

from __future__ import annotations

import re
from collections.abc import Callable

from assistant.answers.checking.numerals import Numeral
from assistant.answers.checking.scope import Sentence

_OPERATOR = re.compile(r"[\s`*]*([/÷×x*+−–-])[\s`*]*")
_EQUALS = re.compile(r"[\s`*]*(?:=|＝|≈|等于|equals|is)[\s`*]*")
_OPERATIONS: dict[str, Callable[[float, float], float]] = {
    **dict.fromkeys("/÷", lambda a, b: a / b),
    **dict.fromkeys("×x*", lambda a, b: a * b),
    "+": lambda a, b: a + b,
    **dict.fromkeys("−–-", lambda a, b: a - b),
}


def equation(numeral: Numeral, row: Sentence) -> tuple[Numeral, Numeral, float | None] | None:
    """The two numbers on the left of an equation whose result ``numeral`` is, and what they give (None: nothing finite); None when there
    is no equation."""
    left = [n for n in row.numbers if n.end <= numeral.start][-2:]
    if len(left) < 2:
        return None
    a, b = left
    sign = _OPERATOR.match(row.whole, a.end, b.start + 1)
    if sign is None or sign.end() != b.start or not _EQUALS.fullmatch(row.whole, b.end, numeral.start):
        return None
    try:
        return a, b, _OPERATIONS[sign[1]](a.value, b.value)
    except ZeroDivisionError:
        return a, b, None


def is_finite(numeral: Numeral) -> bool:
    return abs(numeral.value) < float("inf")


def is_ordinal(numeral: Numeral) -> bool:
    """ "the 150th step"."""
    return numeral.unit == "step" and numeral.text.endswith(("st", "nd", "rd", "th"))


def is_era(numeral: Numeral, lead: str, whole: str) -> bool:
    """ "verl 0.6", "version 0.6", "v0.6"."""
    named = re.search(r"(?:\bverl|\bversions?|版本)\s*(?:为|是|>=|≥|<|>|before|after|since)?\s*[`*v]*$", lead, re.IGNORECASE)
    return bool(named and re.fullmatch(r"\d+\.\d+", numeral.text))
