"""One metric over a stretch of the run: which values it covers, their mean, median, sum or spread, and what came before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from assistant.answers.grounding.context import Context, trend_words
from assistant.answers.grounding.evidence import Curve, curve
from assistant.answers.grounding.selection import selected
from assistant.answers.understanding.windows import Window
from assistant.run import FloatArray, IntArray, Series

FIGURES: Mapping[str, Callable[[FloatArray], Any]] = {"mean": np.mean, "median": np.median, "sum": np.sum, "std": np.std}


def in_stretch(context: Context, found: Curve, *, short: bool = False) -> str:
    """One metric over the question's stretch: what was asked for, the range, and what came before."""
    question, series = context.question, found.series
    chosen = selected(series, question.window)
    finite = chosen[np.isfinite(series.values[chosen])]
    window = question.window
    if not len(finite):
        return _empty(context, series, window)
    values = series.values[finite]
    name = question.statistic or "mean"
    span = span_of(context, series, finite)
    n = context.evidence.count(len(finite), f"values of {series.name} in the stretch")
    if len(finite) == 1:
        return context.glue(
            [context.say("value_is", key=series.name, value=context.at(series.point(int(finite[0])))), _missing(context, window, 1)]
        )
    value = _figure(context, series, finite, name)
    parts = [_extreme(context, series, finite, span), context.say(f"stretch_{name}", key=series.name, value=value, span=span, n=n.text)]
    if dropped := len(chosen) - len(finite):
        k = context.evidence.count(dropped, f"values of {series.name} in the stretch that are not finite")
        parts.append(context.say("stretch_nonfinite", k=k.text))
    parts.append(_missing(context, window, len(finite)))
    if short:
        parts.append(_before(context, series, finite))
        return context.glue(parts)
    if name != "sum" and values.min() != values.max() and not parts[0]:
        low, high = int(finite[np.argmin(values)]), int(finite[np.argmax(values)])
        parts.append(context.say("stretch_range", low=context.at(series.point(low)), high=context.at(series.point(high))))
    if window is not None and name in ("mean", "median"):
        parts.append(_moved(context, series, finite))
        parts.append(_before(context, series, finite))
    elif window is None and name in ("mean", "median") and len(finite) > 20:
        last = finite[-10:]
        tail = _figure(context, series, last, name)
        parts.append(context.say(f"stretch_tail_{name}", value=tail, span=span_of(context, series, last)))
    parts.append(context.scaled_note(found))
    return context.glue(parts)


def _extreme(context: Context, series: Series, chosen: IntArray, span: str) -> str:
    """The highest or lowest value of the stretch, when that is asked for."""
    places, values = context.question.places, series.values[chosen]
    out = []
    for place, key, at in (("max", "stretch_highest", np.argmax(values)), ("min", "stretch_lowest", np.argmin(values))):
        if place in places:
            out.append(context.say(key, key=series.name, span=span, value=context.at(series.point(int(chosen[at])))))
    return context.glue(out)


def meant(context: Context) -> list[str]:
    """ "The highest score" asks for the peak of the curve of means, not for the metric of each batch's maximum."""
    out = []
    for metric in context.question.metrics:
        mean = metric.removesuffix("_max").removesuffix("_min") + "_mean"
        whole = "extremes" in context.question.intents and not context.question.key_of(metric)
        out.append(mean if whole and mean != metric and context.series(mean) is not None else metric)
    return list(dict.fromkeys(out))


def span_of(context: Context, series: Series, chosen: IntArray) -> str:
    """``steps 50–59``, both ends noted as facts."""
    steps = series.steps[chosen]
    first = context.evidence.count(int(steps[0]), f"first step of the stretch of {series.name}")
    last = context.evidence.count(int(steps[-1]), f"last step of the stretch of {series.name}")
    return context.say("span", first=first.text, last=last.text)


def _figure(context: Context, series: Series, chosen: IntArray, name: str) -> str:
    values = series.values[chosen]
    value = float(FIGURES[name](values))
    steps = series.steps[chosen]
    formula = f"{name} of {series.name}, steps {int(steps[0])}–{int(steps[-1])}"
    return context.evidence.derived(value, formula, metric=series.name, text=figure(value)).text


def figure(value: float) -> str:
    """Four significant digits, no exponent for the sizes that people read: 0.9784, 192.4, 1523000, 2.1e-06."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    if abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.4g}" if abs(value) >= 1e-4 else f"{value:.3g}"


def _moved(context: Context, series: Series, chosen: IntArray) -> str:
    if len(chosen) < 3:
        return ""
    part = curve(series.take(chosen))
    first, last = series.point(int(chosen[0])), series.point(int(chosen[-1]))
    return context.say("stretch_moved", first=context.at(first), last=context.at(last), trend=trend_words(context, part))


def _before(context: Context, series: Series, chosen: IntArray) -> str:
    """The same statistic over as many values before the stretch, to compare with."""
    start = int(chosen[0])
    before = np.arange(max(0, start - len(chosen)), start)
    before = before[np.isfinite(series.values[before])]
    if len(before) < max(2, len(chosen) // 2):
        return ""
    name = context.question.statistic if context.question.statistic == "median" else "mean"
    value = _figure(context, series, before, name)
    return context.say("stretch_before", value=value, span=span_of(context, series, before))


def _missing(context: Context, window: Window | None, there: int) -> str:
    """When fewer values are there than asked for, or none was asked for by number."""
    if window is None or window.kind not in ("last", "first"):
        return ""
    if not window.asked:
        return ""
    if there >= window.n:
        return ""
    asked = context.evidence.count(window.n, "values asked for")
    return context.say("stretch_fewer", n=asked.text)


def _empty(context: Context, series: Series, window: Window | None) -> str:
    if window is not None and window.kind == "range" and len(series):
        whole = span_of(context, series, np.array([0, len(series) - 1]))
        return context.say("stretch_outside", key=series.name, span=whole)
    n = context.evidence.count(len(series), f"values of {series.name}")
    return context.say("no_finite", key=series.name, n=n.text)


def steps_in(window: Window, steps: Sequence[int]) -> list[int]:
    """The ends of a range of steps."""
    return [end for end in (window.low, window.high) if end is not None] or list(steps[:2])
