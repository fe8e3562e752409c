"""Two runs side by side: a second log is dropped or pasted here, and is kept with this talk."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import gradio as gr

from assistant.charts.selection import drawable
from assistant.diagnosis import Diagnosis, RunView
from assistant.diagnosis.compare import compare_diagnosed
from assistant.messages import Language, say
from assistant.report.as_html import two_sides
from assistant.report.sides import Curve, Sides, sides_of
from assistant.sessions import Session
from assistant.web import texts
from assistant.web.chips import chip
from assistant.web.guard import owner_of
from assistant.web.markup import escape
from assistant.web.panel import LIGHT, PRIVATE, Panel, html
from assistant.web.reading import Attempt, Readings, Refused, add_files, add_paste

if TYPE_CHECKING:
    from assistant.web.page import Page

log = logging.getLogger(__name__)

PROGRESS = gr.Progress()  # as a default value it tells Gradio to pass a tracker of its own
ORDERS = ("ab", "ba")


class ComparePanel(Panel):
    name = "compare"

    def __init__(self) -> None:
        self.readings = Readings()

    def build(self) -> None:
        with gr.Row(elem_id="compare-choice", visible=False) as self.choosing:
            self.which = gr.Dropdown([], elem_id="compare-which", filterable=False, min_width=160)
            self.order = gr.Radio([("A", "ab"), ("B", "ba")], value="ab", elem_id="compare-order", min_width=160)
            self.remove = gr.Button(size="sm", elem_id="compare-remove", min_width=0)
        self.body = html("", elem_id="compare")
        self.title = html("", elem_id="compare-title")
        with gr.Row(elem_id="compare-add"):
            self.file = gr.File(height=92, elem_id="compare-file", min_width=160)
            with gr.Column(min_width=200):
                self.paste = gr.Textbox(lines=3, max_lines=6, elem_id="compare-paste")
                with gr.Row(elem_classes="buttons"):
                    self.go = gr.Button(variant="primary", size="sm", elem_id="compare-go", min_width=0)
                    self.cancel = gr.Button(visible=False, size="sm", elem_id="compare-cancel", min_width=0)
        self.uploading = html(texts.uploading("en"))
        self.status = html("", elem_id="compare-status")

    def wire(self, page: Page) -> None:
        self.page = page
        shown = [self.body, self.choosing, self.which, self.order, self.title]
        now = [page.session, page.language]
        read = [*shown, self.status, self.file, self.paste, self.cancel]
        heavy: dict[str, Any] = {
            "show_progress": "full", "show_progress_on": self.status, "concurrency_limit": page.limits.opening,
            "concurrency_id": "read", "trigger_mode": "once", **PRIVATE,
        }  # fmt: skip
        page.on_view(self.name, self.show, shown)
        page.on_open(self.opened, [*shown, self.status, self.paste])
        for added in (self.file.upload(self.add_file, [self.file, *now], read, **heavy),
                      self.go.click(self.add_text, [self.paste, *now], read, **heavy)):  # fmt: skip
            page.then_check(self.name, added)
        self.cancel.click(self.cancel_reading, None, None, **LIGHT)
        chosen = [self.which, self.order, *now]
        choice = gr.on(
            [self.which.input, self.order.input], self.choose, chosen, [self.body], show_progress="minimal", trigger_mode="always_last",
            **PRIVATE,
        )  # fmt: skip
        page.then_check(self.name, choice)
        page.then_check(self.name, self.remove.click(self.take_out, [self.which, *now], shown, **LIGHT))

    # Showing

    def opened(self, session_id: str, language: Language) -> tuple[Any, ...]:
        return "", gr.update(visible=False), gr.update(choices=[], value=None), "ab", _title(False, language), "", ""

    def show(self, session_id: str, language: Language, index: int | None = None, order: str | None = None) -> tuple[Any, ...]:
        session = self.page.store.get(session_id) if session_id else None
        if session is None:
            return texts.gone(language, self.page.limits), gr.update(visible=False), gr.skip(), gr.skip(), ""
        if not session.others:
            return "", gr.update(visible=False), gr.update(choices=[], value=None), "ab", _title(False, language)
        kept = session.kept.get("compare") or {}
        at = index if index is not None else int(kept.get("other", len(session.others) - 1))
        at = at if 0 <= at < len(session.others) else len(session.others) - 1
        direction = order or str(kept.get("order", "ab"))
        direction = direction if direction in ORDERS else "ab"
        names = [(name or say("report.numbered", language, n=number + 2), number) for number, (name, _) in enumerate(session.others)]
        which = gr.update(choices=names, value=at, visible=len(names) > 1)
        return self._compared(session, at, direction, language), gr.update(visible=True), which, direction, _title(True, language)

    def _compared(self, session: Session, at: int, order: str, language: Language) -> str:
        try:
            made = compared(session, at, order, language, lambda text: self.page.logs.mask(session.id, text))
        except Exception:
            log.exception("two runs cannot be compared")
            made = texts.problem(say("report.cannot", language))
        return texts.of(session.id, language, made)

    def choose(self, index: int | None, order: str, session_id: str, language: Language) -> str:
        """Only the comparison: what was chosen stays as the visitor has it, who may be one choice further when this comes."""
        self.page.store.keep(session_id, "compare", {"other": index or 0, "order": order})
        return str(self.show(session_id, language, index or 0, order)[0])

    def take_out(self, index: int | None, session_id: str, language: Language) -> tuple[Any, ...]:
        session = self.page.store.get(session_id) if session_id else None
        if session is not None and session.others:
            self.page.store.remove_run(session_id, index if index is not None else len(session.others) - 1)
        return self.show(session_id, language)

    # A second run

    def add_file(
        self, path: str | None, session_id: str, language: Language, request: gr.Request, progress: gr.Progress = PROGRESS
    ) -> Iterator[dict[Any, Any]]:
        if path:
            yield from self._add(lambda attempt: add_files(session_id, [Path(path)], attempt), session_id, language, request, progress)
        else:  # an upload that was stopped
            yield {self.file: None}

    def add_text(
        self, text: str | None, session_id: str, language: Language, request: gr.Request, progress: gr.Progress = PROGRESS
    ) -> Iterator[dict[Any, Any]]:
        yield from self._add(lambda attempt: add_paste(session_id, text or "", attempt), session_id, language, request, progress)

    def _add(
        self, read: Callable[[Attempt], Session], session_id: str, language: Language, request: gr.Request, progress: Callable[..., Any]
    ) -> Iterator[dict[Any, Any]]:
        if self.page.session_of(session_id, request) is None:
            yield {self.status: texts.gone(language, self.page.limits)}
            return
        tab = request.session_hash or ""
        flag = self.readings.start(tab)
        attempt = Attempt(
            language, self.page.store, self.page.limits, flag, lambda share, words: progress(share, desc=words), owner_of(request)
        )
        yield {self.status: "", self.cancel: gr.update(visible=True)}
        try:
            session = read(attempt)
        except Refused as problem:
            told = texts.of(session_id, language, texts.problem(str(problem)))
            yield {self.status: told, self.cancel: gr.update(visible=False), self.file: None}
            return
        finally:
            self.readings.done(tab, flag)
        if not self.page.shows(request, session_id):  # another log was opened meanwhile; this run is there when one comes back
            yield {self.cancel: gr.update(visible=False), self.file: None}
            return
        progress(0.99, desc=say("report.comparing", language))
        body, choosing, which, order, title = self.show(session_id, language, len(session.others) - 1)
        yield {
            self.body: body, self.choosing: choosing, self.which: which, self.order: order, self.title: title, self.status: "",
            self.file: None, self.paste: "", self.cancel: gr.update(visible=False),
        }  # fmt: skip

    def cancel_reading(self, request: gr.Request) -> None:
        self.readings.cancel(request.session_hash or "")

    def relabel(self, language: Language) -> dict[Any, Any]:
        orders = [(say(f"report.order_{letter}", language), order) for letter, order in zip("ab", ORDERS, strict=True)]
        return {
            self.which: gr.update(label=say("report.which", language)),
            self.order: gr.update(label=say("report.order", language), choices=orders),
            self.remove: gr.update(value=say("report.add_remove", language)),
            self.file: gr.update(label=say("report.add_file", language)),
            self.paste: gr.update(label=say("report.add_paste", language), placeholder=say("web.paste_placeholder", language)),
            self.go: gr.update(value=say("report.add_go", language)),
            self.uploading: texts.uploading(language),
            self.cancel: gr.update(value=say("web.cancel", language)),
        }


def compared(session: Session, index: int, order: str, language: Language, mask: Callable[[str], str] = str) -> str:
    """The comparison with ``session.others[index]`` as HTML; its curves are drawn by the page's script."""
    name, other = session.others[index]
    runs = [
        (session.name or say("report.this_log", language), session.diagnosis),
        (name or say("report.numbered", language, n=index + 2), other),
    ]
    (a, first), (b, second) = runs if order == "ab" else runs[::-1]
    sides = sides_of(compare_diagnosed(first, second), (a, b), language, mask=mask)
    drawing = _figure(session.id, index, order, sides, first, second, language)
    return f'<div class="sides">{two_sides(sides, drawing=drawing, told=_chips(session, order, language))}</div>'


def _chips(session: Session, order: str, language: Language) -> Callable[[Curve, str], str]:
    """The values of the curves as chips. Those of the run that this talk is about lead to its plot; the other one has none here."""
    view = RunView(session.diagnosis.run)

    def told(curve: Curve, run: str) -> str:
        text = curve.a if run == "a" else curve.b
        note = say("web.median_of_last", language, run=run.upper())
        own = run == order[0] and drawable(view, curve.metric) is not None
        note = note if own else f"{curve.metric} · {note}"
        return chip(text, language, status="derived", metric=curve.metric if own else None, step=curve.step if own else None, note=note)

    return told


def _figure(session_id: str, index: int, order: str, sides: Sides, a: Diagnosis, b: Diagnosis, language: Language) -> str:
    names = list(sides.panels.names)
    fixed = {"other": index, "order": order, "lang": language}
    query = urlencode([*fixed.items(), *(("metric", name) for name in names)])
    base = f"/session/{session_id}/overlay?"
    options = "".join(f'<option value="{escape(name)}">{escape(name)}</option>' for name in shared(a, b))
    more = (
        f'<p><label>{escape(say("report.plot_choose", language))} <select class="side-more" data-src="{escape(base + urlencode(fixed))}">'
        f'<option value=""></option>{options}</select></label></p>'
    )
    inside = '<div class="canvas" role="img"></div><figcaption class="caption"></figcaption>'
    figure = f'<figure class="chart" data-src="{escape(base + query)}">{inside}</figure>'
    return (figure if names else "") + (more if options else "")


def shared(a: Diagnosis, b: Diagnosis) -> Sequence[str]:
    """Metrics that can be drawn of both runs, by the name that the later one prints."""
    one, other = RunView(a.run), RunView(b.run)
    known = {meaning.canonical for name, meaning in one.names.items() if meaning.canonical and drawable(one, name) is not None}
    return [
        name
        for name, meaning in other.names.items()
        if (name in one.run.columns or meaning.canonical in known) and drawable(other, name) is not None
    ]


def _title(again: bool, language: Language) -> str:
    title, lead = say("report.add_again" if again else "report.add_title", language), say("report.add_lead", language)
    return f'<h2 class="part">{escape(title)}</h2><p class="caption">{escape(lead)}</p>'
