"""Times as facts: seconds and shares of timers."""

from __future__ import annotations

from assistant.answers.context import Context
from assistant.diagnosis.facts import number
from assistant.diagnosis.timing import Row, step_times


def largest_timer(context: Context, asked: str = "") -> str:
    """Which timer takes most of a step, after the share of the one ``asked`` for; "" when the log has no timers."""
    times = step_times(context.view)
    rows = [row for row in times.table() if row.parent == "step" and row.name] if times is not None else []
    if times is None or not rows:
        return ""
    total = context.evidence.derived(times.typical, "median seconds of a step, validation and checkpoints left out")
    lead = context.say("time_lead", name=rows[0].name, seconds=seconds(context, rows[0]), total=total.text, share=share(context, rows[0]))
    own = [row for row in rows[1:] if row.canonical == asked]
    return context.glue([*(context.say("time_timer", name=row.name, share=share(context, row)) for row in own), lead])


def seconds(context: Context, row: Row) -> str:
    return context.evidence.derived(row.seconds, f"mean of {row.name or 'step time in no timer'}", metric=row.name or None).text


def share(context: Context, row: Row) -> str:
    text = f"{number(round(100 * row.share, 1))}%"
    return context.evidence.derived(
        row.share, f"sum of {row.name or 'time in no timer'} / sum of the step time", metric=row.name or None, text=text
    ).text
