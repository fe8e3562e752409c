"""The training reward: solved, lost, flat, noisy, with outliers, or eaten by the KL penalty."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis.detector import Thresholds, detector, reports, thresholds
from assistant.diagnosis.ends import stretches
from assistant.diagnosis.facts import count, derived, percent, printed
from assistant.diagnosis.finding import Finding, NotChecked
from assistant.diagnosis.naming import family
from assistant.diagnosis.score import (
    Scale,
    known,
    known_together,
    main_validations,
    score_scale,
    smoothed,
    step_at,
    step_noise,
    window_of,
)
from assistant.diagnosis.stats import (
    Trend,
    baseline,
    last_record,
    latched,
    mad,
    median,
    rolling_max,
    rolling_median,
    sustained,
    tail,
    trend,
)
from assistant.diagnosis.view import RunView
from assistant.run import FloatArray, Series

AVERAGED = frozenset({"sb3", "rllib"})
"""Frameworks whose reward is a mean over past episodes."""
INDEPENDENT = 30
"""Stretches of such a curve whose means hardly depend on one another."""


@detector("reward-saturated", needs=("score_mean", "score_max", "score_min"), min_points=5)
def reward_saturated(view: RunView, t: Thresholds) -> Finding | None:
    parts = known_together(view, "score_mean", "score_max", "score_min")
    scale = score_scale(view)
    if parts is None or scale is None or scale.span <= 0:
        return None
    score, top, _ = parts
    n = int(t.window)
    capped = np.mean(np.abs(top.scaled[-n:] - scale.high) < 1e-6)  # a score with a best value, not an open reward
    reached = (score.scaled - scale.low) / scale.span
    if capped < t.capped_share or 0 <= scale.low < scale.high < t.consolation:
        return None  # an open reward; or so low a best score that it may be a part of the reward (the format), not the task
    steady = -rolling_max(-reached, n) >= t.lowest
    spell = latched((reached >= t.level) & steady, rolling_median(reached, n) < t.clear, int(t.k), int(t.of))
    if spell is None:
        return None
    start = spell.start
    middle = (int(score.steps[start]) + int(score.steps[-1])) // 2
    rise = _last_rise(view, t.validation_gain * scale.span)
    if rise is not None and rise > middle:
        return None  # what is left to learn shows in the validation only
    facts = {
        "now": derived(median(score.scaled[-n:]), f"median of the last {min(n, len(score))} values of {score.name}", metric=score.name),
        "top": printed(top.point(-1)),
        "since": count(int(score.steps[start])),
        "step": count(int(score.steps[-1])),
    }
    evidence = [score.point(start), score.point(-1), top.point(-1)]
    return Finding(
        "reward-saturated",
        confidence=0.8,
        first_step=step_at(score, start),
        last_step=step_at(score, -1),
        evidence=evidence,
        facts=facts,
    )


@detector("reward-collapse", needs=("score_mean",), min_points=10)
def reward_collapse(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """The score lost a good part of what it had gained over the floor, beyond its noise, and has not come back."""
    score = known(view, "score_mean")
    assert score is not None
    if len(score) < t.without_range and known(view, "score_min") is None:
        return NotChecked(f"steps>={int(t.without_range)}")  # a few noisy means of a score whose range is not known
    values, level = score.scaled, smoothed(score)
    width = window_of(len(score))
    first = min(width, 3) - 1
    peak = int(np.argmax(level[first:])) + first
    best, now = float(level[peak]), tail(values, width)
    floor = _floor(view, values)
    noise = step_noise(values) * 1.25 / np.sqrt(width)
    fall = best - now
    if family(view.run.framework) in AVERAGED:
        wander = _wander(level)
        if fall > t.grave_share * (best - floor) and peak > 20:  # the fall itself is no drift
            wander = min(wander, _wander(level[: peak + 1]))
        noise = max(noise, wander)
    luck = np.sqrt(2 * np.log(max(len(values) / width, 1.0)))  # the best of many windows is high by chance
    if best <= floor or fall < t.lost_share * (best - floor) or fall < (t.noise + luck) * noise:
        return None
    reached = int(np.flatnonzero(level >= best - t.lost_share / 2 * (best - floor))[0])
    if peak - reached >= width and now > float(level[reached:peak].min()) - noise:
        return None  # it has been as low before, on its way to the best: swings, not a fall
    below = values < best - t.lost_share * (best - floor)
    below[: max(peak - width + 1, 0)] = False
    spells = [s for s in sustained(below, int(t.k), int(t.of), clear=int(t.clear)) if s.open]
    if not spells:
        return None
    start = spells[-1].start
    usual = median(values[reached : max(start, reached + 1)])  # the best may be luck: the usual level before must be lost too
    if usual - now < t.usual_share * (usual - floor):
        return None
    facts = {
        "best": derived(best, f"best median of {width} values of {score.name}", metric=score.name),
        "best_step": count(int(score.steps[peak])),
        "now": derived(now, f"median of the last {width} values of {score.name}", metric=score.name),
        "step": count(int(score.steps[-1])),
        "since": count(int(score.steps[start])),
        "lost": percent(fall / (best - floor), f"(best − now) / (best − lowest score {floor:.3g})", metric=score.name),
    }
    return Finding(
        "reward-collapse",
        severity="critical" if fall > t.grave_share * (best - floor) else "high",
        confidence=0.9 if fall > t.grave_share * (best - floor) else 0.75,
        first_step=step_at(score, start),
        last_step=step_at(score, -1),
        evidence=[score.point(peak), score.point(start), score.point(-1)],
        facts=facts,
    )


def _floor(view: RunView, means: FloatArray) -> float:
    """The lowest score that samples usually get: of the batch minima if logged, else 0 or the lowest mean."""
    low = known(view, "score_min")
    if low is not None and low.finite.any():
        return float(np.percentile(low.scaled[low.finite], 10))
    return min(0.0, float(means.min()))


@detector("reward-plateau", needs=("score_mean",), min_points=50)
def reward_plateau(view: RunView, t: Thresholds) -> Finding | None:
    score = known(view, "score_mean")
    assert score is not None
    scale = score_scale(view)
    level = smoothed(score)
    span = _usual_span(view) or (scale.span if scale and scale.span > 0 else float(np.ptp(level)))
    width = window_of(len(score))
    now = tail(score.scaled, 2 * width)
    if reports(view, "reward-collapse"):
        return None  # that it does not rise any more is the least of it
    band = max(t.band * span, t.noise * _scatter(score.scaled[: int(t.least_steps)]) / np.sqrt(width))
    averaged = family(view.run.framework) in AVERAGED
    if averaged:
        band = max(band, t.wander * _wander(level))
    start = last_record(level[width - 1 :], band) + width - 1
    risen = _last_rise(view, t.band * span)
    if risen is not None:  # while validation rises there is progress
        start = max(start, min(int(np.searchsorted(score.steps, risen)), len(score) - 1))
    flat = score.take(np.arange(start, len(score)))
    if int(flat.steps[-1] - flat.steps[0]) < t.least_steps or len(flat) < t.least_points:
        return None
    if scale and scale.span > 0 and (median(flat.scaled) - scale.low) / scale.span > t.near_top:
        return None
    if len(flat) < t.least_share * len(score) and not _levelled_off(view, score, level, start, t):
        return None
    if _rise_of(flat.scaled, averaged).z > t.rising or now < level[start] - t.fallen * band:
        return None
    moves = [move.z if move.slope > 0 else 0.0 for move in map(trend, _since(view, int(flat.steps[0]))) if move.n >= 4]
    if moves and median(np.array(moves)) > t.rising:
        return None
    facts = {
        "level": derived(now, f"median of the last {2 * width} values of {score.name}", metric=score.name),
        "since": count(int(flat.steps[0])),
        "step": count(int(flat.steps[-1])),
        "n": count(int(flat.steps[-1] - flat.steps[0]), "last step − first step of the flat stretch"),
    }
    evidence = [score.point(start), score.point((start + len(score)) // 2), score.point(-1)]
    return Finding(
        "reward-plateau",
        confidence=0.6,
        first_step=step_at(score, start),
        last_step=step_at(score, -1),
        evidence=evidence,
        facts=facts,
        variant="default" if main_validations(view) else "unvalidated",
    )


def _wander(level: FloatArray) -> float:
    """How far a curve drifts about its own line in the second half: a mean over the last hundred episodes wanders slowly by chance."""
    late = level[len(level) // 2 :]
    at = np.arange(len(late), dtype=np.float64)
    return mad(late - np.polyval(np.polyfit(at, late, 1), at)) if len(late) > 10 else 0.0


def _rise_of(values: FloatArray, averaged: bool) -> Trend:
    """Neighbours that share most of their episodes count as one: of so many alike, every drift would look certain."""
    if averaged and len(values) > 2 * INDEPENDENT:
        values = np.array([part.mean() for part in np.array_split(values, INDEPENDENT)])
    return trend(values)


def _levelled_off(view: RunView, score: Series, level: FloatArray, start: int, t: Thresholds) -> bool:
    """A shorter flat stretch counts when the run had risen before, and all that its noise can hide is little beside that rise.

    The rise over a stretch of n values is known to σ·√(12/n); validation has to be seen flat there too.
    """
    flat = score.scaled[start:]
    seen = any(len(curve) >= t.least_validations for curve in _since(view, int(score.steps[start])))
    if len(flat) < t.shorter_share * len(score) or not seen:
        return False
    scale = score_scale(view)
    if scale is None or not scale.span > 0 or (median(flat) - scale.low) / scale.span > t.room:
        return False
    before = float(level[start]) - baseline(score.scaled, window_of(len(score)))
    hidden = trend(flat).slope * len(flat) + 2 * _scatter(flat) * np.sqrt(12 / len(flat))
    return before > 0 and hidden < t.hidden * before


def _since(view: RunView, step: int) -> list[FloatArray]:
    """The validation curves from a step on; a few values of another measure than the reward show no trend."""
    curves = [one for one in main_validations(view) if one.key.source != one.key.key or len(one.series) >= 10]
    return [one.series.scaled[one.series.steps >= step] for one in curves]


def _usual_span(view: RunView) -> float:
    """Range of the score within a usual batch: outliers, of which a long run has more, leave it as it is. 0 when it is not logged."""
    top, bottom = known(view, "score_max"), known(view, "score_min")
    return median(top.scaled) - median(bottom.scaled) if top is not None and bottom is not None else 0.0


def _scatter(values: FloatArray) -> float:
    """σ of a value from the mean step-to-step difference, the largest ones cut: steadier than a median where scores are few and coarse."""
    differences = np.abs(np.diff(values))
    return float(np.minimum(differences, np.percentile(differences, 95)).mean() * np.sqrt(np.pi) / 2) if len(differences) else 0.0


def _last_rise(view: RunView, least: float) -> int | None:
    """The last step at which a validation curve set a new best by more than its noise; None when none ever has."""
    rises = []
    for one in main_validations(view):
        curve = one.series
        if len(curve) < 4:
            continue
        band = max(least, 2 * step_noise(curve.scaled))
        if one.key.source == one.key.key:  # another measure than the reward: its own size is the scale
            band = max(thresholds("reward-plateau").band * float(np.max(np.abs(curve.scaled))), 3 * step_noise(curve.scaled))
        record = last_record(rolling_median(curve.scaled, 3)[2:], band)
        if record:  # 0: it is no better than at its first validations
            rises.append(int(curve.steps[record + 2]))
    return max(rises, default=None)


@detector("reward-noisy", needs=("score_mean", "score_max", "score_min"), min_points=20)
def reward_noisy(view: RunView, t: Thresholds) -> Finding | None:
    """Scatter from step to step, as a share of the range: with N independent samples it is at most range / (2√N)."""
    score, scale = known(view, "score_mean"), score_scale(view)
    if score is None or scale is None or scale.span <= 0:
        return None
    noise = step_noise(score.scaled)
    if noise < t.share * scale.span:
        return None
    facts = {
        "noise": derived(noise, f"1.4826·MAD of step-to-step differences of {score.name} / √2", metric=score.name),
        "low": derived(scale.low, "lowest usual critic/score/min"),
        "high": derived(scale.high, "highest usual critic/score/max"),
        "samples": count(max(1, round((scale.span / 2 / noise) ** 2)), "(range / (2·noise))²"),
    }
    jump = int(np.argmax(np.abs(np.diff(score.scaled))))
    return Finding(
        "reward-noisy",
        confidence=0.6,
        first_step=step_at(score, 0),
        last_step=step_at(score, -1),
        evidence=[score.point(jump), score.point(jump + 1)],
        facts=facts,
    )


@detector("reward-outliers", needs=("score_max", "score_min"), min_points=10)
def reward_outliers(view: RunView, t: Thresholds) -> Finding | None:
    for low_name, high_name in (("score_min", "score_max"), ("reward_min", "reward_max")):
        pair = known_together(view, low_name, high_name)
        if pair is None:
            continue
        low, high = pair
        usual = Scale(median(low.scaled), median(high.scaled))
        spread = max(usual.span, float(np.median(np.abs(high.scaled - usual.high))), float(np.median(np.abs(low.scaled - usual.low))))
        if not spread > 0:
            continue
        far = np.fmax(high.scaled - usual.high, usual.low - low.scaled) / spread
        rows = np.flatnonzero(far > t.spans)
        if len(rows) < t.least:
            continue
        worst = int(rows[np.argmax(far[rows])])
        side = high if high.scaled[worst] - usual.high > usual.low - low.scaled[worst] else low
        facts = {
            "value": printed(side.point(worst)),
            "step": count(int(side.steps[worst])),
            "low": derived(usual.low, f"median of {low.name}", metric=low.name),
            "high": derived(usual.high, f"median of {high.name}", metric=high.name),
            "n": count(len(rows)),
        }
        other = int(rows[0]) if int(rows[0]) != worst else int(rows[-1])
        return Finding(
            "reward-outliers",
            confidence=0.75,
            first_step=step_at(side, int(rows[0])),
            last_step=step_at(side, int(rows[-1])),
            evidence=[side.point(worst)] + ([side.point(other)] if other != worst else []),
            facts=facts,
        )
    return None


@detector("reward-kl-gap", needs=("score_mean", "reward_mean"))
def reward_kl_gap(view: RunView, t: Thresholds) -> Finding | None:
    """With KL in the reward, rewards = score − β · (summed KL of the answer): the gap is what the penalty takes."""
    pair = known_together(view, "score_mean", "reward_mean")
    if pair is None:
        return None
    score, reward = pair
    gap = score.scaled - reward.scaled
    scale = score_scale(view)
    many = len(gap) >= t.of
    span = scale.span if scale else abs(median(score.scaled))
    if not many or span <= 0:  # a few batches need not show the range of the score
        span = max(span, t.least_span)
    over = gap > t.share * span
    if not over[:2].any() and reports(view, "kl-blowup"):
        return None  # the penalty is large because the policy has run away, not by its coefficient
    pieces = stretches(score.steps)
    spells = [s for s in sustained(over, int(t.k), int(t.of))[-1:] if many and (s.open or s.end - s.start >= t.of)]
    if not spells and (not many or len(pieces) > 1):
        spells = [s for s in pieces if over[s.start : s.end + 1].all()]
    if not spells:
        return None
    spell = spells[-1]
    worst = spell.start + int(np.nanargmax(gap[spell.start : spell.end + 1]))
    facts = {
        "score": printed(score.point(worst)),
        "reward": printed(reward.point(worst)),
        "gap": derived(float(gap[worst]), f"{score.name} − {reward.name}"),
        "span": derived(
            span, "usual critic/score/max − critic/score/min, at least the threshold of the card" if scale else f"size of {score.name}"
        ),
        "times": derived(float(gap[worst]) / span, "gap / range of the score"),
    }
    evidence = [score.point(worst), reward.point(worst)]
    variant = "default"
    coefficient = known(view, "reward_kl_coef")
    if coefficient is not None and (point := coefficient.at(int(score.steps[worst]))) is not None and point.value > 0:
        facts["coef"] = printed(point)
        facts["kl"] = derived(float(gap[worst]) / point.value, f"({score.name} − {reward.name}) / {coefficient.name}")
        evidence.append(point)
        variant = "with_kl"
    if (step := step_at(score, worst)) is None:
        variant = "summary"
    else:
        facts["step"] = count(step)
    dominates = float(gap[worst]) > t.dominates * span
    unsure = 0.2 if len(pieces) > 1 and spell.end < len(gap) - 1 else 0.0  # what came after it is not in the log
    return Finding(
        "reward-kl-gap",
        severity="high" if dominates else "medium",
        confidence=(0.85 if dominates else 0.7) - unsure,
        first_step=step_at(score, spell.start),
        last_step=step_at(score, spell.end),
        evidence=evidence,
        facts=facts,
        variant=variant,
    )
