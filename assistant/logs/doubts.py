"""What only the whole log shows about its metric lines: two runs mixed in it (told apart or not), all its lines cut at one width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assistant.logs.metric_part import Part, settled
from assistant.run import Column, IntArray, Style, print_value

_CERTAIN = (Style.FIXED3, Style.NUMPY, Style.BOOL)
_MOST = 0.9
_FEWEST = 3
_NARROWEST = 60
_SHARE_LATE = 0.1
_MANY_DIGITS = 15
_GROWING = ("num_tokens", "num_input_tokens_seen", "total_tokens", "episode", "consumed samples", "time/total_timesteps", "epoch")
"""Counts that never fall within a run."""
_SCHEDULED = ("learning_rate", "lr", "actor_lr", "train/learning_rate", "learning rate")
"""What a schedule moves: smoothly, and never to and fro."""
_FEWEST_TURNS = 4
_TO_AND_FRO = 0.8


class Mixed(NamedTuple):
    """Metric lines of several processes (runs, or ranks of one) in one log: the rows to leave out, whose were read, whose were not."""

    leave_out: NDArray[np.bool_]
    read: str
    n_read: int
    others: Sequence[str]
    first_line: int


def mixed_runs(
    steps: IntArray, lines: IntArray, processes: IntArray, names: Sequence[str], layouts: Sequence[Sequence[str]], layout_of_row: IntArray
) -> Mixed | None:
    """Whether processes take turns in printing the same metrics, and which of them to take: the one with most rows.

    ``processes`` is the number of each row's process in ``names`` (shape (rows,)), "" when the line does not say. Attempts
    that follow one another (another process each) are one run, also when the old one prints a late line.
    """
    told = np.array([bool(name) for name in names], np.bool_)
    if np.count_nonzero(told) < 2:
        return None
    rows = np.flatnonzero(told[processes])
    where = {one: rows[processes[rows] == one] for one in dict.fromkeys(processes[rows].tolist())}
    keys: dict[int, set[str]] = {one: set().union(*(layouts[place] for place in np.unique(layout_of_row[at]))) for one, at in where.items()}
    conflicting: set[int] = set()
    for one, other in combinations(where, 2):
        same = 2 * len(keys[one] & keys[other]) > min(len(keys[one]), len(keys[other]))
        if same and _mixed(where[one], where[other], steps):
            conflicting |= {one, other}
    if not conflicting:
        return None
    taken = max(conflicting, key=lambda one: (len(where[one]), -where[one][0]))
    others = sorted(conflicting - {taken}, key=lambda one: int(where[one][0]))
    # A line that names no process belongs to the one that printed before it.
    before = np.searchsorted(rows, np.arange(len(processes)), side="right") - 1
    owners = processes[rows[np.maximum(before, 0)]]
    first = int(lines[where[others[0]][0]])
    return Mixed(np.isin(owners, others), names[taken], len(where[taken]), [names[one] for one in others], first)


def _mixed(first: IntArray, second: IntArray, steps: IntArray) -> bool:
    """Whether two processes, whose rows are given, print side by side: many rows of the first follow the second's first row."""
    late = int(np.count_nonzero(first > second[0]))
    only_step = len(first) == len(second) == 1 and steps[first[0]] == steps[second[0]]
    return bool(only_step) or late >= max(1, _SHARE_LATE * len(first))


def taking_turns(columns: Mapping[str, Column], row_lines: IntArray) -> tuple[str, int] | None:
    """A metric that goes to and fro as it does when two processes that name themselves nowhere print by turns, and the first line of it.

    A count that falls again and again, or a scheduled rate that zigzags; or each step twice, with the same count and rate.
    """
    twice = 0
    for name in (*_GROWING, *_SCHEDULED):
        column = columns.get(name)
        if column is None or len(column.values) < 2 * _FEWEST_TURNS:
            continue
        change = np.diff(column.values)
        falls = np.count_nonzero(change < 0)
        if name in _GROWING and falls >= max(_FEWEST_TURNS, _TO_AND_FRO * len(change) / 2):
            return name, int(row_lines[column.rows[int(np.argmax(change < 0)) + 1]])
        turns = change[1:] * change[:-1] < 0
        if name in _SCHEDULED and np.count_nonzero(turns) >= max(_FEWEST_TURNS, _TO_AND_FRO * len(turns)):
            return name, int(row_lines[column.rows[1]])
        pairs = column.values[: len(column.values) // 2 * 2].reshape(-1, 2)
        between = np.diff(pairs[:, 0]) != 0
        if name != "epoch" and (pairs[:, 0] == pairs[:, 1]).all() and between.mean() > _TO_AND_FRO:
            twice += 1
            if twice > 1:
                return name, int(row_lines[column.rows[1]])
    return None


def cut_at_one_width(
    widths: IntArray, layouts: Sequence[Sequence[str]], layout_of_row: IntArray, columns: Mapping[str, Column]
) -> IntArray | None:
    """Rows whose last number was probably cut, as (nearly) all metric lines have the same width though their numbers are
    printed in full (``cut -c1-200``, a pager).

    ``widths`` has shape (rows,): 0 where the end of a line is known, negative where a line stops before a value.
    """
    known = np.abs(widths[np.abs(widths) >= _NARROWEST])
    if len(known) < _FEWEST or len(known) < _MOST * len(widths):
        return None
    values, counts = np.unique(known, return_counts=True)
    common = int(values[counts.argmax()])
    if counts.max() < _MOST * len(known) or common != values[-1]:
        return None
    decimals = _decimals(columns)
    if decimals is None:
        if not (widths == -common).any():
            return None
        decimals = 0
    found: list[int] = []
    for row in np.flatnonzero(widths == common):
        column = columns[layouts[layout_of_row[row]][-1]]
        at = int(np.searchsorted(column.rows, row))
        if column.styles[at] in _CERTAIN:
            continue
        text = column.texts.get(at) or print_value(float(column.values[at]), int(column.styles[at]))
        if not settled(Part(b"", text.encode()), decimals):
            found.append(int(row))
    return np.array(found, np.int64) if found else None


def _decimals(columns: Mapping[str, Column]) -> int | None:
    """How many decimals a log prints: 3, 0 when a machine printed its numbers in full, None when neither is certain."""
    in_full = three = 0
    for column in columns.values():
        style = int(column.styles[0])
        three += style == Style.FIXED3
        if style in (Style.REPR, Style.NUMPY):
            texts = (print_value(float(value), style) for value in column.values[:5])
            in_full += any(sum(c.isdigit() for c in text) >= _MANY_DIGITS for text in texts)
    if 2 * three > len(columns):
        return 3
    return 0 if in_full else None
