"""Rows of named values (JSON objects, lines of a table) into the columns of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from assistant.logs.columns import Table
from assistant.logs.files.points import Points
from assistant.logs.files.steps import CLOCKS, TOTALS, StepColumn, plain, step_and_total, step_column
from assistant.logs.files.values import NULL, Cell, of_object, whole
from assistant.logs.formats.base import BlockReader
from assistant.logs.metric_part import MAX_WHOLE
from assistant.run import NO_STEP, Style

_SAMPLE = 64
_MAX_DEPTH = 8
_MAX_KEYS = 20_000
_WRAPPERS = frozenset({"data", "metrics", "scalars", "values", "log", "logs"})
_SETTINGS = frozenset({"config", "args", "hparams", "hyperparameters", "_wandb"})
_SPARSE = 0.3
"""A key that is null in more of the rows than this, where all rows have all keys, is empty there rather than not finite."""


class RowWriter:
    """Writes rows into a reader's table. The first rows wait until it is known which column counts the steps."""

    def __init__(self, reader: BlockReader) -> None:
        self._reader = reader
        self._waiting: list[tuple[dict[str, Any], int]] | None = []
        self._column = StepColumn("")
        self._skip: set[str] = set()
        self._known: set[str] = set()
        self._empty: set[str] = set()
        self._n = 0

    def add(self, row: Mapping[str, Any], line: int) -> None:
        flat = flattened(row, self._settings)
        if self._waiting is None:
            self._write(flat, line)
            return
        self._waiting.append((flat, line))
        if len(self._waiting) >= _SAMPLE:
            self.finish()

    def finish(self) -> None:
        """Writes the rows that still wait."""
        if self._waiting is None:
            return
        waiting, self._waiting = self._waiting, None
        rows = [row for row, _ in waiting]
        self._column = step_column(rows)
        self._reader.counted = not self._column.name
        self._empty = _empty_keys(rows)
        if self._column.name and not self._column.metric:
            self._skip.add(self._column.name)
        for name in TOTALS:
            totals = {whole(row[name]) for row in rows if name in row}
            if len(totals) == 1 and name != self._column.name and (total := totals.pop()):
                self._reader.total_steps = total
                self._skip.add(name)
        for row, line in waiting:
            self._write(row, line)

    def _write(self, row: Mapping[str, Any], line: int) -> None:
        reader = self._reader
        keys: list[str] = []
        values: list[float] = []
        styles = bytearray()
        texts: dict[int, str] = {}
        skip, known = self._skip, self._known
        for key, value in row.items():
            if key in skip:
                continue
            if key not in known:
                known.add(key)
                if plain(key) in CLOCKS:
                    skip.add(key)
                    continue
            kind = type(value)
            if kind is float:
                style: int = Style.REPR
            elif kind is int and -MAX_WHOLE < value < MAX_WHOLE:
                style = Style.INT
            else:
                cell = of_object(value)
                if cell is None or (cell is NULL and key in self._empty):
                    continue
                if cell is NULL:
                    reader.nulls[key] = reader.nulls.get(key, 0) + 1
                    reader.first_null = reader.first_null or line
                value, style = cell.value, cell.style
                if cell.text is not None:
                    texts[len(keys)] = cell.text
            keys.append(key)
            values.append(float(value))
            styles.append(style)
        if keys:
            self._n += 1
            reader.table.add(self._step(row), line, reader.table.layout(tuple(keys)), values, bytes(styles), texts)

    def _step(self, row: Mapping[str, Any]) -> int:
        if not self._column.name:
            return self._n
        step, total = step_and_total(row.get(self._column.name))
        if total:
            self._reader.total_steps = total
        return NO_STEP if step is None else step

    def _settings(self, key: str, value: Mapping[str, Any]) -> None:
        if key != "_wandb" and not self._reader.config:
            self._reader.config = flat_settings(value)


def add_points(table: Table, points: Points) -> None:
    """Points of a text's metrics, laid out by step, as rows of a table."""
    fields = points.fields()
    rows: list[dict[str, Cell]] = [{} for _ in fields["row_steps"]]
    for name, column in fields["columns"].items():
        for index, row in enumerate(column.rows.tolist()):
            rows[row][name] = Cell(float(column.values[index]), int(column.styles[index]), column.texts.get(index))
    for step, line, cells in zip(fields["row_steps"].tolist(), fields["row_lines"].tolist(), rows, strict=True):
        texts = {position: cell.text for position, cell in enumerate(cells.values()) if cell.text is not None}
        layout = table.layout(tuple(cells))
        table.add(step, line, layout, [cell.value for cell in cells.values()], bytes(cell.style for cell in cells.values()), texts)


def flattened(row: Mapping[str, Any], settings: Any = None) -> dict[str, Any]:
    """Nested objects as ``outer/inner``; a mere wrapper (``{"step": 1, "metrics": {…}}``) leaves no trace in the names."""
    if not any(isinstance(value, dict) for value in row.values()):
        return dict(row)
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if not isinstance(value, dict):
            flat.setdefault(key, value)
        elif key in _SETTINGS:
            if settings is not None:
                settings(key, value)
        else:
            _flatten("" if key in _WRAPPERS else f"{key}/", value, flat, 1)
    return flat


def _flatten(prefix: str, value: Mapping[str, Any], flat: dict[str, Any], depth: int) -> None:
    for key, inner in value.items():
        if isinstance(inner, dict):
            if depth < _MAX_DEPTH and key not in _SETTINGS:
                _flatten(f"{prefix}{key}/", inner, flat, depth + 1)
        elif len(flat) < _MAX_KEYS:
            flat.setdefault(prefix + key, inner)


def flat_settings(value: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Nested settings as ``outer.inner`` → value."""
    flat: dict[str, Any] = {}
    for key, inner in value.items():
        name = f"{prefix}{key}"
        if isinstance(inner, Mapping) and inner and depth < _MAX_DEPTH:
            flat.update(flat_settings(inner, f"{name}.", depth + 1))
        elif len(flat) < _MAX_KEYS:
            flat[name] = float(inner) if isinstance(inner, float) else inner
    return flat


def _empty_keys(rows: Iterable[Mapping[str, Any]]) -> set[str]:
    """The keys whose nulls mean "not logged here": every row has every key, and many of the values are null."""
    rows = list(rows)
    if len(rows) < 3 or any(row.keys() != rows[0].keys() for row in rows):
        return set()
    return {key for key in rows[0] if sum(row[key] is None for row in rows) > _SPARSE * len(rows)}
