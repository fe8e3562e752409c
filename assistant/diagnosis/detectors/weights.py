"""A model that guesses: the weights that run are not the trained ones."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis.batch import clean, seen_from_start, step_fact, step_of
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.detectors.policy import token_entropy
from assistant.diagnosis.facts import derived, number, printed, quoted
from assistant.diagnosis.finding import Finding, NotChecked
from assistant.diagnosis.stats import median
from assistant.diagnosis.view import RunView
from assistant.run import FloatArray


@detector("weights-not-loaded", also=("entropy-at-maximum",))
def weights_not_loaded(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Entropy near ln(vocabulary) from the first value on. Beside a small KL to the reference the loaded model itself is random."""
    if (guessing := _guesses(view, t)) is not None:
        return guessing
    series = token_entropy(view, t.ceiling)
    if isinstance(series, NotChecked):
        return series
    values: FloatArray = series.values
    if median(values) < t.level or values[0] < t.level:
        return None
    reference = clean(view["reference_kl"])
    near = reference is not None and median(reference.values) < t.reference_kl
    facts = {
        "first": printed(series.point(0)),
        "step": step_fact(series, 0),
        "tokens": derived(
            float(np.exp(values[0])), f"exp({series.name}) at the first step", text=number(float(np.round(np.exp(values[0]), -2)))
        ),
    }
    evidence = [series.point(0)] + ([series.point(-1)] if len(series) > 1 else [])
    if near or seen_from_start(view):
        variant = "default"
        if near and reference is not None:
            facts["kl"] = printed(reference.point(-1))
            evidence.append(reference.point(-1))
            variant = "near_reference"
        return Finding(
            "weights-not-loaded",
            confidence=0.85 if near else 0.75,
            first_step=step_of(series, 0),
            last_step=step_of(series, -1),
            evidence=evidence,
            facts=facts,
            variant=variant,
        )
    return Finding(
        "entropy-at-maximum",
        confidence=0.7,
        first_step=step_of(series, 0),
        last_step=step_of(series, -1),
        evidence=evidence,
        facts=facts,
    )


def _guesses(view: RunView, t: Thresholds) -> Finding | None:
    """Supervised training whose loss stays near ln(vocabulary) while (almost) no token is predicted."""
    loss, right = clean(view["train_loss"]), clean(view["token_accuracy"])
    if loss is None or right is None or len(loss) < 2 or not seen_from_start(view):
        return None
    if not (t.level < median(loss.values) < t.ceiling and right.values.max() < t.right and np.ptp(loss.values) < t.still):
        return None
    facts = {
        "metric": quoted(loss.name, loss.point(0).line),
        "first": printed(loss.point(0)),
        "now": printed(loss.point(-1)),
        "right": printed(right.point(-1)),
        "step": step_fact(loss, -1),
        "tokens": derived(float(np.exp(loss.values[0])), f"exp({loss.name})", text=number(float(np.round(np.exp(loss.values[0]), -2)))),
    }
    points = [loss.point(0), loss.point(-1), right.point(-1)]
    return Finding("weights-not-loaded", None, 0.7, step_of(loss, 0), step_of(loss, -1), points, facts, "loss", ["not-loaded", "tokenizer"])
