"""Charts for the browser, as plotly's own JSON: ``{"data", "layout"}``, finite numbers only.

Points carry ``[text, line]`` (digits as printed, line of the log), so that a page can lead from a point to its line. Plotly reads a little
HTML in labels: whatever comes out of a log is escaped.
"""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from assistant.charts import palette
from assistant.charts.curves import Curve, LinePanel, Panels, ScatterPanel, StackPanel
from assistant.charts.scales import drawn_heights, edges, limits
from assistant.messages import Language, say
from assistant.run import FloatArray

PANEL, TALL, MARGIN = 128, 260, 92
"""Heights in pixels."""
MARKED_ONE_BY_ONE = 60
SOFT, GRID = "#7d8590", "rgba(128,128,128,.18)"


def figure(panels: Panels, language: Language = "en", *, mark: int | None = None, zoom: bool = False) -> dict[str, Any]:
    """The chart as ``{"data", "layout"}``. ``mark`` is a step to point at, ``zoom`` lets the reader drag a range of steps.

    Raises ValueError for a chart without panels.
    """
    if not panels:
        raise ValueError("a chart without panels cannot be drawn")
    first = panels.panels[0]
    if isinstance(first, ScatterPanel):
        return _scatter(first, language)
    data: list[dict[str, Any]] = []
    layout = _layout(panels, zoom)
    layout["xaxis"] = _axis(anchor=f"y{len(panels.panels)}" if len(panels.panels) > 1 else "y", fixedrange=not zoom)
    layout["xaxis"]["title"] = {"text": say("charts.step_from_start" if panels.starts else "charts.step", language), "standoff": 6}
    if panels.steps:
        layout["xaxis"]["range"] = list(edges(np.array(panels.steps, float)))
    gap = 0.2 / len(panels.panels)
    height = (1 - gap * (len(panels.panels) - 1)) / len(panels.panels)
    for index, panel in enumerate(panels.panels):
        axis = "y" if index == 0 else f"y{index + 1}"
        top = 1 - index * (height + gap)
        domain = [max(top - height, 0), top]
        if isinstance(panel, StackPanel):
            layout["yaxis" + axis[1:]] = _axis(domain=domain, anchor="x", nticks=5, rangemode="tozero")
            data += _stack(panel, axis, language)
            layout["showlegend"] = True
            layout["legend"] = _legend()
        elif isinstance(panel, LinePanel):
            low, high = limits(panel.finite, panel.logarithmic, 0.08)
            scale = {"type": "log", "dtick": _decades(low, high), "exponentformat": "power"} if panel.logarithmic else {"nticks": 4}
            shown = [float(np.log10(low)), float(np.log10(high))] if panel.logarithmic else [low, high]
            layout["yaxis" + axis[1:]] = _axis(domain=domain, anchor="x", range=shown, **scale)
            for curve in panel.curves:
                data += _traces(curve, panel, axis, (low, high), language)
            if panel.band is not None:
                layout["shapes"].append(_band(panel, axis, low, high))
        layout["annotations"].append(_name(panel, top, language))
    if panels.runs:
        layout["showlegend"] = True
        layout["legend"] = _legend()
        data += [_run_key(letter, name, language) for letter, name in zip("AB", panels.runs, strict=True)]
    _onset(layout, panels, language, lift=0 if isinstance(first, StackPanel) else 17)
    if mark is not None:
        line = {"color": SOFT, "width": 1}
        layout["shapes"].append({"type": "line", "xref": "x", "yref": "paper", "x0": mark, "x1": mark, "y0": 0, "y1": 1, "line": line})
    return {"data": data, "layout": layout}


def _layout(panels: Panels, zoom: bool) -> dict[str, Any]:
    heights = sum(TALL if not isinstance(panel, LinePanel) else PANEL for panel in panels.panels)
    stacked = any(isinstance(panel, StackPanel) for panel in panels.panels)
    return {
        "height": heights + MARGIN + (26 if panels.runs or stacked else 0),
        "margin": {"l": 56, "r": 14, "t": 74 if panels.runs or stacked else 48, "b": 44},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": "zoom" if zoom else False,
        "font": {"family": "ui-sans-serif, system-ui, sans-serif", "size": 12, "color": SOFT},
        "shapes": [],
        "annotations": [],
    }


def _legend() -> dict[str, Any]:
    return {"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "top", "yref": "container", "font": {"size": 12}} | {
        "itemclick": False, "itemdoubleclick": False, "traceorder": "normal", "tracegroupgap": 0, "bgcolor": "rgba(0,0,0,0)",
    }  # fmt: skip


def _axis(**more: Any) -> dict[str, Any]:
    return {"gridcolor": GRID, "zerolinecolor": "rgba(128,128,128,.35)", "fixedrange": True, "automargin": True, **more}


def _decades(low: float, high: float) -> float:
    """Powers of ten between two labels."""
    return max(1, int(np.ceil((np.log10(high) - np.log10(low)) / 5)))


def _heights(values: FloatArray) -> list[float | None]:
    return [float(v) if np.isfinite(v) else None for v in drawn_heights(values)]


def _traces(curve: Curve, panel: LinePanel, axis: str, span: tuple[float, float], language: Language) -> list[dict[str, Any]]:
    colour = palette.RUNS[1 if curve.run == "B" else 0] if curve.run else palette.LINE
    common = {"type": "scatter", "xaxis": "x", "yaxis": axis, "hovertemplate": _hover(curve, language), "showlegend": False}
    about = [[_text(text), int(line)] for text, line in zip(curve.texts, curve.lines.tolist(), strict=True)]
    if curve.start:  # what stands on the axis is not the step that the log prints
        about = [[*row, step] for row, step in zip(about, (curve.steps + curve.start).tolist(), strict=True)]
    every = np.arange(len(curve.values))

    def trace(rows: Any, heights: list[float | None], **more: Any) -> dict[str, Any]:
        return {**common, "x": curve.steps[rows].tolist(), "y": heights, "customdata": [about[i] for i in rows.tolist()], **more}

    heights = _heights(np.where(curve.values > 0, curve.values, np.nan) if panel.logarithmic else curve.values)
    few = len(heights) <= MARKED_ONE_BY_ONE or _alone(heights)
    line: dict[str, Any] = {"color": colour, "width": 1.6} | ({"dash": "dash"} if curve.run == "A" else {})
    mode = "lines+markers" if few else "lines"
    traces = [trace(every, heights, mode=mode, line=line, marker={"size": 4, "color": colour}, connectgaps=False)]
    if curve.smooth is not None:
        traces[0]["opacity"] = 0.4
        smooth = np.where(curve.smooth > 0, curve.smooth, np.nan) if panel.logarithmic else curve.smooth
        traces.append(
            {**common, "x": curve.steps.tolist(), "y": _heights(smooth), "mode": "lines", "hoverinfo": "skip"}
            | {"line": {**line, "width": 2.6}}
        )
        del traces[-1]["hovertemplate"]
    if len(curve.marked):
        ring = {"size": 10, "color": "rgba(0,0,0,0)", "line": {"color": palette.ONSET, "width": 2}}
        traces.append(trace(curve.marked, [heights[i] for i in curve.marked.tolist()], mode="markers", marker=ring))
    if len(broken := curve.broken):
        places: list[float | None] = [span[1] if np.isposinf(curve.values[i]) else span[0] for i in broken.tolist()]
        traces.append(trace(broken, places, mode="markers", marker={"symbol": "x", "size": 8, "color": palette.BROKEN}, cliponaxis=False))
    if panel.logarithmic and len(below := np.flatnonzero(np.isfinite(curve.values) & (curve.values <= 0))):
        mark = {"symbol": "triangle-down-open", "size": 7, "color": SOFT}
        traces.append(trace(below, [span[0]] * len(below), mode="markers", marker=mark, cliponaxis=False))
    return traces


def _alone(heights: list[float | None]) -> bool:
    """A value between two gaps makes no line."""
    there = [False, *(h is not None for h in heights), False]
    return any(here and not before and not after for before, here, after in zip(there, there[1:], there[2:], strict=False))


def _run_key(letter: str, name: str, language: Language) -> dict[str, Any]:
    line = {"color": palette.RUNS["AB".index(letter)], "width": 2} | ({"dash": "dash"} if letter == "A" else {})
    text = f"{letter}: {_text(name)}" if name and name != letter else letter
    return {
        "type": "scatter",
        "x": [None],
        "y": [None],
        "mode": "lines",
        "line": line,
        "name": text,
        "showlegend": True,
        "hoverinfo": "skip",
    }


def _hover(curve: Curve, language: Language) -> str:
    """Plotly's template: the name once, each point's own text, step and line."""
    name = _text(curve.name).replace("%", "&#37;") + (f" ({curve.run})" if curve.run else "")
    return f"{name} = <b>%{{customdata[0]}}</b><br>{_where(language, curve.start)}<extra></extra>"


def _where(language: Language, start: int = 0) -> str:
    step = say("charts.since", language, step="%{customdata[2]}" if start else "%{x:d}")
    line = say("charts.line", language, line="%{customdata[1]}")
    return f"{step} · {line}"


def _text(text: object) -> str:
    return html.escape(str(text), quote=True)


def _name(panel: LinePanel | StackPanel | ScatterPanel, top: float, language: Language) -> dict[str, Any]:
    log = isinstance(panel, LinePanel) and panel.logarithmic
    if isinstance(panel, StackPanel):
        return _note(_text(say("charts.seconds", language)), x=0, y=0.5, xref="paper", yref="paper", xanchor="right", yanchor="middle") | {
            "textangle": -90, "xshift": -36,
        }  # fmt: skip
    text = _text(panel.name) + (f" <i>({_text(say('charts.log_scale', language))})</i>" if log else "")
    return _note(text, x=0, y=top, xref="paper", yref="paper", xanchor="left", yanchor="bottom")


def _band(panel: LinePanel, axis: str, low: float, high: float) -> dict[str, Any]:
    assert panel.band is not None
    bottom = low if panel.band.low is None else min(max(panel.band.low, low), high)
    top = high if panel.band.high is None else max(min(panel.band.high, high), low)
    return {"type": "rect", "xref": "paper", "yref": axis, "x0": 0, "x1": 1, "y0": bottom, "y1": max(top, bottom)} | {
        "line": {"width": 0}, "fillcolor": palette.BAND, "opacity": 0.13 if top > bottom else 0, "layer": "below",
    }  # fmt: skip


def _onset(layout: dict[str, Any], panels: Panels, language: Language, lift: float) -> None:
    if (stretch := panels.stretch) is not None:
        layout["shapes"].append(
            {"type": "rect", "xref": "x", "yref": "paper", "x0": stretch[0], "x1": stretch[1], "y0": 0, "y1": 1, "line": {"width": 0}}
            | {"fillcolor": palette.ONSET, "opacity": 0.06, "layer": "below"}
        )
    step, span = panels.begins, panels.steps
    if step is None or span is None:
        return
    dash = {"color": palette.ONSET, "width": 1.5, "dash": "dot"}
    layout["shapes"].append({"type": "line", "xref": "x", "yref": "paper", "x0": step, "x1": step, "y0": 0, "y1": 1.0, "line": dash})
    late = step > (span[0] + span[1]) / 2
    layout["annotations"].append(
        _note(_text(say("charts.since", language, step=step)), x=step, y=1, xref="x", yref="paper", xanchor="right" if late else "left")
        | {"yanchor": "bottom", "yshift": lift, "font": {"color": palette.ONSET, "size": 12}}
    )


def _note(text: str, **place: Any) -> dict[str, Any]:
    return {"text": text, "showarrow": False, "font": {"size": 12}, **place}


def _stack(panel: StackPanel, axis: str, language: Language) -> list[dict[str, Any]]:
    traces = []
    step = say("charts.since", language, step="%{x:d}")
    for index, layer in enumerate(panel.layers):
        colour = palette.LAYERS[index % len(palette.LAYERS)] if layer.name else palette.REST
        name = _text(layer.name or say("charts.rest", language))
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "stackgroup": "parts",
                "xaxis": "x",
                "yaxis": axis,
                "name": name,
                "showlegend": True,
                "x": panel.steps.tolist(),
                "y": [height or 0.0 for height in _heights(layer.seconds)],
                "line": {"width": 0, "color": colour, "shape": "hvh"},
                "fillcolor": colour,
                "hovertemplate": f"{name.replace('%', '&#37;')}: %{{y:.4g}} s<br>{step}<extra></extra>",
            }
        )
    return traces


def _scatter(panel: ScatterPanel, language: Language) -> dict[str, Any]:
    layout = _layout(Panels((panel,)), zoom=False) | {"height": TALL + 170, "margin": {"l": 60, "r": 20, "t": 40, "b": 54}}
    for key, values, log, anchor in (("xaxis", panel.x, panel.logarithmic[0], "y"), ("yaxis", panel.y, panel.logarithmic[1], "x")):
        low, high = limits(values, log)
        shown = [float(np.log10(low)), float(np.log10(high))] if log else [low, high]
        layout[key] = _axis(
            anchor=anchor, range=shown, **({"type": "log", "dtick": _decades(low, high), "exponentformat": "power"} if log else {})
        )
    layout["xaxis"]["title"] = {"text": _text(panel.across), "standoff": 8}
    layout["annotations"].append(_note(_text(panel.name), x=0, y=1, xref="paper", yref="paper", xanchor="left", yanchor="bottom"))
    x, y = (_text(name).replace("%", "&#37;") for name in (panel.across, panel.name))
    where = say("charts.since", language, step="%{customdata[2]}") + " · " + say("charts.line", language, line="%{customdata[1]}")
    rows = zip(panel.texts, panel.lines.tolist(), panel.steps.tolist(), strict=True)
    later = [[0, "#9cc3e6"], [0.5, "#2f7fc2"], [1, "#123a63"]]
    trace = {
        "type": "scatter", "mode": "lines+markers" if len(panel.x) <= 300 else "markers", "x": _heights(panel.x), "y": _heights(panel.y),
        "customdata": [[_text(ty), int(line), int(step), _text(tx)] for (tx, ty), line, step in rows],
        "line": {"color": SOFT, "width": 0.6},
        "marker": {"size": 7, "color": list(range(len(panel.x))), "colorscale": later, "line": {"width": 0.8, "color": SOFT}},
        "hovertemplate": f"{y} = <b>%{{customdata[0]}}</b><br>{x} = <b>%{{customdata[3]}}</b><br>{where}<extra></extra>",
        "showlegend": False,
    }  # fmt: skip
    return {"data": [trace], "layout": layout}
