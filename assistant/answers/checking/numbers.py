"""Every number of an answer is matched to a fact, a card or the question; what matches nothing is `unverified`.

A value that is written with its step (``0.031 (step 140)``, ``0.031（第 140 步）``) must be a fact of exactly that step, and of
the metric named before it when one is: value, metric and step are checked together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assistant.answers.grounding.evidence import Evidence, Fact, card_numbers

_NUMERAL = re.compile(
    r"(?<![\w.@\-−])[-−+]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:e[-+]?\d+)?(?![\w@])(?!\.\d)%?|(?<![\w.])[-+]?(?:nan|inf)(?!\w)",
    re.IGNORECASE,
)
_STEP_AFTER = re.compile(r"\s*(?:\(step (\d+)\)|（第 (\d+) 步）| at step (\d+))")
_STEP_BEFORE = re.compile(r"(?:steps?|第|–|-|to|and|至|到|、)\s*$", re.IGNORECASE)
_IS_STEP = re.compile(r"(?:\bsteps? (?:\d+(?:–|-| to | and |, ))*|第 ?(?:\d+ ?(?:–|-|至|到|、|和) ?)*)$", re.IGNORECASE)
_CODE = re.compile(r"`([^`\n]+)`")
_VERSIONS = re.compile(r"\bverl(?:-\w+)?\s*(?:≥|≤|>=|<=|<|>|v)?\s*\d+(?:\.\d+)+(?:\.post\d+)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Number:
    """A numeral of the answer, where it stands, and what it was matched to."""

    text: str
    start: int
    status: str
    fact: str | None = None

    def to_json(self) -> dict[str, str | None]:
        return {"text": self.text, "status": self.status, "fact": self.fact}


def check(markdown: str, evidence: Evidence, question: str = "") -> list[Number]:
    """Status of every numeral of ``markdown`` against the facts and cards of ``evidence``."""
    masked = _without_names(markdown, evidence)
    by_text: dict[str, list[Fact]] = {}
    for fact in evidence.facts:
        for text in {fact.text, *(m[0] for m in _NUMERAL.finditer(fact.text))}:
            by_text.setdefault(_key(text), []).append(fact)
    steps = _known_steps(evidence)
    asked = {_key(m[0]) for m in _NUMERAL.finditer(question[:20000])} | {
        _key(m[0]) for m in re.finditer(r"\d+(?:\.\d+)?", question[:20000])
    }
    known = {f"K{index + 1}": _numerals(card_numbers(card_id)) for index, card_id in enumerate(evidence.cards)}
    found: list[Number] = []
    for match in _NUMERAL.finditer(masked):
        text, key = match[0], _key(match[0])
        candidates = by_text.get(key, [])
        status, source = "", ""
        if _IS_STEP.search(masked[: match.start()]) or masked[match.end() :].startswith(" 步"):
            step_fact = steps.get(int(key)) if key.isdigit() else None
            if step_fact:
                status, source = "run", step_fact
        else:
            after = _STEP_AFTER.match(masked, match.end())
            if after:
                step = int(next(group for group in after.groups() if group))
                candidates = [
                    f for f in candidates if f.step == step or (f.step is None and f.kind == "derived" and _of_step(f, step, evidence))
                ]
                candidates = _of_metric(candidates, markdown, match.start(), evidence)
                if not candidates:
                    found.append(Number(text, match.start(), "unverified"))
                    continue
        if not status and candidates:
            best = candidates[0] if len(candidates) == 1 else (_of_metric(candidates, markdown, match.start(), evidence) or candidates)[0]
            status, source = best.kind, best.id
        if not status:
            in_card = next((name for name, numerals in known.items() if key in numerals), None)
            if in_card:
                status, source = "knowledge", in_card
            elif key in asked:
                status = "question"
        found.append(Number(text, match.start(), status or "unverified", source or None))
    return found


def _of_step(fact: Fact, step: int, evidence: Evidence) -> bool:
    """Whether a computed value may stand beside a step: its formula names it, or a finding's own sentence puts it there."""
    beside = re.compile(rf"{re.escape(fact.text)}(?:{_STEP_AFTER.pattern})")
    told = (found for sentence in evidence.told.get(fact.id, ()) for found in beside.finditer(sentence))
    return any(str(step) in found.groups() for found in told) or str(step) in re.findall(r"\d+", fact.formula)


def checked(numbers: Sequence[Number]) -> dict[str, int]:
    """How many numbers have which status."""
    counts = {"run": 0, "derived": 0, "config": 0, "knowledge": 0, "question": 0, "unverified": 0}
    for one in numbers:
        counts[one.status] += 1
    return counts


def _key(text: str) -> str:
    """Numerals that are the same print: sign and thousands' marks normalised, a percent sign kept apart."""
    return text.lower().replace("−", "-").replace(",", "").lstrip("+").rstrip("%")


def _numerals(text: str) -> frozenset[str]:
    """Numerals of a card, the ends of ranges such as ``0.2–0.6`` and ``1e-4`` included."""
    plain = {_key(m[0]) for m in _NUMERAL.finditer(text)}
    loose = {_key(m[0]) for m in re.finditer(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?", text, re.IGNORECASE)}
    return frozenset(plain | loose)


def _without_names(markdown: str, evidence: Evidence) -> str:
    """``markdown`` with the digits of names blanked, every character at its place: metric and config keys, versions."""
    out = markdown
    names = {fact.metric for fact in evidence.facts if fact.metric} | set(evidence.diagnosis.run.config)
    names |= {name for name in evidence.diagnosis.run.columns if any(c.isdigit() for c in name)}
    for name in sorted((n for n in names if any(c.isdigit() for c in n) and len(n) > 2), key=len, reverse=True):
        out = out.replace(name, "_" * len(name))
    out = _CODE.sub(lambda m: "`" + _blank_name(m[1]) + "`", out)
    return _VERSIONS.sub(lambda m: "_" * len(m[0]), out)


def _blank_name(inside: str) -> str:
    """In a code span, keys lose their digits; the value after ``=`` and a plain number stay."""
    return re.sub(r"[A-Za-z_][\w./@-]*(?:\([^)]*\))?", lambda m: re.sub(r"\d", "_", m[0]), inside)


def _known_steps(evidence: Evidence) -> dict[int, str]:
    """Steps that a fact speaks of, or that the run has."""
    steps: dict[int, str] = {}
    for fact in evidence.facts:
        if fact.step is not None:
            steps.setdefault(fact.step, fact.id)
        if fact.text.isdigit():
            steps.setdefault(int(fact.text), fact.id)
    return steps


def _of_metric(candidates: Iterable[Fact], markdown: str, position: int, evidence: Evidence) -> list[Fact]:
    """Those of the metric that is named last before ``position`` in the same line; all of them when none is named there.

    A finding's own sentence may speak of another metric than the one named before it, but not right behind that name.
    """
    rows = list(candidates)
    line = markdown[markdown.rfind("\n", 0, position) + 1 : position]
    names = [match for match in _CODE.finditer(line) if match[1] in evidence.diagnosis.run.columns]
    if not names:
        return rows
    name = names[-1]
    directly = not line[name.end() :].strip(" \t:：=")
    bare = f"/{name[1]}"  # a setting, and the metric that repeats it under a family's name
    return [
        fact for fact in rows if fact.metric in (name[1], None) or fact.metric.endswith(bare) or (fact.id in evidence.told and not directly)
    ]
