"""verl's console log: finds the metric lines, and hands everything between them to the `TextReader`.

Blocks are searched for ``step:`` in native code; a line is looked at closely only when it has it at the right place.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from assistant.logs import wrapped
from assistant.logs.columns import Table, Verdict
from assistant.logs.doubts import Mixed, cut_at_one_width, mixed_runs
from assistant.logs.metric_line import LOOKS_LIKE_METRICS, STEP, LineReader, Parsed
from assistant.logs.metric_part import NOT_IN_KEYS, End, Part, split_parts
from assistant.logs.prefix import before_metrics, split_process, strip_colours, strip_end
from assistant.logs.text import TextReader
from assistant.logs.wrapped import inside_name, next_step
from assistant.run import NO_STEP, Column, IntArray

_BLANK = re.compile(rb"\s*")
_MAX_SAMPLES = 20
_MAX_DOUBTS = 200
_MANY_KEYS = 10
WANDB_LINE = 4096
"""A console that wandb captures cuts lines at this many characters."""

_GROUPS = frozenset(
    b"actor critic perf training timing_s timing_per_token_ms response_length prompt_length global_seqlen val-core val-aux".split()
)
"""No metric's name has these at the start of a part but its first."""


class _Row(NamedTuple):
    """A metric line as read, not yet in the table: what follows it may show that it was cut."""

    parsed: Parsed
    line: int
    process: str
    width: int = 0


class _Start(NamedTuple):
    """The rest of a metric line with which a paste begins: its first key may be torn."""

    torn: bytes
    parts: list[Part]
    line: int
    process: str
    lost: bool


class ConsoleReader:
    """Takes the log block by block; ``table`` and ``text`` hold what was read."""

    def __init__(self) -> None:
        self.table = Table()
        self.table.judge = self._judge
        self.text = TextReader()
        self.lines = LineReader(self.table)
        self.joiner = wrapped.Joiner()
        self.line = 1
        self.unread = 0
        self.samples: list[tuple[int, str]] = []
        self.cut_lines: list[int] = []
        self.wrapped_lines: list[int] = []
        self.doubtful_lines: list[int] = []
        self.mixed: Mixed | None = None
        """Lines of other runs that were left out."""
        self._processes: array[int] = array("q")  # of each row: the number of the process that printed it, its line's width
        self._widths: array[int] = array("q")
        self._names: dict[str, int] = {}
        self._doubts: list[tuple[int, str, bytes]] = []
        self._doubt_lines: set[int] = set()
        self._undecided: list[_Row] = []
        self._last: _Row | None = None
        self._start: _Start | None = None
        self._cut_widths = {WANDB_LINE}
        self._first = True

    def feed(self, block: bytes, final: bool) -> int:
        """Reads a block that ends with a line's end (or with the log, ``final``); returns how many bytes are done.

        What is left (a metric line that the next block may continue) must stand at the start of the next block.
        """
        size = len(block)
        done = search = 0
        if self._first:
            done = search = self._opening(block, final)
            self._first = False
        start = end = resume = -1
        while (hit := block.find(b"step:", search)) >= 0:
            search = hit + 5
            head = STEP.match(block, hit, min(size, hit + 40))
            if head is None or block[head.end() : head.end() + 3] != b" - ":
                continue
            inside = hit != resume and inside_name(block, hit)
            if inside and block[hit - 1] in wrapped.IN_NAMES:
                continue
            if hit >= end:
                start = block.rfind(b"\n", done, hit) + 1 or done
                end = block.find(b"\n", hit)
                end = size if end < 0 else end
            begin = max(start, done)
            if end >= size - 1 and not final:
                return self._gap(block, done, begin)
            allowed, process = before_metrics(block[begin:hit] if hit - begin < 4096 else block[hit - 400 : hit])
            if (inside or not allowed) and block[hit - 1] not in b" \t\"'`" and self.lines.as_before(block[hit:end].rstrip()):
                allowed, inside = True, False  # other output ends without a line's end
            if inside:
                continue
            if not allowed:
                if len(self._doubts) < _MAX_DOUBTS and LOOKS_LIKE_METRICS.search(block, hit, min(end, hit + 400)):
                    self._doubtful(block, self.line + block.count(b"\n", done, begin), hit, end, process)
                continue
            if done < begin and (done := self._gap(block, done, begin)) > begin:
                search = max(search, done)
                continue
            if hit - begin > 60:
                self.text.scan(block, begin, hit, self.line)  # a bar or a message may be glued to the line's start
            taken = self._metric_line(block, begin, hit, end, process, final)
            if taken < 0:
                return begin
            done = search = resume = taken
        if done < size:
            if final and wrapped.ends_in_head(block):
                self.cut_lines.append(self.line + block.count(b"\n", done, size))
            self._gap(block, done, size)
        if not len(self.table):
            self._flush()
        return size

    def _metric_line(self, block: bytes, start: int, hit: int, end: int, process: str, final: bool) -> int:
        """Reads one metric line and the lines that continue it; returns where to go on (-1: the next block is needed)."""
        line = self.line
        body = block[hit:end]
        if (next_hit := next_step(body)) > 0:  # several in one line: a paste that lost its line ends, or a bar's \r
            self._read(block, start, body[:next_hit].rstrip(), line, process, End.GLUED)
            return hit + next_hit
        if body and (body[-1] <= 0x20 or body[-1] in b"m]"):
            body = strip_end(body)
        if b"\x00" in body:
            body = body.replace(b"\x00", b"")
        first, width = end, end - start
        doubt, go_on = False, 0
        if end + 1 < len(block) and wrapped.may_continue(block, end + 1, body):
            body, end, doubt, go_on = self.joiner.join(block, start, hit, end, body, process, final)
            if end < 0:
                return -1
        if width > self.joiner.widest:
            self.joiner.widest = width
        kind = End.CUT if doubt or (end == first and width in self._cut_widths) else End.WHOLE
        if go_on:
            kind = End.GLUED
        elif final and end >= len(block) and kind == End.WHOLE:
            kind = End.GLUED if block[-1] <= 0x20 else End.OPEN
        if end > first:
            self.wrapped_lines.append(line)
        cut = self._read(block, start, body, line, process, kind, 0 if end > first else width if kind == End.WHOLE else -width)
        if final and block[end - 1 :] == b" " and not cut:  # half of " - "
            self.cut_lines.append(line)
        if cut and kind == End.WHOLE and end == first:
            self._cut_widths.add(width)
        self.line += 1 if end == first else block.count(b"\n", first, go_on or end + 1)
        return go_on or end + 1

    def _gap(self, block: bytes, start: int, stop: int) -> int:
        """Reads what stands between metric lines; returns where to go on. Rests of metric lines in it are looked at closely."""
        while start < stop and (found := wrapped.ORPHAN.search(block, start, stop)) is not None:
            row = block.rfind(b"\n", start, found.start()) + 1 or start
            end = block.find(b"\n", found.end(), stop)
            end = stop if end < 0 else end
            if (head := wrapped.broken_head(block, start, row)) is not None:
                begin, hit, first = head
                self.line = self.text.scan(block, start, begin, self.line)
                process = before_metrics(block[begin:hit])[1]
                start = self._metric_line(block, begin, hit, first, process, True)
                continue
            self.line = self.text.scan(block, start, row, self.line)
            start = row
            if self.line not in self._doubt_lines:
                self._orphan(block[row:end])
            start = min(end + 1, stop)
            self.line = self.text.scan(block, row, start, self.line)
        if start < stop:
            self.line = self.text.scan(block, start, stop, self.line)
        return max(start, stop)

    def _orphan(self, raw: bytes) -> None:
        """The rest of a metric line that nothing goes before: the line before it may have been cut in its last number."""
        process = split_process(strip_colours(raw))[0]
        if self.text.in_sample(process, self.line):
            return
        self.skip(self.line, raw)
        if self._last is not None and process in ("", self._last.process):
            self._last = self._last._replace(parsed=self.lines.without_last(self._last.parsed))

    def _read(self, block: bytes, start: int, body: bytes, line: int, process: str, end: End, width: int = 0) -> bool:
        """Reads a whole metric line; returns whether it was cut."""
        parsed = self.lines.read(body, end)
        if parsed is None or not any("/" in key for key in parsed.layout.keys):
            self.skip(line, block[start : start + 300].partition(b"\n")[0])
            return False
        if parsed.glued:
            self.text.scan(parsed.glued, 0, len(parsed.glued), line)
        self._keep(parsed, line, process, -abs(width) if parsed.cut else width)
        return parsed.cut

    def _doubtful(self, block: bytes, line: int, hit: int, end: int, process: str) -> None:
        """A metric line after other words: a quotation, or a question and a log pasted into one line."""
        body = block[hit:end]
        next_hit = next_step(body)
        self._doubts.append((line, process, strip_end(body[:next_hit] if next_hit > 0 else body)))
        self._doubt_lines.add(line)

    def finish(self) -> None:
        """Doubtful lines count when they are all there is; otherwise they are told as unread."""
        self._begin(None)
        self._flush()
        for row in self._undecided:
            self.skip(row.line, f"step:{row.parsed.step} …".encode())
        accept = not len(self.table)
        for line, process, body in self._doubts:
            parsed = self.lines.read(body) if accept and not self.text.in_sample(process, line) else None
            if parsed is not None and any("/" in key for key in parsed.layout.keys):
                self.doubtful_lines.append(line)
                self._add(_Row(parsed, line, process))
            else:
                self.skip(line, body[:200])
        self._flush()

    def _keep(self, parsed: Parsed, line: int, process: str, width: int) -> None:
        self.text.saw(process, line)
        layout = parsed.layout
        row = _Row(parsed, line, process, width)
        if not self.text.in_sample(process, line):
            if self._undecided and any(held.parsed.layout is layout for held in self._undecided):
                layout.n_held += 2
                self._decide()
            self._add(row)
            return
        layout.n_held += 1

        def unless_a_sample() -> None:
            self._undecided.append(row)
            if layout.n or layout.n_held > 1 or len(layout.keys) >= _MANY_KEYS:
                self._decide()

        self.text.hold(process, unless_a_sample)

    def _decide(self) -> None:
        """Takes the lines met in samples that never ended, now that lines like them have come outside of one (or again)."""
        waiting, self._undecided = self._undecided, []
        for row in waiting:
            layout = row.parsed.layout
            if layout.n or layout.n_held > 1 or len(layout.keys) >= _MANY_KEYS:
                self._add(row)
            else:
                self._undecided.append(row)

    def _add(self, row: _Row) -> None:
        self.text.step = row.parsed.step
        if self._start is not None:
            self._begin(row.parsed.layout.keys)
        self._flush()
        self._last = row

    def _flush(self) -> None:
        """Moves the last line into the table: what followed it has been seen."""
        if self._last is None:
            return
        (parsed, line, process, width), self._last = self._last, None
        if parsed.cut:
            self.cut_lines.append(line)
        if parsed.lost:
            self.skip(line, f"step:{parsed.step} …".encode())
        if parsed.layout.keys:
            self.table.add(parsed.step, line, parsed.layout, parsed.values, parsed.styles, parsed.texts)
            self._printed_by(process, width)

    def _printed_by(self, process: str, width: int) -> None:
        self._processes.append(self._names.setdefault(process, len(self._names)))
        self._widths.append(width)

    def _judge(
        self, steps: IntArray, layout_of_row: IntArray, layouts: Sequence[tuple[str, ...]], columns: Mapping[str, Column]
    ) -> Verdict | None:
        """What of the table does not count, now that it is whole (see `Table.finish`)."""
        if len(self._processes) != len(steps):  # a summary made the row
            return None
        no_last = cut_at_one_width(np.array(self._widths, np.int64), layouts, layout_of_row, columns)
        lines = np.array(self.table.lines, np.int64)
        if no_last is not None:
            self.cut_lines = sorted({*self.cut_lines, *lines[no_last].tolist()})
        self.mixed = mixed_runs(steps, lines, np.array(self._processes, np.int64), list(self._names), layouts, layout_of_row)
        return Verdict(None if self.mixed is None else self.mixed.leave_out, no_last)

    def skip(self, line: int, raw: bytes) -> None:
        """Counts a line that looks like metrics and could not be read."""
        self.unread += 1
        if len(self.samples) < _MAX_SAMPLES:
            self.samples.append((line, strip_colours(raw).decode("utf-8", "replace")[:200]))

    # Pastes that begin inside a metric line

    def _opening(self, block: bytes, final: bool) -> int:
        """A paste may begin inside a metric line (``adv:10751.941 - timing_s/step:…``); returns where to go on."""
        start = _BLANK.match(block).end()  # type: ignore[union-attr]
        start = block.rfind(b"\n", 0, start) + 1
        end = block.find(b"\n", start)
        end = len(block) if end < 0 else end
        _, text = split_process(strip_colours(block[start:end]))
        if not wrapped.OPENING.match(text.lstrip()) and wrapped.FRAGMENT.match(block, start):  # of a broken line little is left
            start, end = end + 1, block.find(b"\n", end + 1)
            end = len(block) if end < 0 else end
            text = block[start:end] if wrapped.ORPHAN.search(block, start, end) else b""
        if not wrapped.OPENING.match(text.lstrip()) or wrapped.holds_head(text) or (end >= len(block) and not final):
            return 0
        line = self.line
        self.line += block.count(b"\n", 0, start)
        done = self._stepless(block, start, end, final)
        if done > start:
            return done
        if wrapped.next_is_metrics(block, end + 1):  # too little of it is left to say what it was
            self.cut_lines.append(self.line)
        self.line = line
        return 0

    def _stepless(self, block: bytes, start: int, end: int, final: bool) -> int:
        """Takes the rest of a metric line, a row without a step; returns where to go on, or ``start`` when it is none."""
        process, text = split_process(strip_colours(block[start:end]))
        text = strip_end(text).strip()
        begins_whole = text.startswith(b"- ")
        text = text.removeprefix(b"- ")
        body, stop, doubt, go_on = self.joiner.join(block, start, start, end, text, process, True)
        torn, _, rest = (b"", b"", body) if begins_whole else body.partition(b" - ")
        split = split_parts(rest.removesuffix(b" -"))
        keys = [part.key for part in split.parts]
        if split.lost or not any(b"/" in key for key in keys or [torn]) or any(NOT_IN_KEYS.search(key) for key in keys):
            return start
        if NOT_IN_KEYS.search(torn) or b": " in body:
            return start
        kind = End.CUT if doubt else End.OPEN if final and stop >= len(block) else End.WHOLE
        lost = self.lines.settle_rest(split, kind)
        if stop > end:
            self.wrapped_lines.append(self.line)
        self._start = _Start(torn, split.parts, self.line, process, lost)
        done = go_on or min(stop + 1, len(block))
        self.line += block.count(b"\n", start, done)
        return done

    def _begin(self, keys: tuple[str, ...] | None) -> None:
        """Adds the row with which a paste began, now that the next line shows whether its first key is a whole one."""
        if self._start is None:
            return
        start, self._start = self._start, None
        parts = start.parts
        first = split_parts(start.torn).parts
        whole = not start.torn
        if first:
            name = first[0].key.decode("utf-8", "replace")
            at = keys.index(name) if keys and name in keys else None
            following = keys[at + 1 : at + 2] if keys and at is not None else None
            whole = b"/" in first[0].key and first[0].key.partition(b"/")[0] in _GROUPS
            whole |= following is not None and following == tuple(part.key.decode("utf-8", "replace") for part in parts[:1])
            parts = [*first, *parts] if whole else parts
        if not whole or start.lost:
            self.cut_lines.append(start.line)
        if parts:
            layout, values, styles, texts = self.lines.row(parts)
            self.table.add(NO_STEP, start.line, layout, values, styles, texts)
            self._printed_by(start.process, 0)
