"""Supervised training: loss spikes, loss that rises for good, and fp16 loss scales."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis import stats
from assistant.diagnosis.batch import step_fact, step_of
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.detectors.crash import stopped_by
from assistant.diagnosis.facts import count, derived, number, printed, quoted
from assistant.diagnosis.failure import records_after
from assistant.diagnosis.finding import Finding, NotChecked, Quantity, Severity
from assistant.diagnosis.view import RunView
from assistant.run import Event, Series, SourceLine


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


@detector("loss-divergence", needs=("train_loss",))
def loss_divergence(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Loss that has risen well above its best and stays there."""
    series = _likelihood_loss(view)
    if series is None:
        return None
    values = series.values
    n = len(values)
    if n < 5:
        return _jump(view, series, t) or NotChecked("steps>=5")
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


def _jump(view: RunView, series: Series, t: Thresholds) -> Finding | None:
    """A few lines that end several nats per token above their start: no batch is that much harder."""
    first, last = series.point(0), series.point(-1)
    if len(series) < 2 or not (last.value > t.jump_ratio * first.value and last.value > first.value + t.jump):
        return None
    norm = view["train_grad_norm"]
    if norm is not None and not norm.finite.all():
        return None  # non-finite gradients explain it
    guess = float(np.exp(min(last.value, 30.0)))
    facts = {
        "metric": quoted(series.name, last.line),
        "first": printed(first),
        "first_step": step_fact(series, 0),
        "now": printed(last),
        "step": step_fact(series, -1),
        "tokens": derived(guess, f"exp({series.name})", text=number(float(f"{guess:.2g}"))),
    }
    return Finding(
        "loss-divergence",
        "high",
        0.65,
        step_of(series, -1),
        step_of(series, -1),
        [first, last],
        facts,
        "jump",
        ["other-weights", "lr", "data"],
        {"compare-weights": None, "rewind": None},
    )


@detector("loss-scale-collapse", also=("loss-scale-warmup",))
def loss_scale_collapse(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """The fp16 loss scale: found in the first steps (normal), or halved until nothing is left (dead)."""
    series = view["loss_scale"]
    if series is None or not series.finite.any():
        return _told_scale(view, t)
    series = series.take(series.finite)
    values = series.values
    halved = np.flatnonzero(np.diff(values) < 0) + 1
    facts = {"start": printed(series.point(0)), "now": printed(series.point(-1)), "n": count(len(halved))}
    points = list(dict.fromkeys([series.point(0), series.point(int(np.argmin(values))), series.point(-1)]))
    skipped = view["skipped_iterations"]
    if values[-1] <= t.floor and (values.max() > t.floor or (len(values) == 1 and skipped is not None and skipped.values[-1] > 0)):
        low = int(np.flatnonzero(values > t.floor)[-1]) + 1 if (values > t.floor).any() else 0
        return Finding("loss-scale-collapse", None, 0.9, int(series.steps[low]), int(series.steps[-1]), points, facts)
    if len(values) < t.few and skipped is not None and (skipped.values > 0).any() and values[-1] >= t.high and _early(view, t):
        facts["skipped"] = printed(skipped.point(int(np.argmax(skipped.values > 0))))
        first, last = int(series.steps[0]), int(series.steps[-1])
        return Finding("loss-scale-warmup", None, 0.8, first, last, [*points, skipped.point(0)], facts, "skipped")
    early = max(t.early, 0.1 * len(values))
    if len(halved) and (halved < early).all():
        first, last = int(series.steps[halved[0]]), int(series.steps[halved[-1]])
        return Finding("loss-scale-warmup", None, 0.85, first, last, points, facts)
    return None


def _told_scale(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """From the engine's messages ("OVERFLOW! … Attempted loss scale: 64, reducing to 32"), which are all that DeepSpeed prints."""
    told = [event for event in view.events("loss-scale-skip") if _number(event, "scale") is not None]
    if not told:
        return stopped_by("loss-scale-collapse", view) or _counted_skips(view, t)
    first, last = told[0], max(told, key=lambda event: int(event.data.get("last_line", event.line)))
    start = _number(first, "scale")
    now = _number(last, "last_reduced") or _number(last, "reduced") or _number(last, "last_scale") or _number(last, "scale")
    assert start is not None
    assert now is not None
    times = sum(int(event.data.get("repeats", 1)) for event in told)
    line = int(last.data.get("last_line", last.line))
    facts = {
        "start": Quantity(start, number(start), "run", line=first.line),
        "now": Quantity(now, number(now), "run", line=line),
        "n": count(times, "messages of a skipped step"),
        "line": count(line),
    }
    excerpt = [SourceLine(first.line, first.text)] + ([SourceLine(last.line, last.text)] if last is not first else [])
    since = next((event.step for event in told if event.step is not None), None)
    settled = records_after(view, line) >= t.after
    if now <= t.low and not settled:
        severity: Severity = "critical" if now <= t.floor or times >= t.often else "high"
        return Finding("loss-scale-collapse", severity, 0.85, since, since, (), facts, "told", excerpt=excerpt)
    searching = start >= t.high and (now >= t.settled or settled)
    late = since is not None and since > max(t.early, 0.1 * (view.run.total_steps or 0))
    if searching and not late:
        return Finding("loss-scale-warmup", None, 0.8, since, since, (), facts, "told", excerpt=excerpt)
    return None


def _counted_skips(view: RunView, t: Thresholds) -> Finding | NotChecked:
    """From DeepSpeed's running count of skipped steps: a few at the start, and none since."""
    skipped = view["skipped_steps_total"]
    if skipped is None or not skipped.finite.any():
        return NotChecked("loss_scale")
    few = 0 < skipped.values[-1] <= t.early and skipped.values[0] >= 0.5 * skipped.values[-1] and skipped.values[-1] < skipped.steps[-1]
    if not few or int(skipped.steps[0]) > 5 * t.early:
        return NotChecked("loss_scale")
    facts = {"skipped": printed(skipped.point(-1)), "metric": quoted(skipped.name, skipped.point(-1).line), "step": step_fact(skipped, -1)}
    first, last = step_of(skipped, 0), step_of(skipped, -1)
    return Finding("loss-scale-warmup", None, 0.75, first, last, [skipped.point(0), skipped.point(-1)], facts, "counted")


def _early(view: RunView, t: Thresholds) -> bool:
    return len(view.steps) > 0 and int(view.steps[-1]) <= max(t.early, 0.1 * (view.run.total_steps or 0))


def _number(event: Event, name: str) -> float | None:
    try:
        return float(event.data[name])
    except (KeyError, ValueError):
        return None
