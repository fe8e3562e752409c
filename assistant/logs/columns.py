"""Rows of metrics, gathered line by line into one array per metric.

A log prints the same keys in the same order for thousands of steps, so rows are collected per *layout* (list of keys) and
moved into the columns in chunks. Columns that were filled by the same chunks share their row numbers, and a style that
never changes takes no memory.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.run import NO_STEP, Column, FloatArray, IntArray, Segment, Style, print_value

CHUNK = 1024
_MAX_STEP = 1 << 53
"""No training counts so far: a longer number is none."""


@dataclass(slots=True)
class Layout:
    """A list of keys, and the rows that wait to be moved into the columns (``values``: one list of numbers a row).

    ``n`` rows were taken so far, ``n_held`` were met where they may be no data.
    """

    keys: tuple[str, ...]
    rows: list[int] = field(default_factory=list)
    values: list[Sequence[float]] = field(default_factory=list)
    styles: list[bytes] = field(default_factory=list)
    types: list[type] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)  # positions of the values printed as whole numbers
    style_row: bytes = b""
    wrapped: tuple[int, ...] = ()  # positions of the values that NumPy wrapped, and the styles that follow from them
    wrapped_row: bytes = b""
    n: int = 0
    n_held: int = 0


@dataclass(slots=True)
class _Chunk:
    """Rows moved at once: ``styles`` is one row (bytes, all rows alike) or an array (rows, keys)."""

    rows: NDArray[np.int32]
    styles: bytes | NDArray[np.uint8]
    few_keys: bool
    short: bool = False  # few keys, and no number of three decimals ends in a zero that a print in full would leave out


@dataclass(slots=True)
class _Growing:
    values: FloatArray = field(default_factory=lambda: np.empty(0))
    n: int = 0
    chunks: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)  # of the key inside each chunk's layout
    texts: dict[int, str] = field(default_factory=dict)  # row → text

    def extend(self, values: FloatArray, expected: int) -> None:
        """Appends; ``expected`` is how many values there will be in all (memory not yet written to costs nothing)."""
        n = self.n + len(values)
        if n > len(self.values):
            grown = np.empty(max(n, expected, len(self.values) * 3 // 2))
            grown[: self.n] = self.values[: self.n]
            self.values = grown
        self.values[self.n : n] = values
        self.n = n


@dataclass(frozen=True, slots=True)
class Verdict:
    """What of a table does not count: whole rows (mask, shape (rows,)), and the last values of some rows (their numbers)."""

    leave_out: NDArray[np.bool_] | None = None
    no_last: IntArray | None = None


Judge = Callable[[IntArray, IntArray, Sequence[tuple[str, ...]], Mapping[str, Column]], Verdict | None]
"""Gets each row's step, the number of each row's layout, the layouts (lists of keys) and the columns."""


class Table:
    """Collects rows; `finish` hands out the arrays of a `Run`."""

    def __init__(self) -> None:
        self.layouts: dict[tuple[str, ...], Layout] = {}
        self.steps: array[int] = array("q")
        self.lines: array[int] = array("q")
        self.layout_of_row: array[int] = array("l")
        self._joined: array[int] = array("q")
        self._parted: array[int] = array("q")
        self._layout_ids: dict[tuple[str, ...], int] = {}
        self._growing: dict[str, _Growing] = {}
        self._chunks: list[_Chunk] = []
        self.judge: Judge | None = None
        """Is shown the whole table when it is finished, and says what of it does not count."""
        self.share_read = 0.0
        """How much of the log has been read (0–1; 0 when nobody knows), so that memory is taken once."""

    def __len__(self) -> int:
        return len(self.steps)

    def layout(self, keys: tuple[str, ...]) -> Layout:
        layout = self.layouts.get(keys)
        if layout is None:
            layout = self.layouts[keys] = Layout(keys)
            self._layout_ids[keys] = len(self._layout_ids)
        return layout

    def add(
        self,
        step: int,
        line: int,
        layout: Layout,
        values: Sequence[float],
        styles: bytes,
        texts: Mapping[int, str] | None = None,
        same_record: bool = False,
        new_record: bool = False,
    ) -> None:
        """One row: ``values`` and ``styles`` in the order of ``layout.keys``; ``texts`` by position in it.

        ``same_record``: the row goes on with the record of the row before, whatever the step (a block without a step);
        ``new_record``: it does not, although it may print the same step (the same names came again).
        """
        if not layout.n:
            for key in layout.keys:  # columns stand in the order in which the log names them
                self._column(key)
        row = len(self.steps)
        if same_record and row:
            self._joined.append(row)
        elif new_record:
            self._parted.append(row)
        self.steps.append(step if -_MAX_STEP < step < _MAX_STEP else NO_STEP)
        self.lines.append(line)
        self.layout_of_row.append(self._layout_ids[layout.keys])
        layout.rows.append(row)
        layout.values.append(values)
        layout.styles.append(styles)
        layout.n += 1
        if texts:
            for position, text in texts.items():
                self._column(layout.keys[position]).texts[row] = text
        if len(layout.rows) >= CHUNK:
            self._flush(layout)

    def add_many(
        self,
        steps: Sequence[int],
        lines: Sequence[int],
        parts: Sequence[tuple[int, Layout, int, int]],
        values: Sequence[tuple[float, ...]],
        styles: Sequence[bytes],
        texts: Mapping[int, Mapping[int, str]],
        parted: Sequence[int] = (),
    ) -> None:
        """Records with the same names, each of one row a part: (lines further down, layout, from, to: which of its values).

        ``steps`` and ``lines``: one a record; ``texts``: of some records (by number), by position among its values;
        ``parted``: numbers of the records that are others than those before, although they print the same step.
        """
        n, k, first = len(values), len(parts), len(self.steps)
        for _, layout, _, _ in parts:
            if not layout.n:
                for key in layout.keys:
                    self._column(key)
        if steps and not -_MAX_STEP < min(steps) <= max(steps) < _MAX_STEP:
            steps = [step if -_MAX_STEP < step < _MAX_STEP else NO_STEP for step in steps]
        self.steps.extend(steps if k == 1 else [step for step in steps for _ in range(k)])
        self.lines.extend(lines if k == 1 and not parts[0][0] else [line + part[0] for line in lines for part in parts])
        self.layout_of_row.extend([self._layout_ids[part[1].keys] for part in parts] * n)
        self._parted.extend(first + record * k for record in parted)
        if k > 1:
            self._joined.extend(row for row in range(first, first + n * k) if (row - first) % k)
        for record, found in texts.items():
            for part, (_, layout, a, b) in enumerate(parts):
                for position in range(a, b):
                    if position in found:
                        self._column(layout.keys[position - a]).texts[first + record * k + part] = found[position]
        for part, (_, layout, a, b) in enumerate(parts):
            whole = a == 0 and b == len(values[0])
            layout.rows.extend(range(first + part, first + n * k, k))
            layout.values.extend(values if whole else [row[a:b] for row in values])
            layout.styles.extend(styles if whole else [row[a:b] for row in styles])
            layout.n += n
            if len(layout.rows) >= CHUNK:
                self._flush(layout)

    def _column(self, key: str) -> _Growing:
        column = self._growing.get(key)
        if column is None:
            column = self._growing[key] = _Growing()
        return column

    def _flush(self, layout: Layout) -> None:
        if not layout.rows:
            return
        block = np.array(layout.values, dtype=np.float64).reshape(len(layout.rows), len(layout.keys))
        first = layout.styles[0]
        alike = all(row is first or row == first for row in layout.styles)
        styles = first if alike else np.frombuffer(b"".join(layout.styles), np.uint8).reshape(block.shape)
        number = len(self._chunks)
        expected = int(layout.n / self.share_read * 1.05) + CHUNK if self.share_read and layout.n >= CHUNK else 0
        few = len(layout.keys) <= 2
        short = few and all(
            style != Style.FIXED3 or print_value(value, Style.REPR) == print_value(value, Style.FIXED3)
            for row, marks in zip(block.tolist(), layout.styles, strict=True)
            for value, style in zip(row, marks, strict=True)
        )
        self._chunks.append(_Chunk(np.array(layout.rows, np.int32), styles, few, short))
        for place, key in enumerate(layout.keys):
            column = self._column(key)
            column.extend(block[:, place], expected)
            column.chunks.append(number)
            column.places.append(place)
        layout.rows, layout.values, layout.styles = [], [], []

    def finish(self) -> dict[str, Any]:
        """The fields of a `Run` that hold the numbers: ``row_steps``, ``row_lines``, ``row_records``, ``columns``, ``segments``."""
        for layout in self.layouts.values():
            self._flush(layout)
        steps = np.array(self.steps, np.int64)
        lines = np.array(self.lines, np.int64)
        layout_of_row = np.array(self.layout_of_row, np.int64)
        self._settle_short_rows()
        columns: dict[str, Column] = {}
        shared: dict[tuple[int, ...], tuple[NDArray[np.int32], NDArray[np.int64] | None]] = {}
        for key in list(self._growing):
            column = self._growing.pop(key)
            if column.chunks:
                columns[key] = self._store(column, shared)
        joined = np.array(self._joined, np.int64)
        if self.judge is not None and (verdict := self.judge(steps, layout_of_row, list(self.layouts), columns)) is not None:
            if verdict.no_last is not None:
                last_keys = [keys[-1] if keys else "" for keys in self.layouts]
                for place in np.unique(layout_of_row[verdict.no_last]):
                    rows = verdict.no_last[layout_of_row[verdict.no_last] == place]
                    columns[last_keys[place]] = _without(columns[last_keys[place]], rows)
            if verdict.leave_out is not None:
                kept = ~verdict.leave_out
                steps, lines, layout_of_row = steps[kept], lines[kept], layout_of_row[kept]
                numbers, left = np.cumsum(kept, dtype=np.int32) - 1, np.flatnonzero(verdict.leave_out)
                columns = {name: _renumbered(_without(column, left), numbers) for name, column in columns.items()}
                joined = numbers[joined[kept[joined]]].astype(np.int64)
            columns = {name: column for name, column in columns.items() if len(column.rows)}
        return {
            "row_steps": steps,
            "row_lines": lines,
            "row_records": records(steps, np.array(self._joined, np.int64), np.array(self._parted, np.int64)),
            "columns": columns,
            "segments": segments(steps, lines, layout_of_row, [set(keys) for keys in self.layouts]),
        }

    def _store(self, column: _Growing, shared: dict[tuple[int, ...], tuple[NDArray[np.int32], NDArray[np.int64] | None]]) -> Column:
        mark = tuple(column.chunks)
        if mark not in shared:
            rows = np.concatenate([self._chunks[c].rows for c in mark])
            order = None if len(rows) < 2 or bool((np.diff(rows) > 0).all()) else np.argsort(rows, kind="stable")
            shared[mark] = (rows if order is None else rows[order], order)
        rows, order = shared[mark]
        values = column.values[: column.n]
        styles = self._styles(column, len(values))
        if order is not None:
            values = values[order]
            styles = styles[order] if styles.strides[0] else styles
        places = np.searchsorted(rows, np.fromiter(column.texts, np.int64, len(column.texts))).tolist() if column.texts else ()
        texts = dict(zip(places, column.texts.values(), strict=True))
        return Column(rows, values, styles, texts)

    def _styles(self, column: _Growing, n: int) -> NDArray[np.uint8]:
        parts: list[tuple[int | NDArray[np.uint8], int]] = []
        for number, place in zip(column.chunks, column.places, strict=True):
            chunk = self._chunks[number]
            style = chunk.styles[place] if isinstance(chunk.styles, bytes) else np.ascontiguousarray(chunk.styles[:, place])
            parts.append((style, len(chunk.rows)))
        first = parts[0][0]
        if isinstance(first, int) and all(isinstance(style, int) and style == first for style, _ in parts):
            return np.broadcast_to(np.array(first, np.uint8), (n,))
        return np.concatenate([np.full(size, style, np.uint8) if isinstance(style, int) else style for style, size in parts])

    def _settle_short_rows(self) -> None:
        """A row of one or two values with three decimals by chance, in a log that prints in full, is printed in full."""
        weight = {Style.FIXED3: 0, Style.REPR: 0}
        for chunk in self._chunks:
            if not chunk.few_keys:
                flat = np.frombuffer(chunk.styles, np.uint8) if isinstance(chunk.styles, bytes) else chunk.styles
                for style in weight:
                    weight[style] += int(np.count_nonzero(flat == style))
        if weight[Style.REPR] <= weight[Style.FIXED3]:
            return
        for chunk in self._chunks:
            if chunk.short:
                if isinstance(chunk.styles, bytes):
                    chunk.styles = chunk.styles.replace(bytes([Style.FIXED3]), bytes([Style.REPR]))
                else:
                    chunk.styles = np.where(chunk.styles == Style.FIXED3, np.uint8(Style.REPR), chunk.styles)


def _without(column: Column, rows: NDArray[np.int64]) -> Column:
    """The column without the values of some rows."""
    kept = np.flatnonzero(~np.isin(column.rows, rows))
    texts = {new: column.texts[int(old)] for new, old in enumerate(kept) if int(old) in column.texts} if column.texts else {}
    return Column(column.rows[kept], column.values[kept], column.styles[kept], texts)


def _renumbered(column: Column, numbers: NDArray[np.int32]) -> Column:
    return Column(numbers[column.rows], column.values, column.styles, column.texts)


def records(steps: IntArray, joined: IntArray | None = None, parted: IntArray | None = None) -> IntArray:
    """Record number of each row: rows that print one step one after another are one record, rows without a step never are,
    except for the rows ``joined`` to the one before and those ``parted`` from it."""
    if not len(steps):
        return np.zeros(0, np.int64)
    new = np.ones(len(steps), np.int64)
    new[1:] = (steps[1:] != steps[:-1]) | (steps[1:] == NO_STEP)
    if parted is not None:
        new[parted] = 1
    if joined is not None:
        new[joined] = 0
    return np.cumsum(new) - 1


def segments(steps: IntArray, lines: IntArray, layout_of_row: IntArray, keys: Sequence[set[str]]) -> list[Segment]:
    """Stretches of rows in which steps do not fall. A late line of another kind (an asynchronous validation) starts none."""
    numbered = np.flatnonzero(steps != NO_STEP)
    if not len(numbered):
        return []
    starts = [0]
    highest = int(steps[numbered[0]])
    falls = np.flatnonzero(np.diff(steps[numbered]) < 0) + 1
    for fall in falls:
        row, before = numbered[fall], numbered[fall - 1]
        later = steps[numbered[fall + 1]] if fall + 1 < len(numbered) else None
        highest = int(steps[numbered[starts[-1] : fall]].max())
        returns = later is None or later >= highest
        if returns and not keys[layout_of_row[row]] & keys[layout_of_row[before]]:
            continue
        starts.append(int(fall))
    found = []
    for start, stop in zip(starts, [*starts[1:], len(numbered)], strict=True):
        rows = numbered[start:stop]
        part = steps[rows]
        found.append(Segment(int(rows[0]), int(rows[-1]), int(part.min()), int(part.max()), int(lines[rows[0]])))
    return found
