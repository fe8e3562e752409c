"""The fast way for a flat dict of plain numbers: a parser in native code, where it reads exactly what is printed.

Only dicts whose names were met before are read so; everything else goes the careful way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import orjson

from assistant.logs.columns import Layout
from assistant.logs.metric_line import MAX_WHOLE, printed_in_full
from assistant.logs.shapes.rows import Row
from assistant.run import FIXED_DECIMALS, Style

_MAX_KNOWN = 400


class _Known(NamedTuple):
    layout: Layout
    types: Sequence[type]
    styles: bytes
    whole: Sequence[int]
    rounded: Sequence[tuple[int, int]]
    step: int


class QuickDicts:
    """Remembers the names and types of dicts that were read the careful way (`learn`), and reads the next ones like them."""

    def __init__(self, rounded: Mapping[str, int], step_keys: Sequence[str]) -> None:
        self._known: dict[tuple[str, ...], _Known] = {}
        self._rounded = rounded
        self._step_keys = step_keys

    def read(self, text: bytes) -> Row | None:
        """The row of ``{'loss': 0.1, 'kl': nan}`` (nothing before or after the braces), or None."""
        if (b'"' in text and b"'" in text) or b"\\" in text or b"': '" in text:
            return None
        plain = text.replace(b"'", b'"').replace(b'": ', b'":').replace(b', "', b',"')
        n_nan = 0
        if b":nan" in plain:
            n_nan = plain.count(b":nan")
            plain = plain.replace(b":nan", b":null")
        try:
            found = orjson.loads(plain)
        except orjson.JSONDecodeError:
            return None
        if type(found) is not dict:
            return None
        known = self._known.get(tuple(found))
        if known is None or plain.count(b'":') != len(found):
            return None
        values = list(found.values())
        types = list(map(type, values))
        if n_nan:
            if types.count(type(None)) != n_nan:
                return None
            values = [float("nan") if value is None else value for value in values]
            types = [float if t is type(None) else t for t in types]
        if types != known.types or not printed_in_full(found, plain):
            return None
        if any(not -MAX_WHOLE < values[i] < MAX_WHOLE for i in known.whole):
            return None
        styles, texts = known.styles, {}
        if known.rounded:
            marked = bytearray(styles)
            for i, decimals in known.rounded:
                value = values[i]
                if round(value, decimals) == value:
                    marked[i] = FIXED_DECIMALS + decimals
                    texts[i] = repr(value)
            styles = bytes(marked)
        step = values[known.step] if known.step >= 0 else None
        return Row(step, known.layout, values, styles, texts)

    def learn(self, row: Row) -> None:
        """A row that the careful way made of a flat dict in which every value is a number."""
        keys = row.layout.keys
        whole = [i for i, style in enumerate(row.styles) if style == Style.INT]
        rounded = [(i, self._rounded[key]) for i, key in enumerate(keys) if key in self._rounded]
        plain = {Style.INT, Style.REPR} | {FIXED_DECIMALS + decimals for _, decimals in rounded}
        if not set(row.styles) <= plain or row.cut or row.total:
            return
        if len(self._known) > _MAX_KNOWN:
            self._known.clear()
        styles = bytes(style if style == Style.INT else Style.REPR for style in row.styles)
        types = [int if style == Style.INT else float for style in row.styles]
        step = next((keys.index(key) for key in self._step_keys if key in keys and keys.index(key) in whole), -1)
        if (step >= 0) != (row.step is not None):
            return
        self._known[keys] = _Known(row.layout, types, styles, whole, rounded, step)


_LEAD = re.compile(rb"^[\s>`*]+")
_ABOVE = 30


_MEMBERS = re.compile(rb"(?:\r?\n[ \t]*\"[^\"\n]{1,200}\"[ \t]*:[^\n{}]{1,200}){1,400}\r?\n[ \t]*\}")
"""The rest of an object of JSON that is printed a member a line, below its torn first line."""


def torn_line(block: bytes, torn: re.Pattern[bytes], opening: re.Pattern[bytes]) -> tuple[int, int, bytes] | None:
    """The line that goes on with a dict whose start is missing: where it begins and ends, and what it says.

    Words or a fence may stand above it, but no whole dict.
    """
    start = 0
    for _ in range(_ABOVE):
        end = block.find(b"\n", start)
        end = len(block) if end < 0 else end
        line = _LEAD.sub(b"", block[start:end])
        if torn.match(line) and not opening.match(line):
            below = _MEMBERS.match(block, end) if b"}" not in line else None
            return (start, below.end(), line + below[0]) if below else (start, end, line)
        if opening.search(line) or end == len(block):
            return None
        start = end + 1
    return None
