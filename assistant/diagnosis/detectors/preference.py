"""Preference training (DPO and its relatives): nothing learned, everything memorised, both answers pushed down, and what is normal."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis.batch import clean, seen_from_start, step_fact, step_of
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import count, derived, percent, printed, quoted
from assistant.diagnosis.finding import Finding, NotChecked, Quantity
from assistant.diagnosis.stats import baseline, few, median, tail, trend
from assistant.diagnosis.view import RunView
from assistant.run import Point, Series

SHORT = 20
"""Logged steps below which a level is the median of a few batches."""
LN2 = float(np.log(2.0))


def _at(view: RunView, step: int, *names: str) -> list[Point]:
    """What these metrics print at a step."""
    return [point for name in names if (series := view[name]) is not None and (point := series.at(step)) is not None]


@detector("preference-no-signal", needs=("preference_margin",))
def preference_no_signal(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Policy and reference give one and the same log-probability: margins of exactly 0 after the first step, or of noise for long."""
    margin = clean(view["preference_margin"])
    if margin is None:
        return NotChecked("preference_margin")
    chosen, loss = clean(view["preference_chosen_reward"]), clean(view["preference_loss"])
    exact = margin.values == 0.0
    if chosen is not None:
        exact &= np.isin(margin.steps, chosen.steps[chosen.values == 0.0])
    last = int(margin.steps[-1])
    if bool(exact[-int(t.exact) :].all()) and len(exact) >= t.exact:
        variant, start = "exact", int(np.flatnonzero(~exact)[-1]) + 1 if (~exact).any() else 0
    elif loss is not None and len(loss) >= t.steps and _flat(margin, loss, t):
        variant, start = "default", 0
    else:
        return None
    equal = variant == "exact"
    facts = {
        "margin": printed(margin.point(-1)),
        "step": step_fact(margin, -1),
        "since": step_fact(margin, start),
        "n": count(len(margin) - start, "logged steps"),
    }
    points = [margin.point(-1), *_at(view, last, "preference_loss", "preference_chosen_reward", "preference_accuracy")]
    if loss is not None and (point := loss.at(last)) is not None:
        facts["loss"] = printed(point)
        variant = "exact_loss" if equal else variant
    return Finding(
        "preference-no-signal",
        confidence=0.9 if equal else 0.75,
        first_step=step_of(margin, start),
        last_step=step_of(margin, -1),
        evidence=points[:4],
        facts=facts,
        variant=variant,
        causes=["same-weights", "frozen", "same-pairs"] if equal else ["learning-rate", "frozen", "same-pairs", "beta"],
        fixes={"trainable": None, "look-at-pairs": None} if equal else {"look-at-pairs": None, "learning-rate": None},
    )


def _flat(margin: Series, loss: Series, t: Thresholds) -> bool:
    """Loss at ln 2, margin about 0 and neither with a trend, long after the warm-up."""
    late = loss.values[len(loss) // 2 :]
    still = abs(trend(margin.values).z) < t.flat_z and abs(trend(loss.values).z) < t.flat_z
    return bool(still and abs(median(late) - LN2) < t.near and abs(tail(margin.values)) < t.margin)


@detector("preference-saturated", needs=("preference_margin",))
def preference_saturated(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Loss about 0 and every pair in the right order: nothing is left in the training pairs."""
    margin, loss, right = (clean(view[name]) for name in ("preference_margin", "preference_loss", "preference_accuracy"))
    if margin is None or loss is None:
        return NotChecked("preference_loss")
    held_out = clean(view["preference_val_accuracy"])
    n = min(int(t.window), max(len(loss) // 2, 1))
    now = median(loss.values[-n:])
    accuracy = median(right.values[-n:]) if right is not None else 1.0
    wide = median(margin.values[-n:])
    if len(loss) < t.least or now > t.loss or accuracy < t.accuracy or wide < t.margin:
        return None
    since = int(np.flatnonzero(loss.values > t.loss)[-1]) + 1 if (loss.values > t.loss).any() else 0
    facts = {
        "loss": derived(now, f"median of the last {n} values of {loss.name}", metric=loss.name),
        "margin": derived(wide, f"median of the last {n} values of {margin.name}", metric=margin.name),
        "step": step_fact(loss, -1),
        "since": step_fact(loss, min(since, len(loss) - 1)),
    }
    variant = "default"
    if right is not None:
        facts["accuracy"] = percent(accuracy, f"median of the last {n} values of {right.name}", metric=right.name)
        variant = "accuracy"
    wild = len(loss.values) > n and float(loss.values.max()) > t.wild
    if wild:
        top = int(np.argmax(loss.values))
        facts["worst"], facts["worst_step"] = printed(loss.point(top)), step_fact(loss, top)
        variant = f"{variant}_wild"
    if held_out is not None and tail(held_out.values, 3) >= t.accuracy:
        return None  # new pairs are told apart as well: an easy task
    points = [loss.point(-1), margin.point(-1), *([right.point(-1)] if right is not None else [])]
    return Finding(
        "preference-saturated",
        confidence=0.8,
        first_step=step_of(loss, min(since, len(loss) - 1)),
        last_step=step_of(loss, -1),
        evidence=points,
        facts=facts,
        variant=variant,
        causes=["rate", "epochs", "easy"] if wild else ["epochs", "easy", "rate"],
    )


@detector("preference-degenerate", needs=("chosen_logp", "preference_margin"), min_points=6)
def preference_degenerate(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """The chosen answers become clearly less likely while the margin grows.

    Log-probabilities of single batches follow the length of their answers, so the fall must stand out from that and show in the
    implicit reward, which has the reference taken off.
    """
    logp, margin = clean(view["chosen_logp"]), clean(view["preference_margin"])
    reward = clean(view["preference_chosen_reward"])
    if logp is None or margin is None or reward is None:
        return NotChecked("preference_chosen_reward")
    if not seen_from_start(view):
        return NotChecked("log_start")
    n = few(len(logp))
    start, now = baseline(logp.values, n), tail(logp.values, n)
    lost = start - now
    if len(logp) < SHORT and not trend(logp.values).falling:
        return None  # two batches of longer answers at the end
    sinking = trend(reward.values)
    grown = tail(margin.values, n) - baseline(margin.values, n)
    share = -tail(reward.values, n) / grown if grown > 0 else 0.0
    if not (lost > t.share * abs(start) and lost > t.least and sinking.falling and grown > 0 and share > t.of_margin):
        return None
    level = logp.values < start - 0.5 * lost
    since = int(np.argmax(level)) if level.any() else len(logp) - 1
    facts = {
        "metric": quoted(logp.name, logp.point(-1).line),
        "start": derived(start, f"median of the first {n} values of {logp.name}", metric=logp.name),
        "now": derived(now, f"median of the last {n} values of {logp.name}", metric=logp.name),
        "reward": derived(tail(reward.values, n), f"median of the last {n} values of {reward.name}", metric=reward.name),
        "margin": derived(tail(margin.values, n), f"median of the last {n} values of {margin.name}", metric=margin.name),
        "step": step_fact(logp, -1),
    }
    return Finding(
        "preference-degenerate",
        confidence=0.75,
        first_step=step_of(logp, since),
        last_step=step_of(logp, -1),
        evidence=[logp.point(0), logp.point(-1), reward.point(-1), margin.point(-1)],
        facts=facts,
        variant="numbers",
    )


@detector("preference-rewards-negative", needs=("preference_chosen_reward", "preference_rejected_reward"))
def preference_rewards_negative(view: RunView, t: Thresholds) -> Finding | None:
    """Both implicit rewards below 0 at the end, the chosen one above the other."""
    pair = view.together("preference_chosen_reward", "preference_rejected_reward")
    if pair is None:
        return None
    chosen, rejected = pair
    good = chosen.finite & rejected.finite
    if not good.any():
        return None
    chosen, rejected = chosen.take(good), rejected.take(good)
    now, other = tail(chosen.values, 5), tail(rejected.values, 5)
    if not (now < -t.level and other < now - t.level):
        return None
    facts: dict[str, Quantity] = {
        "chosen": printed(chosen.point(-1)),
        "rejected": printed(rejected.point(-1)),
        "step": step_fact(chosen, -1),
    }
    negative = np.flatnonzero(chosen.values < 0)
    return Finding(
        "preference-rewards-negative",
        confidence=0.7,
        first_step=step_of(chosen, int(negative[0])) if len(negative) else None,
        last_step=step_of(chosen, -1),
        evidence=[chosen.point(-1), rejected.point(-1)],
        facts=facts,
        variant="numbers",
    )


@detector("kl-clamped-at-zero", needs=("kto_kl",))
def kl_clamped_at_zero(view: RunView, t: Thresholds) -> Finding | None:
    """KTO's reference point at 0, while the implicit rewards have left it."""
    kl = clean(view["kto_kl"])
    if kl is None:
        return None
    zero = np.flatnonzero(kl.values == 0.0)
    moved = next((s for name in ("preference_chosen_reward", "preference_rejected_reward") if (s := clean(view[name])) is not None), None)
    if not len(zero) or moved is None or not bool((np.abs(moved.values) > 0).any()):
        return None
    facts = {
        "metric": quoted(kl.name, kl.point(int(zero[-1])).line),
        "n": count(len(zero), f"steps with {kl.name} = 0"),
        "total": count(len(kl), "logged steps"),
    }
    first, last = step_of(kl, int(zero[0])), step_of(kl, int(zero[-1]))
    return Finding("kl-clamped-at-zero", None, 0.8, first, last, [kl.point(int(zero[-1]))], facts, "numbers")
