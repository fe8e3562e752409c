"""Answer lengths: growing, shrinking, aborted, a long tail, agents out of turns."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.detectors.truncation import cut_share
from assistant.diagnosis.facts import count, derived, percent, printed
from assistant.diagnosis.finding import Finding, NotChecked
from assistant.diagnosis.score import (
    known,
    known_together,
    main_validations,
    score_scale,
    smoothed,
    step_at,
    step_noise,
    window_of,
)
from assistant.diagnosis.stats import baseline, latched, median, rolling_median, sustained, tail, trend
from assistant.diagnosis.view import RunView
from assistant.run import FloatArray, Series


def _gain(view: RunView, since: int) -> tuple[float, bool]:
    """Gain of the score since a step, in shares of its range, and whether the curve rises by more than its noise."""
    score = known(view, "score_mean")
    if score is None:
        return float("nan"), False
    part = score.scaled[score.steps >= since]
    if len(part) < 6:
        return float("nan"), False
    scale = score_scale(view)
    span = scale.span if scale and scale.span > 0 else max(float(np.ptp(smoothed(score))), 1e-9)
    width = window_of(len(part))
    gained = tail(part, width) - baseline(part, width)
    rising = trend(part).rising and gained > step_noise(part) / np.sqrt(width)
    return gained / span, bool(rising)


def _chance(view: RunView, since: int) -> float:
    """What the medians at the start and the end of the score may differ by chance (two σ), in shares of its range."""
    score, scale = known(view, "score_mean"), score_scale(view)
    if score is None or scale is None or scale.span <= 0:
        return 0.0
    part = score.scaled[score.steps >= since]
    return 2 * 1.25 * step_noise(part) * float(np.sqrt(2 / window_of(len(part)))) / scale.span


def _validation_move(view: RunView, since: int) -> int:
    """+1 when validation rises since a step, −1 when it falls, 0 when flat or too short to tell."""
    moves = [trend(part).z for one in main_validations(view) if len(part := one.series.scaled[one.series.steps >= since]) >= 4]
    if not moves:
        return 0
    z = median(np.array(moves))
    return 1 if z > 1.96 else -1 if z < -1.96 else 0


def _validation_lags(view: RunView, since: int, gain: float, t: Thresholds) -> Series | None:
    """A validation of the same reward that stays flat, beyond its scatter, while the training score gains much; None when there is none.

    A curve near its floor may only be too hard to move; with several curves most of them must be flat.
    """
    scale = score_scale(view)
    curves = [one.series for one in main_validations(view) if one.key.source != one.key.key and len(one.series) >= t.validations]
    if scale is None or scale.span <= 0 or not curves or not gain > t.lagging_gain:
        return None
    flat = []
    for curve in curves:
        values = curve.scaled[curve.steps >= since]
        moved = (tail(values, 3) - baseline(values, 3)) / scale.span if len(values) >= t.validations else np.inf
        room = (baseline(values, 3) - scale.low) / scale.span > t.room if len(values) else False
        if room and moved < t.lags * gain and step_noise(values) / scale.span < t.lags * gain:
            flat.append(curve)
    return flat[0] if len(flat) * 2 > len(curves) else None


def _level(series: Series) -> tuple[FloatArray, float, float]:
    """Smoothed lengths, the run's own start, and now (median of the last window)."""
    return smoothed(series), baseline(series.scaled), tail(series.scaled, window_of(len(series)))


def _since(level: FloatArray, limit: float) -> int:
    """Index from which the smoothed lengths stay above a limit (single dips aside)."""
    spells = sustained(level > limit, 5, 10, clear=10)
    return spells[-1].start if spells else len(level) - 1


@detector("length-explosion", needs=("response_length_mean",), min_points=20, also=("length-growth-healthy", "length-hacking"))
def length_growth(view: RunView, t: Thresholds) -> Finding | None:
    """Answers grew: with the score and validation (healthy), with the score only (bought), or with nothing."""
    lengths = known(view, "response_length_mean")
    assert lengths is not None
    level, start, now = _level(lengths)
    if not (start > 0 and now > t.noticeable * start and trend(lengths.scaled).rising):
        return None
    first = int(lengths.steps[0])
    since = _since(level, t.noticeable * start)
    gain, rising = _gain(view, first)
    moved = _validation_move(view, first)
    share = cut_share(view)
    cut = tail(share.scaled) if share is not None else 0.0
    grave = share is not None and _gravely_cut(share.scaled, t)
    facts = {
        "start": derived(start, f"median of the first 10 values of {lengths.name}", metric=lengths.name),
        "now": derived(now, f"median of the last values of {lengths.name}", metric=lengths.name),
        "times": derived(now / start, "ratio of the two medians"),
        "since": count(int(lengths.steps[since])),
        "step": count(int(lengths.steps[-1])),
    }
    evidence = [lengths.point(0), lengths.point(since), lengths.point(-1)]
    start_step, last_step = step_at(lengths, since), step_at(lengths, -1)
    unearned = _validation_lags(view, first, gain, t) if rising else None
    if rising and gain > t.gain and cut < t.cut and moved >= 0 and (unearned is None or now < t.factor * start):
        score = known(view, "score_mean")
        if score is not None:
            facts["score_start"] = derived(baseline(score.scaled), f"median of the first 10 values of {score.name}", metric=score.name)
            facts["score_now"] = derived(tail(score.scaled), f"median of the last 10 values of {score.name}", metric=score.name)
            evidence.append(score.point(-1))
        return Finding("length-growth-healthy", confidence=0.8, first_step=start_step, last_step=last_step, evidence=evidence, facts=facts)
    if now < t.factor * start:
        return None
    if rising and gain > t.gain and (moved < 0 or unearned is not None):
        curve = unearned or main_validations(view)[0].series
        facts["validation"] = printed(curve.point(-1))
        evidence = [*evidence[:3], curve.point(-1)]
        return Finding(
            "length-hacking",
            severity=None if moved < 0 else "medium",
            confidence=0.7 if moved < 0 else 0.6,
            first_step=start_step,
            last_step=last_step,
            evidence=evidence,
            facts=facts,
            variant="default" if moved < 0 else "flat",
        )
    if (
        gain > t.gain and (rising or gain > _chance(view, first)) and not grave
    ):  # the growth earns its tokens; what is cut is truncation's business
        return None
    since = _since(level, t.factor * start)
    facts["since"], evidence[1] = count(int(lengths.steps[since])), lengths.point(since)
    start_step = step_at(lengths, since)
    variant = "default"
    if share is not None and cut >= t.cut:
        variant = "cut"
        facts["share"] = percent(cut, f"median of the last 10 values of {share.name}", metric=share.name)
        evidence.append(share.point(-1))
    return Finding(
        "length-explosion",
        severity="high" if grave or not rising else "medium",
        confidence=0.8 if not rising else 0.65,
        evidence=evidence,
        facts=facts,
        variant=variant,
        first_step=start_step,
        last_step=last_step,
    )


def _gravely_cut(share: FloatArray, t: Thresholds) -> bool:
    level = rolling_median(share, 10)
    return latched(level >= t.grave_cut, level < t.clear * t.grave_cut, 1, 1) is not None


@detector("length-collapse", needs=("response_length_mean",), min_points=10, also=("short-answer-hacking",))
def length_fall(view: RunView, t: Thresholds) -> Finding | None:
    """Answers shrank to a fraction of the run's start: harmless when score and validation rise with it."""
    lengths = known(view, "response_length_mean")
    assert lengths is not None
    _, start, now = _level(lengths)
    if not (start > t.tiny and now < t.factor * start):
        return None
    below = lengths.scaled < t.factor * start
    spells = [s for s in sustained(below, int(t.k), int(t.of)) if s.open]
    if not spells:
        return None
    since = spells[-1].start
    first = int(lengths.steps[0])
    gain, rising = _gain(view, first)
    moved = _validation_move(view, first)
    facts = {
        "start": derived(start, f"median of the first 10 values of {lengths.name}", metric=lengths.name),
        "now": derived(now, f"median of the last values of {lengths.name}", metric=lengths.name),
        "share": percent(now / start, "ratio of the two medians", metric=lengths.name),
        "since": count(int(lengths.steps[since])),
        "step": count(int(lengths.steps[-1])),
    }
    evidence = [lengths.point(0), lengths.point(since), lengths.point(-1)]
    start_step, last_step = step_at(lengths, since), step_at(lengths, -1)
    shortest = known(view, "response_length_min")
    stubs = shortest is not None and tail(shortest.scaled) <= t.stub and now <= t.short
    held = np.isfinite(gain) and (rising or gain > -t.held)
    if held and (moved < 0 or (moved == 0 and stubs and not main_validations(view))):
        if moved < 0:
            evidence = [*evidence, main_validations(view)[0].series.point(-1)]
        elif shortest is not None:
            evidence = [*evidence, shortest.point(-1)]
        return Finding("short-answer-hacking", confidence=0.75, first_step=start_step, last_step=last_step, evidence=evidence, facts=facts)
    if held and rising:
        return None
    if held and moved >= 0 and now > t.stub_mean:
        return None
    score = known(view, "score_mean")
    variant = "default"
    if score is not None and np.isfinite(gain) and gain < 0:
        facts["score_start"] = derived(baseline(score.scaled), f"median of the first 10 values of {score.name}", metric=score.name)
        facts["score_now"] = derived(tail(score.scaled), f"median of the last 10 values of {score.name}", metric=score.name)
        evidence = [*evidence, score.point(-1)]
        variant = "score_fell"
    return Finding(
        "length-collapse",
        confidence=0.85,
        first_step=start_step,
        last_step=last_step,
        evidence=evidence,
        facts=facts,
        variant=variant,
        causes=["reward", "degenerate", "penalty"] if _kl_outside_reward(view) else None,
        fixes={"rollback": None, "reward": None} if _kl_outside_reward(view) else None,
    )


def _kl_outside_reward(view: RunView) -> bool:
    """The log shows that no KL is taken off the score: by the settings, or because the optimised reward is the score itself."""
    pair = known_together(view, "score_mean", "reward_mean")
    if view.setting("algorithm.use_kl_in_reward") is False:
        return True
    return pair is not None and len(pair[0]) > 1 and bool(np.allclose(pair[0].scaled, pair[1].scaled, atol=1e-6))


@detector("aborted-generations", needs=("aborted_ratio",))
def aborted_generations(view: RunView, t: Thresholds) -> Finding | None:
    series = known(view, "aborted_ratio")
    assert series is not None
    spells = sustained(series.scaled > t.level, int(min(t.k, len(series))), int(t.of))
    if not spells or not (spells[-1].open or spells[-1].end - spells[-1].start >= t.of):
        return None
    spell = spells[-1]
    share = median(series.scaled[spell.start : spell.end + 1])
    top = spell.start + int(np.argmax(series.scaled[spell.start : spell.end + 1]))
    facts = {"share": percent(share, f"median of {series.name} while it lasts", metric=series.name), "top": printed(series.point(top))}
    evidence = [series.point(spell.start)] + ([series.point(top)] if top != spell.start else [])
    return Finding(
        "aborted-generations",
        severity="high" if share > t.grave else "medium",
        first_step=step_at(series, spell.start),
        last_step=step_at(series, spell.end),
        evidence=evidence,
        facts=facts,
    )


@detector("long-tail")
def long_tail(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """A few answers far longer than the rest, in a run whose steps are mostly spent generating."""
    parts = known_together(view, "response_length_max", "response_length_mean", "time_gen", "time_step")
    if parts is None:
        return _skewed(view, t)
    if len(parts[0]) < t.least:
        return NotChecked(f"steps>={int(t.least)}")
    longest, mean, gen, step = parts
    with np.errstate(all="ignore"):
        ratio, share = longest.scaled / mean.scaled, gen.scaled / step.scaled
    window = min(int(t.of), len(ratio))
    off = (rolling_median(ratio, window) < t.clear * t.factor) | (rolling_median(share, window) < t.clear * t.generation_share)
    spell = latched((ratio > t.factor) & (share > t.generation_share), off, int(np.ceil(t.lasting * window)), window)
    if spell is None:
        return None
    recent = slice(-window, None)
    facts = {
        "max": printed(longest.point(-1)),
        "mean": printed(mean.point(-1)),
        "times": derived(median(ratio[recent]), f"median of {longest.name} / {mean.name}, last {window} steps"),
        "share": percent(median(share[recent]), f"median of {gen.name} / {step.name}"),
    }
    return Finding(
        "long-tail",
        confidence=0.6,
        first_step=step_at(longest, spell.start),
        last_step=step_at(longest, -1),
        evidence=[longest.point(-1), mean.point(-1), gen.point(-1)],
        facts=facts,
    )


def _skewed(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Without a longest answer: the mean far above the median, in a rollout that takes long."""
    parts = known_together(view, "response_length_mean", "response_length_median", "time_gen")
    if parts is None:
        return NotChecked("response_length_max")
    mean, middle, gen = parts
    with np.errstate(all="ignore"):
        ratio = mean.scaled / middle.scaled
    window = min(int(t.of), len(ratio))
    if not (median(ratio[-window:]) > t.skew and ratio[-1] > t.skew and median(gen.scaled[-window:]) > t.long_rollout):
        return None
    facts = {
        "mean": printed(mean.point(-1)),
        "median": printed(middle.point(-1)),
        "times": derived(float(ratio[-1]), f"{mean.name} / {middle.name}"),
        "seconds": printed(gen.point(-1)),
    }
    points = [mean.point(-1), middle.point(-1), gen.point(-1)]
    return Finding("long-tail", None, 0.55, step_at(mean, 0), step_at(mean, -1), points, facts, "median")


@detector("turns-saturated", needs=("turns_mean", "turns_max"))
def turns_saturated(view: RunView, t: Thresholds) -> Finding | None:
    """The typical conversation is as long as the longest: agents stop because the turns are used up."""
    pair = known_together(view, "turns_mean", "turns_max")
    if pair is None:
        return None
    mean, longest = pair
    cap = median(longest.scaled)
    fewest = known(view, "turns_min")
    fixed = fewest is not None and median(fewest.scaled) >= cap
    if fixed or cap <= t.single_turn or np.mean(longest.scaled == cap) < t.steady:
        return None
    high = mean.scaled >= t.level * cap
    spells = [s for s in sustained(high, int(min(t.k, len(high))), int(t.of)) if s.open]
    if not spells:
        return None
    start = spells[-1].start
    facts = {
        "mean": printed(mean.point(-1)),
        "max": printed(longest.point(-1)),
        "share": percent(float(mean.scaled[-1]) / cap, f"{mean.name} / {longest.name}"),
    }
    return Finding(
        "turns-saturated",
        confidence=0.7,
        first_step=step_at(mean, start),
        last_step=step_at(mean, -1),
        evidence=[mean.point(start), mean.point(-1), longest.point(-1)],
        facts=facts,
    )
