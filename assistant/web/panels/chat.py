"""The conversation about the run: asking, streaming, stopping; what was said before is there again after a reload."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import gradio as gr

from assistant.messages import Language, say
from assistant.sessions import Session
from assistant.web import chat, talk, texts
from assistant.web.answering import Answering
from assistant.web.asked_plot import plot_for
from assistant.web.panel import Panel, html
from assistant.web.reading import Readings

if TYPE_CHECKING:
    from assistant.answers import Answer
    from assistant.web.page import Page

# The question comes from the box or from a suggestion; the turn before it moves from the live place into the talk.
ASKING = "(question, session, language) => runwhy.asking(question, session, language)"
ANSWERED = "() => runwhy.answered()"


class ChatPanel(Panel):
    name = "ask"

    def __init__(self) -> None:
        self.running = Readings()

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
            self.stop = gr.Button(say("web.stop"), scale=1, min_width=72, elem_id="stop", visible=False)
        self.ask_this = gr.Button(visible="hidden", elem_id="ask-this")

    def wire(self, page: Page) -> None:
        self.page = page
        answered = [self.live, self.next, self.question, self.send, self.stop]
        asking: dict[str, Any] = {
            "concurrency_limit": page.limits.asked_at_once, "concurrency_id": "ask", "show_progress": "hidden", "trigger_mode": "once",
            "api_visibility": "private", "js": ASKING,
        }  # fmt: skip
        inputs = [self.question, page.session, page.language]
        for event in (self.send.click, self.question.submit, self.ask_this.click):
            event(self.ask, inputs, answered, **asking).then(None, js=ANSWERED, api_visibility="private")
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
        return f'<div class="turns" data-session="{session_id}">{turns}{empty}</div>', "", ""

    def suggest(self, session_id: str, language: Language) -> str:
        session = self.page.store.get(session_id) if session_id else None
        if session is None:
            return ""
        asked = [one.question for one in self.page.store.transcript(session_id)]
        return talk.suggestions(chat.next_questions((), chat.suggestions(session.diagnosis, language), asked), language)

    # Answering

    def ask(self, question: str | None, session_id: str, language: Language, request: gr.Request) -> Iterator[dict[Any, Any]]:
        question = (question or "").strip()
        if not question:
            yield {}
            return
        limits = self.page.limits
        session = self.page.store.get(session_id) if session_id else None
        if session is None:
            yield {self.live: talk.told(question, say("web.session_gone", language, hours=limits.hours))}
            return
        if len(question) > limits.question:
            sentence = say("web.question_too_long", language, limit=limits.question)
            yield {self.live: talk.told(f"{question[:200]} …", sentence), self.question: question}
            return
        endpoint = self.page.models.endpoint(session_id)
        if endpoint is None:
            yield self._done(question, Answering(session, question, language, self.page.store).at_once(), session, language)
            return
        tab = request.session_hash or ""
        flag = self.running.start(tab)
        busy = {self.question: "", self.send: gr.update(visible=False), self.stop: gr.update(visible=True)}
        yield {self.live: talk.growing(question, "", language), self.next: "", **busy}
        answering = Answering(session, question, language, self.page.store, endpoint, flag)
        try:
            for so_far in answering.parts():
                yield {self.live: talk.growing(question, so_far, language)}
        finally:
            flag.set()  # the browser went away, or all is said
            self.running.done(tab, flag)
        yield self._done(question, answering.outcome, session, language)

    def _done(self, question: str, answer: Answer | None, session: Session, language: Language) -> dict[Any, Any]:
        ready = {self.question: "", self.send: gr.update(visible=True), self.stop: gr.update(visible=False)}
        if answer is None:
            return {self.live: talk.told(question, say("web.answer_failed", language)), **ready}
        index = self.page.store.add_turn(session.id, answer.turn, answer=answer)
        asked = [one.question for one in self.page.store.transcript(session.id)]
        following = chat.next_questions(answer.followups, chat.suggestions(session.diagnosis, answer.language), [*asked, question])
        return {
            self.live: talk.turn(talk.of_answer(question, answer, index, plot_for(question, session, session.turns, answer.language))),
            self.next: talk.suggestions(following, answer.language),
            **ready,
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
