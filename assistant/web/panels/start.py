"""The start view: paste, drop files, or open a sample; reading with progress and cancelling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from assistant.messages import Language, say
from assistant.sessions import About, Session
from assistant.web import texts
from assistant.web.guard import owner_of
from assistant.web.limits import Limits
from assistant.web.panel import LIGHT, PRIVATE, Panel, html
from assistant.web.reading import Attempt, Readings, Refused, read_files, read_paste, read_sample
from assistant.web.samples import SAMPLES

if TYPE_CHECKING:
    from assistant.web.page import Page

PROGRESS = gr.Progress()  # as a default value it tells Gradio to pass a tracker of its own


class StartPanel(Panel):
    """Not a tab of the report: it stands in the report's place until a log is open."""

    name = "start"

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.readings = Readings()

    def build(self) -> None:
        self.intro = html(texts.intro("en"))
        with gr.Row(elem_id="back-row", visible=False) as self.back_row:
            self.back = gr.Button("", size="sm", elem_id="back", elem_classes="chip")
        self.last = gr.Textbox("", visible="hidden", label="last", elem_id="last-session")
        self.paste = gr.Textbox(
            label=say("web.paste_label"), placeholder=say("web.paste_placeholder"), lines=11, max_lines=11, elem_id="paste", autofocus=True
        )
        with gr.Row(elem_id="open"):
            self.go = gr.Button(say("web.diagnose"), variant="primary", elem_id="go")
            self.file = gr.File(label=say("web.file_label"), file_count="multiple", height=64, elem_id="file")
        self.uploading = html(texts.uploading("en"))
        self.status = html("", elem_id="status")
        self.cancel = gr.Button(say("web.cancel"), visible=False, size="sm", elem_id="cancel")
        with gr.Row(elem_id="samples"):
            self.samples_label = html(texts.samples_label("en"))
            self.samples = [gr.Button(say(f"web.sample_{key}"), size="sm", elem_id=f"sample-{key}", elem_classes="chip") for key in SAMPLES]
        self.promises = html(texts.promises("en", self.limits.hours))

    def wire(self, page: Page) -> None:
        self.page = page
        opened = [page.session, *page.opened_parts, self.file, self.status, self.cancel, self.back_row]
        pasted = [*opened, self.paste]
        heavy: dict[str, Any] = {
            "show_progress": "full", "show_progress_on": self.status, "concurrency_limit": page.limits.opening,
            "concurrency_id": "read", "trigger_mode": "multiple", **PRIVATE,
        }  # fmt: skip
        fresh = [self.last, page.language]
        started = [
            self.go.click(self.open_paste, [self.paste, *fresh], pasted, **heavy),
            self.paste.submit(self.open_paste, [self.paste, *fresh], pasted, **heavy),
            self.file.upload(self.open_files, [self.file, *fresh], opened, **heavy),
            *(
                button.click(self._sample_opener(key), fresh, opened, **heavy)
                for key, button in zip(SAMPLES, self.samples, strict=True)
            ),
        ]  # fmt: skip
        for opening in started:
            opening.success(None, js="() => runwhy.opened()", **PRIVATE)
        self.cancel.click(self.cancel_reading, None, None, **LIGHT)
        self.back.click(self.reopen, [self.last, page.language], opened, **LIGHT).success(None, js="() => runwhy.opened()", **PRIVATE)

    # Opening

    def open_paste(
        self, text: str | None, last: str, language: Language, request: gr.Request, progress: gr.Progress = PROGRESS
    ) -> Iterator[dict[Any, Any]]:
        for told in self._open(lambda attempt: read_paste(text or "", attempt), last, language, request, progress):
            yield told | {self.paste: ""} if self.page.session in told else told

    def open_files(
        self, paths: Sequence[str] | None, last: str, language: Language, request: gr.Request, progress: gr.Progress = PROGRESS
    ) -> Iterator[dict[Any, Any]]:
        if paths:
            yield from self._open(lambda attempt: read_files([Path(p) for p in paths], attempt), last, language, request, progress)
        else:  # an upload that was stopped
            yield {self.file: None}

    def _sample_opener(self, key: str) -> Callable[..., Iterator[dict[Any, Any]]]:
        def open_sample(last: str, language: Language, request: gr.Request, progress: gr.Progress = PROGRESS) -> Iterator[dict[Any, Any]]:
            yield from self._open(lambda attempt: read_sample(key, attempt), last, language, request, progress)

        return open_sample

    def _open(
        self, read: Callable[[Attempt], Session], last: str, language: Language, request: gr.Request, progress: Callable[..., Any]
    ) -> Iterator[dict[Any, Any]]:
        tab = request.session_hash or ""
        flag = self.readings.start(tab)
        attempt = Attempt(
            language, self.page.store, self.page.limits, flag, lambda share, words: progress(share, desc=words), owner_of(request),
            self.page.workers,
        )  # fmt: skip
        yield {self.status: "", self.cancel: gr.update(visible=True)}
        try:
            session = read(attempt)
            if not self.readings.wanted(tab, flag):  # the visitor has chosen something else meanwhile
                self.page.store.remove(session.id)
                return
        except Refused as problem:
            if not self.readings.wanted(tab, flag):
                return
            yield {self.status: texts.problem(str(problem)), self.cancel: gr.update(visible=False), self.file: None}
            return
        finally:
            self.readings.done(tab, flag)
        self.page.models.carry(last, session.id)
        yield {
            self.page.session: session.id,
            **self.page.show_report(True),
            self.file: None,
            self.status: "",
            self.cancel: gr.update(visible=False),
            self.back_row: gr.update(visible=False),
        }

    def cancel_reading(self, request: gr.Request) -> None:
        self.readings.cancel(request.session_hash or "")

    # Back to the report that was closed

    @property
    def closed_parts(self) -> list[Any]:
        return [self.last, self.back, self.back_row]

    def closed(self, about: About | None, language: Language) -> dict[Any, Any]:
        if about is None:
            return {self.last: "", self.back_row: gr.update(visible=False)}
        name = about.name or say("web.pasted_log", language)
        return {
            self.last: about.id,
            self.back: gr.update(value=say("web.back_to", language, name=name)),
            self.back_row: gr.update(visible=True),
        }

    def reopen(self, session_id: str, language: Language, request: gr.Request) -> dict[Any, Any]:
        self.readings.drop(request.session_hash or "")
        if self.page.session_of(session_id, request) is None:
            gone = texts.problem(say("web.session_gone", language, hours=self.limits.hours))
            return {self.status: gone, self.back_row: gr.update(visible=False)}
        return {
            self.page.session: session_id, **self.page.show_report(True), self.status: "", self.cancel: gr.update(visible=False),
            self.back_row: gr.update(visible=False),
        }  # fmt: skip

    def relabel(self, language: Language) -> dict[Any, Any]:
        return {
            self.intro: texts.intro(language),
            self.paste: gr.update(label=say("web.paste_label", language), placeholder=say("web.paste_placeholder", language)),
            self.go: gr.update(value=say("web.diagnose", language)),
            self.file: gr.update(label=say("web.file_label", language)),
            self.cancel: gr.update(value=say("web.cancel", language)),
            self.uploading: texts.uploading(language),
            self.samples_label: texts.samples_label(language),
            **{
                button: gr.update(value=say(f"web.sample_{key}", language)) for key, button in zip(SAMPLES, self.samples, strict=True)
            },
            self.promises: texts.promises(language, self.limits.hours),
        }  # fmt: skip
