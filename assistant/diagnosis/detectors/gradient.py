"""The gradient: exploding, spiking, or missing."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis.batch import Mask, clean, filled, last_stretch, lower_rate, spread_of, step_fact, step_of, sums_tokens
from assistant.diagnosis.detector import Thresholds, detector, look, registered, thresholds
from assistant.diagnosis.facts import count, derived, printed, quoted
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


def _exploding(values: FloatArray, t: Thresholds, *, summed: bool) -> Mask:
    """Far above the norm's own past, or large for any policy; a loss summed over tokens has norms of any size."""
    start = median(values[: int(t.window)])
    usual = np.minimum(_before(values, int(t.window)), np.maximum(median(values[: int(t.window)]), t.least / t.ratio))
    level = np.inf if summed else t.level if start > t.level else max(t.level, t.apart * start)
    above: Mask = ((values > t.ratio * usual) & (values > t.least)) | (values > level)
    return above


def _calmer(view: RunView, series: Series, start: int, t: Thresholds) -> dict[str, object]:
    """The card's fixes; a warm-up only helps against what happens in the first steps of a run."""
    fixes = filled("gradient-explosion", learning_rate=lower_rate(view))
    if int(series.steps[start]) > t.early:
        fixes.pop("warmup", None)
    return fixes


def _summed(view: RunView) -> bool:
    """The loss adds up tokens: by the settings, or by losses no mean of advantages reaches."""
    if sums_tokens(view):
        return True
    losses = clean(view["policy_loss"])
    return losses is not None and median(np.abs(losses.values)) > thresholds("gradient-explosion").summed_loss


@detector("gradient-explosion", needs=("policy_grad_norm",))
def gradient_explosion(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    series = clean(view["policy_grad_norm"])
    if series is None:
        return NotChecked("policy_grad_norm")
    values = series.values
    short = len(values) < 5
    summed = _summed(view)
    mask = (values > t.level) & (not summed) if short else _exploding(values, t, summed=summed)
    held = last_stretch(mask, 3, 5) if short else next(iter(sustained(mask, 3, 5)[-1:]), None)
    if held is None:
        return None
    worst = held.start + int(np.argmax(values[held.start : held.end + 1]))
    usual = median(values[: held.start]) if held.start >= 3 else median(values)
    recovered = not held.open
    always = not short and not recovered and held.start < 3 and median(values[: int(t.window)]) > t.level
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
        variant="short" if short else "recovered" if recovered else "always" if always else "default",
        fixes=_calmer(view, series, held.start, t),
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
    explosion = look(registered()["gradient-explosion"], view)
    if isinstance(explosion, Finding) and explosion.first_step is not None and explosion.last_step is not None:
        spike &= (series.steps < explosion.first_step) | (series.steps > explosion.last_step)  # no step of it is an isolated one
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


@detector("no-gradient")
def no_gradient(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Norm zero at steps that have a signal. A norm that only *prints* as 0.000 may be small and healthy."""
    series: Series | None = clean(view["policy_grad_norm"])
    if series is None:
        return _no_supervised_gradient(view, t)
    found = spread_of(view)
    if found is None:
        return NotChecked("advantage_max")
    spread = np.isin(series.steps, found.series.steps[~found.none])
    if (series.styles == Style.FIXED3).all():
        return None if bool((series.values > 0).any()) else NotChecked("policy_grad_norm")
    zero = (series.values == 0.0) & (series.styles != Style.FIXED3)
    signal = np.flatnonzero(spread)
    if not len(signal):
        return None
    held = last_stretch(zero[signal], int(t.steps), 5)
    if held is None or (found.kind != "advantages" and not _really(view, series, zero, t)):
        return None
    first, last = int(signal[held.start]), int(signal[held.end])
    shown = view["score_std"] or found.series if found.kind == "groups" else found.series
    there = shown.at(int(series.steps[last]))
    if there is None:
        return None
    return Finding(
        "no-gradient",
        severity="critical" if found.kind != "advantages" and bool(zero.all()) else None,
        confidence=0.85 if held.end > held.start else 0.65,
        first_step=step_of(series, first),
        last_step=step_of(series, last),
        evidence=[series.point(last), there, *([p] if (p := found.series.at(int(series.steps[last]))) not in (None, there) else [])],
        facts={
            "metric": quoted(series.name, series.point(last).line),
            "norm": printed(series.point(last)),
            "advantage": printed(there),
            "signal": quoted(there.metric, there.line),
            "since": step_fact(series, first),
            "n": count(int(zero[signal].sum()), "steps with a signal and no gradient"),
        },
        variant="default" if found.kind == "advantages" else "rewards",
    )


def _really(view: RunView, norm: Series, zero: Mask, t: Thresholds) -> bool:
    """A line may cover several steps and print the norm of the last one only: that one step may have had nothing to learn from.

    So the norm must be 0 in the whole log, or in many lines in a row, and a good share of the groups must differ there.
    """
    n = len(zero) if bool(zero.all()) else int(t.lines) if bool(zero[-int(t.lines) :].all()) and len(zero) >= t.lines else 0
    share = clean(view["uniform_group_share"])
    if not n or share is None:
        return n > 0
    there = share.values[np.isin(share.steps, norm.steps[-n:])]
    return len(there) > 0 and float(there.mean()) < t.uniform


def _no_supervised_gradient(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """A likelihood or preference loss that is not zero always has a gradient."""
    for name in ("train_loss", "preference_loss"):
        pair = view.together("train_grad_norm", name)
        if pair is None:
            continue
        norm, loss = pair
        zero = (norm.values == 0.0) & (norm.styles != Style.FIXED3) & (np.abs(loss.values) > t.loss)
        held = last_stretch(zero, int(t.steps), 5)
        if held is None or not held.open or held.end == held.start:
            return None
        return Finding(
            "no-gradient",
            severity="critical",
            confidence=0.85,
            first_step=step_of(norm, held.start),
            last_step=step_of(norm, held.end),
            evidence=[norm.point(held.end), loss.point(held.end)],
            facts={
                "metric": quoted(norm.name, norm.point(held.end).line),
                "norm": printed(norm.point(held.end)),
                "loss_metric": quoted(loss.name, loss.point(held.end).line),
                "loss": printed(loss.point(held.end)),
                "since": step_fact(norm, held.start),
                "n": count(int(zero.sum()), "steps with a loss and no gradient"),
            },
            variant="supervised",
        )
    return NotChecked("policy_grad_norm")
