"""The first sentences of an answer about a metric: normal or not, and whether what the question takes for granted is so."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from assistant.answers.grounding.context import Context, checks_passed, harmless, stem
from assistant.answers.grounding.shape import shape_of
from assistant.diagnosis.finding import Finding
from assistant.run import Style

_EVERY = re.compile(r"\bevery (?:\d+|few|other|couple)|每(?:隔)?\s?\d+\s?步", re.IGNORECASE)
_GOOD = re.compile(
    r"\b(?:that(?:'s| is) (?:a )?good\b|good(?: sign| thing)?,? (?:right|isn'?t it)|is (?:that|this|it) good\b)|好事|好现象|挺好|是好的"
)
"""Whether what is seen is good."""
_BREAKS = re.compile(r"\b(?:collaps\w*|suddenly)\b|崩|突然")
_FALLS = re.compile(
    r"\b(?:fall\w*|fell|decreas\w*|drop\w*|declin\w*|down|shrink\w*)\b|下降|降低|下跌|掉|减少|变小|变短|越来越(?:小|低|短)|跌"
)
SHORT_QUESTION = 400
"""Characters beyond which a question tells a story, or is a pasted log: its numbers are not held against a curve."""
FEW = 5
"""Values below which nothing is said about a course."""


def verdict(context: Context, metric: str, leading: Finding | None) -> str:
    premise, denies = _premise(context, metric, leading is not None)
    if leading is not None and _elsewhere(context, metric, leading):
        near = context.key(metric_of(context, leading))
        text = context.say("fault_near", key=near, title=context.titled(leading), since=context.since(leading))
        lead = context.say("not_good") if _GOOD.search(context.question.text.lower()) else ""
        return context.glue([lead, premise, text] if denies else [lead, text, premise if "zero" in context.question.properties else ""])
    if leading is not None:
        key = (
            "harmless"
            if harmless(leading)
            else "info"
            if leading.severity == "info"
            else "fault_low"
            if leading.severity == "low"
            else "fault"
        )
        verdict = context.say(key, title=context.titled(leading), since="" if leading.severity == "info" else context.since(leading))
        if leading.severity not in ("info", "low") and _GOOD.search(context.question.text.lower()):
            verdict = context.glue([context.say("not_good"), verdict])
        if denies and agrees(context, leading):
            return verdict
        return context.glue([premise, verdict] if denies else [verdict, premise])
    if context.question.intent == "meaning":
        return premise if denies else ""
    first = context.question.intent == "why" or _claimed(context, metric, False) is not None
    return context.glue([premise, _unfound(context, metric)] if first else [_unfound(context, metric), premise])


_LIKE = {"nan": ("nan", "non-finite"), "rising": ("explosion", "growth", "blowup", "grow"), "falling": ("collapse", "drop", "shrink")}
"""What is said of a metric, and parts of the names of findings that say the same."""


def agrees(context: Context, finding: Finding) -> bool:
    """Whether a finding says itself what the question says, so that a "no" on one metric beside it would only confuse."""
    said = context.question.properties
    return any(name in said and any(part in finding.id for part in parts) for name, parts in _LIKE.items())


def metric_of(context: Context, finding: Finding) -> str:
    """Canonical name of the metric that a finding rests on first; "" when it is none of the log."""
    names = context.view.names
    return next((names[p.metric].canonical for p in finding.evidence if p.metric in names), "")


def _elsewhere(context: Context, metric: str, leading: Finding) -> bool:
    """Whether the finding rests on a sibling of the metric whose key the question gives: ``critic/rewards/mean`` is asked for, and
    ``critic/score/mean`` fell."""
    series = context.series(metric)
    if series is None or context.question.key_of(metric) is None or leading.severity == "info":
        return False
    other = metric_of(context, leading)
    return other != metric and stem(other) == stem(metric) and all(p.metric != series.name for p in leading.evidence)


def _unfound(context: Context, metric: str) -> str:
    """The verdict when no finding is about the metric: it passed checks, is too short to judge, or is judged by none."""
    key, shape = context.key(metric), context.curve(metric)
    passed = checks_passed(context, metric)
    if shape is not None and shape.series.n_nonfinite:
        n = context.evidence.count(len(shape.series), f"values of {key}")
        k = context.evidence.count(shape.series.n_nonfinite, f"values of {key} that are not finite")
        first = context.at(shape.point(int(np.argmin(shape.series.finite))))
        return context.say("nonfinite_unjudged", key=key, k=k.text, n=n.text, first=first)
    if shape is not None and shape.n_finite < FEW and not shape.series.n_nonfinite:
        if shape.n_finite == 1:
            return context.say("one_value", key=key)
        return context.say("too_short", key=key, n=context.evidence.count(shape.n_finite, f"values of {key}").text)
    if not passed:
        return context.say("unjudged", key=key)
    n = context.evidence.count(passed, "checks that read the metric and passed")
    return context.say("passed", key=key, n=n.text) if passed > 1 else context.say("passed_one", key=key)


def premise(context: Context, metric: str) -> str:
    """What the log says to what the question takes for granted of the metric, when that is a no; else ""."""
    text, denies = _premise(context, metric)
    return text if denies else ""


def _premise(context: Context, metric: str, led: bool = True) -> tuple[str, bool]:
    """What the log says to what the question takes for granted (that the metric is positive, zero, NaN, rising …), and whether that is
    a no."""
    for one in (_claimed, _nan, _zero, _sign, _direction):
        if (found := one(context, metric, led)) is not None:
            return found
    said = context.question.properties
    there = context.series(metric) is not None and "missing" in said and context.question.intent == "why" and len(said) == 1
    return (context.say("not_missing", key=context.key(metric)), True) if there else ("", False)


_NUMBER = re.compile(r"(?<![\w.@/+-])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.%/@:]|-\d)")
_NOT_A_VALUE = re.compile(
    r"\b(?:step|steps|iteration|epoch|n|top|version|verl|last|first|every|after|for|over|above|below|than)\s*[=:#]?\s*$|第\s*$|[x×*^(\[]\s*$",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"^\s*(?:steps?|iterations?|epochs?|gpus?|cards?|nodes?|prompts?|samples?|of\b|[bkmx]\b|步|张|个|卡|轮|次|倍|to\b|到|%|％|\)|,\d|times)",
    re.IGNORECASE,
)


def _claimed(context: Context, metric: str, led: bool) -> tuple[str, bool] | None:
    """A single value that the question gives the metric and that the log's curve never comes near."""
    shape, text = context.curve(metric), context.question.text
    if shape is None or shape.lowest is None or shape.highest is None or len(context.question.metrics) != 1 or context.question.settings:
        return None
    if (
        len(text) > SHORT_QUESTION
        or context.question.steps
        or context.question.threshold
        or not context.question.intents & {"normal", "why"}
    ):
        return None
    numbers = [m for m in _NUMBER.finditer(text) if not _NOT_A_VALUE.search(text[: m.start()]) and not _UNIT.match(text[m.end() :])]
    if len(numbers) != 1 or float(numbers[0][0]) == 0 or shape.series.scale != 1.0:
        return None
    value = float(numbers[0][0])
    low, high = float(shape.value(shape.lowest)), float(shape.value(shape.highest))
    room = 0.5 * (high - low) + 0.25 * max(abs(low), abs(high))
    if low - room <= value <= high + room or low - room <= value / 100 <= high + room:
        return None
    ends = {"low": context.at(shape.point(shape.lowest)), "high": context.at(shape.point(shape.highest))}
    return context.say("not_claimed_once" if shape.n_finite == 1 else "not_claimed", key=shape.series.name, **ends), True


def _counted(context: Context, mask: NDArray[np.bool_], key: str, name: str) -> tuple[str, str]:
    k = context.evidence.count(int(mask.sum()), f"values of {key} that are {name}")
    return k.text, context.evidence.count(len(mask), f"values of {key}").text


def _nan(context: Context, metric: str, led: bool) -> tuple[str, bool] | None:
    shape = context.curve(metric)
    if "nan" not in context.question.properties or shape is None:
        return None
    series, key = shape.series, shape.series.name
    if not series.n_nonfinite:
        return context.say("not_nan", key=key, n=context.evidence.count(len(series), f"values of {key}").text), True
    if not led:
        return "", False
    first = context.at(series.point(int(np.argmin(series.finite))))
    if len(series) == 1:
        return context.say("is_nan_once", key=key, first=first), False
    k, total = _counted(context, ~series.finite, key, "not finite")
    return context.say("is_nan", key=key, k=k, n=total, first=first), False


def _zero(context: Context, metric: str, led: bool) -> tuple[str, bool] | None:
    said, shape = context.question.properties, context.curve(metric)
    if "zero" not in said or said & {"negative", "positive"} or shape is None or shape.lowest is None or shape.highest is None:
        return None
    series, key = shape.series, shape.series.name
    zero = series.values == 0
    once = "_once" if len(series) == 1 else ""
    low, high = context.at(shape.point(shape.lowest)), context.at(shape.point(shape.highest))
    if not zero.any():
        return context.say("not_zero" + once, key=key, low=low, high=high), True
    k, total = _counted(context, zero, key, "printed as zero")
    rounded = (series.styles[zero] == Style.FIXED3).all()
    return context.say(("prints_zero" if rounded else "is_zero") + once, key=key, k=k, n=total), False


def _sign(context: Context, metric: str, led: bool) -> tuple[str, bool] | None:
    said, shape = context.question.properties, context.curve(metric)
    if len(said & {"positive", "negative"}) != 1 or shape is None or shape.last is None:
        return None
    name = next(iter(said & {"positive", "negative"}))
    values, key = shape.series.values, shape.series.name
    mask = values > 0 if name == "positive" else values < 0
    if not mask.any():
        return context.say(f"not_{name}", key=key), True
    k, total = _counted(context, mask, key, name)
    once = "_once" if len(values) == 1 else ""
    return context.say(f"is_{name}{once}", key=key, k=k, n=total, last=context.at(shape.point(shape.last))), False


def _direction(context: Context, metric: str, led: bool) -> tuple[str, bool] | None:
    """Rising, falling or standing still, held against the curve's own course."""
    said, shape = context.question.properties, context.curve(metric)
    if shape is None or shape.first is None or shape.last is None or shape.n_finite < FEW:
        return None
    if _EVERY.search(context.question.text):
        return None  # "jumps every ten steps": no course of the whole curve
    went = shape_of(shape).kind
    first, last = context.at(shape.point(shape.first)), context.at(shape.point(shape.last))
    moved = shape.value(shape.last) - shape.value(shape.first)
    words = {"key": shape.series.name, "first": first, "last": last}
    still = "flat" in said and not said - {"flat", "slow"}
    if still and shape.moves and went in ("rises", "falls", "fell_then_rose") and not led:
        return context.say("not_flat", trend=context.trend(shape), **words), True
    if "flat" in said and "rising" in said:  # "does not rise"
        return None
    if "falling" in said and _BREAKS.search(context.question.text.lower()) and not _FALLS.search(context.question.text.lower()):
        return None  # the run collapses, not the curve
    if {"rising", "falling"} <= said:
        return None
    for name, sign, opposite in (("rising", 1, "falls"), ("falling", -1, "rises")):
        if name in said and (went == opposite or (went == "none" and sign * moved <= 0)):
            return context.say(f"not_{name}", trend=context.trend(shape), **words), True
    return None
