"""The page: a start view to paste a log into, and a report view with the findings and a chat about them.

The browser's tab holds nothing but a session's id; the log's data stays on the server (`assistant.sessions`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from assistant.diagnosis import Finding, RunView
from assistant.messages import Language, say
from assistant.sessions import Session, SessionStore
from assistant.web import chat, findings, overview, plots, texts
from assistant.web.limits import Limits
from assistant.web.markup import as_plain_markdown, escape
from assistant.web.reading import Attempt, Readings, Refused, read_file, read_paste
from assistant.web.samples import SAMPLES, sample_name, sample_text

log = logging.getLogger(__name__)

PROGRESS = gr.Progress()  # as a default value it tells Gradio to pass a tracker of its own
PRIVATE: dict[str, Any] = {"api_visibility": "private"}
SHOWN_IN_FULL = 3
FILE_TYPES = [".log", ".txt", ".jsonl", ".json", ".out", ".err", ".gz", ".zst"]
CHOSEN_LANGUAGE = "() => runwhy.language()"
LANGUAGE_CHANGED = "(language) => runwhy.setLanguage(language)"
SHOW_TOP = "() => runwhy.showTop()"
SHOW_ANSWER = "() => runwhy.showAnswer()"


class Page:
    """Builds the blocks and answers their events."""

    def __init__(self, store: SessionStore, limits: Limits) -> None:
        self.store, self.limits, self.readings = store, limits, Readings()
        self.blocks: gr.Blocks = self._build()

    # Layout

    def _build(self) -> Any:
        with gr.Blocks(title="runwhy", analytics_enabled=False, delete_cache=(3600, 3600)) as blocks:
            self.session = gr.State("", time_to_live=self.limits.session_hours * 3600)
            with gr.Row(elem_id="masthead"):
                self.brand = gr.HTML(texts.brand("en"), elem_id="brand")
                self.another = gr.Button(say("web.another_log"), visible=False, size="sm", elem_id="another")
                self.language = gr.Radio(
                    [("English", "en"), ("中文", "zh")], value="en", label=say("web.language"), show_label=False, elem_id="language"
                )
                self.theme = gr.Button("◐", size="sm", elem_id="theme")
            with gr.Column(elem_id="start") as self.start:
                self._build_start()
            with gr.Row(elem_id="report", visible=False) as self.report:
                with gr.Column(elem_id="findings", min_width=320):
                    gr.render(inputs=[self.session, self.language], triggers=[self.session.change, self.language.change])(self.show_report)
                with gr.Column(elem_id="ask", min_width=320):
                    self._build_chat()
            self._wire(blocks)
        for function in blocks.fns.values():  # gr.render leaves its own callable from outside
            function.api_visibility = "private"
        return blocks

    def _build_start(self) -> None:
        self.intro = gr.HTML(texts.intro("en"))
        self.paste = gr.Textbox(
            label=say("web.paste_label"), placeholder=say("web.paste_placeholder"), lines=11, max_lines=11, elem_id="paste", autofocus=True
        )
        with gr.Row(elem_id="open"):
            self.go = gr.Button(say("web.diagnose"), variant="primary", elem_id="go")
            self.file = gr.File(label=say("web.file_label"), file_types=FILE_TYPES, height=92, elem_id="file")
        self.status = gr.HTML("", elem_id="status")
        self.cancel = gr.Button(say("web.cancel"), visible=False, size="sm", elem_id="cancel")
        with gr.Row(elem_id="samples"):
            self.samples_label = gr.HTML(texts.samples_label("en"))
            self.samples = [gr.Button(say(f"web.sample_{key}"), size="sm", elem_classes="chip") for key in SAMPLES]
        self.promises = gr.HTML(texts.promises("en", self.limits.session_hours))

    def _build_chat(self) -> None:
        self.chat_title = gr.HTML(texts.chat_title("en"))
        self.chat = gr.Chatbot(
            label=say("web.chat_label"),
            show_label=False,
            placeholder=say("web.chat_empty"),
            height=None,
            autoscroll=False,
            sanitize_html=True,
            allow_tags=False,
            latex_delimiters=[],
            buttons=["copy"],
            feedback_options=None,
            allow_file_downloads=False,
            layout="bubble",
            elem_id="conversation",
        )
        with gr.Row(elem_id="suggestions"):
            self.suggestions = [gr.Button("", visible=False, size="sm", elem_classes="chip") for _ in range(chat.MOST_SUGGESTIONS)]
        with gr.Row(elem_id="asking"):
            self.question = gr.Textbox(
                label=say("web.question_label"),
                show_label=False,
                placeholder=say("web.question_placeholder"),
                lines=1,
                max_lines=5,
                scale=5,
                elem_id="question",
                html_attributes=gr.InputHTMLAttributes(enterkeyhint="send"),
            )
            self.send = gr.Button(say("web.send"), variant="primary", scale=1, min_width=72, elem_id="send")

    # Events

    def _wire(self, blocks: gr.Blocks) -> None:
        relabelled = [
            self.brand, self.another, self.language, self.theme, self.intro, self.paste, self.go, self.file, self.cancel,
            self.samples_label, *self.samples, self.promises, self.chat_title, self.chat, self.question, self.send,
        ]  # fmt: skip
        light: dict[str, Any] = {"queue": False, "show_progress": "hidden", **PRIVATE}
        blocks.load(None, None, self.language, js=CHOSEN_LANGUAGE, **PRIVATE)
        self.language.change(self.relabel, self.language, relabelled, js=LANGUAGE_CHANGED, **light)
        self.language.change(self.suggest, [self.session, self.language], self.suggestions, **light)
        self.theme.click(None, js="() => runwhy.toggleTheme()", **PRIVATE)

        opened = [self.session, self.start, self.report, self.another, self.paste, self.file, self.status, self.cancel, self.chat]
        opened += [self.question, *self.suggestions]
        heavy: dict[str, Any] = {
            "show_progress": "full", "show_progress_on": self.status, "concurrency_limit": self.limits.at_once,
            "concurrency_id": "read", "trigger_mode": "once", **PRIVATE,
        }  # fmt: skip
        fresh = [self.session, self.language]
        started = [
            self.go.click(self.open_paste, [self.paste, *fresh], opened, **heavy),
            self.paste.submit(self.open_paste, [self.paste, *fresh], opened, **heavy),
            self.file.upload(self.open_file, [self.file, *fresh], opened, **heavy),
            *(
                button.click(self._sample_opener(key), fresh, opened, **heavy)
                for key, button in zip(SAMPLES, self.samples, strict=True)
            ),
        ]  # fmt: skip
        for opening in started:
            opening.success(None, js=SHOW_TOP, **PRIVATE)
        self.cancel.click(self.cancel_reading, None, None, **light)
        self.another.click(self.close, self.session, [self.session, self.start, self.report, self.another, self.chat], **light).then(
            None, js=SHOW_TOP, **PRIVATE
        )

        answered = [self.chat, self.question, *self.suggestions]
        asking: dict[str, Any] = {"concurrency_limit": 8, "concurrency_id": "ask", "show_progress": "minimal"}
        inputs = [self.question, self.chat, self.session, self.language]
        for event in (self.send.click, self.question.submit):
            event(self.ask, inputs, answered, show_progress_on=self.chat, **asking, **PRIVATE).success(None, js=SHOW_ANSWER, **PRIVATE)
        for button in self.suggestions:
            button.click(self.ask, [button, *inputs[1:]], answered, show_progress_on=self.chat, **asking, **PRIVATE).success(
                None, js=SHOW_ANSWER, **PRIVATE
            )

    # Opening a log

    def open_paste(
        self, text: str | None, session_id: str, language: Language, request: gr.Request, progress: gr.Progress = PROGRESS
    ) -> Iterator[dict[Any, Any]]:
        yield from self._open(lambda attempt: read_paste(text or "", attempt), session_id, language, request, progress)

    def open_file(
        self, path: str | None, session_id: str, language: Language, request: gr.Request, progress: gr.Progress = PROGRESS
    ) -> Iterator[dict[Any, Any]]:
        if path:
            yield from self._open(lambda attempt: read_file(Path(path), attempt), session_id, language, request, progress)

    def _sample_opener(self, key: str) -> Callable[..., Iterator[dict[Any, Any]]]:
        def open_sample(
            session_id: str, language: Language, request: gr.Request, progress: gr.Progress = PROGRESS
        ) -> Iterator[dict[Any, Any]]:
            name = sample_name(key, language)
            yield from self._open(lambda attempt: read_paste(sample_text(key), attempt, name), session_id, language, request, progress)

        return open_sample

    def _open(
        self, read: Callable[[Attempt], Session], old: str, language: Language, request: gr.Request, progress: Callable[..., Any]
    ) -> Iterator[dict[Any, Any]]:
        tab = request.session_hash or ""
        flag = self.readings.start(tab)
        attempt = Attempt(language, self.store, self.limits, flag, lambda share, words: progress(share, desc=words))
        yield {self.status: "", self.cancel: gr.update(visible=True)}
        try:
            session = read(attempt)
        except Refused as problem:
            yield {self.status: texts.problem(str(problem)), self.cancel: gr.update(visible=False), self.file: None}
            return
        finally:
            self.readings.done(tab, flag)
        if old:
            self.store.remove(old)
        yield {
            self.session: session.id,
            self.start: gr.update(visible=False),
            self.report: gr.update(visible=True),
            self.another: gr.update(visible=True),
            self.paste: "",
            self.file: None,
            self.status: "",
            self.cancel: gr.update(visible=False),
            self.chat: [],
            self.question: "",
            **dict(zip(self.suggestions, _chips(chat.suggestions(session.diagnosis, language)), strict=True)),
        }

    def cancel_reading(self, request: gr.Request) -> None:
        self.readings.cancel(request.session_hash or "")

    def close(self, session_id: str) -> tuple[Any, ...]:
        self.store.remove(session_id)
        return "", gr.update(visible=True), gr.update(visible=False), gr.update(visible=False), []

    # The report

    def show_report(self, session_id: str, language: Language) -> None:
        if not session_id:
            return
        session = self.store.get(session_id)
        if session is None:
            gr.HTML(texts.problem(say("web.session_gone", language, hours=self.limits.session_hours)))
            return
        diagnosis = session.diagnosis
        view = RunView(diagnosis.run)
        faults, odd = findings.parted(diagnosis)
        gr.HTML(overview.head(diagnosis, session.name, language))
        if faults:
            gr.HTML(f'<h2 class="hidden-heading">{escape(say("web.findings", language))}</h2>')
        for number, finding in enumerate(faults, 1):
            if number <= SHOWN_IN_FULL:
                self._show_finding(finding, number if len(faults) > 1 else None, view, language)
            else:
                with gr.Accordion(findings.line(finding, number, view.run, language), open=False, elem_classes="odd"):
                    self._show_finding(finding, None, view, language)
        if odd:
            gr.HTML(f'<h2 class="part">{escape(say("web.odd", language))}</h2>')
            for finding in odd:
                with gr.Accordion(findings.title(finding, language), open=False, elem_classes="odd"):
                    self._show_finding(finding, None, view, language)
        gr.HTML(overview.foot(diagnosis, language))

    @staticmethod
    def _show_finding(finding: Finding, number: int | None, view: RunView, language: Language) -> None:
        """One broken card must not take the rest of the report with it."""
        try:
            above, below = findings.seen(finding, number, view.run, language), findings.to_do(finding, view.run, language)
            plot = plots.plot_of(finding, view, language)
        except Exception:
            log.exception("the finding %s cannot be shown", finding.id)
            above, below, plot = texts.problem(say("web.finding_failed", language, name=finding.id)), "", None
        with gr.Column(elem_classes=["finding", f"finding-{finding.severity or 'medium'}"]):
            gr.HTML(above)
            if plot is not None:
                gr.Plot(plot.figure, label=plot.label, show_label=False, container=False, buttons=[], elem_classes="plot")
                gr.HTML(f'<p class="caption">{escape(plot.caption)}</p>')
            if below:
                gr.HTML(below)

    # The chat

    def ask(self, question: str, history: list[dict[str, Any]], session_id: str, language: Language) -> tuple[Any, ...]:
        question = (question or "").strip()
        if not question:
            return history, "", *(gr.skip() for _ in self.suggestions)
        shown, chips = self._answer(question, session_id, language)
        messages = [
            *history,
            {"role": "user", "content": as_plain_markdown(question[: self.limits.question])},
            {"role": "assistant", "content": shown},
        ]
        return messages, "", *chips

    def _answer(self, question: str, session_id: str, language: Language) -> tuple[str, list[Any]]:
        unchanged = [gr.skip() for _ in self.suggestions]
        session = self.store.get(session_id) if session_id else None
        if session is None:
            return say("web.session_gone", language, hours=self.limits.session_hours), unchanged
        if len(question) > self.limits.question:
            return say("web.question_too_long", language, limit=self.limits.question), unchanged
        try:
            answer = chat.reply(session, question, language)
        except Exception:
            log.exception("answering failed")
            return say("web.answer_failed", language), unchanged
        self.store.add_turn(session_id, answer.turn)
        open_ones = [q for q in chat.suggestions(session.diagnosis, language) if q != question]
        return chat.markdown(answer), _chips(chat.next_questions(answer, open_ones))

    # Language

    def suggest(self, session_id: str, language: Language) -> list[Any]:
        session = self.store.get(session_id) if session_id else None
        return _chips(chat.suggestions(session.diagnosis, language) if session else [])

    def relabel(self, language: Language) -> list[Any]:
        """Every fixed text in ``language``; the report follows by itself."""
        return [
            texts.brand(language),
            gr.update(value=say("web.another_log", language)),
            gr.update(label=say("web.language", language)),
            gr.skip(),
            texts.intro(language),
            gr.update(label=say("web.paste_label", language), placeholder=say("web.paste_placeholder", language)),
            gr.update(value=say("web.diagnose", language)),
            gr.update(label=say("web.file_label", language)),
            gr.update(value=say("web.cancel", language)),
            texts.samples_label(language),
            *(gr.update(value=say(f"web.sample_{key}", language)) for key in SAMPLES),
            texts.promises(language, self.limits.session_hours),
            texts.chat_title(language),
            gr.update(placeholder=say("web.chat_empty", language), label=say("web.chat_label", language)),
            gr.update(placeholder=say("web.question_placeholder", language), label=say("web.question_label", language)),
            gr.update(value=say("web.send", language)),
        ]


def _chips(questions: list[str]) -> list[Any]:
    shown = [gr.update(value=question, visible=True) for question in questions[: chat.MOST_SUGGESTIONS]]
    return shown + [gr.update(value="", visible=False)] * (chat.MOST_SUGGESTIONS - len(shown))
