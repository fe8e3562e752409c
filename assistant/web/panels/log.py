"""The log itself, masked: any line of it however long it is, those of the findings marked, and a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import orjson

from assistant.diagnosis import Diagnosis
from assistant.messages import Language, say
from assistant.web import findings
from assistant.web.markup import escape
from assistant.web.panel import Shown

if TYPE_CHECKING:
    from assistant.sessions import Session

WORDS = (
    "log_label", "log_plot", "log_search", "log_next", "log_previous", "log_go_to", "log_finding", "log_none", "log_found", "log_more",
    "log_searching", "log_line_of", "log_all", "log_copy", "log_masked", "log_failed", "log_left_out", "log_marked", "copied",
)  # fmt: skip
MOST_MARKS = 500


class LogPanel(Shown):
    name = "log"

    def content(self, session: Session, language: Language) -> str:
        total = self.page.store.lines(session.id, 1, 1).total
        if not total:
            return f'<p class="empty">{escape(say("web.log_no_lines", language))}</p>'
        about = {
            "total": total,
            "marks": marks(session.diagnosis, language),
            "words": {key: say(f"web.{key}", language, n="{n}", at="{at}", total="{total}") for key in WORDS},
        }
        return f'<div class="log-viewer" data-session="{escape(session.id)}" data-about="{escape(orjson.dumps(about).decode())}"></div>'


def marks(diagnosis: Diagnosis, language: Language) -> Sequence[tuple[int, str, str]]:
    """``(line, severity, title)`` of every line that carries a finding, by line."""
    found: dict[int, tuple[str, str]] = {}
    for finding in diagnosis.findings:
        lines = [point.line for point in finding.evidence] + [row.line for row in finding.excerpt]
        for line in lines:
            if line and line not in found:
                found[line] = (finding.severity or "medium", findings.title(finding, language))
    return [(line, *found[line]) for line in sorted(found)][:MOST_MARKS]
