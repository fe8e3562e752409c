"""From a source of bytes to a `Run`: chooses the format, reads block by block, and says what was noticed."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from assistant.logs.algorithm import algorithm
from assistant.logs.choice import VERL_LINE, AnyReader, Choice, OtherReader
from assistant.logs.columns import Table
from assistant.logs.epochs import count_on
from assistant.logs.era import framework_of, sft_era, verl_era
from assistant.logs.files.finished import told_era
from assistant.logs.formats import claimed
from assistant.logs.formats.base import Fit, Tried
from assistant.logs.formats.frameworks import framework_by_names
from assistant.logs.literal import scalar
from assistant.logs.metric_line import LineReader
from assistant.logs.metric_part import Part
from assistant.logs.notes import notes_of
from assistant.logs.shipped import Read, unshipped
from assistant.logs.stream import Source
from assistant.logs.verl_console import ConsoleReader
from assistant.logs.verl_jsonl import JsonReader
from assistant.run import NO_STEP, Event, Run

_SMALL = 1 << 20
_HEAD = 64 << 10
"""So many bytes are enough to know a file format by its contents."""


def read(
    source: str | Path | bytes | BinaryIO,
    *,
    name: str = "",
    progress: Callable[[int], None] | None = None,
    format: str | None = None,
) -> Run:
    """Reads a log: a path (a folder too), bytes or a binary stream; ``progress`` is called with the number of bytes taken so far.

    ``format`` forces a format, or a framework, by its name (see `assistant.logs.formats.names`). Raises UnreadableLog when it
    cannot be opened. Whatever the bytes hold, a `Run` comes back; its notes say what was odd.
    """
    if format is None:
        source, opened = open_file(source, progress)
        if opened is not None:
            return opened
    return _from_stream(Source(source, progress), source, name, format)


def _from_stream(stream: Source, source: Any, name: str, format: str | None, as_given: bool = False) -> Run:
    """``as_given``: the lines have nothing around them."""
    choice = Choice(name or (Path(source).name if isinstance(source, (str, Path)) else ""), format)
    reader: AnyReader | None = None
    left = b""
    n_lines = 0
    head = b""
    for block, final in stream.blocks() if as_given else _as_printed(stream, partial(_numbers, name=name, format=format)):
        block = left + block if left else block
        if reader is None:
            reader = choice.first(block, final)
        elif not len(reader.table):
            reader = choice.later(block, final, reader, n_lines + 1)
        if not head.strip():
            head = block[:65536]
        reader.table.share_read = stream.share_read
        done = reader.feed(block, final)
        n_lines += block.count(b"\n", 0, done)
        if final and block and not block.endswith(b"\n"):
            n_lines += 1
        left = block[done:] if done < len(block) else b""
    assert reader is not None
    run = _run_of(reader)
    if stream.binary and not run.n_rows:
        run.events, run.config, run.config_lines = [], {}, {}
    run.tried = choice.tried
    run.n_lines, run.n_bytes, run.sha256 = n_lines, stream.n_bytes, stream.sha256
    run.notes = notes_of(run, reader, stream, head)
    return run


def _as_printed(stream: Source, measure: Callable[[bytes], Read]) -> Iterator[tuple[bytes, bool]]:
    """The blocks of a source without what its way has put around the lines."""
    blocks = stream.blocks()
    block, final = next(blocks)
    if stream.binary:
        yield block, final
        yield from blocks
        return
    if final or len(block) >= _SMALL or stream.share_read < 1:
        plain, unship = unshipped(block, final, measure)
        yield plain, final
        yield from blocks if unship is None else ((unship(block), final) for block, final in blocks)
        return
    plain, _ = unshipped(block + b"".join(rest for rest, _ in blocks), True, measure)
    cut = plain.rfind(b"\n") + 1
    if cut:
        yield plain[:cut], False
    yield plain[cut:], True


def _numbers(text: bytes, name: str, format: str | None) -> Read:
    """What is read from a piece of a log."""
    run = _from_stream(Source(text), text, name, format, as_given=True)
    counted = any(note.kind == "numbered-records" for note in run.notes)
    numbers = sum(len(column.rows) for column in run.columns.values()) + (0 if counted else len(run.steps))
    return Read(numbers, run.n_records, run.framework not in ("unknown", "generic"))


def open_file(source: str | Path | bytes | BinaryIO, progress: Callable[[int], None] | None) -> tuple[Any, Run | None]:
    """The run, when a file format takes the source; else the source as it must be read on (a stream was looked into)."""
    path: Path | None = None
    if isinstance(source, (str, Path)):
        path = Path(source)
        head = b"" if path.is_dir() else _first_bytes(path)
    elif isinstance(source, bytes):
        head = source[:_HEAD]
    else:
        head = source.read(_HEAD)
        source = cast(BinaryIO, _Rejoined(head, source))
    if b"\x00" not in head and VERL_LINE.search(head):  # the common case: the other formats are not even loaded
        return source, None
    found = claimed(path, head)
    if found is None:
        return source, None
    chosen, why = found
    run = chosen.open(path if path is not None else source if isinstance(source, bytes) else cast(BinaryIO, source).read(), progress)
    if run.format == "unknown":
        run.format = chosen.name
    run.tried = run.tried or [Tried(chosen.name, Fit(1, 1, run.n_rows, why), True)]
    return source, run


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""


class _Rejoined(io.RawIOBase):
    """A stream whose first bytes were taken, whole again."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        super().__init__()
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        head, self._head = self._head, b""
        if size < 0:
            return head + self._rest.read()
        if head:
            self._head = head[size:]
            return head[:size]
        return self._rest.read(size)


def read_text(text: str) -> Run:
    """Reads a pasted log."""
    return read(text.encode("utf-8", "surrogatepass" if text.isascii() else "replace"))


def _run_of(reader: AnyReader) -> Run:
    processes: dict[str, int] = {}
    if isinstance(reader, JsonReader):
        run = Run(format="verl-jsonl", framework="verl", **reader.table.finish())
        run.unread_lines, run.unread_samples = reader.unread, reader.samples
    elif isinstance(reader, OtherReader):
        run = _other_run(reader)
        if reader.text is None:  # how a data file writes numbers says nothing about the version
            told_era(run)
            return run
        processes = reader.text.processes
    else:
        run = _console_run(reader)
        processes = reader.text.processes
        run.unread_lines, run.unread_samples = reader.unread, reader.samples
    settle_version(run, processes)
    return run


def settle_version(run: Run, processes: Mapping[str, int]) -> None:
    """The era and the algorithm of a run of verl, whatever file its metrics stood in."""
    if run.framework == "verl":
        run.era, evidence = verl_era(run, processes)
        run.era_evidence = tuple(evidence)
    elif run.framework == "verl-sft":
        run.era, evidence = sft_era(run)
        run.era_evidence = tuple(evidence)
    if run.framework.startswith("verl"):
        run.algorithm, run.algorithm_evidence = algorithm(run)


def _other_run(both: OtherReader) -> Run:
    reader, text = both.reader, both.text
    events = text.finish() if text is not None else []
    reader.finish()
    run = Run(format=both.format.name, **reader.table.finish())
    run.framework = both.framework or both.format.framework_of(run.columns, text.frameworks if text is not None else {})
    if text is not None and (line := count_on(run, reader.total_steps)) is not None:
        reader.notes.append(("epochs-counted-on", line, {}))
        reader.total_steps = None  # that of an epoch
    run.events = [_outlived(event, events, run) for event in _with_steps(events, run)]
    if text is not None:
        run.config, run.config_lines = text.settings()
        run.total_steps = text.total_steps
    run.config |= reader.config
    run.config_lines |= reader.config_lines
    run.total_steps = reader.total_steps or run.total_steps
    run.unread_lines, run.unread_samples = reader.unread, reader.samples
    return run


def _with_steps(events: Sequence[Event], run: Run) -> list[Event]:
    """Events with the step of the last row printed before them (the words were read without knowing the rows)."""
    found = []
    for event in events:
        row = int(np.searchsorted(run.row_lines, event.line)) - 1
        step = int(run.row_steps[row]) if row >= 0 else NO_STEP
        found.append(event if step == NO_STEP else replace(event, step=step))
    return found


def _console_run(reader: ConsoleReader) -> Run:
    text = reader.text
    events = text.finish()
    reader.finish()
    summary = not len(reader.table) and bool(text.summary)
    if summary:
        _summary_row(reader.table, text.summary, text.summary_line)
    run = Run(format="wandb-summary" if summary else "verl-console", **reader.table.finish())
    run.events = [_outlived(event, events, run) for event in events]
    run.config, run.config_lines = text.settings()
    run.total_steps = text.total_steps
    run.framework = framework_of(run, text.frameworks, events)
    if summary:  # wandb prints one for any trainer
        run.framework = framework_by_names(run.columns, text.frameworks, run.framework)
    if not run.n_rows and not run.events and not run.config:
        run.format = "unknown"
    return run


def _outlived(event: Event, events: list[Event], run: Run) -> Event:
    """An error after which the same attempt printed more steps did not end the run: it is not fatal (``data["survived"]``)."""
    if not event.fatal:
        return event
    last = int(event.data.get("last_line", event.line))
    starts = [other.line for other in events if other.kind in ("start", "resume", "from-scratch") and other.line > last]
    starts += [segment.first_line for segment in run.segments if segment.first_line > last]
    until = min(starts, default=run.row_lines[-1] + 1 if run.n_rows else 0)
    after = int(np.count_nonzero((run.row_lines > last) & (run.row_lines < until)))
    if after < 2:
        return event
    return replace(event, fatal=False, data={**event.data, "survived": True})


def _summary_row(table: Table, summary: dict[str, str], line: int) -> None:
    """wandb prints the last value of each metric when a run ends: one row without a step."""
    parts: list[Part] = []
    for key, value in summary.items():
        found: Any = scalar("nan" if value in ("nan", "NaN") else value)
        if isinstance(found, (int, float)) and "/" in key:
            parts.append(Part(key.encode(), value.encode()))
    if parts:
        layout, values, styles, texts = LineReader(table).row(parts)
        table.add(NO_STEP, line, layout, values, styles, texts)
