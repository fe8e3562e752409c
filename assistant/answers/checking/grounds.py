"""What is known to be true of a run: facts by metric, printed values by step, settings, the digits of the cards that were shown.

The verifier asks here whether a number may stand where it stands. Nothing here reads prose.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from assistant.answers.checking.numerals import Numeral, numerals
from assistant.answers.grounding.evidence import Evidence, Fact, card_numbers, plain_value
from assistant.diagnosis import render
from assistant.diagnosis.naming import family
from assistant.run import Series

_STEPS_IN_FORMULA = re.compile(r"steps? (\d+)(?:\s?[–-]\s?(\d+))?")
_MARK = re.compile(r"^[\s>*#-]*(?:\d{1,2}[.)、]\s?)?")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_KEY_PART = re.compile(r"[\w./@()-]+")
NEAR = 90
"""Characters before a setting's name in a card within which a number is said of it; twice as many after it."""
WINDOW = 10
"""Values of a "first ten" or "last ten" median."""


def agrees(numeral: Numeral, value: float, *, scale: float = 1.0, loose: bool = False) -> bool:
    """Whether the digits shown are ``value × scale`` rounded to them; ``loose`` takes a number that the words call rounded.

    A rounding that changes the value by more than an eighth (0.031 shown as 0.0) is none; after "about", by more than a fifth.
    """
    wanted = value * scale
    if math.isnan(wanted) or math.isnan(numeral.value):
        return math.isnan(wanted) and math.isnan(numeral.value)
    if math.isinf(wanted) or math.isinf(numeral.value):
        return wanted == numeral.value
    half = numeral.half
    if loose and numeral.value:
        half = max(half, 0.5 * _last_place(numeral.value))
    off = abs(numeral.value - wanted)
    if off > half * (1 + 1e-9) + 1e-12 * abs(wanted):
        return False
    share = 0.2 if loose else 0.12 if numeral.half < 0.5 else 0.05  # 0.91 is not 1
    return off <= share * abs(wanted) + 1e-12 * abs(wanted)


def _last_place(value: float) -> float:
    """Unit of the last digit that is not zero: 10 for 120, 0.1 for 2.5; at least a twentieth of the value."""
    place = 10.0 ** math.floor(math.log10(abs(value)))
    while place > abs(value) / 20 and abs(value / place - round(value / place)) > 1e-9:
        place /= 10
    return min(place, abs(value) / 5)


def real(fact: Fact) -> float | None:
    """A fact's number; None for words (whose value is only the line that they stand on) and for what is not finite."""
    if not isinstance(fact.value, float) or not math.isfinite(fact.value) or not any(c.isdigit() for c in fact.text[:12]):
        return None
    return fact.value if len(fact.text) <= 24 else None


@dataclass(slots=True)
class Proof:
    """Why a number may stand: status as in `Number.status`, and the fact or card."""

    status: str
    source: str | None = None


@dataclass
class Grounds:
    """``shown`` is all text that the writer was given (names in it are known names); ``said`` are the user's own words."""

    evidence: Evidence
    shown: str = ""
    said: str = ""
    by_metric: dict[str, list[Fact]] = field(default_factory=dict)
    loose_facts: list[Fact] = field(default_factory=list)
    by_id: dict[str, Fact] = field(default_factory=dict)

    def __post_init__(self) -> None:
        columns = self.run.columns
        for fact in self.evidence.facts:
            self.by_id[fact.id] = fact
            named = [fact.metric] if fact.metric else []
            named += [part for part in _KEY_PART.findall(fact.formula) if part in columns]
            for metric in dict.fromkeys(named):
                self.by_metric.setdefault(metric, []).append(fact)
            if not named:
                self.loose_facts.append(fact)

    @cached_property
    def trusted(self) -> str:
        """Sentences that the program or a card wrote, for one that is taken over word by word. Words of the log are not among them."""
        evidence = self.evidence
        parts = list(self.card_texts.values())
        for finding in evidence.diagnosis.findings:
            words = [fact.text for fact in finding.facts.values() if len(fact.text) > 24]
            own = [render.summary(finding, evidence.language), *render.causes(finding, evidence.language)]
            fixes = render.fixes(finding, evidence.diagnosis.run, evidence.language)
            own += [str(fix[name]) for fix in fixes for name in ("why", "check")]
            own += render.rules_out(finding, evidence.language)
            parts += [part for part in own if not any(text in part for text in words)]
        return _squeezed(" ".join(parts))

    def quoted(self, sentence: str) -> bool:
        """Whether a sentence stands word by word in a shown card or in a finding's own words."""
        tails = [sentence[m.end() :] for m in re.finditer(r"[:：]", sentence)][:3]
        for part in (sentence, *tails):
            bare = _squeezed(_MARK.sub("", part))
            if len(bare) >= (7 if _HAN.search(bare) else 12) and bare in self.trusted:
                return True
        return False

    def says(self, text: str, start: int, end: int, subject: int | None) -> bool:
        """Whether the numeral at ``start:end`` stands in a card's or finding's own words: with what it is said of, or with its unit."""
        before, after = text[max(0, start - 14) : start], text[end : end + 10]
        before = before.partition(" ")[2] if re.match(r"\w*\s", before) else before  # no piece of a word
        after = after.rpartition(" ")[0] if re.search(r"\s\w*$", after) else after
        parts = [before + text[start:end] + re.sub(r"[^\w\s]+\s*$", "", after)]
        if subject is not None and start - subject <= 60:
            parts.append(text[subject:end])
        return any(len(bare := _squeezed(part)) >= 10 and bare in self.trusted for part in parts)

    @cached_property
    def _log_words(self) -> str:
        rows = [row.text for finding in self.evidence.diagnosis.findings for row in finding.excerpt]
        rows += [event.text for event in self.run.events if event.fatal]
        rows += [fact.text for fact in self.evidence.facts if len(fact.text) > 24]
        return "\n".join(rows)

    def in_log_words(self, text: str, numeral: Numeral) -> bool:
        """Whether the numeral stands in a code span with words of the log around it, as they were printed."""
        line = text[text.rfind("\n", 0, numeral.start) + 1 : numeral.start]
        if line.count("`") % 2 == 0 or not self._log_words:
            return False
        around = text[max(0, numeral.start - 8) : numeral.end + 2].strip("` ")
        return len(around) >= 6 and around in self._log_words

    def without_names(self, text: str) -> str:
        """``text`` with the digits in printed keys and settings blanked, every character at its place."""
        for name in self._names_with_digits:
            if name in text:
                text = text.replace(name, re.sub(r"\d", "_", name))
        return text

    @cached_property
    def _names_with_digits(self) -> Sequence[str]:
        names = [name for name in (*self.run.columns, *self.run.config) if len(name) > 2 and re.search(r"\d", name)]
        return sorted(names, key=len, reverse=True)

    @property
    def run(self) -> Any:
        return self.evidence.diagnosis.run

    # Steps and lines

    @cached_property
    def steps(self) -> Mapping[int, str | None]:
        """Steps that may be named → a fact that names them."""
        known: dict[int, str | None] = {}
        for fact in self.evidence.facts:
            if fact.step is not None:
                known.setdefault(fact.step, fact.id)
            if fact.metric is None and fact.text.isdigit():
                known.setdefault(int(fact.text), fact.id)
            for m in _STEPS_IN_FORMULA.finditer(fact.formula):
                for step in m.groups():
                    if step:
                        known.setdefault(int(step), fact.id)
        for finding in self.evidence.diagnosis.findings:
            for step in (finding.first_step, finding.last_step):
                if step is not None:
                    known.setdefault(step, None)
        for step in (self.run.first_step, self.run.last_step, self.run.total_steps):
            if step is not None:
                known.setdefault(int(step), None)
        return known

    @cached_property
    def lines(self) -> frozenset[int]:
        known = {fact.line for fact in self.evidence.facts if fact.line}
        known |= {row.line for finding in self.evidence.diagnosis.findings for row in finding.excerpt}
        known |= {event.line for event in self.run.events if event.fatal} | set(self.run.config_lines.values())
        known |= {int(call["line"]) for event in self.run.events for call in event.data.get("frames") or ()}  # of the code that was called
        return frozenset(known | {self.run.n_lines})

    @cached_property
    def spans(self) -> frozenset[int]:
        """Lengths between two steps that matter: "for 160 steps"."""
        marks = {self.run.first_step, self.run.last_step}
        for finding in self.evidence.diagnosis.findings:
            marks |= {finding.first_step, finding.last_step}
        steps = sorted(step for step in marks if step is not None)
        lengths = {b - a + extra for i, a in enumerate(steps) for b in steps[i + 1 :] for extra in (0, 1)}
        for fact in self.evidence.facts:
            for m in _STEPS_IN_FORMULA.finditer(fact.formula):
                if m[2]:
                    lengths.add(int(m[2]) - int(m[1]) + 1)
            if re.search(r"(?:first|last) (?:ten|10)\b", fact.formula):
                lengths.add(WINDOW)
        return frozenset(lengths)

    @cached_property
    def step_counts(self) -> Mapping[int, str | None]:
        """How many steps something has: the log, a metric, or what a finding counted."""
        run = self.run
        counted: dict[int, str | None] = dict.fromkeys((len(run.steps), self.evidence.view.n_steps))
        for fact in self.loose_facts:
            value = real(fact)
            if value is not None and value.is_integer() and (fact.id in self.evidence.told or "step" in fact.formula):
                counted.setdefault(int(value), fact.id)
        for name, series in self._shown_series():
            counted.setdefault(len(series), next((f.id for f in self.by_metric.get(name, ())), None))
            counted.setdefault(series.n_nonfinite, None)
        return counted

    @cached_property
    def counts(self) -> Mapping[int, str | None]:
        """Things of the log and the diagnosis that can be counted."""
        diagnosis, run = self.evidence.diagnosis, self.run
        known = {len(diagnosis.findings), len(diagnosis.faults), len(diagnosis.fine), len(diagnosis.unknown)}
        known |= {run.n_records, run.n_rows, len(run.columns), run.n_lines, len(run.steps), len(run.segments), self.evidence.view.n_steps}
        counted: dict[int, str | None] = dict.fromkeys(known)
        for fact in self.loose_facts:
            if (value := real(fact)) is not None and value.is_integer():
                counted.setdefault(int(value), fact.id)
        for name, series in self._shown_series():
            counted.setdefault(len(series), next((f.id for f in self.by_metric.get(name, ())), None))
            counted.setdefault(series.n_nonfinite, None)
        return counted

    def _shown_series(self) -> list[tuple[str, Series]]:
        return (
            [(name, series) for name in self.by_metric if (series := self.evidence.view.printed(name)) is not None]
            if self.run.columns
            else []
        )

    # Values

    def at(self, metric: str, step: int) -> float | None:
        """The value printed for a step; None when there is none."""
        if metric not in self.run.columns:
            return None
        series = self.series(metric)
        index = None if series is None else series.index_at(step)
        return None if series is None or index is None else float(series.values[index])

    def series(self, metric: str) -> Series | None:
        if metric not in self._series:
            self._series[metric] = self.evidence.view.printed(metric) if metric in self.run.columns else None
        return self._series[metric]

    @cached_property
    def _series(self) -> dict[str, Series | None]:
        return {}

    def facts_of(self, metrics: Iterable[str]) -> list[Fact]:
        return [fact for metric in metrics for fact in self.by_metric.get(metric, ())]

    def ends(self, metric: str) -> Sequence[tuple[float, float]]:
        """Pairs of values whose change people speak of: first and last, start and end median, extremes and the ends."""
        if metric not in self._ends:
            self._ends[metric] = self._pairs(metric)
        return self._ends[metric]

    @cached_property
    def _ends(self) -> dict[str, Sequence[tuple[float, float]]]:
        return {}

    def _pairs(self, metric: str) -> Sequence[tuple[float, float]]:
        series = self.series(metric)
        if series is None or np.count_nonzero(series.finite) < 2:
            return ()
        values = series.values[series.finite]
        first, last, low, high = float(values[0]), float(values[-1]), float(values.min()), float(values.max())
        pairs = [(first, last), (high, last), (low, last), (first, high), (first, low)]
        if len(values) > 2 * WINDOW:
            pairs.insert(1, (float(np.median(values[:WINDOW])), float(np.median(values[-WINDOW:]))))
        told = [value for f in self.by_metric.get(metric, ()) if f.id in self.evidence.told and (value := real(f)) is not None]
        pairs += [(a, b) for a, b in pairwise(told)]
        return [(a, b) for a, b in dict.fromkeys(pairs) if a != b]

    # Settings

    def settings_of(self, key: str, *, now: bool = False) -> dict[str, set[float]]:
        """Numbers that may stand beside a setting, by status; ``now``: only those that it can have at present."""
        found: dict[str, set[float]] = {"config": set(), "knowledge": set()}
        for name, value in self.run.config.items():
            if name == key or name.endswith("." + key):
                found["config"] |= _real(value)
        for fact in self.by_metric.get(key, ()):
            if not (now and fact.formula.startswith("proposed")):
                found["config" if fact.kind == "config" else "knowledge"] |= _real(fact.value)
        for finding in self.evidence.diagnosis.findings:
            for fix in render.fixes(finding, self.run):
                if fix["key"] and (fix["key"] == key or str(fix["key"]).endswith("." + key)):
                    found["knowledge"] |= _real(fix["from"]) | (set() if now else _real(fix["to"]))
        for row in self.evidence.diagnosis.unknown:
            for name, value in re.findall(r"([\w.]+)=([^\s,;]+)", row.needs):
                if name == key or name.endswith("." + key):
                    found["knowledge"] |= {one.value for one in numerals(value)}
        return found

    def proposed(self, key: str) -> set[float]:
        """Values that a finding proposes for a setting."""
        rows = [fix for finding in self.evidence.diagnosis.findings for fix in render.fixes(finding, self.run)]
        return {value for fix in rows if fix["key"] and str(fix["key"]).rpartition(".")[2] == key for value in _real(fix["to"])}

    def advised(self, key: str, numeral: Numeral) -> str | None:
        """The shown card that names the setting and this number."""
        tail = key.rpartition(".")[2]
        tail = tail if len(tail) >= 5 else key  # "n" and "lr" stand in every card
        for name, text in self.card_texts.items():
            for m in re.finditer(re.escape(tail), text):
                near = text[max(0, m.start() - NEAR) : m.end() + 2 * NEAR]
                if _rounded(numeral.value) in {_rounded(one.value) for one in numerals(near) if not math.isnan(one.value)}:
                    return name
        return None

    @cached_property
    def card_texts(self) -> Mapping[str, str]:
        return {f"K{i + 1}": card_numbers(card) for i, card in enumerate(self.evidence.cards)}

    @cached_property
    def card_values(self) -> Mapping[tuple[float, bool], tuple[str, float]]:
        """(value, whether in percent) → the card that says it, and half a unit of its last digit."""
        known: dict[tuple[float, bool], tuple[str, float]] = {}
        for name, text in self.card_texts.items():
            for one in numerals(text):
                if not math.isnan(one.value):
                    for value in {_rounded(one.value), _rounded(abs(one.value))}:
                        key = (value, one.unit == "%")
                        if key not in known or one.half < known[key][1]:
                            known[key] = (known.get(key, (name, 0.0))[0], one.half)
        return known

    def in_cards(self, numeral: Numeral) -> str | None:
        if numeral.version:
            return next((name for name, text in self.card_texts.items() if numeral.text in text), None)
        name, half = self.card_values.get((_rounded(numeral.value), numeral.unit == "%"), ("", 0.0))
        return name if name and numeral.half >= 0.99 * half else None  # a card's 3 is no 3.000: that is how a log prints

    @cached_property
    def asked_values(self) -> frozenset[float]:
        return frozenset(_rounded(one.value) for one in numerals(self.said[:20000]) if not math.isnan(one.value)) | frozenset(
            _rounded(float(m)) for m in re.findall(r"\d+(?:\.\d+)?", self.said[:20000])
        )

    def asked(self, numeral: Numeral) -> bool:
        if numeral.version:
            return numeral.text in self.said
        exact = "." in numeral.digits and numeral.value == round(numeral.value)  # the user's 6 is no 6.000
        return _rounded(numeral.value) in self.asked_values and (not exact or numeral.digits in self.said)

    def named(self, keys: Iterable[str]) -> bool:
        """Whether the user's own words have one of the keys, or the end of one."""
        said = self.said.lower()
        return any(part in said for key in keys for part in (key.lower(), key.lower().rpartition("/")[2]) if len(part) > 3)

    def is_version(self, text: str) -> bool:
        """Whether a version is this log's, or stands in a card that was shown or in the user's words."""
        era = self.run.era
        if era != "unknown" and (text == era or text.startswith(era + ".")):
            return True
        pattern = re.compile(rf"(?<![\d.]){re.escape(text)}(?![\d])")
        return bool(
            pattern.search(self.said) or any(pattern.search(card) for card in self.card_texts.values()) or pattern.search(self.shown)
        )

    @property
    def framework(self) -> str:
        return family(self.run.framework)


def _squeezed(text: str) -> str:
    return re.sub(r"[\s`*_\"“”。.;；]+", "", text).casefold()


def _rounded(value: float) -> float:
    return float(f"{value:.10g}")


def _real(value: Any) -> set[float]:
    if isinstance(value, bool) or value is None:
        return set()
    if isinstance(value, (int, float)):
        return {float(value)}
    return {one.value for one in numerals(plain_value(value))}
