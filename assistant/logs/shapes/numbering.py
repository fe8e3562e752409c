"""Steps of records that print none: the progress bar beside them when it is to be trusted, else 1, 2, 3 …"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Collection
from itertools import pairwise

from assistant.run import NO_STEP

BAR = re.compile(rb"(?<![\d./])(\d{1,9})/(\d{1,9}) \[[\d:?]*<")
_BACK, _AHEAD = 4096, 2048
"""Bytes before and after a dict in which its bar stands."""


class BarSteps:
    """Collects, for each row without a step, the bars around it; at the end decides whether they are its steps.

    A bar is trusted when the rows stand one by one between bars that rise; output that was buffered comes in bursts behind
    one bar, and then the rows are numbered.
    """

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._before: list[tuple[int, int] | None] = []
        self._after: list[tuple[int, int] | None] = []
        self._waiting = False
        self.counted = False

    def expect(self, row: int) -> None:
        """Row number ``row`` is about to be added, and has no step."""
        self._rows.append(row)
        self._before.append(None)
        self._after.append(None)
        self._waiting = True

    def see(self, block: bytes, low: int, start: int, stop: int, size: int) -> None:
        """Looks for bars around ``block[start:stop]``, where the row expected last stands; nothing before ``low`` counts."""
        if not self._waiting:
            return
        self._waiting = False
        before = list(BAR.finditer(block, max(low, start - _BACK), start))
        if before:
            self._before[-1] = (int(before[-1][1]), int(before[-1][2]))
        next_dict = block.find(b"{", stop, stop + _AHEAD)
        after = BAR.search(block, stop, next_dict if next_dict >= 0 else min(size, stop + _AHEAD))
        if after:
            self._after[-1] = (int(after[1]), int(after[2]))

    def settle(self, steps: array[int], merged: Collection[int]) -> int | None:
        """Writes the steps of the rows that have none; returns the total that the bars announce, when they were used."""
        bars = Counter(bar[1] for bar in self._before if bar)
        total = bars.most_common(1)[0][0] if bars else None
        if total is not None:
            chosen = self._trusted(total)
            if chosen is not None:
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

    def _trusted(self, total: int) -> list[int] | None:
        before = [bar[0] if bar and bar[1] == total else None for bar in self._before]
        after = [bar[0] if bar and bar[1] == total else None for bar in self._after]
        chosen = after if before and before[0] == 0 else before
        found = [step for step in chosen if step is not None]
        if len(found) < len(chosen) or any(b <= a for a, b in pairwise(found)):
            return None
        return found

    @staticmethod
    def _follow(steps: array[int], merged: Collection[int]) -> None:
        for row in merged:
            if row and steps[row] == NO_STEP:
                steps[row] = steps[row - 1]
