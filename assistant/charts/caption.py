"""What a chart shows and how it was drawn, in words: for the line below it, and for those who do not see it."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.charts.curves import Band, LinePanel, Panels, ScatterPanel, StackPanel
from assistant.charts.selection import MOST_PANELS
from assistant.diagnosis.facts import number
from assistant.messages import Language, say


def caption(panels: Panels, language: Language = "en") -> str:
    """How it was drawn: thinned or not, smoothed or not, what the marks mean, what was asked for and is not there."""
    said: list[str] = []
    curves = panels.curves
    if panels.runs:
        said.append(say("charts.runs", language, a=panels.runs[0], b=panels.runs[1]))
    if panels.starts:
        said.append(say("charts.from_starts", language, a=panels.starts[0], b=panels.starts[1]))
    if curves:
        total, shown = sum(curve.total for curve in curves), sum(len(curve.values) for curve in curves)
        key = ("all" if shown == total else "thinned") + ("_smoothed" if panels.window else "")
        said.append(say(f"charts.{key}", language, shown=shown, total=total, window=panels.window))
        said += _counted("nonfinite", sum(curve.n_broken for curve in curves), language)
    for panel in panels.panels:
        if isinstance(panel, LinePanel):
            said += _counted("below", panel.below, language)
            if panel.band is not None:
                said.append(_band(panel, panel.band, language))
        else:
            said += _other(panel, language)
    if panels.linear:
        said.append(say("charts.no_log", language, names=_listed(panels.linear, language)))
    if panels.missing:
        said.append(say("charts.missing", language, names=_listed(panels.missing, language)))
    if panels.beyond:
        said.append(say("charts.beyond", language, n=MOST_PANELS, names=_listed(panels.beyond, language)))
    return ("" if language == "zh" else " ").join(said)


def spoken(panels: Panels, language: Language = "en") -> str:
    """The chart for somebody who does not see it: what is drawn, where each curve begins and ends."""
    if not panels:
        return say("charts.nothing", language)
    said = [say("charts.plot_of", language, metrics=_listed(panels.names, language))]
    for curve in panels.curves:
        name = f"{curve.name} ({curve.run})" if curve.run else curve.name
        ends = {
            "first": curve.texts[0],
            "first_step": int(curve.steps[0]) + curve.start,
            "last": curve.texts[-1],
            "last_step": int(curve.steps[-1]) + curve.start,
        }
        said.append(say("charts.spoken", language, name=name, **ends))
    return (". " if language == "en" else "。").join([said[0], ("" if language == "zh" else " ").join(said[1:])]).strip()


def span_of(band: Band, language: Language) -> str:
    if band.low is None:
        return say("charts.below_of", language, high=number(band.high or 0.0))
    if band.high is None:
        return say("charts.above_of", language, low=number(band.low))
    return say("charts.between", language, low=number(band.low), high=number(band.high))


def _band(panel: LinePanel, band: Band, language: Language) -> str:
    finite = panel.finite
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    seen = (band.low is None or band.low <= high) and (band.high is None or band.high >= low)
    words = band.words[1 if language == "zh" else 0]
    return say("charts.band" if seen else "charts.band_off", language, name=panel.name, span=span_of(band, language), words=words)


def _other(panel: StackPanel | ScatterPanel, language: Language) -> list[str]:
    if isinstance(panel, StackPanel):
        return [say("charts.stacked_means" if panel.span > 1 else "charts.stacked", language, span=panel.span, n=panel.total)]
    shown = len(panel.x)
    said = [say("charts.scattered" if shown == panel.total else "charts.scattered_thinned", language, shown=shown, n=panel.total)]
    return said + ([say("charts.left_out", language, n=panel.left_out)] if panel.left_out else [])


def _counted(key: str, n: int, language: Language) -> list[str]:
    return [] if n == 0 else [say(f"charts.{key}_one" if n == 1 else f"charts.{key}", language, n=n)]


def _listed(names: Sequence[str], language: Language) -> str:
    return ("、" if language == "zh" else ", ").join(names)
