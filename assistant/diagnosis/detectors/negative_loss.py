"""A loss below zero: what it is made of, where people expect an error that cannot be negative."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis.batch import clean, grouped, step_fact, step_of, whitened
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import configured, count, derived, percent, printed, quoted
from assistant.diagnosis.finding import Finding
from assistant.diagnosis.stats import median
from assistant.diagnosis.view import RunView

_BONUS = "actor_rollout_ref.actor.entropy_coeff"


@detector("negative-loss")
def negative_loss(view: RunView, t: Thresholds) -> Finding | None:
    """The full loss where it is printed (verl ≥ 0.8), else the policy loss; only where it is clearly and nearly always negative."""
    series = clean(view["policy_total_loss"]) or clean(view["policy_loss"])
    if series is None:
        return None
    negative = series.values < 0
    least = t.level if len(series) >= t.steps else t.level_of_few
    if negative.mean() < t.share or abs(median(series.values)) < least:
        return None
    last = int(np.flatnonzero(negative)[-1])
    facts = {
        "metric": quoted(series.name, series.point(last).line),
        "share": percent(float(negative.mean()), f"share of steps with {series.name} < 0", metric=series.name),
        "n": count(len(series), "steps"),
        "last": printed(series.point(last)),
        "step": step_fact(series, last),
    }
    evidence = [series.point(last)]
    variant, causes = "default", ["unnormalised", "length-correlation", "moved"]
    bonus = view.number(_BONUS)
    mean = clean(view["advantage_mean"])
    if bonus and bonus > 0 and view.has("policy_total_loss"):
        variant, causes = "entropy", ["entropy-bonus"]
        facts["coefficient"] = configured(bonus, _BONUS, view.run.config_lines.get(_BONUS))
    elif grouped(view) and not whitened(view) and mean is not None and median(mean.values) > 0:
        variant, causes = "length", ["length-correlation"]
        facts["advantage"] = derived(median(mean.values), f"median of {mean.name}", metric=mean.name)
        evidence.append(mean.point(-1))
    return Finding(
        "negative-loss",
        confidence=0.4,  # odd to read and harmless: below whatever else is there
        first_step=step_of(series, int(np.argmax(negative))),
        last_step=step_of(series, last),
        evidence=evidence,
        facts=facts,
        variant=variant,
        causes=causes,
    )
