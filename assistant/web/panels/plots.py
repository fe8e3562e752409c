"""Any metric over the steps: choose, zoom, compare two, or see where each step's time goes. The page's script does the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson

from assistant.charts.groups import GROUPS, choices
from assistant.charts.selection import MOST_PANELS, drawable
from assistant.diagnosis import Diagnosis, RunView
from assistant.diagnosis.compare import FIRST
from assistant.diagnosis.timing import step_times
from assistant.messages import Language, say
from assistant.web import findings
from assistant.web.markup import escape
from assistant.web.panel import Shown

if TYPE_CHECKING:
    from assistant.sessions import Session

WORDS = (
    "search", "none_match", "found", "time", "view", "view_lines", "view_scatter", "scatter_needs", "scale", "scale_auto",
    "scale_log", "scale_linear", "smooth", "smooth_off", "smooth_n", "from_step", "to_step", "all_steps", "remove", "nothing_chosen",
    "one_value", "loading", "failed", "click_hint", "zoom_hint", "save_png", "save_svg", "chosen", "list", "clear",
)  # fmt: skip
AT_FIRST = 3
"""Metrics drawn when the panel is first looked at and no finding has any."""


class PlotsPanel(Shown):
    name = "plots"

    def content(self, session: Session, language: Language) -> str:
        about = offered(session.diagnosis, language)
        if not about["metrics"]:
            return f'<p class="empty">{escape(say("charts.panel_no_metrics", language))}</p>'
        data = escape(orjson.dumps(about).decode())
        return f'<div class="plotter" data-session="{escape(session.id)}" data-about="{data}"></div>'


def offered(diagnosis: Diagnosis, language: Language) -> dict[str, Any]:
    """What can be drawn of this run: metrics by group, findings with theirs, the first and last step, and what to begin with."""
    view = RunView(diagnosis.run)
    side = 1 if language == "zh" else 0
    known = choices(view)
    drawn = [
        {"index": index, "title": findings.title(finding, language), "metrics": names}
        for index, finding in enumerate(diagnosis.findings)
        if finding.severity != "info" and (names := _drawn(view, [point.metric for point in finding.evidence]))
    ]
    first = [series.name for name in FIRST if (series := view[name]) is not None and drawable(view, series.name)][:AT_FIRST]
    return {
        "language": language,
        "metrics": [[one.name, one.title[side], GROUPS.index(one.group)] for one in known],
        "groups": [say(f"charts.group_{name}", language) for name in GROUPS],
        "findings": drawn,
        "timed": step_times(view) is not None,
        "first": drawn[0]["metrics"] if drawn else first or [one.name for one in known[:1]],
        "steps": [int(view.steps[0]), int(view.steps[-1])] if len(view.steps) else [0, 0],
        "most": MOST_PANELS,
        "words": {key: say(f"charts.panel_{key}", language, n="{n}", name="{name}") for key in WORDS},
    }


def _drawn(view: RunView, names: Sequence[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if drawable(view, name) is not None]
