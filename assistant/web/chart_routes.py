"""What the plots panel fetches: the figure that a query asks for, to look at (plotly's JSON) or to keep (PNG, SVG)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import orjson
from fastapi import APIRouter, HTTPException, Request, Response

from assistant import charts
from assistant.charts.asked import Request as Asked
from assistant.diagnosis import RunView
from assistant.messages import say
from assistant.sessions import Session

Lang = Literal["en", "zh"]
PRIVATE = {"cache-control": "private, no-store"}
LONGEST = 4000
"""Characters of a query."""


def add_charts(routes: APIRouter, session_of: Callable[[str], Session]) -> None:
    """``figure`` (JSON), ``figure.png`` and ``figure.svg`` under the routes of a session; see `assistant.charts.asked.Request.query`."""

    def chosen(session_id: str, request: Request) -> charts.Panels:
        if len(request.url.query) > LONGEST:
            raise HTTPException(414)
        return Asked.of_query(request.url.query).panels(RunView(session_of(session_id).diagnosis.run))

    @routes.get("/figure")
    def figure(session_id: str, request: Request, lang: Lang = "en", mark: int | None = None) -> Response:
        """``{"data", "layout", "caption", "label"}``; without data where there is nothing to draw, and the caption says why."""
        panels = chosen(session_id, request)
        drawn = charts.figure(panels, lang, mark=mark, zoom=True) if panels else {"data": [], "layout": {}}
        words = charts.caption(panels, lang)
        if not panels:
            words = f"{say('charts.nothing', lang)} {words}".strip()
        body = orjson.dumps({**drawn, "caption": words, "label": charts.spoken(panels, lang)}, option=orjson.OPT_SERIALIZE_NUMPY)
        return Response(body, media_type="application/json", headers=PRIVATE)

    @routes.get("/figure.png")
    def image(session_id: str, request: Request) -> Response:
        panels = chosen(session_id, request)
        if not panels:
            raise HTTPException(404)
        return _file(charts.png(panels), "image/png", "runwhy.png")

    @routes.get("/figure.svg")
    def drawing(session_id: str, request: Request, lang: Lang = "en") -> Response:
        panels = chosen(session_id, request)
        if not panels:
            raise HTTPException(404)
        return _file(charts.svg(panels, lang).encode(), "image/svg+xml", "runwhy.svg")


def _file(body: bytes, kind: str, name: str) -> Response:
    return Response(body, media_type=kind, headers={**PRIVATE, "content-disposition": f'attachment; filename="{name}"'})
