"""The grammar of one metric line: ``step:5 - actor/entropy:0.431 - actor/lr:1e-06 - training/epoch:np.int64(0)``.

Most lines are a JSON object in disguise, and a JSON parser written in native code reads them fastest; whatever that
cannot read exactly (``nan`` beside ``inf``, wrapped values, odd keys, cut ends) goes the careful way, part by part.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from assistant.logs.columns import Layout, Table
from assistant.run import FIXED_DECIMALS, Style

MAX_WHOLE = 2**53
"""Whole numbers below this are exact as 64-bit floats."""

_ZERO = bytes.maketrans(b"123456789", b"000000000")
_NUMBERS = b"0123456789.+-e"
_WRAPPED = re.compile(rb":(?:np|numpy)\.[a-z]+\d*_?\(([^()]*)\)")
_COMMON_WRAPPERS = (b":np.float64(", b":np.float32(", b":np.int64(", b":np.int32(")
_VALUE = re.compile(
    rb"\s*(?P<wrapper>(?:np|numpy)\.(?:[a-z]+\d*_?)\()?"
    rb"(?P<number>[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf(?:inity)?)|True|False)"
    rb"(?(wrapper)\))",
    re.IGNORECASE,
)
_NUMPY_BOOL = re.compile(rb"\s*np\.(True|False)_$")
_FIXED3 = re.compile(rb"[-+]?\d+\.\d{3}$")
_FIXED = re.compile(rb"[-+]?\d+\.(\d+)$")
_WHOLE = re.compile(rb"[-+]?\d+$")
_AFTER_VALUE = re.compile(rb"\s*(?:[(\[]|\x1b|\x00|Training Progress|\d{4}-\d\d-\d\d|$)|\r")
_GLUED = re.compile(rb"(?:\x1b?\[[0-9;]*m)*(?:\((?:[^()\n]{0,80} )?pid=\d+[^()\n]{0,60}\)|\(raylet\)|\r|Training Progress:)")
STEP = re.compile(rb"step:\s?(-?\d{1,18})(?= - |\s*$)")


class Parsed(NamedTuple):
    """``values``, ``styles`` and ``texts`` follow ``layout.keys``; ``lost`` are parts that could not be read."""

    step: int
    layout: Layout
    values: Sequence[float]
    styles: bytes
    texts: dict[int, str]
    cut: bool = False
    lost: int = 0


@dataclass(slots=True)
class Part:
    """One ``key:value`` of a line, its digits as printed."""

    key: bytes
    text: bytes
    wrapped: bool = False
    rest: bytes = field(default=b"")


class LineReader:
    """Reads metric lines into the layouts of a table; remembers what the lines before looked like."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._wrappers: dict[bytes, tuple[int, ...]] = {}

    def read(self, body: bytes, *, cut: bool = False, at_limit: bool = False) -> Parsed | None:
        """The line from ``step:`` on. None when it is no metric line.

        ``cut``: its end may be missing; ``at_limit``: it is missing, so that a last number in full cannot be trusted.
        """
        if not cut and (quick := self._quick(body)) is not None:
            return quick
        return self._careful(body, cut, at_limit)

    def _quick(self, body: bytes) -> Parsed | None:
        if b'"' in body or b"\\" in body:
            return None
        plain = body
        wrapped: tuple[int, ...] = ()
        if b"np." in body:
            wrapped, plain = self._unwrap(body)
        n_nan = 0
        if b":nan" in plain:
            n_nan = plain.count(b":nan - ") + plain.endswith(b":nan")
            plain = plain.replace(b":nan", b":null")
        text = b'{"' + plain.replace(b" - ", b',"').replace(b":", b'":') + b"}"
        try:
            found = orjson.loads(text)
        except orjson.JSONDecodeError:
            return None
        n = len(found)
        if plain.count(b":") != n or n < 2:
            return None
        keys = tuple(found)
        if keys[0] != "step":
            return None
        values = list(found.values())
        step = values.pop(0)
        if type(step) is not int:
            return None
        layout = self._table.layout(keys[1:])
        if not wrapped:
            shape = body.translate(_ZERO)
            if shape.count(b".000 - ") + shape.endswith(b".000") + n_nan == n - 1:
                if n_nan:
                    values = [float("nan") if v is None else v for v in values]
                return Parsed(step, layout, values, bytes([Style.FIXED3]) * (n - 1), {})
        types = list(map(type, values))
        if types != layout.types or not layout.style_row:
            if not set(types) <= {int, float, type(None)}:
                return None
            layout.types = types
            layout.wrapped_row = b""
            layout.style_row = bytes(Style.INT if t is int else Style.REPR for t in types)
            layout.whole = [position for position, t in enumerate(types) if t is int]
        if layout.whole and any(not -MAX_WHOLE < values[position] < MAX_WHOLE for position in layout.whole):
            return None
        if not _printed_in_full(found, text):
            return None
        styles = layout.style_row
        if n_nan:
            if types.count(type(None)) != n_nan:
                return None
            values = [float("nan") if v is None else v for v in values]
        if wrapped:
            if layout.wrapped != wrapped or not layout.wrapped_row:
                layout.wrapped = wrapped
                marked = bytearray(styles)
                for position in wrapped:
                    if marked[position] == Style.REPR:
                        marked[position] = Style.NUMPY
                layout.wrapped_row = bytes(marked)
            styles = layout.wrapped_row
        return Parsed(step, layout, values, styles, {})

    def _unwrap(self, body: bytes) -> tuple[tuple[int, ...], bytes]:
        """Positions of the values that NumPy wrapped, and the line without the wrappers."""
        skeleton = body.translate(None, _NUMBERS)
        places = self._wrappers.get(skeleton)
        if places is None:
            parts = body.split(b" - ")[1:]
            places = tuple(i for i, part in enumerate(parts) if part.rpartition(b":")[2].startswith(b"np."))
            if len(self._wrappers) < 256:
                self._wrappers[skeleton] = places
        plain = body
        for opening in _COMMON_WRAPPERS:
            if opening in plain:
                plain = plain.replace(opening, b":")
        plain = plain.replace(b") - ", b" - ").removesuffix(b")")
        return places, plain if b":np." not in plain else _WRAPPED.sub(rb":\1", body)

    def _careful(self, body: bytes, cut: bool, at_limit: bool) -> Parsed | None:
        head = STEP.match(body)
        if head is None:
            return None
        cut_here = False
        if glued := _GLUED.search(body):  # another message at the end of the line
            body = body[: glued.start()]
        if body.endswith(b" -"):
            body, cut_here = body[:-2], True
        parts, lost, dangling = split_parts(body[head.end() :], cut)
        if at_limit and len(parts) > 1 and not dangling and not parts[-1].wrapped:
            parts.pop()
            dangling = True
        if not parts:
            return None
        layout, values, styles, texts = self.row(parts)
        return Parsed(int(head[1]), layout, values, styles, texts, dangling or cut_here, lost)

    def row(self, parts: Sequence[Part]) -> tuple[Layout, list[float], bytes, dict[int, str]]:
        """Numbers, styles and odd texts of parts, and the layout that their keys make (of equal keys the last counts)."""
        by_key = {part.key: part for part in parts}
        layout = self._table.layout(tuple(key.decode("utf-8", "replace") for key in by_key))
        kept = list(by_key.values())
        fixed = _mostly_three_decimals(kept)
        values: list[float] = []
        styles = bytearray()
        texts: dict[int, str] = {}
        for position, part in enumerate(kept):
            value, style = number(part, fixed)
            values.append(value)
            styles.append(style)
            if style == Style.OTHER:
                texts[position] = part.text.decode("ascii", "replace")
        return layout, values, bytes(styles), texts


def _printed_in_full(found: dict[str, float], text: bytes) -> bool:
    """Whether each number's text is the shortest that gives the number back, as Python prints it."""
    if b":0.0000" in text or b":-0.0000" in text:  # Python writes 1e-05, orjson 0.00001
        return False
    again = orjson.dumps(found)
    if again == text:
        return True
    if b"e-0" in text:
        text = _as_orjson(text)
    return again == text


def _as_orjson(text: bytes) -> bytes:
    """Python's ``1.5e-05`` and ``1e-06`` as orjson writes them: ``0.000015``, ``1e-6``."""
    parts = []
    start = 0
    while (at := text.find(b"e-05", start)) >= 0:
        colon = text.rfind(b":", start, at)
        digits = text[colon + 1 : at]
        sign = b"-" if digits.startswith(b"-") else b""
        parts += [text[start : colon + 1], sign, b"0.0000", digits.lstrip(b"-").replace(b".", b"")]
        start = at + 4
    parts.append(text[start:])
    return b"".join(parts).replace(b"e-0", b"e-")


def split_parts(text: bytes, cut: bool = False) -> tuple[list[Part], int, bool]:
    """``" - a:1 - b:2"`` as parts; how many could not be read; whether the end is missing.

    With ``cut`` the last part is dropped when it is visibly unfinished (no value, or fewer decimals than the others).
    """
    parts: list[Part] = []
    lost = 0
    dangling = False
    pieces = text.split(b" - ")
    if pieces and not pieces[0].strip():
        pieces = pieces[1:]
    held = b""  # a key that holds " - " itself
    for index, piece in enumerate(pieces):
        last = index == len(pieces) - 1
        part = parse_part(held + piece, last)
        if part is not None:
            parts.append(part)
            held = b""
        elif last:
            unfinished = held + piece
            if cut or not unfinished.strip() or re.fullmatch(rb"[\w/@.\-+() ]*:?(?:np\.?\w*\(?)?-?", unfinished):
                dangling = bool(unfinished.strip())
            else:
                lost += 1
        elif b":" not in piece and len(piece) < 200:
            held += piece + b" - "
        else:
            lost += 1
            held = b""
    if cut and parts and not dangling and _visibly_cut(parts):
        parts.pop()
        dangling = True
    return parts, lost, dangling


def parse_part(piece: bytes, last: bool = False) -> Part | None:
    """``b"actor/lr:1e-06"`` → its key and number. The value stands behind the last colon that has a number behind it."""
    colon = piece.rfind(b":")
    while colon > 0:
        found = _VALUE.match(piece, colon + 1)
        rest = piece[found.end() :] if found else b""
        if found and (not rest.strip() or (last and _AFTER_VALUE.match(rest))):
            return Part(piece[:colon].strip(), found["number"], found["wrapper"] is not None, rest)
        if found is None and (boolean := _NUMPY_BOOL.match(piece[colon + 1 :].rstrip())):
            return Part(piece[:colon].strip(), boolean[1], True)
        if not last:
            return None
        colon = piece.rfind(b":", 0, colon)
    return None


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


def _mostly_three_decimals(parts: Sequence[Part]) -> bool:
    with_point = [part for part in parts if b"." in part.text]
    three = sum(1 for part in with_point if not part.wrapped and _FIXED3.match(part.text))
    if with_point:
        return three * 2 > len(with_point)
    return False


def _visibly_cut(parts: Sequence[Part]) -> bool:
    """Whether the last of three-decimal values has fewer (``0.4`` after ``0.431``), or a wrapper stays open."""
    *before, last = parts
    return bool(before) and _mostly_three_decimals(before) and not _FIXED3.match(last.text) and last.text not in (b"nan", b"inf", b"-inf")
