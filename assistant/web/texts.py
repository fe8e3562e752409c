"""The fixed parts of the page, as HTML."""

from __future__ import annotations

from assistant.messages import Language, say
from assistant.web.markup import escape


def brand(language: Language) -> str:
    return f'<p class="brand"><b>runwhy</b> <span>{escape(say("web.tagline", language))}</span></p>'


def intro(language: Language) -> str:
    return f'<h1>{escape(say("web.start_title", language))}</h1><p class="lead">{escape(say("web.start_lead", language))}</p>'


def samples_label(language: Language) -> str:
    return f'<p class="samples-label">{escape(say("web.samples", language))}</p>'


def promises(language: Language, hours: int) -> str:
    cells = "".join(
        f"<div><h2>{escape(say(f'web.promise_{key}', language))}</h2>"
        f"<p>{escape(say(f'web.promise_{key}_text', language, hours=hours))}</p></div>"
        for key in ("numbers", "quiet", "private")
    )
    return f'<section class="promises">{cells}</section>'


def chat_title(language: Language) -> str:
    return f'<h2 id="ask-title">{escape(say("web.chat_title", language))}</h2>'


def problem(sentence: str) -> str:
    return f'<p class="problem" role="alert">{escape(sentence)}</p>'
