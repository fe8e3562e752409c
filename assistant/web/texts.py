"""The fixed parts of the page, as HTML."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.messages import Language, say
from assistant.web.limits import Limits
from assistant.web.markup import escape


def brand(language: Language) -> str:
    keys = ("lost", "not_restored", "not_reached", "upload_failed", "upload_too_large")
    told = "".join(f' data-{key.replace("_", "-")}="{escape(say(f"web.{key}", language, limit="{limit}"))}"' for key in keys)
    return f'<p class="brand"{told}><b>runwhy</b> <span>{escape(say("web.tagline", language))}</span></p>'


def intro(language: Language) -> str:
    return f'<h1>{escape(say("web.start_title", language))}</h1><p class="lead">{escape(say("web.start_lead", language))}</p>'


def samples_label(language: Language) -> str:
    return f'<p class="samples-label">{escape(say("web.samples", language))}</p>'


def promises(language: Language, hours: str) -> str:
    cells = "".join(
        f"<div><h2>{escape(say(f'web.promise_{key}', language))}</h2>"
        f"<p>{escape(say(f'web.promise_{key}_text', language, hours=hours))}</p></div>"
        for key in ("numbers", "quiet", "private")
    )
    return f'<section class="promises">{cells}</section>'


def chat_title(language: Language) -> str:
    return f'<h2 id="ask-title">{escape(say("web.chat_title", language))}</h2>'


def chat_empty(language: Language) -> str:
    return escape(say("web.chat_empty", language))


def problem(sentence: str) -> str:
    return f'<p class="problem" role="alert">{escape(sentence)}</p>'


def of(session_id: str, language: Language, body: str) -> str:
    """What shows a session: the page hides it while another one is open, and asks anew for what is in another language."""
    return f'<div class="of" data-session="{escape(session_id)}" data-language="{language}">{body}</div>' if body else ""


def uploading(language: Language) -> str:
    """Shown by the page's script while files are on their way."""
    words = escape(say("web.uploading", language, name="{name}", done="{done}", total="{total}"))
    return (
        f'<div class="sending"><progress max="1" value="0" aria-hidden="true"></progress> <span data-words="{words}"></span> '
        f'<button type="button" class="cancel-upload">{escape(say("web.cancel", language))}</button></div>'
    )


def tabs(language: Language, names: Sequence[str]) -> str:
    """The tabs of the report; the page's script moves between them (arrow keys too)."""
    items = "".join(
        f'<button type="button" role="tab" id="tab-{name}" data-panel="{name}" aria-controls="panel-{name}" '
        f'aria-selected="{"true" if index == 0 else "false"}" tabindex="{0 if index == 0 else -1}">'
        f"{escape(say(f'web.tab_{name}', language))}</button>"
        for index, name in enumerate(names)
    )
    back = f'<button type="button" id="way-back" hidden>{escape(say("web.way_back", language))}</button>'
    return f'<div role="tablist" aria-label="{escape(say("web.tabs", language))}">{items}</div>{back}'


def gone(language: Language, limits: Limits) -> str:
    """Shown in place of a panel when the session is no longer kept."""
    return problem(say("web.session_gone", language, hours=limits.hours))


def chart(source: str, language: Language) -> str:
    """The place of a plot whose figure is at ``source``; ``static/40-draw.js`` draws it when it comes into view."""
    return (
        f'<figure class="chart" data-src="{escape(source)}"><div class="canvas" role="img"></div>'
        f'<p class="chart-failed">{escape(say("web.chart_failed", language))}</p><figcaption class="caption"></figcaption></figure>'
    )


def theme_button(language: Language) -> str:
    label = escape(say("web.theme", language))
    return f'<button type="button" id="theme-switch" aria-label="{label}" title="{label}"><span aria-hidden="true">◐</span></button>'
