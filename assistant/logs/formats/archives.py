"""Zip and tar archives of a run's files, also packed with gzip or zstd. Nothing is written outside a temporary folder.

Only files that can belong to a run are unpacked, under names made safe, up to a total size and number; links and devices
are passed over. An archive in an archive is unpacked, one in that is left out (and counted).
"""

from __future__ import annotations

import io
import os
import re
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import IO, Any

from assistant.logs.files.folder_files import kind_of
from assistant.logs.files.source import Pieces
from assistant.run import Note, Run

MAX_BYTES = 2 << 30
MAX_FILES = 5000
MAX_MEMBERS = 100_000
_MAX_RATIO = 2000
_PIECE = 1 << 20
_MAX_EMPTY = 100
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_MLFLOW = re.compile(r"(?:^|/)(?:metrics|params)/[^.]+$")
_NESTED = re.compile(r"\.(?:zip|tar|tgz|tar\.gz|tar\.zst)$", re.IGNORECASE)
_UNSAFE = re.compile(r"[^\w.@%+=,()\[\] \-]")


def _is_tar(head: bytes) -> bool:
    return head[257:262] == b"ustar"


def _unpacked_head(head: bytes) -> bytes:
    """The first bytes inside a packed head."""
    if head.startswith(_GZIP):
        with suppress(zlib.error):
            return zlib.decompressobj(31).decompress(head, 1024)
    if head.startswith(_ZSTD):
        import zstandard

        with suppress(zstandard.ZstdError):
            return zstandard.ZstdDecompressor().decompressobj().decompress(head)[:1024]
    return b""


class Unpacked:
    """Files of an archive as they come out; ``left_out`` counts those that were not taken, ``damaged`` says it broke off."""

    def __init__(self, folder: Path, within: Unpacked | None = None) -> None:
        self.folder = folder
        self.left_out = 0
        self.damaged = False
        self._within = within
        self._size: int = within._size if within else 0
        self._files: int = within._files if within else 0

    def take(self, name: str, size: int, opened: Callable[[], IO[bytes] | None], changed: float | None = None) -> None:
        """Writes a member when it can belong to a run and the limits allow it."""
        safe = safe_path(name)
        if safe is not None and _NESTED.search(safe.name):
            self._archive(safe, size, opened)
            return
        if safe is None or not (kind_of(safe.name) or _MLFLOW.search(safe.as_posix())):
            return
        if self._files >= MAX_FILES or self._size + size > MAX_BYTES:
            self.left_out += 1
            return
        stream = opened()
        if stream is None:
            return
        path = self.folder.joinpath(*safe.parts)
        if path.exists() or any(parent.is_file() for parent in path.parents if parent.is_relative_to(self.folder)):
            self.left_out += 1
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        self._files += 1
        with stream, path.open("wb") as file:
            while piece := stream.read(_PIECE):  # sizes that an archive tells are not to be trusted
                self._size += len(piece)
                if self._size > MAX_BYTES:
                    self.left_out += 1
                    break
                file.write(piece)
        if changed:
            with suppress(OSError, OverflowError, ValueError):
                os.utime(path, (changed, changed))

    def _archive(self, safe: PurePosixPath, size: int, opened: Callable[[], IO[bytes] | None]) -> None:
        """Unpacks an archive that lies in this one into a folder of its name."""
        stream = opened() if self._within is None and self._files < MAX_FILES and self._size + size <= MAX_BYTES else None
        if stream is None:
            self.left_out += 1
            return
        with tempfile.TemporaryFile() as file, stream:
            while piece := stream.read(_PIECE):
                self._size += len(piece)
                if self._size > MAX_BYTES:
                    self.left_out += 1
                    return
                file.write(piece)
            file.seek(0)
            head = file.read(1024)
            file.seek(0)
            inner = Unpacked(self.folder.joinpath(*safe.parent.parts, _NESTED.sub("", safe.name) or "archive"), self)
            if head.startswith(_ZIP):
                unpack_zip(file, inner)
            elif _is_tar(head) or _is_tar(_unpacked_head(head)):
                unpack_tar(_Stream(_plain(iter(lambda: file.read(_PIECE), b""), head)), inner)
            else:
                self.left_out += 1
        self._size, self._files = inner._size, inner._files
        self.left_out += inner.left_out
        self.damaged = self.damaged or inner.damaged


def safe_path(name: str) -> PurePosixPath | None:
    """A member's path without what could lead out of the folder; None for a name that is nothing but that."""
    parts = [_UNSAFE.sub("_", part)[:120].rstrip(". ") for part in name.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    parts = [part for part in parts if part][-12:]
    return PurePosixPath(*parts) if parts else None


def unpack_zip(file: IO[bytes], out: Unpacked) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist()[:MAX_MEMBERS]:
                link = (info.external_attr >> 16) & 0o170000 == 0o120000
                if info.is_dir() or link:
                    continue
                if info.flag_bits & 1 or info.file_size > _MAX_RATIO * max(info.compress_size, 1000):
                    out.left_out += 1
                    continue
                try:
                    out.take(info.filename, info.file_size, lambda info=info: archive.open(info), _zip_time(info))  # type: ignore[misc]
                except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, OSError):
                    out.damaged = True
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
        out.damaged = True


def _zip_time(info: zipfile.ZipInfo) -> float | None:
    with suppress(ValueError, OverflowError):
        return time.mktime((*info.date_time, 0, 0, -1))
    return None


def unpack_tar(file: Any, out: Unpacked) -> None:
    """A tar as a stream, from front to back, so that what stands before a damage is read."""
    try:
        with tarfile.open(fileobj=file, mode="r|") as archive:
            for n, member in enumerate(archive):
                if n >= MAX_MEMBERS:
                    out.left_out += 1
                    break
                if member.isreg():
                    out.take(member.name, member.size, lambda member=member: archive.extractfile(member), member.mtime)  # type: ignore[misc]
    except (tarfile.TarError, EOFError, OSError, zlib.error, ValueError):
        out.damaged = True


class _Stream:
    """Blocks as a file that can only be read forwards."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._left = b""
        self._empty = 0

    def read(self, size: int) -> bytes:
        pieces = [self._left]
        held = len(self._left)
        while held < size and (piece := next(self._blocks, None)) is not None:
            pieces.append(piece)
            held += len(piece)
        data = b"".join(pieces)
        self._empty += not data
        if self._empty > _MAX_EMPTY:  # a damaged header tells of a member without end, and tarfile would look for it for hours
            raise EOFError
        self._left = data[size:]
        return data[:size]


def _plain(pieces: Iterable[bytes], head: bytes) -> Iterator[bytes]:
    """The pieces without gzip or zstd around them."""
    if head.startswith(_GZIP):
        unpacker = zlib.decompressobj(31)
        for piece in pieces:
            while piece:
                yield unpacker.decompress(piece, _PIECE)
                if unpacker.eof:
                    piece = unpacker.unused_data
                    unpacker = zlib.decompressobj(31)
                else:
                    piece = unpacker.unconsumed_tail
    elif head.startswith(_ZSTD):
        import zstandard

        unzstd = zstandard.ZstdDecompressor().decompressobj()
        for piece in pieces:
            for start in range(0, len(piece), 1 << 16):
                try:
                    yield unzstd.decompress(piece[start : start + (1 << 16)])
                except zstandard.ZstdError as error:
                    raise EOFError from error
    else:
        yield from pieces


class Archive:
    name = "archive"
    shape = "archive"
    frameworks: Sequence[str] = ("generic",)

    def claims(self, path: Path | None, head: bytes) -> str:
        if head.startswith(_ZIP):
            return "zip archive"
        if _is_tar(head) or _is_tar(_unpacked_head(head)):
            return "tar archive"
        return ""

    def open(self, source: Path | bytes, progress: Callable[[int], None] | None = None) -> Run:
        from assistant.logs.formats.folders import read_folder
        from assistant.logs.reader import read

        pieces = Pieces(source, progress)
        with tempfile.TemporaryDirectory(prefix="runwhy-") as folder:
            out = Unpacked(Path(folder))
            head = source[:1024] if isinstance(source, bytes) else _head(source)
            if head.startswith(_ZIP):
                self._zip(source, pieces, out)
            else:
                unpack_tar(_Stream(_plain(pieces, head)), out)
            files = [path for path in Path(folder).rglob("*") if path.is_file()]
            single = len(files) == 1 and kind_of(files[0].name)
            run = read(files[0]) if single else read_folder(Path(folder))
        notes = []
        if out.damaged:
            notes.append(Note("cut-archive"))
        if out.left_out:
            notes.append(Note("archive-left-out", data={"n": out.left_out}))
        run.notes = [*notes, *run.notes]
        return pieces.sign(run)

    def _zip(self, source: Path | bytes, pieces: Pieces, out: Unpacked) -> None:
        for _ in pieces:
            pass
        with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
            unpack_zip(file, out)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(1024)


FORMATS = (Archive(),)
