"""The report itself: verdict, findings with their values and plots, what is fine, what the log cannot tell."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import gradio as gr

from assistant.charts.selection import drawable
from assistant.diagnosis import Finding, RunView
from assistant.messages import Language, say
from assistant.sessions import Session, Unreadable
from assistant.web import findings, overview, texts
from assistant.web.markup import escape, fold
from assistant.web.overview import Mask
from assistant.web.panel import LIGHT, PRIVATE, Panel, html

if TYPE_CHECKING:
    from assistant.web.page import Page

log = logging.getLogger(__name__)

SHOWN_IN_FULL = 3


class FindingsPanel(Panel):
    name = "findings"

    def build(self) -> None:
        self.said = html("", elem_id="correct-said")
        self.body = html("", elem_id="findings")
        self.correct = gr.Button(visible="hidden", elem_id="correct")

    def wire(self, page: Page) -> None:
        self.page = page
        page.on_text(self.show, [self.body])
        page.session.change(lambda: "", None, [self.said], **LIGHT)  # not on a refill: it would wipe out what was just said
        framework, era = (gr.Textbox(visible="hidden", label=name) for name in ("framework", "era"))
        said = [framework, era, page.session, page.language]
        read: dict[str, Any] = {"concurrency_id": "read", "concurrency_limit": page.limits.opening, "show_progress": "hidden", **PRIVATE}
        read["trigger_mode"] = "always_last"  # corrected twice: the second one counts
        page.then_refill(self.correct.click(self.reread, said, [self.said], js="(...given) => runwhy.corrected(...given)", **read))

    def show(self, session_id: str, language: Language) -> str:
        if not session_id:
            return ""
        session = self.page.store.get(session_id)
        if session is None:
            return texts.gone(language, self.page.limits)
        return texts.of(session_id, language, report(session, language, lambda text: self.page.logs.mask(session_id, text)))

    def reread(self, framework: str, era: str, session_id: str, language: Language) -> str:
        """The log again, as what the user says it is."""
        try:
            session = self.page.store.reread(session_id, format=framework or None, era=era or None)
        except Unreadable:
            name = f"{framework} {era}".strip()
            return texts.of(session_id, language, texts.problem(say("web.not_read_as", language, name=name)))
        return texts.gone(language, self.page.limits) if session is None else ""


def report(session: Session, language: Language, mask: Mask = str) -> str:
    """The whole report as HTML; ``mask`` is for what is quoted of the log. Plots are fetched when they come into view."""
    diagnosis = session.diagnosis
    view = RunView(diagnosis.run)
    faults, odd = findings.parted(diagnosis)
    place = {id(finding): index for index, finding in enumerate(diagnosis.findings)}

    def body(finding: Finding, number: int | None) -> str:
        return finding_html(finding, number, place[id(finding)], session.id, view, language, mask)

    more = overview.others([name for name, _ in session.others], session.kept.get("left_out") or (), language)
    parts = [overview.head(diagnosis, session.name, language, mask=mask, more=more)]
    if faults:
        parts.append(f'<h2 class="hidden-heading">{escape(say("web.findings", language))}</h2>')
    for number, finding in enumerate(faults, 1):
        if number <= SHOWN_IN_FULL:
            parts.append(body(finding, number if len(faults) > 1 else None))
        else:
            parts.append(fold(escape(findings.line(finding, number, view.run, language)), body(finding, None), css="card"))
    if odd:
        parts.append(f'<h2 class="part">{escape(say("web.odd", language))}</h2>')
        parts += [fold(escape(findings.title(finding, language)), body(finding, None), css="card") for finding in odd]
    parts.append(overview.foot(diagnosis, language))
    return f'<div class="report-body" data-session="{escape(session.id)}">{"".join(parts)}</div>'


def finding_html(
    finding: Finding, number: int | None, index: int, session_id: str, view: RunView, language: Language, mask: Mask = str
) -> str:
    """One broken card must not take the rest of the report with it."""
    try:
        above, below = findings.seen(finding, number, view.run, language, mask), findings.to_do(finding, view.run, language)
        drawn = chart(session_id, index, finding, view, language)
    except Exception:
        log.exception("the finding %s cannot be shown", finding.id)
        above, drawn, below = texts.problem(say("web.finding_failed", language, name=finding.id)), "", ""
    return f'<article class="finding finding-{finding.severity or "medium"}" id="finding-{index}">{above}{drawn}{below}</article>'


def chart(session_id: str, index: int, finding: Finding, view: RunView, language: Language) -> str:
    """The place of a finding's plot; "" when no metric of it has two steps to draw."""
    if not any(drawable(view, name) is not None for name in dict.fromkeys(point.metric for point in finding.evidence)):
        return ""
    source = f"/session/{quote(session_id)}/finding-figure?index={index}&lang={language}"
    return texts.chart(source, language)
