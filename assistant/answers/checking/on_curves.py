"""Claims that a sentence makes on a curve: which curve it speaks of, at which step, and how one is decided."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from assistant.answers.checking.grounds import Grounds
from assistant.answers.checking.numerals import Numeral
from assistant.answers.checking.phrases import HYPOTHETICAL
from assistant.answers.checking.scope import Mention, Sentence
from assistant.run import Series

IN_PART = re.compile(
    r"\b(?:since|after|before|until|between|from step|by step|so far|up to|later|again|first half|second half|(?:last|first|next) \w+ steps"
    r"|previous|local)\b"
    r"|之后|以后|以来|之前|以前|期间|之间|截至|前半|后半|前\s?\d+\s?步|后\s?\d+\s?步|最后\s?\d+\s?步|局部|再次",
    re.IGNORECASE,
)
"""A sentence about a part of the run."""

Found = tuple[int, int, str]
"""Start and end of what is wrong, and what is right."""


@dataclass
class Judgement:
    """Starts of the numerals that a claim proves, and the wrong spans."""

    right: set[int] = field(default_factory=set)
    wrong: list[Found] = field(default_factory=list)


@dataclass
class Claims:
    """The sentence with names blanked, and its numbers sorted into steps and values."""

    row: Sentence
    grounds: Grounds
    metrics: Sequence[Mention]

    def __post_init__(self) -> None:
        self.text = self.row.plain(self.row.start, self.row.end)
        out = self.row.text
        for x in self.row.mentions:
            if x.literal:
                a, b = x.start - self.row.start, x.end - self.row.start
                out = out[:a] + "_" * (b - a) + out[b:]
        self.spoken = re.sub(r"`[^`]*`", lambda m: "_" * len(m[0]), out)
        self.steps = [n for n in self.row.numbers if self.row.is_step(n)]
        self.values = [n for n in self.row.numbers if n not in self.steps and not self.row.is_line(n)]

    def subject(self, start: int, end: int) -> list[Series]:
        """Curves of the metric that a claim at ``start:end`` of the whole text is said of; [] when it is not clear."""
        around = [m for m in self.metrics if m.start <= start and end <= m.end]
        if around:
            return self.curves(around[0])
        before = [m for m in self.metrics if m.end <= start]
        after = [m for m in self.metrics if m.start >= end and m.start - end <= 24]
        if before and start - before[-1].end <= 70:
            within = after and re.match(r"^[\s`*]*(?:of|for|的|in)\s*(?:the )?[`*]*$", self.row.whole[end : after[0].start])
            return self.curves(after[0] if within else before[-1])
        return self.curves(after[0]) if after else []

    def curves(self, mention: Mention) -> list[Series]:
        return [s.take(s.finite) for key in mention.keys if (s := self.grounds.series(key)) is not None and s.finite.sum() > 3]

    def hypothetical(self, start: int) -> bool:
        first, last = self.row.clause(start)
        return bool(HYPOTHETICAL.search(self.row.plain(first, last)))

    def step_near(self, start: int, end: int) -> Numeral | None:
        """The step that a phrase at ``start:end`` is placed at: the first one behind it, else the last one before it in its clause."""
        behind = next((n for n in self.steps if n.start >= end), None)
        if behind is not None:
            gap = self.row.whole[end : behind.start]
            if len(gap) <= 44 and not re.search(
                r"[;；。]|[,，]\s*(?!step|at|第|在)|\b(?:and|but|while|than|then|to)\b|而|但|然后|到第|比", gap
            ):
                return None if re.match(r"\s?步?\s?(?:–|-|~|至|到)\s?\d", self.row.whole[behind.end : behind.end + 5]) else behind
        before = next((n for n in reversed(self.steps) if n.end <= start), None)
        if before is None or len(self.row.whole[before.end : start]) > 60 or any(before.end <= n.start < start for n in self.values):
            return None
        first, _ = self.row.clause(start)
        near = self.row.whole[before.end : start]
        return before if before.start >= first or len(re.sub(r"`[^`]*`", "", near)) <= 8 else None


Verdict = tuple[Sequence[Numeral | tuple[int, int]], str | None]
"""The numerals (or the span) of a claim, what is wrong first; None when they are right, else what would be."""


def scales(numeral: Numeral, series: Series) -> tuple[float, ...]:
    """Factors by which a printed value may be written: a share as a percentage, a metric with a unit in its name in its own unit."""
    if numeral.unit == "%":
        return (100.0,) if float(np.abs(series.values[series.finite]).max()) <= 1.5 else (1.0, 100.0)
    return (1.0, series.scale)


def decide(series: Iterable[Series], judge: Callable[[Series], str | None]) -> str | None:
    """None when a claim holds for one of the curves; "" when none can tell; else what is right for the first."""
    said = [judge(one) for one in series]
    if not said or any(one is None for one in said):
        return None if said else ""
    return "" if "" in said else said[0]
