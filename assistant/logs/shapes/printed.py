"""One printed number: its value, and the style from which its digits can be given back."""

from __future__ import annotations

import re
from typing import NamedTuple

from assistant.run import FIXED_DECIMALS, SCIENTIFIC, SCIENTIFIC_UPPER, Style

NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|(?:nan|NaN|NAN|inf|Infinity|INF)(?![A-Za-z]))"
"""A number as loggers print it, ``nan`` and ``inf`` among them."""

WITH_COMMAS = r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])"
"""``7,282``: groups of three digits."""

MAX_WHOLE = 2**53
_FIXED = re.compile(r"[-+]?\d+\.(\d+)")
_SCIENTIFIC = re.compile(r"[-+]?\d\.(\d+)([eE])[-+]\d{2,3}")
_WHOLE = re.compile(r"[-+]?\d+")
_WORDS = {"None": Style.NULL, "null": Style.NULL, "True": Style.BOOL, "true": Style.BOOL, "False": Style.BOOL, "false": Style.BOOL}


class Printed(NamedTuple):
    """``text`` is kept when the style cannot give the digits back, else empty."""

    value: float
    style: int
    text: str = ""


def read_printed(text: str, fixed: bool = False, wrapped: bool = False) -> Printed:
    """The number ``text``. ``fixed``: the printer rounds (to decimals, or to digits before an exponent), so that ``0.4310``
    and ``0.431`` say how exact they are; otherwise a number that Python would print so is in full."""
    if text in _WORDS:
        word = _WORDS[text]
        if word == Style.NULL:
            return Printed(float("nan"), word, text if text != "null" else "")
        value = float(text[0] in "Tt")
        return Printed(value, word, text if text[0] in "tf" else "")
    value = float(text.replace(",", "") if "," in text else text)
    if _WHOLE.fullmatch(text):
        exact = abs(value) < MAX_WHOLE and str(int(value)) == text
        return Printed(value, Style.INT) if exact else Printed(value, Style.OTHER, text)
    if not fixed and repr(value) == text:
        return Printed(value, Style.NUMPY if wrapped else Style.REPR)
    if (found := _FIXED.fullmatch(text)) and len(found[1]) < 32:
        same = f"{value:.{len(found[1])}f}" == text
        return Printed(value, FIXED_DECIMALS + len(found[1]), "" if same else text)
    if (found := _SCIENTIFIC.fullmatch(text)) and len(found[1]) < 32:
        style = (SCIENTIFIC if found[2] == "e" else SCIENTIFIC_UPPER) + len(found[1])
        same = f"{value:.{len(found[1])}{found[2]}}" == text
        return Printed(value, style, "" if same else text)
    if repr(value) == text:
        return Printed(value, Style.NUMPY if wrapped else Style.REPR)
    return Printed(value, Style.OTHER, text)
