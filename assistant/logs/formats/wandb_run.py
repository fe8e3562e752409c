"""wandb's run file (``run-<id>.wandb``): history, settings and console output as records of protocol buffers.

Numbers are JSON texts and are read digit by digit. ``_step`` counts calls of ``log``; where the trainer logged a step of
its own (``train/global_step``), that one counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from assistant.logs.files.block_log import BlockLog
from assistant.logs.files.finished import finish
from assistant.logs.files.json_text import _DECODER
from assistant.logs.files.rows import RowWriter
from assistant.logs.files.settings import unwrapped
from assistant.logs.files.source import Pieces
from assistant.logs.files.wire import BYTES, FIXED64, Damaged, double, fields, message, text, zigzag
from assistant.logs.formats.base import BlockReader
from assistant.run import Note, Run

MAGIC = b":W&B"
_HISTORY, _SUMMARY, _OUTPUT, _CONFIG, _RUN, _OUTPUT_RAW = 2, 3, 4, 5, 17, 13
_MAX_CONSOLE = 64 << 20


class RunFile:
    """What the records of one file hold; ``console`` are the pieces of output that were recorded."""

    def __init__(self) -> None:
        self.rows = BlockReader()
        self.config: dict[str, Any] = {}
        self.console: list[str] = []
        self.n_records = 0
        self.damaged: list[int] = []
        self._writer = RowWriter(self.rows)
        self._console_size = 0

    def read(self, pieces: Pieces) -> None:
        log = BlockLog()
        for record in log.records(pieces):
            self.n_records += 1
            try:
                for number, kind, value in fields(record):
                    if kind == BYTES and isinstance(value, bytes):
                        self._part(number, value)
            except Damaged:
                self.damaged.append(self.n_records)
        if log.cut:
            self.damaged.append(self.n_records + 1)
        self._writer.finish()

    def _part(self, number: int, value: bytes) -> None:
        if number == _HISTORY:
            row, step = _items(value)
            if step is not None:
                row.setdefault("_step", step)
            if row:
                self._writer.add(row, self.n_records)
        elif number == _CONFIG:
            for key, inner in _settings(value):
                self.config[key] = inner
        elif number == _RUN and not self.config:
            for field, kind, inner in fields(value):
                if field == 4 and kind == BYTES and isinstance(inner, bytes):  # the run's first config
                    self.config.update(_settings(inner))
        elif number in (_OUTPUT, _OUTPUT_RAW):
            line = text(message(value).get(3))
            self._console_size += len(line)
            if line and self._console_size < _MAX_CONSOLE:
                self.console.append(line)


def _items(history: bytes) -> tuple[dict[str, Any], int | None]:
    """A row of the history as (name → value, its step when the record carries one)."""
    row: dict[str, Any] = {}
    step: int | None = None
    for number, kind, item in fields(history):
        if number == 2 and kind == BYTES and isinstance(item, bytes):
            found = message(item).get(1, 0)
            step = found if isinstance(found, int) else None
        if number != 1 or kind != BYTES or not isinstance(item, bytes):
            continue
        key, value = _item(item, "/")
        if key:
            row[key] = value
    return row, step


def _item(item: bytes, between: str) -> tuple[str, Any]:
    """(key, value) of an item; a nested key is joined. Values are JSON texts, or (since 2026) of a type of their own."""
    key, nested, value = "", [], None
    for number, kind, part in fields(item):
        if number == 1:
            key = text(part)
        elif number == 2:
            nested.append(text(part))
        elif number in (8, 16):
            value = _json(text(part))
        elif number == 4:
            value = bool(part)
        elif number == 5:
            value = zigzag(part)
        elif number == 6 and kind == FIXED64:
            value = double(part)
        elif number == 7:
            value = text(part)
    return key or between.join(nested), value


def _json(value: str) -> Any:
    try:
        return _DECODER.decode(value)
    except (ValueError, RecursionError):
        return value


def _settings(record: bytes) -> list[tuple[str, Any]]:
    """(key, value) of the updates in a config record; nested keys are joined by dots."""
    found: list[tuple[str, Any]] = []
    for number, kind, item in fields(record):
        if number != 1 or kind != BYTES or not isinstance(item, bytes):
            continue
        key, value = _item(item, ".")
        if key and not key.startswith("_"):
            found.append((key, value))
    return found


class WandbRun:
    name = "wandb"
    shape = "binary"
    frameworks: Sequence[str] = ("generic", "verl", "trl", "hf-trainer", "openrlhf", "slime", "skyrl")

    def claims(self, path: Path | None, head: bytes) -> str:
        return "wandb run file" if head.startswith(MAGIC) else ""

    def open(self, source: Path | bytes, progress: Callable[[int], None] | None = None) -> Run:
        """The history; without one, the console output that the file also holds."""
        pieces = Pieces(source, progress)
        file = RunFile()
        file.read(pieces)
        if not len(file.rows.table) and file.console:
            from assistant.logs.reader import read_text

            run = read_text("".join(file.console))
        else:
            run = Run(**file.rows.table.finish())
        run.format = self.name
        run.n_lines = run.n_lines or file.n_records
        for key, value in unwrapped(file.config).items():
            run.config.setdefault(key, value)
        notes = [Note("cut-line", file.damaged[-1], {"n": len(file.damaged)})] if file.damaged else []
        if not file.rows.table.lines:
            run.notes = [*notes, *run.notes]
            return pieces.sign(run)
        return pieces.sign(finish(run, notes=notes))


FORMATS = (WandbRun(),)
