"""What the page's script asks about an open log, under ``/session/<id>/``.

The id cannot be guessed; an unknown one is 404. Everything that is text of the log is masked (`assistant.redaction`). Answers are not
to be kept by anything between the server and the browser.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field

from assistant.charts import caption, figure, panels_of, spoken
from assistant.diagnosis import RunView
from assistant.run import NO_STEP, json_value
from assistant.sessions import Session
from assistant.web.chart_routes import add_charts
from assistant.web.guard import owner_of
from assistant.web.report_routes import add_reports

if TYPE_CHECKING:
    from assistant.web.page import Page

Lang = Literal["en", "zh"]
PRIVATE = {"cache-control": "private, no-store"}


def json(value: Any) -> Response:
    """NumPy arrays included; non-finite numbers become null."""
    body = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    return Response(body, media_type="application/json", headers=PRIVATE)


class Rating(BaseModel):
    """``good`` None takes an earlier one back."""

    turn: int = Field(ge=0)
    good: bool | None
    reason: str = Field(default="", max_length=2000)


def router(page: Page) -> APIRouter:
    store, limits, logs = page.store, page.limits, page.logs

    def allowed(session_id: str, request: Request) -> None:
        about = store.about(session_id)
        if about is None or about.owner not in ("", owner_of(request)):
            raise HTTPException(404)

    routes = APIRouter(prefix="/session/{session_id}", dependencies=[Depends(allowed)])

    def session_of(session_id: str) -> Session:
        found = store.get(session_id)
        if found is None:
            raise HTTPException(404)
        return found

    @routes.get("/series")
    def series(session_id: str, metric: str) -> Response:
        """``{"metric", "steps", "values", "lines"}``: one metric as printed; non-finite values as "nan", "inf", "-inf"."""
        found = session_of(session_id).diagnosis.run.series(metric)
        if found is None:
            raise HTTPException(404)
        return json(
            {
                "metric": metric,
                "steps": [None if step == NO_STEP else step for step in found.steps.tolist()],
                "values": [json_value(value, style) for value, style in zip(found.values.tolist(), found.styles.tolist(), strict=True)],
                "lines": found.lines.tolist(),
            }
        )

    @routes.get("/finding-figure")
    def finding_figure(session_id: str, index: int, lang: Lang = "en") -> Response:
        """The plot of a finding: ``{"data", "layout", "caption", "label"}``."""
        diagnosis = session_of(session_id).diagnosis
        if not 0 <= index < len(diagnosis.findings):
            raise HTTPException(404)
        panels = panels_of(diagnosis.findings[index], RunView(diagnosis.run))
        if not panels:
            raise HTTPException(404)
        return json(as_figure(figure(panels, lang), caption(panels, lang), spoken(panels, lang)))

    @routes.get("/lines")
    def lines(session_id: str, first: int, last: int, run: int = 0, whole: bool = False) -> Response:
        """Lines of the log, masked; see `MaskedLogs.lines`."""
        return json(logs.lines(session_id, first, last, run=run, whole=whole))

    @routes.get("/search")
    def search(session_id: str, words: Annotated[str, Query(max_length=200)], first: int = 1, run: int = 0) -> Response:
        """Lines that hold ``words``; see `MaskedLogs.search`."""
        return json(logs.search(session_id, words, first, run=run))

    @routes.get("/prompt")
    def prompt(session_id: str, question: str, turn: int = 10**9) -> Response:
        """What a model would be sent for this question (asked as number ``turn`` of the talk), to paste elsewhere; everything masked."""
        from assistant.answers.model import prompt_to_copy
        from assistant.answers.model.prompting import as_text

        session = session_of(session_id)
        before = [kept.turn for kept in store.transcript(session_id) if kept.index < turn]
        made = prompt_to_copy(question[: limits.question], session.diagnosis, history=before)
        return Response(as_text(made), media_type="text/plain; charset=utf-8", headers=PRIVATE)

    @routes.post("/feedback")
    def feedback(session_id: str, rating: Rating) -> Response:
        """Whether an answer helped."""
        if not store.feedback(session_id, rating.turn, rating.good, rating.reason):
            raise HTTPException(404)
        return json({"kept": True})

    add_charts(routes, session_of)
    add_reports(routes, page, session_of)
    return routes


def as_figure(drawn: Any, words: str, label: str) -> dict[str, Any]:
    """A plotly figure (or its dictionary) with the words below it and those for readers who do not see it."""
    plain = drawn if isinstance(drawn, dict) else drawn.to_plotly_json()
    return {"data": plain["data"], "layout": plain["layout"], "caption": words, "label": label}


def add_library(app: FastAPI) -> None:
    """``/static/plotly.js``: the library as the installed package carries it."""
    import plotly

    path = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"

    @app.get("/static/plotly.js", include_in_schema=False)
    def library() -> FileResponse:
        return FileResponse(path, media_type="text/javascript", headers={"cache-control": "public, max-age=86400"})
