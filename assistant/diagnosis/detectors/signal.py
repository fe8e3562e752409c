"""The learning signal: advantages that vanish, groups without spread, groups of one."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis.batch import (
    GROUPED,
    Mask,
    clean,
    grouped,
    last_stretch,
    no_signal,
    prints_zero,
    seen_from_start,
    spread_at,
    spread_of,
    step_fact,
    step_of,
    whitened,
)
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import configured, count, derived, percent, printed, quoted
from assistant.diagnosis.finding import Finding, NotChecked, Quantity
from assistant.diagnosis.stats import median, tail, trend
from assistant.diagnosis.view import RunView
from assistant.run import Point, Series, Style

ROLLOUT_N = "actor_rollout_ref.rollout.n"


def why_uniform(view: RunView, steps: np.ndarray[tuple[int], np.dtype[np.int64]]) -> tuple[str, dict[str, Quantity], list[Point]]:
    """Why the groups are uniform at ``steps``: all right, all wrong, or (scores differ within the batch) each group for itself."""
    trio = view.together("score_mean", "score_max", "score_min")
    if trio is None:
        return "default", {}, []
    everything = trio[1].values[trio[1].finite]
    mean, high, low = (s.take(np.isin(s.steps, steps)) for s in trio)
    if not len(mean) or not mean.finite.all() or not len(everything):
        return "default", {}, []
    facts = {"score": printed(mean.point(-1)), "score_max": printed(high.point(-1)), "score_min": printed(low.point(-1))}
    points = [mean.point(-1)]
    spread = np.abs(high.values - low.values)
    tolerance = 1e-6 + (0.0005 if high.styles[-1] == Style.FIXED3 else 0.0)
    if np.median(spread) > tolerance:
        return "mixed", facts, [*points, high.point(-1), low.point(-1)]
    best = max(float(everything.max()), 0.0)
    level = median(mean.values)
    return ("all_right" if level > 0 and level >= 0.9 * best and level > 0.2 else "all_wrong"), facts, points


@detector("no-learning-signal")
def no_learning_signal(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    signal = no_signal(view)
    if signal is None:
        return no_spread(view, t)
    high, low, zero = signal
    recent = zero[-int(t.window) :]
    if recent.mean() < t.share or not zero[-3:].any():
        return None
    held = last_stretch(zero, 3, 5)
    start = held.start if held is not None and held.open else int(np.flatnonzero(recent)[0]) + len(zero) - len(recent)
    where = np.flatnonzero(zero)
    where = where[where >= start]
    variant, facts, points = why_uniform(view, high.steps[where])
    last = int(where[-1])
    prompts = view.number("data.train_batch_size")
    chance = len(zero) < 3 and prompts is not None and prompts <= t.few_prompts
    norm = view["policy_grad_norm"]
    at = norm.at(int(high.steps[last])) if norm is not None else None
    facts |= {
        "advantage": printed(high.point(last)),
        "step": step_fact(high, last),
        "since": step_fact(high, start),
        "share": percent(float(recent.mean()), f"share of the last {len(recent)} steps with all advantages zero"),
        "n": count(len(recent), "steps"),
    }
    never = clean(view["score_max"])
    causes = {
        "all_right": ["solved"],
        "all_wrong": ["reward-broken", "too-hard"] if never is not None and np.ptp(never.values) == 0 else ["too-hard", "reward-broken"],
        "mixed": ["identical-samples", "small-groups", "grouping"],
    }.get(variant)
    fixes: dict[str, None] | None = {
        "all_right": {"filter-groups": None, "filter-metric": None, "harder-data": None},
        "all_wrong": {"check-reward": None, "easier-data": None, "rollout-n": None},
        "mixed": {"temperature": None, "rollout-n": None, "filter-groups": None, "filter-metric": None},
    }.get(variant)
    return Finding(
        "no-learning-signal",
        severity="low" if chance else "medium" if variant == "all_right" else None,
        confidence=0.5 if chance else 0.95 if len(zero) > 3 else 0.85,
        first_step=step_of(high, start),
        last_step=step_of(high, last),
        evidence=[high.point(last), low.point(last), *points[:1], *([at] if at else [])],
        facts=facts,
        variant=variant,
        causes=causes,
        fixes=fixes,
    )


def no_spread(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """The same without advantages in the log: by the share of uniform groups, by the spread of rewards, or by reward and loss both 0."""
    found = spread_of(view)
    if found is None:
        return _nothing_earned(view, t)
    series, zero = found.series, found.none
    recent = zero[-int(t.window) :]
    if recent.mean() < t.share or not zero[-3:].any():
        return None
    held = last_stretch(zero, 3, 5)
    start = held.start if held is not None and held.open else int(np.flatnonzero(recent)[0]) + len(zero) - len(recent)
    last = int(np.flatnonzero(zero)[-1])
    step = int(series.steps[last])
    facts = {
        "metric": quoted(series.name, series.point(last).line),
        "value": printed(series.point(last)),
        "step": step_fact(series, last),
        "since": step_fact(series, start),
        "share": percent(float(recent.mean()), f"share of the last {len(recent)} values of {series.name} that leave nothing to learn"),
        "n": count(len(recent), "logged steps"),
    }
    points = [series.point(last)]
    variant = found.kind if len(zero) > 1 else f"{found.kind}_once"
    if (other := _batch_spread(view, step)) is not None:
        variant = f"{found.kind}_batch"
        facts["other"], facts["other_value"] = quoted(other.metric, other.line), printed(other)
        points.append(other)
    points += [p for name in ("score_mean", "policy_grad_norm") if (s := view[name]) is not None and (p := s.at(step)) is not None]
    score, clipped = view["score_mean"], clean(view["response_clip_ratio"])
    nothing = score is not None and (p := score.at(step)) is not None and p.value == 0.0
    cut = clipped is not None and tail(clipped.values, 5) > 0.5
    hard = ["too-hard", "reward-broken"]
    causes = [*(["cut"] if cut else []), *(hard if nothing else ["identical-samples", "solved", *hard])]
    return Finding(
        "no-learning-signal",
        severity="low" if len(zero) < 3 and found.kind == "rewards" else None,
        confidence=0.95 if len(zero) > 3 else 0.85,
        first_step=step_of(series, start),
        last_step=step_of(series, last),
        evidence=points[:4],
        facts=facts,
        variant=variant,
        causes=causes,
        fixes={"check-reward": None, "easier-data": None, "rollout-n": None} if nothing else {"temperature": None, "rollout-n": None},
    )


def _batch_spread(view: RunView, step: int) -> Point | None:
    """A reward function whose own standard deviation is not 0 at a step at which every group is uniform: it compares prompts."""
    for name in view.run.columns:
        if name.startswith(("rewards/", "train/rewards/")) and name.endswith("/std") and (series := view.printed(name)) is not None:
            point = series.at(step)
            if point is not None and np.isfinite(point.value) and point.value > 0:
                return point
    return None


def _nothing_earned(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Mean reward and loss both print 0: where rewards cannot be negative, no answer earned anything."""
    pair = view.together("score_mean", "policy_total_loss") or view.together("score_mean", "policy_loss")
    if pair is None or view.has("value_loss"):
        return NotChecked("advantage_max")
    score, loss = pair
    zero = prints_zero(score, 1e-9) & prints_zero(loss, 1e-9)
    recent = zero[-int(t.window) :]
    if recent.mean() < t.share or not zero[-3:].any():
        return NotChecked("advantage_max")
    last = int(np.flatnonzero(zero)[-1])
    start = int(np.flatnonzero(recent)[0]) + len(zero) - len(recent)
    facts = {
        "metric": quoted(score.name, score.point(last).line),
        "value": printed(score.point(last)),
        "loss_metric": quoted(loss.name, loss.point(last).line),
        "loss": printed(loss.point(last)),
        "step": step_fact(score, last),
    }
    return Finding(
        "no-learning-signal",
        confidence=0.7,
        first_step=step_of(score, start),
        last_step=step_of(score, last),
        evidence=[score.point(last), loss.point(last)],
        facts=facts,
        variant="nothing_earned",
        causes=["reward-broken", "too-hard"],
        fixes={"check-reward": None, "easier-data": None},
    )


@detector("group-size-one", needs=("advantage_mean", "advantage_max", "score_mean"))
def group_size_one(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Advantages that are the rewards themselves: a group of one has no average to compare with."""
    if whitened(view) or (view.estimator and str(view.estimator).lower() not in GROUPED):
        return None
    n = view.number(ROLLOUT_N)
    if n is not None and n > 1:
        return None
    candidates = [
        six
        for reward in ("score", "reward")  # they differ when a KL penalty is in the reward
        if (six := view.together("advantage_mean", "advantage_max", "advantage_min", f"{reward}_mean", f"{reward}_max", f"{reward}_min"))
    ]
    if not candidates:
        return NotChecked("advantage_max")
    equals = [_same_as_reward(*six) for six in candidates]
    chosen = next((i for i, e in enumerate(equals) if e.any() and e.sum() >= t.share * _telling(*candidates[i]).sum()), None)
    if chosen is None:
        return None
    (mean, high, _, score, top, _), equal = candidates[chosen], equals[chosen]
    rows = np.flatnonzero(equal)
    last = int(rows[-1])
    facts = {
        "advantage": printed(mean.point(last)),
        "score": printed(score.point(last)),
        "advantage_max": printed(high.point(last)),
        "score_max": printed(top.point(last)),
        "step": step_fact(mean, last),
        "n": count(len(rows), "steps at which advantages equal scores"),
    }
    variant = "default"
    if n is not None:
        facts["rollout_n"] = configured(n, ROLLOUT_N, view.run.config_lines.get(ROLLOUT_N))
        variant = "configured"
    return Finding(
        "group-size-one",
        confidence=0.97 if n is not None else 0.9 if len(rows) > 2 else 0.75,
        first_step=step_of(mean, rows[0]),
        last_step=step_of(mean, last),
        evidence=[mean.point(last), score.point(last), high.point(last), top.point(last)],
        facts=facts,
        variant=variant,
    )


def _telling(_mean: Series, high: Series, _low: Series, _score: Series, top: Series, bottom: Series) -> Mask:
    """Steps whose rewards are not all zero: only there can advantages equal rewards for a reason."""
    tolerance = 1e-4 + (0.001 if high.styles[-1] == Style.FIXED3 else 0.0)
    telling: Mask = np.fmax(np.abs(top.values), np.abs(bottom.values)) > tolerance
    return telling


def _same_as_reward(mean: Series, high: Series, low: Series, score: Series, top: Series, bottom: Series) -> Mask:
    """Steps at which largest, smallest and (length-weighted, so roughly) mean advantage are those of the reward."""
    size = 1.0 + np.maximum(np.abs(top.values), np.abs(bottom.values))
    tolerance = size * (1e-4 + (0.001 if high.styles[-1] == Style.FIXED3 else 0.0))
    same = (np.abs(high.values - top.values) < tolerance) & (np.abs(low.values - bottom.values) < tolerance)
    near = np.abs(mean.values - score.values) <= 0.25 * np.maximum(top.values - bottom.values, 0.0) + tolerance
    equal: Mask = same & near & _telling(mean, high, low, score, top, bottom)
    return equal


@detector("extreme-advantages", needs=("advantage_max", "advantage_min"))
def extreme_advantages(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Only whitened advantages have a scale to judge by; a group-normalised one cannot pass (n - 1)/√n whatever the rewards."""
    if not whitened(view):
        return None if grouped(view) else NotChecked("algorithm.adv_estimator=gae")
    if view.era_is("<0.2") is True:
        return NotChecked("version_after_0_1")
    pair = view.together("advantage_max", "advantage_min")
    if pair is None:
        return NotChecked("advantage_max")
    high, low = pair
    size = np.fmax(np.abs(high.values), np.abs(low.values))
    held = last_stretch(np.nan_to_num(size) > t.level, 5, 10)
    if held is None or not held.open:
        return None
    part = size[held.start : held.end + 1]
    worst = held.start + int(np.nanargmax(part))
    point = high.point(worst) if abs(high.values[worst]) >= abs(low.values[worst]) else low.point(worst)
    return Finding(
        "extreme-advantages",
        severity="medium" if np.nanmedian(part) > 2 * t.level else None,
        confidence=0.7 if len(size) >= 5 else 0.5,
        first_step=step_of(high, held.start),
        last_step=step_of(high, held.end),
        evidence=[point],
        facts={
            "worst": printed(point),
            "worst_step": step_fact(high, worst),
            "since": step_fact(high, held.start),
            "typical": derived(float(np.nanmedian(part)), "median of max(|advantages/max|, |advantages/min|) since then"),
        },
    )


@detector("not-learning", needs=("score_mean",), min_points=50)
def not_learning(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Gradient is there, and yet neither score nor entropy nor length nor KL has moved from the run's start.

    Without the start, or without a KL that says how far the policy has come, a plateau looks the same.
    """
    if not seen_from_start(view):
        return NotChecked("log_start")
    score = clean(view["score_mean"])
    norm = clean(view["policy_grad_norm"])
    if score is None or norm is None:
        return NotChecked("policy_grad_norm")
    spread = spread_at(view, score)
    kl = clean(view["reference_kl"])
    if kl is None or prints_zero(kl).all():
        return NotChecked("actor_rollout_ref.actor.use_kl_loss=True")
    top = clean(view["score_max"])
    solved = top is not None and tail(score.values) > 0.9 * float(top.values.max())
    if (spread is not None and spread.mean() < 0.5) or solved or median(norm.values) <= 0 or not seen_flat(score, t):
        return None
    for name in ("policy_entropy", "response_length_mean"):
        series = clean(view[name])
        if series is None:
            continue
        part = max(len(series) // 5, 1)
        early, late = median(series.values[:part]), median(series.values[-part:])
        if abs(late - early) > t.still * abs(early):
            return None
    if tail(kl.values) > (t.kl if len(score) >= t.whole else t.kl_short):
        return None
    return Finding(
        "not-learning",
        confidence=0.6,
        first_step=step_of(score, 0),
        last_step=step_of(score, -1),
        evidence=[score.point(0), score.point(-1), norm.point(-1)],
        facts={
            "start": derived(median(score.values[: len(score) // 5]), f"median of {score.name}, first fifth", metric=score.name),
            "now": derived(median(score.values[-(len(score) // 5) :]), f"median of {score.name}, last fifth", metric=score.name),
            "n": count(len(score), "steps"),
            "norm": derived(median(norm.values), f"median of {norm.name}", metric=norm.name),
        },
    )


def seen_flat(score: Series, t: Thresholds) -> bool:
    """No trend, and first and last fifth within half the spread of single steps, or within what chance alone makes of two medians."""
    values = score.values
    noise = median(np.abs(values - median(values)))
    part = max(len(values) // 5, 1)
    chance = 5.2 / np.sqrt(part)  # two standard errors of the difference of two medians, in median absolute deviations
    return abs(trend(values).z) < t.flat_z and abs(median(values[-part:]) - median(values[:part])) <= max(max(0.5, chance) * noise, 1e-6)
