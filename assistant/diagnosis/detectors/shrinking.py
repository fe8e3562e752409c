"""Less and less to learn from: groups without spread become more, or are many all along."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assistant.diagnosis.batch import UNIFORM, Mask, clean, no_signal, step_fact, step_of
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.detectors.signal import why_uniform
from assistant.diagnosis.facts import count, derived, percent
from assistant.diagnosis.finding import Finding, NotChecked
from assistant.diagnosis.stats import baseline, median, sustained, tail, trend
from assistant.diagnosis.view import RunView
from assistant.run import FloatArray, Series


@detector("shrinking-learning-signal", also=("many-uniform-groups",))
def shrinking_learning_signal(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Three ways to see it: uniform groups counted, steps without any advantage, rounds of refilling (dynamic sampling)."""
    counted = _uniform_share(view)
    rounds = clean(view["generation_rounds"])
    signal = no_signal(view)
    if counted is None and rounds is None and signal is None:
        return NotChecked("advantage_max")
    if counted is not None and len(counted.share) >= t.min_steps:
        share = counted.share
        early, late = median(share[: len(share) // 3]), median(share[-(len(share) // 3) :])
        if late > t.group_share and late - early > t.group_rise and trend(share).rising:
            return _shrinking(counted, early, late)
    if counted is not None and (found := _many_uniform(counted, t)) is not None:
        return found
    if signal is not None and len(signal[2]) >= t.min_steps:
        high, _, zero = signal
        found = _rising_share(high, zero, view, t)
        if found is not None:
            return found
    if rounds is not None and len(rounds) >= t.min_steps:
        early, late = baseline(rounds.values), tail(rounds.values)
        if late >= t.rounds_ratio * max(early, 1.0) and trend(rounds.values).rising:
            facts = {
                "early": derived(early, f"median of {rounds.name}, first 10 values", metric=rounds.name),
                "late": derived(late, f"median of {rounds.name}, last 10 values", metric=rounds.name),
            }
            return Finding(
                "shrinking-learning-signal",
                confidence=0.8,
                first_step=_first_above(rounds, t.rounds_onset * max(early, 1.0)),
                last_step=step_of(rounds, -1),
                evidence=[rounds.point(0), rounds.point(-1)],
                facts=facts,
                variant="rounds",
            )
    return None


def _first_above(series: Series, level: float) -> int | None:
    above = sustained(series.values >= level, 3, 5)
    return step_of(series, above[-1].start if above else 0)


def _rising_share(high: Series, zero: Mask, view: RunView, t: Thresholds) -> Finding | None:
    """Steps without any advantage become more frequent: the split of the run at which two rates are likeliest."""
    split, sigma = _likeliest_split(zero)
    early, late = float(zero[:split].mean()), float(zero[split:].mean())
    if late <= early or late < t.step_share or late >= t.all_share or sigma < t.sigma:
        return None
    where = np.flatnonzero(zero)
    onset = int(where[where >= split][0])
    variant, facts, points = why_uniform(view, high.steps[where[where >= split]])
    facts |= {
        "early": percent(early, "share of steps with all advantages zero, before"),
        "late": percent(late, "share of steps with all advantages zero, since then"),
        "since": step_fact(high, onset),
        "n_zero": count(int(zero.sum()), "steps with all advantages zero"),
        "n": count(len(zero), "steps"),
    }
    return Finding(
        "shrinking-learning-signal",
        confidence=0.85,
        first_step=step_of(high, onset),
        last_step=step_of(high, -1),
        evidence=[high.point(int(where[-1])), *points[:1]],
        facts=facts,
        variant="default",
        causes=_shrinking_causes(view, variant),
    )


def _likeliest_split(zero: Mask) -> tuple[int, float]:
    """Index from which events come at another rate, and by how many standard errors (square root of the log-likelihood ratio, doubled).

    Each side has at least a tenth of the run.
    """
    n, least = len(zero), max(len(zero) // 10, 5)
    splits = np.arange(least, n - least + 1, max(n // 2000, 1))
    before = np.cumsum(zero)[splits - 1].astype(np.float64)
    total = float(zero.sum())

    def likelihood(k: FloatArray, m: FloatArray) -> FloatArray:
        p = np.clip(k / m, 1e-12, 1 - 1e-12)
        likely: FloatArray = k * np.log(p) + (m - k) * np.log1p(-p)
        return likely

    size = splits.astype(np.float64)
    gain = likelihood(before, size) + likelihood(total - before, n - size) - likelihood(np.array([total]), np.array([float(n)]))
    best = int(np.argmax(gain))
    return int(splits[best]), float(np.sqrt(max(2 * gain[best], 0.0)))


def _shrinking_causes(view: RunView, kind: str) -> list[str]:
    first = {"all_right": "solved", "all_wrong": "too-hard"}.get(kind, "less-variety")
    prompts = view.number("data.train_batch_size")
    rest = ["less-variety"] if first != "less-variety" else ["solved"]
    return ["few-prompts", first, *rest] if prompts is not None and prompts <= 8 else [first, *rest, "few-prompts"]


def _shrinking(found: _Uniform, early: float, late: float) -> Finding:
    series = found.series
    return Finding(
        "shrinking-learning-signal",
        confidence=0.85,
        first_step=step_of(series, len(series) // 3),
        last_step=step_of(series, -1),
        evidence=[series.point(0), series.point(-1)],
        facts={"early": percent(early, f"{found.formula}, first third"), "late": percent(late, f"{found.formula}, last third")},
        variant="groups",
        causes=["too-hard", "few-prompts"] if found.hard else ["solved", "few-prompts"],
    )


def _many_uniform(found: _Uniform, t: Thresholds) -> Finding | None:
    share, series = found.share, found.series
    now = tail(share)
    steady = len(share) < t.min_steps or abs(now - median(share)) < t.group_rise
    none_left = UNIFORM if found.hard is None else 0.999  # a printed share may be the mean of several steps
    many = t.many_share if found.hard is not None else t.many_printed  # solved prompts count as well: usual late in a run
    if not (many <= now < none_left and steady) or (found.hard is None and len(share) < t.many_steps):
        return None
    direction = {True: "too_hard", False: "too_easy", None: "default"}[found.hard]
    return Finding(
        "many-uniform-groups",
        confidence=0.85,
        first_step=step_of(series, 0),
        last_step=step_of(series, -1),
        evidence=[series.point(-1)],
        facts={
            "share": percent(now, f"{found.formula}, median of the last 10 steps", metric=series.name),
            "step": step_fact(series, -1),
        },
        variant=direction,
        causes={True: ["too-hard"], False: ["too-easy"], None: None}[found.hard],
    )


@dataclass(frozen=True, slots=True)
class _Uniform:
    """Share of groups with one reward, shape (n,) as ``series``; whether most of them are all wrong (None: not known)."""

    share: FloatArray
    series: Series
    hard: bool | None
    formula: str


def _uniform_share(view: RunView) -> _Uniform | None:
    """From the counts of prompts that none or all of the answers solved (the larger one as evidence), or from the share itself."""
    printed_share = clean(view["uniform_group_share"])
    if printed_share is not None:
        return _Uniform(printed_share.scaled, printed_share, None, printed_share.name)
    counted = view.together("zero_advantage_count", "rollout_count")
    if counted is not None and (counted[1].values > 0).all():
        return _Uniform(counted[0].values / counted[1].values, counted[0], None, f"{counted[0].name} / {counted[1].name}")
    pair = view.together("groups_solved_none", "groups_solved_all")
    if pair is None:
        return None
    none, everything = pair
    partial = view.together("groups_solved_none", "groups_solved_partial")
    if partial is not None and len(partial[1]) == len(none):
        total = none.values + everything.values + partial[1].values
    else:
        prompts = view.number("data.train_batch_size")
        if not prompts:
            return None
        total = np.full(len(none), prompts)
    uniform = none.values + everything.values
    if not len(uniform) or (total <= 0).any() or not np.isfinite(uniform).all():
        return None
    hard = bool(median(none.values) >= median(everything.values))
    return _Uniform(uniform / total, none if hard else everything, hard, "(solve_none + solve_all) / all groups")
