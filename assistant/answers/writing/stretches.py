"""Values over a stretch of the run: mean, median, sum or spread of the last n steps, of steps a to b, of all."""

from __future__ import annotations

from assistant.answers.grounding.context import Context
from assistant.answers.grounding.evidence import curve
from assistant.answers.writing.about import absent
from assistant.answers.writing.duration import summed_step
from assistant.answers.writing.problems import KEY_METRICS
from assistant.answers.writing.ranges import in_stretch, meant

STEP_TIME = ("time_step", "seconds_per_step")
MOST = 4
"""Metrics answered for at once."""


def stretch(context: Context) -> list[str]:
    """The statistic asked for, per metric; without a metric, the main ones before and in the stretch."""
    question = context.question
    parts: list[str] = []
    for metric in meant(context)[:MOST]:
        found = context.curve(metric)
        if found is None and metric in STEP_TIME and (summed := summed_step(context)):
            parts.append(summed)
        else:
            parts.extend(absent(context, metric) if found is None else [in_stretch(context, found)])
    for key in question.extra_keys[:MOST]:
        series = context.view.printed(key)
        if series is not None and len(series):
            parts.append(in_stretch(context, curve(series)))
    if not parts:
        rows = [found for metric in KEY_METRICS if (found := context.curve(metric)) is not None]
        parts = [in_stretch(context, found, short=True) for found in rows[: MOST + 1]]
    return parts or [context.say("no_values")]
