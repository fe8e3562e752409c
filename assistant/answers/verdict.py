"""The first sentences of an answer about a metric: normal or not, and whether what the question takes for granted is so."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assistant.answers.context import Context, checks_passed, harmless
from assistant.diagnosis.finding import Finding
from assistant.run import Style

FEW = 5
"""Values below which nothing is said about a course."""


def verdict(context: Context, metric: str, leading: Finding | None) -> str:
    premise = _premise(context, metric, leading is not None)
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
        return context.glue([premise, verdict] if leading.severity == "info" else [verdict, premise])
    if context.question.intent == "meaning":
        return ""
    return context.glue([premise, _unfound(context, metric)] if context.question.intent == "why" else [_unfound(context, metric), premise])


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


def _premise(context: Context, metric: str, led: bool = True) -> str:
    """What the log says to what the question takes for granted: that the metric is positive, zero, NaN, rising …"""
    said = context.question.properties
    shape = context.curve(metric)
    if shape is None:
        return ""
    series, key = shape.series, shape.series.name
    n = len(series)

    def counted(mask: NDArray[np.bool_], name: str) -> tuple[str, str]:
        k = context.evidence.count(int(mask.sum()), f"values of {key} that are {name}")
        return k.text, context.evidence.count(n, f"values of {key}").text

    if "nan" in said:
        if series.n_nonfinite and not led:
            return ""
        if series.n_nonfinite:
            if n == 1:
                return context.say("is_nan_once", key=key, first=context.at(series.point(0)))
            k, total = counted(~series.finite, "not finite")
            return context.say("is_nan", key=key, k=k, n=total, first=context.at(series.point(int(np.argmin(series.finite)))))
        return context.say("not_nan", key=key, n=context.evidence.count(n, f"values of {key}").text)
    if shape.last is None or shape.lowest is None or shape.highest is None or shape.first is None:
        return ""
    last = context.at(shape.point(shape.last))
    if "zero" in said and "negative" not in said and "positive" not in said:
        zero = series.values == 0
        once = "_once" if n == 1 else ""
        if not zero.any():
            if once:
                return context.say("not_zero_once", key=key, low=last)
            low, high = context.at(shape.point(shape.lowest)), context.at(shape.point(shape.highest))
            return context.say("not_zero", key=key, low=low, high=high)
        k, total = counted(zero, "printed as zero")
        rounded = (series.styles[zero] == Style.FIXED3).all()
        return context.say(("prints_zero" if rounded else "is_zero") + once, key=key, k=k, n=total)
    for name, mask in (("positive", series.values > 0), ("negative", series.values < 0)):
        if name in said and not {"positive", "negative"} <= said:
            k, total = counted(mask, f"{name}")
            return (
                context.say(f"is_{name}" + ("_once" if n == 1 else ""), key=key, k=k, n=total, last=last)
                if mask.any()
                else context.say(f"not_{name}", key=key)
            )
    if shape.n_finite >= FEW and not {"rising", "falling"} <= said:
        first = context.at(shape.point(shape.first))
        moved = shape.value(shape.last) - shape.value(shape.first)
        if "rising" in said and not shape.direction.rising and moved <= 0:
            return context.say("not_rising", key=key, first=first, last=last, trend=context.trend(shape))
        if "falling" in said and not shape.direction.falling and moved >= 0:
            return context.say("not_falling", key=key, first=first, last=last, trend=context.trend(shape))
    return context.say("not_missing", key=key) if "missing" in said and context.question.intent == "why" and len(said) == 1 else ""
