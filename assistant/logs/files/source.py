"""Bytes of a binary source piece by piece, with its size, hash and progress."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from pathlib import Path

from assistant.run import Run

PIECE = 4 << 20

Progress = Callable[[int], None]


class Pieces:
    """Pieces of a file or of bytes; ``n_bytes`` and ``sha256`` speak of what was handed out so far."""

    def __init__(self, source: Path | bytes, progress: Progress | None = None) -> None:
        self._source = source
        self._progress = progress
        self._hash = hashlib.sha256()
        self.n_bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        with io.BytesIO(self._source) if isinstance(self._source, bytes) else self._source.open("rb") as file:
            while piece := file.read(PIECE):
                self._hash.update(piece)
                self.n_bytes += len(piece)
                if self._progress is not None:
                    self._progress(self.n_bytes)
                yield piece

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def sign(self, run: Run) -> Run:
        run.n_bytes, run.sha256 = self.n_bytes, self.sha256
        return run
