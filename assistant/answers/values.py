"""Answers that are numbers: a value at a step, the extremes, the trend."""

from __future__ import annotations

import numpy as np

from assistant.answers.about import absent
from assistant.answers.context import Context, course_of, explaining
from assistant.answers.evidence import Curve, code, curve
from assistant.answers.verdict import FEW
from assistant.answers.words import MAXIMUM, MINIMUM
from assistant.diagnosis import stats
from assistant.spoken_names import SETTING_OF_METRIC

MOST = 4
"""Metrics answered for at once."""


def values(context: Context) -> list[str]:
    """Values, extremes or trends of the metrics in the question; a metric that is absent is said to be."""
    parts: list[str] = []
    for metric in _meant(context)[:MOST]:
        shape = context.curve(metric)
        parts.extend(absent(context, metric) if shape is None else [_one(context, shape, metric)])
    for key in context.question.extra_keys[:MOST]:
        series = context.view.printed(key)
        if series is not None and len(series):
            parts.append(context.glue([_one(context, curve(series), ""), context.say("no_series_note", key=key)]))
    parts.extend(_settings(context))
    present = [m for m in context.question.metrics[:MOST] if context.series(m) is not None]
    about, _ = explaining(context, present) if present else ([], [])
    for finding in [f for f in about if f.severity in ("critical", "high", "medium")][:1]:
        parts.append(context.evidence.summary(finding))
    return parts


def _settings(context: Context) -> list[str]:
    """For a metric that repeats a setting, what the log's config says of it: a learning rate may print as 0.000."""
    config, out = context.diagnosis.run.config, []
    for metric in context.question.metrics[:MOST]:
        key = SETTING_OF_METRIC.get(metric)
        if key in config and context.series(metric) is not None:
            value = context.evidence.config(key, config[key])
            out.append(context.say("setting_is_noline", key=key, value=value.text if isinstance(value.value, float) else code(value.text)))
    return out


def _meant(context: Context) -> list[str]:
    """ "The highest score" asks for the peak of the curve of means, not for the metric of each batch's maximum."""
    out = []
    for metric in context.question.metrics:
        mean = metric.removesuffix("_max").removesuffix("_min") + "_mean"
        whole = context.question.intent == "extremes" and not context.question.key_of(metric)
        out.append(mean if whole and mean != metric and context.series(mean) is not None else metric)
    return list(dict.fromkeys(out))


def _one(context: Context, shape: Curve, metric: str) -> str:
    if shape.first is None or shape.last is None:
        return course_of(context, shape)
    return context.glue([_told(context, shape), context.scaled_note(shape)])


def _told(context: Context, shape: Curve) -> str:
    assert shape.first is not None
    assert shape.last is not None
    intent = context.question.intent
    if context.question.steps and intent in ("value", "about", "meaning"):
        return context.glue(_at(context, shape, step) for step in context.question.steps[:MOST])
    if intent == "extremes":
        return _extremes(context, shape)
    if intent == "trend":
        return _trend(context, shape)
    key = shape.series.name
    if "first" in context.question.places and "last" not in context.question.places:
        return context.say("value_first", key=key, value=context.at(shape.point(shape.first)))
    last = context.say("value_last", key=key, value=context.at(shape.point(shape.last)))
    if "last" in context.question.places or shape.n_finite == 1:
        return last
    return context.glue([last, course_of(context, shape)])


def _at(context: Context, shape: Curve, step: int) -> str:
    series = shape.series
    point = series.at(step)
    if point is not None:
        return context.say("value_is", key=series.name, value=context.at(point))
    nearest = int(np.argmin(np.abs(series.steps - step)))
    asked = context.evidence.count(step, "step asked for")
    return context.say("value_absent_step", key=series.name, step=asked.text, value=context.at(series.point(nearest)))


def _extremes(context: Context, shape: Curve) -> str:
    assert shape.lowest is not None
    assert shape.highest is not None
    assert shape.last is not None
    text = context.question.text.lower()
    want_high, want_low = bool(MAXIMUM.search(text)), bool(MINIMUM.search(text))
    key = shape.series.name
    parts = []
    if want_high or not want_low:
        parts.append(context.say("highest_is", key=key, value=context.at(shape.point(shape.highest))))
    if want_low or not want_high:
        parts.append(context.say("lowest_is", key=key, value=context.at(shape.point(shape.lowest))))
    parts.append(context.say("value_last", key=key, value=context.at(shape.point(shape.last))))
    return context.glue(parts)


def _trend(context: Context, shape: Curve) -> str:
    assert shape.first is not None
    assert shape.last is not None
    key = shape.series.name
    first, last = context.at(shape.point(shape.first)), context.at(shape.point(shape.last))
    if shape.n_finite < FEW:
        n = context.evidence.count(shape.n_finite, f"finite values of {key}")
        return context.say(
            "trend_short", key=key, n=n.text, values=context.say("comma").join([first, last] if shape.n_finite > 1 else [last])
        )
    parts = [context.say("trend_is", key=key, trend=context.trend(shape), first=first, last=last)]
    if shape.n_finite >= 20:
        start = context.evidence.derived(stats.baseline(shape.series.values), f"median of the first ten finite {key}", metric=key)
        end = context.evidence.derived(stats.tail(shape.series.values), f"median of the last ten finite {key}", metric=key)
        parts.append(context.say("medians", start=start.text, end=end.text))
    parts.append(course_of(context, shape))
    return context.glue(parts[:2] if shape.n_finite >= 20 else [parts[0]])
