"""What only the whole log shows about its metric lines: two runs mixed in it, all its lines cut at one width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assistant.logs.metric_part import Part, settled
from assistant.run import Column, Style, print_value

_CERTAIN = (Style.FIXED3, Style.NUMPY, Style.BOOL)
_MOST = 0.9
_FEWEST = 3
_NARROWEST = 60


class Mixed(NamedTuple):
    """Metric lines of several runs in one log: the rows to leave out, whose were read, whose were not."""

    leave_out: NDArray[np.bool_]
    read: str
    n_read: int
    others: Sequence[str]
    first_line: int


def mixed_runs(
    lines: NDArray[np.int64],
    processes: NDArray[np.int64],
    names: Sequence[str],
    layouts: Sequence[Sequence[str]],
    layout_of_row: NDArray[np.int64],
) -> Mixed | None:
    """Whether processes take turns in printing the same metrics, and which of them to take: the one with most rows.

    ``processes`` is the number of each row's process in ``names`` (shape (rows,)), "" when the line does not say. Attempts
    that follow one another (another process each) are one run.
    """
    told = np.array([bool(name) for name in names])
    rows = np.flatnonzero(told[processes]) if len(processes) else processes
    found = list(dict.fromkeys(processes[rows].tolist()))
    if len(found) < 2:
        return None
    first = {one: int(rows[processes[rows] == one][0]) for one in found}
    last = {one: int(rows[processes[rows] == one][-1]) for one in found}
    keys: dict[int, set[str]] = {
        one: set().union(*(layouts[place] for place in np.unique(layout_of_row[processes == one]))) for one in found
    }
    conflicting: set[int] = set()
    for index, one in enumerate(found):
        for other in found[index + 1 :]:
            overlap = first[other] < last[one]
            if overlap and 2 * len(keys[one] & keys[other]) > min(len(keys[one]), len(keys[other])):
                conflicting |= {one, other}
    if not conflicting:
        return None
    counts = {one: int(np.count_nonzero(processes == one)) for one in found if one in conflicting}
    taken = max(counts, key=lambda one: (counts[one], -first[one]))
    others = [one for one in counts if one != taken]
    # A line that names no process belongs to the one that printed before it.
    owner = processes.copy()
    if len(rows):
        before = np.searchsorted(rows, np.arange(len(processes)), side="right") - 1
        owner = processes[rows[np.maximum(before, 0)]]
    leave_out = np.isin(owner, others)
    return Mixed(leave_out, names[taken], counts[taken], [names[one] for one in others], int(lines[min(first[one] for one in others)]))


def cut_at_one_width(
    widths: NDArray[np.int64], layouts: Sequence[Sequence[str]], layout_of_row: NDArray[np.int64], columns: Mapping[str, Column]
) -> NDArray[np.int64] | None:
    """Rows whose last number was probably cut, as (nearly) all metric lines have the same width though their numbers are
    printed in full (``cut -c1-200``, a pager).

    ``widths`` has shape (rows,): 0 where the end of a line is known, negative where a line stops before a value.
    """
    known = np.abs(widths[np.abs(widths) >= _NARROWEST])
    if len(known) < _FEWEST or len(known) < _MOST * len(widths):
        return None
    values, counts = np.unique(known, return_counts=True)
    common = int(values[counts.argmax()])
    if counts.max() < _MOST * len(known) or common != values[-1] or not _printed_in_full(columns):
        return None
    found: list[int] = []
    for row in np.flatnonzero(widths == common):
        column = columns[layouts[layout_of_row[row]][-1]]
        at = int(np.searchsorted(column.rows, row))
        if column.styles[at] in _CERTAIN:
            continue
        text = column.texts.get(at) or print_value(float(column.values[at]), int(column.styles[at]))
        if not settled(Part(b"", text.encode()), 0):
            found.append(int(row))
    return np.array(found, np.int64) if found else None


def _printed_in_full(columns: Mapping[str, Column]) -> bool:
    """Whether most columns hold numbers of many digits."""
    many = 0
    for column in columns.values():
        text = print_value(float(column.values[-1]), int(column.styles[-1])) if len(column.values) else ""
        many += sum(c.isdigit() for c in text) > 8
    return many * 3 >= len(columns)
