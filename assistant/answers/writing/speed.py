"""Where the time of a step goes: the largest timers, what is inside them, and whether a check calls the speed abnormal."""

from __future__ import annotations

from assistant.answers.grounding.context import Context, causes
from assistant.answers.writing.about import not_here
from assistant.answers.writing.duration import largest_timer, seconds, share
from assistant.answers.writing.problems import to_do
from assistant.diagnosis.detector import registered
from assistant.diagnosis.finding import Finding
from assistant.diagnosis.timing import Row, step_times

SHOWN = 5
"""Timers named in the answer; smaller ones are left to the table of the diagnosis."""


def where_time_goes(context: Context) -> list[str]:
    times = step_times(context.view)
    rows = times.table() if times is not None else []
    inside = [row for row in rows if row.parent == "step" and row.name]
    if times is None or not inside:
        return [context.say("time_none")]
    asked = [row for row in rows if row.canonical in context.question.metrics and row.name]
    top = inside[0]
    parts = [largest_timer(context)]
    if asked and asked[0] is not top:
        parts.insert(0, context.say("time_timer", name=asked[0].name, share=share(context, asked[0])))
    for metric in context.question.metrics[:2]:
        if metric.startswith("time_") and context.series(metric) is None:
            parts.insert(0, not_here(context, metric))
    parts.append(
        context.say("label_values")
        + context.joined(_lines(context, rows))
        + context.say("stop")
        + (" " if context.language == "en" else "")
        + context.say("time_note")
    )
    about = slow_findings(context)
    if about:
        lead = about[0]
        parts.append(context.evidence.summary(lead))
        if reasons := causes(context, lead, 2):
            parts.append(context.say("label_why") + reasons)
        parts.append(to_do(context, lead))
    else:
        parts.append(context.say("time_no_fault"))
    return parts


def slow_findings(context: Context) -> list[Finding]:
    """Findings of this run that speak of time, faults first."""
    out = []
    for finding in context.diagnosis.findings:
        detector = registered().get(finding.id)
        names = context.view.names
        canonical = [names[p.metric].canonical for p in finding.evidence if p.metric in names]
        needs = detector.needs if detector else ()
        if any(name.startswith(("time_", "per_token_", "throughput", "mfu", "seconds_per_step")) for name in (*canonical[:1], *needs[:1])):
            out.append(finding)
    return sorted(out, key=lambda f: f.severity == "info")


def _lines(context: Context, rows: list[Row]) -> list[str]:
    lines: list[str] = []
    for row in rows:
        if len(lines) >= SHOWN:
            break
        if row.parent == "step" and row.name:
            lines.append(context.say("time_row", name=row.name, seconds=seconds(context, row), share=share(context, row)))
        elif row.parent == "gen":
            lines.append(context.say("time_row_inside", name=row.name, seconds=seconds(context, row)))
    rest = next((row for row in rows if row.canonical == "residual"), None)
    if rest is not None and rest.share > 0.05:
        lines.append(context.say("time_rest", seconds=seconds(context, rest), share=share(context, rest)))
    for row in rows:
        if row.parent == "outside" and row.n:
            n = context.evidence.count(row.n, f"steps with {row.name}")
            lines.append(context.say("time_outside", n=n.text, name=row.name, seconds=seconds(context, row)))
    return lines
