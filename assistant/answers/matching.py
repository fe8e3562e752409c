"""Which fact, card or word of the user a numeral stands for, given the sentence around it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from assistant.answers.evidence import Fact
from assistant.answers.grounds import Grounds, Proof, agrees, real
from assistant.answers.numerals import Numeral, approximate
from assistant.answers.phrases import (
    AROUND_ZERO,
    CHECKS,
    CLAIM,
    COUNTED,
    DIFFERENCE,
    GENERAL,
    OUT_OF,
    PROSE_COUNT,
    ROLE,
    STEPS_LONG,
)
from assistant.answers.scope import Mention, Sentence


@dataclass
class Matcher:
    """``cited`` gives the fact of each filled placeholder by position; ``right`` what would be true at a wrong one; ``changes`` are
    starts of numerals that are differences."""

    grounds: Grounds
    cited: dict[int, str] = field(default_factory=dict)
    right: dict[int, str] = field(default_factory=dict)
    changes: set[int] = field(default_factory=set)

    def match(self, row: Sentence, previous: Sentence | None) -> Iterator[tuple[Numeral, Proof | None]]:
        """Each numeral of the sentence with its proof; None for one that is no number of the run."""
        values: list[tuple[Numeral, Proof | None]] = []
        proven_steps: set[int] = set()
        doubted: set[int] = set()
        for numeral in row.numbers:
            if row.is_line(numeral) or row.is_step(numeral):
                continue
            proof = self._value(numeral, row, previous)
            if proof is not None and (step := row.step_of(numeral)) is not None:
                (doubted if proof.status == "unverified" else proven_steps).add(step)
            values.append((numeral, proof))
        by_start = {numeral.start: proof for numeral, proof in values}
        for numeral in row.numbers:
            if numeral.start in by_start:
                yield numeral, by_start[numeral.start]
            elif row.is_line(numeral):
                ok = int(numeral.value) in self.grounds.lines
                yield numeral, Proof("run") if ok else self._asked(numeral) or Proof("unverified", "line")
            else:
                proof = self._step(numeral, proven_steps)
                if proof.status == "unverified" and int(numeral.value) in doubted:
                    continue  # the value beside it carries the mark
                yield numeral, proof

    def _step(self, numeral: Numeral, proven: set[int]) -> Proof:
        step = int(numeral.value)
        if step in self.grounds.steps:
            return Proof("run", self.grounds.steps[step])
        if step in proven:
            return Proof("run")
        return self._asked(numeral) or Proof("unverified", "step")

    def _asked(self, numeral: Numeral) -> Proof | None:
        return Proof("question") if self.grounds.asked(numeral) else None

    def _value(self, numeral: Numeral, row: Sentence, previous: Sentence | None) -> Proof | None:
        whole, grounds = row.whole, self.grounds
        lead, following = whole[max(row.start, numeral.start - 40) : numeral.start], whole[numeral.end : min(row.end, numeral.end + 40)]
        if numeral.version or _is_era(numeral, lead, whole):
            return Proof("knowledge") if grounds.is_version(numeral.text) else self._asked(numeral) or Proof("unverified", "version")
        if (
            _finite(numeral)
            and 0 < numeral.value <= 9
            and numeral.value == int(numeral.value)
            and not numeral.unit
            and PROSE_COUNT.match(following)
        ):
            return None
        subject = row.subject(numeral)
        inherited = False
        if subject is None:
            subject = next((m for m in reversed(row.mentions) if m.kind == "finding" and m.keys and m.end <= numeral.start), None)
            inherited = subject is not None
        if math.isnan(numeral.value) or math.isinf(numeral.value):
            return self._nonfinite(numeral, subject, row)
        if numeral.value == 0 and "." not in numeral.text and (AROUND_ZERO.search(lead) or following.startswith(" 为中心")):
            return None
        if grounds.in_log_words(whole, numeral):
            return Proof("run")
        if subject is None and previous is not None:
            subject = next((m for m in reversed(previous.mentions) if m.kind in ("metric", "setting")), None)
            inherited = subject is not None
        if subject is not None and subject.kind == "setting":
            if (proof := self._setting(numeral, subject)) is not None:
                return proof
            if not inherited and CLAIM.search(whole[subject.end : numeral.start]) and len(whole[subject.end : numeral.start]) < 24:
                return self._asked(numeral) or Proof("unverified", "setting")
            subject = next((m for m in reversed(row.mentions) if m.kind == "metric" and m.end <= numeral.start), None)
        step = row.step_of(numeral)
        loose = approximate(whole, numeral)
        fact = grounds.by_id.get(self.cited.get(numeral.start, ""))
        if (
            fact is not None
            and (subject is None or inherited or not subject.keys or self._fits(fact, subject))
            and (step is None or self._of_step(fact, step))
        ):
            return Proof(fact.kind, fact.id)
        if subject is not None and subject.keys:
            proof = self._of_metric(numeral, subject, step, loose, row, lead)
            if proof is not None:
                return proof if self._in_role(numeral, proof, subject, row, loose) else Proof("unverified", "number")
        counted = self._count(numeral, lead, following, subject is not None and not inherited)
        if counted is not None:
            return counted
        if subject is None or inherited or not subject.keys:
            if (proof := self._anywhere(numeral, loose, step, exact=subject is not None)) is not None:
                return proof
        else:
            if (proof := self._told(numeral, subject, step, loose)) is not None:
                return proof
            if (proof := self._other_subject(numeral, row, subject, step, loose)) is not None:
                return proof
        clause = row.plain(*row.clause(numeral.start))
        claims = (
            subject is not None
            and bool(subject.keys)
            and not inherited
            and bool(CLAIM.search(whole[max(subject.end, numeral.start - 16) : numeral.start]))
            and subject.end <= numeral.start
        )
        general = bool(GENERAL.search(clause))
        if (
            (card := grounds.in_cards(numeral)) is not None
            and step is None
            and (general or subject is None or not subject.keys or (inherited and not claims))
        ):
            return Proof("knowledge", card)
        if (asked := self._asked(numeral)) is not None and (step is None or subject is None):
            return asked
        return self._unknown(numeral, subject, step)

    # Ways to be right

    def _of_metric(self, numeral: Numeral, subject: Mention, step: int | None, loose: bool, row: Sentence, lead: str) -> Proof | None:
        grounds = self.grounds
        facts = grounds.facts_of(subject.keys)
        if DIFFERENCE.search(lead) and numeral.unit not in ("%", "x"):
            self.changes.add(numeral.start)
            return self._change(numeral, subject, row, loose) or (
                Proof("unverified", "number")
                if not any(self._equals(numeral, f, loose) for f in facts if f.kind == "derived")
                else Proof("derived")
            )
        if step is not None:
            for key in subject.keys:
                printed = grounds.at(key, step)
                if printed is not None and self._near(numeral, printed, key, loose):
                    return Proof("run", next((f.id for f in facts if f.step == step and f.metric == key), None))
            for fact in facts:
                if self._equals(numeral, fact, loose) and self._of_step(fact, step) and self._near_printed(fact, subject, step):
                    return Proof(fact.kind, fact.id)
            if numeral.unit not in ("%", "x"):
                return None
        if numeral.unit == "%" and DIFFERENCE.search(lead):
            self.changes.add(numeral.start)
            told = [f for f in facts if f.kind == "derived" and "%" in f.text and self._equals(numeral, f, loose)]
            return self._change(numeral, subject, row, loose) or (Proof("derived", told[0].id) if told else Proof("unverified", "number"))
        if numeral.unit != "x" and step is None:
            good = [f for f in facts if self._equals(numeral, f, loose)]
            if good:
                return Proof(good[0].kind, good[0].id)
        if numeral.unit in ("%", "x"):
            self.changes.add(numeral.start)
            return self._change(numeral, subject, row, loose)
        return None

    def _in_role(self, numeral: Numeral, proof: Proof, subject: Mention, row: Sentence, loose: bool) -> bool:
        """Whether a value that is called the highest, lowest, first or last one is that; ``right`` is set when it is not."""
        if proof.status != "run" or numeral.unit in ("%", "x"):
            return True
        before = [n.end for n in row.numbers if n.end <= numeral.start and not row.is_step(n)]
        start = max([row.clause(numeral.start)[0], *before])
        roles = list(ROLE.finditer(row.whole[start : numeral.start]))
        if not roles or len(row.whole[start + roles[-1].end() : numeral.start]) > 48:
            return True
        role = roles[-1].lastgroup or ""
        seen = False
        for key in subject.keys:
            series = self.grounds.series(key)
            if series is None or not series.finite.any():
                continue
            seen = True
            values = series.values[series.finite]
            wanted = {"high": values.max(), "low": values.min(), "first": values[0], "last": values[-1]}[role]
            if self._near(numeral, float(wanted), key, loose):
                return True
            if role in ("first", "last") and any(
                f.kind == "derived" and self._equals(numeral, f, loose) for f in self.grounds.by_metric.get(key, ())
            ):
                return True
            index = {"high": int(values.argmax()), "low": int(values.argmin()), "first": 0, "last": len(values) - 1}[role]
            self.right[numeral.start] = series.take(series.finite).text(index)
        return not seen

    def _change(self, numeral: Numeral, subject: Mention, row: Sentence, loose: bool) -> Proof | None:
        """A difference, ratio or percentage of change, recomputed."""
        siblings = [
            n
            for n in row.numbers
            if n is not numeral
            and n.unit not in ("%", "x")
            and not row.is_step(n)
            and not row.is_line(n)
            and _finite(n)
            and self._level(n, subject, row)
        ]
        rows = [(a.value, b.value) for i, a in enumerate(siblings) for b in siblings[i + 1 :]]
        if siblings:
            exact = [self._exact(n, subject) for n in siblings]
            rows += [(x, y) for i, a in enumerate(exact) for b in exact[i + 1 :] for x in a for y in b]
        if not rows:
            rows = [pair for key in subject.keys for pair in self.grounds.ends(key)]
        for a, b in rows:
            if any(agrees(numeral, sign * value, loose=loose) for value in _changes(a, b, numeral.unit) for sign in (1, -1)):
                return Proof("derived")
        return None

    def _exact(self, numeral: Numeral, subject: Mention) -> list[float]:
        """The unrounded values that a level in the sentence may stand for."""
        return [
            value
            for fact in self.grounds.facts_of(subject.keys)
            if self._equals(numeral, fact, False) and (value := real(fact)) is not None
        ][:6]

    def _level(self, numeral: Numeral, subject: Mention, row: Sentence) -> bool:
        other = row.subject(numeral)
        if DIFFERENCE.search(row.whole[max(row.start, numeral.start - 30) : numeral.start]):
            return False
        return other is None or other is subject or bool(set(other.keys) & set(subject.keys))

    def _setting(self, numeral: Numeral, subject: Mention) -> Proof | None:
        for name in (*subject.keys, *subject.names):
            known = self.grounds.settings_of(name)
            for status in ("config", "knowledge"):
                if any(agrees(numeral, value) for value in known[status]):
                    return Proof(status)
            if (card := self.grounds.advised(name, numeral)) is not None:
                return Proof("knowledge", card)
        return self._asked(numeral)

    def _count(self, numeral: Numeral, lead: str, following: str, named: bool) -> Proof | None:
        if numeral.unit not in ("", "step") or not _finite(numeral) or numeral.value != int(numeral.value) or numeral.value < 0:
            return None
        if "." in numeral.text or "e" in numeral.text.lower() and not numeral.spelled:
            return None
        value = int(numeral.value)
        if numeral.unit == "step" or STEPS_LONG.match(following):
            if value in self.grounds.spans:
                return Proof("derived")
            if value in self.grounds.step_counts:
                return Proof("derived", self.grounds.step_counts[value])
            if (
                value in self.grounds.steps
                and re.search(r"(?:\b(?:of|by|until|reach\w*|after|planned|total)|到|至|共|计划|跑了?|在)\s*[`*]*$", lead, re.IGNORECASE)
                and not re.search(r"(?:covers?|共)\s*$", lead)
            ):
                return Proof("run", self.grounds.steps[value])
            return None
        if CHECKS.match(following) and value <= len(self.grounds.evidence.diagnosis.fine):
            return Proof("derived")
        if (
            (COUNTED.match(following) or OUT_OF.search(following) or OUT_OF.search(lead))
            and value in self.grounds.counts
            and not (named and CLAIM.search(lead) and not OUT_OF.search(following))
        ):
            return Proof("derived", self.grounds.counts[value])
        return None

    def _anywhere(self, numeral: Numeral, loose: bool, step: int | None, *, exact: bool) -> Proof | None:
        """Without a metric of its own: a fact with these digits (or, with three digits and more, this value)."""
        bare = numeral.digits
        digits = len(re.sub(r"^-?0*\.?0*|\D", "", bare))
        for fact in self.grounds.evidence.facts:
            if step is not None and not self._of_step(fact, step):
                continue
            if self._equals(numeral, fact, loose) and (digits >= 3 or bare == fact.text.strip("% ") or not exact):
                return Proof(fact.kind, fact.id)
        return None

    def _nonfinite(self, numeral: Numeral, subject: Mention | None, row: Sentence) -> Proof | None:
        """NaN and Inf are words ("the first NaN") unless a metric is said to be one."""
        if (
            subject is None
            or not subject.keys
            or subject.end > numeral.start
            or not CLAIM.search(row.whole[max(subject.end, numeral.start - 16) : numeral.start])
        ):
            return None
        step = row.step_of(numeral)
        for key in subject.keys:
            series = self.grounds.series(key)
            if series is not None and series.n_nonfinite and (step is None or not math.isfinite(self.grounds.at(key, step) or 0.0)):
                return Proof("run")
        return Proof("unverified", "number")

    def _told(self, numeral: Numeral, subject: Mention, step: int | None, loose: bool) -> Proof | None:
        """Numbers of a finding's own sentence that belong to no metric: shares, ratios, counts."""
        if step is not None:
            return None
        significant = len(re.sub(r"^-?0*\.?0*|\D", "", numeral.digits))
        for fact in self.grounds.loose_facts:
            told = fact.id in self.grounds.evidence.told and (not _whole(fact) or significant >= 3)
            told = told or bool(fact.formula and fact.text == numeral.digits and not _whole(fact))
            if (told or (significant >= 3 and fact.formula and not _whole(fact))) and self._equals(numeral, fact, loose):
                return Proof(fact.kind, fact.id)
        return None

    def _other_subject(self, numeral: Numeral, row: Sentence, subject: Mention, step: int | None, loose: bool) -> Proof | None:
        """Lists such as "`a`, `b`, `c`: 1, 2, 3" or "a and b are 1 and 2": each number may be of the metric at its place."""
        rows = [m for m in row.mentions if m.kind == "metric" and m.end <= numeral.start]
        numbers = [n for n in row.numbers if n.start > (rows[-1].end if rows else row.start) and not row.is_step(n) and not row.is_line(n)]
        if len(rows) < 2 or len(rows) != len(numbers) or numeral not in numbers:
            return None
        own = rows[numbers.index(numeral)]
        good = [f for f in self.grounds.facts_of(own.keys) if self._equals(numeral, f, loose) and (step is None or self._of_step(f, step))]
        return Proof(good[0].kind, good[0].id) if good else None

    def _unknown(self, numeral: Numeral, subject: Mention | None, step: int | None) -> Proof:
        """Unverified; says what would be right where the log knows."""
        if subject is not None and subject.keys and step is not None:
            for key in subject.keys:
                if (series := self.grounds.series(key)) is not None and (point := series.at(step)) is not None:
                    self.right[numeral.start] = point.text
                    break
        if (
            subject is not None
            and subject.keys
            and any(
                self._equals(numeral, f, False) and numeral.unit == ""
                for f in self.grounds.evidence.facts
                if f.metric and f.metric not in subject.keys
            )
        ):
            return Proof("unverified", "metric")
        return Proof("unverified", "number")

    # Comparing

    def _equals(self, numeral: Numeral, fact: Fact, loose: bool) -> bool:
        if numeral.text.replace(",", "").strip() == fact.text:
            return True
        value = real(fact)
        if value is None:
            return False
        if numeral.unit == "%":
            return agrees(numeral, value, scale=100.0, loose=loose) or ("%" in fact.text and agrees(numeral, value, loose=loose))
        if numeral.unit == "x" or ("%" in fact.text and not numeral.unit and not agrees(numeral, value, loose=loose)):
            return (
                numeral.unit == "x"
                and fact.kind == "derived"
                and (fact.metric is None or "×" in fact.text)
                and agrees(numeral, value, loose=loose)
            )
        return self._near(numeral, value, fact.metric or "", loose)

    def _near(self, numeral: Numeral, value: float, key: str, loose: bool) -> bool:
        if numeral.unit == "%":
            return agrees(numeral, value, scale=100.0, loose=loose)
        if agrees(numeral, value, loose=loose):
            return True
        scale = self.grounds.evidence.view.names[key].scale if key in self.grounds.evidence.view.names else 1.0
        return scale != 1.0 and agrees(numeral, value, scale=scale, loose=loose)

    def _of_step(self, fact: Fact, step: int) -> bool:
        if fact.step is not None:
            return fact.step == step
        spans = re.findall(r"steps? (\d+)(?:\s?[–-]\s?(\d+))?", fact.formula)
        if spans:
            return any(int(a) <= step <= int(b or a) for a, b in spans)
        return fact.kind == "derived" and fact.id in self.grounds.evidence.told

    def _near_printed(self, fact: Fact, subject: Mention, step: int) -> bool:
        """A derived value (a median "by step 300") must be close to what was printed there."""
        value = real(fact)
        if fact.step is not None or value is None:
            return True
        printed = [v for key in subject.keys if (v := self.grounds.at(key, step)) is not None]
        return not printed or any(abs(v - value) <= 0.3 * max(abs(v), abs(value)) for v in printed)

    def _fits(self, fact: Fact, subject: Mention) -> bool:
        if fact.metric is None:
            named = [key for key in self.grounds.by_metric if fact in self.grounds.by_metric[key]]
            return not named or bool(set(named) & set(subject.keys))
        return fact.metric in subject.keys


def _changes(a: float, b: float, unit: str) -> Sequence[float]:
    """What people call the change from ``a`` to ``b``."""
    if unit == "%":
        out = [100 * (b - a) / abs(a)] if a else []
        out += [100 * b / a] if a and b / a > 0 else []
        return [*out, 100 * (b - a)]
    if unit == "x":
        if not a or not b or (a < 0) != (b < 0):
            return []
        return [b / a, a / b]
    return [b - a]


def _finite(numeral: Numeral) -> bool:
    return abs(numeral.value) < float("inf")


def _whole(fact: Fact) -> bool:
    return isinstance(fact.value, float) and fact.value.is_integer() and "%" not in fact.text


def _is_era(numeral: Numeral, lead: str, whole: str) -> bool:
    """ "verl 0.6", "version 0.6", "v0.6"."""
    named = re.search(r"(?:\bverl|\bversions?|版本)\s*(?:为|是|>=|≥|<|>|before|after|since)?\s*[`*v]*$", lead, re.IGNORECASE)
    return bool(named and re.fullmatch(r"\d+\.\d+", numeral.text))
