"""Tables of comma-, tab- or semicolon-separated values: Stable-Baselines3's ``progress.csv``, charts exported from wandb,
curves downloaded from TensorBoard, MLflow and pandas exports, home-made tables.

An empty cell is a metric that was not logged in this row, never NaN. Columns of one wandb run lose the run's name; the
``__MIN`` and ``__MAX`` of its charts are left out. A table with one value a row (metric, value) is read metric by metric.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from assistant.logs.files.column_blocks import BlockTable
from assistant.logs.files.csv_cells import (
    HEAD_LINES,
    Dialect,
    cell_of,
    cells_of,
    converted,
    dialect_of,
    long_form,
    metric_names,
    split_rows,
)
from assistant.logs.files.finished import framework_of, other_runs
from assistant.logs.files.points import Points
from assistant.logs.files.rows import add_points
from assistant.logs.files.steps import CLOCKS, NONE, TOTALS, plain, step_column
from assistant.logs.files.values import whole
from assistant.logs.formats.base import FAMILY, BlockReader, Fit, Head, Sample
from assistant.run import NO_STEP, Style

_SAMPLE = 64


@dataclass(frozen=True, slots=True)
class _Columns:
    """What the columns of a header mean: positions of metrics, their names, the step's position (-1: none)."""

    kept: list[int]
    keys: tuple[str, ...]
    step: int


class CsvReader(BlockReader):
    """Rows in blocks: a column is converted at once, and its numbers share one style where they were printed alike."""

    def __init__(self) -> None:
        super().__init__()
        self.table: BlockTable = BlockTable()
        self.dialect: Dialect | None = None
        self.points: Points | None = None
        """Filled instead of the table when each row holds one value."""
        self._held: list[str] = []
        self._columns: _Columns | None = None
        self._long: tuple[int, int, int] | None = None
        self._n = 0

    def feed(self, block: bytes, final: bool) -> int:
        text = block.decode("utf-8", "replace").replace("\x00", "").replace("\r\n", "\n").replace("\r", " ")
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        if self.dialect is None:
            self._held += lines
            if len(self._held) <= HEAD_LINES and not final:
                return len(block)
            lines, self._held = self._held, []
            self.dialect = dialect_of([line.rstrip("\r") for line in lines])
            if self.dialect is None:
                self.line += len(lines)
                return len(block)
            self.line += self.dialect.header + 1
            lines = lines[self.dialect.header + 1 :]
        self._rows(lines, final)
        return len(block)

    def _rows(self, lines: Sequence[str], final: bool) -> None:
        dialect = self.dialect
        assert dialect is not None
        width = len(dialect.names)
        first = self.line
        rows: list[list[str]] = []
        places: list[int] = []
        for place, row in split_rows(lines, dialect):
            if len(row) == width:
                if row[0] != dialect.names[0] or tuple(row) != dialect.names:  # else the header again: a run that went on
                    rows.append(row)
                    places.append(first + place)
            elif any(cell.strip() for cell in row):
                if final and place == len(lines) - 1:
                    self.cut_lines.append(first + place)
                else:
                    self.skip(first + place, lines[place].encode("utf-8", "replace"))
        self.line = first + len(lines)
        if rows:
            if self._columns is None and self._long is None:
                self._decide(dialect.names, rows[:_SAMPLE])
            if self._long is not None:
                self._one_a_row(rows, places)
            else:
                self._many_a_row(rows, places)

    def _decide(self, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        metrics, run, others = metric_names(names)
        if others:
            self.notes += [(note.kind, note.line, dict(note.data)) for note in other_runs(run, others)]
        sample = [{name: cell for name, cell in zip(names, row, strict=True) if name and cell} for row in rows]
        column = step_column(sample)
        self._long = long_form(names, rows, column)
        if self._long is not None:
            self.points = Points()
            return
        self.counted = column is NONE
        drop = set() if column.metric else {column.name}
        for name in TOTALS:
            totals = {whole(row.get(name)) for row in sample}
            if name in names and name != column.name and len(totals) == 1 and (total := totals.pop()):
                self.total_steps = total
                drop.add(name)
        words = {index for index in range(len(names)) if any(row[index].strip() and cell_of(row[index]) is None for row in rows)}
        kept = [
            index
            for index, name in enumerate(metrics)
            if name.strip() and names[index] not in drop and index not in words and plain(name) not in CLOCKS
        ]
        self._columns = _Columns(kept, tuple(metrics[index] for index in kept), list(names).index(column.name) if column.name else -1)

    def _one_a_row(self, rows: Sequence[Sequence[str]], places: Sequence[int]) -> None:
        assert self._long is not None
        assert self.points is not None
        metric, value, step = self._long
        for row, place in zip(rows, places, strict=True):
            cell, number = cell_of(row[value]), whole(row[step]) if step >= 0 else NO_STEP
            if cell is not None and number is not None and row[metric].strip():
                self.points.add(row[metric], number, place, cell.value, cell.style, cell.text)

    def _many_a_row(self, rows: Sequence[Sequence[str]], places: Sequence[int]) -> None:
        columns = self._columns
        assert columns is not None
        by_column = list(zip(*rows, strict=True))
        blocks = {key: converted(by_column[index]) for key, index in zip(columns.keys, columns.kept, strict=True)}
        steps = self._steps(by_column[columns.step] if columns.step >= 0 else None, len(rows))
        for key, block in blocks.items():
            nulls = int(np.count_nonzero(np.asarray(block.styles) == Style.NULL))
            if nulls:
                self.nulls[key] = self.nulls.get(key, 0) + nulls
                self.first_null = self.first_null or places[0]
        masks = [block.given for block in blocks.values() if block.given is not None]
        if masks and len(masks) == len(blocks):
            filled = np.any(masks, axis=0)
            if not filled.all():
                steps, places = list(compress(steps, filled)), list(compress(places, filled))
                blocks = {key: block._replace(given=block.given[filled]) for key, block in blocks.items() if block.given is not None}
        if blocks and steps:
            self.table.add_block(steps, places, blocks)

    def _steps(self, cells: Sequence[str] | None, n: int) -> list[int]:
        if cells is None:
            self._n += n
            return list(range(self._n - n + 1, self._n + 1))
        padded = [cell.startswith("0") and len(cell) > 1 for cell in cells]
        cut = 0 < sum(padded) < 0.5 * n  # a zero in front where others have none: the number's beginning is missing
        if not cut and all(cell.isdecimal() and len(cell) < 18 for cell in cells):
            return list(map(int, cells))
        steps = [NO_STEP if (step := whole(cell)) is None else step for cell in cells]
        return [NO_STEP if cut and zero else step for step, zero in zip(steps, padded, strict=True)]

    def finish(self) -> None:
        """A table with one value a row is laid out by step only now."""
        if self.points is not None and len(self.points):
            add_points(self.table, self.points)


class CsvTable:
    name = "csv"
    shape = "table"
    frameworks = ("generic", "verl", "trl", "hf-trainer", "sb3", "rllib", "megatron", "cleanrl")
    rank = FAMILY
    console = False

    def score(self, head: Head) -> Fit:
        lines = [line.decode("utf-8", "replace").rstrip("\r") for line in head.block[: 1 << 16].split(b"\n")[:HEAD_LINES]]
        dialect = dialect_of(lines)
        if dialect is None:
            return Fit()
        width = len(dialect.names)
        some = [line for line in head.lines() if line.strip()][dialect.header + 1 :]
        if not head.final and len(some) > 1:
            some.pop()
        rows = [cells_of(line.decode("utf-8", "replace").rstrip("\r"), dialect.delimiter) for line in some[:: max(1, len(some) // 200)]]
        fitting = [row for row in rows if len(row) == width]
        if not fitting or len(fitting) < 0.7 * len(rows):
            return Fit()
        numbers = sum(cell_of(cell) is not None for row in fitting for cell in row)
        times = len(some) / len(rows)
        return Fit(round(len(fitting) * times), round(len(rows) * times), round(numbers * times), f"{width} columns")

    def reader(self) -> BlockReader:
        return CsvReader()

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str:
        return framework_of(names, seen)

    samples = (
        Sample(
            "time/total_timesteps,rollout/ep_rew_mean,train/approx_kl,train/explained_variance\n2048,21.5,,\n4096,24.25,0.0091,0.11\n",
            (
                {"step": 2048, "values": {"rollout/ep_rew_mean": 21.5}},
                {"step": 4096, "values": {"rollout/ep_rew_mean": 24.25, "train/approx_kl": 0.0091}},
            ),
            "sb3",
        ),
        Sample(
            '"Step","my-run - reward","my-run - reward__MIN","my-run - reward__MAX"\n"1","0.5","0.5","0.5"\n"3","nan","nan","nan"\n',
            ({"step": 1, "values": {"reward": 0.5}}, {"step": 3, "values": {"reward": "nan"}}),
            "generic",
        ),
        Sample(
            "step,metric,value\n1,loss,0.5\n2,loss,0.25\n1,lr,1e-05\n2,lr,2e-05\n",
            ({"step": 1, "values": {"loss": 0.5, "lr": 1e-05}}, {"step": 2, "values": {"loss": 0.25, "lr": 2e-05}}),
            "generic",
        ),
    )


FORMATS = (CsvTable(),)
