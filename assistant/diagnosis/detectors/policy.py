"""The policy itself: too certain, too random, or not the model that was meant."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis.batch import (
    Mask,
    clean,
    fallen,
    fell_from_best,
    filled,
    last_stretch,
    lower_rate,
    no_signal,
    seen_from_start,
    step_fact,
    step_of,
    sums_tokens,
)
from assistant.diagnosis.detector import Thresholds, detector, reports
from assistant.diagnosis.detectors.classic import action_entropy_collapse
from assistant.diagnosis.ends import gap
from assistant.diagnosis.facts import count, derived, number, percent, printed
from assistant.diagnosis.finding import Finding, NotChecked, Quantity, Severity
from assistant.diagnosis.stats import Interval, baseline, few, latched, median, rolling_median, tail
from assistant.diagnosis.view import RunView
from assistant.run import Point, Series

MIN_POINTS = 10
FEWEST = 6


def token_entropy(view: RunView, ceiling: float) -> Series | NotChecked:
    """Entropy per token; sum modes of the loss make it entropy per answer, which no level here fits."""
    series = clean(view["policy_entropy"])
    if series is None:
        return NotChecked("policy_entropy")
    if (sums_tokens(view) and view.era_is("<0.4") is not True) or median(series.values) > ceiling:
        return NotChecked("actor_rollout_ref.actor.loss_agg_mode=token-mean")
    return series


@detector("policy-degenerate", needs=("policy_entropy",))
def policy_degenerate(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    series = token_entropy(view, t.ceiling)
    if isinstance(series, NotChecked):
        return series
    held = last_stretch(series.values < t.floor, int(t.steps), int(t.steps))
    if held is None or not held.open:
        return None
    signs = _degenerate_answers(view, series, held, t)
    if signs is None:
        return None
    facts: dict[str, Quantity] = {
        "now": printed(series.point(-1)),
        "step_now": step_fact(series, -1),
        "since": step_fact(series, held.start),
        "n": count(held.end - held.start + 1, "steps of this log"),
    }
    evidence, variant = signs[0], signs[1]
    facts.update(signs[2])
    return Finding(
        "policy-degenerate",
        confidence=0.6 if variant == "default" else 0.9 if held.end - held.start >= t.steps else 0.75,
        first_step=step_of(series, held.start),
        last_step=step_of(series, held.end),
        evidence=[series.point(-1), *evidence],
        facts=facts,
        variant=variant,
    )


def _degenerate_answers(
    view: RunView, entropy: Series, held: Interval, t: Thresholds
) -> tuple[list[Point], str, dict[str, Quantity]] | None:
    """What makes low entropy a fault: a poor score, or answers that are all alike. A solved task also has low entropy."""
    since = int(entropy.steps[held.start])
    length = clean(view["response_length_mean"])
    if length is not None and tail(length.values) * tail(entropy.values) > t.answer_entropy:
        return None  # little per token, yet enough over a whole answer for samples to differ
    score = view.together("score_mean", "score_max", "score_min")
    if score is not None:
        mean, high, low = (s.take(s.steps >= since) for s in score)
        if len(mean) and mean.finite.any():
            top = float(np.nanmax(score[1].values))
            bottom = float(np.nanmin(score[2].values))
            now = tail(mean.values)
            if top > bottom and now - bottom > t.good_score * (top - bottom):
                return None
            facts = {"score": printed(mean.point(-1)), "best": printed(high.point(-1)), "worst": printed(low.point(-1))}
            return [mean.point(-1), high.point(-1)], "score", facts
    elif (known := clean(view["score_mean"])) is not None and fell_from_best(known.values, t.score_fall) is None:
        return _far_away(view, entropy, length, t)  # nothing lost, as far as a mean score can tell
    lengths = view.together("response_length_min", "response_length_max", "response_length_mean")
    if lengths is not None:
        shortest, longest, mean = (s.take(s.steps >= since) for s in lengths)
        if len(mean) and median((longest.values - shortest.values) / mean.values) < t.length_spread:
            return (
                [shortest.point(-1), longest.point(-1)],
                "lengths",
                {"shortest": printed(shortest.point(-1)), "longest": printed(longest.point(-1))},
            )
    return None if score is not None else ([], "default", {})


def _far_away(view: RunView, entropy: Series, length: Series | None, t: Thresholds) -> tuple[list[Point], str, dict[str, Quantity]] | None:
    """One fixed answer, far from the reference, that earns no more than the start did: nothing was learned on the way there."""
    kl, score = clean(view["reference_kl"]), clean(view["score_mean"])
    if kl is None or score is None or length is None or len(score) < 2 * t.steps or not seen_from_start(view):
        return None
    whole = tail(length.values) * tail(entropy.values)
    gained = tail(score.values) - baseline(score.values)
    span = float(np.ptp(score.values))
    if whole > t.certain or tail(kl.values) < t.far_kl or gained > t.gain * span:
        return None
    facts = {"kl": printed(kl.point(-1)), "whole": derived(whole, f"{entropy.name} × {length.name}, medians of the last 10 values")}
    return [kl.point(-1), score.point(-1)], "far", facts


@detector("entropy-collapse", min_points=FEWEST, also=("entropy-fall-harmless",))
def entropy_collapse(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Low entropy with harm is a collapse; low entropy beside a rising score is what training does, and is said as such."""
    if view["policy_entropy"] is None:
        return action_entropy_collapse(view, t)
    series = token_entropy(view, t.ceiling)
    if isinstance(series, NotChecked):
        return series
    values = series.values
    if len(values) < FEWEST:
        return NotChecked(f"steps>={FEWEST}")
    short = len(values) < t.min_steps
    if short and gap(view) is not None:
        return None  # first and last lines are judged as such
    n = few(len(values)) if short else 10
    start = baseline(values, n)
    whole = seen_from_start(view) or start > t.sound * t.level  # a sound level is one to fall from
    limit = min(t.level, (t.short_share if short else t.share) * start) if whole else t.floor
    lasting = (3, 3) if short and whole else (8, 10)
    held = latched(values < limit, rolling_median(values, n) > t.clear * limit, *lasting)
    if held is None:
        return None
    harm = _harm(view, int(series.steps[held.start]), t)
    now = tail(values, n)
    facts: dict[str, Quantity] = {
        "now": derived(now, f"median of {series.name}, last {n} values", metric=series.name),
        "last": printed(series.point(-1)),
        "step_now": step_fact(series, -1),
        "since": step_fact(series, held.start),
    }
    if whole:
        facts["start"] = derived(start, f"median of {series.name}, first {n} values", metric=series.name)
        facts["fall"] = percent(1 - now / start, f"1 - median of {series.name}, last {n} values / first {n} values", metric=series.name)
    evidence = [series.point(0), series.point(held.start), series.point(-1)] if whole else [series.point(-1)]
    name = "entropy-collapse"
    severity: Severity | None = None
    if harm is None:
        if reports(view, "policy-degenerate"):
            return None  # the graver finding says it
        if now < t.hard_floor and not _near_top(view, t):
            severity, variant, confidence = "medium", "hard_floor", 0.7
        elif not whole:
            return None
        else:
            name, variant, confidence = "entropy-fall-harmless", "default", 0.7
    else:
        how, points, more = harm
        facts.update(more)
        evidence += points
        variant, confidence = (how, 0.85) if whole else ("tail", 0.7)
    return Finding(
        name,
        severity=severity,
        confidence=confidence,
        first_step=step_of(series, held.start),
        last_step=step_of(series, held.end),
        evidence=evidence,
        facts=facts,
        variant=variant,
    )


def _near_top(view: RunView, t: Thresholds) -> bool:
    """The task is (nearly) solved: the score is close to the best that any answer of this log has reached."""
    score, top, bottom = clean(view["score_mean"]), clean(view["score_max"]), clean(view["score_min"])
    if score is None or top is None or bottom is None:
        return False
    low, high = float(bottom.values.min()), float(top.values.max())
    return high > low and tail(score.values) - low > t.solved * (high - low)


def _harm(view: RunView, since: int, t: Thresholds) -> tuple[str, list[Point], dict[str, Quantity]] | None:
    """The first of: the score has fallen, the validation has fallen, most steps carry no advantage."""
    score = clean(view["score_mean"])
    if score is not None and (fall := fell_from_best(score.values, t.score_fall)):
        best, top, now = fall
        return (
            "score_falls",
            [score.point(best), score.point(-1)],
            {
                "score_best": derived(top, f"best running median of {score.name}", metric=score.name),
                "score_step": step_fact(score, best),
                "score_now": derived(now, f"running median of {score.name} at the end", metric=score.name),
            },
        )
    for validation in view.validations(core=True):
        kept = clean(validation.series)
        if kept is None or len(kept) < 6:
            continue
        level = rolling_median(kept.values, 3)[2:]
        noise = max(float(np.median(np.abs(np.diff(kept.values)))), t.validation_fall / 3)
        lost = fallen(level, 3.0, noise, 3, t.score_fall)
        if lost is not None and int(kept.steps[-1]) > since:
            return (
                "validation_falls",
                [kept.point(lost + 2), kept.point(-1)],
                {
                    "val_best": derived(float(level[lost]), f"best running median of 3 of {kept.name}", metric=kept.name),
                    "val_step": step_fact(kept, lost + 2),
                    "val_now": derived(float(level[-1]), f"median of the last 3 of {kept.name}", metric=kept.name),
                },
            )
    signal = no_signal(view)
    if signal is not None:
        high, _, zero = signal
        recent = zero[-20:]
        share = np.convolve(zero, np.full(20, 1 / 20))[: len(zero)]
        if len(zero) >= 20 and latched(share > t.empty_steps, share < t.empty_steps / 2, 1, 1) is not None and recent.any():
            where = int(np.flatnonzero(zero)[-1])
            return (
                "no_signal",
                [high.point(where)],
                {"empty": percent(float(recent.mean()), f"share of the last {len(recent)} steps with all advantages zero")},
            )
    return None


@detector("entropy-explosion", needs=("policy_entropy",))
def entropy_explosion(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    series = token_entropy(view, t.ceiling)
    if isinstance(series, NotChecked):
        return series
    values = series.values
    if len(values) < t.min_steps:
        return NotChecked(f"steps>={number(t.min_steps)}")
    start = baseline(values)
    if start > t.random:
        return None
    # Where the log begins late its first values may be a low that the run has come back from: more has to be seen.
    ratio, least = (t.ratio, t.least) if seen_from_start(view) else (t.late_ratio, t.late_least)
    raised = (values > ratio * start) & (values > least)
    held = last_stretch(raised, 7, 10)
    beyond = (values > t.level) & (values > 1.5 * start)
    absolute = last_stretch(beyond, 5, 5)
    chosen = _joined(held, absolute, raised | beyond)
    if chosen is None:
        return None
    alone = chosen.open and tail(values) > max(t.alone * start, t.alone_least)  # far above any exploration, if nothing broke yet
    harm = _noise_harm(view, int(series.steps[chosen.start]), t)
    # An entropy that came down again did no lasting harm unless the score fell with it.
    if harm is None and not alone and (absolute is None or not absolute.open):
        return None
    length = clean(view["response_length_mean"])
    if absolute is None and length is not None and tail(length.values) < t.shorter * baseline(length.values):
        return None  # an answer's first tokens are its least certain ones: much shorter answers raise the mean by themselves
    peak = int(np.argmax(values))
    began, formula = start, f"median of {series.name}, first 10 values"
    if 0 < chosen.start < MIN_POINTS:  # the rise is among the first values: what came before it is the start
        began, formula = median(values[: chosen.start]), f"median of {series.name} before step {int(series.steps[chosen.start])}"
    facts = {
        "start": derived(began, formula, metric=series.name),
        "peak": printed(series.point(peak)),
        "peak_step": step_fact(series, peak),
        "now": printed(series.point(-1)),
        "step_now": step_fact(series, -1),
        "since": step_fact(series, chosen.start),
        "times": derived(float(values[peak]) / began, f"largest {series.name} / {formula}") if began > 0 else count(0),
    }
    variant = "default"
    evidence = [series.point(chosen.start), series.point(peak)]
    if harm is not None:
        variant = "score_falls"
        facts.update(harm[1])
        evidence += harm[0]
    return Finding(
        "entropy-explosion",
        severity="critical" if harm is not None and absolute is not None else "medium" if harm is None and absolute is None else None,
        confidence=0.9 if absolute else 0.75 if harm is not None else 0.6,
        first_step=step_of(series, chosen.start),
        last_step=step_of(series, chosen.end),
        evidence=evidence,
        facts=facts,
        variant=variant,
        causes=_explosion_causes(view),
        fixes=_calming(view),
    )


def _joined(held: Interval | None, absolute: Interval | None, raised: Mask) -> Interval | None:
    """The rise that is there last. One that crosses the absolute limit began where it left its usual level, without a break since."""
    if absolute is None or (held is not None and held.start > absolute.end):
        return held
    below = ~raised[: absolute.start + 1]
    breaks = np.flatnonzero(below & (np.convolve(below, np.ones(3))[: len(below)] >= 2))  # a single step below is noise
    began = int(breaks[-1]) + 1 if len(breaks) else 0
    start = min(began + int(np.argmax(raised[began : absolute.start + 1])), absolute.start)
    later = held is not None and held.end > absolute.end
    return Interval(start, held.end, held.open) if later and held is not None else Interval(start, absolute.end, absolute.open)


def _calming(view: RunView) -> dict[str, object]:
    """The card's fixes, in the order of the causes: the entropy bonus is not the first to look at where it is off by default."""
    fixes = filled("entropy-explosion", learning_rate=lower_rate(view))
    if _explosion_causes(view)[0] != "entropy-bonus" and "entropy-bonus" in fixes:
        fixes["entropy-bonus"] = fixes.pop("entropy-bonus")
    return fixes


def _explosion_causes(view: RunView) -> list[str]:
    coefficient = view.number("actor_rollout_ref.actor.entropy_coeff")
    others = ["learning-rate", "mismatch", "negative-samples", "bad-tokens"]
    if coefficient == 0:
        return others
    if coefficient is None and (view.era_is(">=0.4") or not view.run.framework.startswith("verl")):  # off unless it was set
        return [*others, "entropy-bonus"]
    return ["entropy-bonus", *others]


def _noise_harm(view: RunView, since: int, t: Thresholds) -> tuple[list[Point], dict[str, Quantity]] | None:
    score = clean(view["score_mean"])
    if score is None:
        return None
    fall = fell_from_best(score.values, t.score_fall)
    if fall is None or int(score.steps[-1]) < since:
        return None
    best, top, now = fall
    formula = f"best running median of {score.name}"
    before = score.values[score.steps < since]
    if 0 < len(before) < MIN_POINTS and median(before) > top:  # too few for a running median of the usual length
        best, top, formula = 0, median(before), f"median of {score.name} before step {since}"
    facts = {
        "score_best": derived(top, formula, metric=score.name),
        "score_now": derived(now, f"running median of {score.name} at the end", metric=score.name),
    }
    return [score.point(best), score.point(-1)], facts
