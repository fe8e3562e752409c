"""What a detector hands out, and what a diagnosis is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from assistant.run import Point, Run, SourceLine

if TYPE_CHECKING:
    from assistant.diagnosis.translate import Words

Severity = Literal["critical", "high", "medium", "low", "info"]
SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low", "info")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number that a sentence uses, and where it comes from.

    ``kind`` is ``run`` (printed in the log), ``derived`` (computed from printed values: ``formula`` says how, in metric
    names), ``config`` (the log's configuration) or ``count``. ``text`` is what the sentence shows.
    """

    value: float
    text: str
    kind: Literal["run", "derived", "config", "count"] = "derived"
    metric: str | None = None
    step: int | None = None
    line: int | None = None
    formula: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong (or, with severity ``info``, odd and normal).

    The words are in the card ``findings/<id>``: ``variant`` chooses among its ``says``, ``facts`` fill the placeholders.
    ``causes`` are cause ids of the card, most likely first (None: the card's own order); ``fixes`` narrows and fills the
    card's fixes: fix key → new value (None: the card's). ``confidence`` is 0–1 and heuristic. ``excerpt`` are lines of the
    log that carry it, for findings whose evidence is words. ``words`` turns verl's names in the card into this framework's.
    """

    id: str
    severity: Severity | None = None
    confidence: float = 0.8
    first_step: int | None = None
    last_step: int | None = None
    evidence: Sequence[Point] = ()
    facts: Mapping[str, Quantity] = field(default_factory=dict)
    variant: str = "default"
    causes: Sequence[str] | None = None
    fixes: Mapping[str, Any] | None = None
    follows: Sequence[str] = ()
    excerpt: Sequence[SourceLine] = ()
    words: Words | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A detector could not judge: ``needs`` is what to log or to paste (a key of the catalogue's ``diagnosis.needs_…``,
    a config assignment, or a metric name)."""

    needs: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unknown:
    finding: str
    needs: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Findings in the order to act on them, what was checked and is fine, and what this log cannot tell."""

    run: Run
    findings: Sequence[Finding]
    fine: Sequence[str]
    unknown: Sequence[Unknown]

    @property
    def faults(self) -> Sequence[Finding]:
        """Findings above ``info``."""
        return [f for f in self.findings if f.severity != "info"]

    @property
    def healthy(self) -> bool:
        return not self.faults
