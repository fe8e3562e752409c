"""A talk about several runs: their names, which of them a question is about, and the built-in answer across two."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from assistant.answers.checking.names import visible
from assistant.answers.grounding.context import Context
from assistant.answers.grounding.evidence import Evidence, Fact
from assistant.answers.grounding.tokens import Counter
from assistant.answers.packed.packing import Packed, pack
from assistant.answers.packed.prompts import labels
from assistant.answers.understanding.language import detect
from assistant.answers.understanding.question import Question, Turn, understand
from assistant.answers.understanding.run_words import Meant, meant_runs
from assistant.answers.writing.between import Pair, between
from assistant.diagnosis.finding import Diagnosis
from assistant.diagnosis.naming import metric_card
from assistant.diagnosis.view import RunView
from assistant.lexicon import of_run
from assistant.messages import Language, say

IDS = 1000
"""Facts of the second run begin at E1001, of the third at E2001 …"""


@dataclass(frozen=True, slots=True)
class Talk:
    """``runs`` are (name, diagnosis) in the order in which they came; ``meant`` says which of them the question is about."""

    runs: tuple[tuple[str, Diagnosis], ...]
    meant: Meant
    language: Language
    question: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.runs)

    @property
    def single(self) -> bool:
        """Whether only one run is there at all."""
        return len(self.runs) == 1

    @property
    def main(self) -> Diagnosis:
        """The run that the question is about; of two the later one."""
        return self.runs[self.meant.runs[-1]][1]

    def run(self, index: int) -> tuple[str, Diagnosis]:
        return self.runs[index]


def talk_about(
    question: str,
    diagnosis: Diagnosis,
    others: Sequence[tuple[str, Diagnosis]],
    name: str,
    history: Sequence[Turn],
    language: Language | None,
) -> Talk:
    """The runs of a talk, each with a name of its own, and what the question means."""
    chosen = language or detect(question)
    if not others:
        return Talk(((name, diagnosis),), Meant((0,), question), chosen, question)
    runs: list[tuple[str, Diagnosis]] = []
    for index, (given, one) in enumerate([(name, diagnosis), *others]):
        base = given.strip() or f"run {index + 1}"
        known = {known for known, _ in runs}
        unique, n = base, 2
        while unique in known:
            unique, n = f"{base} ({n})", n + 1
        runs.append((unique, one))
    names, asked = [known for known, _ in runs], [turn.question for turn in history]
    meant = meant_runs(question, names, asked)
    if history and not meant.between and not runs[meant.runs[0]][1].faults:
        before = meant_runs(asked[-1], names, asked[:-1])
        if before.between and meant.runs[0] in before.runs and meant.rest == question:
            meant = replace(meant, runs=before.runs)  # the later run needs nothing: the answer stays about both
    return Talk(tuple(runs), meant, chosen, question)


def understood(text: str, diagnosis: Diagnosis, view: RunView, language: Language | None, history: Sequence[Turn]) -> Question:
    """The question as it reads for this run."""
    present = {name.canonical for name in view.names.values()}
    asked = understand(text, run_lexicon=of_run(diagnosis.run), present=present, language=language, history=history)
    metrics = tuple(dict.fromkeys(_printed_sibling(metric, asked, present) for metric in asked.metrics))
    return asked if metrics == asked.metrics else replace(asked, metrics=metrics)


def _printed_sibling(metric: str, asked: Question, present: set[str]) -> str:
    """``metric``, or the one that this log prints of the same card ("skipped" is what Megatron calls "number of skipped iterations").

    Another statistic of the same quantity, or a metric that was asked for by its key, is not exchanged.
    """
    key = asked.key_of(metric) or ""
    if metric == "critic_total_loss" and not {metric} & present and "value_loss" in present and "critic/loss" not in asked.text.lower():
        return "value_loss"  # "the critic loss" is the one that the log prints
    if metric in present or re.search(r"[/_.]", key) or "missing" in asked.properties:
        return metric
    mine = metric_card(metric)
    near = [name for name in present if name and metric_card(name) == mine and set(name.split("_")) & set(metric.split("_"))]
    return near[0] if mine and len(near) == 1 else metric


def context_of(talk: Talk, index: int, history: Sequence[Turn], evidence: Evidence | None = None) -> Context:
    """What a writer needs of one run of the talk; its facts have ids of their own and carry its name."""
    name, diagnosis = talk.run(index)
    view = evidence.view if evidence is not None else RunView(diagnosis.run)
    asked = understood(talk.meant.rest, diagnosis, view, talk.language, history)
    return Context(asked, diagnosis, view, evidence or Evidence(diagnosis, view, talk.language, run=name, first=IDS * index))


def pair_of(talk: Talk, history: Sequence[Turn], evidences: Sequence[Evidence | None] = (None, None)) -> Pair:
    first, second = talk.meant.runs[:2]
    return Pair(
        context_of(talk, first, history, evidences[0]),
        context_of(talk, second, history, evidences[1]),
        (talk.names[first], talk.names[second]),
    )


def written_between(pair: Pair, meant: Meant) -> str:
    return "\n\n".join(part.strip() for part in between(pair, meant))


def merged(pair: Pair) -> Evidence:
    """The facts, cards and findings of both runs in one; of a name that both print the later run's."""
    one, two = pair.a.evidence, pair.b.evidence
    both = Evidence(two.diagnosis, two.view, two.language)
    both.facts = [*one.facts, *two.facts]
    both.cards = list(dict.fromkeys([*one.cards, *two.cards]))
    both.findings = list(dict.fromkeys([*two.findings, *one.findings]))
    both.told = one.told | two.told
    return both


def facts_of(pair: Pair) -> tuple[Fact, ...]:
    return (*pair.a.evidence.facts, *pair.b.evidence.facts)


APART = frozenset({"draft", "fine", "unknown", "others"})
"""Parts of the evidence that two runs in one prompt do without."""
COMPARED = 0.2
"""Share of the budget that is kept for the comparison."""


def pack_between(talk: Talk, history: Sequence[Turn], *, budget: int, count: Counter, retrieved: Sequence[str] = ()) -> tuple[Packed, Pair]:
    """The evidence of both runs, and what the program finds between them, in at most ``budget`` tokens."""
    words = labels()
    packed: list[Packed] = []
    left = int(budget * (1 - COMPARED)) - 80
    for order, index in enumerate(talk.meant.runs[:2]):
        name, diagnosis = talk.run(index)
        view = RunView(diagnosis.run)
        asked = understood(talk.meant.rest, diagnosis, view, talk.language, history)
        without = APART if order else APART | {"cards"}
        share = left * 0.45 if not order else left - sum(one.tokens for one in packed)
        packed.append(
            pack(asked, diagnosis, view, budget=int(share), count=count, retrieved=retrieved, run=name, first=IDS * index, without=without)
        )
    pair = pair_of(talk, history, [one.evidence for one in packed])
    compared = " ".join(part.replace("\n", " ") for part in between(pair, talk.meant))
    texts = []
    for order, (one, name) in enumerate(zip(packed, pair.names, strict=True)):
        heading = words["run_of"].format(n=order + 1, of=2, name=visible(name), when=words["later" if order else "earlier"])
        texts.append(f"{heading}\n{one.text}")
    texts.append(f"{words['compared']}\n{compared}")
    text = "\n\n".join(texts)
    runs = tuple(zip(pair.names, (one.evidence for one in packed), strict=True))
    return Packed(text, merged(pair), count(text), [name for one in packed for name in one.left_out], runs), pair


def followups_between(pair: Pair, meant: Meant) -> list[str]:
    """Questions that lead on from an answer about two runs."""
    question, language = pair.a.question, pair.a.language
    out = []
    if question.metrics or meant.fix:
        out.append(say("between.ask_differs", language))
    told = set(question.metrics)
    next_curve = next((one for one in pair.found.metrics if one.canonical not in told), None)
    if next_curve is not None:
        out.append(say("between.ask_both", language, key=next_curve.metric))
    if not meant.fix:
        out.append(say("between.ask_worked", language))
    if pair.b.diagnosis.faults:
        out.append(say("between.ask_change", language, name=pair.names[1]))
    return list(dict.fromkeys(out))[:3]
