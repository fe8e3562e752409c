"""Numbered facts of one answer: every number that a sentence uses, with the log line or the formula behind it.

Facts E1, E2 … come from the run; cards K1, K2 … are what the sentences on meaning were taken from.
"""

from __future__ import annotations

import html
import re
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from assistant.cards import Card, card, cards, pick
from assistant.diagnosis import render
from assistant.diagnosis.facts import number
from assistant.diagnosis.finding import Diagnosis, Finding, Quantity
from assistant.diagnosis.naming import metric_card
from assistant.diagnosis.stats import Trend, trend
from assistant.diagnosis.stepless import UNKNOWN, without_steps
from assistant.diagnosis.view import RunView, era_matches
from assistant.messages import Language
from assistant.run import Point, Series, json_value

Kind = Literal["run", "derived", "config"]
_CODE_UNSAFE = re.compile(r"[`\r\n\t]+")
_NUMERIC = re.compile(r"[-+−]?(?!\d+(?:\.\d+){2})[\d.,]+(e[-+]?\d+)?\s*[%a-zA-Z/]{0,8}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fact:
    """One number of the answer. ``text`` is how it is shown; ``formula`` says from what a derived one was computed."""

    id: str
    kind: Kind
    text: str
    value: float | str | None
    metric: str | None = None
    step: int | None = None
    line: int | None = None
    formula: str = ""
    run: str = ""
    """Whose number it is, in a talk about several runs."""

    def to_json(self) -> dict[str, Any]:
        value = json_value(self.value) if isinstance(self.value, float) else self.value
        row = {
            "id": self.id,
            "metric": self.metric,
            "step": self.step,
            "value": value,
            "line": self.line,
            "text": self.text,
            "kind": self.kind,
        }
        return {**row, **({"formula": self.formula} if self.formula else {}), **({"run": self.run} if self.run else {})}


@dataclass(slots=True)
class Evidence:
    """Facts and cards of an answer, in the order in which they were first used."""

    diagnosis: Diagnosis
    view: RunView
    language: Language
    facts: list[Fact] = field(default_factory=list)
    cards: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    run: str = ""
    """Name of the run, where a talk is about several."""
    first: int = 0
    """Number before the first fact's id: facts of another run of the talk have ids of their own."""
    told: dict[str, list[str]] = field(default_factory=dict)
    """Fact → the findings' own sentences in which it stands: they may name several metrics around it."""
    _by_key: dict[tuple[Any, ...], Fact] = field(default_factory=dict)

    # Facts

    def _add(
        self, kind: Kind, text: str, value: float | str | None, metric: str | None, step: int | None, line: int | None, formula: str
    ) -> Fact:
        key = (kind, text, metric, step, formula)
        value = float(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if key not in self._by_key:
            fact = Fact(f"E{self.first + len(self.facts) + 1}", kind, text, value, metric, step, line, formula, self.run)
            self.facts.append(fact)
            self._by_key[key] = fact
        return self._by_key[key]

    def point(self, point: Point) -> Fact:
        """A value as the log printed it; of a long one (0.7249004244804382) four digits are shown."""
        text = readable(point.text, point.value)
        formula = "" if text == point.text else f"rounded from {point.text}"
        return self._add("run", text, point.value, point.metric, point.step, point.line or None, formula)

    def derived(self, value: float | str, formula: str, *, metric: str | None = None, text: str | None = None) -> Fact:
        return self._add("derived", number(float(value)) if text is None else text, value, metric, None, None, formula)

    def count(self, value: int, formula: str) -> Fact:
        return self._add("derived", str(value), float(value), None, None, None, formula)

    def config(self, key: str, value: Any) -> Fact:
        """A setting of the log's config (text values included)."""
        text = plain_value(value)
        real = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else text
        return self._add("config", text, real, key, None, self.diagnosis.run.config_lines.get(key), "")

    def quantity(self, quantity: Quantity) -> Fact:
        kind: Kind = "derived" if quantity.kind == "count" else quantity.kind
        text = readable(quantity.text, quantity.value) if kind == "run" else quantity.text
        if text != quantity.text:
            formula = f"rounded from {quantity.text}"
            return self._add(kind, text, quantity.value, quantity.metric, quantity.step, quantity.line, formula)
        return self._add(kind, quantity.text, quantity.value, quantity.metric, quantity.step, quantity.line, quantity.formula)

    def note_numbers(self, text: str, formula: str) -> str:
        """``text`` (made by the program, not by a card) with each of its numerals noted as a fact."""
        for numeral in re.findall(r"\d+(?:\.\d+)?", text):
            self._add("derived", numeral, float(numeral), None, None, None, formula)
        return text

    # Cards

    def cite(self, card_id: str | None) -> Card | None:
        """The card, noted as used; None when there is none."""
        if not card_id or card_id not in cards():
            return None
        if card_id not in self.cards:
            self.cards.append(card_id)
        return card(card_id)

    def metric_card(self, canonical: str) -> Card | None:
        return self.cite(metric_card(canonical))

    def text_of(self, found: Card | None, *fields: str) -> str:
        """The card's first non-empty field among ``fields`` in the answer's language."""
        for name in fields:
            if found is not None and (text := pick(found.front.get(name), self.language).strip()):
                return text
        return ""

    def era_notes(self, found: Card | None) -> list[str]:
        """What the card says about exactly the version of this log."""
        era = self.diagnosis.run.era
        if found is None or era == "unknown":
            return []
        rows = found.front.get("eras") or ()
        return [pick(row, self.language) for row in rows if era_matches(era, str(row.get("when", "")))]

    # Findings in words

    def title(self, finding: Finding) -> str:
        self.cite(f"findings/{finding.id}")
        if finding.id not in self.findings:
            self.findings.append(finding.id)
        return render.title(finding, self.language)

    def summary(self, finding: Finding) -> str:
        """The finding's sentence with the run's numbers; words out of the log are put in code, never run as Markdown."""
        self.title(finding)
        unknown = [name for name, fact in finding.facts.items() if fact.text == UNKNOWN]
        template = render.template(finding, self.language)
        template = without_steps(template, unknown) if unknown else template
        used = {name for _, name, *_ in string.Formatter().parse(template) if name}
        for point in finding.evidence:
            self.point(point)
        facts = {name: self.quantity(fact) for name, fact in finding.facts.items() if name in used}
        texts = {name: fact.text for name, fact in facts.items()}
        shown = {name: _quoted(text, f"`{{{name}}}`" in template) for name, text in texts.items()}
        text = template.format(**shown).strip()
        for fact in facts.values():
            self.told.setdefault(fact.id, []).append(text)
        return (
            text
            if text.endswith((".", "。", "!", "！", "?", "？", "”", "`", ":", "："))
            else text + ("。" if self.language == "zh" else ".")
        )


def readable(text: str, value: float) -> str:
    """``text``, or four significant digits of it when it was printed in full precision."""
    if len(text.lower().partition("e")[0].partition(".")[2]) <= 4 or not np.isfinite(value) or not _NUMERIC.fullmatch(text.strip()):
        return text
    return f"{value:.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.4g}"


def _quoted(text: str, in_code: bool) -> str:
    if _NUMERIC.fullmatch(text.strip()):
        return text
    if in_code:
        return _CODE_UNSAFE.sub(" ", text).strip()[:300]
    return text if re.fullmatch(r"[\w .,:%/+\-–—×()（）=\u3400-\u9fff]*", text) and "_" not in text and len(text) <= 40 else code(text)


def code(text: str) -> str:
    """Words out of a log as a Markdown code span that cannot be left."""
    inner = _CODE_UNSAFE.sub(" ", text).strip()[:300]
    return f"`{inner}`" if inner else ""


def escaped(text: str) -> str:
    """Words out of a question or log as plain text: no HTML, no Markdown."""
    return re.sub(r"([\\`*_\[\]#|])", r"\\\1", html.escape(re.sub(r"\s+", " ", text).strip(), quote=False))


def plain_value(value: Any) -> str:
    """A setting's value as people write it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(plain_value(item) for item in value) + "]"
    return str(value)


# What a curve did


@dataclass(frozen=True)
class Curve:
    """A series summed up. ``first`` … ``highest`` are indices of finite values; None when there is none."""

    series: Series
    first: int | None
    last: int | None
    lowest: int | None
    highest: int | None
    n_finite: int

    @cached_property
    def direction(self) -> Trend:
        return trend(self.series.values)

    @property
    def moves(self) -> bool:
        """Whether more than one printed value is there."""
        if self.lowest is None or self.highest is None:
            return False
        return self.value(self.lowest) != self.value(self.highest)

    def value(self, index: int) -> float:
        return float(self.series.values[index])

    def point(self, index: int) -> Point:
        return self.series.point(index)


def curve(series: Series) -> Curve:
    where = np.flatnonzero(series.finite)
    if not len(where):
        return Curve(series, None, None, None, None, 0)
    kept = series.values[where]
    return Curve(series, int(where[0]), int(where[-1]), int(where[np.argmin(kept)]), int(where[np.argmax(kept)]), len(where))


# Words


def sentences(text: str, language: Language) -> list[str]:
    """Sentences of a card's field; decimals, versions and keys stay whole."""
    parts = re.split(r"(?<=[。！？；])|(?<=[.!?])\s+(?=[A-Z`0-9(≥≤\"'])", re.sub(r"\s+", " ", text).strip())
    return [part.strip() for part in parts if part and part.strip()]


def length(text: str) -> int:
    """Words of English, or two Chinese characters for one."""
    return len(re.findall(r"[A-Za-z0-9_./@-]+", text)) + len(re.findall(r"[\u3400-\u9fff]", text)) // 2


def shortened(text: str, words: int, language: Language) -> str:
    """The first sentences of ``text`` that fit into ``words`` (at least one sentence)."""
    out: list[str] = []
    used = 0
    for sentence in sentences(text, language):
        used += length(sentence)
        if out and used > words:
            break
        out.append(sentence)
    return ("" if language == "zh" else " ").join(out)


def picked(text: str, question_terms: Iterable[str], words: int, language: Language) -> str:
    """The sentences of ``text`` that speak of the question's terms, in their order; the first ones when none does."""
    terms = [term.lower() for term in question_terms if len(term) > 1]
    all_sentences = sentences(text, language)
    scored = [sum(term in sentence.lower() for term in terms) for sentence in all_sentences]
    if not any(scored):
        return shortened(text, words, language)
    order = sorted(range(len(all_sentences)), key=lambda i: (-scored[i], i))
    chosen: list[int] = []
    used = 0
    for i in order:
        size = length(all_sentences[i])
        if chosen and (used + size > words or not scored[i]):
            continue
        chosen.append(i)
        used += size
    return ("" if language == "zh" else " ").join(all_sentences[i] for i in sorted(chosen))


def card_numbers(card_id: str) -> str:
    """All text of a card in which a number of a sentence may stand."""
    found = cards()[card_id]
    return _flat(found.front) + " " + " ".join(found.body.values())


def _flat(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{key} {_flat(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return " ".join(_flat(item) for item in value)
    return "" if value is None else str(value)
