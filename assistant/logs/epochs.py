"""Steps that start again in each epoch are counted on: else each epoch would look like an attempt of its own."""

from __future__ import annotations

import numpy as np

from assistant.run import NO_STEP, Run, Segment

_PER_EPOCH = frozenset({"nemo-rl", "generic", "unknown"})
"""Who prints ``step n/total`` with the total of an epoch, and may print no epoch beside it."""


def count_on(run: Run, total: int | None) -> int | None:
    """Changes the steps of a run whose stretches are epochs; the line where the second begins, or None where they are not.

    ``total``: the total that stands beside the steps, when there is one.
    """
    stretches = run.segments
    if len(stretches) < 2 or not (_by_epoch(run) or _by_total(run, total)):
        return None
    one = int(run.segments[0].first_step == 0)
    steps, offset = run.row_steps.copy(), 0
    ends = [*(stretch.first_row for stretch in stretches[1:]), len(steps)]
    for stretch, end in zip(stretches, ends, strict=True):
        rows = slice(stretch.first_row, end)
        part = steps[rows]
        part[part != NO_STEP] += offset
        steps[rows] = part
        offset += stretch.last_step + one
    run.row_steps = steps
    counted = steps[steps != NO_STEP]
    run.segments = [
        Segment(stretches[0].first_row, stretches[-1].last_row, int(counted.min()), int(counted.max()), stretches[0].first_line)
    ]
    return stretches[1].first_line


def _by_epoch(run: Run) -> bool:
    """Whether each stretch has one whole-numbered epoch, the one after that of the stretch before."""
    column = next((run.columns[name] for name in ("epoch", "Epoch") if name in run.columns), None)
    if column is None:
        return False
    found: list[float] = []
    for stretch in run.segments:
        inside = column.values[(column.rows >= stretch.first_row) & (column.rows <= stretch.last_row)]
        if not len(inside) or not (inside == inside[0]).all() or not float(inside[0]).is_integer():
            return False
        found.append(float(inside[0]))
    return bool((np.diff(found) == 1).all())


def _by_total(run: Run, total: int | None) -> bool:
    """Whether each stretch but the last goes to the total, and all begin alike."""
    if run.framework not in _PER_EPOCH or not total:
        return False
    *whole, last = run.segments
    first = whole[0]
    n = len(np.unique(run.row_steps[first.first_row : first.last_row + 1]))
    gap = max(1, (first.last_step - first.first_step) // max(1, n - 1))
    return all(total - gap < one.last_step <= total for one in whole) and all(one.first_step == first.first_step for one in (*whole, last))
