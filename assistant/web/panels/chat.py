"""The conversation about the run: asking, streaming, stopping; what was said before is there again after a reload."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import gradio as gr

from assistant.messages import Language, say
from assistant.web import chat, talk, texts
from assistant.web.answering import Answering
from assistant.web.asked_plot import plot_for
from assistant.web.markup import escape
from assistant.web.panel import Panel, ended, html
from assistant.web.reading import Readings

if TYPE_CHECKING:
    from assistant.web.page import Page

# The question comes from the box or from a suggestion; the turn before it moves from the live place into the talk.
ASKING = "(question) => runwhy.asking(question)"
ANSWERED = "() => runwhy.answered()"
MOST_SECONDS = 8.0
"""How long a page that is opened waits until an answer that was broken off by that is kept."""


class ChatPanel(Panel):
    name = "ask"

    def __init__(self) -> None:
        self.running = Readings()
        self.writing: dict[str, tuple[str, Answering]] = {}
        """By session: the browser's tab that asked, and what is being written for it."""

    def build(self) -> None:
        self.title = html(texts.chat_title("en"))
        with gr.Column(elem_id="conversation"):
            self.talk = html("", elem_id="talk")
            self.live = html("", elem_id="live")
            self.next = html("", elem_id="suggestions")
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
            self.stop = gr.Button(say("web.stop"), scale=1, min_width=72, elem_id="stop")  # shown by CSS while an answer grows
        self.ask_this = gr.Button(visible="hidden", elem_id="ask-this")

    def wire(self, page: Page) -> None:
        self.page = page
        answered = [self.live, self.next, self.question]
        asking: dict[str, Any] = {
            "concurrency_limit": page.limits.asked_at_once, "concurrency_id": "ask", "show_progress": "hidden", "trigger_mode": "multiple",
            "api_visibility": "private", "js": ASKING,
        }  # fmt: skip
        inputs = [self.question, page.session, page.language]
        for event in (self.send.click, self.question.submit, self.ask_this.click):
            ended(event(self.ask, inputs, answered, **asking), ANSWERED)
        self.stop.click(self.stopped, None, None, queue=False, show_progress="hidden", api_visibility="private")
        page.on_open(self.opened, [self.talk, self.live, self.question])
        page.on_text(self.suggest, [self.next])

    def opened(self, session_id: str, language: Language) -> tuple[Any, ...]:
        """The talk so far (after a reload, or a link)."""
        kept = self.page.store.transcript(session_id) if session_id else []
        session = self.page.store.get(session_id) if kept else None
        plots = [plot_for(one.question, session, [k.turn for k in kept[:at]], language) if session else "" for at, one in enumerate(kept)]
        turns = "".join(talk.turn(talk.of_exchange(one, language, plot)) for one, plot in zip(kept, plots, strict=True))
        empty = "" if kept else f'<p class="empty">{texts.chat_empty(language)}</p>'
        broken = escape(say("web.answer_broken", language))
        return f'<div class="turns" data-session="{escape(session_id)}" data-broken="{broken}">{turns}{empty}</div>', "", ""

    def turned(self, tab: str, session_id: str) -> None:
        """Who reloads the page or opens another log stops the answer that is being written; what was said of it is kept with its talk."""
        for asked_in, (asked_by, answering) in list(self.writing.items()):
            if asked_in == session_id or asked_by == tab:
                answering.taken = True
                answering.stop(MOST_SECONDS if asked_in == session_id else 0)
        self._forget_those_over()

    def close(self) -> None:
        """The server ends: what was said so far is kept."""
        under_way = [answering for _, answering in self.writing.values()]
        for answering in under_way:
            answering.stop()
        for answering in under_way:
            answering.stop(MOST_SECONDS)

    def _forget_those_over(self) -> None:
        for asked_in, (_, answering) in list(self.writing.items()):
            if answering.over.is_set():
                self.writing.pop(asked_in, None)

    def suggest(self, session_id: str, language: Language) -> str:
        session = self.page.store.get(session_id) if session_id else None
        if session is None:
            return ""
        asked = [one.question for one in self.page.store.transcript(session_id)]
        shown = talk.suggestions(chat.next_questions((), chat.suggestions(session.diagnosis, language), asked), language)
        return texts.of(session_id, language, shown)

    # Answering

    def ask(self, question: str | None, session_id: str, language: Language, request: gr.Request) -> Iterator[dict[Any, Any]]:
        question = (question or "").strip()
        if not question:
            yield {self.question: gr.skip()}
            return
        limits = self.page.limits
        session = self.page.store.get(session_id) if session_id else None
        if session is None:
            told = talk.told(question, say("web.session_gone", language, hours=limits.hours))
            yield {self.live: texts.of(session_id, language, told), self.question: question}
            return
        if len(question) > limits.question:
            told = talk.told(f"{question[:200]} …", say("web.question_too_long", language, limit=limits.question))
            yield {self.live: texts.of(session_id, language, told), self.question: question}
            return
        endpoint = self.page.models.endpoint(session_id)
        if endpoint is None:
            at_once = Answering(session, question, language, self.page.store)
            at_once.kept()
            yield self._done(at_once)
            return
        tab = request.session_hash or ""
        flag = self.running.start(tab)
        answering = Answering(session, question, language, self.page.store, endpoint, flag)
        self._forget_those_over()
        self.writing[session_id] = (tab, answering)
        answering.begin()
        try:
            yield {self.live: texts.of(session_id, language, talk.growing(question, "", language)), self.next: ""}
            for so_far in answering.parts():
                if answering.taken:
                    return
                yield {self.live: texts.of(session_id, language, talk.growing(question, so_far, language))}
        finally:
            flag.set()  # the browser went away, or all is said
            self.running.done(tab, flag)
        if not answering.taken:
            yield self._done(answering)

    def _done(self, asked: Answering) -> dict[Any, Any]:
        session, answer, language = asked.session, asked.outcome, asked.language
        if answer is None:
            told = talk.told(asked.question, say("web.answer_failed", language))
            return {self.live: texts.of(session.id, language, told), self.question: asked.question}
        before = [one.question for one in self.page.store.transcript(session.id)]
        following = chat.next_questions(answer.followups, chat.suggestions(session.diagnosis, answer.language), [*before, asked.question])
        plot = plot_for(asked.question, session, session.turns, answer.language)
        return {
            self.live: texts.of(session.id, language, talk.turn(talk.of_answer(asked.question, answer, asked.index, plot))),
            self.next: texts.of(session.id, language, talk.suggestions(following, answer.language)),
        }

    def stopped(self, request: gr.Request) -> None:
        self.running.cancel(request.session_hash or "")

    def relabel(self, language: Language) -> dict[Any, Any]:
        return {
            self.title: texts.chat_title(language),
            self.question: gr.update(placeholder=say("web.question_placeholder", language), label=say("web.question_label", language)),
            self.send: gr.update(value=say("web.send", language)),
            self.stop: gr.update(value=say("web.stop", language)),
        }
