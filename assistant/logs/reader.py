"""From a source of bytes to a `Run`: chooses the format, reads block by block, and says what was noticed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from assistant.logs import verl_jsonl
from assistant.logs.algorithm import algorithm
from assistant.logs.columns import Table
from assistant.logs.era import framework_of, sft_era, verl_era
from assistant.logs.literal import scalar
from assistant.logs.metric_line import LineReader, Part
from assistant.logs.notes import notes_of
from assistant.logs.stream import Source
from assistant.logs.verl_console import ConsoleReader
from assistant.logs.verl_jsonl import JsonReader
from assistant.run import NO_STEP, Event, Run

_BLANK = re.compile(rb"\s*")


def read(source: str | Path | bytes | BinaryIO, *, name: str = "", progress: Callable[[int], None] | None = None) -> Run:
    """Reads a log: a path, bytes or a binary stream; ``progress`` is called with the number of bytes taken so far.

    Raises UnreadableLog when it cannot be opened. Whatever the bytes hold, a `Run` comes back; its notes say what was odd.
    """
    stream = Source(source, progress)
    reader: ConsoleReader | JsonReader | None = None
    left = b""
    n_lines = 0
    head = b""
    for block, final in stream.blocks():
        block = left + block if left else block
        if reader is None:
            reader = _reader_for(block)
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
    run.n_lines, run.n_bytes, run.sha256 = n_lines, stream.n_bytes, stream.sha256
    run.notes = notes_of(run, reader, stream, head)
    return run


def read_text(text: str) -> Run:
    """Reads a pasted log."""
    return read(text.encode("utf-8", "surrogatepass" if text.isascii() else "replace"))


def _reader_for(block: bytes) -> ConsoleReader | JsonReader:
    start = _BLANK.match(block).end()  # type: ignore[union-attr]
    if block[start : start + 1] == b"{":
        end = block.find(b"\n", start)
        if verl_jsonl.looks_like(block[start : end if end >= 0 else len(block)]):
            return JsonReader()
    return ConsoleReader()


def _run_of(reader: ConsoleReader | JsonReader) -> Run:
    if isinstance(reader, JsonReader):
        run = Run(format="verl-jsonl", framework="verl", **reader.table.finish())
        processes: dict[str, int] = {}
    else:
        run = _console_run(reader)
        processes = reader.text.processes
    run.unread_lines, run.unread_samples = reader.unread, reader.samples
    if run.framework == "verl":
        run.era, evidence = verl_era(run, processes)
        run.era_evidence = tuple(evidence)
    elif run.framework == "verl-sft":
        run.era, evidence = sft_era(run)
        run.era_evidence = tuple(evidence)
    if run.framework.startswith("verl"):
        run.algorithm, run.algorithm_evidence = algorithm(run)
    return run


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
