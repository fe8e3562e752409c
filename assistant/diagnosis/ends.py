"""First and last lines of a log: what changed beyond doubt between them, when the steps between are missing or the log is short.

Detectors look for something that lasts, in steps that follow one another. In "the first three lines and the last three" nothing
can last; the hundreds of steps between are time all the same, and a score that has gone from 0.6 to 0.05 has gone. Only changes
far beyond what neighbouring lines differ by are told, and with less confidence: since when they hold nobody can say.

A paste of six to two dozen lines is too short for most detectors as well. What went one way all the time in it, and far, is told too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from assistant.diagnosis.batch import clean, prints_zero, sums_tokens
from assistant.diagnosis.detector import Thresholds, thresholds
from assistant.diagnosis.facts import count, derived
from assistant.diagnosis.finding import Finding
from assistant.diagnosis.stats import Interval, few, median, trend
from assistant.diagnosis.view import RunView
from assistant.run import FloatArray, IntArray, Series

LEAST_GAP = 20
"""Steps in a row that a log must leave out to be two pieces of a run."""
TIMES = 10
"""… and how many times the usual distance between its lines."""
CONFIDENCE = 0.55
FEWEST, SHORT = 6, 24
"""Logged steps of a paste that is looked at by its first and last quarter."""
ONE_WAY = 2.3
"""z of a trend in so few lines that counts as going one way."""


@dataclass(frozen=True, slots=True)
class Ends:
    """One metric in the first and in the last stretch of the log."""

    series: Series
    head: FloatArray
    tail: FloatArray
    head_at: int
    tail_at: int
    short: bool = False

    @property
    def start(self) -> float:
        return median(self.head)

    @property
    def now(self) -> float:
        return median(self.tail)

    @property
    def apart(self) -> float:
        """Distance of the two levels in units of the largest spread within a stretch; 0 where a single line shows no spread."""
        if min(len(self.head), len(self.tail)) < 2:
            return 0.0
        spread = max(float(np.ptp(self.head)), float(np.ptp(self.tail)), 1e-12)
        return abs(self.now - self.start) / spread


def stretches(steps: IntArray) -> list[Interval]:
    """Rows whose steps (rising, each once) follow one another, as index intervals; a log without missing steps is one."""
    if not len(steps):
        return []
    between = np.diff(steps)
    usual = int(between.min()) if len(between) > 1 else 1
    breaks = np.flatnonzero((between >= LEAST_GAP) & (between > TIMES * usual))
    starts, ends = [0, *(breaks + 1).tolist()], [*breaks.tolist(), len(steps) - 1]
    return [Interval(start, end, end == len(steps) - 1) for start, end in zip(starts, ends, strict=True)]


def gap(view: RunView) -> tuple[int, int] | None:
    """Last step of the first stretch and first step of the last one, when most of the run between them is missing."""
    steps, pieces = view.steps, stretches(view.steps)
    if len(pieces) < 2:
        return None
    missing = sum(int(steps[after.start] - steps[before.end]) for before, after in pairwise(pieces))
    return (int(steps[pieces[0].end]), int(steps[pieces[-1].start])) if missing >= 0.5 * (steps[-1] - steps[0]) else None


def look(finding_id: str, view: RunView) -> Finding | None:
    """The change that the finding is about, when the first and the last lines show it beyond doubt."""
    rule = RULES.get(finding_id)
    return rule(view, thresholds(finding_id)) if rule is not None and _limits(view, finding_id) is not None else None


def _limits(view: RunView, finding_id: str = "") -> tuple[int, int] | None:
    """Last step of the first lines and first step of the last ones; None for a log that is neither in pieces nor short."""
    if (limits := gap(view)) is not None:
        return limits
    steps = view.steps
    if finding_id in JUDGED_SHORT or not FEWEST <= len(steps) <= SHORT:
        return None
    n = few(len(steps))
    return int(steps[n - 1]), int(steps[-n])


def metric(view: RunView, name: str) -> Ends | None:
    """A metric's values in the two stretches; None unless both print it."""
    limits, series = _limits(view), clean(view[name])
    if limits is None or series is None:
        return None
    short = gap(view) is None
    if short and (len(series) < FEWEST or abs(trend(series.values).z) < ONE_WAY):
        return None
    head, tail = np.flatnonzero(series.steps <= limits[0]), np.flatnonzero(series.steps >= limits[1])
    if not len(head) or not len(tail):
        return None
    return Ends(series, series.values[head], series.values[tail], int(head[-1]), int(tail[0]), short)


def _found(finding_id: str, ends: Ends, *more: Ends) -> Finding:
    facts = {
        "start": derived(ends.start, f"median of {ends.series.name} in the first lines", metric=ends.series.name),
        "now": derived(ends.now, f"median of {ends.series.name} in the last lines", metric=ends.series.name),
        "head": count(int(ends.series.steps[ends.head_at])),
        "tail": count(int(ends.series.steps[ends.tail_at])),
    }
    points = [one.series.point(index) for one in (ends, *more) for index in (one.head_at, one.tail_at)]
    last = len(ends.series) - 1
    if last != ends.tail_at:
        points.insert(2, ends.series.point(last))
    facts["n"] = count(len(ends.series), "logged steps")
    return Finding(
        finding_id,
        confidence=CONFIDENCE,
        first_step=int(ends.series.steps[_since(ends) if ends.short else ends.tail_at]),
        last_step=int(ends.series.steps[last]),
        evidence=points,
        facts=facts,
        variant="few" if ends.short else "ends",
    )


def _since(ends: Ends) -> int:
    """Index from which on every value lies nearer to the last lines than to the first."""
    nearer = np.abs(ends.series.values - ends.now) < np.abs(ends.series.values - ends.start)
    away = np.flatnonzero(~nearer)
    return int(away[-1]) + 1 if len(away) and away[-1] + 1 < len(nearer) else ends.tail_at


def _lost(view: RunView) -> Ends | None:
    """The score, when it has lost most of what it had above the lowest one that samples get."""
    score, t = metric(view, "score_mean"), thresholds("reward-collapse")
    if score is None or not score.tail.max() < score.head.min() or score.apart < t.ends_apart:
        return None
    lowest = clean(view["score_min"])
    floor = median(lowest.values) if lowest is not None else min(0.0, float(score.series.values.min()))
    most = score.start - floor
    if score.short and lowest is None and floor < 0:  # how low it can go is not known
        most = max(most, abs(score.start))
    return score if most > 0 and score.start - score.now > t.ends * most else None


def _reward(view: RunView, t: Thresholds) -> Finding | None:
    score = _lost(view)
    return _found("reward-collapse", score) if score is not None else None


def _entropy(view: RunView) -> Ends | None:
    found = metric(view, "policy_entropy")
    if found is None or (sums_tokens(view) and view.era_is("<0.4") is not True):
        return None
    return found if found.start <= thresholds("entropy-collapse").ceiling else None


def _entropy_fell(view: RunView, t: Thresholds) -> Finding | None:
    entropy, score = _entropy(view), _lost(view)
    if entropy is None or score is None or not entropy.tail.max() < min(t.level, t.ends * entropy.head.min()):
        return None
    return _found("entropy-collapse", entropy, score)


def _entropy_rose(view: RunView, t: Thresholds) -> Finding | None:
    entropy, score = _entropy(view), _lost(view)
    if entropy is None or entropy.start > t.random or not entropy.tail.min() > max(t.ends * entropy.head.max(), t.least):
        return None
    if score is None and not entropy.tail.min() > t.level:
        return None
    return _found("entropy-explosion", entropy, *([score] if score is not None else []))


def _shorter(view: RunView, t: Thresholds) -> Finding | None:
    length, score = metric(view, "response_length_mean"), _lost(view)
    if length is None or score is None or length.start <= t.tiny or not length.tail.max() < t.ends * length.head.min():
        return None
    return _found("length-collapse", length, score)


def _longer(view: RunView, t: Thresholds) -> Finding | None:
    length, score = metric(view, "response_length_mean"), metric(view, "score_mean")
    if length is None or score is None or not length.tail.min() > t.ends * length.head.max():
        return None
    return _found("length-explosion", length, score) if score.tail.max() < score.head.max() else None


def _gradient(view: RunView, t: Thresholds) -> Finding | None:
    norm = metric(view, "policy_grad_norm")
    if norm is None or not norm.tail.min() > max(t.ratio * norm.head.max(), t.least):
        return None
    return _found("gradient-explosion", norm)


def _reference(view: RunView, t: Thresholds) -> Finding | None:
    kl = metric(view, "reference_kl")
    if kl is None or prints_zero(kl.series).all():
        kl = metric(view, "reward_kl")
    if kl is None or not kl.tail.min() > max(t.level, t.small_ratio * kl.head.max(), t.small_ratio * t.least_start):
        return None
    return _found("kl-blowup", kl)


def _value_loss(view: RunView, t: Thresholds) -> Finding | None:
    loss = metric(view, "value_loss")
    if loss is None or not loss.head.max() > 0 or not loss.tail.min() > t.ends * loss.head.max():
        return None
    if loss.short and _lost(view) is None:
        return None  # it grows with the returns of an agent that learns
    return _found("value-loss-divergence", loss)


JUDGED_SHORT = frozenset({"gradient-explosion", "kl-blowup", "entropy-collapse"})
"""Findings whose detectors judge short logs themselves."""

RULES: Mapping[str, Callable[[RunView, Thresholds], Finding | None]] = {
    "reward-collapse": _reward,
    "entropy-collapse": _entropy_fell,
    "entropy-explosion": _entropy_rose,
    "length-collapse": _shorter,
    "length-explosion": _longer,
    "gradient-explosion": _gradient,
    "kl-blowup": _reference,
    "value-loss-divergence": _value_loss,
}
