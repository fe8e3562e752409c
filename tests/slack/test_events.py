"""Which of Slack's payloads are for us, and what is read out of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.slack.events import button_job, command_job, event_job, modal_job, shortcut_job
from assistant.slack.jobs import Job

BOT = "UBOT"


def message(**more: Any) -> dict[str, Any]:
    event = {"type": "message", "channel": "C1", "user": "U1", "ts": "2.0", "text": "why?", **more}
    return {"type": "event_callback", "team_id": "T1", "event_id": "Ev1", "event": event}


def job_of(*, ours: bool = False, **more: Any) -> Job | None:
    return event_job(message(**more), BOT, lambda lane: ours)


@pytest.mark.parametrize(
    ("more", "ours", "taken"),
    [
        ({"type": "app_mention", "text": "<@UBOT> why?"}, False, True),
        ({"text": "<@UBOT> why?"}, False, True),
        ({"channel_type": "im", "channel": "D1"}, False, True),
        ({"thread_ts": "1.0"}, True, True),
        ({"thread_ts": "1.0"}, False, False),
        ({}, True, False),
        ({"thread_ts": "2.0"}, True, False),
        ({"thread_ts": "1.0", "text": "<@U9> why?"}, True, False),
        ({"thread_ts": "1.0", "text": "thanks"}, True, False),
        ({"thread_ts": "1.0", "subtype": "thread_broadcast"}, True, True),
        ({"channel_type": "im", "subtype": "message_changed"}, True, False),
        ({"channel_type": "im", "bot_id": "B9"}, True, False),
        ({"channel_type": "im", "user": BOT}, True, False),
        ({"channel_type": "im", "user": "USLACKBOT"}, True, False),
        ({"channel_type": "im", "user": None}, True, False),
        ({"channel_type": "im", "hidden": True}, True, False),
    ],
)
def test_who_is_answered(more: dict[str, Any], ours: bool, taken: bool) -> None:
    assert (job_of(ours=ours, **more) is not None) is taken


def test_every_delivery_of_a_message_has_one_key() -> None:
    mention = job_of(type="app_mention", text="<@UBOT> why?")
    plain = event_job({**message(text="<@UBOT> why?"), "event_id": "Ev2"}, BOT, lambda lane: False)
    assert mention is not None
    assert plain is not None
    assert mention.key == plain.key == "message:T1:C1:2.0"


def test_files_of_a_message() -> None:
    row = {"id": "F1", "name": "a.log", "size": 3, "url_private": "https://files.slack.com/a", "mode": "snippet"}
    found = job_of(channel_type="im", subtype="file_share", files=[row, {"name": "no id"}])
    assert found is not None
    assert [(file.id, file.name, file.url, file.mode) for file in found.files] == [("F1", "a.log", "https://files.slack.com/a", "snippet")]


@given(st.dictionaries(st.sampled_from(["subtype", "text", "ts", "thread_ts", "user", "channel", "channel_type"]), st.text(max_size=9)))
@settings(max_examples=200, deadline=None)
def test_no_message_raises(event: dict[str, str]) -> None:
    event_job({"team_id": "T1", "event": {"type": "message", **event}}, BOT, lambda lane: True)


def test_payloads_with_little_in_them() -> None:
    assert event_job({}, BOT, lambda lane: True) is None
    assert command_job({}).kind == "command"
    assert shortcut_job({}, BOT).kind == "shortcut"
    assert button_job({}) is not None
    assert button_job({"actions": [{"url": "https://x", "action_id": "web"}]}) is None
    assert modal_job({"view": {}}) is None
