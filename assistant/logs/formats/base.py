"""What a log format is, and what a reader of one hands out.

A *text format* reads a stream of blocks of lines (a paste, a file, standard input). A *file format* opens what it reads
itself: a folder, a database, a binary file, an archive. A module of this package, or an entry point of the group
``runwhy.formats``, offers its formats in ``FORMATS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from assistant.logs.columns import Table
from assistant.run import Run

SPECIFIC, FAMILY, GENERIC = 0, 1, 2
"""``rank`` of a format: one framework's own lines, lines that a family of frameworks prints, anything with names and numbers."""

_SAMPLE_LINES = 1500
_MAX_HITS = 240
_MAX_FOUND = 4000
_BEFORE_MARK, _AFTER_MARK = 2048, 16_384


@dataclass(frozen=True, slots=True)
class Sample:
    """A few lines as the format prints them, and the records that must be read back from them.

    ``records``: one mapping a record, ``{"step": 5 or None, "values": {"loss": 0.1, "kl": "nan"}}`` as in `Run.records`
    (values that are not named there may be read as well).
    """

    text: str
    records: Sequence[Mapping[str, Any]]
    framework: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Fit:
    """How well a format fits: of ``tried`` lines with its marks ``lines`` were read, with ``values`` numbers in all."""

    lines: int = 0
    tried: int = 0
    values: int = 0
    why: str = ""

    @property
    def share(self) -> float:
        return self.lines / self.tried if self.tried else 0.0


@dataclass(frozen=True, slots=True)
class Tried:
    """A format that was tried on a log, how far it got, and whether it was chosen."""

    format: str
    fit: Fit
    chosen: bool = False


class Head:
    """What detection looks at: the first block of a log (whole lines, but perhaps the last), and its name when it has one."""

    def __init__(self, block: bytes, *, name: str = "", final: bool = True) -> None:
        self.block = block
        self.name = name
        self.final = final
        """Whether the block is the whole log."""

    def lines(self) -> list[bytes]:
        """Lines from the start, the middle and the end of the block, without line ends."""
        lines = self.block.split(b"\n")
        if len(lines) <= _SAMPLE_LINES:
            return lines
        part, middle = _SAMPLE_LINES // 3, len(lines) // 2
        return lines[:part] + lines[middle - part // 2 : middle + part // 2] + lines[-part:]

    def lines_with(self, marks: Iterable[bytes], limit: int = _MAX_HITS) -> list[bytes]:
        """The lines of the whole block that hold one of ``marks``: all of them, or ``limit`` spread from start to end.

        Of a very long line only what surrounds the mark.
        """
        block = self.block
        places: dict[int, int] = {}  # start of a line → where its first mark stands
        for mark in marks:
            at = block.find(mark)
            n = 0
            while at >= 0 and n < _MAX_FOUND:
                start = block.rfind(b"\n", 0, at) + 1
                places[start] = min(places.get(start, at), at)
                n += 1
                end = block.find(b"\n", at)
                at = block.find(mark, end) if end >= 0 else -1
        chosen = sorted(places)
        if len(chosen) > limit:
            chosen = [chosen[i * len(chosen) // limit] for i in range(limit)]
        found = []
        for start in chosen:
            end = block.find(b"\n", start)
            end = end if end >= 0 else len(block)
            at = places[start]
            found.append(block[max(start, at - _BEFORE_MARK) : min(end, at + _AFTER_MARK)])
        return found


class Reader(Protocol):
    """Takes a log block by block and fills ``table``; what it noticed becomes the notes of the run."""

    table: Table
    unread: int
    samples: list[tuple[int, str]]
    cut_lines: list[int]

    def feed(self, block: bytes, final: bool) -> int:
        """Reads a block that ends with a line's end (or with the log, ``final``); returns how many bytes are done.

        What is left must stand at the start of the next block; with ``final`` nothing may be left.
        """
        ...


@dataclass(slots=True)
class BlockReader:
    """Fields that the readers of this package share. ``line`` is the number of the next line to be read.

    ``counted``: the log prints no step, the records were numbered. ``notes``: further (kind, line, data) to be told.
    ``total_steps``: what a bar or a counter (``n/total``) announces. ``config``/``config_lines`` as in `Run`.
    """

    table: Table = field(default_factory=Table)
    line: int = 1
    unread: int = 0
    samples: list[tuple[int, str]] = field(default_factory=list)
    cut_lines: list[int] = field(default_factory=list)
    nulls: dict[str, int] = field(default_factory=dict)
    first_null: int | None = None
    counted: bool = False
    total_steps: int | None = None
    config: dict[str, Any] = field(default_factory=dict)
    config_lines: dict[str, int] = field(default_factory=dict)
    notes: list[tuple[str, int | None, dict[str, Any]]] = field(default_factory=list)

    def feed(self, block: bytes, final: bool) -> int:
        raise NotImplementedError

    def finish(self) -> None:
        """Called once after the last block, before the table is finished."""

    def skip(self, line: int, raw: bytes) -> None:
        """Counts a line that looks like metrics and could not be read."""
        self.unread += 1
        if len(self.samples) < 20:
            self.samples.append((line, raw[:200].decode("utf-8", "replace").strip()))


@runtime_checkable
class Format(Protocol):
    """A format of text. ``frameworks`` are those whose logs it reads, the first being meant when nothing else says which.

    ``console``: the words between the metrics (errors, settings, progress) are read as well; False for pure data.
    ``framework_of`` gets the metric names and the clues that the text holds (framework → first line).
    """

    name: str
    shape: str
    frameworks: Sequence[str]
    rank: int
    console: bool
    samples: Sequence[Sample]

    def score(self, head: Head) -> Fit: ...

    def reader(self) -> BlockReader: ...

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str: ...


@runtime_checkable
class FileFormat(Protocol):
    """A format that opens its source itself: folders, databases, binary files, archives.

    ``claims`` gets the path (None for bytes or a stream) and the first bytes (empty for a folder) and gives the reason for
    which the format takes it, or "". ``open`` gets a path or all bytes; it fills everything of the run but ``tried``.
    """

    name: str
    shape: str
    frameworks: Sequence[str]

    def claims(self, path: Path | None, head: bytes) -> str: ...

    def open(self, source: Path | bytes, progress: Callable[[int], None] | None = None) -> Run: ...
