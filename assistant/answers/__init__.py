"""From a question and a diagnosis to an answer whose every number is known.

``answer`` is the built-in writer: no model, no network, a few milliseconds. It understands a question by its words, takes
facts from the run and sentences from the cards, and checks every numeral of what it wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assistant.answers.context import Context
from assistant.answers.evidence import Evidence, Fact
from assistant.answers.numbers import Number, check, checked
from assistant.answers.question import Question, Turn, understand
from assistant.answers.writer import followups, write
from assistant.diagnosis.finding import Diagnosis
from assistant.diagnosis.view import RunView
from assistant.lexicon import of_run
from assistant.messages import Language

__all__ = ["Answer", "Fact", "Question", "Turn", "answer", "understand"]


@dataclass(frozen=True, slots=True)
class Answer:
    """``markdown`` is what to show; ``numbers`` is each of its numerals with what it was matched to, ``checked`` their counts.

    ``turn`` is to be kept for the next question's ``history``.
    """

    markdown: str
    language: Language
    numbers: Sequence[Number]
    facts: Sequence[Fact]
    cards: Sequence[str]
    findings: Sequence[str]
    followups: Sequence[str]
    checked: dict[str, int]
    turn: Turn
    mode: str = "builtin"
    model: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The object that ``runwhy ask --json`` prints."""
        return {
            "answer": self.markdown,
            "language": self.language,
            "mode": self.mode,
            "model": self.model,
            "numbers": [number.to_json() for number in self.numbers],
            "facts": [fact.to_json() for fact in self.facts],
            "cards": list(self.cards),
            "findings": list(self.findings),
            "followups": list(self.followups),
            "checked": self.checked,
        }


def answer(question: str, diagnosis: Diagnosis, *, language: Language | None = None, history: Sequence[Turn] = ()) -> Answer:
    """Answer ``question`` about the run of ``diagnosis`` in the question's language (or in ``language``).

    ``history`` holds the turns of earlier answers, oldest first: a follow-up ("and why?") refers to the last one.
    """
    view = RunView(diagnosis.run)
    present = {name.canonical for name in view.names.values()}
    asked = understand(question, run_lexicon=of_run(diagnosis.run), present=present, language=language, history=history)
    evidence = Evidence(diagnosis, view, asked.language)
    context = Context(asked, diagnosis, view, evidence)
    markdown = write(context)
    numbers = check(markdown, evidence, question)
    findings = tuple(evidence.findings)
    turn = Turn(question, asked.metrics, tuple(dict.fromkeys([*asked.findings, *findings]))[:3] if not asked.metrics else asked.findings)
    return Answer(
        markdown,
        asked.language,
        numbers,
        tuple(evidence.facts),
        tuple(evidence.cards),
        findings,
        tuple(followups(context)),
        checked(numbers),
        turn,
    )
