"""TensorBoard event files: records of (step, tag, number), each framed by its length and checksums.

A value stands in ``simple_value``, or in a tensor of one element (TensorFlow 2). The line of a value is the number of its
record. Histograms, images and texts are passed over, but for the arguments that the Hugging Face trainer stores as text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from struct import Struct, error

from assistant.logs.files.finished import finish
from assistant.logs.files.points import Points
from assistant.logs.files.rows import flat_settings
from assistant.logs.files.source import Pieces
from assistant.logs.files.wire import BYTES, FIXED32, Damaged, fields, masked_crc32c, message, signed, single, text
from assistant.run import Note, Run

_LENGTH = Struct("<Q").unpack_from
_FLOAT = Struct("<f").unpack_from
_FRAME, _TAIL = 12, 4
_LONGEST = 256 << 20
_ARGUMENTS = "args/text_summary"
_TENSOR_NUMBERS = {1: "<f", 2: "<d", 3: "<i", 9: "<q"}


def looks_like(head: bytes) -> bool:
    """Whether bytes start with a record whose length is confirmed by its checksum, holding an event."""
    if len(head) < _FRAME + 2 or masked_crc32c(head[:8]) != int.from_bytes(head[8:12], "little"):
        return False
    return 0 < _LENGTH(head)[0] < _LONGEST and head[_FRAME] == 0x09


class EventReader:
    """Fills `Points` from the pieces of one event file after another."""

    def __init__(self) -> None:
        self.points = Points()
        self.config: dict[str, object] = {}
        self.n_records = 0
        self.cut: list[int] = []
        """Records at which a file ends in the middle or is damaged."""
        self._tags: dict[bytes, int] = {}

    def read(self, pieces: Pieces, prefix: str = "") -> None:
        """One file; its tags get ``prefix`` (the folder that ``add_scalars`` makes)."""
        if len(self.points):
            self.points.parts.append(len(self.points))
        self._tags = {}
        left = b""
        for piece in pieces:
            data = left + piece if left else piece
            done = self._records(data, prefix)
            if done < 0:
                return
            left = data[done:]
        if left:
            self.cut.append(self.n_records + 1)

    def _records(self, data: bytes, prefix: str) -> int:
        """Reads the whole records of ``data``; returns where the first unfinished one starts, -1 when the file is damaged."""
        place, end, record = 0, len(data), self.n_records
        tags, points = self._tags, self.points
        metrics, steps, places, values = points.metrics, points.steps, points.places, points.values
        while end - place >= _FRAME:
            size = _LENGTH(data, place)[0]
            start = place + _FRAME
            stop = start + size
            if stop + _TAIL > end:
                if size > _LONGEST or masked_crc32c(data[place : place + 8]) != int.from_bytes(data[place + 8 : start], "little"):
                    self.cut.append(record + 1)
                    self.n_records = record
                    return -1
                break
            record += 1
            place = stop + _TAIL
            if size > 20 and data[start] == 0x09 and data[start + 9] == 0x10:  # wall time, then the step
                at = start + 10
                step = data[at]
                at += 1
                if step >= 0x80:
                    step &= 0x7F
                    shift = 7
                    while data[at] >= 0x80 and shift < 63:
                        step |= (data[at] & 0x7F) << shift
                        shift += 7
                        at += 1
                    step |= data[at] << shift
                    at += 1
                known = tags.get(data[at : stop - 4])
                if known is not None:
                    metrics.append(known)
                    step &= 0xFFFFFFFFFFFFFFFF
                    steps.append(step if step < 1 << 63 else step - (1 << 64))
                    places.append(record)
                    values.append(_FLOAT(data, stop - 4)[0])
                    continue
            self._any(data[start:stop], record, prefix)
        self.n_records = record
        return place

    def _any(self, event: bytes, record: int, prefix: str) -> None:
        """An event of any kind, field by field."""
        try:
            known = message(event)
            summary = known.get(5)
            if not isinstance(summary, bytes):
                return
            step = signed(known.get(2))
            for number, kind, value in fields(summary):
                if number == 1 and kind == BYTES and isinstance(value, bytes):
                    self._value(value, step, record, prefix, event, summary)
        except (Damaged, error, UnicodeDecodeError):
            self.cut.append(record)

    def _value(self, value: bytes, step: int, record: int, prefix: str, event: bytes, summary: bytes) -> None:
        parts = list(fields(value))
        tag = next((text(part) for number, kind, part in parts if number == 1 and kind == BYTES), "")
        if not tag:
            return
        name = prefix + tag
        number, kind, last = parts[-1]
        at_end = (number, kind) == (2, FIXED32) or (number == 8 and isinstance(last, bytes) and _ends_with_float(last))
        if at_end and event.endswith(summary) and summary.endswith(value) and step > 0:  # what stands before tells the tag from now on
            self._tags[event[10 + _varint_size(step) : -4]] = self.points.metric(name)
        for number, kind, part in parts:
            if (number, kind) == (2, FIXED32) and isinstance(part, bytes):
                self.points.add(name, step, record, single(part))
            elif number == 8 and isinstance(part, bytes):
                if (found := _scalar(part)) is not None:
                    self.points.add(name, step, record, found)
                elif tag.endswith(_ARGUMENTS) and not self.config:
                    self.config = _arguments(part)


def _varint_size(value: int) -> int:
    return max(1, (value.bit_length() + 6) // 7)


def _scalar(tensor: bytes) -> float | None:
    """The number of a tensor that holds one; None for others."""
    parts = message(tensor)
    kind = parts.get(1)
    shape = parts.get(2)
    if not isinstance(kind, int) or kind not in _TENSOR_NUMBERS or (isinstance(shape, bytes) and _elements(shape) != 1):
        return None
    form = Struct(_TENSOR_NUMBERS[kind])
    content = parts.get(4)
    if isinstance(content, bytes) and len(content) == form.size:
        return float(form.unpack(content)[0])
    for number, listed in ((5, 1), (6, 2), (7, 3), (10, 9)):
        value = parts.get(number)
        if listed == kind and isinstance(value, bytes) and len(value) == form.size:
            return float(form.unpack(value)[0])
        if listed == kind and isinstance(value, int):
            return float(value)
    return None


def _ends_with_float(tensor: bytes) -> bool:
    """Whether a tensor's last four bytes are its one 32-bit float."""
    parts = list(fields(tensor))
    return _scalar(tensor) is not None and (1, 0, 1) in parts and parts[-1][0] in (4, 5) and parts[-1][2] == tensor[-4:]


def _elements(shape: bytes) -> int:
    n = 1
    for number, kind, part in fields(shape):
        if number == 2 and kind == BYTES and isinstance(part, bytes):
            size = message(part).get(1, 0)
            n *= size if isinstance(size, int) else 0
    return n


def _arguments(tensor: bytes) -> dict[str, object]:
    content = message(tensor).get(8)
    try:
        found = json.loads(text(content))
    except (ValueError, RecursionError):
        return {}
    return flat_settings(found) if isinstance(found, dict) else {}


class TensorBoard:
    name = "tensorboard"
    shape = "binary"
    frameworks: Sequence[str] = ("generic", "trl", "hf-trainer", "sb3", "verl", "cleanrl", "megatron", "slime")

    def claims(self, path: Path | None, head: bytes) -> str:
        return "events" if looks_like(head) else ""

    def open(self, source: Path | bytes, progress: Callable[[int], None] | None = None) -> Run:
        reader = EventReader()
        pieces = Pieces(source, progress)
        reader.read(pieces)
        return pieces.sign(run_of(reader))


def run_of(reader: EventReader) -> Run:
    """The run of all the files read."""
    run = Run(format="tensorboard", **reader.points.fields())
    run.n_lines = reader.n_records
    run.config = dict(reader.config)
    notes = [Note("cut-line", reader.cut[-1], {"n": len(reader.cut)})] if reader.cut else []
    return finish(run, notes=notes)


FORMATS = (TensorBoard(),)
