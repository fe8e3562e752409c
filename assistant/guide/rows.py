"""A metric of the run as a row: what it is, what it should look like, what this run printed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from assistant.cards import card, pick
from assistant.diagnosis.facts import number, shown
from assistant.diagnosis.naming import first_names, metric_card
from assistant.diagnosis.view import RunView
from assistant.guide.parts import Row
from assistant.messages import Language, say
from assistant.run import Point, Series

ENDS = 10
"""Values at either end of which the median is told."""
MOST = 5
"""Rows of one page."""


def row(view: RunView, canonical: str, language: Language, should: str = "", shown_by: Collection[str] = ()) -> Row | None:
    """The row of a metric; None when this log does not print it. Of several validations, one that a finding names (``shown_by``)."""
    series = series_of(view, canonical, shown_by)
    if series is None or not len(series):
        return None
    points = telling(series)
    last = points[-1]
    return Row(
        metric=series.name,
        plain=plain(canonical, language),
        should=should or look(canonical, language),
        yours=worded(series, points, language),
        step=last.step,
        line=last.line,
        points=points,
        canonical=canonical,
        card=metric_card(canonical),
        typical=typical(series, language),
    )


def typical(series: Series, language: Language) -> str:
    """Medians of the first and of the last ten values, which single jumps do not move; "" for a short or an unchanging series."""
    values = series.values[series.finite]
    if len(values) < 2 * ENDS or values.min() == values.max():
        return ""
    first, last = float(np.median(values[:ENDS])), float(np.median(values[-ENDS:]))
    return say("guide.typical", language, n=ENDS, first=number(first), last=number(last))


def series_of(view: RunView, canonical: str, shown_by: Collection[str] = ()) -> Series | None:
    if canonical == "validation":
        found = list(view.validations())
        if not found:
            return None
        return min(
            found, key=lambda one: (one.key.key not in shown_by, not one.key.core, not one.key.statistic.startswith("mean"), one.key.key)
        ).series
    return view[canonical]


def telling(series: Series) -> tuple[Point, ...]:
    """The first value, the extreme that lies clearly outside both ends (if there is one), the first non-finite one, and the last."""
    n = len(series)
    chosen = {0, n - 1}
    finite = np.flatnonzero(series.finite)
    broken = np.flatnonzero(~series.finite)
    if len(broken):
        chosen.add(int(broken[0]))
        if len(finite):
            chosen.add(int(finite[-1]))
    if len(finite) > 2:
        values = series.values[finite]
        ends = (float(values[0]), float(values[-1]))
        reach = float(values.max() - values.min())
        for index, beyond in (
            (int(values.argmax()), float(values.max()) - max(ends)),
            (int(values.argmin()), min(ends) - float(values.min())),
        ):
            if reach > 0 and beyond > 0.3 * reach:
                chosen.add(int(finite[index]))
    return tuple(series.point(index) for index in sorted(chosen))


def worded(series: Series, points: Sequence[Point], language: Language) -> str:
    """``0.41 (step 1) → 0.03 (step 300)``; one value alone stands without a step when the log has none."""
    if len(points) > 1 and len({point.text for point in points}) == 1 and len(set(series.values.tolist())) == 1:
        first, last = points[0], points[-1]
        if first.step is not None:
            return say("guide.yours_same", language, value=shown(first), first=first.step, last=last.step)
    return " → ".join(_at(point, language) for point in points)


def _at(point: Point, language: Language) -> str:
    if point.step is None:
        return say("guide.yours_line", language, value=shown(point), line=point.line)
    return say("guide.yours_step", language, value=shown(point), step=point.step)


def plain(canonical: str, language: Language) -> str:
    """What the metric is, for somebody who has never trained a model; the card's own sentence where there is no simpler one."""
    entry = _entry(canonical)
    found = card(metric_card(canonical) or "").front if entry is not None else {}
    return pick((entry or {}).get("plain"), language) or pick(found.get("short"), language)


def plain_words(canonical: str) -> bool:
    """Whether the metric's card has its plain sentences."""
    return bool(canonical and (_entry(canonical) or {}).get("plain"))


def short_name(view: RunView, canonical: str, language: Language) -> str:
    """What this framework calls a metric, in code; else the name that people use."""
    if key := first_names(view.run.framework).get(canonical):
        return f"`{key}`"
    names = (_entry(canonical) or {}).get("aliases", {}).get(language)
    return str(names[0]) if names else canonical


def look(canonical: str, language: Language) -> str:
    """What it should look like; "" where no sentence holds for every run."""
    return pick((_entry(canonical) or {}).get("look"), language)


def _entry(canonical: str) -> Mapping[str, Any] | None:
    name = metric_card(canonical)
    if name is None:
        return None
    found: Mapping[str, Any] = next(metric for metric in card(name).front["metrics"] if metric["id"] == canonical)
    return found
