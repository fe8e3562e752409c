"""One line of evidence a metric: its ends and extremes, medians, trend, the steps that were asked about, and its course."""

from __future__ import annotations

import numpy as np

from assistant.answers.grounding.context import Context
from assistant.answers.grounding.evidence import Curve
from assistant.answers.grounding.shape import shape_of
from assistant.answers.packed.prompts import labels
from assistant.diagnosis.finding import Finding
from assistant.run import Series

COURSE = 7
"""Points of a curve between its first and last."""


def metric_row(context: Context, found: Curve, full: bool, title: str) -> str:
    series = found.series
    parts = [f"{series.name}" + (f" ({title})" if title and title != series.name else "") + f" n={len(series)}"]
    if series.n_nonfinite:
        parts.append(labels()["nonfinite"].format(k=series.n_nonfinite, n=len(series)))
        parts.append(f"first not finite {point_text(context, series, int(np.argmin(series.finite)))}")
    if found.first is None or found.last is None or found.lowest is None or found.highest is None:
        return " | ".join(parts)
    if found.n_finite == 1 or not found.moves:
        return " | ".join([*parts, f"{'always ' if found.n_finite > 1 else ''}{point_text(context, series, found.last)}"])
    parts += [f"first {point_text(context, series, found.first)}", f"last {point_text(context, series, found.last)}"]
    if found.n_finite > 2:
        parts += [f"min {point_text(context, series, found.lowest)}", f"max {point_text(context, series, found.highest)}"]
    if found.n_finite > 20:
        values = series.values[series.finite]
        for name, window in (("first 10", values[:10]), ("last 10", values[-10:])):
            fact = context.evidence.derived(float(np.median(window)), f"median of the {name} values of {series.name}", metric=series.name)
            parts.append(f"median of {name} {fact.id}={fact.text}")
    if found.n_finite >= 4:
        parts.append(_direction(context, found))
    shown = {found.first, found.last, found.lowest, found.highest}
    if full:
        parts += [f"asked {fact}" for fact in asked_values(context, series, shown)]
        parts += [f"{finding.id} begins {point_text(context, series, at)}" for finding, at in _onsets(context, series, shown)]
    if full and found.n_finite > 6:
        where = np.flatnonzero(series.finite)
        between = where[np.linspace(0, len(where) - 1, COURSE + 2).round().astype(np.int64)][1:-1]
        parts.append("course " + " ".join(point_text(context, series, int(i)) for i in dict.fromkeys(between.tolist()) if i not in shown))
    return " | ".join(parts)


_WORDS = {
    "none": "no clear trend",
    "rises": "rising",
    "falls": "falling",
    "rose_then_fell": "rose until about step {step}, then fell",
    "fell_then_rose": "fell until about step {step}, then rose",
    "rose_early": "rose until about step {step}, flat since",
    "fell_early": "fell until about step {step}, flat since",
}


def _direction(context: Context, found: Curve) -> str:
    """The direction as the built-in answers tell it, with the step of a turn."""
    shape = shape_of(found)
    step = None if shape.turn is None else int(found.series.steps[shape.turn])
    if step is not None:
        context.evidence.count(step, f"turn of {found.series.name}, running median")
    return _WORDS[shape.kind].format(step=step)


def asked_values(context: Context, series: Series, shown: set[int]) -> list[str]:
    """Values at the steps of the question and beside them."""
    out = []
    for step in context.question.steps[:3]:
        for near in (step - 1, step, step + 1):
            index = series.index_at(near)
            if index is not None and index not in shown:
                shown.add(index)
                out.append(point_text(context, series, index))
        if series.index_at(step) is None and len(series):
            nearest = int(np.argmin(np.abs(series.steps - step)))
            out.append(f"nothing printed at step {step}; nearest {point_text(context, series, nearest)}")
    return out


def _onsets(context: Context, series: Series, shown: set[int]) -> list[tuple[Finding, int]]:
    out = []
    for finding in context.diagnosis.faults[:3]:
        if finding.first_step is not None and any(p.metric == series.name for p in finding.evidence):
            index = series.index_at(finding.first_step)
            if index is not None and index not in shown:
                shown.add(index)
                out.append((finding, index))
    return out


def point_text(context: Context, series: Series, index: int) -> str:
    fact = context.evidence.point(series.point(index))
    return f"{fact.id}={fact.text}" + (f"@{fact.step}" if fact.step is not None else "")
