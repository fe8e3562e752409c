"""The evidence that a model gets: numbered facts and cards in a token budget, the most relevant first, the same for the same question.

Every part is written for its own sake (``sections``), weighed by its rank, and taken as long as the budget lasts. What was left
out is said at the end of the evidence. Facts are numbered in the order in which they stand there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from assistant.answers.checking.names import visible
from assistant.answers.grounding.context import Context
from assistant.answers.grounding.evidence import Evidence
from assistant.answers.grounding.tokens import Counter, counter
from assistant.answers.packed.prompts import labels
from assistant.answers.packed.sections import Section, sections
from assistant.answers.understanding.question import Question
from assistant.diagnosis.finding import Diagnosis
from assistant.diagnosis.view import RunView

LEAST = 300
"""Tokens below which an evidence says nothing useful."""


@dataclass(slots=True)
class Packed:
    """``text`` is what the model reads; ``evidence`` holds the facts and cards that it can cite; ``left_out`` what did not fit."""

    text: str
    evidence: Evidence
    tokens: int
    left_out: list[str] = field(default_factory=list)
    runs: tuple[tuple[str, Evidence], ...] = ()
    """Name and evidence of each of two runs, when the text is about two."""


def pack(
    question: Question,
    diagnosis: Diagnosis,
    view: RunView,
    *,
    budget: int,
    count: Counter | None = None,
    retrieved: Sequence[str] = (),
    run: str = "",
    first: int = 0,
    without: frozenset[str] = frozenset(),
) -> Packed:
    """Evidence for ``question`` in at most ``budget`` tokens; ``retrieved`` are card ids that a search found, best first.

    In a talk about several runs ``run`` is this one's name and its facts are numbered after ``first``; ``without`` are parts (by heading)
    that are not wanted.
    """
    count = count or counter()

    def fresh() -> Evidence:
        return Evidence(diagnosis, view, question.language, run=run, first=first)

    scratch = Context(question, diagnosis, view, fresh())
    candidates = [section for section in sections(scratch, retrieved) if section.heading not in without]
    costs = {id(section): count(_written(section, scratch)) + 1 for section in candidates}
    room = max(budget, LEAST) - 60  # the list of what was left out
    taken: list[Section] = []
    missed: list[Section] = []
    headings: set[str] = set()
    for section in sorted(candidates, key=lambda s: s.rank):
        cost = costs[id(section)] + (0 if section.heading in headings else count(labels()[section.heading]) + 2)
        if costs[id(section)] <= 1:
            continue
        if cost <= room:
            taken.append(section)
            headings.add(section.heading)
            room -= cost
        else:
            missed.append(section)
    context = Context(question, diagnosis, view, fresh(), scratch.curves)
    text = _laid_out(taken, missed, context)
    while count(text) > max(budget, LEAST) and len(taken) > 1:
        worst = max(taken, key=lambda s: s.rank)
        taken.remove(worst)
        missed.append(worst)
        context = Context(question, diagnosis, view, fresh(), scratch.curves)
        text = _laid_out(taken, missed, context)
    return Packed(text, context.evidence, count(text), [section.name for section in sorted(missed, key=lambda s: s.rank)])


def _laid_out(taken: Sequence[Section], missed: Sequence[Section], context: Context) -> str:
    words = labels()
    parts: list[str] = []
    heading = ""
    for section in sorted(taken, key=lambda s: (s.place, s.rank)):
        body = _written(section, context)
        if not body:
            continue
        if section.heading != heading:
            heading = section.heading
            parts.append(f"\n{words[heading]}")
        parts.append(body)
    names = [section.name for section in sorted(missed, key=lambda s: s.rank)]
    shown = ", ".join(names[:12]) + (f", … ({len(names)})" if len(names) > 12 else "")
    parts.append(f"\n{words['left_out']}: {shown or words['left_out_none']}")
    return "\n".join(parts).strip()


def _written(section: Section, context: Context) -> str:
    return visible(section.write(context)).strip("\n")
