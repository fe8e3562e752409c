"""How well a reader does on the head of a log: it is let loose on a part of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assistant.logs.formats.base import BlockReader, Fit, Head
from assistant.run import NO_STEP

_PART = 48 << 10


def score_lines(head: Head, marks: Sequence[bytes], reader: Callable[[], BlockReader], what: str) -> Fit:
    """For formats whose lines stand alone: tries the lines that hold one of ``marks``."""
    lines = head.lines_with(marks)
    return _score(b"\n".join(lines) + b"\n", len(lines), reader, what) if lines else Fit()


def score_parts(head: Head, marks: Sequence[bytes], reader: Callable[[], BlockReader], what: str) -> Fit:
    """For formats whose lines belong together: tries stretches from the first line with a mark on, and from the middle."""
    block = head.block
    first = min((at for mark in marks if (at := block.find(mark)) >= 0), default=-1)
    if first < 0:
        return Fit()
    start = max(block.rfind(b"\n", 0, first) + 1, 0)
    start = block.rfind(b"\n", 0, max(start - 1, 0)) + 1  # the line before may be a banner
    parts = [block[start : start + _PART]]
    if len(block) - start > 3 * _PART:
        middle = block.find(b"\n", (start + len(block)) // 2) + 1
        parts.append(block[middle : middle + _PART])
    text = b"\n".join(parts)
    tried = sum(1 for line in text.split(b"\n") if any(mark in line for mark in marks))
    return _score(text, tried, reader, what)


def _score(text: bytes, tried: int, make: Callable[[], BlockReader], what: str) -> Fit:
    reader = make()
    reader.feed(text, True)
    reader.finish()
    table = reader.table
    lines = len(set(table.lines))
    values = sum(layout.n * len(layout.keys) for layout in table.layouts.values())
    if not reader.counted:  # a step that is printed is a number that was read
        values += len({step for step in table.steps if step != NO_STEP})
    return Fit(min(lines, max(tried, 1)), max(tried, 1), values, what)
