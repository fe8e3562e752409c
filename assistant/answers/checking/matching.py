"""Which fact, card or word of the user a numeral stands for, given the sentence around it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from assistant.answers.checking.comparing import Comparing
from assistant.answers.checking.equations import equation, is_era, is_finite, is_ordinal
from assistant.answers.checking.grounds import Proof, agrees
from assistant.answers.checking.numerals import Numeral, approximate
from assistant.answers.checking.phrases import (
    ADVISES,
    AROUND_ZERO,
    BATCH,
    BECOMES,
    CHECKS,
    CLAIM,
    COUNTED,
    DIFFERENCE,
    FROM,
    FROM_START,
    GENERAL,
    OF_START,
    OF_THIS_RUN,
    OF_UNIT,
    OUT_OF,
    PER,
    PROPOSES,
    PROSE_COUNT,
    STEPS_LONG,
    STRICTLY_GENERAL,
    TO_SHARE,
    TOKENS,
    USERS,
    USUALLY,
    WATCHES,
)
from assistant.answers.checking.scope import Mention, Sentence
from assistant.answers.grounding.evidence import Fact
from assistant.spoken_names import SETTING_OF_METRIC


@dataclass
class Matcher(Comparing):
    """``cited`` gives the fact of each filled placeholder by position; ``right`` what would be true at a wrong one; ``changes`` are
    starts of numerals that are differences."""

    cited: dict[int, str] = field(default_factory=dict)
    changes: set[int] = field(default_factory=set)

    def match(self, row: Sentence, previous: Sentence | None) -> Iterator[tuple[Numeral, Proof | None]]:
        """Each numeral of the sentence with its proof; None for one that is no number of the run."""
        values: list[tuple[Numeral, Proof | None]] = []
        proven_steps: set[int] = set()
        doubted: set[int] = set()
        metric = ""
        for numeral in row.numbers:
            if row.is_line(numeral) or row.is_step(numeral) or is_ordinal(numeral):
                continue
            proof = self._value(numeral, row, previous, metric)
            fact = self.grounds.by_id.get(proof.source or "") if proof is not None else None
            metric = (fact.metric or metric) if fact is not None else metric
            if proof is not None and proof.status in ("run", "unverified") and (step := row.step_of(numeral)) is not None:
                (proven_steps if proof.status == "run" else doubted).add(step)
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

    def _value(self, numeral: Numeral, row: Sentence, previous: Sentence | None, metric: str) -> Proof | None:
        """``metric`` is what the number before it in the sentence was proven to be of."""
        whole, grounds = row.whole, self.grounds
        lead, following = whole[max(row.start, numeral.start - 40) : numeral.start], whole[numeral.end : min(row.end, numeral.end + 40)]
        if numeral.version or is_era(numeral, lead, whole):
            era = grounds.run.era
            if OF_THIS_RUN.search(row.text) and era != "unknown" and not (numeral.text == era or numeral.text.startswith(era + ".")):
                return self._asked(numeral) or Proof("unverified", "version")
            return Proof("knowledge") if grounds.is_version(numeral.text) else self._asked(numeral) or Proof("unverified", "version")
        if (
            is_finite(numeral)
            and 0 < numeral.value <= 9
            and numeral.value == int(numeral.value)
            and not numeral.unit
            and PROSE_COUNT.match(following)
        ):
            return None
        if (proof := self._equation(numeral, row, previous)) is not None:
            return proof
        if (
            numeral.spelled
            and numeral.unit in ("%", "x")
            and "ercent" not in numeral.text
            and ADVISES.search(row.plain(*row.clause(numeral.start)))
        ):
            return Proof("knowledge")  # "to about a third of the present rate"
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
        if subject is not None and subject.kind == "metric" and not subject.keys and subject.also:
            subject = replace(subject, kind="setting", names=subject.also)  # not printed here: the setting of that name
        if subject is not None and subject.kind == "setting":
            if (proof := self._setting(numeral, subject, lead)) is not None:
                return proof
            if not inherited and CLAIM.search(whole[subject.end : numeral.start]) and len(whole[subject.end : numeral.start]) < 24:
                return self._asked(numeral) or Proof("unverified", "setting")
            subject = next((m for m in reversed(row.mentions) if m.kind == "metric" and m.end <= numeral.start), None)
        if subject is not None and subject.kind == "metric" and BATCH.search(lead):
            subject = replace(subject, keys=tuple(dict.fromkeys([*subject.keys, *self.extremes(subject.keys)])))
        step = row.step_of(numeral)
        loose = approximate(whole, numeral)
        fact = grounds.by_id.get(self.cited.get(numeral.start, ""))
        if (
            fact is not None
            and (subject is None or inherited or not subject.keys or self.fits(fact, subject))
            and (step is None or self.of_step(fact, step))
        ):
            return Proof(fact.kind, fact.id)
        if subject is not None and subject.keys:
            proof = self._of_metric(numeral, subject, step, loose, row, lead)
            if proof is not None:
                return proof if self.in_role(numeral, proof, subject, row, loose, previous) else Proof("unverified", "number")
        settings = [SETTING_OF_METRIC[n] for n in subject.names if n in SETTING_OF_METRIC] if subject is not None and step is None else []
        if settings and subject is not None and not FROM.search(lead):
            for name in subject.also:
                if any(agrees(numeral, v) for v in grounds.settings_of(name)["knowledge"]):
                    return Proof("knowledge")
        if any(agrees(numeral, v) for key in settings for known in grounds.settings_of(key).values() for v in known):
            return Proof("config")
        counted = self._count(numeral, lead, following, subject is not None and not inherited)
        if counted is not None:
            return counted
        if step is None and WATCHES.search(row.plain(*row.clause(numeral.start))) and (card := grounds.in_cards(numeral)) is not None:
            return Proof("knowledge", card)
        if numeral.unit in ("%", "x") and (subject is None or inherited or not subject.keys) and self.of_siblings(numeral, row, loose):
            return Proof("derived")
        if step is None and (proof := self._by_unit(numeral, following, loose)) is not None:
            return proof
        unprinted = subject is not None and subject.kind == "metric" and subject.literal and not subject.keys
        if subject is None or inherited or (not subject.keys and not unprinted):
            for fact in grounds.facts_of([metric] if metric else []):  # "from 957 tokens to about 9"
                if self.equals(numeral, fact, loose) and (step is None or self.of_step(fact, step)):
                    return Proof(fact.kind, fact.id)
            if (proof := self._anywhere(numeral, loose, step)) is not None:
                return proof
        elif not unprinted:
            fraction = numeral.spelled and numeral.unit == "%" and bool(OF_START.match(following) or FROM_START.search(lead))
            if not fraction and (proof := self._told(numeral, subject, step, loose)) is not None:
                return proof
            if (proof := self._other_subject(numeral, row, subject, step, loose)) is not None:
                return proof
        first, last = row.clause(numeral.start)
        if numeral.unit == "%" and step is None and not any(m.kind == "metric" and m.end > first and m.start < last for m in row.mentions):
            told = [f for f in grounds.evidence.facts if f.id in grounds.evidence.told and f.text == numeral.text.replace(" ", "")]
            if told:
                return Proof(told[0].kind, told[0].id)
        if step is None and grounds.says(whole, numeral.start, numeral.end, subject.start if subject is not None else None):
            return Proof("knowledge")
        clause = row.plain(first, last)
        claims = (
            subject is not None
            and bool(subject.keys)
            and not inherited
            and bool(CLAIM.search(whole[max(subject.end, numeral.start - 16) : numeral.start]))
            and subject.end <= numeral.start
        )
        general = bool(GENERAL.search(clause) or USUALLY.search(row.plain(row.start, numeral.start)))
        if claims and subject is not None and subject.literal and numeral.start - subject.end <= 8:
            general = bool(USUALLY.search(clause))  # "`actor/entropy` is 0.05": the run's own value, whatever else is said
        on_the_way = subject is not None and (numeral.start - subject.end > 16 or not subject.literal)
        if numeral.value == 0 and "." not in numeral.text and on_the_way:
            claims, general = False, True  # "the accumulation becomes 0": said of something on the way
        spelled = numeral.spelled and numeral.unit not in ("x", "%") and numeral.value <= 10
        if numeral.unit == "x" and subject is not None and subject.keys and not ADVISES.search(clause):
            general = bool(STRICTLY_GENERAL.search(clause))  # "doubled over the run" is a claim
        if (card := grounds.in_cards(numeral)) is not None and step is None and (general or spelled):
            return Proof("knowledge", card)
        if subject is not None and any(agrees(numeral, v) for k in self.of_role(subject, lead) for v in grounds.settings_of(k)["config"]):
            return Proof("config")
        if subject is not None and subject.kind == "metric" and PROPOSES.search(lead):
            for name in (*subject.also, whole[subject.start : subject.end]):
                if any(agrees(numeral, v) for v in grounds.proposed(name)):
                    return Proof("knowledge")
        named = subject is None or not subject.literal or not claims or self.grounds.named(subject.keys)
        theirs = bool(USERS.search(row.text))
        if (asked := self._asked(numeral)) is not None and (theirs or (named and (step is None or subject is None))):
            return asked  # the user's 1.0 of one metric is not another's
        return self._unknown(numeral, subject, step)

    # Ways to be right

    def _equation(self, numeral: Numeral, row: Sentence, previous: Sentence | None) -> Proof | None:
        """ "1024 / 256 = 4": right when it is, and when both numbers on its left may stand; None when there is no equation."""
        left = equation(numeral, row)
        if left is None:
            return None
        a, b, value = left
        if value is None:
            return Proof("unverified", "number")
        known = [self._value(n, row, previous, "") for n in (a, b)]
        good = all(proof is not None and proof.status != "unverified" for proof in known)
        return Proof("derived") if good and agrees(numeral, value) else Proof("unverified", "number")

    def _of_metric(self, numeral: Numeral, subject: Mention, step: int | None, loose: bool, row: Sentence, lead: str) -> Proof | None:
        grounds = self.grounds
        facts = grounds.facts_of(subject.keys)
        own = numeral.start - subject.end <= 5 and row.whole[subject.start : subject.end].lower().endswith("loss")  # "a loss of 0.01"
        if DIFFERENCE.search(lead) and numeral.unit not in ("%", "x") and not own:
            self.changes.add(numeral.start)
            return self.change(numeral, subject, row, loose) or (
                Proof("unverified", "number")
                if not any(self.equals(numeral, f, loose) for f in facts if f.kind == "derived")
                else Proof("derived")
            )
        if step is not None:
            for key in subject.keys:
                printed = grounds.at(key, step)
                if printed is not None and self.near(numeral, printed, key, loose):
                    return Proof("run", next((f.id for f in facts if f.step == step and f.metric == key), None))
            for fact in facts:
                if self.equals(numeral, fact, loose) and self.of_step(fact, step) and self.near_printed(numeral, fact, subject, step):
                    return Proof(fact.kind, fact.id)
            if numeral.unit not in ("%", "x"):
                return None
        if numeral.unit == "%" and DIFFERENCE.search(lead):
            self.changes.add(numeral.start)
            told = [f for f in facts if f.kind == "derived" and "%" in f.text and self.equals(numeral, f, loose)]
            return self.change(numeral, subject, row, loose) or (Proof("derived", told[0].id) if told else Proof("unverified", "number"))
        behind = row.whole[numeral.end : min(row.end, numeral.end + 50)]
        of_start = numeral.unit == "%" and bool(TO_SHARE.search(lead) and (OF_START.match(behind) or lead.endswith("的")))
        if numeral.unit != "x" and step is None and not of_start:
            good = [f for f in facts if self.equals(numeral, f, loose)]
            if good:
                return Proof(good[0].kind, good[0].id)
        if numeral.unit in ("%", "x"):
            self.changes.add(numeral.start)
            return self.change(numeral, subject, row, loose)
        return None

    def _by_unit(self, numeral: Numeral, following: str, loose: bool) -> Proof | None:
        """A number with its unit beside it may be of a metric in that unit that the sentence does not name: tokens, seconds, GB."""
        wanted = "tokens" if TOKENS.match(following) else numeral.unit
        pattern = OF_UNIT.get(wanted)
        if pattern is None:
            return None
        significant = len(re.sub(r"^-?0*\.?0*|\D", "", numeral.digits))
        for fact in self.grounds.evidence.facts:
            about = fact.metric or fact.formula
            if (
                significant >= 3
                and (pattern.search(about) or (fact.metric is None and not fact.formula))
                and self.equals(numeral, fact, loose)
            ):
                return Proof(fact.kind, fact.id)
        return None

    def _setting(self, numeral: Numeral, subject: Mention, lead: str) -> Proof | None:
        now = bool(FROM.search(lead))
        for name in (*subject.keys, *subject.names, *self.of_role(subject, lead)):
            known = self.grounds.settings_of(name, now=now)
            for status in ("config", "knowledge"):
                if any(agrees(numeral, value) for value in known[status]):
                    return Proof(status)
            if not now and (card := self.grounds.advised(name, numeral)) is not None:
                return Proof("knowledge", card)
        return self._asked(numeral)

    def _count(self, numeral: Numeral, lead: str, following: str, named: bool) -> Proof | None:
        if numeral.unit not in ("", "step") or not is_finite(numeral) or numeral.value != int(numeral.value) or numeral.value < 0:
            return None
        if "." in numeral.text or ("e" in numeral.text.lower() and not numeral.spelled):
            return None
        value = int(numeral.value)
        if numeral.unit == "step" or STEPS_LONG.match(following):
            if value in self.grounds.spans:
                return Proof("derived")
            if PER.search(lead) and any(rate in self.grounds.trusted for rate in (f"per{value}step", f"每{value}步")):
                return Proof("knowledge")  # "18 GiB per 100 steps": the unit of a rate, as a finding or card writes it
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
        of = OUT_OF.search(following)
        counted = COUNTED.match(following) or of or OUT_OF.search(lead)
        if counted and value in self.grounds.counts and not (named and CLAIM.search(lead) and not of):
            return Proof("derived", self.grounds.counts[value])
        return None

    def _anywhere(self, numeral: Numeral, loose: bool, step: int | None) -> Proof | None:
        """Without a metric of its own: a fact with these digits (or, with three digits and more, this value)."""
        bare = numeral.digits
        digits = len(re.sub(r"^-?0*\.?0*|\D", "", bare))
        for fact in self.grounds.evidence.facts:
            if (step is not None and not self.of_step(fact, step)) or (numeral.unit == "%" and "%" not in fact.text):
                continue
            if self.equals(numeral, fact, loose) and (digits >= 3 or bare == fact.text.strip("% ")):
                return Proof(fact.kind, fact.id)
        return None

    def _nonfinite(self, numeral: Numeral, subject: Mention | None, row: Sentence) -> Proof | None:
        """NaN and Inf are words ("the first NaN") unless a metric is said to be one."""
        if (
            subject is None
            or not subject.keys
            or subject.end > numeral.start
            or not (CLAIM.search(lead := row.whole[max(subject.end, numeral.start - 16) : numeral.start]) or BECOMES.search(lead))
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
            if (told or (significant >= 3 and fact.formula and not _whole(fact))) and self.equals(numeral, fact, loose):
                return Proof(fact.kind, fact.id)
        return None

    def _other_subject(self, numeral: Numeral, row: Sentence, subject: Mention, step: int | None, loose: bool) -> Proof | None:
        """Lists such as "`a`, `b`, `c`: 1, 2, 3" or "a and b are 1 and 2": each number may be of the metric at its place."""
        rows = [m for m in row.mentions if m.kind == "metric" and m.end <= numeral.start]
        numbers = [n for n in row.numbers if n.start > (rows[-1].end if rows else row.start) and not row.is_step(n) and not row.is_line(n)]
        if len(rows) < 2 or len(rows) != len(numbers) or numeral not in numbers:
            return None
        own = rows[numbers.index(numeral)]
        good = [f for f in self.grounds.facts_of(own.keys) if self.equals(numeral, f, loose) and (step is None or self.of_step(f, step))]
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
                self.equals(numeral, f, False) and numeral.unit == ""
                for f in self.grounds.evidence.facts
                if f.metric and f.metric not in subject.keys
            )
        ):
            return Proof("unverified", "metric")
        return Proof("unverified", "number")


def _whole(fact: Fact) -> bool:
    return isinstance(fact.value, (int, float)) and float(fact.value).is_integer() and "%" not in fact.text
