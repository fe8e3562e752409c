from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.logs.files.block_log import BlockLog
from assistant.logs.files.wire import Damaged, fields, masked_crc32c, message, signed, varint, zigzag
from tests.logs.files import writers as w


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_of_variable_length(value: int) -> None:
    data = w.varint(value)
    found, place = varint(data, 0)
    assert place == len(data)
    assert signed(found) == value


@pytest.mark.parametrize(("stored", "value"), [(0, 0), (1, -1), (2, 1), (13, -7)])
def test_signed_numbers_that_are_folded(stored: int, value: int) -> None:
    assert zigzag(stored) == value


@pytest.mark.parametrize("data", [b"\x80", b"\x0a\x05ab", b"\x0d\x00", b"\x0b", b"\xff" * 11])
def test_damaged_messages_are_told(data: bytes) -> None:
    with pytest.raises(Damaged):
        list(fields(data))


def test_the_last_value_of_a_field_counts() -> None:
    assert message(w.number(2, 5) + w.chunk(1, "a") + w.number(2, 6)) == {2: 6, 1: b"a"}


def test_the_checksum_of_a_real_file() -> None:
    assert masked_crc32c(bytes.fromhex("4800000000000000")) == int.from_bytes(bytes.fromhex("fe92489d"), "little")


@given(st.lists(st.binary(max_size=80_000), max_size=6), st.integers(1, 70_000))
def test_records_come_back_from_their_blocks(records: list[bytes], piece: int) -> None:
    data = w.block_log(b":W&B", records)
    log = BlockLog()
    pieces = [data[start : start + piece] for start in range(0, len(data), piece)]
    assert list(log.records(pieces)) == records
    assert not log.cut


def test_a_cut_block_log_says_so() -> None:
    data = w.block_log(b":W&B", [b"a" * 100, b"b" * 100])
    log = BlockLog()
    assert list(log.records([data[:-50]])) == [b"a" * 100]
    assert log.cut
