"""How to read metrics: several at once, what value of one is good, how much one has gained; and what no log can tell."""

from __future__ import annotations

import re

from assistant.answers.grounding.context import Context, course, course_of, explaining, in_range, main_validation
from assistant.answers.grounding.evidence import curve, shortened
from assistant.answers.grounding.relevant import show_its_validation
from assistant.answers.writing.about import about, absent, absent_with_cause, not_here
from assistant.answers.writing.of_run import elapsed, gpus
from assistant.answers.writing.problems import crashed, overview, told, verdict_on_run
from assistant.answers.writing.steps import change_between

MOST = 5
"""Metrics explained at once."""
STATISTIC = re.compile(r"\b((?:mean|best|maj|pass)@\d*)")
GOOD_AGENT = re.compile(r"\b(?:how (?:good|well)|progress|better|performance)\b|(?:好不好|水平|进展|效果)")


def reading(context: Context) -> list[str]:
    """Each metric that the question names: what it is, how it looks when all is well, and its values here."""
    named = context.question.metrics
    said = context.question.text.lower()
    written = [m for m in named if context.key(m).rpartition("/")[2] in said]
    metrics = [m for m in named if context.series(m) is not None or m in written][:MOST] or list(named[:1])
    if len(metrics) == 1 and context.series(metrics[0]) is None:
        return absent(context, metrics[0])
    room = 26 if len(metrics) > 2 else 45
    rows = []
    for metric in metrics:
        found = context.evidence.metric_card(metric)
        text = shortened(context.evidence.text_of(found, "short"), room, context.language)
        healthy = context.evidence.text_of(found, "healthy")
        parts = [context.say("reading_row", key=context.key(metric), text=text)]
        if healthy and len(metrics) <= 3:
            parts.append(context.say("reading_healthy", text=shortened(healthy, 40, context.language)))
        if context.series(metric) is not None:
            parts.append(context.say("reading_here", values=course(context, metric, short=True)))
        else:
            parts.append(not_here(context, metric))
        rows.append(context.glue(parts))
    if GOOD_AGENT.search(context.question.text.lower()) and (score := course(context, "score_mean", short=True)):
        rows.insert(0, context.say("reading_score", values=score))
    elif GOOD_AGENT.search(context.question.text.lower()) and "score_mean" not in metrics:
        rows.insert(0, context.glue([context.say("reading_score", values=not_here(context, "score_mean"))]))
    if context.diagnosis.faults:
        rows.append(verdict_on_run(context))
    return rows


def good_range(context: Context) -> list[str]:
    """What value is good: the card's band or healthy course first, then this log's values and the verdict on them."""
    metric = context.question.metrics[0]
    found = context.evidence.metric_card(metric)
    healthy = context.evidence.text_of(found, "healthy")
    band = in_range(context, metric)
    rest = [part for part in (about(context) if context.series(metric) is not None else absent_with_cause(context, metric)) if part]
    if not healthy and not band:
        return rest
    lead = context.say("label_healthy") + context.glue([shortened(healthy, 60, context.language), band])
    return [lead, *(part for part in rest if not part.startswith(context.say("label_healthy")))]


def gain(context: Context) -> list[str]:
    """How much a metric has gained from its first to its last value; the best value beside it."""
    parts = []
    for metric in context.question.metrics[:3]:
        own, _ = explaining(context, [metric])
        lead = next(iter(own), None)
        show_its_validation(context, metric, lead)
        shape = context.curve(metric)
        if shape is None or shape.first is None or shape.last is None:
            parts += absent_with_cause(context, metric)
        elif shape.first == shape.last:
            parts.append(course(context, metric))
        else:
            first, last = context.at(shape.point(shape.first)), context.at(shape.point(shape.last))
            change = change_between(context, shape.series, shape.first, shape.last)
            parts.append(context.say("no_improved", key=shape.series.name, first=first, last=last, change=change))
            parts.append(context.evidence.summary(lead) if lead is not None else "")
            parts.append(context.say("label_values") + course(context, metric))
    return parts


def statistics(context: Context) -> list[str]:
    """mean@N beside best@N, maj@N or pass@N: what each is, how to read them together, and both in this log."""
    found = context.evidence.cite("concepts/best-of-n")
    if found is None:
        return about(context)
    body = (found.body.get(context.language) or "").split("\n\n")
    how = next((part for part in body if part.startswith(("Reading:", "如何读"))), "")
    said = list(dict.fromkeys(STATISTIC.findall(context.question.text.lower())))
    main = main_validation(context.view)
    family = main.name.partition("@")[0].rpartition("/")[0] if main is not None else ""
    names = [one.series.name for one in context.view.validations() if one.series.name.startswith(f"{family}/")]
    rows = [name for kind in said for name in [one for one in names if f"/{kind}" in one and "/std" not in one][:1]]
    values = [course_of(context, curve(series), short=True) for name in rows if (series := context.view.printed(name)) is not None]
    return [
        context.say("label_general") + context.evidence.text_of(found, "short"),
        how,
        context.say("label_values") + context.glue(values) if values else "",
    ]


# What no log can tell


def gpu_model(context: Context) -> list[str]:
    return [context.glue([context.say("gpu_model"), *gpus(context)])]


def hardware(context: Context) -> list[str]:
    crashes = crashed(context)
    if not crashes:
        return [context.glue([context.say("hardware"), context.say("hardware_none")])]
    return [context.say("hardware"), *told(context, crashes[0])]


def data_quality(context: Context) -> list[str]:
    return [context.say("data_quality"), _state(context)]


def reward_function(context: Context) -> list[str]:
    of_reward = next((f for f in context.diagnosis.faults if f.id.startswith(("reward", "no-learning", "crash-reward"))), None)
    if of_reward is not None:
        return [context.say("reward_right"), *told(context, of_reward)[:2]]
    values = course(context, "score_mean")
    return [context.say("reward_right"), context.say("label_values") + values if values else ""]


def _state(context: Context) -> str:
    verdict = verdict_on_run(context) if context.diagnosis.faults else overview(context)[0]
    return context.say("in_this_log") + verdict


def thanks(context: Context) -> list[str]:
    return [context.say("thanks")]


def can_do(context: Context) -> list[str]:
    return [context.say("can_do"), verdict_on_run(context) if context.diagnosis.faults else overview(context)[0]]


def usual_time(context: Context) -> list[str]:
    return [context.glue([context.say("usual_time"), *elapsed(context)])]
