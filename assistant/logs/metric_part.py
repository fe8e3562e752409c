"""One ``key:value`` of a metric line: its grammar, how its number was printed, and whether the number may go on."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from assistant.run import FIXED_DECIMALS, Style

MAX_WHOLE = 2**53
"""Whole numbers below this are exact as 64-bit floats."""

VALUE = re.compile(
    rb"\s*(?P<wrapper>(?:np|numpy)\.(?:[a-z]+\d*_?)\()?"
    rb"(?P<number>[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf(?:inity)?)|True|False)"
    rb"(?(wrapper)\))",
    re.IGNORECASE,
)
NOT_IN_KEYS = re.compile(rb"[\s'\"{}=]")
_NUMPY_BOOL = re.compile(rb"\s*np\.(True|False)_$")
_FIXED3 = re.compile(rb"[-+]?\d+\.\d{3}$")
_FIXED = re.compile(rb"[-+]?\d+\.(\d+)$")
_WHOLE = re.compile(rb"[-+]?\d+$")
_WORDS = frozenset((b"True", b"False", b"nan", b"inf", b"-inf"))
UNFINISHED = re.compile(
    rb"[\w/@.\-+()\x80-\xff ]*(?::(?:-|-?\d+\.?\d*(?:e[-+]?)?|-?in?|na?|T|Tru?|F|Fal?s?|(?:np|num?p?y?)\.?\w*(?:\([-+\w.]*)?|n)?)?"
)
"""A part that stops before its value does."""

_UNSURE_BEFORE = re.compile(
    rb"[.%_|]|[eE][-+]?\d*$|[-:/,]\d|\s*(?:it|s|ms|us|[kKMGT]?i?B|[kKMGTx]|st|nd|rd|th)(?![A-Za-z])"
    rb"|\s*(?:/\s?\d|of\b|out of\b|(?:warning|error|file|step|item|token|second|minute|worker|request|sample|prompt|process|node|GPU)s?\b"
    rb"|(?:passed|failed|total)\b)"
)
"""Other output that may have begun with digits (``0.50`` and ``45%|``, ``2025-03-01``, ``1 warning``)."""

_MAYBE_KEY = re.compile(rb"/[^\s:]*(?<!\.py)(?<!\.cpp)(?<!\.cu):[-\d]")
_LONGEST_KEY = 300
_MANY_DIGITS = 5
"""Numbers of more digits were printed by a machine, not typed."""

_MOST_DECIMALS = 8


class End(IntEnum):
    """What is known of the end of a metric line."""

    WHOLE = 0  # a line's end
    GLUED = 1  # other output follows without a line's end
    OPEN = 2  # the log ends here, without a line's end
    CUT = 3  # cut, or broken at a place where the number may go on


@dataclass(slots=True)
class Part:
    """One ``key:value`` of a line, its digits as printed; ``rest`` is other output glued to it."""

    key: bytes
    text: bytes
    wrapped: bool = False
    rest: bytes = field(default=b"")


class Split(NamedTuple):
    """The parts of a line, how many could not be read, whether the end is missing, and other output glued to the end."""

    parts: list[Part]
    lost: int = 0
    dangling: bool = False
    glued: bytes = b""


def parse_part(piece: bytes) -> Part | None:
    """``b"actor/lr:1e-06"`` → its key and number. The value stands behind the last colon and fills the piece."""
    colon = piece.rfind(b":")
    if colon <= 0:
        return None
    found = VALUE.match(piece, colon + 1)
    if found:
        if not piece[found.end() :].strip():
            return Part(piece[:colon].strip(), found["number"], found["wrapper"] is not None)
    elif boolean := _NUMPY_BOOL.match(piece[colon + 1 :].rstrip()):
        return Part(piece[:colon].strip(), boolean[1], True)
    return None


def glued_part(piece: bytes, known: Container[bytes]) -> Part | None:
    """The part at the start of a piece to whose value other output is glued (``mean:0.50INFO 03-01 …``).

    ``known``: keys of other lines; where several readings are possible, they decide.
    """
    first: Part | None = None
    colon = piece.find(b":")
    while 0 < colon < _LONGEST_KEY:
        key = piece[:colon].strip()
        found = VALUE.match(piece, colon + 1)
        if found and found.start("number") - (len(found["wrapper"]) if found["wrapper"] else 0) == colon + 1:
            part = Part(key, found["number"], found["wrapper"] is not None, piece[found.end() :])
            if not _word_goes_on(part):
                if key in known:
                    return part
                if first is None and b"/" in key and not NOT_IN_KEYS.search(key):
                    first = part
        colon = piece.find(b":", colon + 1)
    if first is not None and _MAYBE_KEY.match(first.rest):
        return None  # a longer key that holds a colon, or a path: nobody knows
    return first


def _word_goes_on(part: Part) -> bool:
    """Whether ``nan`` or ``inf`` is the beginning of a word (``INFO``)."""
    if not part.text[-1:].isalpha():
        return False
    return not part.wrapped and (part.text not in _WORDS or part.rest[:1].islower() or part.rest[:1] == b"_")


def split_parts(text: bytes, known: Container[bytes] = ()) -> Split:
    """``" - a:1 - b:2"`` as parts."""
    parts: list[Part] = []
    lost = 0
    dangling = False
    pieces = text.split(b" - ")
    if pieces and not pieces[0].strip():
        pieces = pieces[1:]
    held = b""  # a key that holds " - " itself
    for index, piece in enumerate(pieces):
        last = index == len(pieces) - 1
        part = parse_part(held + piece)
        if part is not None and b":" in part.key and part.key not in known and glued_part(held + piece, known) is not None:
            part = None  # an address, a time behind the value
        if part is not None:
            parts.append(part)
            held = b""
        elif (glued := glued_part(piece, known)) is not None:
            if not last and any(_is_metric(later) for later in pieces[index + 1 :]):
                lost += 1  # other output in the middle of the line
                continue
            parts.append(glued)
            return Split(parts, lost, False, b" - ".join([glued.rest, *pieces[index + 1 :]]))
        elif last:
            unfinished = held + piece
            if UNFINISHED.fullmatch(unfinished):
                dangling = bool(unfinished.strip())
            else:
                lost += 1
        elif b":" not in piece and len(piece) < 200:
            held += piece + b" - "
        else:
            lost += 1
            held = b""
    return Split(parts, lost, dangling)


def _is_metric(piece: bytes) -> bool:
    part = parse_part(piece)
    return part is not None and b"/" in part.key and not NOT_IN_KEYS.search(part.key)


def number(part: Part, fixed: bool) -> tuple[float, int]:
    """A part's value, and the style from which its text can be given back (`Style.OTHER`: it cannot)."""
    text = part.text
    if text in (b"True", b"False"):
        return float(text == b"True"), Style.BOOL
    value = float(text)
    plain = Style.NUMPY if part.wrapped else Style.REPR
    printed = text.decode("ascii")
    if _WHOLE.match(text):
        return value, Style.INT if abs(value) < MAX_WHOLE and str(int(value)) == printed else Style.OTHER
    if fixed and (_FIXED3.match(text) or printed in ("nan", "inf", "-inf")):
        return value, Style.FIXED3 if f"{value:.3f}" == printed else Style.OTHER
    if repr(value) == printed:
        return value, plain
    if (decimals := _FIXED.match(text)) and len(decimals[1]) < 32 and f"{value:.{len(decimals[1])}f}" == printed:
        return value, FIXED_DECIMALS + len(decimals[1])
    return value, Style.OTHER


def mostly_three_decimals(parts: Sequence[Part]) -> bool:
    with_point = [part for part in parts if b"." in part.text]
    three = sum(1 for part in with_point if not part.wrapped and _FIXED3.match(part.text))
    return three * 2 > len(with_point)


def common_decimals(parts: Sequence[Part]) -> int:
    """So many decimals all numbers of a line have (three, in old versions); 0 when they are printed in full."""
    with_point = [part for part in parts if b"." in part.text]
    counts = {0 if part.wrapped or b"e" in part.text else decimals_of(part.text) for part in with_point}
    alike = counts.pop() if len(counts) == 1 else 0
    return alike if alike == 3 or (len(with_point) >= 4 and 2 <= alike <= _MOST_DECIMALS) else 0


def decimals_of(text: bytes) -> int:
    return len(text.partition(b".")[2])


def in_full(parts: Sequence[Part]) -> bool:
    """Whether a machine printed the numbers in full: some have many digits."""
    return any(len(part.text.lstrip(b"-0.").replace(b".", b"")) > _MANY_DIGITS for part in parts)


def settled(part: Part, decimals: int) -> bool:
    """Whether a value cannot be the beginning of a longer one. ``decimals``: how many its line prints; 0 in full."""
    text = part.text
    if part.wrapped or text in _WORDS:
        return True
    if decimals:
        found = _FIXED.match(text)
        return found is not None and len(found[1]) >= decimals
    if b"e" in text:
        return number(part, False)[1] != Style.OTHER
    whole = text.lstrip(b"-").partition(b".")[0]
    digits = text.lstrip(b"-0.").replace(b".", b"")
    return b"." in text and len(digits) >= 17 and (whole == b"0" or len(whole) > 1)  # with one digit before it e-05 may follow


def settle_glued(part: Part, decimals: int) -> bool:
    """Takes back from a value the digits that belong to the output glued to it; False when that cannot be told."""
    if part.wrapped or part.text in _WORDS:
        return True
    if decimals:
        fixed = re.match(rb"[-+]?\d+\.\d{%d}" % decimals, part.text)
        if fixed is None:
            return False
        part.text, part.rest = fixed[0], part.text[fixed.end() :] + part.rest
        return True
    return not _UNSURE_BEFORE.match(part.rest) and number(part, False)[1] != Style.OTHER
