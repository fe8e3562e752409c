"""Lines of a log file by number, read when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from assistant.run import SourceLine


def lines_of(path: str | Path) -> Callable[[int, int], Sequence[SourceLine]]:
    """A function (first, last) → lines of the file (plain or packed), 1-based, last included; nothing when it cannot be read."""

    def read(first: int, last: int) -> Sequence[SourceLine]:
        from assistant.logs.stream import Source

        out: list[SourceLine] = []
        at = 0
        try:
            for block, _ in Source(Path(path)).blocks():
                n = block.count(b"\n")
                if at + n + 1 >= first:
                    for offset, line in enumerate(block.split(b"\n")):
                        if first <= at + offset + 1 <= last:
                            out.append(SourceLine(at + offset + 1, line.decode("utf-8", "replace").rstrip("\r")))
                at += n
                if at >= last:
                    break
        except OSError:
            return ()
        return out

    return read
