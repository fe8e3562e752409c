"""Bytes of a log, whatever they are wrapped in: files, streams, gzip, zstd, UTF-16, a byte-order mark."""

from __future__ import annotations

import codecs
import hashlib
import io
import re
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

BLOCK = 2 << 20
SLICE = 8 << 10
LONGEST_LINE = 64 << 20
_BOMB_BYTES, _BOMB_RATIO = 1 << 30, 400
"""What grows beyond this size, and by more than this factor, is no log but made to fill a machine."""

_INVISIBLE = re.compile(b"\xe2\x80\x8b|\xe2\x81\xa0")
"""Zero-width space, word joiner."""

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class UnreadableLog(OSError):
    """The log could not be opened or unpacked. ``kind`` names the reason (``missing``, ``folder``, ``denied``, ``damaged``)."""

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(f"{kind}: {detail}" if detail else kind)
        self.kind = kind
        self.detail = detail


class Source:
    """Blocks of decoded bytes, each ending with a line's end (but the last); size, hash and what was noticed on the way."""

    def __init__(self, source: str | Path | bytes | BinaryIO, progress: Callable[[int], None] | None = None) -> None:
        self.n_bytes = 0
        self.cut_archive = False
        self.encoding = "utf-8"
        self.binary = False
        self._progress = progress
        self._hash = hashlib.sha256()
        self._pool: ThreadPoolExecutor | None = None
        self._hashing: Future[None] | None = None
        self._file = _open(source)
        self._size = _size(source)

    @property
    def share_read(self) -> float:
        """How much of the source has been read (0–1); 0 when its size is not known."""
        return self.n_bytes / self._size if self._size else 0.0

    @property
    def sha256(self) -> str:
        """Hash of the bytes as given (packed, when they were packed)."""
        if self._hashing is not None:
            self._hashing.result()
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        return self._hash.hexdigest()

    def blocks(self) -> Iterator[tuple[bytes, bool]]:
        """(block, whether it is the last). An empty source gives one empty block."""
        pieces: list[bytes] = []
        held = 0
        for data in self._decoded():
            cut = data.rfind(b"\n") + 1
            if not cut:
                pieces.append(data)
                held += len(data)
                if held < LONGEST_LINE:
                    continue
                cut = len(data)
                pieces.pop()
            pieces.append(data[:cut])
            yield _plain_spaces(b"".join(pieces) if len(pieces) > 1 else pieces[0]), False
            pieces = [data[cut:]] if cut < len(data) else []
            held = len(data) - cut
        yield _plain_spaces(b"".join(pieces)), True

    def _raw(self) -> Iterator[bytes]:
        with self._file as file:
            while data := file.read(BLOCK):
                self.n_bytes += len(data)
                self._digest(data)
                if self._progress is not None:
                    self._progress(self.n_bytes)
                yield data

    def _digest(self, data: bytes) -> None:
        if len(data) < BLOCK and self._pool is None:
            self._hash.update(data)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1)
        if self._hashing is not None:
            self._hashing.result()
        self._hashing = self._pool.submit(self._hash.update, data)

    def _decoded(self) -> Iterator[bytes]:
        raw = self._raw()
        first = next(raw, b"")
        if first.startswith(_GZIP):
            plain = self._gunzip(_chain(first, raw))
        elif first.startswith(_ZSTD):
            plain = self._unzstd(_chain(first, raw))
        else:
            plain = _chain(first, raw)
        start = next(plain, b"")
        if start.startswith(codecs.BOM_UTF8):
            start = start[3:]
            self.encoding = "utf-8-sig"
        if encoding := _utf16(start):
            self.encoding = encoding
            yield from _transcoded(_chain(start, plain), encoding)
            return
        self.binary = _is_binary(start)
        if b"\n" not in start and start.count(b"\r") > 2 and not self.binary:  # lines that end with \r alone
            yield from (piece.replace(b"\r", b"\n") for piece in _chain(start, plain))
            return
        yield start
        yield from plain

    def _gunzip(self, data: Iterator[bytes]) -> Iterator[bytes]:
        unpacker = zlib.decompressobj(31)
        started = False
        size = 0
        try:
            for piece in data:
                while piece:
                    started = True
                    if out := unpacker.decompress(piece, BLOCK * 2):
                        size += len(out)
                        yield out
                        if self._swells(size):
                            return
                    if unpacker.eof:  # several archives in one file
                        piece = unpacker.unused_data.lstrip(b"\x00")
                        unpacker = zlib.decompressobj(31)
                        started = False
                        continue
                    piece = unpacker.unconsumed_tail
        except zlib.error:
            self.cut_archive = True
            return
        yield unpacker.flush()
        self.cut_archive = started and not unpacker.eof

    def _swells(self, size: int) -> bool:
        """Whether to stop unpacking: what came out is a bomb."""
        if size > _BOMB_BYTES and size > _BOMB_RATIO * self.n_bytes:
            self.cut_archive = True
        return self.cut_archive

    def _unzstd(self, data: Iterator[bytes]) -> Iterator[bytes]:
        import zstandard

        unpacker = zstandard.ZstdDecompressor().decompressobj()
        started = False
        size = 0
        try:
            for packed in data:
                for start in range(0, len(packed), SLICE):
                    piece = packed[start : start + SLICE]
                    while piece:
                        started = True
                        if out := unpacker.decompress(piece):
                            size += len(out)
                            yield out
                            if self._swells(size):
                                return
                        piece = b""
                        if unpacker.eof:  # several frames in one file
                            piece = unpacker.unused_data
                            unpacker = zstandard.ZstdDecompressor().decompressobj()
                            started = False
        except zstandard.ZstdError:
            self.cut_archive = True
            return
        self.cut_archive = started


def _plain_spaces(block: bytes) -> bytes:
    """With ordinary spaces for the non-breaking ones that web pages and chats make of them, and without their invisible marks."""
    block = block.replace(b"\xc2\xa0", b" ") if b"\xc2" in block else block
    return _INVISIBLE.sub(b"", block) if b"\xe2\x80\x8b" in block or b"\xe2\x81\xa0" in block else block


def _open(source: str | Path | bytes | BinaryIO) -> BinaryIO:
    if isinstance(source, bytes):
        return io.BytesIO(source)
    if not isinstance(source, (str, Path)):
        return source
    path = Path(source)
    try:
        return path.open("rb")
    except FileNotFoundError as error:
        raise UnreadableLog("missing", str(path)) from error
    except IsADirectoryError as error:
        raise UnreadableLog("folder", str(path)) from error
    except OSError as error:
        raise UnreadableLog("denied", f"{path}: {error.strerror}") from error


def _size(source: str | Path | bytes | BinaryIO) -> int:
    """Bytes of a file or a bytes object; 0 for a stream."""
    if isinstance(source, bytes):
        return len(source)
    return Path(source).stat().st_size if isinstance(source, (str, Path)) else 0


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _utf16(start: bytes) -> str:
    """``utf-16-le`` or ``utf-16-be`` when the bytes say so, by a mark or by every other byte being zero; else ""."""
    if start.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le"
    if start.startswith(codecs.BOM_UTF16_BE):
        return "utf-16-be"
    head = start[:2000]
    if len(head) >= 16 and b"\x00" in head:
        even, odd = head[::2].count(0), head[1::2].count(0)
        half = len(head) // 2
        if odd > 0.7 * half and even < 0.05 * half:
            return "utf-16-le"
        if even > 0.7 * half and odd < 0.05 * half:
            return "utf-16-be"
    return ""


def _transcoded(data: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for piece in data:
        yield decoder.decode(piece).lstrip("\ufeff").encode("utf-8", "replace")
    yield decoder.decode(b"", True).encode("utf-8", "replace")


def _is_binary(start: bytes) -> bool:
    """Whether bytes are no text at all: many control characters."""
    head = start[:4096]
    if not head:
        return False
    control = sum(1 for byte in head if 0 < byte < 9 or 13 < byte < 27 or 27 < byte < 32)
    return control > 0.05 * len(head) or head.count(0) > 0.25 * len(head)
