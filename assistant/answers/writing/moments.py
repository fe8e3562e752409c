"""When something happened: a limit crossed, the start of a fall or rise, the first NaN, the first sign of trouble."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assistant.answers.grounding.context import Context, explaining, trend_words
from assistant.answers.grounding.evidence import Curve, curve
from assistant.answers.grounding.selection import selected
from assistant.answers.grounding.shape import shape_of, smoothed
from assistant.answers.understanding.topics import COUNT_STEPS, IMPROVES, STOPS
from assistant.answers.understanding.windows import Threshold
from assistant.answers.writing.about import absent
from assistant.answers.writing.problems import crashed, no_crash, overview, reasons_of
from assistant.answers.writing.ranges import figure
from assistant.diagnosis import stats
from assistant.diagnosis.finding import Finding
from assistant.diagnosis.order import stops
from assistant.diagnosis.story import story
from assistant.lexicon import normal
from assistant.run import FloatArray, Series

MAIN = ("score_mean", "reward_mean", "train_loss")
"""What "it" is in "when did it plateau?": the first of these in the log."""
MOST = 3
NO_BREAK = frozenset(
    {"reward-saturated", "reward-plateau", "preference-saturated", "no-validation", "validation-noisy", "validation-costly"}
)
"""Findings that nobody calls a collapse."""
MOST_OF = 0.95
"""Share of a fall at which it counts as over."""
NOISE = 3.0
"""Deviations (of the values around their running median) that a fall must exceed to be one."""


def moment(context: Context) -> list[str]:
    """The step asked for, per metric; without a metric, where the run first went wrong."""
    question = context.question
    found: list[tuple[str, Curve | None]] = [(metric, context.curve(metric)) for metric in question.metrics[:MOST]]
    for key in question.extra_keys[:MOST]:
        if (series := context.view.printed(key)) is not None and len(series):
            found.append((key, curve(series)))
    if not found and IMPROVES.search(normal(question.text)):
        found += [(metric, context.curve(metric)) for metric in MAIN if context.curve(metric) is not None][:1]
    if not found:
        return first_sign(context)
    parts: list[str] = []
    for metric, shape in found:
        if shape is None:
            parts.extend(absent(context, metric))
        elif question.threshold is not None:
            parts.append(crossing(context, shape, question.threshold))
        else:
            parts.append(_by_property(context, shape))
            parts.append(_finding_of(context, metric))
    return parts


def first_sign(context: Context) -> list[str]:
    """The earliest finding of the run, and the one to act on when it is another."""
    faults = list(context.diagnosis.faults)
    if (crashes := crashed(context)) and "crash" in context.question.properties:
        lead = crashes[0]
        parts = [context.say("first_sign_crash", title=context.titled(lead), since=context.since(lead)), context.evidence.summary(lead)]
        faults = [f for f in faults if f is not lead and f.first_step is not None and not stops(f)]
        if not faults:
            return parts
        return [*parts, _earliest(context, faults)]
    asked = [
        f for f in context.diagnosis.findings if f.id in context.question.findings and f.first_step is not None and f.severity != "info"
    ]
    if asked:
        return _of_finding(context, asked[0])
    faults = [f for f in faults if f.severity != "low" and f.id not in NO_BREAK]
    if not faults:
        lead_text = context.say("nothing_breaks")
        return [lead_text, *([no_crash(context)] if "crash" in context.question.properties else []), *overview(context)]
    dated = [f for f in faults if f.first_step is not None]
    if not dated:
        return overview(context)
    return [_earliest(context, dated), *_then(context, dated), *_story(context)]


def _of_finding(context: Context, finding: Finding) -> list[str]:
    """When the finding that the question names begins, and with "why" what led to it."""
    step = context.evidence.count(finding.first_step or 0, f"onset of {finding.id}").text
    parts = [context.say("finding_begins", title=context.titled(finding), step=step), context.evidence.summary(finding)]
    if "why" in context.question.intents and (reasons := reasons_of(context, finding)):
        parts.append(context.say("label_why") + reasons)
    return [*parts, *_story(context)]


def _earliest(context: Context, faults: list[Finding]) -> str:
    start = context.diagnosis.run.first_step
    later = [f for f in faults if start is None or (f.first_step or 0) > start]
    grave = [f for f in later if f.severity in ("critical", "high")]
    first = min(grave if grave and len(later) < len(faults) else faults, key=lambda f: f.first_step or 0)
    lead = context.say(
        "first_sign", title=context.titled(first), step=context.evidence.count(first.first_step or 0, f"onset of {first.id}").text
    )
    return context.glue([lead, context.evidence.summary(first)])


def _then(context: Context, faults: list[Finding]) -> list[str]:
    ordered = [f for f in sorted(faults, key=lambda f: f.first_step or 0) if not context.mentioned(f)]
    start = context.diagnosis.run.first_step
    before = [f for f in ordered if f.first_step == start]
    ordered = [f for f in ordered if f not in before]
    return [
        *([context.say("there_from_start", titles=context.joined([context.titled(f) for f in before[:2]]))] if before else []),
        *(
            [context.say("first_sign_then", titles=context.joined([context.titled(f) + context.since(f) for f in ordered[:4]]))]
            if ordered
            else []
        ),
    ]


def _story(context: Context) -> list[str]:
    told = story(context.diagnosis)
    if told is None or len(told.chain) < 2:
        return []
    return [context.say("story", chain=" → ".join(context.titled(f) for f in told.chain))]


# Limits


def crossing(context: Context, found: Curve, limit: Threshold) -> str:
    """First value beyond the limit, whether it stays there, and in how many steps it is."""
    series = found.series if context.question.window is None else found.series.take(selected(found.series, context.question.window))
    finite = np.flatnonzero(series.finite)
    if not len(finite):
        return context.say("no_finite", key=series.name, n=context.evidence.count(len(series), f"values of {series.name}").text)
    values = series.scaled[finite]
    value = limit.value / 100 if limit.percent and np.abs(values).max() <= 1.5 else limit.value
    shown = context.evidence.derived(value, "limit in the question", metric=series.name, text=figure(value)).text
    beyond = _beyond(values, value, limit)
    side = "above" if limit.above else "below"
    side = f"{side}_reach" if limit.reach and limit.above else side
    n = context.evidence.count(len(finite), f"finite values of {series.name}")
    if not beyond.any():
        nearest = int(finite[np.argmax(values) if limit.above else np.argmin(values)])
        return context.say(f"never_{side}", key=series.name, limit=shown, value=context.at(series.point(nearest)), n=n.text)
    hits = np.flatnonzero(beyond)
    first = series.point(int(finite[hits[0]]))
    k = context.evidence.count(len(hits), f"values of {series.name} {side} {figure(value)}")
    counted = context.say(f"count_{side}", key=series.name, limit=shown, k=k.text, n=n.text)
    lead = context.say(f"{'starts' if hits[0] == 0 else 'first'}_{side}", key=series.name, limit=shown, value=context.at(first))
    out = np.flatnonzero(~beyond)
    if not len(out):
        return context.glue([lead, context.say(f"all_{side}", limit=shown, n=n.text)])
    stays = int(out[-1]) + 1
    tail = ""
    if stays < len(finite):
        step = context.evidence.count(int(series.steps[finite[stays]]), f"step from which {series.name} stays {side} {figure(value)}")
        tail = context.say("stays", step=step.text) if stays > hits[0] or hits[0] == 0 else context.say("stays_from_then")
    else:
        tail = context.say("not_any_more", value=context.at(series.point(int(finite[-1]))))
    if COUNT_STEPS.search(normal(context.question.text)):
        counted = context.say(f"counts_{side}", key=series.name, limit=shown, k=k.text, n=n.text)
        return context.glue([counted, lead, tail])
    return context.glue([lead, counted, tail])


def _beyond(values: FloatArray, limit: float, asked: Threshold) -> NDArray[np.bool_]:
    if asked.above:
        return values >= limit if asked.reach else values > limit
    return values <= limit if asked.reach else values < limit


# Turns


def _by_property(context: Context, found: Curve) -> str:
    said, series = context.question.properties, found.series
    if found.first is None:
        return context.say("no_finite", key=series.name, n=context.evidence.count(len(series), f"values of {series.name}").text)
    if "nan" in said:
        return _first_where(context, series, ~series.finite, "nan")
    if "zero" in said and "falling" not in said:
        return _first_where(context, series, series.values == 0, "zero")
    for name, sign in (("negative", -1), ("positive", 1)):
        if name in said and not said & {"rising", "falling"}:
            return _first_where(context, series, sign * series.values > 0, name)
    if found.n_finite < 6:
        n = context.evidence.count(found.n_finite, f"finite values of {series.name}")
        return context.say("moment_short", key=series.name, n=n.text)
    lowered = normal(context.question.text)
    stops_moving = IMPROVES.search(lowered) or "flat" in said or bool(STOPS.search(lowered))
    if "falling" in said and not (stops_moving and "rising" in said):
        return turn(context, found, -1, stopped=bool(STOPS.search(lowered)))
    if "rising" in said and not stops_moving:
        return turn(context, found, 1)
    went = shape_of(found).kind
    if STOPS.search(lowered) and not IMPROVES.search(lowered) and went in ("rises", "falls", "rose_early", "fell_early"):
        return turn(context, found, 1 if went.startswith(("rises", "rose")) else -1, stopped=True)
    if stops_moving:
        return best_until(context, found)
    fall, rise = _largest(series, -1), _largest(series, 1)
    return turn(context, found, -1 if fall[2] >= rise[2] else 1)


def _first_where(context: Context, series: Series, mask: NDArray[np.bool_], name: str) -> str:
    n = context.evidence.count(len(series), f"values of {series.name}")
    if not mask.any():
        return context.say(f"never_{name}", key=series.name, n=n.text)
    k = context.evidence.count(int(mask.sum()), f"values of {series.name} that are {name}")
    return context.say(f"first_{name}", key=series.name, value=context.at(series.point(int(np.argmax(mask)))), k=k.text, n=n.text)


def _largest(series: Series, sign: int) -> tuple[int, int, float, float]:
    """Start and end (indices of finite values) of the largest lasting rise (``sign`` 1) or fall (-1) of the running median, its size,
    and the noise around that median."""
    values = sign * series.values[series.finite]
    level = smoothed(values)
    gained = level - np.minimum.accumulate(level)
    end = int(np.argmax(gained))
    bottom = level[: end + 1].min()
    start = int(np.flatnonzero(level[: end + 1] <= bottom)[-1])
    noise = stats.mad(np.diff(values)) / np.sqrt(2) if len(values) > 5 else 0.0
    return start, end, float(gained[end]), float(noise)


def turn(context: Context, found: Curve, sign: int, *, stopped: bool = False) -> str:
    """Where the largest fall (or rise) begins, its half and its end, in running medians."""
    series = found.series
    where = np.flatnonzero(series.finite)
    start, end, size, noise = _largest(series, sign)
    word = "rise" if sign > 0 else "fall"
    span = float(np.ptp(series.values[where]))
    if size <= max(NOISE * noise, 0.05 * span, 2 * series.resolution(int(where[0]))) or end <= start:
        first, last = context.at(series.point(int(where[0]))), context.at(series.point(int(where[-1])))
        return context.say(f"no_{word}", key=series.name, first=first, last=last, trend=trend_words(context, found))
    level = smoothed(series.values[where])
    half = start + int(np.argmax(sign * (level[start : end + 1] - level[start]) >= size / 2))
    points = []
    for name, at in (("start", start), ("end", end)):
        step = context.evidence.count(int(series.steps[where[at]]), f"{name} of the largest {word} of {series.name}, running median")
        value = context.evidence.derived(
            float(level[at]),
            f"running median of {series.name} around step {int(series.steps[where[at]])}",
            metric=series.name,
            text=figure(float(level[at])),
        )
        points += [step.text, value.text]
    middle = context.evidence.count(
        int(series.steps[where[half]]), f"step by which half of the largest {word} of {series.name} is done"
    ).text
    lead = context.say(f"{word}_starts", key=series.name, step=points[0], value=points[1], end_step=points[2], end=points[3])
    tail = context.say(f"{word}_half", step=middle) if half not in (start, end) else ""
    done = start + int(np.argmax(sign * (level[start : end + 1] - level[start]) >= MOST_OF * size))
    nearly = context.evidence.count(
        int(series.steps[where[done]]), f"step by which {MOST_OF:.0%} of the largest {word} of {series.name} is done"
    ).text
    if stopped:
        value = context.evidence.derived(
            float(level[done]),
            f"running median of {series.name} around step {int(series.steps[where[done]])}",
            metric=series.name,
            text=figure(float(level[done])),
        )
        ended = context.say(f"{word}_stops", key=series.name, step=nearly, value=value.text)
        return context.glue([ended, lead, context.say("moment_now", value=context.at(series.point(int(where[-1]))))])
    return context.glue([lead, tail, context.say("moment_now", value=context.at(series.point(int(where[-1]))))])


def best_until(context: Context, found: Curve) -> str:
    """Until when a metric kept getting better: the last new best of its running median."""
    series = found.series
    where = np.flatnonzero(series.finite)
    level = smoothed(series.values[where])
    sign = -1 if _is_loss(series.name) else 1
    noise = stats.mad(series.values[where] - level)
    at = stats.last_record(sign * level, max(2 * noise, 0.05 * float(np.ptp(level)), series.resolution(int(where[0]))))
    step = context.evidence.count(int(series.steps[where[at]]), f"last clear record of the running median of {series.name}")
    value = context.evidence.derived(
        float(level[at]),
        f"running median of {series.name} around step {int(series.steps[where[at]])}",
        metric=series.name,
        text=figure(float(level[at])),
    )
    last = context.at(series.point(int(where[-1])))
    if at >= len(where) - max(3, len(where) // 10):
        return context.say("still_improving", key=series.name, step=step.text, value=value.text, last=last)
    return context.say("improved_until", key=series.name, step=step.text, value=value.text, last=last)


def _is_loss(name: str) -> bool:
    return name.rpartition("/")[2].endswith("loss") or "loss" in name.rpartition("/")[2].split("_")


def _finding_of(context: Context, metric: str) -> str:
    """The finding about this metric with its own date."""
    if context.series(metric) is None:
        return ""
    about, _ = explaining(context, [metric])
    dated = [f for f in about if f.severity in ("critical", "high", "medium") and f.first_step is not None]
    return context.say("moment_finding", title=context.titled(dated[0]), since=context.since(dated[0])) if dated else ""
