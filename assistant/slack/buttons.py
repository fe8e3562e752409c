"""What happens when a button is used: a suggested question, the guide, the lesson, the report, feedback, forgetting."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from assistant.slack.blocks import actions, button, section
from assistant.slack.context import Doing
from assistant.slack.guided import lesson_blocks, page_blocks, read_state
from assistant.slack.mrkdwn import words
from assistant.slack.reply import reason_view


def used(doing: Doing) -> None:
    """A button. One whose session is gone says so."""
    action = str(doing.job.data.get("action") or "")
    handler = _HANDLERS.get(action)
    if handler is None:
        return doing.close()
    if action in _NEED_SESSION and doing.find_session() is None:
        return doing.tell(doing.say("log_gone"))
    handler(doing)


def _value(doing: Doing) -> str:
    return str(doing.job.data.get("value") or "")


def _ask(doing: Doing) -> None:
    from assistant.slack.talk import answer

    assert doing.session is not None
    doing.said = _value(doing)
    answer(doing, doing.session, _value(doing), asker=doing.job.user)
    doing.close()


def _guide(doing: Doing) -> None:
    """The first page is a new message; the others take its place."""
    from assistant.guide import page

    assert doing.session is not None
    guide, choices, language = read_state(_value(doing))
    doing.chosen = language or doing.language
    try:
        found = page(doing.session.diagnosis, guide, choices, doing.language)
        blocks, text = page_blocks(found, guide, doing.language, doing.masked)
    except KeyError:
        return doing.tell(doing.say("guide_failed"))
    doing.settle(None, session=doing.session)
    if _value(doing) in ("", "{}"):
        doing.delivery.post("guide", blocks, text)
    else:
        doing.delivery.update(doing.job.ts, blocks, text)
    doing.close()


def _teach(doing: Doing) -> None:
    from assistant.guide import teach

    assert doing.session is not None
    _in_language(doing)
    blocks, text = lesson_blocks(teach(doing.session.diagnosis, doing.language), doing.language, doing.masked)
    doing.settle(None, session=doing.session)
    doing.delivery.post("teach", blocks, text)
    doing.close()


def _report(doing: Doing) -> None:
    """The whole report as one HTML file."""
    from assistant.slack.reporting import report

    assert doing.session is not None
    _in_language(doing)
    doing.delivery.status(doing.say("writing_begun"))
    page = report(doing.session, doing.store, doing.language)
    doing.settle(None, session=doing.session)
    name = words(doing.masked(doing.session.name)) or doing.say("pasted_log")
    if not doing.delivery.upload("report", ".html", page.encode(), doing.say("report_title", name=name)):
        doing.delivery.post("error", (), doing.say("no_upload"))
    doing.close()


def _in_language(doing: Doing) -> None:
    if _value(doing) in ("en", "zh"):
        doing.chosen = "zh" if _value(doing) == "zh" else "en"


def _feedback(doing: Doing) -> None:
    assert doing.session is not None
    given = json.loads(_value(doing) or "{}")
    doing.chosen = given.get("lang") if given.get("lang") in ("en", "zh") else None
    good = bool(given.get("good"))
    doing.store.feedback(doing.session.id, int(given.get("turn", -1)), good)
    trigger = doing.job.data.get("trigger_id")
    if not good and trigger:
        place = {"channel": doing.job.channel, "ts": doing.job.ts, "thread": doing.job.thread}
        try:
            doing.client.views_open(trigger_id=str(trigger), view=reason_view(place, _value(doing), doing.language))
            return doing.close()
        except Exception:  # too late for a dialogue: the vote itself is kept
            pass
    doing.delivery.whisper(doing.say("thanks"))
    doing.close()


def reason(doing: Doing) -> None:
    """Why an answer was not right, in the person's words."""
    given = json.loads(_value(doing) or "{}")
    doing.chosen = given.get("lang") if given.get("lang") in ("en", "zh") else None
    session = doing.find_session()
    if session is not None:
        doing.store.feedback(session.id, int(given.get("turn", -1)), False, doing.job.text[:2000])
        doing.delivery.whisper(doing.say("thanks"))
    doing.close()


# Forgetting


def ask_to_forget(doing: Doing, what: str) -> None:
    """Nothing is deleted before the person says yes."""
    if what == "one" and doing.session is None:
        return doing.tell(doing.say("forget_none"))
    if what == "one" and doing.session is not None and doing.session.owner != doing.job.owner:
        return doing.tell(doing.say("forget_not_yours"))
    text = doing.say(f"forget_ask_{what}")
    value = f"{what} {doing.language} {doing.job.user}"
    yes = button(doing.say("ok_button"), "forget_yes", value, style="danger")
    no = button(doing.say("keep_button"), "forget_no", value)
    doing.tell(text, blocks=[section(text), actions(yes, no)])


def _forget_from_home(doing: Doing) -> None:
    """In the home tab there is no thread: the question comes as a direct message."""
    what, _, language = _value(doing).partition(" ")
    doing.chosen = "zh" if language == "zh" else "en"
    opened = doing.client.conversations_open(users=doing.job.user)
    doing.task.job = replace(doing.job, channel=str(opened["channel"]["id"]), thread="", ts="", direct=True)
    ask_to_forget(doing, what or "all")


def _forget_yes(doing: Doing) -> None:
    what, language, user = (*_value(doing).split(" "), "", "", "")[:3]
    doing.chosen = "zh" if language == "zh" else "en"
    if user != doing.job.user:
        doing.delivery.whisper(doing.say("forget_not_yours"))
        return doing.close()
    doing.settle(None)
    if what == "all":
        text = doing.say("forgotten_all", n=doing.store.forget(doing.job.owner))
    else:
        session = doing.find_session()
        if session is not None and session.owner == doing.job.owner:
            doing.store.remove(session.id, feedback=True)
        text = doing.say("forgotten_one")
    doing.delivery.update(doing.job.ts, [section(text)], text)
    doing.close()


def _forget_no(doing: Doing) -> None:
    _, language, user = (*_value(doing).split(" "), "", "", "")[:3]
    doing.chosen = "zh" if language == "zh" else "en"
    if user != doing.job.user:
        return doing.close()
    doing.settle(None)
    text = doing.say("forget_kept")
    doing.delivery.update(doing.job.ts, [section(text)], text)
    doing.close()


_HANDLERS: dict[str, Callable[[Doing], None]] = {
    "ask": _ask,
    "guide": _guide,
    "teach": _teach,
    "report": _report,
    "feedback": _feedback,
    "forget": _forget_from_home,
    "forget_yes": _forget_yes,
    "forget_no": _forget_no,
}
_NEED_SESSION = frozenset({"ask", "guide", "teach", "report", "feedback"})
