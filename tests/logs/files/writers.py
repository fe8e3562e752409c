"""Writes the binary files of trackers, byte by byte, as their own writers do (checked against real files by hand)."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assistant.logs.files.wire import masked_crc32c


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def chunk(field: int, value: bytes | str) -> bytes:
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def double(field: int, value: float) -> bytes:
    return varint(field << 3 | 1) + struct.pack("<d", value)


def single(field: int, value: float) -> bytes:
    return varint(field << 3 | 5) + struct.pack("<f", value)


def frame(event: bytes) -> bytes:
    length = struct.pack("<Q", len(event))
    return length + struct.pack("<I", masked_crc32c(length)) + event + struct.pack("<I", masked_crc32c(event))


def scalar_event(step: int, tag: str, value: float, time: float = 1.7e9) -> bytes:
    return frame(double(1, time) + (number(2, step) if step else b"") + chunk(5, chunk(1, chunk(1, tag) + single(2, value))))


def tensor_event(step: int, tag: str, value: float, *, metadata: bool = False) -> bytes:
    """A scalar as TensorFlow 2 writes it."""
    tensor = number(1, 1) + chunk(2, b"") + chunk(4, struct.pack("<f", value))
    plugin = chunk(9, chunk(1, chunk(1, "scalars"))) if metadata else b""
    return frame(double(1, 1.7e9) + number(2, step) + chunk(5, chunk(1, chunk(1, tag) + chunk(8, tensor) + plugin)))


def text_event(tag: str, text: str) -> bytes:
    tensor = number(1, 7) + chunk(2, chunk(2, number(1, 1))) + chunk(8, text)
    return frame(double(1, 1.7e9) + chunk(5, chunk(1, chunk(1, tag) + chunk(9, chunk(1, chunk(1, "text"))) + chunk(8, tensor))))


def event_file(points: Iterable[tuple[int, str, float]]) -> bytes:
    return frame(double(1, 1.7e9) + chunk(3, "brain.Event:2")) + b"".join(scalar_event(*point) for point in points)


def block_log(magic: bytes, records: Sequence[bytes]) -> bytes:
    """Records in blocks of 32 KiB, cut where a block ends."""
    out = bytearray(magic + b"\x00\x00\x00")
    for record in records:
        place, first = 0, True
        while True:
            room = 32768 - len(out) % 32768
            if room < 7:
                out += b"\x00" * room
                continue
            part = record[place : place + room - 7]
            place += len(part)
            last = place == len(record)
            kind = 1 if first and last else 2 if first else 4 if last else 3
            out += struct.pack("<IHB", 0, len(part), kind) + part
            first = False
            if last:
                break
    return bytes(out)


def history(row: Mapping[str, Any], *, nested: bool = False) -> bytes:
    """A record of wandb's history; ``nested``: keys as lists of parts, as the newer client writes them."""
    items = b""
    for key, value in row.items():
        name = b"".join(chunk(2, part) for part in key.split("/")) if nested else chunk(1, key)
        items += chunk(1, name + chunk(16, json.dumps(value)))
    return chunk(2, items)


def config(settings: Mapping[str, Any]) -> bytes:
    return chunk(5, b"".join(chunk(1, chunk(1, key) + chunk(16, json.dumps(value))) for key, value in settings.items()))


def console(line: str) -> bytes:
    return chunk(13, chunk(3, line))


def wandb_file(records: Sequence[bytes]) -> bytes:
    return block_log(b":W&B", records)


def swanlab_scalar(key: str, step: int, value: float) -> bytes:
    return chunk(13, chunk(1, key) + number(2, step) + chunk(5, double(1, value) if value else b""))


def swanlab_file(records: Sequence[bytes]) -> bytes:
    return block_log(b":SWL", records)
