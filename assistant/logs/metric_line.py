"""The grammar of one metric line: ``step:5 - actor/entropy:0.431 - actor/lr:1e-06 - training/epoch:np.int64(0)``.

Most lines are a JSON object in disguise, and a JSON parser written in native code reads them fastest; whatever that
cannot read exactly (``nan`` beside ``inf``, wrapped values, odd keys, cut ends) goes the careful way, part by part.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import orjson

from assistant.logs.columns import Layout, Table
from assistant.logs.metric_part import MAX_WHOLE as MAX_WHOLE
from assistant.logs.metric_part import (
    End,
    Part,
    Split,
    common_decimals,
    decimals_of,
    in_full,
    mostly_three_decimals,
    number,
    settle_glued,
    settled,
    split_parts,
)
from assistant.logs.prefix import strip_colours
from assistant.run import Style, print_value

_MANY_KEYS = 10
_ZERO = bytes.maketrans(b"123456789", b"000000000")
_NUMBERS = b"0123456789.+-e"
_WRAPPED = re.compile(rb":(?:np|numpy)\.[a-z]+\d*_?\(([^()]*)\)")
_COMMON_WRAPPERS = (b":np.float64(", b":np.float32(", b":np.int64(", b":np.int32(")
_GLUED = re.compile(rb"(?:\x1b?\[[0-9;]*m)*(?:\((?:[^()\n]{0,80} )?pid=\d+[^()\n]{0,60}\)|\(raylet\)|\r|Training Progress:)")
TORN_PART = re.compile(rb" ?-(?: [\w/@.()\-]*)?")
LOOKS_LIKE_METRICS = re.compile(rb" - [\w/@.()\-]+/[\w/@.()\-]+:")
STEP = re.compile(rb"step:\s?(-?\d{1,18})(?= - |\s*$)")


class Parsed(NamedTuple):
    """``values``, ``styles`` and ``texts`` follow ``layout.keys``; ``lost`` are parts that could not be read.

    ``cut``: the end is missing; ``glued``: other output that stood behind the last value.
    """

    step: int
    layout: Layout
    values: Sequence[float]
    styles: bytes
    texts: dict[int, str]
    cut: bool = False
    lost: int = 0
    glued: bytes = b""


class LineReader:
    """Reads metric lines into the layouts of a table; remembers what the lines before looked like."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._wrappers: dict[bytes, tuple[int, ...]] = {}
        self._before: Parsed | None = None
        self._after_rest = False
        self._cut_layouts: set[tuple[str, ...]] = set()
        self._learned = 0
        self._known: set[bytes] = set()
        self._followed: set[bytes] = set()  # keys behind which some line goes on, and those with which some line ends
        self._final: set[bytes] = set()

    def read(self, body: bytes, end: End = End.WHOLE) -> Parsed | None:
        """The line from ``step:`` on, of whose end ``end`` is known. None when it is no metric line."""
        parsed = self._quick(body) if end == End.WHOLE else None
        if parsed is None:
            parsed = self._careful(body, end)
        if parsed is not None:
            self._before = parsed
        return parsed

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
        if plain.count(b":") != n or n < 2 or (wrapped and wrapped[-1] == n - 2 and not body.endswith(b")")):
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
            three = shape.count(b".000 - ") + shape.endswith(b".000") + n_nan
            if three == n - 1:
                if n_nan:
                    values = [float("nan") if v is None else v for v in values]
                return Parsed(step, layout, values, bytes([Style.FIXED3]) * (n - 1), {})
            if three == n - 2 > 3 and not shape.endswith(b".000"):  # of three-decimal numbers the last is another
                return None
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
        if not printed_in_full(found, text):
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

    def _careful(self, body: bytes, end: End) -> Parsed | None:
        head = STEP.match(body)
        if head is None:
            return None
        glued = b""
        if found := _GLUED.search(body):  # another message at the end of the line
            glued, body = body[found.start() :].lstrip(b"\r"), body[: found.start()]
            end = End.GLUED
        if b"\x1b" in body:
            body = strip_colours(body)
        self._learn()
        split = split_parts(body[head.end() :].removesuffix(b" -"), self._known)
        parts = split.parts
        lost = split.lost + (LOOKS_LIKE_METRICS.search(glued) is not None)
        torn = body.endswith(b" -")  # whatever stands before it is whole
        cut, message = self.settle(split, End.WHOLE if torn else end)
        cut |= torn
        glued = message + glued
        if not parts:
            return None
        layout, values, styles, texts = self.row(parts)
        if cut:
            self._cut_layouts.add(layout.keys)
        return Parsed(int(head[1]), layout, values, styles, texts, cut, lost, glued)

    def as_before(self, body: bytes) -> bool:
        """Whether a line has many keys, all of them as some line before."""
        parsed = self._quick(body) or self._careful(body, End.WHOLE)
        if parsed is None or len(parsed.layout.keys) < _MANY_KEYS:
            return False
        return parsed.layout.n > 0 or (self._before is not None and parsed.layout is self._before.layout)

    def settle_rest(self, split: Split, end: End) -> bool:
        """As `settle`, for the rest of a line without its head, with which a log begins."""
        cut, _ = self.settle(split, end)
        self._after_rest = True
        return cut

    def settle(self, split: Split, end: End) -> tuple[bool, bytes]:
        """Drops a last value that may be the beginning of a longer one.

        Returns whether the end of the line is missing, and other output that was glued to it.
        """
        parts, glued = split.parts, split.glued
        if not parts:
            return split.dangling, glued
        last, others = parts[-1], parts[:-1]
        decimals = self._decimals(others)
        if glued:
            end = End.GLUED
            behind = glued[len(last.rest) :]
            told = settle_glued(last, decimals)
            glued = last.rest + behind
            if not told:
                parts.pop()
                return True, glued
            if TORN_PART.fullmatch(glued):
                return True, b""
        early = end != End.WHOLE and last.key in self._followed and last.key not in self._final
        if not split.dangling and not settled(last, decimals) and not self._plausible(last, others, decimals, end, early):
            parts.pop()
            return True, glued
        return early or split.dangling, glued

    def without_last(self, parsed: Parsed) -> Parsed:
        """The line without its last value, which turned out to be cut; unchanged when that value is certain."""
        if parsed.cut or not parsed.styles or parsed.styles[-1] in (Style.FIXED3, Style.NUMPY, Style.BOOL):
            return parsed
        layout = self._table.layout(parsed.layout.keys[:-1])
        self._cut_layouts.add(layout.keys)
        texts = {place: text for place, text in parsed.texts.items() if place < len(layout.keys)}
        return parsed._replace(layout=layout, values=parsed.values[:-1], styles=parsed.styles[:-1], texts=texts, cut=True)

    def _plausible(self, last: Part, others: Sequence[Part], decimals: int, end: End, early: bool) -> bool:
        """Whether a number that could go on is to be taken as whole all the same."""
        before = self._printed_before(last.key)
        if last.text.endswith(b"."):
            return False
        if end == End.WHOLE:  # 0.4 where the lines before print 0.431
            return not (decimals and len(others) > 3 and before and decimals_of(before) == decimals)
        if number(last, False)[1] == Style.OTHER:  # as no program prints it: 37.
            return False
        if end == End.GLUED:
            return not early
        if end == End.CUT or early or decimals or in_full([*others, last]):
            return False
        if self._before is None and not self._after_rest:  # a line that somebody typed
            return True
        most = max((decimals_of(part.text) for part in others), default=0)
        return before is not None and b"." in last.text and decimals_of(last.text) >= max(most, decimals_of(before))

    def _decimals(self, parts: Sequence[Part]) -> int:
        """How many decimals a line prints, seen from its parts, or when they are few from the line before; 0 in full."""
        if len(parts) < 3 and self._before is not None and len(self._before.styles) > len(parts):
            styles = self._before.styles
            return 3 if styles.count(Style.FIXED3) * 2 > len(styles) else 0
        return common_decimals(parts) if parts else 0

    def _printed_before(self, key: bytes) -> bytes | None:
        """The digits that the line before printed for a key."""
        if self._before is None:
            return None
        name = key.decode("utf-8", "replace")
        if name not in self._before.layout.keys:
            return None
        place = self._before.layout.keys.index(name)
        printed = self._before.texts.get(place) or print_value(self._before.values[place], self._before.styles[place])
        return printed.encode()

    def _learn(self) -> None:
        """Remembers which keys the lines before had, and which of them ended a line."""
        layouts = self._table.layouts
        if len(layouts) == self._learned:
            return
        for keys in islice(layouts, self._learned, None):
            if keys and keys not in self._cut_layouts:
                encoded = [key.encode() for key in keys]
                self._known.update(encoded)
                self._followed.update(encoded[:-1])
                self._final.add(encoded[-1])
        self._learned = len(layouts)

    def row(self, parts: Sequence[Part]) -> tuple[Layout, list[float], bytes, dict[int, str]]:
        """Numbers, styles and odd texts of parts, and the layout that their keys make (of equal keys the last counts)."""
        by_key = {part.key: part for part in parts}
        layout = self._table.layout(tuple(key.decode("utf-8", "replace") for key in by_key))
        kept = list(by_key.values())
        fixed = mostly_three_decimals(kept)
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


def printed_in_full(found: dict[str, float], text: bytes) -> bool:
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
