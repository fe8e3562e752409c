"""The plot that a question in the chat asks for ("plot entropy against score"), as a figure that draws itself."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from assistant.charts.asked import asked
from assistant.diagnosis import RunView
from assistant.messages import Language
from assistant.web.markup import escape

if TYPE_CHECKING:
    from assistant.answers import Turn
    from assistant.sessions import Session

_BOTH = re.compile(
    r"\b(?:both|two|the two) (?:runs|logs)\b|\b(?:other|second) (?:run|log)\b|\brun [ab]\b|\boverla(?:y|id)\b|\bcompare[ds]?\b|"
    r"对比|两次|两个(?:训练|日志|run)|另一次|叠加|比较",
    re.IGNORECASE,
)
"""Of a talk about two runs: both are meant."""
log = logging.getLogger(__name__)


def plot_for(question: str, session: Session, history: Sequence[Turn], language: Language) -> str:
    """The figure as HTML; "" when the question asks for none, or for nothing that this log can show."""
    try:
        request = asked(question, session.diagnosis, history)
        if request is None:
            return ""
        panels = request.panels(RunView(session.diagnosis.run))
        if not panels and request.kind == "scatter":  # not enough pairs: show each over the steps
            request = replace(request, kind="lines")
            panels = request.panels(RunView(session.diagnosis.run))
        if not panels:
            return ""
    except Exception:
        log.exception("a plot could not be chosen")
        return ""
    route = f"figure?{request.query()}"
    if session.others and request.kind == "lines" and _BOTH.search(question):
        kept = session.kept.get("compare") or {}
        other = min(max(int(kept.get("other", len(session.others) - 1)), 0), len(session.others) - 1)
        route = f"overlay?{request.query()}&other={other}&order={'ba' if kept.get('order') == 'ba' else 'ab'}"
    source = escape(f"/session/{session.id}/{route}&lang={language}")
    inside = '<div class="canvas" role="img"></div><figcaption class="caption"></figcaption>'
    return f'<figure class="chart asked-plot" data-src="{source}">{inside}</figure>'
