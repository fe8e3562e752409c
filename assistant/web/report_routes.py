"""The report as a download, and the curves of two runs over each other; see `assistant.report`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import orjson
from fastapi import APIRouter, HTTPException, Request, Response

from assistant import charts, report
from assistant.charts.asked import Request as Asked
from assistant.diagnosis import Diagnosis, RunView
from assistant.messages import say
from assistant.sessions import Session
from assistant.web.chart_routes import LONGEST, PRIVATE, Lang

if TYPE_CHECKING:
    from assistant.web.page import Page

Order = Literal["ab", "ba"]


def add_reports(routes: APIRouter, page: Page, session_of: Callable[[str], Session]) -> None:
    def talk_of(session_id: str) -> list[report.Talked]:
        kept = page.store.transcript(session_id)
        return [report.Talked(one.question, one.markdown, one.answer.get("checked") or {}) for one in kept]

    def other_of(session: Session, index: int | None, lang: Lang) -> tuple[str, Diagnosis] | None:
        if index is None:
            return None
        if not 0 <= index < len(session.others):
            raise HTTPException(404)
        name, diagnosis = session.others[index]
        return name or say("report.numbered", lang, n=index + 2), diagnosis

    @routes.get("/report.html")
    def page_file(
        session_id: str, lang: Lang = "en", talk: bool = False, other: int | None = None, order: Order = "ab", preview: bool = False
    ) -> Response:
        """The report as one HTML page; with ``preview`` to look at, else to keep."""
        session = session_of(session_id)
        made = report.html(
            session.diagnosis, name=session.name, language=lang, talk=talk_of(session_id) if talk else (),
            against=other_of(session, other, lang), earlier=order == "ab",
        )  # fmt: skip
        kept = {} if preview else {"content-disposition": 'attachment; filename="runwhy-report.html"'}
        return Response(made, media_type="text/html; charset=utf-8", headers={**PRIVATE, **kept})

    @routes.get("/report.md")
    def text_file(session_id: str, lang: Lang = "en", talk: bool = False, other: int | None = None, order: Order = "ab") -> Response:
        session = session_of(session_id)
        made = report.markdown(
            session.diagnosis, name=session.name, language=lang, talk=talk_of(session_id) if talk else (),
            against=other_of(session, other, lang), earlier=order == "ab",
        )  # fmt: skip
        kept = {"content-disposition": 'attachment; filename="runwhy-report.md"'}
        return Response(made, media_type="text/markdown; charset=utf-8", headers={**PRIVATE, **kept})

    @routes.get("/overlay")
    def overlay(
        session_id: str, request: Request, other: int = 0, order: Order = "ab", lang: Lang = "en", parted: int | None = None
    ) -> Response:
        """Metrics of both runs over each other, asked for as in ``figure``: ``{"data", "layout", "caption", "label"}``."""
        if len(request.url.query) > LONGEST:
            raise HTTPException(414)
        asked = Asked.of_query(request.url.query)
        session = session_of(session_id)
        found = other_of(session, other, lang)
        assert found is not None
        runs = [(session.name or say("report.this_log", lang), session.diagnosis), found]
        (a, first), (b, second) = runs if order == "ab" else runs[::-1]
        panels = charts.overlaid(
            RunView(first.run), RunView(second.run), asked.metrics, runs=(a, b), parted=parted, first=asked.first, last=asked.last,
            logarithmic=asked.logarithmic, window=asked.window,
        )  # fmt: skip
        drawn = charts.figure(panels, lang, zoom=True) if panels else {"data": [], "layout": {}}
        words = charts.caption(panels, lang) if panels else say("charts.nothing", lang)
        body = orjson.dumps({**drawn, "caption": words, "label": charts.spoken(panels, lang)}, option=orjson.OPT_SERIALIZE_NUMPY)
        return Response(body, media_type="application/json", headers=PRIVATE)
