"""The lines that the readers count in what is no plain text file: packed logs, UTF-16, archives and folders of several files."""

from __future__ import annotations

import io
import logging
import os
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import zstandard

from assistant.run import Part

log = logging.getLogger(__name__)

_MOST_FILES = 5000
_MOST_BYTES = 2 << 30


def files_of(folder: Path) -> list[Path]:
    """The files of a folder that can belong to a run, as its readers choose them; no links, at most 5000 and 2 GiB."""
    from assistant.logs.files.folder_files import sources_in

    chosen: list[Path] = []
    for source in sources_in(folder):
        if source.kind != "mlflow":
            chosen.append(source.path)
            continue
        for place in (source.path, source.path.parent / "params"):
            for base, _, names in os.walk(place):
                chosen += [Path(base) / name for name in names]
    kept: list[Path] = []
    n_bytes = 0
    for path in sorted(set(chosen))[:_MOST_FILES]:
        if path.is_symlink() or not path.is_file():
            continue
        n_bytes += path.stat().st_size
        if n_bytes > _MOST_BYTES:
            break
        kept.append(path)
    return kept


def text_pieces(source: bytes | Path, parts: Sequence[Part], n_lines: int) -> Iterator[bytes]:
    """The text whose lines a run's line numbers mean, up to where a damaged file can be read; nothing for what has no lines."""
    try:
        yield from _pieces(source, parts, n_lines)
    except (OSError, EOFError, ValueError, RuntimeError, zlib.error, zstandard.ZstdError) as error:
        log.info("lines of a damaged log: %s", type(error).__name__)


def _pieces(source: bytes | Path, parts: Sequence[Part], n_lines: int) -> Iterator[bytes]:
    if isinstance(source, Path) and source.is_dir():
        yield from _of_folder(source, parts, n_lines)
    elif _is_archive(source):
        with tempfile.TemporaryDirectory(prefix="runwhy-") as place:
            folder = Path(place)
            _unpack(source, folder)
            yield from _of_folder(folder, parts, n_lines)
    else:
        yield from _text(source)


def _text(source: bytes | Path) -> Iterator[bytes]:
    from assistant.logs.stream import Source

    stream = Source(source)
    for block, _ in stream.blocks():
        if stream.binary or b"\x00" in block[: 64 << 10]:
            return
        yield block


def _of_folder(folder: Path, parts: Sequence[Part], n_lines: int) -> Iterator[bytes]:
    files = files_of(folder)
    if not parts:
        if path := _single(files, n_lines):
            yield from _text(path)
        return
    for part in parts:  # each part's lines follow those of the part before it, also when a file of it has none
        path = _named(files, folder, part.name)
        yield from _first_lines(_text(path) if path else iter(()), part.n_lines)


def _first_lines(blocks: Iterator[bytes], n_lines: int) -> Iterator[bytes]:
    """Exactly so many lines of the blocks, each with its end; empty ones for those that are missing."""
    left = n_lines
    for block in blocks:
        ends = block.count(b"\n")
        if ends >= left:
            yield b"".join(line + b"\n" for line in block.split(b"\n", left)[:left])
            return
        yield block
        left -= ends
    yield b"\n" * left


def _named(files: Sequence[Path], folder: Path, name: str) -> Path | None:
    """The file that a part names relative to its run's folder, which may lie below this one: the least deep."""
    hits = [path for path in files if f"/{path.relative_to(folder).as_posix()}".endswith(f"/{name}")]
    return min(hits, key=lambda path: len(path.parts), default=None)


def _single(files: Sequence[Path], n_lines: int) -> Path | None:
    """The one file that a run was read from, when its number of lines gives it away."""
    hits = [path for path in files if n_lines and _count(path) == n_lines]
    return hits[0] if len(hits) == 1 else None


def _count(path: Path) -> int:
    ends, last = 0, b"\n"
    for block in _text(path):
        ends += block.count(b"\n")
        last = block[-1:] or last
    return ends + (last != b"\n")


def _is_archive(source: bytes | Path) -> bool:
    from assistant.logs.formats.archives import Archive

    return bool(Archive().claims(None, _head(source)))


def _head(source: bytes | Path) -> bytes:
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        return file.read(64 << 10)


def _unpack(source: bytes | Path, folder: Path) -> None:
    from assistant.logs.files.source import Pieces
    from assistant.logs.formats.archives import _ZIP, Unpacked, _plain, _Stream, unpack_tar, unpack_zip

    out = Unpacked(folder)
    pieces = Pieces(source)
    head = _head(source)[:1024]
    if not head.startswith(_ZIP):
        unpack_tar(_Stream(_plain(pieces, head)), out)
        return
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        unpack_zip(file, out)
