"""What a reader of the diagnosis should know about the log itself."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from assistant.logs.choice import AnyReader, OtherReader
from assistant.logs.doubts import taking_turns
from assistant.logs.stream import Source
from assistant.logs.verl_console import ConsoleReader
from assistant.run import NO_STEP, Note, Run, Style

_OURS = ("unknown", "verl", "verl-sft")
_KEY_AND_NUMBER = re.compile(rb"(?<![\w/.\-])[A-Za-z_][\w/.\-]{0,80}[\"']?\s?[:=|]\s{0,20}[\"']?-?\d")


def notes_of(run: Run, reader: AnyReader, source: Source, head: bytes) -> list[Note]:
    """Notes in the order of importance; ``head`` is the beginning of the log (empty when there is nothing but white space)."""
    notes: list[Note] = []

    def note(kind: str, line: int | None = None, **data: Any) -> None:
        notes.append(Note(kind, line, data))

    if not run.n_rows:
        kind = _nothing_read(run, source, head)
        if kind == "other-framework":
            note(kind, framework=run.framework)
        else:
            note(kind)
    if source.cut_archive:
        note("cut-archive")
    if source.encoding.startswith("utf-16"):
        note("encoding", encoding=source.encoding)
    if len(run.segments) > 1:
        note("restarted", run.segments[1].first_line, n=len(run.segments))
    repeated = _repeated(run)
    if repeated is not None:
        note("repeated-steps", repeated[0], n=repeated[1])
    if run.framework in _OURS and (changed := _printing_changes(run)) is not None:
        note("version-change", changed)
    lines = reader.reader if isinstance(reader, OtherReader) else reader
    if isinstance(reader, OtherReader):
        if reader.reader.counted:
            note("numbered-records", n=run.n_records)
            if (turns := taking_turns(run.columns, run.row_lines)) is not None:
                note("taking-turns", turns[1], metric=turns[0])
        if reader.text is not None and reader.text.log.dropped:
            note("events-dropped", n=reader.text.log.dropped)
        for kind, line, data in reader.reader.notes:
            note(kind, line, **data)
    if lines.cut_lines:
        note("cut-line", lines.cut_lines[-1], n=len(lines.cut_lines))
    if isinstance(reader, ConsoleReader):
        if (mixed := reader.mixed) is not None:
            names = ", ".join(mixed.others[:3]) + (" …" if len(mixed.others) > 3 else "")
            note("mixed-runs", mixed.first_line, n=len(mixed.others), read=mixed.read, rows=mixed.n_read, others=names)
        if reader.wrapped_lines:
            note("wrapped-lines", reader.wrapped_lines[0], n=len(reader.wrapped_lines))
        if reader.doubtful_lines:
            note("doubtful-lines", reader.doubtful_lines[0], n=len(reader.doubtful_lines))
        if reader.text.log.dropped:
            note("events-dropped", n=reader.text.log.dropped)
    elif not isinstance(lines, ConsoleReader) and lines.nulls:
        note("null-values", lines.first_null, n=sum(lines.nulls.values()), metrics=", ".join(sorted(lines.nulls)[:5]))
    if run.unread_lines:
        note("unread-lines", run.unread_samples[0][0] if run.unread_samples else None, n=run.unread_lines)
    return notes


def _nothing_read(run: Run, source: Source, head: bytes) -> str:
    """Why there are no metrics: ``empty``, ``binary``, ``other-framework``, ``prose`` or ``no-metrics``."""
    if not head.strip():
        return "empty"
    if source.binary:
        return "binary"
    if run.framework not in _OURS:
        return "other-framework"
    nothing = not run.config and not run.events and run.framework == "unknown"
    return "prose" if nothing and len(_KEY_AND_NUMBER.findall(head)) < 3 else "no-metrics"


def _repeated(run: Run) -> tuple[int, int] | None:
    """First line and number of steps that a later stretch of the log prints again."""
    if len(run.segments) < 2:
        return None
    again = 0
    first = None
    highest = run.segments[0].last_step
    for segment in run.segments[1:]:
        if segment.first_step <= highest:
            rows = run.row_steps[segment.first_row : segment.last_row + 1]
            again += len(np.unique(rows[(rows != NO_STEP) & (rows <= highest)]))
            first = first or segment.first_line
        highest = max(highest, segment.last_step)
    return (first, again) if first and again else None


def _printing_changes(run: Run) -> int | None:
    """Line from which on numbers are printed another way (three decimals, then in full): another version went on."""
    for column in run.columns.values():
        fixed = column.styles == Style.FIXED3
        full = (column.styles == Style.REPR) | (column.styles == Style.NUMPY)
        if len(fixed) < 6 or not fixed.any() or not full.any():
            continue
        change = int(np.flatnonzero(fixed[1:] != fixed[:-1])[0]) + 1
        before, after = fixed[:change], fixed[change:]
        if change >= 3 and len(after) >= 3 and before.all() != after.all() and (after.all() or full[change:].all()):
            return int(run.row_lines[column.rows[change]])
    return None
