"""Steps of records that print none: the progress bar beside them when it is to be trusted, else 1, 2, 3 …"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Collection, Mapping

from assistant.run import NO_STEP

BAR = re.compile(rb"(?<![\d./])(\d{1,9})/(\d{1,9}) \[[\d:?]*<")
_BACK, _AHEAD = 4096, 2048
"""Bytes before and after a dict in which its bar stands."""


_RESTARTS = 8
"""Of so many rows at most one may begin again (a resumed run): bars that fall more often count something else."""

_COMMON = 0.2
"""Bars with one total beside at least this share of the rows count the training's steps."""


class BarSteps:
    """Collects, for each row without a step, the bars around it; at the end decides whether they are its steps.

    A bar is trusted when the rows stand one by one between bars that rise; output that was buffered comes in bursts behind
    one bar, and then the rows are numbered. An evaluation, which has a bar of its own, belongs to the step before it.
    """

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._before: list[dict[int, int]] = []  # total → count, the bar drawn last at the end
        self._after: list[dict[int, int]] = []
        self._evaluations: set[int] = set()  # places in these lists
        self._waiting = False
        self.counted = False

    def expect(self, row: int, evaluation: bool = False) -> None:
        """Row number ``row`` is about to be added, and has no step."""
        if evaluation:
            self._evaluations.add(len(self._rows))
        self.expect_many(row, 1)

    def expect_many(self, first: int, n: int) -> None:
        """``n`` rows, one below the other, are about to be added, and have no steps; around the last one `see` may look."""
        self._rows += range(first, first + n)
        self._before += [{} for _ in range(n)]
        self._after += [{} for _ in range(n)]
        self._waiting = True

    def see(self, block: bytes, low: int, start: int, stop: int, size: int) -> None:
        """Looks for bars around ``block[start:stop]``, where the row expected last stands; nothing before ``low`` counts."""
        if not self._waiting:
            return
        self._waiting = False
        for bar in BAR.finditer(block, max(low, start - _BACK), start):
            self._before[-1].pop(int(bar[2]), None)
            self._before[-1][int(bar[2])] = int(bar[1])
        next_dict = block.find(b"{", stop, stop + _AHEAD)
        after = BAR.search(block, stop, next_dict if next_dict >= 0 else min(size, stop + _AHEAD))
        if after:
            self._after[-1] = {int(after[2]): int(after[1])}

    def settle(self, steps: array[int], merged: Collection[int]) -> int | None:
        """Writes the steps of the rows that have none; returns the total that the bars announce, when they were used."""
        found = self._trusted()
        if found is not None:
            chosen, total = found
            for row, step in zip(self._rows, chosen, strict=True):
                steps[row] = step
            self._follow(steps, merged)
            return total
        if len(self._rows) and all(steps[row] == NO_STEP for row in range(len(steps))):
            self.counted = True
            count = 0
            for row in range(len(steps)):
                count += row not in merged
                steps[row] = count
        else:
            self._follow(steps, merged)
        return None

    def _trusted(self) -> tuple[list[int], int] | None:
        """The step of each row and the last total, when the bars are to be trusted."""
        training = [place for place in range(len(self._rows)) if place not in self._evaluations]
        last_totals = Counter(next(reversed(self._before[place])) for place in training if self._before[place])
        totals = {total for total, n in last_totals.items() if n >= _COMMON * len(training)}
        if not training or not totals:
            return None
        first = _count(self._before[training[0]], totals)
        bars = self._after if first is not None and first[0] == 0 else self._before
        chosen: list[int] = []
        total = 0
        before: int | None = None  # the step of the training row before
        restarts = 0
        for place in range(len(self._rows)):
            bar = _count(bars[place], totals)
            if place in self._evaluations:
                step = bar[0] if bar is not None and before is None else before
                if step is None:
                    return None
            elif bar is None or bar[0] == before:
                return None
            else:
                step, total = bar
                restarts += before is not None and step < before
                before = step
            chosen.append(step)
        return (chosen, total) if restarts <= max(1, len(training) // _RESTARTS) else None

    @staticmethod
    def _follow(steps: array[int], merged: Collection[int]) -> None:
        for row in merged:
            if row and steps[row] == NO_STEP:
                steps[row] = steps[row - 1]


def _count(bars: Mapping[int, int], totals: Collection[int]) -> tuple[int, int] | None:
    """Count and total of the bar drawn last among those that count training's steps."""
    return next(((bars[total], total) for total in reversed(list(bars)) if total in totals), None)
