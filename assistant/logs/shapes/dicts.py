"""Reads dicts that a trainer prints: on one line, over many lines (pprint, a wrapped paste), behind a bar or a step."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from assistant.logs.formats.base import BlockReader
from assistant.logs.prefix import split_process, strip_colours
from assistant.logs.shapes.dict_places import Found, find_places
from assistant.logs.shapes.dict_quick import QuickDicts, torn_line
from assistant.logs.shapes.dict_repeats import DictBlocks, add
from assistant.logs.shapes.numbering import BarSteps
from assistant.logs.shapes.rows import DIGITS, Place, Reading, Row, RowReader, come_again
from assistant.run import NO_STEP

_QUOTE = rb"(?:['\"]|\xe2\x80[\x98-\x9f]|&quot;|&#39;)"
OPEN = re.compile(rb"\{\s{0,200}(?=" + _QUOTE + rb")")
_STEP_BEFORE = re.compile(
    rb"(?:\A|[^A-Za-z0-9_])(global[_ ]?step|train(?:ing)?[_ ]step|step|iteration|iter|rollout|perf|eval|passrate|critic-step|epoch|update"
    rb"|episode)s?\s*[=:#]?\s*(\d{1,12})\s*(?:/\s*\d+)?\s*[:\-|,]*\s*(?:(?:stats|metrics|results|eval_metrics|logs)\s*[:=]?)?\s*\Z",
    re.IGNORECASE,
)
_BRACES = re.compile(rb"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|[{}]")
_OTHER_LINE = re.compile(
    rb"\s*(?:\{\s*['\"]|\[?\d{4}-\d\d-\d\d|Traceback |\s*\d+%\||(?:step|iteration|epoch|rollout|perf|eval)\s+\d+\s*:)|\s*$", re.IGNORECASE
)
_INSIDE = re.compile(rb"[\s,]*(?:['\"}\])\[(\-+.\d]|None|True|False|nan|inf|array|tensor|np\.)|.*['\"]\s*:|.*[\d\])},]\s*$")
_ENTRY = re.compile(rb"[ \t]*(?:" + _QUOTE + rb"[^\n]{1,200}" + _QUOTE + rb"[ \t]*:|\})")
"""A line that can only go on with a dict: the next name, or its end."""
_ENTITIES = ((b"&quot;", b'"'), (b"&#39;", b"'"), (b"&#x27;", b"'"), (b"\xc2\xa0", b" "))
_SMART = re.compile(rb"\xe2\x80[\x98-\x9f]")
_MAX_LINES = 3000
_MAX_BYTES = 1 << 19
_MAX_DICT_LINE = 1 << 16
_MAX_TRIES = 500
"""So many dicts are looked at in one line; one that is none counts for more."""

_FAR = 4096


@dataclass(frozen=True, slots=True)
class Accepts:
    """Which dicts are metrics. ``quick`` must be found in the raw text (unless a step stands before); ``accept`` gets what
    was found and whether a step stands before. ``step_keys``: names that hold the step, the best first."""

    quick: re.Pattern[bytes]
    accept: Callable[[Found, bool], bool]
    step_keys: Sequence[str]
    rounded: dict[str, int] = field(default_factory=dict)
    rename: Callable[[list[Place]], list[Place]] = lambda places: places
    is_summary: Callable[[Sequence[str]], bool] = lambda keys: False
    torn_start: re.Pattern[bytes] | None = None


class DictReader(BlockReader):
    """See `Accepts`. Steps: before the dict, else in it, else the bar beside it, else records are numbered."""

    def __init__(self, accepts: Accepts) -> None:
        super().__init__()
        self.accepts = accepts
        self.rows = RowReader(self.table, self._find, rounded=accepts.rounded)
        self.bars = BarSteps()
        self._quick = QuickDicts(accepts.rounded, accepts.step_keys)
        self._prefixed = False
        self._first = True
        self._process_of: dict[int, str] = {}
        self._merged: set[int] = set()
        self._blocks: set[bytes] = set()
        self._whole = DictBlocks(self.rows, self._find)
        self._last_keys: set[str] = set()
        self._last_step: int | None = None

    def feed(self, block: bytes, final: bool) -> int:
        size = len(block)
        done = 0  # what was taken
        counted = 0  # up to where lines were counted
        end = tries = 0  # of the line
        quick = -1  # where the next name of a metric stands
        if self._first:
            self._first = False
            done = counted = self._torn_start(block, final)
        while (opening := OPEN.search(block, done)) is not None:
            at = opening.start()
            if at >= end:
                line_start = block.rfind(b"\n", 0, at) + 1
                end = block.find(b"\n", at)
                end = size if end < 0 else end
                tries = 0
            tries += 1
            if tries > _MAX_TRIES:
                done = end
                continue
            if quick < at:
                hit = self.accepts.quick.search(block, at)
                quick = hit.start() if hit else size
            named = _STEP_BEFORE.search(_plain_tail(block[max(line_start - 80, done, at - 200, 0) : at]))
            if not named and quick >= (end if end - at > 80 else min(size, at + _FAR)):
                done = at + 1
                continue
            pieces, stop, closed = self._gather(block, at, end, line_start)
            if not closed and not final and stop >= size - 1 and size - at < _MAX_BYTES:
                keep = max(block.rfind(b"\n", 0, max(line_start - 1, 0)) + 1, done, counted)  # the line before may hold the step
                self.line += block.count(b"\n", counted, keep)
                return keep
            self.line += block.count(b"\n", counted, at)
            counted = at
            step = int(named[2]) if named else None
            process = split_process(strip_colours(block[max(line_start, at - 400) : at]))[0]
            if self._take(pieces, step, process, block, at, stop, done, final and stop >= size):
                done = (
                    self._repeats(block, at, stop, line_start, named, pieces)
                    if not process and block[stop - 1 : stop + 1] == b"}\n"
                    else stop
                )
            else:
                done = stop if closed else at + 1
                tries += _MAX_TRIES // 25
        self.line += block.count(b"\n", counted)
        return size

    def _repeats(
        self, block: bytes, at: int, stop: int, line_start: int, named: re.Match[bytes] | None, pieces: list[tuple[int, bytes]]
    ) -> int:
        """Takes the dicts below the one just taken, ``block[at:stop]``, that are like it; returns where they end."""
        parts = None
        if named is not None and len(pieces) > 1:
            place = at - (named.end() - named.start(2))
            start = block.rfind(b"\n", 0, max(place, 0)) + 1
            digits = (place - start, place - start + len(named[2]))
            if block[place : place + len(named[2])] != named[2]:  # colours stand between
                return stop
            plain = b"".join(_plain(text) for _, text in pieces)
            one = self._whole.block(block[start:stop], at - start, digits, plain)
            if one is None:
                return stop
            below = block.count(b"\n", at, stop) + 1
            batch, parts = self.rows.read_on(block, stop + 1, one.n_lines, one.pattern), one.parts
        elif named is None and at == line_start and len(pieces) == 1:
            below = 1
            batch = self.rows.read_on(block, stop + 1, 1, self.rows.known(block[at:stop]))
        else:
            return stop
        if batch is None or self.accepts.is_summary(batch.layout.keys) or _is_evaluation(batch.layout.keys):
            return stop
        keys = batch.layout.keys
        if batch.steps is None:
            self.bars.expect_many(len(self.table), len(batch.values))
        first = keys if parts is None else keys[parts[0][1] : parts[0][2]]
        add(self.table, batch, self.line + below, self._last_step, come_again(first, self._last_keys), parts)
        self._last_keys = set(keys)
        self._last_step = batch.steps[-1] if batch.steps else None
        self.total_steps = batch.total or self.total_steps
        end = batch.stop - 1
        self.bars.see(block, batch.last, batch.last, end, len(block))
        return end

    def _torn_start(self, block: bytes, final: bool) -> int:
        """A paste may begin inside a dict: ``'loss': 0.1, 'kl': 0.2}``."""
        found = None if self.accepts.torn_start is None else torn_line(block, self.accepts.torn_start, OPEN)
        if found is None:
            return 0
        start, end, line = found
        text = _plain(line)
        self._prefixed = False
        row = self.rows.read(text)
        if row is None or (start and len(row.layout.keys) < 3):
            return 0
        self.line += block.count(b"\n", 0, start)
        self._add(row, None, self.line, final and end == len(block))
        self.bars.see(block, 0, 0, end, len(block))
        self.line += block.count(b"\n", start, end)
        return end

    def _gather(self, block: bytes, at: int, end: int, line_start: int) -> tuple[list[tuple[int, bytes]], int, bool]:
        """The dict that opens at ``at`` as (lines further down, text) pieces; where it stops; whether it closed."""
        size = len(block)
        limit = min(end, at + _MAX_DICT_LINE)
        close = block.find(b"}", at, limit) + 1
        if close and block.find(b"{", at + 1, close) < 0 and not block.count(b"'", at, close) % 2:  # a flat dict on one line
            return [(0, block[at:close])], close, True
        if not close and (flat := _flat_lines(block, at)):
            return list(enumerate(flat)), at + sum(map(len, flat)) + len(flat) - 1, True
        depth, stop = _depth(block, at, limit, 0)
        if depth <= 0 or limit < end:
            return [(0, block[at:stop])], stop, True
        first = block[at:end]
        pieces = [(0, first)]
        process = split_process(strip_colours(block[max(line_start, at - 400) : at]))[0]
        lines = 0
        while end + 1 < size and lines < _MAX_LINES:
            start = end + 1
            end = block.find(b"\n", start)
            end = size if end < 0 else end
            lines += 1
            tag, rest = split_process(strip_colours(block[start:end]))
            if tag and tag != process:
                continue
            if not rest.strip() and _ENTRY.match(block, end + 1):
                continue  # copied from a page that puts a blank line after each
            if _OTHER_LINE.match(rest) or not _INSIDE.match(rest):
                return pieces, start - 1, False
            depth, stop = _depth(rest, 0, len(rest), depth)
            pieces.append((lines, rest[: stop if depth <= 0 else len(rest)]))
            if depth <= 0:
                tail = len(rest) - stop
                return pieces, end - tail, True
        return pieces, end, False

    def _take(
        self, pieces: list[tuple[int, bytes]], step: int | None, process: str, block: bytes, at: int, stop: int, done: int, at_end: bool
    ) -> bool:
        self._prefixed = step is not None
        if len(pieces) == 1:
            text = _plain(pieces[0][1])
            row = self._quick.read(text)
            if row is None:
                row = self.rows.read(text)
                if row is None:
                    return False
                if b"': '" not in text and text.count(b"': ") + text.count(b'": ') == len(row.layout.keys):
                    self._quick.learn(row)
            if self._of_another_process(row, process, step):
                return True
            self._add(row, step, self.line, at_end)
        elif not self._many_lines(pieces, step):
            return False
        self.bars.see(block, done, at, stop, len(block))
        return True

    def _many_lines(self, pieces: list[tuple[int, bytes]], step: int | None) -> bool:
        plain = [_plain(text) for _, text in pieces]
        if self._same_block(pieces, plain, step):
            return True
        texts = [text.decode("utf-8", "replace") for text in plain]
        whole = "".join(texts)
        reading = self._find(whole)
        if reading is None:
            return False
        row = self.rows.row(whole, reading)
        number = step if step is not None else row.step
        places = sorted(reading.places, key=lambda place: place.start)
        if len(places) == sum(text.count(b"': ") + text.count(b'": ') for text in plain):
            self._blocks.add(b"".join(plain).translate(None, DIGITS))
            self.rows.read(b"".join(plain))
        joined = False
        at = end = 0
        for (offset, _), text in zip(pieces, texts, strict=True):
            end += len(text)
            first = at
            while at < len(places) and places[at].start < end:
                at += 1
            if at > first:
                self._put(self.rows.row(whole, Reading(places[first:at])), number, self.line + offset, joined)
                joined = True
        if reading.cut:
            self.cut_lines.append(self.line + pieces[-1][0])
        return joined

    def _same_block(self, pieces: list[tuple[int, bytes]], plain: list[bytes], step: int | None) -> bool:
        """Reads a block whose words were met before, all of its values being numbers, as one line, and deals its values out."""
        whole = b"".join(plain)
        if whole.translate(None, DIGITS) not in self._blocks:
            return False
        row = self.rows.read(whole)
        counts = [text.count(b"': ") + text.count(b'": ') for text in plain]
        if row is None or row.cut or sum(counts) != len(row.values):
            return False
        number = step if step is not None else row.step
        keys, layout_of = row.layout.keys, self.table.layout
        at = 0
        joined = False
        for (offset, _), n in zip(pieces, counts, strict=True):
            if not n:
                continue
            texts = {i - at: row.texts[i] for i in range(at, at + n) if i in row.texts} if row.texts else {}
            part = Row(None, layout_of(keys[at : at + n]), row.values[at : at + n], row.styles[at : at + n], texts)
            if joined and number is not None:
                self.table.add(number, self.line + offset, part.layout, part.values, part.styles, texts, True)
            else:
                self._put(part, number, self.line + offset, joined)
            at += n
            joined = True
        self._last_keys.update(keys)
        return joined

    def _of_another_process(self, row: Row, process: str, step: int | None) -> bool:
        """Whether another process prints the same keys (each rank its own line): only the first one's lines count."""
        if step is not None or row.step is not None or not process:
            return False
        return self._process_of.setdefault(id(row.layout), process) != process

    def _add(self, row: Row, step: int | None, line: int, at_end: bool) -> None:
        if row.cut:
            self.cut_lines.append(line)
        self._put(row, step if step is not None else row.step, line, False)
        if row.total:
            self.total_steps = row.total

    def _put(self, row: Row, step: int | None, line: int, joined: bool) -> None:
        summary = not joined and step is None and len(self.table) > 0 and self.accepts.is_summary(row.layout.keys)
        again = False
        if summary:
            row = self._without_repeats(row)
        else:
            again = not joined and step is not None and step == self._last_step and come_again(row.layout.keys, self._last_keys)
            fresh = joined or (step is not None and step == self._last_step and not again)
            if not fresh:
                self._last_keys = set()
            self._last_keys.update(row.layout.keys)
            self._last_step = step
        if step is None and not joined and not summary:
            self.bars.expect(len(self.table), _is_evaluation(row.layout.keys))
        number = NO_STEP if step is None else step
        self.table.add(number, line, row.layout, row.values, row.styles, row.texts, joined or summary, again)
        if joined or summary:
            self._merged.add(len(self.table) - 1)

    def _without_repeats(self, row: Row) -> Row:
        """What the summary at the end adds to the last record: the means of a last, unfinished window are left out."""
        kept = [i for i, key in enumerate(row.layout.keys) if key not in self._last_keys]
        layout = self.table.layout(tuple(row.layout.keys[i] for i in kept))
        texts = {new: row.texts[old] for new, old in enumerate(kept) if old in row.texts}
        return row._replace(layout=layout, values=[row.values[i] for i in kept], styles=bytes(row.styles[i] for i in kept), texts=texts)

    def _find(self, text: str) -> Reading | None:
        found = find_places(text)
        if not found.places or not self.accepts.accept(found, self._prefixed):
            return None
        places = self.accepts.rename(found.places)
        step = found.ratio
        if step is None:
            by_key = {place.key: place for place in found.places}
            for key in self.accepts.step_keys:
                place = by_key.get(key)
                if place and re.fullmatch(r"\d{1,15}", text[place.start : place.end]):
                    step = (place.start, place.end)
                    break
        return Reading(places, step, found.total, found.cut, found.loose)

    def finish(self) -> None:
        total = self.bars.settle(self.table.steps, self._merged)
        self.total_steps = self.total_steps or total
        self.counted = self.bars.counted


def _is_evaluation(keys: Sequence[str]) -> bool:
    """Whether all names are those of an evaluation between two training steps."""
    return all(key == "epoch" or key.startswith(_EVALUATION) for key in keys) and len(keys) > 1


_EVALUATION = ("eval_", "test_", "predict_")


def _flat_lines(block: bytes, at: int) -> list[bytes] | None:
    """The lines of a flat dict that one process printed over many lines, when that is plain to see."""
    close = block.find(b"}", at, at + _MAX_DICT_LINE) + 1
    text = block[at:close]
    if not close or b"{" in text[1:] or b"pid=" in text or b"\x1b" in text or b"\r" in text:
        return None
    lines = text.split(b"\n")
    if len(lines) > 1 and all(line.lstrip()[:1] in (b"'", b'"', b"}") for line in lines[1:]):
        return lines
    return None


def _depth(block: bytes, start: int, end: int, depth: int) -> tuple[int, int]:
    """Open braces after ``block[start:end]``, and where they closed (``end`` when they did not)."""
    for brace in _BRACES.finditer(block, start, end):
        if brace[0] == b"{":
            depth += 1
        elif brace[0] == b"}":
            depth -= 1
            if depth <= 0:
                return depth, brace.end()
    return depth, end


def _another(block: bytes, start: int, end: int) -> bool:
    return OPEN.search(block, start, end) is not None


def _plain_tail(before: bytes) -> bytes:
    """What stands before a dict, without colours and what a process prefix would hide."""
    return strip_colours(before) if b"\x1b" in before or b"[" in before else before


def _plain(raw: bytes) -> bytes:
    """The text of a dict with plain quotes and spaces."""
    if b"\xe2\x80" in raw:
        raw = _SMART.sub(lambda found: b'"' if found[0][-1] in (0x9C, 0x9D, 0x9E, 0x9F) else b"'", raw)
    if b"&" in raw or b"\xc2" in raw:
        for entity, plain in _ENTITIES:
            raw = raw.replace(entity, plain)
    if b"\x1b" in raw:
        raw = strip_colours(raw)
    return raw.replace(b"\x00", b"").strip()
