"""Records printed as a block of lines (a table, a list of bullets): lines are gathered until the block ends.

A block that was read line by line teaches a pattern; the next block with the same words is read at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from assistant.logs.columns import Layout
from assistant.logs.shapes.lines import LinesReader
from assistant.logs.shapes.printed import read_printed
from assistant.logs.shapes.rows import DIGITS, Place, Reading, Row

_MAX_LINES = 400
_MAX_BYTES = 1 << 16
_MAX_KNOWN = 8
"""Blocks that begin with the same line."""


class Cell(NamedTuple):
    """One printed number: the line it stands on, its name, its digits, and where they stand in the line (-1: not known)."""

    line: int
    key: str
    digits: str
    place: int


class _Known(NamedTuple):
    """A block met before: how many lines it has, the names in it, and which of them stand on which line (offset, from, to)."""

    n_lines: int
    layout: Layout
    parts: Sequence[tuple[int, int, int]]


class BlockRows(LinesReader):
    """``cell`` gathers one printed number, ``close`` makes the record of what was gathered, one row a line.

    ``lasting_step``: a step that a banner names holds until the next banner; otherwise it is one of the block's cells.
    """

    fixed = False
    lasting_step = False
    goes_on = b""
    """A pattern for what goes on with a block: one that was met before is not over when this follows."""

    def __init__(self, marks: Sequence[bytes]) -> None:
        super().__init__(marks, lambda text: None, fixed=self.fixed)
        self._goes_on = re.compile(self.goes_on or b"(?!)")
        self._blocks: dict[bytes, list[_Known]] = {}
        self._line_start = -1
        self._source = b""
        self.open_block()

    def open_block(self) -> None:
        self._cells: list[Cell] = []
        self._keys: set[str] = set()
        self.block_step: int | None = None
        self._first = -1  # where the block stands in the bytes being read
        self._first_line = 0
        self._step_place: tuple[int, int, int] | None = None  # line, and where in it the step stands

    def holds(self, key: str) -> bool:
        return key in self._keys

    def cell(self, key: str, digits: str, place: int = -1) -> None:
        self._cells.append(Cell(self.line, key, digits, place))
        self._keys.add(key)

    def step_at(self, start: int, end: int) -> None:
        """The block's step stands in this line, from ``start`` to ``end``."""
        self._step_place = self.line, start, end

    @property
    def n_cells(self) -> int:
        return len(self._cells)

    # Blocks met before

    def known(self, block: bytes, start: int, end: int) -> int:
        if self.busy:
            return 0
        self._source = block
        self._line_start = start
        if not self._blocks or (self._cells and self._goes_on.match(block, start)):
            return 0
        for one in self._blocks.get(block[start:end].translate(None, DIGITS), ()):
            stop = end
            for _ in range(one.n_lines - 1):
                stop = block.find(b"\n", stop + 1)
                if stop < 0:
                    break
            if stop < 0 or self._goes_on.match(block, stop + 1):
                continue
            row = self.rows.read(block[start:stop])
            if row is not None and row.layout is one.layout:
                self.close()
                self._deal(row, one)
                return self._deal_on(block, stop + 1, one)
        return 0

    def _deal_on(self, block: bytes, at: int, one: _Known) -> int:
        """Takes the blocks from ``at`` on that are like the one just read; returns where the next line begins."""
        batch = self.rows.read_on(block, at, one.n_lines, None, self.goes_on)
        if batch is None:
            return at
        parts = [(offset, self.table.layout(batch.layout.keys[a:b]), a, b) for offset, a, b in one.parts]
        step = self.step
        if batch.steps is None and step is not None:
            batch = batch._replace(steps=[step] * len(batch.values))
        self.append_many(batch, parts, self.line + one.n_lines)
        if not self.lasting_step:
            self.step = step
        return batch.stop

    def _deal(self, row: Row, one: _Known) -> None:
        step = row.step if row.step is not None else self.step
        if self.lasting_step:
            self.step = step
        keys, layout_of = row.layout.keys, self.table.layout
        joined = False
        for offset, a, b in one.parts:
            texts = {i - a: row.texts[i] for i in range(a, b) if i in row.texts} if row.texts else {}
            part = Row(step, layout_of(keys[a:b]), row.values[a:b], row.styles[a:b], texts)
            self.append(part, step, joined, self.line + offset)
            joined = True

    def take(self, raw: bytes, last: bool) -> None:
        super().take(raw, last)
        if self._first < 0:
            self._first, self._first_line = self._line_start, self.line

    def _learn(self) -> None:
        """Makes a pattern of the block just read, when it stands in one piece and every number's place is known."""
        cells = self._cells
        last_line = cells[-1].line
        n_lines = last_line - self._first_line + 1
        if self._first < 0 or len(self._keys) != len(cells) or not 0 < n_lines <= _MAX_LINES or any(cell.place < 0 for cell in cells):
            return
        source, first = self._source, self._first
        stop = first - 1
        for _ in range(n_lines):
            stop = source.find(b"\n", stop + 1)
            if stop < 0:
                return
        raw = source[first:stop]
        opening = raw.partition(b"\n")[0].translate(None, DIGITS)
        if len(raw) > _MAX_BYTES or b"\r" in raw or b"\x1b" in raw or len(self._blocks.get(opening, ())) >= _MAX_KNOWN:
            return
        text = raw.decode("utf-8", "replace")
        starts = [0]
        for line in text.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        base = self._first_line
        places = [Place(c.key, starts[c.line - base] + c.place, starts[c.line - base] + c.place + len(c.digits)) for c in cells]
        if any(text[place.start : place.end] != cell.digits for place, cell in zip(places, cells, strict=True)):
            return
        step = None
        loose = [(place.end, starts[cell.line - base + 1] - 1) for place, cell in zip(places, cells, strict=True)]
        if self._step_place and self._step_place[0] >= base:
            at, a, b = self._step_place
            step = (starts[at - base] + a, starts[at - base] + b)
            if self.lasting_step:
                loose += [(starts[at - base], step[0]), (step[1], starts[at - base + 1] - 1)]
        loose = [(a, min([b, *(place.start for place in places if a <= place.start < b)])) for a, b in loose]
        row = self.rows.learn(raw, Reading(places, step, loose=[(a, b) for a, b in loose if b > a]))
        if row.layout.keys != tuple(cell.key for cell in cells):
            return
        parts: list[tuple[int, int, int]] = []
        for i, cell in enumerate(cells):
            if parts and parts[-1][0] == cell.line - base:
                parts[-1] = (parts[-1][0], parts[-1][1], i + 1)
            else:
                parts.append((cell.line - base, i, i + 1))
        self._blocks.setdefault(opening, []).append(_Known(n_lines, row.layout, parts))

    def close(self) -> None:
        """Adds the record; a block without a step of its own gets the one of the banner before (``step``)."""
        if self._cells:
            self._learn()
        cells, step = self._cells, self.block_step if self.block_step is not None else self.step
        self.open_block()
        joined = False
        at = 0
        while at < len(cells):
            line = cells[at].line
            row: dict[str, str] = {}
            while at < len(cells) and cells[at].line == line:
                row[cells[at].key] = cells[at].digits
                at += 1
            printed = [read_printed(digits, self.fixed) for digits in row.values()]
            texts = {i: one.text for i, one in enumerate(printed) if one.text}
            styles = bytes(one.style for one in printed)
            self.append(Row(step, self.table.layout(tuple(row)), [one.value for one in printed], styles, texts), step, joined, line)
            joined = True

    def finish(self) -> None:
        self.close()
        super().finish()
