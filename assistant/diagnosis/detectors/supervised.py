"""Supervised training: loss spikes, loss that rises for good, and fp16 loss scales."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis import stats
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import count, derived, printed
from assistant.diagnosis.finding import Finding, NotChecked, Severity
from assistant.diagnosis.view import RunView
from assistant.run import Series


def _likelihood_loss(view: RunView) -> Series | None:
    """The training loss, where it is one whose size means something: positive, not near zero from the start.

    Policy-gradient losses hover around zero; their size and sign say nothing.
    """
    series = view["train_loss"]
    assert series is not None
    series = series.take(series.finite)
    if not len(series) or (series.values < 0).any() or stats.baseline(series.values, 5) < 0.05:
        return None
    return series


@detector("loss-spike", needs=("train_loss",), min_points=20)
def loss_spike(view: RunView, t: Thresholds) -> Finding | None:
    """Loss far above its own level for a few steps."""
    series = _likelihood_loss(view)
    if series is None or len(series) < 20:
        return None
    values = series.values
    level = np.concatenate([[values[0]], stats.rolling_median(values, 20)[:-1]])
    above = values - level
    scale = stats.mad(above)
    spiking = (values > t.times * level) & (above > t.deviations * scale) & (above > t.share * stats.baseline(values))
    spiking[: int(t.skip)] = False
    at = np.flatnonzero(spiking)
    if not len(at):
        return None
    top = int(at[np.argmax(above[at])])
    calm = np.flatnonzero(~spiking[top:])
    end = top + int(calm[0]) if len(calm) else len(values)
    after = stats.median(values[end : end + 10])
    if end - top > t.longest or not after < level[top] + above[top] / 2:
        return None  # not a spike but a new level, or not over yet: loss-divergence
    facts = {
        "peak": printed(series.point(top)),
        "usual": derived(float(level[top]), f"median of the 20 values of {series.name} before"),
        "step": count(int(series.steps[top])),
        "n": count(len(at)),
    }
    points = [series.point(top), series.point(min(end, len(values) - 1))]
    variant = "default" if len(at) == 1 else "several"
    severity: Severity = "medium" if len(at) >= t.many else "low"
    return Finding("loss-spike", severity, 0.85, int(series.steps[at[0]]), int(series.steps[at[-1]]), points, facts, variant)


@detector("loss-divergence", needs=("train_loss",), min_points=5)
def loss_divergence(view: RunView, t: Thresholds) -> Finding | None:
    """Loss that has risen well above its best and stays there."""
    series = _likelihood_loss(view)
    if series is None:
        return None
    values = series.values
    n = len(values)
    if n < 5:
        return None
    width = int(np.clip(n // 20, 3, 50))
    smooth = stats.rolling_median(values, width)
    best = int(np.argmin(smooth[width - 1 :])) + width - 1 if n > width else 0
    if n <= 20:
        best = int(np.argmin(values[: max(n // 2, 1)]))
        smooth = values
    start, low, now = stats.baseline(values, width), float(smooth[best]), stats.tail(values, width)
    rise = now - low
    later = values[best + 1 :]
    noise = stats.mad(np.diff(values)) if n > 5 else 0.0
    if not (
        rise > (t.rise if n > 20 else t.short_rise) * low and rise > t.regained * (start - low) and rise > 4 * noise and len(later) >= 3
    ):
        return None
    if np.mean(later[-max(len(later) // 3, 3) :] > low + rise / 2) < 0.8:
        return None
    above = np.flatnonzero(smooth < low + rise / 2)
    onset = min(int(above[-1]) + 1 if len(above) else 0, n - 1)
    facts = {
        "best": derived(low, f"lowest running median of {series.name}", metric=series.name),
        "best_step": count(int(series.steps[best])),
        "now": printed(series.point(-1)),
        "step": count(int(series.steps[-1])),
        "since": count(int(series.steps[onset])),
    }
    severity: Severity = "critical" if now > t.lost * start else "high"
    points = [series.point(best), series.point(onset), series.point(-1)]
    return Finding("loss-divergence", severity, 0.85, int(series.steps[onset]), int(series.steps[-1]), list(dict.fromkeys(points)), facts)


@detector("loss-scale-collapse", also=("loss-scale-warmup",))
def loss_scale_collapse(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """The fp16 loss scale: found in the first steps (normal), or halved until nothing is left (dead)."""
    series = view["loss_scale"]
    if series is None:
        return NotChecked("loss_scale")
    series = series.take(series.finite)
    if not len(series):
        return NotChecked("loss_scale")
    values = series.values
    halved = np.flatnonzero(np.diff(values) < 0) + 1
    facts = {"start": printed(series.point(0)), "now": printed(series.point(-1)), "n": count(len(halved))}
    points = list(dict.fromkeys([series.point(0), series.point(int(np.argmin(values))), series.point(-1)]))
    if values[-1] <= t.floor and (values.max() > t.floor or len(values) == 1):
        low = int(np.flatnonzero(values > t.floor)[-1]) + 1 if (values > t.floor).any() else 0
        return Finding("loss-scale-collapse", None, 0.9, int(series.steps[low]), int(series.steps[-1]), points, facts)
    early = max(t.early, 0.1 * len(values))
    if len(halved) and (halved < early).all():
        first, last = int(series.steps[halved[0]]), int(series.steps[halved[-1]])
        return Finding("loss-scale-warmup", None, 0.85, first, last, points, facts)
    return None
