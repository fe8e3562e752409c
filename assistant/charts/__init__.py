"""Charts of a run: one selection of what to draw, two ways to draw it.

``panels_of``, ``overlaid``, ``against`` and ``times_of`` choose; ``png`` and ``svg`` (matplotlib, no display) and ``figure`` (plotly)
draw; ``caption`` says how it was drawn and ``spoken`` what it shows. ``asked`` reads a request such as "plot entropy against score".

    panels = panels_of(finding, RunView(run))
    if panels:
        image = png(panels)                      # for Slack: at most 200 kB, names, numbers and "step" only
        drawing = svg(panels, "zh")              # for a page: text stays text
        sentence = caption(panels, "zh")
"""

from __future__ import annotations

from assistant.charts.caption import caption, spoken
from assistant.charts.curves import Panels, renamed
from assistant.charts.drawn import png, svg
from assistant.charts.interactive import figure
from assistant.charts.selection import against, overlaid, panels_of, times_of

__all__ = ["Panels", "against", "caption", "figure", "overlaid", "panels_of", "png", "renamed", "spoken", "svg", "times_of"]
