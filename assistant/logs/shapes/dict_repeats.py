"""Dicts with the same names one below the other, on one line each or over many lines, read at once (see `repeats`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from assistant.logs.columns import Table
from assistant.logs.shapes.repeats import Batch
from assistant.logs.shapes.rows import DIGITS, Pattern, Reading, RowReader
from assistant.run import NO_STEP

_MAX_BLOCK = 1 << 16
_MAX_KNOWN = 64


class Block(NamedTuple):
    """A dict printed over many lines, with the line of its step: its pattern, its lines, and which of its values stand on
    which line (offset, from, to)."""

    pattern: Pattern
    n_lines: int
    parts: list[tuple[int, int, int]]


class DictBlocks:
    """Learns blocks that were met before, header and all."""

    def __init__(self, rows: RowReader, find: Callable[[str], Reading | None]) -> None:
        self._rows = rows
        self._find = find
        self._known: dict[bytes, Block | None] = {}

    def block(self, raw: bytes, opening: int, step: tuple[int, int], plain: bytes) -> Block | None:
        """``raw``: the lines from the one with the step to the closing brace; the dict opens at ``opening``, and the step
        stands at ``step``; ``plain``: the dict as one line. None when such a block cannot be read as a whole."""
        if len(raw) > _MAX_BLOCK or b"\r" in raw or b"\x1b" in raw or b"pid=" in raw:
            return None
        skeleton = raw.translate(None, DIGITS)
        if skeleton not in self._known:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            one = self._known[skeleton] = self._learn(raw, opening, step)
            alone = self._rows.known(plain)
            if one is not None and alone is not None and alone.layout is one.pattern.layout:
                one.pattern.look = alone.look
        return self._known[skeleton]

    def _learn(self, raw: bytes, opening: int, step: tuple[int, int]) -> Block | None:
        head, text = raw[:opening].decode("utf-8", "replace"), raw[opening:].decode("utf-8", "replace")
        reading = self._find(text)
        if reading is None or reading.cut or reading.total or len(head) != opening:
            return None
        n = len(head)
        places = sorted((place._replace(start=place.start + n, end=place.end + n) for place in reading.places), key=lambda one: one.start)
        loose = [(0, step[0]), *((a + n, b + n) for a, b in reading.loose)]
        row = self._rows.learn(raw, Reading(places, step, loose=[(a, b) for a, b in loose if b > a]))
        if row.layout.keys != tuple(place.key for place in places):
            return None
        whole = head + text
        parts: list[tuple[int, int, int]] = []
        for i, place in enumerate(places):
            line = whole.count("\n", 0, place.start)
            if parts and parts[-1][0] == line:
                parts[-1] = (line, parts[-1][1], i + 1)
            else:
                parts.append((line, i, i + 1))
        pattern = self._rows.known(raw)
        return Block(pattern, whole.count("\n") + 1, parts) if pattern is not None and pattern.layout is row.layout else None


def add(table: Table, batch: Batch, line: int, last_step: int | None, again: bool, parts: list[tuple[int, int, int]] | None) -> None:
    """Adds the records; the first begins with line ``line``. ``last_step`` is that of the record before them, ``again``
    whether the first of them repeats its names."""
    keys = batch.layout.keys
    dealt = [(offset, table.layout(keys[a:b]), a, b) for offset, a, b in parts] if parts else [(0, batch.layout, 0, len(keys))]
    steps = batch.steps or []
    parted = [i for i in range(1, len(steps)) if steps[i] == steps[i - 1]]
    if steps and steps[0] == last_step and again:
        parted.insert(0, 0)
    numbers = steps or [NO_STEP] * len(batch.values)
    table.add_many(numbers, [line + below for below in batch.lines], dealt, batch.values, batch.styles, batch.texts, parted)
