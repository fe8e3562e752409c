"""Formats whose records stand on lines of their own: what is common to all of them, so that a format is little more than a
pattern and a few sample lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from assistant.logs.columns import Layout
from assistant.logs.formats.base import SPECIFIC, BlockReader, Fit, Head, Sample
from assistant.logs.formats.frameworks import framework_by_names
from assistant.logs.prefix import strip_colours, strip_end
from assistant.logs.shapes.printed import NUMBER, WITH_COMMAS
from assistant.logs.shapes.repeats import Batch
from assistant.logs.shapes.rows import Place, Reading, Row, RowReader, come_again
from assistant.logs.shapes.scoring import score_lines
from assistant.run import NO_STEP

VALUE = rf"(?P<value>{WITH_COMMAS}|{NUMBER})"
UNIT = r"(?:\s?(?:%|ms|s|GB|GiB|MB|MiB|KB|B|K|M|TFLOPS?|tokens/s(?:ec)?|tok/s|tokens/sample|it/s|s/it|/s)(?![A-Za-z]))?"
_LOOKS_LIKE_METRICS = re.compile(rb"(?:(?<![\w./])[A-Za-z][\w/.\- ]{0,40}[:=]\s{0,3}-?(?:\d+\.\d|nan)[^\n]{0,40}){3}")
_MAX_LINE = 8192
"""Longer lines hold other things (and the patterns are not made for them)."""


class LinesReader(BlockReader):
    """Looks at the lines that hold a mark (a pattern over the raw bytes) and makes rows of those that ``find`` reads.

    A line that prints no step belongs to the step before when ``follows`` (one record over several lines), else it is a
    record of its own. Records are numbered when no line prints a step.
    """

    def __init__(
        self,
        marks: Sequence[bytes],
        find: Callable[[str], Reading | None],
        *,
        fixed: bool = False,
        rounded: dict[str, int] | None = None,
        follows: bool = False,
    ) -> None:
        super().__init__()
        self.marks = re.compile(b"|".join(re.escape(mark) for mark in marks))
        self.rows = RowReader(self.table, find, fixed=fixed, rounded=rounded)
        self.follows = follows
        self.step: int | None = None
        self.joined: set[int] = set()
        self._record_step: int | None = None
        self._record_keys: set[str] = set()
        self.busy = False
        """Every line is looked at, not only those with a mark (the inside of a block)."""

    def feed(self, block: bytes, final: bool) -> int:
        size = len(block)
        pos = 0
        search = self.marks.search
        while pos < size:
            if self.busy:
                start = pos
                end = block.find(b"\n", pos)
            else:
                hit = search(block, pos)
                if hit is None:
                    self.line += block.count(b"\n", pos)
                    return size
                start = block.rfind(b"\n", pos, hit.start()) + 1 or pos
                self.line += block.count(b"\n", pos, start)
                end = block.find(b"\n", hit.start())
            end = size if end < 0 else end
            if stop := self.known(block, start, end):
                self.line += block.count(b"\n", start, stop)
                pos = stop
                continue
            self.take(block[start:end], end == size and final)
            self.line += end < size
            pos = end + 1
            if not self.busy and self.repeats() and (batch := self.rows.read_on(block, pos)) is not None:
                self.put_many(batch)
                self.line += batch.n_lines
                pos = batch.stop
        return size

    def repeats(self) -> bool:
        """Whether lines like the one just read may be taken at once (`put_many`)."""
        own = type(self).put is LinesReader.put and type(self).piece is LinesReader.piece
        return own and self.latest_stands_alone()

    def latest_stands_alone(self) -> bool:
        latest = self.rows.latest
        return latest is not None and (latest[1] or not self.follows)

    def put_many(self, batch: Batch) -> None:
        """What `put` does for each of many records (all of them print their step, or none does)."""
        self.append_many(batch, [(0, batch.layout, 0, len(batch.layout.keys))], self.line)

    def append_many(self, batch: Batch, parts: Sequence[tuple[int, Layout, int, int]], line: int) -> None:
        """What `put` and `append` do for each; the first record begins with line ``line``. ``parts`` as in `Table.add_many`."""
        if batch.total:
            self.total_steps = batch.total
        steps = batch.steps
        parted: list[int] = []
        if steps is None:
            numbers = [NO_STEP] * len(batch.values)
            before = None
        else:
            numbers = steps
            self.step = before = steps[-1]
            parted = [i for i in range(1, len(steps)) if steps[i] == steps[i - 1]]
            if steps[0] == self._record_step and come_again(parts[0][1].keys, self._record_keys):
                parted.insert(0, 0)
        lines = [line + below for below in batch.lines]
        keys = set(batch.layout.keys)
        alone = len(batch.values) > 1 or bool(parted) or before != self._record_step
        self._record_keys = keys if alone else self._record_keys | keys
        self._record_step = before
        self.table.add_many(numbers, lines, parts, batch.values, batch.styles, batch.texts, parted)

    def known(self, block: bytes, start: int, end: int) -> int:
        """Where to go on, when what begins with the line at ``start`` was read as a whole; 0 when it was not."""
        return 0

    def take(self, raw: bytes, last: bool) -> None:
        """One line; what a carriage return overwrites counts as lines of their own. ``last``: the log ends with it."""
        if len(raw) > _MAX_LINE and b"\r" not in raw:
            return
        if b"\x1b" in raw or b"[0m" in raw:
            raw = strip_colours(raw)
        if b"\xc2\xa0" in raw:
            raw = raw.replace(b"\xc2\xa0", b" ")
        if b"\x00" in raw:
            raw = raw.replace(b"\x00", b"")
        if b"\r" not in raw:
            self.piece(raw, last)
            return
        for piece in raw.split(b"\r"):
            if len(piece) <= _MAX_LINE and (self.busy or self.marks.search(piece)):
                self.piece(piece, last)

    def piece(self, raw: bytes, last: bool) -> None:
        raw = raw.rstrip()
        row = self.rows.read(strip_end(raw) if raw[-1:] in (b"]", b"m") else raw)
        if row is not None:
            self.put(row)
        elif _LOOKS_LIKE_METRICS.search(raw):
            self.skip(self.line, raw)

    def put(self, row: Row) -> None:
        if row.cut:
            self.cut_lines.append(self.line)
        if row.total:
            self.total_steps = row.total
        step = row.step
        joined = False
        if step is not None:
            self.step = step
        elif self.follows and len(self.table):
            step, joined = self.step, True
        self.append(row, step, joined)

    def append(self, row: Row, step: int | None, joined: bool, line: int | None = None) -> None:
        keys = row.layout.keys
        again = False
        if joined:
            self.joined.add(len(self.table))
        elif step is not None and step == self._record_step:
            again = come_again(keys, self._record_keys)
        self._record_keys = set(keys) if again or (not joined and step != self._record_step) else self._record_keys.union(keys)
        self._record_step = step
        number = NO_STEP if step is None else step
        self.table.add(number, self.line if line is None else line, row.layout, row.values, row.styles, row.texts, joined, again)

    def finish(self) -> None:
        steps = self.table.steps
        if len(steps) and all(step == NO_STEP for step in steps):
            self.counted = True
            count = 0
            for row in range(len(steps)):
                count += row not in self.joined
                steps[row] = count


class LineFormat:
    """A format of single lines. A subclass says ``marks`` and ``find``; see `LinesReader`."""

    name = ""
    shape = "a line a record"
    frameworks: Sequence[str] = ()
    rank = SPECIFIC
    console = True
    marks: Sequence[bytes] = ()
    fixed = False
    rounded: Mapping[str, int] = {}
    follows = False
    samples: Sequence[Sample] = ()

    def find(self, text: str) -> Reading | None:
        raise NotImplementedError

    def reader(self) -> BlockReader:
        return LinesReader(self.marks, self.find, fixed=self.fixed, rounded=dict(self.rounded), follows=self.follows)

    def score(self, head: Head) -> Fit:
        return score_lines(head, self.marks, self.reader, self.shape)

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str:
        return self.frameworks[0] if len(self.frameworks) == 1 else framework_by_names(names, seen, self.frameworks[0])


def pairs(pattern: re.Pattern[str], text: str, start: int = 0, end: int | None = None) -> list[Place]:
    """Every match of a pattern with the groups ``key`` and ``value``."""
    return [
        Place(found["key"].strip(), found.start("value"), found.end("value"))
        for found in pattern.finditer(text, start, len(text) if end is None else end)
    ]
