"""Asynchronous training: old samples, one side waiting for the other, rollouts that fail; and MoE routing."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis import stats
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import count, derived, percent, printed
from assistant.diagnosis.finding import Finding
from assistant.diagnosis.lasting import certainty, evidence, holds
from assistant.diagnosis.view import RunView


@detector("stale-samples", needs=("staleness_mean",))
def stale_samples(view: RunView, t: Thresholds) -> Finding | None:
    """The batch was written by a policy several versions old."""
    series = view["staleness_mean"]
    assert series is not None
    series = series.take(series.finite)
    at = holds(series.values > t.versions)
    if at is None:
        return None
    last = series.point(at.end)
    facts = {"now": printed(last), "step": count(int(series.steps[at.end])), "since": count(int(series.steps[at.start]))}
    points = [series.point(at.start), last, *evidence(view, [last.step], "staleness_max")]
    return Finding(
        "stale-samples", None, certainty(at.end - at.start + 1), points[0].step, last.step, list(dict.fromkeys(points))[:4], facts
    )


@detector("trainer-idle", needs=("async_trainer_idle",))
def trainer_idle(view: RunView, t: Thresholds) -> Finding | None:
    return _idle(view, t, "trainer-idle", "async_trainer_idle", "async_rollouter_idle")


@detector("rollouter-idle", needs=("async_rollouter_idle",))
def rollouter_idle(view: RunView, t: Thresholds) -> Finding | None:
    return _idle(view, t, "rollouter-idle", "async_rollouter_idle", "async_trainer_idle")


def _idle(view: RunView, t: Thresholds, finding: str, name: str, other: str) -> Finding | None:
    """One side waits for the other; when both wait about as much, something else holds them up."""
    series = view[name]
    assert series is not None
    series = series.take(series.finite)
    at = holds(series.values > t.share, 7, 10)
    if at is None:
        return None
    level = stats.median(series.values[at.start : at.end + 1])
    opposite = view[other]
    if opposite is not None and stats.median(opposite.values) >= level:
        return None
    facts = {
        "share": percent(level, f"median of {series.name}", metric=series.name),
        "since": count(int(series.steps[at.start])),
    }
    points = [series.point(at.end), *evidence(view, [series.point(at.end).step], other)]
    return Finding(
        finding, None, certainty(at.end - at.start + 1, 0.8), int(series.steps[at.start]), int(series.steps[at.end]), points, facts
    )


@detector("rollout-failures", needs=("rollout_failures",))
def rollout_failures(view: RunView, t: Thresholds) -> Finding | None:
    """Prompt groups without one usable trajectory."""
    series = view["rollout_failures"]
    assert series is not None
    series = series.take(series.finite)
    failed = np.flatnonzero(series.values > 0)
    share = len(failed) / len(series)
    if not len(failed) or (share < t.share and len(series) >= 10):
        return None
    total = float(series.values[failed].sum())
    facts = {
        "total": derived(total, f"sum of {series.name}", metric=series.name),
        "share": percent(share, f"steps with {series.name} > 0"),
        "since": count(int(series.steps[failed[0]])),
    }
    growing = stats.trend(series.values).rising
    points = list(dict.fromkeys([series.point(int(failed[0])), series.point(int(failed[-1]))]))
    return Finding("rollout-failures", "high" if growing else None, 0.85, points[0].step, points[-1].step, points, facts)


@detector("moe-imbalance", needs=("moe_max_violation",), min_points=10)
def moe_imbalance(view: RunView, t: Thresholds) -> Finding | None:
    """One expert gets ever more of the tokens."""
    series = view["moe_max_violation"]
    assert series is not None
    series = series.take(series.finite)
    start = stats.baseline(series.values, 5)
    at = holds(series.values > max(t.times * start, t.floor), 3, 5)
    if at is None or not at.open or not stats.trend(series.values).rising:
        return None
    facts = {
        "start": derived(start, f"median of the first 5 values of {series.name}", metric=series.name),
        "now": printed(series.point(-1)),
        "since": count(int(series.steps[at.start])),
    }
    points = [series.point(0), series.point(at.start), series.point(-1)]
    return Finding("moe-imbalance", None, 0.75, int(series.steps[at.start]), int(series.steps[-1]), points, facts)
