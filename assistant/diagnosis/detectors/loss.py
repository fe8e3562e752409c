"""The policy loss: what its sign and size say, and what they do not."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis.batch import (
    UNNORMALISED,
    clean,
    fell_from_best,
    group_size,
    grouped,
    prints_zero,
    responses_per_step,
    spread_at,
    spread_of,
    step_fact,
    step_of,
    sums_tokens,
    whitened,
)
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import count, derived, percent, printed, quoted
from assistant.diagnosis.finding import Finding, NotChecked, Quantity
from assistant.diagnosis.stats import median, sustained
from assistant.diagnosis.view import RunView
from assistant.run import Series


@detector("positive-pg-loss", needs=("policy_loss",))
def positive_pg_loss(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    series = clean(view["policy_loss"])
    if series is None:
        return NotChecked("policy_loss")
    positive = series.values > t.zero
    short = len(series) < t.short
    if not (positive.mean() > 0.5 or (short and bool(positive[-1]))):
        return None
    causes, facts = _positive_causes(view, series, t)
    last = int(np.flatnonzero(positive)[-1])
    facts |= {
        "share": percent(float(positive.mean()), f"share of steps with {series.name} > 0", metric=series.name),
        "last": printed(series.point(last)),
        "step": step_fact(series, last),
        "median": derived(median(series.values), f"median of {series.name}", metric=series.name),
        "n": count(len(series), "steps"),
    }
    evidence = [series.point(last)]
    mean = clean(view["advantage_mean"])
    if mean is not None and causes[0] == "length-correlation":
        evidence.append(mean.point(-1))
    variant = {"length-correlation": "length", "clip-pessimism": "clip", "broken": "harm"}.get(causes[0], "default")
    if causes[0] == "noise" and "noise" in facts:
        variant = "noise"
    if len(series) == 1:
        variant = "one_step_length" if variant == "length" else "one_step"
    return Finding(
        "positive-pg-loss",
        confidence=0.9,
        first_step=step_of(series, int(np.argmax(positive))),
        last_step=step_of(series, last),
        evidence=evidence,
        facts=facts,
        variant=variant,
        causes=causes,
    )


def _positive_causes(view: RunView, series: Series, t: Thresholds) -> tuple[list[str], dict[str, Quantity]]:
    """Causes that this run's values allow, most likely first; the first one names the variant."""
    causes: list[str] = []
    facts: dict[str, Quantity] = {}
    estimator = str(view.estimator or "").lower()
    updates = view.updates_per_step or 1.0
    level = median(series.values)
    mean = clean(view["advantage_mean"])
    advantage = median(mean.values) if mean is not None else float("nan")
    if _broken(view):
        causes.append("broken")
    if estimator not in UNNORMALISED and grouped(view) and not whitened(view) and advantage < -t.zero:
        causes.append("length-correlation")
        facts["advantage"] = derived(advantage, f"median of {mean.name}" if mean is not None else "", metric="critic/advantages/mean")
    responses = responses_per_step(view)
    bound = 2.0 / np.sqrt(responses / updates) if responses and responses >= updates else float("nan")
    if np.isfinite(bound) and not sums_tokens(view):
        facts["noise"] = derived(float(bound), "2 / √(responses per update)")
        if abs(level) < bound:
            causes.append("noise")
    clipped = clean(view["policy_clip_fraction"])
    if clipped is not None and median(clipped.values) > t.clipped and view.updates_per_step != 1.0:
        causes.append("clip-pessimism")
    masked, weights = clean(view["rejection_masked_fraction"]), clean(view["importance_weight_mean"])
    if (masked is not None and median(masked.values) > 0) or (weights is not None and abs(median(weights.values) - 1) > 0.05):
        causes.append("reweighting")
    if estimator in UNNORMALISED and not advantage >= 0:
        causes.append("unnormalised")
    if view.era_is(">=0.7,<0.8") and updates > 1:
        causes.append("inflated")
    return causes or ["noise"], facts


def _broken(view: RunView) -> bool:
    """Signs that the run itself goes wrong: the score falls while clipping or the KL to the reference has grown large."""
    score = clean(view["score_mean"])
    if score is None or fell_from_best(score.values, 0.5) is None:
        return False
    return any(
        (s := clean(view[name])) is not None and median(s.values[-10:]) > limit
        for name, limit in (("policy_clip_fraction", 0.15), ("reference_kl", 1.0), ("policy_step_kl", 0.05))
    )


@detector("pg-loss-outlier", needs=("policy_loss",))
def pg_loss_outlier(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Unusual size after taking out what explains it: summing modes, the sum over updates of 0.7, the advantages' own mean and scale."""
    if sums_tokens(view):
        return NotChecked("actor_rollout_ref.actor.loss_agg_mode=token-mean")
    series = clean(view["policy_loss"])
    if series is None:
        return NotChecked("policy_loss")
    values = series.values / ((view.updates_per_step or 1.0) if view.era_is(">=0.7,<0.8") else 1.0)
    trio = view.together("policy_loss", "advantage_mean", "advantage_max", "advantage_min")
    size = np.abs(values)
    scale = np.full(len(values), t.level)
    if trio is not None:
        _, mean, high, low = trio
        where = np.isin(series.steps, mean.steps)
        rows = np.searchsorted(mean.steps, series.steps[where])
        explained = np.abs(values[where] + np.nan_to_num(mean.values[rows]))
        size[where] = np.minimum(size[where], explained)
        largest = np.maximum(np.abs(high.values[rows]), np.abs(low.values[rows]))
        scale[where] = t.level * np.maximum(1.0, np.nan_to_num(largest) / t.usual_advantage)
    outlier = size > scale
    stretches = sustained(outlier, 3, 10)
    typical = median(np.abs(series.values))
    if len(series) < 10:
        if not (outlier[-1] and outlier.mean() > 0.5):
            return None
        start, end, variant = int(np.argmax(outlier)), int(np.flatnonzero(outlier)[-1]), "short"
    elif stretches:
        start, end, variant = stretches[-1].start, stretches[-1].end, "default"
    else:
        jump = outlier & (np.abs(series.values) > t.ratio * typical)
        if not jump.any():
            return None
        start, end = int(np.argmax(jump)), int(np.flatnonzero(jump)[-1])
        variant = "jump"
    worst = start + int(np.argmax(size[start : end + 1]))
    return Finding(
        "pg-loss-outlier",
        severity="info" if variant == "jump" else None,  # it came back: nothing to act on
        confidence=0.7 if variant == "default" else 0.55,
        first_step=step_of(series, start),
        last_step=step_of(series, end),
        evidence=[series.point(worst), series.point(-1)],
        facts={
            "worst": printed(series.point(worst)),
            "worst_step": step_fact(series, worst),
            "median": derived(typical, f"median of |{series.name}|", metric=series.name),
            "since": step_fact(series, start),
        },
        variant=variant,
    )


@detector("zero-loss-by-design")
def zero_loss_by_design(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """A loss of (almost) zero while the advantages differ and the gradient flows."""
    series, norm = clean(view["policy_loss"]), clean(view["policy_grad_norm"])
    if series is None:
        return _zero_total_loss(view, t)
    if norm is None or prints_zero(norm).all():
        return None
    spread = spread_at(view, series)
    if spread is None:
        return NotChecked("advantage_max")
    zero = prints_zero(series, t.tiny) & spread
    considered = int(spread.sum())
    if not considered or zero.sum() <= 0.5 * considered:
        return None
    last = int(np.flatnonzero(zero)[-1])
    step = int(series.steps[last])
    high, low = view["advantage_max"], view["advantage_min"]
    facts = {
        "loss": printed(series.point(last)),
        "step": step_fact(series, last),
        "share": percent(float(zero.sum()) / considered, f"share of steps with advantages ≠ 0 at which {series.name} is about 0"),
    }
    evidence = [series.point(last)]
    for name, one in (("high", high), ("low", low), ("norm", norm)):
        point = one.at(step) if one is not None else None
        if point is None:
            return None
        facts[name] = printed(point)
        evidence.append(point)
    n = group_size(view)
    return Finding(
        "zero-loss-by-design",
        confidence=0.9,
        first_step=step_of(series, int(np.argmax(zero))),
        last_step=step_of(series, last),
        evidence=evidence,
        facts=facts,
        variant="whitened" if whitened(view) else "default",
        causes=["whitening", "small-micro-batch"] if whitened(view) else ["small-micro-batch", "equal-lengths"] if n else None,
    )


def _zero_total_loss(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """The loss that trainers with group advantages print (TRL and its relatives): about 0, or about beta times the KL.

    That the weights move shows in the gradient norm, else in a KL to the reference that grows.
    """
    series, norm, kl = clean(view["policy_total_loss"]), clean(view["policy_grad_norm"]), clean(view["reference_kl"])
    if series is None:
        return NotChecked("policy_loss")
    if view.has("value_loss") or (norm is not None and prints_zero(norm).all()):
        return None
    moves = norm if norm is not None else kl if kl is not None and kl.values[-1] > kl.values[0] else None
    spread = spread_at(view, series)
    if spread is None or moves is None:
        return NotChecked("advantage_max" if spread is None else "policy_grad_norm")
    zero = (np.abs(series.values) <= t.small) & spread
    considered = int(spread.sum())
    if not considered or zero.sum() <= 0.5 * considered:
        return None
    last = int(np.flatnonzero(zero)[-1])
    step = int(series.steps[last])
    found = spread_of(view)
    shown = view["score_std"] or (found.series if found is not None else None)
    points = {"loss": series.point(last), "moved": moves.at(step), "signal": shown.at(step) if shown is not None else None}
    if any(point is None for point in points.values()):
        return None
    facts: dict[str, Quantity] = {"step": step_fact(series, last)}
    for name, point in points.items():
        assert point is not None
        facts[name], facts[f"{name}_metric"] = printed(point), quoted(point.metric, point.line)
    return Finding(
        "zero-loss-by-design",
        confidence=0.85,
        first_step=step_of(series, int(np.argmax(zero))),
        last_step=step_of(series, last),
        evidence=[point for point in points.values() if point is not None],
        facts=facts,
        variant="total" if moves is norm else "total_kl",
        causes=["centred", "beta-kl"],
    )
