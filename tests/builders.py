"""Runs built in memory, for tests that need a curve and no log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from assistant.run import Column, Event, Run, Segment, Style


def run_of(
    metrics: Mapping[str, Sequence[float | None]],
    *,
    start: int = 1,
    steps: Sequence[int] | None = None,
    style: Style = Style.REPR,
    config: Mapping[str, Any] | None = None,
    era: str = "unknown",
    algorithm: str | None = None,
    framework: str = "verl",
    events: Sequence[Event] = (),
    total_steps: int | None = None,
) -> Run:
    """A run of one record a step: each metric's value at each step (None: not printed there), line = row + 1.

    With ``Style.FIXED3`` the values are rounded to three decimals, as that logger prints them.
    """
    n = max((len(values) for values in metrics.values()), default=0)
    numbers = np.array(steps if steps is not None else range(start, start + n), np.int64)
    columns = {}
    for name, values in metrics.items():
        rows = np.array([i for i, value in enumerate(values) if value is not None], np.int32)
        kept = np.array([value for value in values if value is not None], np.float64)
        if style == Style.FIXED3:
            kept = np.array([float(f"{value:.3f}") for value in kept])
        columns[name] = Column(rows, kept, np.full(len(rows), style, np.uint8))
    bounds = [0, *(np.flatnonzero(np.diff(numbers) < 0) + 1).tolist(), n]
    segments = [Segment(a, b - 1, int(numbers[a]), int(numbers[b - 1]), a + 1) for a, b in pairwise(bounds) if b > a]
    return Run(
        framework=framework,
        era=era,
        algorithm=algorithm,
        row_steps=numbers,
        row_lines=np.arange(1, n + 1, dtype=np.int64),
        row_records=np.arange(n, dtype=np.int64),
        columns=columns,
        config=dict(config or {}),
        events=list(events),
        segments=segments,
        total_steps=total_steps,
        n_lines=n,
    )
