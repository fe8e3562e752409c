"""The panels of a chart as matplotlib axes: one column, shared steps, few lines, every mark with a shape of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from assistant.charts import palette
from assistant.charts.curves import Curve, LinePanel, Panels, ScatterPanel, StackPanel
from assistant.charts.scales import drawn_heights, edges, limits, tick

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL, TITLE, FOOT, TOP = 108, 24, 34, 8
"""Heights in points: the plotting area, the line above it, the step axis, the upper edge."""
TALL, LEGEND_ROW = 220, 16
LEFT, RIGHT = 62, 16
MARKED_ONE_BY_ONE = 60
"""Values up to which each has a dot."""
LETTER = 5.6
"""Width of a digit at the size of a value's label, in points."""


class Words(Protocol):
    def name(self, text: str, most: int = 88) -> str: ...

    def say(self, key: str, neutral: str, **values: object) -> str: ...


def lay_out(figure: Figure, panels: Panels, width: int, words: Words) -> None:
    """Size the figure for its panels and draw them from top to bottom."""
    heights = [TALL if isinstance(panel, (StackPanel, ScatterPanel)) else PANEL for panel in panels.panels]
    heads = [TITLE + (LEGEND_ROW * _legend_rows(panel, width) if isinstance(panel, StackPanel) else 0) for panel in panels.panels]
    beside = _beside_title(panels, width) and not panels.runs
    first_head = 14 if (panels.begins is not None and not beside) or panels.runs else 0
    height = TOP + first_head + sum(heights) + sum(heads) + FOOT
    figure.set_size_inches(width / 72, height / 72)
    steps = panels.steps
    across = edges(np.array(steps, float)) if steps else (0.0, 1.0)
    y = height - TOP - first_head
    last = len(panels.panels) - 1
    for index, (panel, tall, head) in enumerate(zip(panels.panels, heights, heads, strict=True)):
        y -= head + tall
        axes = figure.add_axes((LEFT / width, y / height, (width - LEFT - RIGHT) / width, tall / height))
        _frame(axes)
        if isinstance(panel, ScatterPanel):
            _scatter(axes, panel, words)
        else:
            axes.set_xlim(*across)
            if isinstance(panel, StackPanel):
                _stack(axes, panel, words, width, tall)
            else:
                _lines(axes, panel, panels, words)
            _onset(axes, panels, across, words, lift=5 if beside else 19, labelled=index == 0)
            _steps_axis(axes, words, labelled=index == last, from_start=bool(panels.starts))
    if panels.runs:
        _run_legend(figure, height, width, words)


def _frame(axes: Axes) -> None:
    axes.set_facecolor("none")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set(color=palette.SOFT, linewidth=0.6)
    axes.tick_params(axis="both", which="both", length=0, labelsize=9, labelcolor=palette.SOFT, pad=4)
    axes.grid(visible=True, axis="y", which="major", color=palette.RULE, linewidth=0.6)
    axes.set_axisbelow(True)


def _steps_axis(axes: Axes, words: Words, *, labelled: bool, from_start: bool = False) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, min_n_ticks=1))
    if labelled:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
        name = words.say("step_from_start", "steps since start") if from_start else words.say("step", "step")
        axes.set_xlabel(name, fontsize=9, color=palette.SOFT, labelpad=3)
    else:
        axes.xaxis.set_major_formatter(NullFormatter())


def _value_axis(axis: Any, low: float, high: float, logarithmic: bool) -> None:
    """``axis`` is the x or y axis; its limits are set by the caller."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, NullLocator

    if logarithmic:
        decades = np.arange(np.ceil(np.log10(low)), np.floor(np.log10(high)) + 1)
        decades = decades[:: max(1, -(-len(decades) // 5))]
        ticks = (
            10.0**decades
            if len(decades) >= 2
            else np.geomspace(low, high, 3)[[0, 2]]
            if not len(decades)
            else np.array([10.0 ** decades[0]])
        )
        axis.set_major_locator(FixedLocator(ticks.tolist()))
        axis.set_minor_locator(NullLocator())
        axis.set_minor_formatter(NullFormatter())
    else:
        axis.set_major_locator(MaxNLocator(nbins=4, min_n_ticks=2))
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))


def _title(axes: Axes, left: str, right: str = "", lift: float = 5) -> None:
    """The metric's name above its panel, and on the right how it is scaled."""
    put: dict[str, Any] = {"textcoords": "offset points", "fontsize": 9.5, "annotation_clip": False}
    axes.annotate(left, (0, 1), (-LEFT + 8, lift), xycoords="axes fraction", ha="left", va="bottom", color=palette.INK, **put)
    if right:
        axes.annotate(right, (1, 1), (0, lift), xycoords="axes fraction", ha="right", va="bottom", color=palette.SOFT, **put)


def _lines(axes: Axes, panel: LinePanel, panels: Panels, words: Words) -> None:
    every = panel.finite
    low, high = limits(every, panel.logarithmic, 0.1)
    if panel.logarithmic:
        axes.set_yscale("log")
    axes.set_ylim(low, high)
    _value_axis(axes.yaxis, low, high, panel.logarithmic)
    if panel.band is not None:
        _band(axes, panel.band.low, panel.band.high, low, high)
    for index, curve in enumerate(panel.curves):
        _curve(axes, curve, panel, low, high, index)
    if len(panel.curves) == 1 and not panels.window:
        _label_evidence(axes, panel.curves[0], panel.logarithmic)
    _title(axes, words.name(panel.name), words.say("log_scale", "log") if panel.logarithmic else "")


def _curve(axes: Axes, curve: Curve, panel: LinePanel, low: float, high: float, index: int) -> None:
    colour = palette.RUNS[1 if curve.run == "B" else 0] if curve.run else palette.LINE
    heights = drawn_heights(curve.values)
    if panel.logarithmic:
        heights = np.where(heights > 0, heights, np.nan)
    faint = curve.smooth is not None
    dots: dict[str, Any] = (
        {"marker": "o", "markersize": 2.6, "markeredgewidth": 0} if _alone(heights) or len(heights) <= MARKED_ONE_BY_ONE else {}
    )
    style: dict[str, Any] = {"linestyle": (0, (5, 2))} if curve.run == "A" else {}
    axes.plot(
        curve.steps, heights, color=colour, linewidth=0.8 if faint else 1.3, alpha=0.4 if faint else 1, zorder=2 + index, **style, **dots
    )
    if curve.smooth is not None:
        smooth = drawn_heights(curve.smooth)
        axes.plot(
            curve.steps,
            np.where(smooth > 0, smooth, np.nan) if panel.logarithmic else smooth,
            color=colour,
            linewidth=2,
            zorder=3.5,
            **style,
        )
    if len(curve.marked):
        ring: dict[str, Any] = {
            "marker": "o",
            "markersize": 6.5,
            "markerfacecolor": "none",
            "markeredgecolor": palette.ONSET,
            "markeredgewidth": 1.4,
        }
        shown = heights[curve.marked]
        axes.plot(curve.steps[curve.marked], shown, linestyle="none", zorder=5, clip_on=False, **ring)
    rim: dict[str, Any] = {"linestyle": "none", "zorder": 6, "clip_on": False}
    for place, rows in ((high, np.isposinf(curve.values)), (low, np.isnan(curve.values) | np.isneginf(curve.values))):
        if rows.any():
            at = np.full(int(rows.sum()), place)
            axes.plot(curve.steps[rows], at, marker="x", markersize=5.5, markeredgewidth=1.5, color=palette.BROKEN, **rim)
    if panel.logarithmic and (under := np.isfinite(curve.values) & (curve.values <= 0)).any():
        axes.plot(
            curve.steps[under], np.full(int(under.sum()), low), marker="v", markersize=4, markerfacecolor="none", color=palette.SOFT, **rim
        )


def _alone(heights: np.ndarray) -> bool:
    """A value between two gaps makes no line: it needs a dot to be seen."""
    there = np.concatenate([[False], np.isfinite(heights), [False]])
    return bool((there[1:-1] & ~there[:-2] & ~there[2:]).any())


def _band(axes: Axes, band_low: float | None, band_high: float | None, low: float, high: float) -> None:
    bottom = low if band_low is None else max(band_low, low)
    top = high if band_high is None else min(band_high, high)
    if bottom < top:
        axes.axhspan(bottom, top, facecolor=palette.BAND, alpha=0.13, linewidth=0, zorder=0.5)


def _label_evidence(axes: Axes, curve: Curve, logarithmic: bool) -> None:
    """The printed digits at the rings, above or below, wherever the curve is not; a label that would touch another is left to the table."""
    heights = drawn_heights(curve.values)
    heights = np.where(heights > 0, heights, np.nan) if logarithmic else heights
    scale, box = 72 / axes.figure.dpi, axes.get_window_extent()
    points = (axes.transData.transform(np.column_stack([curve.steps.astype(float), heights])) - (box.x0, box.y0)) * scale
    wide, tall = box.width * scale, box.height * scale
    drawn = points[np.isfinite(points[:, 1])]
    taken: list[tuple[float, float, float]] = []
    for index in curve.marked.tolist():
        x, y = points[index]
        if not np.isfinite(y):
            continue
        text = curve.texts[index]
        text = text if len(text) <= 9 else tick(float(f"{curve.values[index]:.4g}"))
        width = LETTER * len(text)
        start = float(np.clip(x - width / 2, 1, max(wide - width - 1, 1)))
        across = np.linspace(start, start + width, 25)
        curve_there = np.interp(across, drawn[:, 0], drawn[:, 1])
        places = [y + 6.0, y - 16.0]
        cost = [
            _inside(curve_there, level) + 100 * (level < -2 or level + 10 > tall + (6 if logarithmic or start < wide / 2 else 16))
            for level in places
        ]
        level = places[int(np.argmin(cost))]
        if any(start < right + 4 and left < start + width + 4 and abs(level - other) < 12 for left, right, other in taken):
            continue
        taken.append((start, start + width, level))
        axes.annotate(
            text, (0, 0), (start, level), xycoords="axes fraction", textcoords="offset points", fontsize=8.8, color=palette.ONSET,
            ha="left", va="bottom", annotation_clip=False, zorder=7,
        )  # fmt: skip


def _inside(heights: np.ndarray, level: float) -> int:
    return int(np.count_nonzero((heights > level - 1) & (heights < level + 11)))


def _beside_title(panels: Panels, width: float) -> bool:
    """Whether the onset's label has room in the line of the first panel's name."""
    span, first = panels.steps, panels.panels[0]
    if panels.begins is None or span is None or not isinstance(first, LinePanel):
        return False
    low, high = edges(np.array(span, float))
    x = LEFT + (panels.begins - low) / (high - low) * (width - LEFT - RIGHT)
    label = 6.2 * (6 + len(str(panels.begins)))
    left, right = (x - label, x) if panels.begins > (low + high) / 2 else (x, x + label)
    return left > 8 + 6.4 * min(len(first.name), 88) + 12 and right < width - RIGHT - (60 if first.logarithmic else 0)


def _onset(axes: Axes, panels: Panels, across: tuple[float, float], words: Words, *, lift: float, labelled: bool) -> None:
    step = panels.begins
    if panels.stretch is not None:
        axes.axvspan(*panels.stretch, facecolor=palette.ONSET, alpha=0.07, linewidth=0, zorder=0.4)
    if step is None:
        return
    axes.axvline(step, color=palette.ONSET, linewidth=1, linestyle=(0, (2, 2)), zorder=1.5)
    if labelled:
        late = step > (across[0] + across[1]) / 2
        axes.annotate(
            words.say("since", f"step {step}", step=step), (step, 1), (-4 if late else 4, lift), xycoords=("data", "axes fraction"),
            textcoords="offset points", fontsize=9, color=palette.ONSET, ha="right" if late else "left", va="bottom", annotation_clip=False,
        )  # fmt: skip


def _run_legend(figure: Figure, height: float, width: float, words: Words) -> None:
    from matplotlib.lines import Line2D

    x = LEFT - 54.0
    for letter, colour in zip("AB", palette.RUNS, strict=True):
        y = 1 - 13 / height
        style: Any = (0, (5, 2)) if letter == "A" else "solid"
        figure.add_artist(Line2D([x / width, (x + 26) / width], [y, y], color=colour, linewidth=1.6, linestyle=style))
        figure.text((x + 32) / width, y, letter, fontsize=9.5, color=palette.INK, va="center", ha="left")
        x += 62


def _stack_colours(panel: StackPanel) -> list[str]:
    return [palette.REST if not layer.name else palette.LAYERS[i % len(palette.LAYERS)] for i, layer in enumerate(panel.layers)]


def _legend_places(panel: StackPanel, width: int) -> list[tuple[int, float]]:
    """Row and start of each legend entry, in points."""
    places, row, x = [], 0, 8.0
    for layer in panel.layers:
        wide = 22 + LETTER * max(len(layer.name[:44]), 0 if layer.name else 16)
        if x > 8 and x + wide > width - RIGHT:
            row, x = row + 1, 8.0
        places.append((row, x))
        x += wide + 10
    return places


def _legend_rows(panel: StackPanel, width: int) -> int:
    return 1 + max((row for row, _ in _legend_places(panel, width)), default=0)


def _stack(axes: Axes, panel: StackPanel, words: Words, width: int, tall: float) -> None:
    from matplotlib.patches import Rectangle

    colours = _stack_colours(panel)
    seconds = np.array([drawn_heights(layer.seconds) for layer in panel.layers])
    base = np.zeros(len(panel.steps))
    for one, colour in zip(seconds, colours, strict=True):
        top = base + one
        axes.fill_between(panel.steps, base, top, facecolor=colour, alpha=0.82, linewidth=0, step="mid")
        base = top
    high = float(np.nanmax(base)) if len(base) else 1.0
    low, high = 0.0, high * 1.05 if high > 0 else 1.0
    axes.set_ylim(low, high)
    _value_axis(axes.yaxis, low, high, False)
    rows = _legend_rows(panel, width)
    for (row, x), layer, colour in zip(_legend_places(panel, width), panel.layers, colours, strict=True):
        y = tall + 6 + LEGEND_ROW * (rows - 1 - row)
        swatch = Rectangle((0, 0), 0, 0)
        swatch.set_bounds((x - LEFT) / (width - LEFT - RIGHT), (y + 1) / tall, 9 / (width - LEFT - RIGHT), 9 / tall)
        swatch.set(transform=axes.transAxes, facecolor=colour, linewidth=0, clip_on=False)
        axes.add_patch(swatch)
        text = words.name(layer.name, 44) if layer.name else words.say("rest", "other")
        axes.annotate(
            text, (0, 0), (x - LEFT + 14, y), xycoords="axes fraction", textcoords="offset points", fontsize=9, color=palette.INK,
            ha="left", va="bottom", annotation_clip=False,
        )  # fmt: skip
    _title(axes, words.name(panel.name), lift=5 + LEGEND_ROW * rows)


def _scatter(axes: Axes, panel: ScatterPanel, words: Words) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    for axis, values, log in ((axes.xaxis, panel.x, panel.logarithmic[0]), (axes.yaxis, panel.y, panel.logarithmic[1])):
        low, high = limits(values, log, 0.06)
        across = axis is axes.xaxis
        if log:
            (axes.set_xscale if across else axes.set_yscale)("log")
        (axes.set_xlim if across else axes.set_ylim)(low, high)
        _value_axis(axis, low, high, log)
    axes.grid(visible=True, axis="x", which="major", color=palette.RULE, linewidth=0.6)
    later = LinearSegmentedColormap.from_list("later", ["#b9d4ec", "#2f7fc2", "#123a63"])
    order = np.linspace(0, 1, len(panel.x))
    if len(panel.x) <= 300:
        axes.plot(drawn_heights(panel.x), drawn_heights(panel.y), color=palette.SOFT, linewidth=0.6, alpha=0.5, zorder=2)
    axes.scatter(
        drawn_heights(panel.x), drawn_heights(panel.y), c=order, cmap=later, s=15, linewidths=0.5, edgecolors=palette.SOFT, zorder=3
    )
    for row, ahead in ((0, False), (-1, True)):
        step, place = int(panel.steps[row]), (float(drawn_heights(panel.x)[row]), float(drawn_heights(panel.y)[row]))
        axes.annotate(
            words.say("since", f"step {step}", step=step), place, (5, 5), textcoords="offset points", fontsize=8.8,
            color=palette.ONSET if ahead else palette.SOFT, zorder=6,
        )  # fmt: skip
    axes.set_xlabel(words.name(panel.across), fontsize=9.5, color=palette.INK, labelpad=3)
    _title(axes, words.name(panel.name))
