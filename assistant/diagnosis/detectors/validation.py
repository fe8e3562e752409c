"""Training against validation: hacked rewards, overfitting, overlap, what greedy decoding explains, sets too small to read."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.detectors.components import parts_of_reward
from assistant.diagnosis.facts import count, derived, printed
from assistant.diagnosis.finding import Finding, NotChecked
from assistant.diagnosis.score import (
    at_steps,
    finite_part,
    known,
    known_together,
    main_validations,
    score_scale,
    smoothed,
    step_at,
    step_noise,
    window_of,
)
from assistant.diagnosis.stats import baseline, median, tail, trend
from assistant.diagnosis.view import RunView, Validation
from assistant.run import FloatArray, Series


def spread_of(view: RunView, *others: Series) -> float:
    scale = score_scale(view)
    if scale and scale.span > 0:
        return scale.span
    spread = [float(np.ptp(smoothed(s))) for s in others if len(s)]
    return max([*spread, 1e-9])


def _fallen(curve: Series, least: float, noise: float) -> int | None:
    """Index of the best validation when the curve has fallen from it beyond its scatter, and keeps falling."""
    values = curve.scaled
    if len(values) < 4:
        return None
    best = int(np.argmax(values[:-3])) if len(values) > 4 else 0
    fall = float(values[best]) - median(values[-3:])
    luck = np.sqrt(2 * np.log(len(values)))  # the best of many is high by chance
    if fall < max(least, (noise + luck) * step_noise(values)) or trend(values[best:]).z > -1.65:
        return None
    high = np.flatnonzero(values >= values[best] - max(least / 2, luck * step_noise(values)))
    return int(high[-1])  # as good as the best by chance: the fall begins where that ends


@detector("reward-hacking")
def reward_hacking(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """What is optimised goes up while what is wanted goes down."""
    wanted = known(view, "score_mean")
    optimised = known(view, "reward_mean")
    if wanted is None:
        return NotChecked("score_mean")
    paid = _penalty_hacked(view, t, wanted, optimised) if optimised is not None else None
    if paid is not None:
        return paid
    curves = [one for one in main_validations(view) if len(one.series) >= 4]
    if not curves:
        return NotChecked("trainer.test_freq=10")
    score = finite_part(wanted)
    span = spread_of(view, score)
    fallen: list[tuple[Validation, int]] = []
    for one in curves:
        curve = one.series
        own = float(np.max(curve.scaled)) if one.key.source == one.key.key else span  # another measure than the reward
        best = _fallen(curve, t.validation_fall * own, t.noise)
        if best is not None:
            fallen.append((one, best))
    if not fallen or (len(fallen) * 2 <= len(curves) and not _part_sinks(view, t)):
        return None
    one, best = max(fallen, key=lambda pair: float(pair[0].series.scaled[pair[1]] - pair[0].series.scaled[-1]))
    curve = one.series
    since = int(curve.steps[best])
    part = score.scaled[score.steps >= since]
    width = window_of(len(part))
    if len(part) < 6 or not trend(part).rising or tail(part, width) - baseline(part, width) < t.score_gain * span:
        return None
    facts = {
        "best": printed(curve.point(best)),
        "best_step": count(since),
        "now": printed(curve.point(-1)),
        "step": count(int(curve.steps[-1])),
        "score_then": derived(baseline(part, width), f"median of {score.name} from step {since}", metric=score.name),
        "score_now": derived(tail(part, width), f"median of the last values of {score.name}", metric=score.name),
    }
    return Finding(
        "reward-hacking",
        severity="critical" if float(curve.values[best] - curve.values[-1]) > t.grave * span else "high",
        confidence=0.75,
        first_step=since,
        last_step=step_at(curve, -1),
        evidence=[curve.point(best), curve.point(-1), score.point(-1)],
        facts=facts,
    )


def _part_sinks(view: RunView, t: Thresholds) -> bool:
    """The reward rises although one of its parts falls: another part is what is being earned."""
    parts = [s for s in parts_of_reward(view).values() if len(s) >= t.least_points]
    width = [window_of(len(s)) for s in parts]
    return any(
        trend(s.scaled).falling and baseline(s.scaled, w) - tail(s.scaled, w) > t.part_fall * abs(baseline(s.scaled, w))
        for s, w in zip(parts, width, strict=True)
    )


def _penalty_hacked(view: RunView, t: Thresholds, wanted: Series, optimised: Series) -> Finding | None:
    """With KL in the reward: rewards (score − KL penalty) rise while the score itself falls."""
    pair = known_together(view, "score_mean", "reward_mean")
    if pair is None or len(pair[0]) < t.least_points:
        return None
    score, reward = pair
    gap = score.scaled - reward.scaled
    span = spread_of(view, score)
    width = window_of(len(score))
    lost = baseline(score.scaled, width) - tail(score.scaled, width)
    closed = baseline(gap, width) - tail(gap, width)
    if not (trend(score.scaled).falling and trend(reward.scaled).rising and lost > t.score_fall * span and closed > 2 * lost):
        return None
    level = smoothed(score)
    start = baseline(score.scaled, width)
    held = np.flatnonzero(level >= start - t.score_fall * span)
    since = min(int(held[-1]) + 1 if len(held) else 0, len(score) - 1)
    facts = {
        "score_then": derived(start, f"median of the first {width} values of {score.name}", metric=score.name),
        "score_now": derived(tail(score.scaled, width), f"median of the last {width} values of {score.name}", metric=score.name),
        "reward_then": derived(baseline(reward.scaled, width), f"median of the first {width} values of {reward.name}", metric=reward.name),
        "reward_now": derived(tail(reward.scaled, width), f"median of the last {width} values of {reward.name}", metric=reward.name),
        "since": count(int(score.steps[since])),
        "step": count(int(score.steps[-1])),
    }
    return Finding(
        "reward-hacking",
        severity="high",
        confidence=0.8,
        first_step=step_at(score, since),
        last_step=step_at(score, -1),
        evidence=[score.point(0), score.point(-1), reward.point(0), reward.point(-1)],
        facts=facts,
        variant="penalty",
        causes=["penalty", "proxy"],
    )


@detector("overfitting")
def overfitting(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    memorised = _loss_overfit(view, t)
    if memorised is not None:
        return memorised
    score = known(view, "score_mean")
    curves = [one for one in main_validations(view) if len(one.series) >= t.evaluations]
    if score is None or not curves:
        losses = view.has("train_loss", "val_loss") or view.has("preference_loss", "preference_val_loss")
        return None if losses else NotChecked("trainer.test_freq=10")
    span = spread_of(view, score)
    found = [split for one in curves if (split := _parted(score, one.series, span, t)) is not None]
    if not found:
        return None
    widened, curve, train, since = max(found, key=lambda split: split[0])
    then = slice(max(since - 1, 0), since + 2)
    facts = {
        "widened": derived(widened, f"growth of ({score.name} − {curve.name}) since validation {since + 1}, medians of three"),
        "train_then": derived(median(train[then]), f"{score.name}, smoothed", metric=score.name),
        "train_now": derived(tail(train, 3), f"{score.name}, smoothed", metric=score.name),
        "validation_then": derived(median(curve.scaled[then]), f"median of three values of {curve.name}", metric=curve.name),
        "validation_now": derived(tail(curve.scaled, 3), f"median of the last three values of {curve.name}", metric=curve.name),
        "since": count(int(curve.steps[since])),
        "step": count(int(curve.steps[-1])),
    }
    return Finding(
        "overfitting",
        confidence=0.65,
        first_step=step_at(curve, since),
        last_step=step_at(curve, -1),
        evidence=[curve.point(since), curve.point(-1), score.point(-1)],
        facts=facts,
    )


def _parted(score: Series, curve: Series, span: float, t: Thresholds) -> tuple[float, Series, FloatArray, int] | None:
    """Growth of the gap, the curve, the training score at its steps, and the validation since which the two part.

    Looked at over the second half of the validations; over all of them the gap has to be wider, as the first steps often only teach
    the training format. A gap within the scatter of the validation is none.
    """
    train = at_steps(score, curve.steps)
    noise = t.noise * step_noise(curve.scaled)
    for since, gain, gap in ((len(curve) // 2, t.train_gain, t.gap), (1, t.whole_gap, t.whole_gap)):
        if since == 1 and len(curve) < 2 * t.evaluations:
            return None
        then = slice(max(since - 1, 0), since + 2)
        gained = tail(train, 3) - median(train[then])
        moved = tail(curve.scaled, 3) - median(curve.scaled[then])
        climbs = trend(score.scaled[score.steps >= curve.steps[then.start]]).rising
        still = moved < t.validation_gain * span and trend(curve.scaled[then.start :]).z <= 1.5
        if climbs and still and gained > gain * span and gained - moved > max(gap * span, noise):
            return gained - moved, curve, train, since
    return None


def _loss_overfit(view: RunView, t: Thresholds) -> Finding | None:
    """Validation loss past its minimum and rising while the training loss still falls."""
    for names in (("train_loss", "val_loss"), ("preference_loss", "preference_val_loss")):
        train, held_out = (known(view, name) for name in names)
        if train is not None and held_out is not None and (found := _risen(finite_part(train), finite_part(held_out), t)) is not None:
            return found
    return None


def _risen(train: Series, curve: Series, t: Thresholds) -> Finding | None:
    if len(curve) < t.evaluations:
        return None
    values = curve.scaled
    best = int(np.argmin(values))
    later = values[best + 1 :]
    rise = median(values[-2:]) - float(values[best])
    level = at_steps(train, curve.steps)
    if len(later) < 2 or not level[-1] < level[best] or rise < 3 * step_noise(values):
        return None
    clear = rise >= t.loss_rise * float(values[best])
    slight = (
        len(later) >= t.later
        and bool((later > (1 + t.slight_rise) * float(values[best])).all())
        and level[-1] < (1 - t.train_fall) * level[best]
    )
    if not (clear or slight):
        return None
    facts = {
        "best": printed(curve.point(best)),
        "best_step": count(int(curve.steps[best])),
        "now": printed(curve.point(-1)),
        "step": count(int(curve.steps[-1])),
        "train_then": derived(float(level[best]), f"{train.name}, smoothed", metric=train.name),
        "train_now": derived(float(level[-1]), f"{train.name}, smoothed", metric=train.name),
    }
    return Finding(
        "overfitting",
        severity=None if clear else "low",
        confidence=0.85 if clear else 0.7,
        first_step=step_at(curve, best),
        last_step=step_at(curve, -1),
        evidence=[curve.point(best), curve.point(-1)],
        facts=facts,
        variant="loss",
    )


@detector("validation-overlaps-train", needs=("train_loss", "val_loss"), min_points=40)
def validation_overlaps_train(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """The loss falls in steps at epoch boundaries (text seen before), and validation is as low as that memorised text."""
    train, held_out = known(view, "train_loss"), known(view, "val_loss")
    assert train is not None
    assert held_out is not None
    train, curve = finite_part(train), finite_part(held_out)
    stairs = _staircase(train.scaled, int(t.most_epochs), t.jump_share, t.jump_noise)
    if stairs is None:
        return None
    epochs, boundaries = stairs
    fresh = median(train.scaled[boundaries[0] // 2 : boundaries[0]])
    seen = float(at_steps(train, curve.steps[-1:])[0])
    last = float(curve.scaled[-1])
    if int(curve.steps[-1]) <= int(train.steps[boundaries[0]]) or not (seen < t.memorised * fresh and last < t.as_low * fresh):
        return None
    facts = {
        "val": printed(curve.point(-1)),
        "step": count(int(curve.steps[-1])),
        "fresh": derived(fresh, f"median of {train.name} in the second half of the first epoch", metric=train.name),
        "seen": derived(seen, f"median of the last values of {train.name}", metric=train.name),
        "epochs": count(epochs, "epochs that fit the steps in the loss"),
        "boundary": count(int(train.steps[boundaries[0]])),
    }
    evidence = [train.point(max(boundaries[0] - 1, 0)), train.point(-1), curve.point(-1)]
    return Finding(
        "validation-overlaps-train",
        confidence=0.75,
        first_step=int(train.steps[boundaries[0]]),
        last_step=step_at(curve, -1),
        evidence=evidence,
        facts=facts,
    )


def _staircase(values: FloatArray, most: int, share: float, noise: float) -> tuple[int, list[int]] | None:
    """Number of epochs and the indices of their starts, when most of the late decline happens at epoch boundaries."""
    best: tuple[float, int, list[int]] | None = None
    n = len(values)
    for epochs in range(2, most + 1):
        length = n / epochs
        if length < 12:
            break
        starts = [round(length * k) for k in range(1, epochs)]
        width = max(4, int(length // 5))
        drops = np.array([median(values[s - width : s]) - median(values[s : s + width]) for s in starts])
        total = median(values[starts[0] - width : starts[0]]) - median(values[-width:])
        scatter = step_noise(values) * 1.25 * np.sqrt(2 / width)
        if total <= 0 or np.mean(drops > 0) < 0.75 or drops[0] < noise * scatter or drops.mean() < noise / 2 * scatter:
            continue
        explained = float(drops.sum()) / total
        if explained > share and (best is None or explained > best[0]):
            best = (explained, epochs, starts)
    return None if best is None else (best[1], best[2])


@detector("validation-noisy")
def validation_noisy(view: RunView, t: Thresholds) -> Finding | None:
    """Neighbouring validations differ by as much as the whole later curve moves: single values say little."""
    curves = [one for one in main_validations(view) if len(one.series) >= t.evaluations]
    if not curves:
        return None
    for one in curves:
        curve = one.series
        late = curve.take(np.arange(len(curve) // 3, len(curve)))
        noise = step_noise(late.scaled)
        moved = abs(tail(late.scaled, 3) - baseline(late.scaled, 3))
        swings = np.mean(np.diff(np.sign(np.diff(late.scaled))) != 0)
        spread = float(np.ptp(late.scaled))
        if not (noise > 0 and swings >= t.swings and moved < t.moved * noise and spread > t.spread * np.ptp(curve.scaled)):
            continue
        facts = {
            "noise": derived(noise, f"scatter of neighbouring values of {curve.name} since step {int(late.steps[0])}", metric=curve.name),
            "low": printed(late.point(int(np.argmin(late.scaled)))),
            "high": printed(late.point(int(np.argmax(late.scaled)))),
            "since": count(int(late.steps[0])),
            "step": count(int(late.steps[-1])),
        }
        evidence = [late.point(int(np.argmin(late.scaled))), late.point(int(np.argmax(late.scaled))), late.point(-1)]
        return Finding(
            "validation-noisy",
            confidence=0.65,
            first_step=step_at(late, 0),
            last_step=step_at(late, -1),
            evidence=evidence,
            facts=facts,
        )
    return None
