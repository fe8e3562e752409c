"""Text in a zstd file of many small frames, with an index of where lines begin: any line is found by unpacking one frame.

The file is an ordinary ``.zst``; each frame holds 1 MiB of the text, whatever lines it cuts.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import orjson
import zstandard

from assistant.run import SourceLine
from assistant.sessions.session import Lines

FRAME = 1 << 20
LEVEL = 3
MOST_LINES = 5000
MOST_BYTES = 2_000_000
LONGEST = 20_000
"""Bytes of a line that are handed out."""


class Damaged(OSError):
    """What is stored cannot be read back."""


@dataclass(frozen=True, slots=True)
class Index:
    """Per frame: where it starts in the file, its packed size, and how many line ends stand before it. ``total`` counts lines."""

    starts: Sequence[int]
    sizes: Sequence[int]
    ends_before: Sequence[int]
    n_bytes: int
    total: int

    def to_bytes(self) -> bytes:
        return orjson.dumps([list(self.starts), list(self.sizes), list(self.ends_before), self.n_bytes, self.total])

    @classmethod
    def from_bytes(cls, data: bytes) -> Index:
        try:
            return cls(*orjson.loads(data))
        except (orjson.JSONDecodeError, TypeError) as error:
            raise Damaged("index") from error


@dataclass(frozen=True, slots=True)
class Written:
    index: Index
    sha256: str
    n_stored: int


def write(pieces: Iterable[bytes], file: BinaryIO) -> Written:
    """Writes the pieces, in frames, and tells how to find lines again; ``sha256`` is of the pieces, unpacked."""
    packer = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
    digest = hashlib.sha256()
    starts: list[int] = []
    sizes: list[int] = []
    ends_before: list[int] = []
    at = ends = n_bytes = 0
    last = b"\n"
    for frame in _frames(pieces):
        packed = packer.compress(frame)
        digest.update(frame)
        starts.append(at)
        sizes.append(len(packed))
        ends_before.append(ends)
        file.write(packed)
        at += len(packed)
        ends += frame.count(b"\n")
        n_bytes += len(frame)
        last = frame[-1:]
    total = ends + (last != b"\n")
    return Written(Index(starts, sizes, ends_before, n_bytes, total), digest.hexdigest(), at)


def _frames(pieces: Iterable[bytes]) -> Iterator[bytes]:
    held = bytearray()
    for piece in pieces:
        held += piece
        at = 0
        while len(held) - at >= FRAME:
            yield bytes(held[at : at + FRAME])
            at += FRAME
        del held[:at]
    if held:
        yield bytes(held)


def unpacked(path: Path, index: Index, first_frame: int = 0) -> Iterator[bytes]:
    """The frames' texts from ``first_frame`` on. Raises Damaged."""
    unpacker = zstandard.ZstdDecompressor()
    try:
        with path.open("rb") as file:
            if first_frame < len(index.starts):
                file.seek(index.starts[first_frame])
            for size in index.sizes[first_frame:]:
                yield unpacker.decompress(file.read(size), max_output_size=FRAME)
    except (zstandard.ZstdError, FileNotFoundError) as error:
        raise Damaged(str(path.name)) from error


def lines(path: Path, index: Index, first: int, last: int) -> Lines:
    """Lines ``first`` to ``last`` (1-based, last included), as far as the limits of this module let a call go."""
    first = max(first, 1)
    wanted, last = last, min(last, index.total)
    last = min(last, first + MOST_LINES - 1)
    if first > last:
        return Lines((), index.total)
    cut = min(wanted, index.total) > last
    frame = max(bisect_right(index.ends_before, first - 2) - 1, 0)
    found: list[SourceLine] = []
    given = 0
    for number, text, shortened in _numbered(unpacked(path, index, frame), index.ends_before[frame] + 1, first, last):
        cut |= shortened
        if given + len(text) > MOST_BYTES and found:
            cut = True
            break
        given += len(text)
        found.append(SourceLine(number, shown(text)))
    return Lines(tuple(found), index.total, cut)


def _numbered(chunks: Iterable[bytes], number: int, first: int, last: int) -> Iterator[tuple[int, bytes, bool]]:
    """(number, line, whether it was cut) of the lines first–last; ``number`` is that of the line in which the chunks begin."""
    held = b""
    cut = False
    for chunk in chunks:
        parts = chunk.split(b"\n")
        for part in parts[:-1]:
            if number >= first:
                line = held + part
                yield number, line[:LONGEST], cut or len(line) > LONGEST
            held, cut = b"", False
            number += 1
            if number > last:
                return
        if number >= first:
            held += parts[-1][: LONGEST + 1]
            if len(held) > LONGEST:
                held, cut = held[:LONGEST], True
    if held or number <= last:
        yield number, held, cut


def shown(line: bytes) -> str:
    """A line as the readers see it: non-breaking spaces are spaces, the carriage return before the end is none of it."""
    return line.replace(b"\xc2\xa0", b" ").decode("utf-8", "replace").rstrip("\r")


def search(path: Path, index: Index, words: str, first: int, limit: int) -> tuple[list[int], bool]:
    """Numbers of lines from ``first`` on that hold ``words`` (in any case), at most ``limit``, and whether there may be more."""
    needle = words.lower().encode("utf-8", "replace")
    if not needle or first > index.total:
        return [], False
    frame = max(bisect_right(index.ends_before, first - 2) - 1, 0)
    number = index.ends_before[frame] + 1
    found: list[int] = []
    held = b""
    for chunk in unpacked(path, index, frame):
        text = held + chunk
        cut = text.rfind(b"\n") + 1
        if not cut and len(text) < (16 << 20):
            held = text
            continue
        cut = cut or len(text)
        number = _hits(text[:cut], needle, number, first, found, limit)
        held = text[cut:]
        if len(found) > limit:
            return found[:limit], True
    _hits(held, needle, number, first, found, limit)
    return found[:limit], len(found) > limit


def _hits(text: bytes, needle: bytes, number: int, first: int, found: list[int], limit: int) -> int:
    """Adds the lines of ``text`` that hold ``needle``; returns the number of the line after it."""
    lower = text.lower() if needle.isascii() else text.decode("utf-8", "replace").lower().encode()
    at = counted = 0
    while len(found) <= limit and (at := lower.find(needle, at)) >= 0:
        number += lower.count(b"\n", counted, at)
        counted = at
        if number >= first:
            found.append(number)
        end = lower.find(b"\n", at)
        at = end if end >= 0 else len(lower)
    return number + lower.count(b"\n", counted)
