"""Answers that do not come from the run: concepts, which metrics to read, and questions that were not understood."""

from __future__ import annotations

import re

from assistant.answers.grounding.context import Context
from assistant.answers.grounding.evidence import code, sentences, shortened
from assistant.answers.writing.problems import KEY_METRICS, overview, verdict_on_run
from assistant.cards import Card
from assistant.diagnosis.render import metric_title

READING = (
    "score_mean",
    "validation",
    "policy_entropy",
    "response_length_mean",
    "response_clip_ratio",
    "policy_grad_norm",
    "reference_kl",
    "reward_kl",
    "time_step",
)
GUIDE = "guides/first-reading"


def concept(context: Context) -> list[str]:
    found = context.evidence.cite(context.question.concepts[0])
    if found is None:
        return unknown(context)
    parts = [context.say("label_general") + _short(context, found)]
    body = _paragraphs(found, context)
    if body:
        parts.append(shortened(body[0], 110, context.language))
    return parts


def which_metrics(context: Context) -> list[str]:
    """A newcomer's reading order with this run's own last values."""
    parts = [context.say("which_lead")]
    guide = context.evidence.cite(GUIDE)
    values, missing = [], []
    for metric in READING:
        shape = context.curve(metric)
        if shape is not None and shape.last is not None:
            values.append(f"`{shape.series.name}` {context.at(shape.point(shape.last))}")
        elif metric in KEY_METRICS[:4]:
            missing.append(metric_title(metric, context.language))
    if values:
        parts.append(context.say("label_values") + context.joined(values) + context.say("stop"))
    if missing:
        parts.append(context.say("which_missing", titles=context.joined(missing)))
    if guide is not None and (short := _short(context, guide)):
        parts.append(shortened(short, 50, context.language))
    if context.diagnosis.faults:
        parts.append(verdict_on_run(context))
    return parts


def unknown_key(context: Context) -> list[str]:
    """A name that looks like a metric and is none that the log or the cards know."""

    names = [code(name) for name in context.question.unknown_keys[:3]]
    context.evidence.note_numbers(" ".join(names), "named in the question")
    return [context.say("unknown_key", names=context.say("comma").join(names)), *overview(context)]


def unknown(context: Context) -> list[str]:
    """An honest reply, and the state of the run."""
    if not context.question.text.strip():
        return [context.say("empty"), *overview(context)[:3]]
    return [context.say("unknown"), *overview(context)[:2]]


def _short(context: Context, found: Card) -> str:
    return context.evidence.text_of(found, "short")


def _paragraphs(found: Card, context: Context) -> list[str]:
    """Paragraphs of running text; a list, and the sentence that only announces it, is left to the card itself."""
    out = []
    for part in (found.body.get(context.language) or "").split("\n\n"):
        text = re.split(r"\n(?=[-*|#]|\d+\.)", part.strip())[0].strip()
        kept = [s for s in sentences(text, context.language) if not s.endswith((":", "："))]
        if kept and not re.match(r"[#|\-*`]", text):
            out.append(context.glue(kept))
    return out
