"""Reads everything between the metric lines: config, commands, tracebacks, messages, progress bars, printed samples."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from assistant.logs import events
from assistant.logs.config import Dump, Overrides
from assistant.logs.events import EventLog
from assistant.logs.fragments import PROGRESS, Meaning, automaton, meanings
from assistant.logs.prefix import split_process, strip_colours, strip_repeated
from assistant.logs.traceback import Traceback
from assistant.logs.validation import ValidationText
from assistant.run import Event

_BAR = re.compile(rb"(\d+)/(\d+) \[[\d:]*<[^,\]]*, +(?:([\d.]+)(s/it|it/s))?")
_SUMMARY = re.compile(r"wandb:\s+(\S+)\s+(\S.*)$")
_MAX_LINE = 65536
_SAMPLE_LINES = 3000
"""No sample is longer: its end was printed in another way."""

_MANY_MATCHES = 100
_MANY_BYTES = 16 << 20
_OPEN_LINES = 5000
"""A traceback whose process says nothing more for so many lines is over."""

Hit = tuple[Meaning, int]
"""A fragment's meaning, and where in the stretch it stands."""


class TextReader:
    """Takes stretches of the log that hold no metric line, in order, and keeps what they say."""

    def __init__(self) -> None:
        self.step: int | None = None
        self.log = EventLog()
        self.overrides = Overrides()
        self.config: dict[str, Any] = {}
        self.config_lines: dict[str, int] = {}
        self.frameworks: dict[str, int] = {}
        self.processes: dict[str, int] = {}
        self.summary: dict[str, str] = {}
        self.summary_line = 0
        self.total_steps: int | None = None
        self._done: int | None = None
        self._bar_total: int | None = None
        self._bar_line = 0
        self._rates: list[float] = []
        self._dumps: list[Dump] = []
        self._validation: ValidationText | None = None
        self._tracebacks: dict[str, Traceback] = {}
        self._in_summary = False
        self._samples: dict[str, int] = {}
        self._held: dict[str, list[Callable[[], None]]] = {}
        self._variables: Callable[[str], str | None] = lambda name: None
        self._last_process = ""
        self._scanned = 0
        self._find = automaton()
        fragments, self._meanings = meanings()
        self._progress_id = fragments.index(PROGRESS)

    # Printed samples: their text may look like anything

    def in_sample(self, process: str, line: int) -> bool:
        """Whether the process is in the middle of printing a sample; one that goes on and on was none."""
        opened = self._samples.get(process)
        if opened is not None and line - opened > _SAMPLE_LINES:
            self._release(process)
            return False
        return opened is not None

    def hold(self, process: str, action: Callable[[], None]) -> None:
        """Runs ``action`` when it turns out that the open sample was none; forgets it when the sample ends as one."""
        self._held.setdefault(process, []).append(action)

    def _sample(self, process: str, mark: str, line: int) -> None:
        if mark == "open":
            if process in self._samples:
                self._release(process)
            self._samples[process] = line
        elif self._samples.pop(process, None) is not None:
            self._held.pop(process, None)

    def _release(self, process: str) -> None:
        self._samples.pop(process, None)
        for action in self._held.pop(process, []):
            action()

    def saw(self, process: str, line: int) -> None:
        """Remembers which kinds of process print (``TaskRunner``), and since which line."""
        if process and process != self._last_process:
            self._last_process = process
            self.processes.setdefault(process.partition(" pid=")[0].rpartition(" ")[2], line)

    # Lines

    def scan(self, block: bytes, start: int, stop: int, line: int) -> int:
        """Reads ``block[start:stop]``, whose first line has number ``line``; returns the number of the line after."""
        if start >= stop:
            return line
        gap = block[start:stop]
        n = len(gap)
        if self._scanned < _MANY_BYTES <= self._scanned + n:
            self._find = automaton(True)
        self._scanned += n
        matches = self._find.find_matches_as_indexes(gap, overlapping=True)
        if matches:
            matches = self._bars(gap, line, matches)
        if len(matches) > _MANY_MATCHES:  # names of frameworks, on every metric line, say nothing new
            known = {i for i, meaning in enumerate(self._meanings) if meaning[0] == "framework" and meaning[1] in self.frameworks}
            matches = [match for match in matches if match[0] not in known]
        if not matches and not self._busy():
            return line + gap.count(b"\n")
        if len(matches) > 1:
            matches.sort(key=lambda match: match[1])
        self._variables = lambda name: _shell_variable(block, name)
        at = pos = 0
        while pos < n:
            if self._busy():
                first = pos
            elif at < len(matches):
                first = gap.rfind(b"\n", pos, matches[at][1]) + 1 or pos
                line += gap.count(b"\n", pos, first)
            else:
                return line + gap.count(b"\n", pos)
            end = gap.find(b"\n", first)
            end = n if end < 0 else end
            next_at = at
            while next_at < len(matches) and matches[next_at][1] < end:
                next_at += 1
            self._line(gap, first, end, line, [(self._meanings[number], begin) for number, begin, _ in matches[at:next_at]])
            at = next_at
            pos = end + 1
            line += end < n
        return line

    def _busy(self) -> bool:
        return bool(self._dumps or self._tracebacks or self._validation or self._in_summary)

    def _bars(self, gap: bytes, line: int, matches: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
        """Reads the last progress bars of a stretch; returns the matches that are none."""
        bars = [begin for number, begin, _ in matches if number == self._progress_id]
        if not bars:
            return matches
        if not self._bar_line:
            self._bar_line = line + gap.count(b"\n", 0, bars[0])
        for begin in bars[-3:]:
            found = _BAR.search(gap, begin, begin + 1024)
            if found is None:
                continue
            self._done = int(found[1])
            self._bar_total = int(found[2]) or self._bar_total
            if found[3] and float(found[3]) > 0 and len(self._rates) < 1_000_000:
                rate = float(found[3])
                self._rates.append(rate if found[4] == b"s/it" else 1.0 / rate)
        return [match for match in matches if match[0] != self._progress_id]

    def _line(self, gap: bytes, first: int, end: int, line: int, hits: list[Hit]) -> None:
        if end - first > _MAX_LINE:
            self._long_line(gap, first, end, line, hits)
            return
        raw = gap[first:end].rstrip(b"\r")
        if b"\x00" in raw:
            raw = raw.replace(b"\x00", b"")
        if b"\r" not in raw:
            self._message(strip_colours(raw), line, hits)
            return
        tag = split_process(strip_colours(raw))[0]
        for part in raw.split(b"\r"):
            plain = strip_colours(part)
            if plain.strip():
                self._message(plain, line, [hit for hit in hits if _stands_in(hit, plain)], tag)

    def _long_line(self, gap: bytes, first: int, end: int, line: int, hits: list[Hit]) -> None:
        """A line too long to be looked at whole: only what surrounds the first fragments."""
        done = first
        for _, begin in hits[:200]:
            if begin < done:
                continue
            start = max(begin - 200, first, gap.rfind(b"\r", first if begin - first < 2000 else begin - 2000, begin) + 1)
            done = min(begin + 4096, end)
            inside = [hit for hit in hits if begin <= hit[1] < done]
            self._message(strip_colours(gap[start:done].partition(b"\r")[0]), line, inside)

    def _message(self, plain: bytes, line: int, hits: list[Hit], tag: str = "") -> None:
        process, rest = split_process(plain)
        process = process or tag
        text = strip_repeated(rest).decode("utf-8", "replace")
        self.saw(process, line)
        for meaning, _ in hits:
            if meaning[0] == "framework":
                self.frameworks.setdefault(meaning[1], line)
        if self._continued(process, line, text):
            return
        kinds = {meaning[0] for meaning, _ in hits}
        if "sample" in kinds and text.startswith(("[prompt]", "[score]")):
            self._sample(process, "open" if text.startswith("[prompt]") else "close", line)
            return
        if process in self._samples and self.in_sample(process, line):
            if kinds & {"event", "traceback"}:
                step = self.step
                self.hold(process, lambda: self._meaning(process, line, text, hits, kinds, step))
            return
        self._meaning(process, line, text, hits, kinds, self.step)

    def _continued(self, process: str, line: int, text: str) -> bool:
        """Gives a line to what it continues: a traceback, a printed dict, a validation result, a summary."""
        if (open_traceback := self._tracebacks.get(process)) is not None:
            taken = open_traceback.feed(line, text)
            if open_traceback.done or not taken:
                self._close_traceback(process)
            if taken:
                return True
        for other, left in list(self._tracebacks.items()):
            if line - left.line > _OPEN_LINES:
                self._close_traceback(other)
        if self._validation is not None and self._validation.process == process:
            taken = self._validation.feed(text)
            if self._validation.done:
                self._close_validation()
            if taken:
                return True
        for dump in self._dumps:
            taken = dump.feed(process, line, text)
            if dump.done:
                self._close_dump(dump)
                return taken
            if taken:
                return True
        if self._in_summary:
            if found := _SUMMARY.match(text):
                self.summary[found[1]] = found[2].strip()
                return True
            self._in_summary = text.strip() in ("", "wandb:")
        return False

    def _meaning(self, process: str, line: int, text: str, hits: Sequence[Hit], kinds: set[str], step: int | None) -> None:
        if "validation" in kinds and ValidationText.starts(text):
            if self._validation is not None:
                self._close_validation()
            self._validation = ValidationText(process, line, text, step)
            if self._validation.done:
                self._close_validation()
            return
        if "dump" in kinds and text.startswith("{'"):
            dump = Dump(process, line, text)
            self._dumps.append(dump)
            if dump.done:
                self._close_dump(dump)
            return
        if "override" in kinds and self.overrides.feed(line, text, self._variables):
            if "event" in kinds:  # a shell that names the command it saw die
                self._events(process, line, text, hits, step)
            return
        if "traceback" in kinds and Traceback.starts(text):
            self._tracebacks[process] = Traceback(process, line, text)
            return
        if "summary" in kinds:
            self._in_summary = True
            self.summary_line = line
        if "event" in kinds:
            self._events(process, line, text, hits, step)

    def _events(self, process: str, line: int, text: str, hits: Sequence[Hit], step: int | None) -> None:
        seen: set[str] = set()
        signatures = [meaning[1] for meaning, _ in hits if meaning[0] == "event"]
        from_card = any(signature.card for signature in signatures)
        for signature in signatures:
            if signature.kind in seen or (from_card and not signature.card) or not signature.stands_in(text):
                continue
            seen.add(signature.kind)
            event = events.event_of(signature, line, text.strip(), step, process)
            if event is not None:
                self.log.add(event)

    # What ends

    def _close_traceback(self, process: str) -> None:
        closed = self._tracebacks.pop(process)
        if closed.type:
            self.log.add(events.event_of_traceback(closed, self.step))

    def _close_dump(self, dump: Dump) -> None:
        if dump in self._dumps:
            self._dumps.remove(dump)
        settings, lines = dump.settings()
        if len(settings) >= 3:
            self.config |= settings
            self.config_lines |= lines

    def _close_validation(self) -> None:
        if self._validation is not None:
            self.log.add(self._validation.event())
            self._validation = None

    def finish(self) -> list[Event]:
        """Closes what is still open (the log ends in the middle of it) and hands out the events."""
        for process in list(self._samples):
            self._release(process)
        for process, cut in list(self._tracebacks.items()):
            self._close_traceback(process)
            if cut.frames and not cut.type:  # the log ends before the exception's own line
                self.log.add(Event("traceback-unfinished", cut.line, cut.place, self.step, process, False, cut.data()))
        self._close_validation()
        for dump in list(self._dumps):
            self._close_dump(dump)
        if self._done is not None:
            seconds = float(np.median(self._rates)) if self._rates else None
            data = {"done": self._done, "total": self._bar_total, "seconds_per_step": seconds}
            self.log.add(Event("progress", self._bar_line, f"{self._done}/{self._bar_total}", self.step, "", False, data))
        found = self.log.finish()
        announced = [event.data["total"] for event in found if event.kind == "total-steps" and "total" in event.data]
        self.total_steps = announced[-1] if announced else self._bar_total
        return found

    def settings(self) -> tuple[dict[str, Any], dict[str, int]]:
        """The config and each key's line: the resolved dump wins over overrides of the command line."""
        return self.overrides.settings | self.config, self.overrides.lines | self.config_lines


def _stands_in(hit: Hit, plain: bytes) -> bool:
    kind, what = hit[0]
    return kind != "event" or bool(what.stands_in(plain.decode("utf-8", "replace")))


def _shell_variable(block: bytes, name: str) -> str | None:
    """Value of ``NAME=value`` in the part of the log just read."""
    found = re.search(rb"(?:^|\n)\s*(?:export )?" + name.encode() + rb"=[\"']?([^\s\"'#;]+)", block)
    return found[1].decode("utf-8", "replace") if found else None
