"""Points that come metric by metric (one file, one tag, one table row each) into rows by step."""

from __future__ import annotations

import itertools
from array import array
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.logs.columns import records, segments
from assistant.run import Column, IntArray, Style

_MANY_FALLS, _SOME_FALLS = 0.05, 3
"""Steps that fall in a larger share of the points, beyond a few times a metric, are out of order (several threads), not started again."""


@dataclass(slots=True)
class Points:
    """Single values in the order of their source: metric (number of its name), step, place (line or record), value.

    ``styles`` stays empty while every value is a number in full; ``texts`` by point. ``parts`` are points at which another
    source of the same run begins (a resumed run's next file).
    """

    names: dict[str, int] = field(default_factory=dict)
    metrics: array[int] = field(default_factory=lambda: array("i"))
    steps: array[int] = field(default_factory=lambda: array("q"))
    places: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))
    styles: bytearray = field(default_factory=bytearray)
    texts: dict[int, str] = field(default_factory=dict)
    parts: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.values)

    def metric(self, name: str) -> int:
        return self.names.setdefault(name, len(self.names))

    def add(self, name: str, step: int, place: int, value: float, style: int = Style.REPR, text: str | None = None) -> None:
        if style != Style.REPR and not self.styles:
            self.styles = bytearray([Style.REPR]) * len(self.values)
        if self.styles or style != Style.REPR:
            self.styles.append(style)
        if text is not None:
            self.texts[len(self.values)] = text
        self.metrics.append(self.metric(name))
        self.steps.append(step)
        self.places.append(place)
        self.values.append(value)

    def fields(self) -> dict[str, Any]:
        """The fields of a `Run` that hold the numbers, as `Table.finish` gives them.

        A row is one step of one stretch: where a metric's step falls, or where another file goes back, the run started
        again. Values that one metric has twice at a step stand in rows of their own, one after another.
        """
        n = len(self)
        if not n:
            empty = np.zeros(0, np.int64)
            return {"row_steps": empty, "row_lines": empty, "row_records": empty, "columns": {}, "segments": []}
        metrics = np.frombuffer(self.metrics, np.int32)
        steps = np.frombuffer(self.steps, np.int64)
        places = np.frombuffer(self.places, np.int64)
        values = np.frombuffer(self.values, np.float64)
        styles = np.frombuffer(bytes(self.styles), np.uint8) if self.styles else None
        stretch = _stretches(metrics, steps, self.parts)
        again = _repeats(metrics, steps, stretch)
        order = np.lexsort((places, again, steps, stretch))
        keys = np.stack([stretch[order], steps[order], again[order]])
        new = np.ones(n, bool)
        new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
        row_sorted = np.cumsum(new) - 1
        row = np.empty(n, np.int32)
        row[order] = row_sorted
        firsts = np.flatnonzero(new)
        row_steps = keys[1, firsts]
        row_lines = np.minimum.reduceat(places[order], firsts)
        by_metric = np.lexsort((row, metrics))
        bounds = np.searchsorted(metrics[by_metric], np.arange(len(self.names) + 1))
        columns = {}
        for name, number in self.names.items():
            mine = by_metric[bounds[number] : bounds[number + 1]]
            if len(mine):
                columns[name] = Column(row[mine], values[mine], _styles(styles, mine), self._texts(mine))
        return {
            "row_steps": row_steps,
            "row_lines": row_lines,
            "row_records": records(row_steps),
            "columns": columns,
            "segments": segments(row_steps, row_lines, np.zeros(len(row_steps), np.int64), [{""}]),
        }

    def _texts(self, mine: NDArray[np.int64]) -> dict[int, str]:
        if not self.texts:
            return {}
        return {new: self.texts[old] for new, old in enumerate(mine.tolist()) if old in self.texts}


def _styles(styles: NDArray[np.uint8] | None, mine: NDArray[np.int64]) -> NDArray[np.uint8]:
    return np.broadcast_to(np.array(Style.REPR, np.uint8), (len(mine),)) if styles is None else styles[mine]


def _stretches(metrics: NDArray[np.int32], steps: IntArray, parts: list[int]) -> IntArray:
    """Number of the stretch (attempt) of each point, shape (n,)."""
    n = len(steps)
    stretch = np.zeros(n, np.int64)
    highest: dict[int, int] = {}
    number = 0
    bounds = [0, *parts, n]
    for start, stop in itertools.pairwise(bounds):
        if stop <= start:
            continue
        m, s = metrics[start:stop], steps[start:stop]
        order = np.argsort(m, kind="stable")
        sorted_metrics, sorted_steps = m[order], s[order]
        first = np.flatnonzero(np.r_[True, sorted_metrics[1:] != sorted_metrics[:-1]])
        names = sorted_metrics[first]
        lows = np.minimum.reduceat(sorted_steps, first)
        if any(int(low) <= highest[int(name)] for name, low in zip(names, lows, strict=True) if int(name) in highest):
            number += 1
            highest = {}
        falls = np.zeros(len(s), np.int64)
        falls[1:] = (sorted_steps[1:] < sorted_steps[:-1]) & (sorted_metrics[1:] == sorted_metrics[:-1])
        if falls.sum() > _MANY_FALLS * len(s) + _SOME_FALLS * len(names):
            falls[:] = 0
        total = np.cumsum(falls)
        per_metric = total - np.repeat(total[first], np.diff(np.r_[first, len(s)]))
        local = np.empty(len(s), np.int64)
        local[order] = per_metric
        stretch[start:stop] = number + local
        number += int(local.max())
        for name, high in zip(names.tolist(), np.maximum.reduceat(sorted_steps, first).tolist(), strict=True):
            highest[name] = max(high, highest.get(name, high))
    return stretch


def _repeats(metrics: NDArray[np.int32], steps: IntArray, stretch: IntArray) -> IntArray:
    """How often a metric was met before at the same step of the same stretch, shape (n,)."""
    n = len(steps)
    order = np.lexsort((np.arange(n), steps, stretch, metrics))
    m, s, t = metrics[order], steps[order], stretch[order]
    same = np.zeros(n, bool)
    same[1:] = (m[1:] == m[:-1]) & (s[1:] == s[:-1]) & (t[1:] == t[:-1])
    again = np.zeros(n, np.int64)
    if not same.any():
        return again
    index = np.arange(n)
    start = np.maximum.accumulate(np.where(same, 0, index))
    again[order] = index - start
    return again
