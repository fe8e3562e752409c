"""Logs in a folder: each kept once by the hash of its bytes, packed, with lines that are found by number.

``ab/<sha256>.zst`` holds the bytes as they were given (a folder as a tar of the files that can belong to a run). Where these are
not plain text (packed, UTF-16, an archive), ``ab/<sha256>.txt.zst`` holds the lines that the readers count. ``.idx`` and
``.txt.idx`` say where lines begin. Names come from hashes only; nothing that a user wrote becomes a path here.
"""

from __future__ import annotations

import os
import re
import tarfile
import tempfile
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, Literal, cast

from assistant.run import Part
from assistant.sessions import frames
from assistant.sessions.frames import Damaged, Index
from assistant.sessions.parts import files_of, text_pieces
from assistant.sessions.session import Lines

Kind = Literal["bytes", "file", "folder"]
PIECE = 4 << 20
_HASH = re.compile(r"[0-9a-f]{64}")
_UNSAFE = re.compile(r"[^\w.@%+=,()\[\] \-]")
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
_OPEN_INDEXES = 64


class TooLarge(ValueError):
    """The log is larger than what is kept."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A log in the folder: how it was given, the hash of its bytes, its size as given and on disk, in bytes."""

    sha256: str
    kind: Kind
    n_bytes: int
    n_stored: int


@dataclass(slots=True)
class Prepared:
    """A log's files under passing names; the last of ``moves`` says that the log is there."""

    stored: Stored
    moves: Sequence[tuple[Path, Path]]
    placed: bool = False

    def place(self) -> None:
        """Gives the files their names, one after the other; nothing when the log is there already."""
        log = self.moves[-1][1]
        try:
            if log.stat().st_size == self.stored.n_stored:
                return
        except FileNotFoundError:
            log.parent.mkdir(mode=0o700, exist_ok=True)
        for temporary, path in self.moves:
            os.replace(temporary, path)
        self.placed = True


class LogFolder:
    """Safe for several threads and processes: files appear whole, and the same log is the same file."""

    def __init__(self, folder: Path, *, largest: int = 4 << 30) -> None:
        self.folder = folder
        self.largest = largest
        for place in (*reversed(folder.parents), folder):  # what `parents=True` makes is open to others
            if not place.exists():
                place.mkdir(mode=0o700, exist_ok=True)
        self._indexes: OrderedDict[Path, Index] = OrderedDict()
        self._lock = Lock()

    # Writing

    def put(self, source: bytes | Path, parts: Sequence[Part] = (), n_lines: int = 0) -> Stored:
        """Keeps the source; see `prepared`."""
        with self.prepared(source, parts, n_lines) as ready:
            ready.place()
            return ready.stored

    @contextmanager
    def prepared(self, source: bytes | Path, parts: Sequence[Part] = (), n_lines: int = 0) -> Iterator[Prepared]:
        """The source packed and on disk, to be put in its place; ``parts`` and ``n_lines`` are those of the run that was read from it.

        `Prepared.place` and `remove` of the same log must not happen at once: the caller holds a lock. Raises TooLarge and OSError.
        """
        kind: Kind = "bytes" if isinstance(source, bytes) else "folder" if source.is_dir() else "file"
        with ExitStack() as stack:
            log = stack.enter_context(self._temporary())
            pieces = _folder_pieces(source) if isinstance(source, Path) and kind == "folder" else _pieces(source)
            with log.open("wb") as file:
                written = frames.write(_limited(pieces, self.largest), file)
                _sync(file)
            base = self._base(written.sha256)
            moves: list[tuple[Path, Path]] = []
            if kind == "folder" or not _plain(_head(source)):
                text = stack.enter_context(self._temporary())
                with text.open("wb") as file:
                    lines = frames.write(text_pieces(source, parts, n_lines), file)
                    _sync(file)
                moves += [(self._index_file(lines.index, stack), base.with_suffix(".txt.idx")), (text, base.with_suffix(".txt.zst"))]
            moves.append((self._index_file(written.index, stack), base.with_suffix(".idx")))
            moves.append((log, base.with_suffix(".zst")))
            ready = Prepared(Stored(written.sha256, kind, written.index.n_bytes, written.n_stored), moves)
            yield ready
            if ready.placed:  # the names are on the disk, too; not under the caller's lock, it takes a while
                _sync_folder(base.parent)

    def _index_file(self, index: Index, stack: ExitStack) -> Path:
        path = stack.enter_context(self._temporary())
        with path.open("wb") as file:
            file.write(index.to_bytes())
            _sync(file)
        return path

    @contextmanager
    def _temporary(self) -> Iterator[Path]:
        """A file of our own beside the others, gone afterwards unless it was given its name."""
        number, name = tempfile.mkstemp(dir=self.folder, prefix="new-")
        os.close(number)
        path = Path(name)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    # Reading

    def has(self, sha256: str) -> bool:
        return self._base(sha256).with_suffix(".zst").exists()

    def lines(self, sha256: str, first: int, last: int) -> Lines:
        """Lines of the log, by number; none when it has none. Raises Damaged."""
        path, index = self._text(sha256)
        return frames.lines(path, index, first, last)

    def search(self, sha256: str, words: str, first: int = 1, limit: int = 200) -> tuple[list[int], bool]:
        path, index = self._text(sha256)
        return frames.search(path, index, words, first, limit)

    @contextmanager
    def opened(self, sha256: str, kind: Kind, name: str = "") -> Iterator[bytes | Path]:
        """The source as it was given: its bytes, or a file or folder called ``name`` that is gone afterwards. Raises Damaged."""
        path = self._base(sha256).with_suffix(".zst")
        pieces = frames.unpacked(path, self._index(path))
        if kind == "bytes":
            yield b"".join(pieces)
            return
        with tempfile.TemporaryDirectory(prefix="runwhy-") as folder:
            place = Path(folder) / safe_name(name)
            if kind == "file":
                with place.open("wb") as file:
                    file.writelines(pieces)
            else:
                _unpack(pieces, place)
            yield place

    def _text(self, sha256: str) -> tuple[Path, Index]:
        base = self._base(sha256)
        path = base.with_suffix(".txt.zst")
        if not path.exists():
            path = base.with_suffix(".zst")
        return path, self._index(path)

    def _index(self, path: Path) -> Index:
        with self._lock:
            if index := self._indexes.get(path):
                self._indexes.move_to_end(path)
                return index
        try:
            index = Index.from_bytes(path.with_suffix(".idx").read_bytes())
        except FileNotFoundError as error:
            raise Damaged(path.name) from error
        with self._lock:
            self._indexes[path] = index
            while len(self._indexes) > _OPEN_INDEXES:
                self._indexes.popitem(last=False)
        return index

    # Removing

    def remove(self, sha256: str) -> None:
        base = self._base(sha256)
        for suffix in (".zst", ".txt.zst", ".idx", ".txt.idx"):  # the first one says that the log is there
            base.with_suffix(suffix).unlink(missing_ok=True)
            with self._lock:
                self._indexes.pop(base.with_suffix(suffix), None)

    def hashes(self) -> Iterator[tuple[str, float]]:
        """(hash, time of the last change) of every file that is stored, complete or not."""
        for path in self.folder.glob("??/*"):
            sha256 = path.name.partition(".")[0]
            if _HASH.fullmatch(sha256):
                with suppress(FileNotFoundError):
                    yield sha256, path.stat().st_mtime

    def remove_leftovers(self, before: float) -> None:
        """Files that were begun before this time and never finished: their process died."""
        for path in self.folder.glob("new-*"):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < before:
                    path.unlink()

    def _base(self, sha256: str) -> Path:
        if not _HASH.fullmatch(sha256):
            raise ValueError("not a hash")
        return self.folder / sha256[:2] / sha256


def safe_name(name: str) -> str:
    """The last part of a path as a file name that leads nowhere; its ending is kept, formats are told by it."""
    last = _UNSAFE.sub("_", name.replace("\\", "/").rstrip("/").rpartition("/")[2]).lstrip(". ")
    return last if 0 < len(last) <= 120 else last[:60] + last[-60:] if last else "log"


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _pieces(source: bytes | Path) -> Iterator[bytes]:
    with BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece


def _limited(pieces: Iterable[bytes], largest: int) -> Iterator[bytes]:
    n_bytes = 0
    for piece in pieces:
        n_bytes += len(piece)
        if n_bytes > largest:
            raise TooLarge(f"more than {largest} bytes")
        yield piece


def _head(source: bytes | Path) -> bytes:
    with BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        return file.read(2 << 20)


def _plain(head: bytes) -> bool:
    """Whether the readers count the lines of these bytes as they stand."""
    from assistant.logs.stream import Source

    if head.startswith(_PACKED) or b"\x00" in head[: 64 << 10] or (b"\n" not in head and head.count(b"\r") > 2):
        return False
    stream = Source(head)
    for _ in stream.blocks():
        break
    return stream.encoding == "utf-8" and not stream.binary


def _folder_pieces(folder: Path) -> Iterator[bytes]:
    """A tar of what the folder readers look at, in a fixed order; links are left out."""
    for path in files_of(folder):
        try:
            file = path.open("rb")
        except OSError:
            continue
        with file:
            about = tarfile.TarInfo(path.relative_to(folder).as_posix())
            status = os.fstat(file.fileno())
            about.size, about.mtime, about.mode = status.st_size, status.st_mtime, 0o600
            yield about.tobuf(tarfile.PAX_FORMAT, errors="surrogateescape")
            left = about.size
            while left and (piece := file.read(min(PIECE, left))):
                left -= len(piece)
                yield piece
            yield bytes(left + -about.size % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)


def _unpack(pieces: Iterator[bytes], folder: Path) -> None:
    from assistant.logs.formats.archives import _Stream

    folder.mkdir()
    try:
        with tarfile.open(fileobj=cast(Any, _Stream(pieces)), mode="r|") as archive:
            archive.extractall(folder, filter="data")
    except tarfile.TarError as error:
        raise Damaged("folder") from error
