"""What to draw: the metrics of a finding, any metrics, one against another, two runs over each other, the time of each step by part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from assistant.charts.bands import band_of
from assistant.charts.curves import (
    MOST_POINTS,
    Curve,
    Layer,
    LinePanel,
    Panels,
    ScatterPanel,
    StackPanel,
    curve_of,
    thinned,
    wants_log,
)
from assistant.charts.palette import LAYERS
from assistant.diagnosis.finding import Finding
from assistant.diagnosis.timing import step_times
from assistant.diagnosis.view import RunView
from assistant.run import NO_STEP, FloatArray, IntArray, Series

MOST_PANELS = 8
"""Panels of one chart; further metrics are named in ``Panels.beyond``."""
LEAST_LAYER = 0.01
"""Share of all time below which a part is drawn together with the rest."""


def panels_of(
    what: Finding | Sequence[str],
    view: RunView,
    *,
    first: int | None = None,
    last: int | None = None,
    logarithmic: bool | None = None,
    window: int = 0,
    most: int = MOST_POINTS,
) -> Panels:
    """One panel a metric: those of a finding's evidence (with its onset marked), or the named ones (as printed, or canonical).

    ``first`` and ``last`` are steps, ``logarithmic`` None chooses by the values, ``window`` > 1 adds a moving mean, ``most`` bounds the
    values drawn of a curve. The result is false when no metric has two steps to draw.
    """
    finding = what if isinstance(what, Finding) else None
    names = tuple(dict.fromkeys([p.metric for p in what.evidence] if isinstance(what, Finding) else what))
    panels: list[LinePanel] = []
    missing: list[str] = []
    beyond: list[str] = []
    for name in names:
        series = drawable(view, name, first, last)
        if series is None or len(panels) == MOST_PANELS:
            (missing if series is None else beyond).append(name)
            continue
        marked = [p.step for p in finding.evidence if p.metric == name] if finding is not None else []
        curve = curve_of(series, marked=marked, window=window, most=most)
        panels.append(_line_panel(name, view, (curve,), [series], logarithmic))
    found = Panels(
        tuple(panels), window=window if window > 1 else 0, missing=tuple(missing), beyond=tuple(beyond), linear=_linear(panels, logarithmic)
    )
    return _with_onset(found, finding) if finding is not None else found


def overlaid(
    a: RunView,
    b: RunView,
    names: Sequence[str],
    *,
    runs: tuple[str, str] = ("A", "B"),
    first: int | None = None,
    last: int | None = None,
    logarithmic: bool | None = None,
    window: int = 0,
    most: int = MOST_POINTS,
    parted: int | None = None,
) -> Panels:
    """Two runs over each other by step. A name is looked up in each run by what it means, so that renamed keys meet; values are in the
    metric's own unit where the two runs print different ones. ``parted`` is a step to mark. Runs whose steps lie far apart are drawn
    from their starts (``Panels.starts``)."""
    starts = _starts(a, b) if first is None and last is None else ()
    panels: list[LinePanel] = []
    missing: list[str] = []
    beyond: list[str] = []
    for name in dict.fromkeys(names):
        one, other = (_drawable(view, _called(name, view, a, b), first, last, 1) for view in (a, b))
        if max(len(one or ()), len(other or ())) < 2:  # one value is drawn beside a curve, not by itself
            one = other = None
        if (one is None and other is None) or len(panels) == MOST_PANELS:
            (missing if one is None and other is None else beyond).append(name)
            continue
        drawn = [(letter, s) for letter, s in (("A", one), ("B", other)) if s is not None]
        if one is not None and other is not None and one.scale != other.scale:
            drawn = [(letter, _scaled(series)) for letter, series in drawn]
        curves = tuple(curve_of(series, run=letter, window=window, most=most) for letter, series in drawn)
        if starts:
            curves = tuple(_from_start(curve, starts["AB".index(curve.run)]) for curve in curves)
        panels.append(_line_panel(drawn[-1][1].name, b if other is not None else a, curves, [s for _, s in drawn], logarithmic))
    smoothed = window if window > 1 else 0
    linear = _linear(panels, logarithmic)
    marked = None if starts else parted
    return Panels(tuple(panels), marked, None, smoothed, runs, tuple(missing), tuple(beyond), linear, starts)


def _starts(a: RunView, b: RunView) -> tuple[int, ...]:
    """The first steps of two runs between which there are more steps than in either of them; else ()."""
    spans = [(int(steps.min()), int(steps.max())) for steps in (view.steps for view in (a, b)) if len(steps)]
    if len(spans) < 2:
        return ()
    (low_a, high_a), (low_b, high_b) = spans
    gap = max(low_b - high_a, low_a - high_b)
    return (low_a, low_b) if gap > max(high_a - low_a, high_b - low_b, 1) else ()


def _from_start(curve: Curve, start: int) -> Curve:
    return replace(curve, steps=curve.steps - start, start=start)


def against(
    y: str,
    x: str,
    view: RunView,
    *,
    first: int | None = None,
    last: int | None = None,
    most: int = MOST_POINTS,
    logarithmic: bool | None = None,
) -> Panels:
    """One metric over another, a point for each step that printed both; coloured by step."""
    up, along = drawable(view, y, first, last), drawable(view, x, first, last)
    if up is None or along is None:
        return Panels(missing=tuple(name for name, s in ((y, up), (x, along)) if s is None))
    shared = np.intersect1d(up.steps, along.steps)
    up, along = up.take(np.isin(up.steps, shared)), along.take(np.isin(along.steps, shared))
    both = up.finite & along.finite
    left_out = int(np.count_nonzero(~both))
    up, along = up.take(both), along.take(both)
    if len(up) < 2:
        return Panels(missing=(y, x))
    keep = np.union1d(thinned(up.values, most), thinned(along.values, most))
    logs = tuple(wants_log(s.values) if logarithmic is None else logarithmic and bool((s.values > 0).all()) for s in (along, up))
    panel = ScatterPanel(
        up.name,
        along.name,
        along.values[keep],
        up.values[keep],
        up.steps[keep],
        tuple((along.text(int(i)), up.text(int(i))) for i in keep),
        up.lines[keep],
        len(up),
        left_out,
        (logs[0], logs[1]),
    )
    return Panels((panel,))


def times_of(view: RunView, *, first: int | None = None, last: int | None = None, most: int = 300) -> Panels:
    """Seconds of each step, stacked by part; of a long log the mean of every few steps."""
    found = step_times(view)
    if found is None or len(found.steps) < 2:
        return Panels()
    inside = (found.steps != NO_STEP) & _within(found.steps, first, last)
    if np.count_nonzero(inside) < 2:
        return Panels()
    whole = float(np.nansum(found.total[inside]))
    parts = sorted((p for p in found.parts if p.parent == "step"), key=lambda p: -float(p.seconds[inside].sum()))
    layers = [Layer(p.name, p.seconds[inside]) for p in parts if whole > 0 and float(p.seconds[inside].sum()) >= LEAST_LAYER * whole]
    layers = layers[: len(LAYERS)]
    drawn = np.sum([layer.seconds for layer in layers], axis=0) if layers else np.zeros(int(np.count_nonzero(inside)))
    rest = np.maximum(np.nan_to_num(found.total[inside]) - drawn, 0.0)
    if float(rest.sum()) > 0.001 * max(whole, 1e-9):
        layers.append(Layer("", rest))
    steps = found.steps[inside]
    span = -(-len(steps) // most)
    if span > 1:
        edges = np.arange(0, len(steps), span)
        counts = np.diff([*edges, len(steps)])
        layers = [Layer(layer.name, np.add.reduceat(layer.seconds, edges) / counts) for layer in layers]
        drawn_steps = steps[edges]
    else:
        drawn_steps = steps
    return Panels((StackPanel(drawn_steps, tuple(layers), len(steps), span),)) if layers else Panels()


def drawable(view: RunView, name: str, first: int | None = None, last: int | None = None) -> Series | None:
    """The metric's values that have a step, inside the range; None when there are not two."""
    return _drawable(view, name, first, last, 2)


def _drawable(view: RunView, name: str, first: int | None, last: int | None, least: int) -> Series | None:
    series = view.printed(name) if name in view.run.columns else view[name]
    if series is None:
        return None
    series = series.take((series.steps != NO_STEP) & _within(series.steps, first, last))
    return series if len(series) >= least else None


def _within(steps: IntArray, first: int | None, last: int | None) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = (steps >= (first if first is not None else NO_STEP)) & (
        steps <= (last if last is not None else np.iinfo(np.int64).max)
    )
    return inside


def _line_panel(name: str, view: RunView, curves: tuple[Curve, ...], series: Sequence[Series], logarithmic: bool | None) -> LinePanel:
    values = np.concatenate([s.values[s.finite] for s in series])
    canonical = view.names[name].canonical if name in view.names else name if name not in view.run.columns else ""
    log = wants_log(values) if logarithmic is None else logarithmic and bool((values > 0).any())
    shown = curves[-1].name
    return LinePanel(shown, curves, bool(log), band_of(canonical, series[-1].scale), canonical)


def _linear(panels: Sequence[LinePanel], logarithmic: bool | None) -> tuple[str, ...]:
    """Metrics for which a logarithmic axis was asked and is not possible."""
    return tuple(panel.name for panel in panels if logarithmic and not panel.logarithmic)


def _with_onset(found: Panels, finding: Finding) -> Panels:
    """Marks where the finding holds, unless it is there all along, or is a crash (which is an end, not a stretch)."""
    step, span = finding.first_step, found.steps
    if step is None or finding.id.startswith("crash-") or span is None or step > span[1]:
        return found
    first, last = span
    until = last if finding.last_step is None else min(finding.last_step, last)
    if step <= first and until >= last:
        return found
    return replace(found, onset=step, until=until)


def _called(name: str, view: RunView, *views: RunView) -> str:
    """What ``view`` calls a metric that any of the views prints: the same key, else what has the same meaning."""
    if name in view.run.columns:
        return name
    canonical = next((v.names[name].canonical for v in views if name in v.names), "")
    return canonical if canonical and canonical != "validation" else name


def _scaled(series: Series) -> Series:
    values: FloatArray = series.scaled
    texts = {index: f"{value:.6g}" for index, value in enumerate(values)}
    return Series(series.name, series.steps, values, series.lines, series.styles, texts)
