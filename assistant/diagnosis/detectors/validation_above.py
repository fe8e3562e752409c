"""Validation that lies above training, explained by how each is sampled."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.detectors.validation import spread_of
from assistant.diagnosis.facts import count, derived, printed
from assistant.diagnosis.finding import Finding
from assistant.diagnosis.score import at_steps, known, main_validations, step_at
from assistant.diagnosis.stats import median
from assistant.diagnosis.view import RunView, Validation
from assistant.run import FloatArray, Series


@detector("validation-above-train")
def validation_above_train(view: RunView, t: Thresholds) -> Finding | None:
    score = known(view, "score_mean")
    curves = main_validations(view)
    if score is None or not curves:
        return None
    span = spread_of(view, score)
    above: list[tuple[Series, FloatArray, FloatArray]] = []
    for one in curves:
        curve = one.series
        train = at_steps(score, curve.steps)
        both = np.isfinite(train) & (curve.steps > 0)
        gap = (curve.scaled - train)[both]
        if len(gap) >= t.evaluations and median(gap) >= t.gap * span and np.mean(gap > 0) >= t.share:
            above.append((curve, train, gap))
    if len(above) * 2 <= len(curves):  # one easy source among several says nothing about decoding
        return _above_its_scatter(view, score, curves, t)
    curve, train, gap = max(above, key=lambda found: len(found[0]))
    facts = {
        "gap": derived(median(gap), f"median of {curve.name} − {score.name} (smoothed)"),
        "validation": printed(curve.point(-1)),
        "score": derived(float(train[-1]), f"{score.name}, smoothed", metric=score.name),
        "step": count(int(curve.steps[-1])),
    }
    return Finding(
        "validation-above-train",
        confidence=0.7,
        first_step=step_at(curve, 0),
        last_step=step_at(curve, -1),
        evidence=[curve.point(-1), score.point(-1)],
        facts=facts,
    )


def _above_its_scatter(view: RunView, score: Series, curves: list[Validation], t: Thresholds) -> Finding | None:
    """Few evaluations, whose scatter over their episodes is printed with them: each lies above the training episodes by far more."""
    for one in curves:
        curve, scatter = one.series, view.run.series(f"{one.series.name} +/-")
        if scatter is None or not 0 < len(curve) < t.evaluations or not np.array_equal(scatter.steps, curve.steps):
            continue
        train = at_steps(score, curve.steps)
        gap = curve.scaled - train
        if not np.all(gap >= np.maximum(t.scatters * scatter.scaled, t.gap * np.abs(train))):
            continue
        before = int(np.searchsorted(score.steps, curve.steps[-1], side="right")) - 1
        facts = {
            "validation": printed(curve.point(-1)),
            "scatter": printed(scatter.point(-1)),
            "score": printed(score.point(before)),
            "score_step": count(int(score.steps[before])),
            "step": count(int(curve.steps[-1])),
        }
        return Finding(
            "validation-above-train",
            confidence=0.6,
            first_step=step_at(curve, 0),
            last_step=step_at(curve, -1),
            evidence=[curve.point(-1), score.point(before)],
            facts=facts,
            variant="episodes",
        )
    return None
