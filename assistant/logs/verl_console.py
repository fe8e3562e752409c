"""verl's console log: finds the metric lines, and hands everything between them to the `TextReader`.

Blocks are searched for ``step:`` in native code; a line is looked at closely only when it has it at the right place.
"""

from __future__ import annotations

import re

from assistant.logs.columns import Table
from assistant.logs.metric_line import STEP, LineReader, Parsed, Part, parse_part
from assistant.logs.prefix import before_metrics, split_process, strip_colours, strip_end
from assistant.logs.text import TextReader
from assistant.run import NO_STEP

_BLANK = re.compile(rb"\s*")
_MAX_SAMPLES = 20
_MAX_WRAPS = 200
_MAX_DOUBTS = 200
_MANY_KEYS = 10
_LOOKS_LIKE_METRICS = re.compile(rb" - [\w/@.()\-]+/[\w/@.()\-]+:")
_DIGITS = re.compile(rb"^(?:\S{0,20}\([^()]{0,80}\)\S{0,20} ?)?\d[\d.]*(?:e-?\d+)?\)?\s*$")
WANDB_LINE = 4096
"""A console that wandb captures cuts lines at this many characters."""


class ConsoleReader:
    """Takes the log block by block; ``table`` and ``text`` hold what was read."""

    def __init__(self) -> None:
        self.table = Table()
        self.text = TextReader()
        self.lines = LineReader(self.table)
        self.line = 1
        self.unread = 0
        self.samples: list[tuple[int, str]] = []
        self.cut_lines: list[int] = []
        self.wrapped_lines: list[int] = []
        self.doubtful_lines: list[int] = []
        self._doubts: list[tuple[int, str, bytes]] = []
        self._undecided: list[tuple[Parsed, int]] = []
        self._first = True

    def feed(self, block: bytes, final: bool) -> int:
        """Reads a block that ends with a line's end (or with the log, ``final``); returns how many bytes are done.

        What is left (a metric line that the next block may continue) must stand at the start of the next block.
        """
        size = len(block)
        done = search = 0
        if self._first:
            done = search = self._opening(block)
            self._first = False
        start = end = -1
        while (hit := block.find(b"step:", search)) >= 0:
            search = hit + 5
            head = STEP.match(block, hit, min(size, hit + 40))
            if head is None or block[head.end() : head.end() + 3] != b" - " or _inside_name(block, hit):
                continue
            if hit >= end:
                start = block.rfind(b"\n", done, hit) + 1 or done
                end = block.find(b"\n", hit)
                end = size if end < 0 else end
            begin = max(start, done)
            if end >= size - 1 and not final:
                self.line = self.text.scan(block, done, begin, self.line)
                return begin
            allowed, process = before_metrics(block[begin:hit] if hit - begin < 4096 else block[hit - 400 : hit])
            if not allowed:
                if len(self._doubts) < _MAX_DOUBTS and _LOOKS_LIKE_METRICS.search(block, hit, min(end, hit + 400)):
                    self._doubtful(block, self.line + block.count(b"\n", done, begin), hit, end, process)
                continue
            self.line = self.text.scan(block, done, begin, self.line)
            if hit - begin > 60:
                self.text.scan(block, begin, hit, self.line)  # a bar or a message may be glued to the line's start
            done = search = self._metric_line(block, begin, hit, end, process, final)
        if done < size:
            self.line = self.text.scan(block, done, size, self.line)
        return size

    def _metric_line(self, block: bytes, start: int, hit: int, end: int, process: str, final: bool) -> int:
        """Reads one metric line and the lines that continue it; returns where to go on."""
        line = self.line
        body = block[hit:end]
        if (next_hit := _next_step(body)) > 0:  # several in one line: a paste that lost its line ends, or a bar's \r
            self._read(block, start, body[:next_hit].rstrip(), line, process)
            return hit + next_hit
        self.line += 1
        if body[-1] <= 0x20 or body[-1] in b"m]":
            body = strip_end(body)
        if b"\x00" in body:
            body = body.replace(b"\x00", b"")
        first_end, wraps = end, 1
        width = last_width = end - start
        while wraps < _MAX_WRAPS and end + 1 < len(block):
            stop = block.find(b"\n", end + 1, end + 20000)
            stop = len(block) if stop < 0 else stop
            joined = _joined(body, block[end + 1 : min(stop, end + 20000)], process, wraps > 1 and last_width == width)
            if joined is None:
                break
            last_width = stop - end - 1
            if last_width != width:  # each piece may carry the prefix again
                last_width = len(split_process(strip_colours(block[end + 1 : stop]))[1])
            body, end, wraps = joined, stop, wraps + 1
            self.line += 1
        if wraps > 1:
            self.wrapped_lines.append(line)
        at_end = final and end >= len(block)
        at_limit = wraps == 1 and first_end - start == WANDB_LINE
        self._read(block, start, body, line, process, at_end or at_limit, at_limit)
        return end + 1

    def _read(self, block: bytes, start: int, body: bytes, line: int, process: str, cut: bool = False, at_limit: bool = False) -> None:
        parsed = self.lines.read(body, cut=cut, at_limit=at_limit)
        if parsed is None or not any("/" in key for key in parsed.layout.keys):
            self.skip(line, block[start : start + 300].partition(b"\n")[0])
        else:
            self._keep(parsed, line, process)

    def _doubtful(self, block: bytes, line: int, hit: int, end: int, process: str) -> None:
        """A metric line after other words: a quotation, or a question and a log pasted into one line."""
        body = block[hit:end]
        next_hit = _next_step(body)
        self._doubts.append((line, process, strip_end(body[:next_hit] if next_hit > 0 else body)))

    def finish(self) -> None:
        """Doubtful lines count when they are all there is; otherwise they are told as unread."""
        for held, line in self._undecided:
            self.skip(line, f"step:{held.step} …".encode())
        accept = not len(self.table)
        for line, process, body in self._doubts:
            parsed = self.lines.read(body) if accept and not self.text.in_sample(process, line) else None
            if parsed is not None and any("/" in key for key in parsed.layout.keys):
                self.doubtful_lines.append(line)
                self._add(parsed, line)
            else:
                self.skip(line, body[:200])

    def _keep(self, parsed: Parsed, line: int, process: str) -> None:
        self.text.saw(process, line)
        layout = parsed.layout
        if not self.text.in_sample(process, line):
            if self._undecided and any(held.layout is layout for held, _ in self._undecided):
                layout.n_held += 2
                self._decide()
            self._add(parsed, line)
            return
        layout.n_held += 1

        def unless_a_sample() -> None:
            self._undecided.append((parsed, line))
            if layout.n or layout.n_held > 1 or len(layout.keys) >= _MANY_KEYS:
                self._decide()

        self.text.hold(process, unless_a_sample)

    def _decide(self) -> None:
        """Takes the lines met in samples that never ended, now that lines like them have come outside of one (or again)."""
        waiting, self._undecided = self._undecided, []
        for parsed, line in waiting:
            if parsed.layout.n or parsed.layout.n_held > 1 or len(parsed.layout.keys) >= _MANY_KEYS:
                self._add(parsed, line)
            else:
                self._undecided.append((parsed, line))

    def _add(self, parsed: Parsed, line: int) -> None:
        self.text.step = parsed.step
        if parsed.cut:
            self.cut_lines.append(line)
        if parsed.lost:
            self.skip(line, f"step:{parsed.step} …".encode())
        self.table.add(parsed.step, line, parsed.layout, parsed.values, parsed.styles, parsed.texts)

    def skip(self, line: int, raw: bytes) -> None:
        """Counts a line that looks like metrics and could not be read."""
        self.unread += 1
        if len(self.samples) < _MAX_SAMPLES:
            self.samples.append((line, strip_colours(raw).decode("utf-8", "replace")[:200]))

    def _opening(self, block: bytes) -> int:
        """A paste may begin inside a metric line (``adv:10751.941 - timing_s/step:…``): its rest is a row without a step."""
        start = _BLANK.match(block).end()  # type: ignore[union-attr]
        end = block.find(b"\n", start)
        end = len(block) if end < 0 else end
        raw = strip_end(block[start:end])
        parts = _whole_line(split_process(strip_colours(raw))[1]) if raw and STEP.search(raw) is None else None
        if parts is None:
            return 0
        self.line += block.count(b"\n", 0, start)
        layout, values, styles, texts = self.lines.row(parts)
        self.table.add(NO_STEP, self.line, layout, values, styles, texts)
        self.line += end < len(block)
        return min(end + 1, len(block))


def _whole_line(text: bytes) -> list[Part] | None:
    """The parts of a line that is nothing but ``key:number - key:number``, the first key perhaps torn; None otherwise."""
    pieces = text.strip().removeprefix(b"- ").split(b" - ")
    parts: list[Part] = []
    for index, piece in enumerate(pieces):
        part = parse_part(piece)
        if part is None or part.rest.strip() or b": " in piece or re.search(rb"[\s'\"{=]", part.key):
            if index == 0 and len(pieces) > 1:
                continue
            if index == len(pieces) - 1 and len(parts) > 1:
                break
            return None
        if b"/" not in part.key and not (index == 0 and len(pieces) > 1):
            return None
        if b"/" in part.key:
            parts.append(part)
    return parts or None


def _next_step(body: bytes) -> int:
    """Where in a metric line the next one begins, when several are glued together; 0 for nowhere."""
    at = body.find(b"step:", 5)
    while at > 0:
        if body[at - 1] in b" \r\tm)" and not _inside_name(body, at):
            head = STEP.match(body, at)
            if head and body[head.end() : head.end() + 3] == b" - ":
                return at
        at = body.find(b"step:", at + 5)
    return 0


def _inside_name(block: bytes, hit: int) -> bool:
    """Whether ``step:`` is the end of a longer name (``training/global_step:5``) or of a word."""
    if hit == 0:
        return False
    before = block[hit - 1]
    if before == 0x6D:  # m: the end of a colour code, or of a word
        return re.search(rb"\[[0-9;]*m$", block[max(0, hit - 12) : hit]) is None
    return chr(before).isalnum() or before in b"_/.-=@" or before >= 0x80


def _joined(body: bytes, following: bytes, process: str, full_width: bool) -> bytes | None:
    """``body`` with the next line when that line continues it (copy and paste broke a long line), else None.

    ``full_width``: the line before was broken at the same width as the first, so that its number may go on.
    """
    if b" - " in following:
        if b"step:" in following and STEP.search(following):
            return None
    elif not following.strip() or not (_unfinished(body) or (full_width and _DIGITS.search(following))):
        return None
    tag, rest = split_process(strip_colours(following.rstrip(b"\r\n")))
    if tag and tag != process:
        return None
    rest = strip_end(rest)
    gap = b" " if body.endswith(b" -") or rest.startswith(b"- ") else b""
    if body.endswith(b" -") and rest.startswith(b" "):
        gap = b""
    joined = body + gap + rest
    tail_start = body.rfind(b" - ")
    tail = joined[tail_start + 3 :] if tail_start >= 0 else joined
    pieces = tail.split(b" - ")
    if any(re.search(rb"[\s'\"{=]", _key(piece)) for piece in pieces):
        return None
    good = [parse_part(piece) is not None for piece in pieces[:-1]]
    if not all(good):
        return None
    if len(pieces) == 1:
        return joined if parse_part(pieces[0]) is not None or (_unfinished(joined) and b"/" in pieces[0]) else None
    pieces[-1] = pieces[-1].removesuffix(b" -")
    return joined if parse_part(pieces[-1]) is not None or re.fullmatch(rb"[\w/@.\-()]*:?[\w.\-(]*", pieces[-1]) else None


def _key(piece: bytes) -> bytes:
    return piece.rpartition(b":")[0].strip() if b":" in piece else piece.strip()


def _unfinished(body: bytes) -> bool:
    """Whether a metric line stops before its last value does."""
    if body[-4:-3] == b"." and body[-3:].isdigit():
        return False
    if body.endswith(b" -"):
        return True
    last = body[body.rfind(b" - ") + 3 :]
    part = parse_part(last)
    if part is None or last.endswith((b".", b"e", b"-")):
        return True
    before = body[: -len(last) - 3]
    return before[-4:-3] == b"." and before[-3:].isdigit() and b"." in part.text and not part.wrapped
