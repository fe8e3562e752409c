"""What a face shows of a walk through a guide: plain data, no markup beyond a little Markdown in ``body``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from assistant.run import Point, SourceLine, json_value

State = Literal["found", "explained", "fine", "unknown", "none"]
"""What the diagnosis says about the findings that a step asks for; ``none``: the question does not arise in this log."""

Verdict = Literal["good", "bad", "odd", "unknown", "context"]


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of the run. ``yours`` is in words, ``points`` are the printed values behind it (the last one last).

    ``typical`` are medians of the first and the last steps, for a long run ("" else).
    """

    metric: str
    plain: str
    should: str
    yours: str
    step: int | None
    line: int | None
    points: Sequence[Point] = ()
    canonical: str = ""
    card: str | None = None
    typical: str = ""


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the trade, explained the first time it turns up in a walk. ``card`` is the concept card to read on."""

    word: str
    meaning: str
    card: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to change; ``key`` is None for a step that is not a setting, ``to`` None where only the direction is known."""

    text: str
    why: str
    check: str
    key: str | None = None
    start: Any = None
    to: Any = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where a walk ends. ``findings`` are ids of the diagnosis, the one to act on first; empty when nothing wrong was found.

    ``kind``: ``found``; ``healthy`` (nothing wrong in what this log shows); ``short`` (nothing wrong, too few steps to be sure).
    ``told`` is what the person's answers add, ``first`` what came before it or is more urgent, ``open`` what this log cannot tell.
    """

    kind: Literal["found", "healthy", "short"]
    findings: Sequence[str]
    title: str
    meaning: str
    summary: str
    causes: Sequence[str]
    changes: Sequence[Change]
    watch_next: Sequence[str]
    told: Sequence[str] = ()
    also: Sequence[str] = ()
    first: str = ""
    wrong_if: Sequence[str] = ()
    open: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a walk. ``options`` are (id, label); ``default`` is the one that the log supports ("" on the last page).

    ``by_log`` is False where the default is only for who does not know.

    ``notes`` say what was skipped and why; ``quotes`` are lines of the log; ``progress`` is (this page, about how many in all).
    """

    title: str
    body_markdown: str
    rows: Sequence[Row] = ()
    question: str = ""
    options: Sequence[tuple[str, str]] = ()
    done: bool = False
    outcome: Outcome | None = None
    default: str = ""
    by_log: bool = True
    state: State = "none"
    guide: str = ""
    step: str = ""
    notes: Sequence[str] = ()
    quotes: Sequence[SourceLine] = ()
    terms: Sequence[Term] = ()
    progress: tuple[int, int] = (1, 1)
    choices: Sequence[str] = field(default_factory=tuple)

    def to_json(self) -> dict[str, Any]:
        """As JSON may carry it: non-finite values as text, options as objects."""
        found = asdict(self)
        found["options"] = [{"id": name, "label": label} for name, label in self.options]
        for row in found["rows"]:
            for point in row["points"]:
                point["value"] = json_value(point["value"])
        return found


@dataclass(frozen=True, slots=True)
class Lesson:
    """One of the eight numbers of a first reading. ``verdict``: ``good``, ``bad`` (a finding says so), ``odd`` (looks odd, is normal),
    ``unknown`` (this log cannot tell), ``context`` (nothing judges it by itself)."""

    metric: str
    what: str
    should: str
    yours: str
    verdict: Verdict
    line: int | None
    comment: str = ""
    step: int | None = None
    points: Sequence[Point] = ()
    terms: Sequence[Term] = ()
    typical: str = ""

    def to_json(self) -> dict[str, Any]:
        found = asdict(self)
        for point in found["points"]:
            point["value"] = json_value(point["value"])
        return found
