"""Answers that are numbers: a value at a step, the extremes, the trend."""

from __future__ import annotations

import re

import numpy as np

from assistant.answers.grounding.context import Context, course_of, explaining
from assistant.answers.grounding.evidence import Curve, code, curve, plain_value
from assistant.answers.understanding.words import MAXIMUM, MINIMUM
from assistant.answers.writing.about import absent_with_cause
from assistant.answers.writing.duration import summed_step
from assistant.answers.writing.ranges import meant
from assistant.answers.writing.verdict import FEW
from assistant.cards import card
from assistant.diagnosis import stats
from assistant.diagnosis.naming import metric_card
from assistant.diagnosis.settings import settings as known_settings
from assistant.spoken_names import SETTING_OF_METRIC

STEP_TIME = ("time_step", "seconds_per_step")
MOST = 4
"""Metrics answered for at once."""


def values(context: Context) -> list[str]:
    """Values, extremes or trends of the metrics in the question; a metric that is absent is said to be."""
    parts: list[str] = []
    for metric in meant(context)[:MOST]:
        shape = context.curve(metric)
        if shape is None and (repeated := _setting_instead(context, metric) or (summed_step(context) if metric in STEP_TIME else "")):
            parts.append(repeated)
        else:
            parts.extend(absent_with_cause(context, metric) if shape is None else [_one(context, shape, metric)])
    for key in context.question.extra_keys[:MOST]:
        series = context.view.printed(key)
        if series is not None and len(series):
            rows = [_one(context, curve(series), ""), context.say("no_series_note", key=key)]
            parts.append(context.glue(rows[::-1] if context.question.intent == "meaning" else rows))
    parts.extend(_settings(context))
    present = [m for m in context.question.metrics[:MOST] if context.series(m) is not None]
    about, _ = explaining(context, present) if present else ([], [])
    for finding in [f for f in about if f.severity in ("critical", "high", "medium")][:1]:
        parts.append(context.evidence.summary(finding))
    return parts


def _setting_instead(context: Context, metric: str) -> str:
    """The setting that a metric would repeat, when the log shows only the setting."""
    key = SETTING_OF_METRIC.get(metric, "")
    value = known_settings(context.diagnosis.run).get(key)
    if value is None:
        return ""
    shown = (
        context.evidence.config(key, value)
        if key in context.diagnosis.run.config
        else context.evidence.derived(value, f"{key} as the metrics give it", text=plain_value(value))
    )
    return context.say("setting_is_noline", key=key, value=shown.text if isinstance(shown.value, float) else code(shown.text))


def _settings(context: Context) -> list[str]:
    """For a metric that repeats a setting, what the log's config says of it: a learning rate may print as 0.000."""
    config, out = context.diagnosis.run.config, []
    for metric in context.question.metrics[:MOST]:
        key = SETTING_OF_METRIC.get(metric)
        if key in config and context.series(metric) is not None:
            value = context.evidence.config(key, config[key])
            out.append(context.say("setting_is_noline", key=key, value=value.text if isinstance(value.value, float) else code(value.text)))
    return out


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
    if not shape.moves and shape.n_finite > 1:
        return course_of(context, shape)
    if "first" in context.question.places and "last" not in context.question.places:
        return context.say("value_first", key=key, value=context.at(shape.point(shape.first)))
    last = context.say("value_last", key=key, value=context.at(shape.point(shape.last)))
    if "last" in context.question.places or shape.n_finite == 1:
        return last
    return context.glue([last, course_of(context, shape)])


BEST = re.compile(r"\b(?:best|worst)\b|最好|最差")
GOOD_WORDS = ("best", "最好")


def good_way(context: Context, shape: Curve) -> str:
    """Which way is good for a metric, by its card: "up", "down" or ""; of a norm, a loss or a time less is better."""
    name = context.view.names.get(shape.series.name)
    canonical = (name.canonical if name is not None else "") or ""
    found = metric_card(canonical)
    rows = card(found).front.get("metrics") or () if found else ()
    good = next((str(row.get("good")) for row in rows if row["id"] == canonical), "")
    if good in ("up", "down"):
        return good
    return "down" if canonical.endswith(("grad_norm", "loss")) or canonical.startswith("time_") else ""


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
    if BEST.search(text) and (wanted := good_way(context, shape)):
        want_high = (wanted == "up") == (BEST.search(text)[0] in GOOD_WORDS)  # type: ignore[index]
        want_low = not want_high
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
