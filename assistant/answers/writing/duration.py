"""Times as facts: seconds and shares of timers."""

from __future__ import annotations

import numpy as np

from assistant.answers.grounding.context import Context
from assistant.answers.grounding.selection import selected
from assistant.diagnosis.facts import number
from assistant.diagnosis.timing import Row, step_times
from assistant.run import Series


def largest_timer(context: Context, asked: str = "") -> str:
    """Which timer takes most of a step, after the share of the one ``asked`` for; "" when the log has no timers."""
    times = step_times(context.view)
    rows = [row for row in times.table() if row.parent == "step" and row.name] if times is not None else []
    if times is None or not rows:
        return ""
    total = context.evidence.derived(times.typical, "median seconds of a step, validation and checkpoints left out")
    lead = context.say("time_lead", name=rows[0].name, seconds=seconds(context, rows[0]), total=total.text, share=share(context, rows[0]))
    own = [row for row in rows[1:] if asked and row.canonical == asked]
    return context.glue([*(context.say("time_timer", name=row.name, share=share(context, row)) for row in own), lead])


def summed_step(context: Context) -> str:
    """The time of a step where the log has no timer for it: its timers added up, over the stretch of the question; "" without timers."""
    times = step_times(context.view)
    if times is None or times.measured or not len(times.total):
        return ""
    series = Series("", times.steps, times.total, np.zeros_like(times.steps), np.zeros(len(times.steps), np.uint8))
    chosen = selected(series, context.question.window)
    values = times.total[chosen]
    if not len(values):
        return ""
    first, last = (context.evidence.count(int(times.steps[chosen[i]]), "step of the stretch").text for i in (0, -1))
    mean = context.evidence.derived(float(np.nanmean(values)), f"mean of the sum of the timers, steps {first}–{last}")
    middle = context.evidence.derived(float(np.nanmedian(values)), f"median of the sum of the timers, steps {first}–{last}")
    return context.say("step_summed", mean=mean.text, median=middle.text, span=context.say("span", first=first, last=last))


def seconds(context: Context, row: Row) -> str:
    return context.evidence.derived(row.seconds, f"mean of {row.name or 'step time in no timer'}", metric=row.name or None).text


def share(context: Context, row: Row) -> str:
    text = f"{number(round(100 * row.share, 1))}%"
    return context.evidence.derived(
        row.share, f"sum of {row.name or 'time in no timer'} / sum of the step time", metric=row.name or None, text=text
    ).text
