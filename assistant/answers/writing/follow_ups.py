"""Follow-ups on the answer before: more of it, whether it is sure, and what else there is."""

from __future__ import annotations

import re

from assistant.answers.grounding.context import Context, causes, course, ended, fix_lines, harmless
from assistant.answers.grounding.evidence import code, shortened
from assistant.diagnosis import render
from assistant.diagnosis.finding import Finding


def more(context: Context) -> list[str]:
    """What the answer before left out: causes, remedies, what speaks against it, and what the cards say."""
    finding = about(context)
    parts: list[str] = []
    if finding is not None and not harmless(finding):
        parts.append(context.say("more_on", title=context.titled(finding)))
        parts.append(context.say("label_why") + causes(context, finding, 6) if render.causes(finding, context.language) else "")
        lines = [line for line in fix_lines(context, finding, 6) if line not in context.question.earlier]
        parts.append(context.say("label_do") + "\n".join(["", *(f"- {line}" for line in lines)]) if lines else "")
        against = " ".join(ended(text, context) for text in render.rules_out(finding, context.language))
        parts.append(context.say("label_rules_out") + against if against else "")
        found = context.evidence.cite(f"findings/{finding.id}")
        body = re.sub(r"[*#>]", "", found.body.get(context.language, "")) if found else ""
        parts.append(context.say("label_general") + shortened(" ".join(body.split()), 130, context.language) if body.strip() else "")
        names = context.view.names
        keys = list(dict.fromkeys(names[p.metric].canonical for p in finding.evidence if p.metric in names and names[p.metric].canonical))
        rows = [course(context, metric) for metric in keys[:3]]
        parts.append(context.say("label_values") + context.glue(rows) if any(rows) else "")
    for metric in context.question.metrics[:2]:
        if context.series(metric) is not None and finding is None:
            parts.append(context.say("label_values") + course(context, metric))
        parts += _of_card(context, metric)
    kept = _new(context, parts)
    if kept and finding is None and context.question.metrics:
        kept.insert(0, context.say("more_on", title=code(context.key(context.question.metrics[0]))))
    return kept or [context.say("more_nothing")]


def _of_card(context: Context, metric: str) -> list[str]:
    """All that the metric's card says."""
    found = context.evidence.metric_card(metric)
    text = context.evidence.text_of
    rows = [
        ("label_meaning", text(found, "definition") or text(found, "short")),
        ("label_healthy", text(found, "healthy")),
        ("label_version", context.glue(context.evidence.era_notes(found))),
        ("label_general", text(found, "advice")),
        ("label_similar", text(found, "lookalikes")),
    ]
    return [context.say(label) + shortened(words, 90, context.language) for label, words in rows if words]


def sure(context: Context) -> list[str]:
    """On what the answer before rests, and what would speak against it."""
    finding = about(context)
    if finding is not None and finding.severity == "info" and not context.question.metrics and not context.diagnosis.faults:
        n = context.evidence.count(len(context.diagnosis.fine), "checks that ran and passed")
        rows = [course(context, metric) for metric in ("score_mean", "validation") if context.series(metric) is not None]
        values = context.say("label_values") + context.glue(rows) if rows else ""
        return [context.say("nothing_to_explain", n=n.text), values, context.say("sure_checks")]
    if finding is None:
        rows = [course(context, metric) for metric in context.question.metrics[:3] if context.series(metric) is not None]
        return [context.say("sure_values") + context.glue(rows)] if rows else [context.say("sure_checks")]
    parts = [context.say("sure", title=context.titled(finding)), context.evidence.summary(finding)]
    rows = []
    for point in finding.evidence[:4]:
        fact = context.evidence.point(point)
        where = context.say("on_line", line=context.evidence.count(point.line, f"line of {point.metric}").text) if point.line else ""
        value = context.at(point) if point.step is not None else fact.text
        rows.append(f"`{point.metric}` {value}{where}")
    parts.append(context.say("label_values") + context.joined(rows) + context.say("stop") if rows else "")
    against = render.rules_out(finding, context.language)
    parts.append(context.say("label_rules_out") + " ".join(ended(text, context) for text in against) if against else "")
    return [part for part in parts if part]


def others(context: Context) -> list[str]:
    """The findings that the answer before did not speak of: the gravest in its own words, the rest by name."""
    left = [f for f in context.diagnosis.faults if render.summary(f, context.language) not in context.question.talk]
    if not left:
        return [context.say("others_none")]
    lead = left[0]
    parts = [context.say("others", title=context.titled(lead), since=context.since(lead)), context.evidence.summary(lead)]
    if lines := fix_lines(context, lead, 1):
        parts.append(context.say("label_do") + lines[0])
    if left[1:]:
        parts.append(context.say("then", titles=context.joined([context.titled(f) + context.since(f) for f in left[1:4]])))
    return parts


def about(context: Context) -> Finding | None:
    """The finding that the talk is about: the gravest of those that the turn before spoke of, and that is about its metric."""
    names = context.view.names
    wanted = set(context.question.metrics)
    by_id = {f.id: f for f in context.diagnosis.findings}
    told = [by_id[name] for name in context.question.findings if name in by_id]
    if wanted:
        about = [f for f in context.diagnosis.findings if any(names[p.metric].canonical in wanted for p in f.evidence if p.metric in names)]
        told = [f for f in (*told, *about) if render.summary(f, context.language) in context.question.talk]
    return next((f for f in told if f.severity != "info"), next(iter(told), None))


def _new(context: Context, parts: list[str]) -> list[str]:
    """``parts`` without those that the answer before had word by word."""
    return [part for part in parts if part.strip() and part.strip() not in context.question.earlier]
