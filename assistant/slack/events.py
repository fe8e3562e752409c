"""Slack's payloads → `Job`, or None for what is not for us: bots, edits, deletions, other people's talk.

Pure: what must be looked up (is this thread about a log?) is asked through a function.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assistant.slack.incoming import plain_text, rich_text
from assistant.slack.jobs import FileRef, Job

KEPT_SUBTYPES = (None, "file_share", "thread_broadcast")
MOST_FILES = 10
MEDIA = ("image/", "video/", "audio/", "application/pdf")
"""What colleagues show each other in a thread; a picture is no log."""
_ELSE = re.compile(r"^\s*<@([UW]\w+)(?:\|[^>]*)?>")


def event_job(body: Mapping[str, Any], bot_user: str, ours: Callable[[str], bool]) -> Job | None:
    """The job of an Events API body. ``ours`` says whether the thread with this key is a talk of ours."""
    event = body.get("event") or {}
    installed = (body.get("authorizations") or [{}])[0]  # in a channel shared with others, team_id may be theirs
    team = str(installed.get("team_id") or body.get("team_id") or event.get("team") or "")
    match event.get("type"):
        case "app_mention" | "message":
            return _message(event, team, bot_user, ours)
        case "app_home_opened" if event.get("user"):
            key, user = str(body.get("event_id") or ""), str(event["user"])
            if event.get("tab") == "home":
                return Job(f"home:{team}:{key}", "home", team, user, data={"view": (event.get("view") or {}).get("id", "")})
            return Job(f"welcome:{team}:{key}", "welcome", team, user, channel=str(event.get("channel") or ""), direct=True)
        case "assistant_thread_started":
            thread = event.get("assistant_thread") or {}
            channel, ts = str(thread.get("channel_id") or ""), str(thread.get("thread_ts") or "")
            user = str(thread.get("user_id") or "")
            return Job(f"welcome:{team}:{channel}:{ts}", "welcome", team, user, channel=channel, thread=ts, direct=True)
        case _:
            return None


def _message(event: Mapping[str, Any], team: str, bot_user: str, ours: Callable[[str], bool]) -> Job | None:
    user = str(event.get("user") or "")
    if event.get("subtype") not in KEPT_SUBTYPES or event.get("bot_id") or event.get("hidden") or user in ("", bot_user, "USLACKBOT"):
        return None
    raw = str(event.get("text") or "")
    channel, ts, thread = str(event.get("channel") or ""), str(event.get("ts") or ""), str(event.get("thread_ts") or "")
    direct = event.get("channel_type") == "im" or channel.startswith("D")
    mentioned = event.get("type") == "app_mention" or f"<@{bot_user}" in raw
    job = Job(
        f"message:{team}:{channel}:{ts}",
        "message",
        team,
        user,
        channel=channel,
        ts=ts,
        thread=thread or ts,
        direct=direct,
        mentioned=mentioned,
        **_contents(event, bot_user),
    )
    if direct or mentioned:
        return job
    job = replace(job, files=tuple(file for file in job.files if not file.mimetype.startswith(MEDIA)))
    to_another = _ELSE.match(raw)
    if not thread or thread == ts or to_another or (not job.files and _small_talk(job.text)):
        return None
    return job if ours(job.lane) else None


def _contents(message: Mapping[str, Any], bot_user: str) -> dict[str, Any]:
    """Text, code and files of a message; from its rich text where there is one, which is what was really typed."""
    prose, code = rich_text(message.get("blocks") or (), bot_user)
    if not prose and not code:
        prose, code = plain_text(str(message.get("text") or ""), bot_user)
    return {"text": prose, "code": tuple(code), "files": tuple(files_of(message.get("files") or ()))}


def files_of(rows: Sequence[Mapping[str, Any]]) -> list[FileRef]:
    return [
        FileRef(
            str(row["id"]),
            str(row.get("name") or row.get("title") or ""),
            int(row.get("size") or 0),
            str(row.get("url_private_download") or row.get("url_private") or ""),
            str(row.get("mode") or row.get("file_access") or ""),
            str(row.get("mimetype") or ""),
        )
        for row in rows[:MOST_FILES]
        if row.get("id")
    ]


_SMALL = re.compile(
    r"(?:thanks?(?: you)?(?: (?:a lot|so much))?|thx|ty|ok(?:ay)?|k|got it|nice|cool|great|good|perfect|awesome|lol|haha+|"
    r"yes|no|yep|nope|sure|will do|done|hi|hello|hey|wow|hmm+|\+1|谢谢.?|多谢|好的?.?|收到|明白了?|嗯+|哈哈+|可以|行|"
    r"不错|ok了|赞|厉害|辛苦了?)",
    re.IGNORECASE,
)


def _small_talk(text: str) -> bool:
    """Nothing that an answer is expected to: thanks, a smile."""
    bare = re.sub(r":[\w+-]+:|[\W_]+", " ", text).strip()
    return not bare or bool(_SMALL.fullmatch(bare) or _SMALL.fullmatch(text.strip()))


def command_job(body: Mapping[str, Any]) -> Job:
    """``/runwhy …``. It has no message of its own: the answer starts a new one in the channel."""
    team, channel, user = str(body.get("team_id") or ""), str(body.get("channel_id") or ""), str(body.get("user_id") or "")
    trigger = str(body.get("trigger_id") or "")
    prose, code = plain_text(str(body.get("text") or ""), "")
    return Job(
        f"command:{team}:{trigger}",
        "command",
        team,
        user,
        channel=channel,
        text=prose,
        code=tuple(code),
        direct=channel.startswith("D"),
        mentioned=True,
        data={"response_url": str(body.get("response_url") or ""), "trigger_id": trigger},
    )


def shortcut_job(body: Mapping[str, Any], bot_user: str) -> Job:
    """ "Diagnose this log" on a message of anybody."""
    message, channel = body.get("message") or {}, str((body.get("channel") or {}).get("id") or "")
    team, user = _team(body), str((body.get("user") or {}).get("id") or "")
    ts = str(message.get("ts") or body.get("message_ts") or "")
    return Job(
        f"shortcut:{team}:{body.get('trigger_id') or body.get('action_ts')}",
        "shortcut",
        team,
        user,
        channel=channel,
        ts=ts,
        thread=str(message.get("thread_ts") or ts),
        direct=channel.startswith("D"),
        mentioned=True,
        data={"response_url": str(body.get("response_url") or "")},
        **_contents(message, bot_user),
    )


def button_job(body: Mapping[str, Any]) -> Job | None:
    """A button (or a choice from a list) that was used under one of our messages, or in the home tab."""
    action = (body.get("actions") or [{}])[0]
    if action.get("url") and not action.get("value"):
        return None  # a link, opened by Slack itself
    team, user = _team(body), str((body.get("user") or {}).get("id") or "")
    message, container = body.get("message") or {}, body.get("container") or {}
    channel = str((body.get("channel") or {}).get("id") or container.get("channel_id") or "")
    ts = str(message.get("ts") or container.get("message_ts") or "")
    name = str(action.get("action_id") or "").partition("#")[0]
    value = str(action.get("value") or (action.get("selected_option") or {}).get("value") or "")
    return Job(
        f"button:{team}:{body.get('trigger_id') or action.get('action_ts')}",
        "button",
        team,
        user,
        channel=channel,
        ts=ts,
        thread=str(message.get("thread_ts") or container.get("thread_ts") or ts),
        direct=channel.startswith("D"),
        data={"action": name, "value": value, "response_url": str(body.get("response_url") or ""), "trigger_id": body.get("trigger_id")},
    )


def modal_job(body: Mapping[str, Any]) -> Job | None:
    """A dialogue that was sent: a log with a question, or the reason of a bad answer."""
    view = body.get("view") or {}
    kept = json.loads(view.get("private_metadata") or "{}")
    values = {name: field for block in (view.get("state") or {}).get("values", {}).values() for name, field in block.items()}
    team, user = _team(body), str((body.get("user") or {}).get("id") or "")
    text, pasted = (str((values.get(name) or {}).get("value") or "") for name in ("question", "log"))
    common = {"channel": kept.get("channel", ""), "ts": kept.get("ts", ""), "thread": kept.get("thread", "")}
    key = f"{team}:{view.get('id')}:{view.get('hash')}"
    if view.get("callback_id") == "reason":
        return Job(f"reason:{key}", "reason", team, user, text=text, data={"value": kept.get("value", "")}, **common)
    files = tuple(files_of((values.get("files") or {}).get("files") or ()))
    if not (text or pasted or files):
        return None
    return Job(
        f"modal:{key}", "modal", team, user, text=text, code=(pasted,) if pasted else (), files=files, mentioned=True,
        direct=str(common["channel"]).startswith("D"), **common,
    )  # fmt: skip


def _team(body: Mapping[str, Any]) -> str:
    installed = (body.get("view") or {}).get("app_installed_team_id")
    return str(installed or (body.get("team") or {}).get("id") or body.get("team_id") or (body.get("user") or {}).get("team_id") or "")
