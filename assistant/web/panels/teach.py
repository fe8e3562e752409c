"""Teach me: the eight numbers that matter, in order, with this run's values (`assistant.guide.teach`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assistant.diagnosis import Diagnosis
from assistant.guide import Lesson, missing, teach
from assistant.messages import Language, say
from assistant.web import texts
from assistant.web.markup import escape, inline
from assistant.web.overview import Mask
from assistant.web.panel import Panel, html
from assistant.web.panels.guide import metric_name, terms_html, usual, values

if TYPE_CHECKING:
    from assistant.web.page import Page


class TeachPanel(Panel):
    name = "teach"

    def build(self) -> None:
        self.body = html("", elem_id="teach")

    def wire(self, page: Page) -> None:
        self.page = page
        page.on_view(self.name, self.show, [self.body])
        page.on_open(lambda session_id, language: "", [self.body])

    def show(self, session_id: str, language: Language) -> str:
        session = self.page.store.get(session_id) if session_id else None
        if session is None:
            return texts.gone(language, self.page.limits)
        return lessons_html(session.diagnosis, language, lambda text: self.page.logs.mask(session_id, text))


def lessons_html(diagnosis: Diagnosis, language: Language, mask: Mask = str) -> str:
    """The first reading of a run; ``mask`` is for what may quote the log."""
    lessons = teach(diagnosis, language)
    title = f'<h2 class="part">{escape(say("guide.teach_title", language))}</h2>'
    if not lessons:
        return f'<section class="teach">{title}<p class="empty">{escape(say("guide.teach_none", language))}</p></section>'
    lead = f'<p class="hint">{escape(say("guide.teach_body", language))}</p>'
    rows = "".join(_lesson(one, language, mask) for one in lessons)
    gone = missing(diagnosis, language)
    names = say("diagnosis.comma", language).join(gone)
    rest = f'<p class="caption">{inline(say("guide.teach_missing", language, names=names))}</p>' if gone else ""
    return f'<section class="teach">{title}{lead}<ol class="lessons">{rows}</ol>{rest}</section>'


def _lesson(one: Lesson, language: Language, mask: Mask) -> str:
    verdict = escape(say(f"guide.verdict_{one.verdict}", language))
    comment = f'<p class="lesson-comment">{inline(mask(one.comment))}</p>' if one.comment else ""
    should, yours = (escape(say(f"guide.head_{key}", language)) for key in ("should", "yours"))
    return (
        f'<li class="lesson lesson-{one.verdict}"><h3>{metric_name(one.metric)} <span class="lesson-verdict">{verdict}</span></h3>'
        f"<p>{escape(one.what)}</p><dl><dt>{should}</dt><dd>{escape(one.should)}</dd>"
        f"<dt>{yours}</dt><dd>{values(one.yours, one.points, language)}{usual(one.typical)}</dd></dl>{comment}"
        f"{terms_html(one.terms, language) if one.terms else ''}</li>"
    )
