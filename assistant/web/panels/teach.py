"""Teach me: the eight numbers that matter, in order, with this run's values (`assistant.guide.teach`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assistant.diagnosis import Diagnosis
from assistant.guide import Lesson, missing, teach
from assistant.messages import Language, say
from assistant.web.markup import escape, inline
from assistant.web.overview import Mask
from assistant.web.panel import Shown
from assistant.web.panels.guide import metric_name, terms_html, usual, values

if TYPE_CHECKING:
    from assistant.sessions import Session


class TeachPanel(Shown):
    name = "teach"

    def content(self, session: Session, language: Language) -> str:
        return lessons_html(session.diagnosis, language, lambda text: self.page.logs.mask(session.id, text))


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
