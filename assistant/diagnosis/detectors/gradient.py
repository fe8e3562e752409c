"""The gradient: exploding, spiking, or missing."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis.batch import Mask, clean, filled, last_stretch, lower_rate, spread_at, step_fact, step_of
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import count, derived, printed
from assistant.diagnosis.finding import Finding, NotChecked
from assistant.diagnosis.stats import median, rolling_median, sustained
from assistant.diagnosis.view import RunView
from assistant.run import FloatArray, Series, Style


def _before(values: FloatArray, window: int) -> FloatArray:
    """Median of the ``window`` values before each value (of the first few, at the start). Shape (n,)."""
    medians = rolling_median(values, window)
    shifted = np.concatenate([medians[:1], medians[:-1]])
    shifted[: min(5, len(values))] = median(values[:5])
    return shifted


def _exploding(values: FloatArray, t: Thresholds) -> Mask:
    usual = np.minimum(_before(values, int(t.window)), np.maximum(median(values[: int(t.window)]), t.least / t.ratio))
    above: Mask = ((values > t.ratio * usual) & (values > t.least)) | (values > t.level)
    return above


@detector("gradient-explosion", needs=("policy_grad_norm",))
def gradient_explosion(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    series = clean(view["policy_grad_norm"])
    if series is None:
        return NotChecked("policy_grad_norm")
    values = series.values
    short = len(values) < 5
    mask = values > t.level if short else _exploding(values, t)
    held = last_stretch(mask, 3, 5) if short else next(iter(sustained(mask, 3, 5)[-1:]), None)
    if held is None:
        return None
    worst = held.start + int(np.argmax(values[held.start : held.end + 1]))
    usual = median(values[: held.start]) if held.start >= 3 else median(values)
    recovered = not held.open
    return Finding(
        "gradient-explosion",
        severity="medium" if recovered else None,
        confidence=0.6 if short or recovered else 0.85,
        first_step=step_of(series, held.start),
        last_step=step_of(series, held.end),
        evidence=[series.point(max(held.start - 1, 0)), series.point(worst), series.point(-1)],
        facts={
            "usual": derived(usual, f"median of {series.name} before", metric=series.name),
            "worst": printed(series.point(worst)),
            "worst_step": step_fact(series, worst),
            "since": step_fact(series, held.start),
            "until": step_fact(series, held.end),
            "now": printed(series.point(-1)),
        },
        variant="short" if short else "recovered" if recovered else "default",
        fixes=filled("gradient-explosion", learning_rate=lower_rate(view)),
    )


@detector("gradient-spike", needs=("policy_grad_norm",), min_points=10)
def gradient_spike(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Single steps far above their neighbours, back at once."""
    series = clean(view["policy_grad_norm"])
    if series is None:
        return NotChecked("policy_grad_norm")
    values = series.values
    usual = _before(values, 20)
    spike = (values > t.ratio * usual) & (values > t.least)
    spike[0] = False  # nothing before it to compare with
    for held in sustained(spike, 3, 5):
        spike[held.start : held.end + 1] = False
    after = np.array([median(values[i + 1 : i + 4]) for i in np.flatnonzero(spike)])
    where = np.flatnonzero(spike)
    calm = np.isnan(after) | (after < t.ratio / 2 * usual[where]) if len(where) else np.zeros(0, bool)
    where = where[calm]
    if not len(where):
        return None
    worst = int(where[np.argmax(values[where])])
    return Finding(
        "gradient-spike",
        confidence=0.9,
        first_step=step_of(series, where[0]),
        last_step=step_of(series, where[-1]),
        evidence=[series.point(int(i)) for i in where[np.argsort(values[where])[::-1][:3]]],
        facts={
            "n": count(len(where), "isolated steps"),
            "worst": printed(series.point(worst)),
            "worst_step": step_fact(series, worst),
            "usual": derived(median(values), f"median of {series.name}", metric=series.name),
        },
        variant="default" if len(where) == 1 else "several",
    )


@detector("no-gradient", needs=("policy_grad_norm",))
def no_gradient(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Norm zero at steps that have a signal. A norm that only *prints* as 0.000 may be small and healthy."""
    series: Series | None = clean(view["policy_grad_norm"])
    if series is None:
        return NotChecked("policy_grad_norm")
    spread = spread_at(view, series)
    if spread is None:
        return NotChecked("advantage_max")
    if (series.styles == Style.FIXED3).all():
        return None if bool((series.values > 0).any()) else NotChecked("policy_grad_norm")
    zero = (series.values == 0.0) & (series.styles != Style.FIXED3)
    signal = np.flatnonzero(spread)
    if not len(signal):
        return None
    held = last_stretch(zero[signal], int(t.steps), 5)
    if held is None:
        return None
    first, last = int(signal[held.start]), int(signal[held.end])
    high = view["advantage_max"]
    advantage = high.at(int(series.steps[last])) if high is not None else None
    if advantage is None:
        return None
    return Finding(
        "no-gradient",
        confidence=0.85 if held.end > held.start else 0.65,
        first_step=step_of(series, first),
        last_step=step_of(series, last),
        evidence=[series.point(last), advantage],
        facts={
            "norm": printed(series.point(last)),
            "advantage": printed(advantage),
            "since": step_fact(series, first),
            "n": count(int(zero[signal].sum()), "steps with a signal and no gradient"),
        },
    )
