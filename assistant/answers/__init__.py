"""From a question and a diagnosis to an answer whose every number is known.

``answer`` is the built-in writer: no model, no network, a few milliseconds. It understands a question by its words, takes
facts from the run and sentences from the cards, and checks every numeral of what it wrote. With an endpoint (``model=``) a
language model writes instead, from the same evidence; it is held to the same check, and the built-in answer stands in for it
whenever it fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from assistant.answers.checking.numbers import Number, check, checked
from assistant.answers.grounding.context import Context
from assistant.answers.grounding.evidence import Evidence, Fact, code
from assistant.answers.several import (
    IDS,
    Talk,
    facts_of,
    followups_between,
    merged,
    pair_of,
    talk_about,
    understood,
    written_between,
)
from assistant.answers.understanding.question import Question, Turn, understand
from assistant.answers.writing.writer import followups, write
from assistant.diagnosis.finding import Diagnosis
from assistant.diagnosis.view import RunView
from assistant.messages import Language, say
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
    others: Sequence[tuple[str, Diagnosis]] = (),
    name: str = "",
    language: Language | None = None,
    history: Sequence[Turn] = (),
    model: Endpoint | None = None,
    on_progress: Callable[[str], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    source: Callable[[int, int], Sequence[SourceLine]] | None = None,
) -> Answer:
    """Answer ``question`` about the run of ``diagnosis`` in the question's language (or in ``language``).

    ``others`` are further runs of the talk (name, diagnosis), in the order in which they came, and ``name`` is what the first one is
    called: a question may then be about one of them ("and in the other one?") or about two ("did my fix work?").
    ``history`` holds the turns of earlier answers, oldest first: a follow-up ("and why?") refers to the last one.
    With ``model``, that model writes; ``on_progress`` then gets the answer so far (whole sentences, checked and marked) as Markdown,
    ``cancelled`` is asked ten times a second whether to stop, and ``source`` gives lines of the (first) log to a model with tools.
    """
    talk = talk_about(question, diagnosis, others, name, history, language)
    given = _builtin(question, talk, history)
    if model is None or not question.strip():
        return given
    return _by_model(given, question, talk, model, history, on_progress, cancelled, source)


def _builtin(question: str, talk: Talk, history: Sequence[Turn]) -> Answer:
    if talk.meant.between:
        return _between(question, talk, history)
    index = talk.meant.runs[0]
    name, diagnosis = talk.run(index)
    view = RunView(diagnosis.run)
    asked = understood(talk.meant.rest, diagnosis, view, talk.language, history)
    evidence = Evidence(diagnosis, view, asked.language, run="" if talk.single else name, first=IDS * index)
    context = Context(asked, diagnosis, view, evidence)
    markdown = write(context)
    numbers = check(markdown, evidence, question)
    said = {question, *(turn.question for turn in history)}
    more = [one for one in followups(context, 6) if one not in said][:3]
    if not talk.single:
        lead = say("between.about", asked.language, name=code(name)) + "\n\n"
        markdown, numbers = lead + markdown, [replace(n, start=n.start + len(lead)) for n in numbers]
        other = talk.names[index - 1 if index else 1]
        more = [*more[:2], say("between.ask_other", asked.language, name=other)]
    findings = tuple(evidence.findings)
    about = asked.findings if asked.metrics else tuple(dict.fromkeys([*asked.findings, *findings]))[:3]
    return Answer(
        markdown,
        asked.language,
        numbers,
        tuple(evidence.facts),
        tuple(evidence.cards),
        findings,
        tuple(more),
        checked(numbers),
        Turn(question, asked.metrics, about, markdown),
    )


def _between(question: str, talk: Talk, history: Sequence[Turn]) -> Answer:
    """The built-in answer about two runs."""
    pair = pair_of(talk, history)
    markdown = written_between(pair, talk.meant)
    evidence = merged(pair)
    masked = markdown
    for name in sorted(talk.names, key=len, reverse=True):
        masked = masked.replace(name, re.sub(r"\w", "_", name))  # the digits of a name are no numbers
    numbers = check(masked, evidence, question)
    metrics = tuple(dict.fromkeys([*pair.a.question.metrics, *pair.b.question.metrics]))
    return Answer(
        markdown,
        talk.language,
        numbers,
        facts_of(pair),
        tuple(evidence.cards),
        tuple(evidence.findings),
        tuple(followups_between(pair, talk.meant)),
        checked(numbers),
        Turn(question, metrics, () if metrics else tuple(evidence.findings)[:3], markdown),
    )


def _by_model(
    given: Answer,
    question: str,
    talk: Talk,
    model: Endpoint,
    history: Sequence[Turn],
    on_progress: Callable[[str], None] | None,
    cancelled: Callable[[], bool] | None,
    source: Callable[[int, int], Sequence[SourceLine]] | None,
) -> Answer:
    """The model's answer, or ``given`` with one sentence on why it is not."""
    from assistant.answers.model.answering import ask_model, composed, fault_sentence

    written = ask_model(question, talk, model, history=history, on_progress=on_progress, cancelled=cancelled, source=source)
    if written.verified is None or written.evidence is None:
        assert written.fault is not None
        note = fault_sentence(written.fault, model, given.language)
        return replace(given, markdown=f"{given.markdown}\n\n{note}", note=note, usage=written.usage)
    markdown, numbers, counts = composed(written, given.language)
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
