"""Protocol buffers and CRC-32C, as much of them as event files need: three kinds of fields, walked by hand.

The trackers' own readers would bring protobuf, gRPC or a whole tracker along; what is read here is a handful of fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import unpack_from

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Damaged(ValueError):
    """The bytes are no message."""


def varint(data: bytes, place: int) -> tuple[int, int]:
    """(value, place after it). Raises Damaged."""
    value = shift = 0
    while True:
        if place >= len(data) or shift > 63:
            raise Damaged
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, place
        shift += 7


def fields(data: bytes, place: int = 0, stop: int | None = None) -> Iterator[tuple[int, int, int | bytes]]:
    """(number, kind, value) of each field; fixed and length-delimited values as bytes. Raises Damaged."""
    stop = len(data) if stop is None else stop
    while place < stop:
        key, place = varint(data, place)
        kind = key & 7
        value: int | bytes
        if kind == VARINT:
            value, place = varint(data, place)
        else:
            if kind == BYTES:
                size, place = varint(data, place)
            elif kind in (FIXED64, FIXED32):
                size = 8 if kind == FIXED64 else 4
            else:
                raise Damaged
            if place + size > stop:
                raise Damaged
            value = data[place : place + size]
            place += size
        yield key >> 3, kind, value


def message(data: bytes) -> dict[int, int | bytes]:
    """Field number → its last value."""
    return {number: value for number, _, value in fields(data)}


def text(value: int | bytes | None) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def signed(value: int | bytes | None) -> int:
    """A varint as a signed 64-bit number."""
    if not isinstance(value, int):
        return 0
    return value - (1 << 64) if value >= 1 << 63 else value


def zigzag(value: int | bytes | None) -> int:
    """A varint of the kind that keeps small negative numbers short."""
    return (value >> 1) ^ -(value & 1) if isinstance(value, int) else 0


def double(value: int | bytes | None) -> float:
    if not isinstance(value, bytes) or len(value) != 8:
        return 0.0
    return float(unpack_from("<d", value)[0])


def single(value: bytes) -> float:
    return float(unpack_from("<f", value)[0])


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return tuple(table)


_CRC = _crc_table()


def masked_crc32c(data: bytes) -> int:
    """The checksum that record files write before and after their data."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
