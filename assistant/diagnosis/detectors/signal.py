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
    step_fact,
    step_of,
    whitened,
)
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import configured, count, derived, percent, printed
from assistant.diagnosis.finding import Finding, NotChecked, Quantity
from assistant.diagnosis.stats import baseline, median, tail, trend
from assistant.diagnosis.view import RunView
from assistant.run import FloatArray, Point, Series, Style

ROLLOUT_N = "actor_rollout_ref.rollout.n"


def _kind(view: RunView, steps: np.ndarray[tuple[int], np.dtype[np.int64]]) -> tuple[str, dict[str, Quantity], list[Point]]:
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


@detector("no-learning-signal", needs=("advantage_max", "advantage_min"))
def no_learning_signal(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    signal = no_signal(view)
    if signal is None:
        return NotChecked("advantage_max")
    high, low, zero = signal
    recent = zero[-int(t.window) :]
    if recent.mean() < t.share or not zero[-3:].any():
        return None
    held = last_stretch(zero, 3, 5)
    start = held.start if held is not None and held.open else int(np.flatnonzero(recent)[0]) + len(zero) - len(recent)
    where = np.flatnonzero(zero)
    where = where[where >= start]
    variant, facts, points = _kind(view, high.steps[where])
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


@detector("shrinking-learning-signal", also=("many-uniform-groups",))
def shrinking_learning_signal(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Three ways to see it: uniform groups counted, steps without any advantage, rounds of refilling (dynamic sampling)."""
    counted = _uniform_share(view)
    rounds = clean(view["generation_rounds"])
    signal = no_signal(view)
    if counted is None and rounds is None and signal is None:
        return NotChecked("advantage_max")
    if counted is not None and len(counted[0]) >= t.min_steps:
        share, series, hard = counted
        early, late = median(share[: len(share) // 3]), median(share[-(len(share) // 3) :])
        if late > t.group_share and late - early > t.group_rise and trend(share).rising:
            return _shrinking(series, early, late, "groups", f"share of uniform groups ({series.name} and its twin)", hard)
    if counted is not None:
        share, series, hard = counted
        now = tail(share)
        if now >= t.many_share and (len(share) < t.min_steps or abs(now - median(share)) < t.group_rise) and now < 0.999:
            direction = "too_hard" if hard else "too_easy"
            return Finding(
                "many-uniform-groups",
                confidence=0.85,
                first_step=step_of(series, 0),
                last_step=step_of(series, -1),
                evidence=[series.point(-1)],
                facts={
                    "share": percent(now, "(solve_none + solve_all) / all groups, median of the last 10 steps", metric=series.name),
                    "step": step_fact(series, -1),
                },
                variant=direction,
                causes=["too-hard"] if hard else ["too-easy"],
            )
    if signal is not None and len(signal[2]) >= t.min_steps:
        high, _, zero = signal
        found = _rising_share(high, zero, view, t)
        if found is not None:
            return found
    if rounds is not None and len(rounds) >= t.min_steps:
        early, late = baseline(rounds.values), tail(rounds.values)
        if late >= t.rounds_ratio * max(early, 1.0) and trend(rounds.values).rising:
            facts = {
                "early": derived(early, f"median of {rounds.name}, first 10 values", metric=rounds.name),
                "late": derived(late, f"median of {rounds.name}, last 10 values", metric=rounds.name),
            }
            return Finding(
                "shrinking-learning-signal",
                confidence=0.8,
                first_step=_first_above(rounds, (early + late) / 2),
                last_step=step_of(rounds, -1),
                evidence=[rounds.point(0), rounds.point(-1)],
                facts=facts,
                variant="rounds",
            )
    return None


def _first_above(series: Series, level: float) -> int | None:
    above = np.flatnonzero(series.values >= level)
    return step_of(series, int(above[0]) if len(above) else 0)


def _rising_share(high: Series, zero: Mask, view: RunView, t: Thresholds) -> Finding | None:
    """Steps without any advantage become more frequent: the split of the run at which two rates are likeliest."""
    split, sigma = _likeliest_split(zero)
    early, late = float(zero[:split].mean()), float(zero[split:].mean())
    if late <= early or late < t.step_share or late >= t.all_share or sigma < t.sigma:
        return None
    where = np.flatnonzero(zero)
    onset = int(where[where >= split][0])
    variant, facts, points = _kind(view, high.steps[where[where >= split]])
    facts |= {
        "early": percent(early, "share of steps with all advantages zero, before"),
        "late": percent(late, "share of steps with all advantages zero, since then"),
        "since": step_fact(high, onset),
        "n_zero": count(int(zero.sum()), "steps with all advantages zero"),
        "n": count(len(zero), "steps"),
    }
    return Finding(
        "shrinking-learning-signal",
        confidence=0.85,
        first_step=step_of(high, onset),
        last_step=step_of(high, -1),
        evidence=[high.point(int(where[-1])), *points[:1]],
        facts=facts,
        variant="default",
        causes=_shrinking_causes(view, variant),
    )


def _likeliest_split(zero: Mask) -> tuple[int, float]:
    """Index from which events come at another rate, and by how many standard errors (square root of the log-likelihood ratio, doubled).

    Each side has at least a tenth of the run.
    """
    n, least = len(zero), max(len(zero) // 10, 5)
    splits = np.arange(least, n - least + 1, max(n // 2000, 1))
    before = np.cumsum(zero)[splits - 1].astype(np.float64)
    total = float(zero.sum())

    def likelihood(k: FloatArray, m: FloatArray) -> FloatArray:
        p = np.clip(k / m, 1e-12, 1 - 1e-12)
        likely: FloatArray = k * np.log(p) + (m - k) * np.log1p(-p)
        return likely

    size = splits.astype(np.float64)
    gain = likelihood(before, size) + likelihood(total - before, n - size) - likelihood(np.array([total]), np.array([float(n)]))
    best = int(np.argmax(gain))
    return int(splits[best]), float(np.sqrt(max(2 * gain[best], 0.0)))


def _shrinking_causes(view: RunView, kind: str) -> list[str]:
    first = {"all_right": "solved", "all_wrong": "too-hard"}.get(kind, "less-variety")
    prompts = view.number("data.train_batch_size")
    rest = ["less-variety"] if first != "less-variety" else ["solved"]
    return ["few-prompts", first, *rest] if prompts is not None and prompts <= 8 else [first, *rest, "few-prompts"]


def _shrinking(series: Series, early: float, late: float, variant: str, formula: str, hard: bool) -> Finding:
    return Finding(
        "shrinking-learning-signal",
        confidence=0.85,
        first_step=step_of(series, len(series) // 3),
        last_step=step_of(series, -1),
        evidence=[series.point(0), series.point(-1)],
        facts={"early": percent(early, f"{formula}, first third"), "late": percent(late, f"{formula}, last third")},
        variant=variant,
        causes=["too-hard", "few-prompts"] if hard else ["solved", "few-prompts"],
    )


def _uniform_share(view: RunView) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], Series, bool] | None:
    """Share of groups with one reward, the larger of the two counts as evidence, and whether most of them are all wrong."""
    pair = view.together("groups_solved_none", "groups_solved_all")
    if pair is None:
        return None
    none, everything = pair
    partial = view.together("groups_solved_none", "groups_solved_partial")
    if partial is not None and len(partial[1]) == len(none):
        total = none.values + everything.values + partial[1].values
    else:
        prompts = view.number("data.train_batch_size")
        if not prompts:
            return None
        total = np.full(len(none), prompts)
    uniform = none.values + everything.values
    if not len(uniform) or (total <= 0).any() or not np.isfinite(uniform).all():
        return None
    hard = bool(median(none.values) >= median(everything.values))
    return uniform / total, none if hard else everything, hard


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


@detector("not-learning", needs=("score_mean",), min_points=100)
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
    if tail(kl.values) > t.kl:
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
    """No trend, and first and last fifth within half the spread of single steps."""
    values = score.values
    noise = median(np.abs(values - median(values)))
    part = max(len(values) // 5, 1)
    return abs(trend(values).z) < t.flat_z and abs(median(values[-part:]) - median(values[:part])) <= max(0.5 * noise, 1e-6)
