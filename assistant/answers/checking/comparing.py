"""When a numeral equals what is known: a value, a change between two values, the highest or the last one of a metric."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from assistant.answers.checking.grounds import WINDOW, Grounds, Proof, agrees, real
from assistant.answers.checking.numerals import Numeral
from assistant.answers.checking.phrases import BY_SHARE, CHANGED, DIFFERENCE, FROM_START, GREW, MORE_THAN, OF_START, ROLE, TO_SHARE
from assistant.answers.checking.scope import Mention, Sentence
from assistant.answers.grounding.evidence import Fact
from assistant.answers.grounding.selection import selected
from assistant.answers.understanding.windows import stretches
from assistant.run import Series

_AT_END = re.compile(r"\b(?:at the end|now|finally|is)\b|最后|目前|现在", re.IGNORECASE)


@dataclass
class Comparing:
    """``right`` is what would be true at a wrong numeral, by its start."""

    grounds: Grounds
    right: dict[int, str] = field(default_factory=dict)

    def in_role(self, numeral: Numeral, proof: Proof, subject: Mention, row: Sentence, loose: bool, previous: Sentence | None) -> bool:
        """Whether a value that is called the highest, lowest, first or last one is that; ``right`` is set when it is not."""
        if proof.status != "run" or numeral.unit in ("%", "x"):
            return True
        before = [n.end for n in row.numbers if n.end <= numeral.start and not row.is_step(n)]
        start = max([row.clause(numeral.start)[0], *before])
        roles = list(ROLE.finditer(row.whole[start : numeral.start]))
        if not roles or len(row.whole[start + roles[-1].end() : numeral.start]) > 48:
            return True
        if CHANGED.search(row.plain(start + roles[-1].end(), numeral.start)):
            return True  # "the largest advantage shrank from 3.7 to 1.8": no claim that 3.7 is the largest
        role = roles[-1].lastgroup or ""
        seen = False
        for key in subject.keys:
            series = self.grounds.series(key)
            if series is None or not series.finite.any():
                continue
            seen = True
            values = series.values[series.finite]
            wanted = {"high": values.max(), "low": values.min(), "first": values[0], "last": values[-1]}[role]
            if self.near(numeral, float(wanted), key, loose):
                return True
            if role in ("high", "low") and self._of_stretch(numeral, role, series, row, previous, loose):
                return True
            if role in ("first", "last") and any(
                f.kind == "derived" and self.equals(numeral, f, loose) for f in self.grounds.by_metric.get(key, ())
            ):
                return True
            index = {"high": int(values.argmax()), "low": int(values.argmin()), "first": 0, "last": len(values) - 1}[role]
            self.right[numeral.start] = series.take(series.finite).text(index)
        return not seen

    def _of_stretch(self, numeral: Numeral, role: str, series: Series, row: Sentence, previous: Sentence | None, loose: bool) -> bool:
        """Whether it is the extreme of a stretch that the sentence, or the one before, speaks of ("over steps 50–59")."""
        one = series.take(series.finite)
        for text in (row.text, previous.text if previous is not None else ""):
            window = stretches(text.lower(), threshold=False).window
            if window is not None and len(chosen := selected(one, window)):
                values = one.values[chosen]
                return self.near(numeral, float(values.max() if role == "high" else values.min()), one.name, loose)
        return False

    def change(self, numeral: Numeral, subject: Mention, row: Sentence, loose: bool) -> Proof | None:
        """A difference, ratio or percentage of change, recomputed."""
        siblings = [
            n
            for n in row.numbers
            if n is not numeral
            and n.unit not in ("%", "x")
            and not row.is_step(n)
            and not row.is_line(n)
            and math.isfinite(n.value)
            and self.level(n, subject, row)
        ]
        rows = [(a.value, b.value) for i, a in enumerate(siblings) for b in siblings[i + 1 :]]
        if siblings:
            exact = [self.exact(n, subject) for n in siblings]
            rows += [(x, y) for i, a in enumerate(exact) for b in exact[i + 1 :] for x in a for y in b]
        clause = row.plain(*row.clause(numeral.start))
        own = not rows and bool(CHANGED.search(clause))
        if own:
            pairs = self.from_start if FROM_START.search(clause) else self.grounds.ends
            rows = [pair for key in subject.keys for pair in pairs(key)]
        lead, following = row.whole[max(row.start, numeral.start - 80) : numeral.start], row.whole[numeral.end : numeral.end + 50]
        way = "" if numeral.unit != "%" else "by" if BY_SHARE.search(lead) else ""
        if numeral.unit == "%" and not way and TO_SHARE.search(lead) and (OF_START.match(following) or "的" in lead[-3:]):
            way = "to"
        more = numeral.unit == "x" and bool(MORE_THAN.search(row.whole[max(row.start, numeral.start - 12) : numeral.start]))
        for a, b in rows:
            if more and any(numeral.value <= value <= 5 * numeral.value for value in changes(a, b, "x")):
                return Proof("derived")
            said = changes(a, b, numeral.unit)
            if own and numeral.unit == "x" and a and _AT_END.search(lead) and FROM_START.search(clause):
                said = [b / a]
            elif own and numeral.unit == "x" and a and b / a > 0 and (verb := GREW.search(numeral.text)):
                said = [b / a] if verb["up"] else [b / a, a / b] if numeral.value > 1 else [b / a]
            if way and a and b / a > 0:
                said = [100 * b / a] if way == "to" else [100 * (b - a) / abs(a), 100 * (b - a)]
                said += [100 * (a - b) / abs(b), 100 * a / b] if not own and way == "by" else []  # "0.2, down from 0.4 by 50%"
            if any(agrees(numeral, sign * value, loose=loose) or _whole_percent(numeral, value) for value in said for sign in (1, -1)):
                return Proof("derived")
        return None

    def from_start(self, metric: str) -> Sequence[tuple[float, float]]:
        """First and last value, and the medians of the two ends: what "over the run" speaks of."""
        series = self.grounds.series(metric)
        if series is None or np.count_nonzero(series.finite) < 2:
            return ()
        values = series.values[series.finite]
        out = [(float(values[0]), float(values[-1]))]
        for n in (WINDOW, max(1, min(WINDOW, len(values) // 4))):
            if len(values) >= 2 * n:
                out.append((float(np.median(values[:n])), float(np.median(values[-n:]))))
        return [(a, b) for a, b in out if a != b]

    def exact(self, numeral: Numeral, subject: Mention) -> list[float]:
        """The unrounded values that a level in the sentence may stand for."""
        return [
            value for fact in self.grounds.facts_of(subject.keys) if self.equals(numeral, fact, False) and (value := real(fact)) is not None
        ][:6]

    def level(self, numeral: Numeral, subject: Mention, row: Sentence) -> bool:
        other = row.subject(numeral)
        if DIFFERENCE.search(row.whole[max(row.start, numeral.start - 30) : numeral.start]):
            return False
        return other is None or other is subject or bool(set(other.keys) & set(subject.keys))

    def of_siblings(self, numeral: Numeral, row: Sentence, loose: bool) -> bool:
        """ "246 GB of 252 GB were in use (98%)": a share of two numbers of the sentence that belong to no metric."""
        others = [
            n
            for n in row.numbers
            if n is not numeral and n.unit not in ("%", "x") and math.isfinite(n.value) and not row.is_step(n) and not row.is_line(n)
        ]
        pairs = [(a.value, b.value) for i, a in enumerate(others) for b in others[i + 1 :] if a.unit == b.unit]
        return any(
            agrees(numeral, sign * value, loose=loose)
            for a, b in pairs
            for x, y in ((a, b), (b, a))
            for value in changes(x, y, numeral.unit)[:2]
            for sign in (1, -1)
        )

    def of_role(self, subject: Mention, lead: str) -> list[str]:
        """Settings of the critic where the words before say "critic": the learning rate has one for each."""
        tails = {name.rpartition(".")[2].replace("learning_rate", "lr") for name in (*subject.also, *subject.names)}
        said = re.search(r"critic|价值网络|评论家", lead, re.IGNORECASE)
        return [key for key in self.grounds.run.config if said and key.startswith("critic.") and key.rpartition(".")[2] in tails]

    def extremes(self, keys: Iterable[str]) -> list[str]:
        """The printed maximum and minimum of the same batch."""
        stems = [key.rpartition("/")[0] for key in keys if key.rpartition("/")[2] == "mean"]
        return [key for stem in stems for end in ("max", "min") if (key := f"{stem}/{end}") in self.grounds.run.columns]

    def equals(self, numeral: Numeral, fact: Fact, loose: bool) -> bool:
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
        return self.near(numeral, value, fact.metric or "", loose)

    def near(self, numeral: Numeral, value: float, key: str, loose: bool) -> bool:
        if numeral.unit == "%":
            return agrees(numeral, value, scale=100.0, loose=loose)
        if agrees(numeral, value, loose=loose):
            return True
        scale = self.grounds.evidence.view.names[key].scale if key in self.grounds.evidence.view.names else 1.0
        return scale != 1.0 and agrees(numeral, value, scale=scale, loose=loose)

    def of_step(self, fact: Fact, step: int) -> bool:
        if fact.step is not None:
            return fact.step == step
        spans = re.findall(r"steps? (\d+)(?:\s?[–-]\s?(\d+))?", fact.formula)
        if spans:
            return any(int(a) <= step <= int(b or a) for a, b in spans)
        return fact.kind == "derived" and fact.id in self.grounds.evidence.told

    def near_printed(self, numeral: Numeral, fact: Fact, subject: Mention, step: int) -> bool:
        """A derived value (a median "by step 300") must be close to what was printed there."""
        value = real(fact)
        if fact.step is not None or value is None:
            return True
        printed = [v for key in subject.keys if (v := self.grounds.at(key, step)) is not None]
        if printed and len(re.sub(r"^-?0*\.?0*|\D", "", numeral.digits)) > 3:
            return False
        return not printed or any(abs(v - value) <= 0.3 * max(abs(v), abs(value)) for v in printed)

    def fits(self, fact: Fact, subject: Mention) -> bool:
        if fact.metric is None:
            named = [key for key in self.grounds.by_metric if fact in self.grounds.by_metric[key]]
            return not named or bool(set(named) & set(subject.keys))
        return fact.metric in subject.keys


def _whole_percent(numeral: Numeral, value: float) -> bool:
    """A whole percentage is a rounding to whole percents, however small: 6 % for 5.66 %."""
    return numeral.unit == "%" and not numeral.spelled and numeral.half == 0.5 and round(abs(value)) == abs(numeral.value) > 1


def changes(a: float, b: float, unit: str) -> Sequence[float]:
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
