"""Tables of comma-, tab- or semicolon-separated values: Stable-Baselines3's ``progress.csv``, charts exported from wandb,
curves downloaded from TensorBoard, MLflow and pandas exports, home-made tables.

An empty cell is a metric that was not logged in this row, never NaN. Columns of one wandb run lose the run's name; the
``__MIN`` and ``__MAX`` of its charts are left out. A table with one value a row (metric, value) is read metric by metric.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress

from assistant.logs.columns import Layout
from assistant.logs.files.finished import framework_of
from assistant.logs.files.points import Points
from assistant.logs.files.rows import add_points
from assistant.logs.files.steps import CLOCKS, NONE, TOTALS, StepColumn, plain, step_column
from assistant.logs.files.values import Cell, of_text, whole
from assistant.logs.formats.base import FAMILY, BlockReader, Fit, Head, Sample
from assistant.run import FIXED_DECIMALS, NO_STEP, Style

DELIMITERS = ",\t;"
_HEAD_LINES = 30
_PREAMBLE = 5
_SAMPLE = 64
_MIN_FIXED = 8
_EXTREME = re.compile(r"__(?:MIN|MAX)$")
_OF_RUN = re.compile(r"(?P<run>.+?) - (?P<metric>[^\s].*)$")
_METRIC_NAMES = frozenset({"metric", "metric_name", "key", "tag", "name", "variable"})
_VALUE_NAMES = frozenset({"value", "values", "metric_value"})
_DECIMAL_COMMA = re.compile(r"-?\d+,\d+$")


@dataclass(frozen=True, slots=True)
class Dialect:
    """``header`` is the line of the names (0-based, among the lines looked at)."""

    delimiter: str
    header: int
    names: tuple[str, ...]


def dialect_of(lines: Sequence[str]) -> Dialect | None:
    """How a table is written, from its first lines: names above rows of as many cells, most of them numbers or empty."""
    some = [(index, line) for index, line in enumerate(lines[:_HEAD_LINES]) if line.strip() and not line.startswith("#")]
    for place, (index, line) in enumerate(some[:_PREAMBLE]):
        for delimiter in DELIMITERS:
            if delimiter not in line:
                continue
            names = _cells(line, delimiter)
            rows = [_cells(text, delimiter) for _, text in some[place + 1 :]]
            if len(names) >= 2 and _is_header(names) and rows and _fit(names, rows[:-1] or rows):
                return Dialect(delimiter, index, tuple(names))
    return None


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line.replace("\r", " ")], delimiter=delimiter), [])
    except csv.Error:
        return []


def _is_header(names: Sequence[str]) -> bool:
    given = [name for name in names if name.strip()]
    return (
        len(given) >= len(names) - 1
        and len(set(given)) == len(given)
        and sum(of_text(name) is not None for name in given) == 0
        and all(len(name) < 300 and not name.startswith(("{", "(")) for name in given)
    )


def _fit(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    whole_rows = [row for row in rows if len(row) == len(names)]
    if len(whole_rows) < 0.8 * len(rows) or not whole_rows:
        return False
    given = [cell for row in whole_rows for cell in row if cell.strip()]
    numbers = sum(_cell(cell) is not None for cell in given)
    return numbers > 0 and numbers * 2 > len(given) - len(whole_rows)


def metric_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """(the metric of each column, "" for one to leave out; the runs whose columns were left out)."""
    cut = [("" if _EXTREME.search(name) else name) for name in names]
    owned = [_OF_RUN.match(name) for name in cut]
    runs = list(dict.fromkeys(found["run"] for found in owned if found))
    if not runs or sum(found is not None for found in owned) < sum(1 for name in cut if name) - 2:
        return cut, []
    first = runs[0]
    kept = [name if found is None else (found["metric"] if found["run"] == first else "") for name, found in zip(cut, owned, strict=True)]
    return kept, runs[1:]


@dataclass(slots=True)
class _Columns:
    """What the columns of a header mean: positions of metrics, their names, the step's position (-1: none)."""

    kept: list[int]
    keys: tuple[str, ...]
    step: int
    layouts: dict[tuple[bool, ...], Layout] = field(default_factory=dict)


class CsvReader(BlockReader):
    """Rows in blocks: a column is converted at once, and its numbers share one style where they were printed alike."""

    def __init__(self) -> None:
        super().__init__()
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
            if len(self._held) <= _HEAD_LINES and not final:
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
        reader = csv.reader(lines, delimiter=dialect.delimiter)
        rows: list[list[str]] = []
        places: list[int] = []
        while True:
            try:
                row = next(reader)
            except StopIteration:
                break
            except csv.Error:
                self.skip(first + reader.line_num - 1, b"")
                continue
            place = first + reader.line_num - 1
            if len(row) == width:
                if row[0] == dialect.names[0] and tuple(row) == dialect.names:  # the same header again: a run that went on
                    continue
                rows.append(row)
                places.append(place)
            elif any(cell.strip() for cell in row):
                if final and place == first + len(lines) - 1:
                    self.cut_lines.append(place)
                else:
                    self.skip(place, lines[min(place - first, len(lines) - 1)].encode("utf-8", "replace"))
        self.line = first + len(lines)
        if rows:
            if self._columns is None and self._long is None:
                self._decide(dialect.names, rows[:_SAMPLE])
            if self._long is not None:
                self._one_a_row(rows, places)
            else:
                self._many_a_row(rows, places)

    def _decide(self, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        metrics, other_runs = metric_names(names)
        if other_runs:
            self.notes.append(("other-runs", None, {"n": len(other_runs), "read": "", "others": ", ".join(name[:40] for name in other_runs[:3])}))
        sample = [{name: cell for name, cell in zip(names, row, strict=True) if name and cell} for row in rows]
        column = step_column(sample)
        self._long = _long_form(names, rows, column)
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
        words = {index for index in range(len(names)) if any(row[index].strip() and _cell(row[index]) is None for row in rows)}
        kept = [
            index
            for index, name in enumerate(metrics)
            if name.strip() and names[index] not in drop and index not in words and plain(name) not in CLOCKS
        ]
        self._columns = _Columns(kept, tuple(metrics[index] for index in kept), list(names).index(column.name) if column.name else -1)

    def _one_a_row(self, rows: Sequence[Sequence[str]], places: Sequence[int]) -> None:
        assert self._long is not None and self.points is not None
        metric, value, step = self._long
        for row, place in zip(rows, places, strict=True):
            cell, number = _cell(row[value]), whole(row[step]) if step >= 0 else NO_STEP
            if cell is not None and number is not None and row[metric].strip():
                self.points.add(row[metric], number, place, cell.value, cell.style, cell.text)

    def _many_a_row(self, rows: Sequence[Sequence[str]], places: Sequence[int]) -> None:
        columns = self._columns
        assert columns is not None
        by_column = list(zip(*rows, strict=True))
        steps = self._steps(by_column[columns.step] if columns.step >= 0 else None, len(rows))
        values: list[Sequence[float | None]] = []
        styles: list[Sequence[int]] = []
        texts: list[dict[int, str]] = []
        for index in columns.kept:
            numbers, style, text = _converted(by_column[index])
            values.append(numbers)
            styles.append(style)
            texts.append(text)
        if not values:
            return
        any_text = any(texts)
        table = self.table
        for place, (step, numbers_row, style_row) in enumerate(zip(steps, zip(*values, strict=True), zip(*styles, strict=True), strict=True)):
            given = tuple(value is not None for value in numbers_row)
            layout = columns.layouts.get(given)
            if layout is None:
                layout = columns.layouts[given] = table.layout(tuple(compress(columns.keys, given)))
            if not layout.keys:
                continue
            if len(layout.keys) < len(given):
                numbers_row = tuple(compress(numbers_row, given))
                style_row = tuple(compress(style_row, given))
            row_texts = None
            if any_text:
                kept = list(compress(range(len(given)), given))
                row_texts = {position: texts[column][place] for position, column in enumerate(kept) if place in texts[column]}
            table.add(step, places[place], layout, numbers_row, bytes(style_row), row_texts)  # type: ignore[arg-type]

    def _steps(self, cells: Sequence[str] | None, n: int) -> list[int]:
        if cells is None:
            self._n += n
            return list(range(self._n - n + 1, self._n + 1))
        try:
            return list(map(int, cells))
        except ValueError:
            return [NO_STEP if (step := whole(cell)) is None else step for cell in cells]

    def finish(self) -> None:
        """A table with one value a row is laid out by step only now."""
        if self.points is not None and len(self.points):
            add_points(self.table, self.points)


def _long_form(names: Sequence[str], rows: Sequence[Sequence[str]], step: StepColumn) -> tuple[int, int, int] | None:
    """Positions of (metric, value, step or -1) when each row holds one value and the name it belongs to."""
    plains = [plain(name) for name in names]
    metric = next((index for index, name in enumerate(plains) if name in _METRIC_NAMES), None)
    value = next((index for index, name in enumerate(plains) if name in _VALUE_NAMES), None)
    if metric is None or value is None or any(_cell(row[metric]) is not None for row in rows):
        return None
    return metric, value, list(names).index(step.name) if step.name else -1


def _cell(text: str) -> Cell | None:
    found = of_text(text)
    if found is None and _DECIMAL_COMMA.match(text.strip()):
        return Cell(float(text.strip().replace(",", ".")), Style.OTHER, text.strip())
    return found


def _converted(cells: Sequence[str]) -> tuple[Sequence[float | None], Sequence[int], dict[int, str]]:
    """Numbers (None: empty, or words), styles and odd texts of a column's cells."""
    n = len(cells)
    try:
        numbers = list(map(float, cells))
    except ValueError:
        numbers = []
    if numbers:
        if list(map(repr, numbers)) == list(cells):
            decimals = _same_decimals(cells)
            return numbers, [FIXED_DECIMALS + decimals if decimals else Style.REPR] * n, {}
        if all(number.is_integer() and abs(number) < 2**53 for number in numbers) and [str(int(number)) for number in numbers] == list(cells):
            return numbers, [Style.INT] * n, {}
    values: list[float | None] = []
    styles: list[int] = []
    texts: dict[int, str] = {}
    for place, text in enumerate(cells):
        cell = _cell(text)
        if cell is None:
            values.append(None)
            styles.append(Style.MISSING)
            continue
        values.append(cell.value)
        styles.append(cell.style)
        if cell.text is not None:
            texts[place] = cell.text
    decimals = _same_decimals([text.strip() for text in cells if text.strip()])
    if decimals and not texts:
        styles = [FIXED_DECIMALS + decimals if style >= FIXED_DECIMALS or style == Style.REPR else style for style in styles]
    return values, styles, texts


def _same_decimals(cells: Sequence[str]) -> int:
    """The number of decimals that all cells have (0: none in common, too few cells, or whole numbers written as ``3.0``)."""
    if len(cells) < _MIN_FIXED:
        return 0
    first = cells[0]
    decimals = len(first) - first.find(".") - 1 if "." in first else 0
    if not 0 < decimals < 10 or any("e" in cell or len(cell) - cell.find(".") - 1 != decimals or "." not in cell for cell in cells):
        return 0
    return 0 if decimals == 1 and all(cell.endswith("0") for cell in cells) else decimals


class CsvTable:
    name = "csv"
    shape = "table"
    frameworks = ("generic", "verl", "trl", "hf-trainer", "sb3", "rllib", "megatron", "cleanrl")
    rank = FAMILY
    console = False

    def score(self, head: Head) -> Fit:
        lines = [line.decode("utf-8", "replace").rstrip("\r") for line in head.block[: 1 << 16].split(b"\n")[:_HEAD_LINES]]
        dialect = dialect_of(lines)
        if dialect is None:
            return Fit()
        width = len(dialect.names)
        some = [line for line in head.lines() if line.strip()][dialect.header + 1 :]
        if not head.final and len(some) > 1:
            some.pop()
        rows = [_cells(line.decode("utf-8", "replace").rstrip("\r"), dialect.delimiter) for line in some[:: max(1, len(some) // 200)]]
        fitting = [row for row in rows if len(row) == width]
        if not fitting or len(fitting) < 0.7 * len(rows):
            return Fit()
        numbers = sum(_cell(cell) is not None for row in fitting for cell in row)
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
