"""The data everyone shares: a training run as it was read from a log.

A log becomes *rows* (one per printed metric line), rows of one step become *records*, and each metric is a column over
rows. A value therefore always knows the line that printed it, and how it was printed: in a log with three decimals,
``0.000`` is "prints as zero", not zero.

Nothing here knows any log format, any framework or what a metric means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
StyleArray = NDArray[np.uint8]

NO_STEP = -(2**62)
"""Step of a row that printed none (a pasted tail, a tracker's summary)."""


class Style(IntEnum):
    """How a value was printed, so that its text can be given back without keeping every line."""

    MISSING = 0
    FIXED3 = 1  # 0.431   three decimals: hides anything below 0.0005
    REPR = 2  # 0.4312345, 1e-06
    INT = 3  # 5
    BOOL = 4  # True
    NUMPY = 5  # np.float64(0.43)
    NULL = 6  # null in JSON: missing or non-finite, the writer does not say which
    OTHER = 7  # anything else; the text is kept


FIXED_DECIMALS = 16
"""Styles from here on: a fixed number of decimals, `FIXED_DECIMALS` + n (``0.500000`` → 22)."""

SCIENTIFIC = 64
"""Styles from here on: n decimals and an exponent, `SCIENTIFIC` + n (``7.40e-01`` → 66); with a capital E 32 more."""

SCIENTIFIC_UPPER = 96


@dataclass(frozen=True, slots=True)
class Point:
    """One printed value: the unit of evidence.

    ``value`` is the number as printed (before any scale in the metric's name), ``text`` its digits as printed,
    ``line`` the 1-based line of the log.
    """

    metric: str
    step: int | None
    value: float
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Event:
    """Something the log says in words: a crash, a warning, a checkpoint, a setting.

    ``kind`` is a plain name (``gpu-oom``, ``checkpoint``); ``step`` the last step printed before it, ``data`` what was
    read out of the text (numbers, names), ``process`` the Ray prefix (``WorkerDict pid=7``) or rank when there is one.
    """

    kind: str
    line: int
    text: str
    step: int | None = None
    process: str = ""
    fatal: bool = False
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the log, as text (without the line end): evidence that is words, not a number. ``line`` is 1-based."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of rows in which steps rise: a resumed or concatenated log has several."""

    first_row: int
    last_row: int
    first_step: int
    last_step: int
    first_line: int


@dataclass(frozen=True, slots=True)
class Note:
    """Something noticed while reading that the user should know (a cut last line, ``null`` values, repeated steps).

    ``kind`` is a key of the message catalogue (``logs.note.<kind>``), ``data`` fills its placeholders.
    """

    kind: str
    line: int | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Part:
    """One of the files that a run was put together from: its lines are counted from ``first_line`` on."""

    name: str
    format: str
    first_line: int
    n_lines: int


@dataclass(frozen=True, slots=True)
class Series:
    """One metric over the steps. Arrays have shape (n,), sorted as printed; a step without a value is absent.

    ``values`` are as printed, non-finite ones included. ``scale`` is the factor that the metric's *name* carries
    (``actor/lr(1e-4)`` → 1e-4): multiply before comparing with anything else.
    """

    name: str
    steps: IntArray
    values: FloatArray
    lines: IntArray
    styles: StyleArray
    texts: Mapping[int, str] = field(default_factory=dict)
    scale: float = 1.0

    def __len__(self) -> int:
        return len(self.values)

    @property
    def finite(self) -> NDArray[np.bool_]:
        """Mask of the values that are finite numbers, shape (n,)."""
        return np.isfinite(self.values)

    @property
    def scaled(self) -> FloatArray:
        """Values in the metric's own unit, shape (n,)."""
        return self.values * self.scale

    @property
    def n_nonfinite(self) -> int:
        return int(np.count_nonzero(~self.finite))

    def text(self, index: int) -> str:
        """The digits as printed (``0.000``, ``1e-06``, ``nan``); a NumPy wrapper is left out."""
        if index < 0:
            index += len(self)
        kept = self.texts.get(index)
        return kept if kept is not None else print_value(float(self.values[index]), int(self.styles[index]))

    def resolution(self, index: int) -> float:
        """Half a unit of the last printed decimal: the true value is within ± this (0 when printed in full)."""
        style = int(self.styles[index])
        if style >= SCIENTIFIC:
            value = abs(float(self.values[index]))
            exponent = np.floor(np.log10(value)) if 0 < value < np.inf else 0.0
            return float(0.5 * 10.0 ** (float(exponent) - style % 32))
        if style >= FIXED_DECIMALS:
            return 0.5 * 10.0 ** (FIXED_DECIMALS - style)
        return 0.0005 if style == Style.FIXED3 else 0.0

    def point(self, index: int) -> Point:
        if index < 0:
            index += len(self)
        step = int(self.steps[index])
        return Point(self.name, None if step == NO_STEP else step, float(self.values[index]), self.text(index), int(self.lines[index]))

    def index_at(self, step: int) -> int | None:
        """Index of the value printed for ``step`` (the last one, when it was printed twice)."""
        hits = np.flatnonzero(self.steps == step)
        return int(hits[-1]) if len(hits) else None

    def at(self, step: int) -> Point | None:
        index = self.index_at(step)
        return None if index is None else self.point(index)

    def take(self, keep: NDArray[Any]) -> Series:
        """The values that ``keep`` selects (a boolean mask or an index array, shape (n,))."""
        rows = np.flatnonzero(keep) if keep.dtype == np.bool_ else keep
        texts = {new: self.texts[int(old)] for new, old in enumerate(rows) if int(old) in self.texts} if self.texts else {}
        return Series(self.name, self.steps[rows], self.values[rows], self.lines[rows], self.styles[rows], texts, self.scale)


def print_value(value: float, style: int) -> str:
    """The digits that a logger of this style prints for ``value``."""
    if style == Style.FIXED3:
        return f"{value:.3f}"
    if style == Style.INT:
        return str(int(value)) if np.isfinite(value) else repr(value)
    if style == Style.BOOL:
        return str(bool(value))
    if style == Style.NULL:
        return "null"
    if style >= SCIENTIFIC:
        return f"{value:.{style % 32}{'E' if style >= SCIENTIFIC_UPPER else 'e'}}"
    if style >= FIXED_DECIMALS:
        return f"{value:.{style - FIXED_DECIMALS}f}"
    return repr(float(value))


@dataclass(frozen=True, slots=True)
class Column:
    """One metric as stored: ``rows`` index into the run's rows (shape (n,), rising), the rest as in `Series`."""

    rows: NDArray[np.int32]
    values: FloatArray
    styles: StyleArray
    texts: Mapping[int, str] = field(default_factory=dict)


@dataclass(slots=True)
class Run:
    """A training run as read.

    ``row_steps`` and ``row_lines`` have shape (rows,), ``row_records`` maps each row to its record: lines that print the
    same step one after another are one record. ``config`` is flat (``algorithm.adv_estimator`` → ``"grpo"``),
    ``config_lines`` says where each key stood. ``era`` is the framework version as far as the log gives it away
    (``"0.6"``, or ``"unknown"``), with the ``era_evidence`` for it. ``format`` is how the log was read, ``tried`` the
    formats that were tried and how far each got (`assistant.logs.formats.base.Tried`).
    """

    framework: str = "unknown"
    era: str = "unknown"
    algorithm: str | None = None
    era_evidence: Sequence[Note] = ()
    algorithm_evidence: Note | None = None
    format: str = "unknown"
    tried: Sequence[Any] = ()
    row_steps: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    row_lines: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    row_records: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    columns: dict[str, Column] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    config_lines: dict[str, int] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    total_steps: int | None = None
    n_lines: int = 0
    n_bytes: int = 0
    unread_lines: int = 0
    unread_samples: list[tuple[int, str]] = field(default_factory=list)
    sha256: str = ""
    parts: list[Part] = field(default_factory=list)
    """The files, when there were several; empty for a single one."""

    @property
    def n_rows(self) -> int:
        return len(self.row_steps)

    @property
    def n_records(self) -> int:
        return int(self.row_records[-1]) + 1 if len(self.row_records) else 0

    @property
    def steps(self) -> IntArray:
        """The steps printed, rising, each once."""
        return np.unique(self.row_steps[self.row_steps != NO_STEP])

    @property
    def first_step(self) -> int | None:
        steps = self.steps
        return int(steps[0]) if len(steps) else None

    @property
    def last_step(self) -> int | None:
        steps = self.steps
        return int(steps[-1]) if len(steps) else None

    def series(self, name: str, segment: Segment | None = None) -> Series | None:
        """The metric printed as ``name``, every value in the order of the log; None when it was never printed."""
        column = self.columns.get(name)
        if column is None:
            return None
        rows, values, styles, texts = column.rows, column.values, column.styles, column.texts
        series = Series(name, self.row_steps[rows], values, self.row_lines[rows], styles, texts)
        if segment is not None:
            series = series.take((rows >= segment.first_row) & (rows <= segment.last_row))
        return series

    def records(self) -> Iterator[dict[str, Any]]:
        """Each record as ``{"step", "line", "values"}``: keys as printed, non-finite values as "nan", "inf", "-inf"."""
        by_row: list[dict[str, Any]] = [{} for _ in range(self.n_rows)]
        for name, column in self.columns.items():
            for index, row in enumerate(column.rows):
                by_row[int(row)][name] = json_value(float(column.values[index]), int(column.styles[index]))
        current = -1
        record: dict[str, Any] = {}
        for row, values in enumerate(by_row):
            if int(self.row_records[row]) != current:
                if record:
                    yield record
                current, step = int(self.row_records[row]), int(self.row_steps[row])
                record = {"step": None if step == NO_STEP else step, "line": int(self.row_lines[row]), "values": {}}
            record["values"].update(values)
        if record:
            yield record


def json_value(value: float, style: int = Style.REPR) -> float | int | bool | str | None:
    """A value as JSON may carry it: non-finite numbers become "nan", "inf" or "-inf"; a logged ``null`` stays None."""
    if style == Style.NULL:
        return None
    if np.isnan(value):
        return "nan"
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    if style == Style.BOOL:
        return bool(value)
    return int(value) if style == Style.INT else value
