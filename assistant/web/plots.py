"""A finding's metrics over the steps, with the onset marked. Every printed value counts: nothing is smoothed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assistant.diagnosis import Finding, RunView
from assistant.messages import Language, say
from assistant.run import NO_STEP, Series
from assistant.web.markup import escape
from assistant.web.overview import is_crash, when

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_POINTS = 1500
LOG_SPAN = 1000.0
"""Largest over smallest value from which a logarithmic axis shows more."""
PANEL, MARGIN = 128, 92
"""Heights in pixels."""

LINE, EVIDENCE, ONSET, BROKEN = "#2a8780", "#2a8780", "#b8601c", "#c23b3b"


@dataclass(frozen=True, slots=True)
class Plot:
    """``caption`` says how it was drawn, ``label`` what it shows (for readers who do not see it)."""

    figure: Figure
    caption: str
    label: str


def plot_of(finding: Finding, view: RunView, language: Language) -> Plot | None:
    """One panel per metric of the evidence; None when no metric has two steps to draw."""
    drawn = [series for name in dict.fromkeys(p.metric for p in finding.evidence) if (series := drawable(view, name)) is not None]
    if not drawn:
        return None
    panels = [Panel.of(series, {p.step for p in finding.evidence if p.metric == series.name}) for series in drawn]
    total, shown = sum(p.total for p in panels), sum(len(p.keep) for p in panels)
    caption = [say("web.plot_all", language) if shown == total else say("web.plot_thinned", language, shown=shown, total=total)]
    if broken := sum(series.n_nonfinite for series in drawn):
        caption.append(say("web.plot_nonfinite", language, n=broken))
    joint = "" if language == "zh" else " "
    return Plot(
        _figure(panels, finding, view, language),
        joint.join(caption),
        say("web.plot_of", language, metrics=", ".join(s.name for s in drawn)),
    )


def drawable(view: RunView, name: str) -> Series | None:
    series = view.printed(name)
    if series is None:
        return None
    series = series.take(series.steps != NO_STEP)
    return series if len(series) >= 2 else None


def thinned(values: NDArray[np.float64], most: int = MOST_POINTS) -> NDArray[np.int64]:
    """Indices to draw: all of them, or the lowest and highest finite value of each stretch, and both ends. Shape (≤ most,)."""
    n = len(values)
    if n <= most:
        return np.arange(n)
    edges = np.linspace(0, n, (most - 2) // 2 + 1).astype(np.int64)
    low, high = np.where(np.isfinite(values), values, np.inf), np.where(np.isfinite(values), values, -np.inf)
    pairs = [(a + int(np.argmin(low[a:b])), a + int(np.argmax(high[a:b]))) for a, b in pairwise(edges.tolist()) if b > a]
    return np.unique(np.array([0, n - 1, *(i for pair in pairs for i in pair)], np.int64))


@dataclass(frozen=True, slots=True)
class Panel:
    """``keep`` are the indices drawn, ``marked`` those of the evidence, ``broken`` the non-finite ones among the drawn."""

    series: Series
    keep: NDArray[np.int64]
    marked: NDArray[np.int64]
    broken: NDArray[np.int64]
    logarithmic: bool

    @classmethod
    def of(cls, series: Series, evidence_steps: set[int | None]) -> Panel:
        steps = [step for step in evidence_steps if step is not None]
        marked = np.flatnonzero(np.isin(series.steps, steps) & series.finite)
        finite = series.values[series.finite]
        logarithmic = bool(len(finite) and finite.min() > 0 and finite.max() / finite.min() > LOG_SPAN)
        broken = np.flatnonzero(~series.finite)
        if len(broken) > MOST_POINTS:
            broken = broken[np.linspace(0, len(broken) - 1, MOST_POINTS).astype(np.int64)]
        return cls(series, np.union1d(thinned(series.values), marked), marked, broken, logarithmic)

    @property
    def total(self) -> int:
        return len(self.series)

    def floor(self) -> float:
        """Where non-finite values are marked: at the lower edge of what is drawn."""
        finite = self.series.values[self.series.finite]
        return float(finite.min()) if len(finite) else 0.0


def _figure(panels: list[Panel], finding: Finding, view: RunView, language: Language) -> Figure:
    from plotly.graph_objects import Figure

    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {
        "height": PANEL * len(panels) + MARGIN,
        "margin": {"l": 56, "r": 14, "t": 48, "b": 44},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": False,
        "font": {"family": "ui-sans-serif, system-ui, sans-serif", "size": 12, "color": "#6b6f73"},
        "xaxis": _axis(anchor=f"y{len(panels)}" if len(panels) > 1 else "y", title={"text": say("web.plot_step", language), "standoff": 6}),
        "shapes": [],
        "annotations": [],
    }
    gap = 0.2 / len(panels)
    height = (1 - gap * (len(panels) - 1)) / len(panels)
    for index, panel in enumerate(panels):
        axis = "y" if index == 0 else f"y{index + 1}"
        top = 1 - index * (height + gap)
        scale = {"type": "log", "dtick": 1} if panel.logarithmic else {"nticks": 4}
        layout["yaxis" + axis[1:]] = _axis(domain=[max(top - height, 0), top], anchor="x", **scale)
        data += _traces(panel, axis, language)
        layout["annotations"].append(_name(panel, top, language))
    _mark_onset(layout, finding, view, language)
    return Figure(data=data, layout=layout)


def _axis(**more: Any) -> dict[str, Any]:
    return {"gridcolor": "rgba(128,128,128,.18)", "zerolinecolor": "rgba(128,128,128,.35)", "fixedrange": True, "automargin": True, **more}


def _traces(panel: Panel, axis: str, language: Language) -> list[dict[str, Any]]:
    series = panel.series
    common = {"type": "scatter", "xaxis": "x", "yaxis": axis, "hovertemplate": _hover(series.name, language)}

    def trace(rows: NDArray[np.int64], **more: Any) -> dict[str, Any]:
        printed = [[escape(series.text(row)), int(series.lines[row])] for row in rows.tolist()]
        return {**common, "x": series.steps[rows].tolist(), "customdata": printed, **more}

    kept = series.values[panel.keep]
    heights = [float(v) if np.isfinite(v) else None for v in kept]
    mode = "lines+markers" if len(panel.keep) <= 60 else "lines"
    traces = [trace(panel.keep, y=heights, mode=mode, line={"color": LINE, "width": 1.6}, marker={"size": 4, "color": LINE})]
    if len(panel.marked):
        ring = {"size": 10, "color": "rgba(0,0,0,0)", "line": {"color": ONSET, "width": 2}}
        traces.append(trace(panel.marked, y=series.values[panel.marked].tolist(), mode="markers", marker=ring))
    if len(panel.broken):
        cross = {"symbol": "x", "size": 8, "color": BROKEN}
        traces.append(trace(panel.broken, y=[panel.floor()] * len(panel.broken), mode="markers", marker=cross))
    return traces


def _hover(name: str, language: Language) -> str:
    """Plotly's template: the name once, each point's own text, step and line."""
    step, line = say("web.at_step", language, step="%{x:d}"), say("web.line", language, line="%{customdata[1]}")
    return f"{escape(name).replace('%', '&#37;')} = <b>%{{customdata[0]}}</b><br>{step} · {line}<extra></extra>"


def _name(panel: Panel, top: float, language: Language) -> dict[str, Any]:
    scale = f" <i>({escape(say('web.plot_log_scale', language))})</i>" if panel.logarithmic else ""
    text = f"{escape(panel.series.name)}{scale}"
    return _note(text, x=0, y=top, xref="paper", yref="paper", xanchor="left", yanchor="bottom")


def _mark_onset(layout: dict[str, Any], finding: Finding, view: RunView, language: Language) -> None:
    step = finding.first_step
    if step is None or is_crash(finding) or not len(view.steps):
        return
    first, last = int(view.steps[0]), int(view.steps[-1])
    if step <= first:
        return
    dash = {"color": ONSET, "width": 1.5, "dash": "dot"}
    layout["shapes"].append({"type": "line", "xref": "x", "yref": "paper", "x0": step, "x1": step, "y0": 0, "y1": 1.0, "line": dash})
    until = last if finding.last_step is None else min(finding.last_step, last)
    if until > step:
        layout["shapes"].append(
            {"type": "rect", "xref": "x", "yref": "paper", "x0": step, "x1": until, "y0": 0, "y1": 1, "line": {"width": 0}}
            | {"fillcolor": ONSET, "opacity": 0.06, "layer": "below"}
        )
    late = step > (first + last) / 2
    layout["annotations"].append(
        _note(escape(when(finding, view.run, language)), x=step, y=1, xref="x", yref="paper", xanchor="right" if late else "left")
        | {"yanchor": "bottom", "yshift": 17, "font": {"color": ONSET, "size": 12}}
    )


def _note(text: str, **place: Any) -> dict[str, Any]:
    return {"text": text, "showarrow": False, "font": {"size": 12}, **place}
