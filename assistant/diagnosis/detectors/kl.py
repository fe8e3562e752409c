"""How far the policy moves: within a step (old → new), and from the reference."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis.batch import (
    EARLY,
    Mask,
    clean,
    filled,
    last_stretch,
    lower_rate,
    prints_zero,
    seen_from_start,
    setting_is,
    spread_at,
    step_fact,
    step_of,
)
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import configured, count, derived, percent, printed, quoted
from assistant.diagnosis.finding import Finding, NotChecked, Quantity
from assistant.diagnosis.naming import family
from assistant.diagnosis.stats import Interval, baseline, few, median, tail, trend
from assistant.diagnosis.view import RunView
from assistant.run import Series, Style

LOSS_MODE = "actor_rollout_ref.actor.policy_loss.loss_mode"
BYPASS = "algorithm.rollout_correction.bypass_mode"
CLASSIC = frozenset({"sb3", "cleanrl", "rllib"})
"""Agents of classic RL: PPO there always makes several passes over a batch, so that KL and clipping of 0 mean something else."""

SEVERAL_PASSES = CLASSIC | {"trl", "trlx", "torchtune"}
"""Trainers whose PPO makes several passes over a batch by default: their KL to the old policy is that after the passes."""


def _worst(series: Series, held: Interval) -> int:
    return held.start + int(np.argmax(np.abs(series.values[held.start : held.end + 1])))


def _span(series: Series, held: Interval) -> dict[str, Quantity]:
    worst = _worst(series, held)
    return {
        "worst": printed(series.point(worst)),
        "worst_step": step_fact(series, worst),
        "now": printed(series.point(-1)),
        "step_now": step_fact(series, -1),
        "since": step_fact(series, held.start),
    }


def _found(finding_id: str, series: Series, held: Interval, **more: object) -> Finding:
    facts = _span(series, held)
    worst = _worst(series, held)
    points = [series.point(index) for index in dict.fromkeys((held.start, worst))]
    extra: dict[str, Quantity] = more.pop("facts", {})  # type: ignore[assignment]
    return Finding(
        finding_id,
        first_step=step_of(series, held.start),
        last_step=step_of(series, held.end),
        evidence=points,
        facts={**facts, **extra},
        **more,  # type: ignore[arg-type]
    )


@detector("kl-blowup")
def kl_blowup(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Needs either KL to the reference: as loss term or in the reward."""
    series = clean(view["reference_kl"])
    if series is None or prints_zero(series).all():  # 0.7 prints a constant 0.0 when the term is off
        series = clean(view["reward_kl"]) or series
    summed = series is None  # over an answer
    series = clean(view["reference_kl_sum"]) if series is None else series
    if series is None:
        return NotChecked("actor_rollout_ref.actor.use_kl_loss=True")
    limit, least = (t.sum_level, t.sum_least_start) if summed else (t.level, t.least_start)
    values = series.values
    head = few(len(values), 5)
    start = baseline(values, head)
    if seen_from_start(view):
        if len(values) < 5:
            return NotChecked("steps>=5")
        far = (values > limit) & (values > t.small_ratio * max(start, least))
        if not summed:
            far |= (values > t.watch) & (values > t.ratio * max(start, least))
    else:
        far = values > (t.small_ratio if summed else 1) * limit
    held = last_stretch(far, 3, 5)
    if held is None:
        return None
    score = clean(view["score_mean"])
    direction = trend(score.values[score.steps >= int(series.steps[held.start])]) if score is not None else None
    variant = "default"
    facts: dict[str, Quantity] = {"start": derived(start, f"median of {series.name}, first {head} values", metric=series.name)}
    if not seen_from_start(view):
        variant = "tail"
    elif direction is not None and direction.falling:
        variant = "score_falls"
    elif direction is not None and direction.rising:
        variant = "score_rises"
    if summed and variant == "score_rises":
        return None  # how far that is for a token depends on the length, and the score gains by it
    loss_term = view["reference_kl"]
    in_loss = loss_term is not None and series.name == loss_term.name
    sure = 0.9 if tail(values, 3) > t.beyond * limit else 0.85 if len(values) >= 10 else 0.65
    wanted = {"kl-loss-coef" if in_loss else "kl-reward-coef": None, "learning-rate": lower_rate(view)}
    return _found("kl-blowup", series, held, facts=facts, variant=variant, confidence=sure, fixes=wanted)


@detector("kl-estimator-saturated", needs=("reference_kl",))
def kl_estimator_saturated(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    series = clean(view["reference_kl"])
    if series is None or family(view.run.framework) != "verl":  # only verl cuts the estimate off
        return NotChecked("reference_kl") if series is None else None
    kind = str(view.setting("actor_rollout_ref.actor.kl_loss_type", default="low_var_kl")).rstrip("+")
    if kind not in ("low_var_kl", "k3"):
        return None
    factor = (view.updates_per_step or 1.0) if view.era_is(">=0.7,<0.8") else 1.0
    values = series.values / factor
    held = last_stretch(values > t.level, 3, 5)
    if held is None or values[held.start : held.end + 1].max() > t.clamp:  # a mean above the clamp: this estimate is not clamped
        return None
    return _found(
        "kl-estimator-saturated",
        series,
        held,
        confidence=0.85 if len(values) >= 3 else 0.7,
        fixes=filled("kl-estimator-saturated", learning_rate=lower_rate(view)),
    )


@detector("kl-negative")
def kl_negative(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Mean k1 KL is an average over the sampling policy: clearly negative for long means that something else was sampled."""
    kind = str(view.setting("algorithm.kl_penalty", default="kl"))
    candidates = [("reward_kl", t.level)] if kind in ("kl", "k1") else []
    candidates += [("rollout_kl", t.rollout_level), ("reference_kl_sum", t.sum_level)]
    seen = False
    for name, limit in candidates:
        series = clean(view[name])
        if series is None:
            continue
        seen = True
        held = last_stretch(series.values < -limit, 5, 10)
        if held is not None and len(series) >= 3 and median(series.values[held.start :]) < -limit:
            variant = {"reward_kl": "default", "rollout_kl": "rollout"}.get(name, "sum")
            return _found("kl-negative", series, held, variant=variant, confidence=0.75)
    return None if seen else NotChecked("actor_rollout_ref.rollout.calculate_log_probs=True")


@detector("policy-step-too-large", needs=("policy_step_kl",))
def policy_step_too_large(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    if view.setting(BYPASS) is True:
        return NotChecked("algorithm.rollout_correction.bypass_mode=False")
    series = clean(view["policy_step_kl"])
    if series is None:
        return NotChecked("policy_step_kl")
    size = np.abs(series.values)
    large = size > t.level
    held = last_stretch(large, 2, 5)
    if held is None and len(size) < 5 and (size > t.extreme).any():  # so large that one update is enough to tell
        held = Interval(int(np.argmax(size > t.extreme)), int(np.flatnonzero(size > t.extreme)[-1]), bool(size[-1] > t.extreme))
    if held is None:
        return None
    facts: dict[str, Quantity] = {"median": derived(median(size), f"median of |{series.name}|", metric=series.name)}
    return _found(
        "policy-step-too-large",
        series,
        held,
        facts=facts,
        variant="default" if len(series) >= 5 else "short",
        confidence=0.85 if len(series) >= 5 else 0.65,
        causes=_step_causes(view),
        fixes=filled("policy-step-too-large", learning_rate=lower_rate(view)),
    )


def _step_causes(view: RunView) -> list[str]:
    updates = view.updates_per_step
    order = ["learning-rate", "many-updates", "stale-logprobs"]
    if updates is not None and updates <= 1:
        return ["learning-rate", "stale-logprobs"]
    if updates is not None and updates > 8:
        return ["many-updates", "learning-rate", "stale-logprobs"]
    return order


@detector("clip-saturation", needs=("policy_clip_fraction",))
def clip_saturation(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    if not setting_is(view, LOSS_MODE, "", "vanilla", "none"):
        return NotChecked(f"{LOSS_MODE}=vanilla")  # the same key counts other things: gspo clips whole answers, clip_cov by covariance
    series = clean(view["policy_clip_fraction"])
    if series is None:
        return NotChecked("policy_clip_fraction")
    held = last_stretch(series.values > t.level, 3, 5)
    if held is None:
        return None
    facts = {"share": percent(median(series.values[held.start : held.end + 1]), f"median of {series.name} since then", metric=series.name)}
    return _found(
        "clip-saturation",
        series,
        held,
        facts=facts,
        variant="samples" if family(view.run.framework) in CLASSIC else "default",
        confidence=0.85 if len(series) >= 5 else 0.65,
        causes=_clip_causes(view),
        fixes=filled("clip-saturation", learning_rate=lower_rate(view)),
    )


def _clip_causes(view: RunView) -> list[str]:
    rest = ["learning-rate", "many-updates", "clip-range", "mismatch"]
    return ["mismatch", *rest[:3]] if view.setting(BYPASS) is True else rest


@detector("dual-clip-firing", needs=("policy_dual_clip_fraction",))
def dual_clip_firing(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    series = clean(view["policy_dual_clip_fraction"])
    if series is None:
        return NotChecked("policy_dual_clip_fraction")
    held = last_stretch(series.values > t.level, 3, 5)
    if held is None:
        return None
    facts = {"share": percent(median(series.values[held.start : held.end + 1]), f"median of {series.name} since then", metric=series.name)}
    return _found("dual-clip-firing", series, held, facts=facts, confidence=0.8 if len(series) >= 5 else 0.6)


@detector("on-policy-zero-kl", needs=("policy_clip_fraction",))
def on_policy_zero_kl(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    pair = view.together("policy_step_kl", "policy_clip_fraction")
    if pair is None:
        return _nothing_clipped(view, t)
    kl, clipped = clean(pair[0]), clean(pair[1])
    norm = clean(view["policy_grad_norm"])
    if kl is None or clipped is None or (norm is not None and prints_zero(norm).all()) or family(view.run.framework) in CLASSIC:
        return None
    if not (prints_zero(kl, t.tiny).all() and prints_zero(clipped, t.tiny).all()):
        return None
    updates = view.updates_per_step
    rounded = bool((kl.styles == Style.FIXED3).all())
    if updates is not None and updates > 1 and not rounded:
        return None  # several updates a step and yet no movement: not this
    facts = {"kl": printed(kl.point(-1)), "clipped": printed(clipped.point(-1)), "n": count(len(kl), "steps")}
    variant = "rounded" if rounded else "default"
    if updates is not None and updates <= 1:
        variant = "single_update"
        facts["batch"] = configured(view.number("data.train_batch_size") or 0.0, "data.train_batch_size")
        facts["mini"] = configured(
            view.number("actor_rollout_ref.actor.ppo_mini_batch_size") or 0.0, "actor_rollout_ref.actor.ppo_mini_batch_size"
        )
    elif rounded and updates is not None:
        variant = "rounded_updates"
        facts["updates"] = derived(updates, "train_batch_size / ppo_mini_batch_size × ppo_epochs")
    evidence = [kl.point(-1), clipped.point(-1)] + ([norm.point(-1)] if norm is not None else [])
    return Finding(
        "on-policy-zero-kl",
        confidence=0.95 if updates is not None else 0.8,
        first_step=step_of(kl, 0),
        last_step=step_of(kl, -1),
        evidence=evidence,
        facts=facts,
        variant=variant,
    )


def _nothing_clipped(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Without a KL between old and new policy: nothing was ever clipped although gradients flow."""
    clipped, norm = clean(view["policy_clip_fraction"]), clean(view["policy_grad_norm"])
    if clipped is None or norm is None:
        return NotChecked("policy_step_kl")
    if prints_zero(norm).all() or not prints_zero(clipped, t.tiny).all() or family(view.run.framework) in CLASSIC:
        return None
    last, flowing = clipped.point(-1), norm.point(int(np.flatnonzero(~prints_zero(norm))[-1]))
    facts = {
        "metric": quoted(clipped.name, last.line),
        "clipped": printed(last),
        "norm": printed(flowing),
        "n": count(len(clipped), "logged steps"),
    }
    return Finding(
        "on-policy-zero-kl",
        confidence=0.7,
        first_step=step_of(clipped, 0),
        last_step=step_of(clipped, -1),
        evidence=[last, flowing],
        facts=facts,
        variant="clip_only",
    )


@detector("kl-overconstrained", needs=("reference_kl",), min_points=50)
def kl_overconstrained(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """A large coefficient, a KL that does not leave zero, a score that does not move: all three."""
    series, score = clean(view["reference_kl"]), clean(view["score_mean"])
    coefficient = clean(view["reference_kl_coef"])
    if series is None or score is None or coefficient is None:
        return NotChecked("actor_rollout_ref.actor.use_kl_loss=True")
    beta = float(coefficient.values[-1])
    spread = spread_at(view, score)
    if beta < t.coefficient or tail(series.values) > t.kl or (spread is not None and spread.mean() < 0.5):
        return None
    if abs(trend(score.values).z) > 1.5 or tail(score.values) - baseline(score.values) > t.gain:
        return None
    facts = {
        "beta": printed(coefficient.point(-1)),
        "kl": printed(series.point(-1)),
        "score_start": derived(baseline(score.values), f"median of {score.name}, first 10 values", metric=score.name),
        "score_now": derived(tail(score.values), f"median of {score.name}, last 10 values", metric=score.name),
        "n": count(len(score), "steps"),
    }
    return Finding(
        "kl-overconstrained",
        confidence=0.6,
        first_step=step_of(series, 0),
        last_step=step_of(series, -1),
        evidence=[coefficient.point(-1), series.point(-1), score.point(-1)],
        facts=facts,
    )


@detector("kl-nonzero-at-start")
def kl_nonzero_at_start(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """At the first step the policy is the reference and (almost) the old policy: a large KL there means different models or settings.

    A line that covers several steps shows it only by a KL that these few updates cannot make.
    """
    if not seen_from_start(view):
        return NotChecked("log_start")
    at_once = int(view.steps[0]) <= 1
    checks = [("reference_kl", t.reference, "default"), ("policy_step_kl", t.step, "old_policy")] if at_once else []
    if not at_once and int(view.steps[0]) <= 2 * EARLY:
        checks = [("reference_kl", t.window, "window")]
    seen = False
    for name, limit, variant in checks:
        series = clean(view[name])
        late = series is not None and int(series.steps[0]) > int(view.steps[0])
        if variant == "old_policy" and family(view.run.framework) in SEVERAL_PASSES:
            continue  # the last of several passes over the batch may be anywhere
        if series is None or late or (name == "policy_step_kl" and view.setting(BYPASS) is True):
            continue
        seen = True
        settled: Mask = np.abs(series.values[:3]) > limit
        if bool(settled.all()):
            return Finding(
                "kl-nonzero-at-start",
                severity="high" if variant == "window" else None,
                confidence=0.6 if len(series) < 3 else 0.75,
                first_step=step_of(series, 0),
                last_step=step_of(series, len(settled) - 1),
                evidence=[series.point(0)],
                facts={"kl": printed(series.point(0)), "step": step_fact(series, 0)},
                variant=variant,
            )
    return None if seen else NotChecked("log_start" if not checks else "actor_rollout_ref.actor.use_kl_loss=True")
