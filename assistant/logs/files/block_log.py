"""Logs of records in 32 KiB blocks (the log format of LevelDB), which wandb and SwanLab use for their run files.

A record is cut into chunks where a block ends: each has a checksum, a length and a kind (whole, first, middle, last).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct

BLOCK = 32768
_HEADER = Struct("<IHB").unpack_from
_SIZE = 7
WHOLE, FIRST, MIDDLE, LAST = 1, 2, 3, 4
LONGEST = 256 << 20


class BlockLog:
    """Records of a file that starts with a header of seven bytes; ``cut`` when its end is missing or damaged."""

    def __init__(self) -> None:
        self.cut = False

    def records(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        held: list[bytes] = []
        size = 0
        for block in _blocks(pieces):
            place = _SIZE if not size else 0
            size += len(block)
            while len(block) - place >= _SIZE:
                _, length, kind = _HEADER(block, place)
                if kind == 0 and length == 0:  # filled up to the end of the block
                    break
                start = place + _SIZE
                place = start + length
                if place > len(block) or not WHOLE <= kind <= LAST:
                    self.cut = True
                    held = []
                    break
                chunk = block[start:place]
                if kind == WHOLE:
                    held = []
                    yield chunk
                elif kind == FIRST:
                    held = [chunk]
                elif held:
                    held.append(chunk)
                    if sum(map(len, held)) > LONGEST:
                        held = []
                    elif kind == LAST:
                        yield b"".join(held)
                        held = []
        self.cut = self.cut or bool(held)


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    left = b""
    for piece in pieces:
        data = left + piece if left else piece
        whole = len(data) - len(data) % BLOCK
        for start in range(0, whole, BLOCK):
            yield data[start : start + BLOCK]
        left = data[whole:]
    if left:
        yield left
