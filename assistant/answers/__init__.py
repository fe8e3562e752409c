"""From a question and a diagnosis to an answer whose every number is known.

``answer`` is the built-in writer: no model, no network, a few milliseconds. It understands a question by its words, takes
facts from the run and sentences from the cards, and checks every numeral of what it wrote. With an endpoint (``model=``) a
language model writes instead, from the same evidence; it is held to the same check, and the built-in answer stands in for it
whenever it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from assistant.answers.context import Context
from assistant.answers.evidence import Evidence, Fact
from assistant.answers.numbers import Number, check, checked
from assistant.answers.question import Question, Turn, understand
from assistant.answers.writer import followups, write
from assistant.diagnosis.finding import Diagnosis
from assistant.diagnosis.view import RunView
from assistant.lexicon import of_run
from assistant.messages import Language
from assistant.run import SourceLine

if TYPE_CHECKING:
    from assistant.answers.model.settings import Endpoint

__all__ = ["Answer", "Fact", "Question", "Turn", "answer", "understand"]


@dataclass(frozen=True, slots=True)
class Answer:
    """``markdown`` is what to show; ``numbers`` is each of its numerals with what it was matched to, ``checked`` their counts.

    ``turn`` is to be kept for the next question's ``history``. ``note`` says why a model that was asked did not write this,
    ``usage`` what it cost (calls, tokens, seconds).
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
    note: str = ""
    usage: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The object that ``runwhy ask --json`` prints; ``note`` and ``usage`` only when a model was asked."""
        asked = {name: value for name, value in (("note", self.note), ("usage", self.usage)) if value}
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
            **asked,
        }


def answer(
    question: str,
    diagnosis: Diagnosis,
    *,
    language: Language | None = None,
    history: Sequence[Turn] = (),
    model: Endpoint | None = None,
    on_progress: Callable[[str], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    source: Callable[[int, int], Sequence[SourceLine]] | None = None,
) -> Answer:
    """Answer ``question`` about the run of ``diagnosis`` in the question's language (or in ``language``).

    ``history`` holds the turns of earlier answers, oldest first: a follow-up ("and why?") refers to the last one.
    With ``model``, that model writes; ``on_progress`` then gets the answer so far (whole sentences, checked and marked) as Markdown,
    ``cancelled`` is asked ten times a second whether to stop, and ``source`` gives lines of the log to a model with tools.
    """
    given = _builtin(question, diagnosis, language, history)
    if model is None or not question.strip():
        return given
    return _by_model(given, question, diagnosis, model, language, history, on_progress, cancelled, source)


def _builtin(question: str, diagnosis: Diagnosis, language: Language | None, history: Sequence[Turn]) -> Answer:
    view = RunView(diagnosis.run)
    present = {name.canonical for name in view.names.values()}
    asked = understand(question, run_lexicon=of_run(diagnosis.run), present=present, language=language, history=history)
    evidence = Evidence(diagnosis, view, asked.language)
    context = Context(asked, diagnosis, view, evidence)
    markdown = write(context)
    numbers = check(markdown, evidence, question)
    findings = tuple(evidence.findings)
    about = asked.findings if asked.metrics else tuple(dict.fromkeys([*asked.findings, *findings]))[:3]
    turn = Turn(question, asked.metrics, about, markdown)
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


def _by_model(
    given: Answer,
    question: str,
    diagnosis: Diagnosis,
    model: Endpoint,
    language: Language | None,
    history: Sequence[Turn],
    on_progress: Callable[[str], None] | None,
    cancelled: Callable[[], bool] | None,
    source: Callable[[int, int], Sequence[SourceLine]] | None,
) -> Answer:
    """The model's answer, or ``given`` with one sentence on why it is not."""
    from assistant.answers.model.answering import ask_model, composed, fault_sentence

    written = ask_model(
        question, diagnosis, model, language=language, history=history, on_progress=on_progress, cancelled=cancelled, source=source
    )
    if written.verified is None or written.evidence is None:
        assert written.fault is not None
        note = fault_sentence(written.fault, model, given.language)
        return replace(given, markdown=f"{given.markdown}\n\n{note}", note=note, usage=written.usage)
    markdown, numbers, counts = composed(written, diagnosis, given.language)
    used = {number.fact for number in numbers} | set(written.verified.cited)
    facts = tuple(fact for fact in written.evidence.facts if fact.id in used)
    return replace(
        given,
        markdown=markdown,
        numbers=numbers,
        facts=facts,
        cards=tuple(written.evidence.cards),
        findings=tuple(written.evidence.findings),
        checked=counts,
        turn=replace(given.turn, answer=written.verified.plain),
        mode="model",
        model=written.model or model.name,
        usage=written.usage,
    )
