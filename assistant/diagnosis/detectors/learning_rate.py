"""The learning rate: really zero, only printed as zero, or too high."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis.batch import clean, filled, last_stretch, lower_rate, seen_from_start, step_fact, step_of
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import configured, count, derived, printed
from assistant.diagnosis.finding import Finding, NotChecked, Quantity
from assistant.diagnosis.stats import baseline, median
from assistant.diagnosis.view import RunView
from assistant.run import NO_STEP, SCIENTIFIC, Point, Series, Style

LR = "actor_rollout_ref.actor.optim.lr"


def _rates(view: RunView) -> list[Series]:
    return [s for name in ("policy_lr", "critic_lr", "train_lr") if (s := clean(view[name])) is not None]


_TOO_COARSE = 1e-8
"""Half a unit of the last printed decimal, above which usual learning rates (1e-7 and more) may print as zero."""


def _rounded_away(series: Series) -> bool:
    """Whether the last rate prints as zero by a printer that shows too few decimals for one."""
    decimals = series.styles[-1] < SCIENTIFIC
    return bool(series.values[-1] == 0.0 and decimals) and series.resolution(-1) > _TOO_COARSE


@detector("learning-rate-rounded")
def learning_rate_rounded(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    rates = _rates(view)
    if not rates:
        return NotChecked("policy_lr")
    rounded = [s for s in rates if _rounded_away(s) and s.scale == 1.0]
    summary = not rounded and rates[0].steps[-1] == NO_STEP and len(rates[0]) == 1 and rates[0].values[0] == 0.0
    if summary:
        rounded = rates[:1]
    if not rounded:
        return None
    series = rounded[0]
    facts: dict[str, Quantity] = {"shown": printed(series.point(-1)), "step": step_fact(series, -1)}
    variant = "summary" if summary else "default" if series.styles[-1] == Style.FIXED3 else "decimals"
    rate = view.number(LR) if series.name.startswith("actor") else view.number("critic.optim.lr")
    if rate is not None:
        facts["rate"] = configured(rate, LR if series.name.startswith("actor") else "critic.optim.lr", view.run.config_lines.get(LR))
        variant = "configured" if rate > 0 and variant == "default" else variant
    return Finding(
        "learning-rate-rounded",
        confidence=0.95,
        first_step=step_of(series, 0),
        last_step=step_of(series, -1),
        evidence=[s.point(-1) for s in rounded[:2]],
        facts=facts,
        variant=variant,
    )


@detector("learning-rate-zero")
def learning_rate_zero(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Zero in full precision, longer than a warm-up's first step and earlier than a schedule's last one."""
    rates = _rates(view)
    if not rates:
        return NotChecked("policy_lr")
    series = rates[0]
    if _rounded_away(series):
        return NotChecked("policy_lr")
    if series.styles[-1] == Style.FIXED3:
        return None
    zero = series.values == 0.0
    if zero.all():
        if len(zero) < t.steps:
            return None if len(zero) else NotChecked("policy_lr")
        start, variant = 0, "always"
    else:
        if not zero[-1]:
            return None
        start = int(np.flatnonzero(~zero)[-1]) + 1
        if len(zero) - start < t.steps:
            return None
        variant = "ended"
    facts: dict[str, Quantity] = {
        "rate": printed(series.point(-1)),
        "since": step_fact(series, start),
        "n": count(len(zero) - start, "steps with a learning rate of 0"),
    }
    evidence = [series.point(start), series.point(-1)]
    if variant == "ended":
        facts["before"] = printed(series.point(start - 1))
        evidence.insert(0, series.point(start - 1))
    return Finding(
        "learning-rate-zero",
        confidence=0.9,
        first_step=step_of(series, start),
        last_step=step_of(series, -1),
        evidence=evidence,
        facts=facts,
        variant=variant,
        causes=["warmup-too-long", "configured-zero"] if variant == "always" else ["schedule-ended", "wrong-total"],
    )


@detector("learning-rate-too-high")
def learning_rate_too_high(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """At least two of three in the run's first steps: large old→new KL, heavy clipping, a gradient that explodes."""
    if not seen_from_start(view):
        return NotChecked("log_start")
    early = max(int(t.early), len(view.steps) // 10)
    signs: list[tuple[str, Series, int]] = []
    seen = 0
    for name, limit, k in (("policy_step_kl", t.step_kl, 2), ("policy_clip_fraction", t.clipped, 3)):
        series = clean(view[name])
        if series is None:
            continue
        seen += 1
        held = last_stretch(np.abs(series.values[:early]) > limit, k, 5)
        if held is not None and len(series) >= 5:
            signs.append((name, series, held.start))
    norm = clean(view["policy_grad_norm"])
    if norm is not None and len(norm) >= 8:
        seen += 1
        start = baseline(norm.values, 5)
        held = last_stretch((norm.values[:early] > t.norm_ratio * start) & (norm.values[:early] > 1.0), 3, 5)
        if held is not None:
            signs.append(("policy_grad_norm", norm, held.start))
    if seen < 2:
        return NotChecked("policy_step_kl")
    if len(signs) < 2:
        return None
    evidence: list[Point] = []
    for _, series, where in signs:
        evidence.append(series.point(where))
    since = min(p.step for p in evidence if p.step is not None)
    facts: dict[str, Quantity] = {"n": count(len(signs), "signs"), "since": count(since)}
    variant = "default"
    rate = clean(view["policy_lr"])
    if rate is not None and median(rate.scaled[:early]) > 0:
        facts["rate"] = derived(
            float(np.max(rate.scaled[:early])), f"largest {rate.name} of the first {min(early, len(rate))} steps", metric=rate.name
        )
        variant = "rate"
        evidence.append(rate.point(min(len(rate), early) - 1))
    return Finding(
        "learning-rate-too-high",
        confidence=0.7,
        first_step=since,
        last_step=int(view.steps[min(early, len(view.steps)) - 1]),
        evidence=evidence,
        facts=facts,
        variant=variant,
        fixes=filled("learning-rate-too-high", learning_rate=lower_rate(view)),
    )
