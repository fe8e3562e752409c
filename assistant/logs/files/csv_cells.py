"""How a table of separated values is written, and what the cells of a column are."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import orjson
from numpy.typing import NDArray

from assistant.logs.files.column_blocks import Block
from assistant.logs.files.steps import StepColumn, plain
from assistant.logs.files.values import Cell, of_text
from assistant.logs.metric_part import MAX_WHOLE
from assistant.run import FIXED_DECIMALS, Style

DELIMITERS = ",\t;"
HEAD_LINES = 30
_PREAMBLE = 5
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
    some = [(index, line) for index, line in enumerate(lines[:HEAD_LINES]) if line.strip() and not line.startswith("#")]
    for place, (index, line) in enumerate(some[:_PREAMBLE]):
        for delimiter in DELIMITERS:
            if delimiter not in line:
                continue
            names = cells_of(line, delimiter)
            rows = [cells_of(text, delimiter) for _, text in some[place + 1 :]]
            if len(names) >= 2 and _is_header(names) and rows and _fit(names, rows[:-1] or rows):
                return Dialect(delimiter, index, tuple(names))
    return None


def cells_of(line: str, delimiter: str) -> list[str]:
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
    numbers = sum(cell_of(cell) is not None for cell in given)
    return numbers > 0 and numbers * 2 > len(given) - len(whole_rows)


def split_rows(lines: Sequence[str], dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """(place of its line, cells) of each row. A quote that never closes swallows lines: those are split one by one."""
    reader = csv.reader(lines, delimiter=dialect.delimiter)
    before = 0
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            row = []
        after = reader.line_num
        if after == before + 1 or len(row) == len(dialect.names):
            yield after - 1, row or [lines[after - 1]]
        else:
            for place in range(before, after):
                yield place, [cell.strip('"') for cell in lines[place].split(dialect.delimiter)]
        before = after


def metric_names(names: Sequence[str]) -> tuple[list[str], str, list[str]]:
    """(the metric of each column, "" for one to leave out; the run whose columns are read; the runs that were left out)."""
    cut = [("" if _EXTREME.search(name) else name) for name in names]
    owned = [_OF_RUN.match(name) for name in cut]
    runs = list(dict.fromkeys(found["run"] for found in owned if found))
    if not runs or sum(found is not None for found in owned) < sum(1 for name in cut if name) - 2:
        return cut, "", []
    first = runs[0]
    kept = [name if found is None else (found["metric"] if found["run"] == first else "") for name, found in zip(cut, owned, strict=True)]
    return kept, first, runs[1:]


def long_form(names: Sequence[str], rows: Sequence[Sequence[str]], step: StepColumn) -> tuple[int, int, int] | None:
    """Positions of (metric, value, step or -1) when each row holds one value and the name it belongs to."""
    plains = [plain(name) for name in names]
    metric = next((index for index, name in enumerate(plains) if name in _METRIC_NAMES), None)
    value = next((index for index, name in enumerate(plains) if name in _VALUE_NAMES), None)
    if metric is None or value is None or any(cell_of(row[metric]) is not None for row in rows):
        return None
    return metric, value, list(names).index(step.name) if step.name else -1


def cell_of(text: str) -> Cell | None:
    """The number in a cell, also with a decimal comma; None for words and empty cells."""
    found = of_text(text)
    if found is None and _DECIMAL_COMMA.match(text.strip()):
        return Cell(float(text.strip().replace(",", ".")), Style.OTHER, text.strip())
    return found


def converted(cells: Sequence[str]) -> Block:
    """The numbers of a column's cells; empty cells and words are not given."""
    given = None
    if "" in cells:
        given = np.array([cell != "" for cell in cells], bool)
        cells = [cell for cell in cells if cell]
    try:
        numbers = list(map(float, cells))
    except ValueError:
        return _one_by_one(cells, given)
    decimals = _same_decimals(cells)
    if decimals and list(map(f"%.{decimals}f".__mod__, numbers)) == list(cells):
        return Block(given, np.array(numbers), FIXED_DECIMALS + decimals, {})
    if _in_full(numbers, cells):
        return Block(given, np.array(numbers), FIXED_DECIMALS + decimals if decimals else int(Style.REPR), {})
    if all(number.is_integer() and abs(number) < MAX_WHOLE for number in numbers) and [str(int(n)) for n in numbers] == list(cells):
        return Block(given, np.array(numbers), int(Style.INT), {})
    return _one_by_one(cells, given)


def _in_full(numbers: list[float], cells: Sequence[str]) -> bool:
    """Whether each cell is what Python prints for its number."""
    joined = ",".join(cells)
    if "e" not in joined and "0.0000" not in joined and orjson.dumps(numbers)[1:-1] == joined.encode():  # much faster
        return True
    return list(map(repr, numbers)) == list(cells)


def _one_by_one(cells: Sequence[str], given: NDArray[np.bool_] | None) -> Block:
    found = [cell_of(cell) for cell in cells]
    kept = [cell for cell in found if cell is not None]
    styles = np.array([cell.style for cell in kept], np.uint8)
    texts = {place: cell.text for place, cell in enumerate(kept) if cell.text is not None}
    decimals = 0 if texts else _same_decimals([text.strip() for text, cell in zip(cells, found, strict=True) if cell is not None])
    if decimals:
        styles[(styles >= FIXED_DECIMALS) | (styles == Style.REPR)] = FIXED_DECIMALS + decimals
    if len(kept) < len(found):
        there = np.array([cell is not None for cell in found], bool)
        if given is None:
            given = there
        else:
            given = given.copy()
            given[np.flatnonzero(given)] = there
    return Block(given, np.array([cell.value for cell in kept]), styles, texts)


def _same_decimals(cells: Sequence[str]) -> int:
    """The number of decimals that all cells have (0: none in common, too few cells, or whole numbers written as ``3.0``)."""
    if len(cells) < _MIN_FIXED:
        return 0
    first = cells[0]
    decimals = len(first) - first.find(".") - 1 if "." in first else 0
    if not 0 < decimals < 10 or any("e" in cell or len(cell) - cell.find(".") - 1 != decimals or "." not in cell for cell in cells):
        return 0
    return 0 if decimals == 1 and all(cell.endswith("0") for cell in cells) else decimals
