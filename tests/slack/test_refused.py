"""What is refused before it is read: forged, stale, repeated and oversized requests; and never a word of them in the log."""

from __future__ import annotations

import contextlib
import json
import time

import httpx
import pytest

from tests.slack.conftest import Space, log_of
from tests.slack.driver import body_of, event_body, message_event, signed
from tests.slack.server import BOT_USER

SECRET_WORDS = "xyzzy-private-words"


@pytest.fixture
def web(space: Space) -> Space:
    """Over HTTP: Socket Mode has no requests to forge."""
    return space


def asking(space: Space, channel: str) -> dict[str, object]:
    message = space.slack.say(channel, "U1", f"<@{BOT_USER}> {SECRET_WORDS}")
    return event_body(message_event(message, mention=True))


def refused(space: Space, channel: str, why: str, before: int) -> None:
    space.wait(lambda: any(f"refused: why={why}" in line for line in space.bot.lines[before:]))
    time.sleep(0.2)
    assert not space.slack.by_bot(channel)
    assert SECRET_WORDS not in space.bot.log


def test_wrong_signature(web: Space, channel: str) -> None:
    before = len(web.bot.lines)
    assert web.post("events_api", asking(web, channel), secret="another").status_code == 401
    refused(web, channel, "signature", before)


def test_missing_signature_and_odd_headers(web: Space, channel: str) -> None:
    body, kind = body_of("events_api", asking(web, channel))
    url = f"http://127.0.0.1:{web.ports[0]}/slack/events"
    stamp = str(int(time.time()))
    for headers in (
        {},
        {"x-slack-request-timestamp": stamp},
        {"x-slack-signature": "v0=0", "x-slack-request-timestamp": "²"},
        {"x-slack-signature": "v0=é".encode("latin-1").decode("latin-1"), "x-slack-request-timestamp": stamp},
        {"x-slack-signature": "v0=0", "x-slack-request-timestamp": "9" * 400},
    ):
        encoded = {name: value.encode("latin-1") for name, value in headers.items()}
        answer = httpx.post(url, content=body, headers={**encoded, "content-type": kind}, trust_env=False)
        assert answer.status_code == 401
    assert not web.slack.by_bot(channel)


def test_stale_timestamp(web: Space, channel: str) -> None:
    before = len(web.bot.lines)
    for at in (time.time() - 400, time.time() + 400, 0):
        assert web.post("events_api", asking(web, channel), at=at).status_code == 401
    refused(web, channel, "stale", before)


def test_replay(web: Space, channel: str) -> None:
    body, kind = body_of("events_api", asking(web, channel))
    url = f"http://127.0.0.1:{web.ports[0]}/slack/events"
    headers = signed(body) | {"content-type": kind}
    before = len(web.bot.lines)
    assert httpx.post(url, content=body, headers=headers, trust_env=False).status_code == 200
    assert httpx.post(url, content=body, headers=headers, trust_env=False).status_code == 401
    web.wait(lambda: any("refused: why=replay" in line for line in web.bot.lines[before:]))
    web.wait(lambda: web.slack.by_bot(channel))
    time.sleep(0.3)
    assert len(web.slack.by_bot(channel)) == 1
    assert SECRET_WORDS not in web.bot.log


def test_body_larger_than_slack_sends(web: Space, channel: str) -> None:
    before = len(web.bot.lines)
    body = json.dumps({"type": "event_callback", "padding": SECRET_WORDS * 400_000})
    url = f"http://127.0.0.1:{web.ports[0]}/slack/events"
    with contextlib.suppress(httpx.HTTPError):  # the server may answer, or cut the connection before everything is sent
        answer = httpx.post(url, content=body, headers=signed(body), trust_env=False)
        assert answer.status_code == 413
    refused(web, channel, "too-large", before)


def test_other_paths_and_methods(web: Space) -> None:
    base = f"http://127.0.0.1:{web.ports[0]}"
    assert httpx.get(f"{base}/health", trust_env=False).text == "ok"
    assert httpx.get(f"{base}/slack/events", trust_env=False).status_code == 405
    assert httpx.post(f"{base}/", trust_env=False).status_code == 404
    assert httpx.get(f"{base}/docs", trust_env=False).status_code == 404


def test_url_verification_is_answered(web: Space) -> None:
    answer = web.post("events_api", {"type": "url_verification", "challenge": "c-123", "token": "x"})
    assert answer.status_code == 200
    assert "c-123" in answer.text


def test_unknown_payloads_are_acknowledged_and_left(space: Space, channel: str) -> None:
    space.deliver("events_api", event_body({"type": "team_join", "user": {"id": "U1"}}))
    space.deliver("events_api", event_body({"type": "message", "channel": channel, "ts": "1.1"}))
    message = space.slack.say(channel, BOT_USER, "x")
    space.click(message, {"action_id": "nobody_knows", "value": "?"})
    space.click(message, {"action_id": "guide", "value": "not json"})
    reply = space.wait(lambda: [m for m in space.slack.by_bot(channel) if m is not message])[0]
    assert "I no longer keep" in reply.shown or "no log" in reply.shown


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data",
        "https://evil.test/files-pri/F1/x",
        "file:///etc/passwd",
        "http://user:pw@127.0.0.1/x",
        "https://files.slack.com.evil.test/x",
    ],
)
def test_files_from_elsewhere_are_not_fetched(space: Space, channel: str, url: str) -> None:
    file = space.slack.add_file("train.log", log_of("m")) | {"url_private_download": url, "url_private": url}
    asked = space.write("", channel=channel, files=[file])
    assert "not kept by Slack itself" in space.replies(asked)[0].shown


def test_redirect_to_another_host_is_not_followed(space: Space, channel: str) -> None:
    before = len(space.slack.downloads)
    other = space.slack.base.replace("127.0.0.1", "localhost") + "/elsewhere"
    asked = space.write("", channel=channel, files=[space.slack.add_file("train.log", log_of("m"), redirect=other)])
    assert "not kept by Slack itself" in space.replies(asked)[0].shown
    assert not any(one.startswith("elsewhere") for one in space.slack.downloads[before:])


def test_file_that_lies_about_its_size(space: Space, channel: str) -> None:
    file = space.slack.add_file("train.log", b"step:1 - a:1\n" * 100_000) | {"size": 10}
    asked = space.write("", channel=channel, files=[file])
    assert "I take up to 1.0 MB" in space.replies(asked)[0].shown


def test_sign_in_page_instead_of_the_file(space: Space, channel: str) -> None:
    file = space.slack.add_file("train.log", log_of("m"))
    space.slack.uploads[file["id"]]["file"]["html"] = True
    asked = space.write("", channel=channel, files=[file])
    assert "files:read" in space.replies(asked)[0].shown


@pytest.mark.parametrize("name", ["../../../etc/passwd", "..", "/", "a\x00b\u202egnp.exe", "x" * 600 + ".log", "$(touch /tmp/x).log", ""])
def test_hostile_file_names(space: Space, channel: str, name: str) -> None:
    asked = space.write("", channel=channel, files=[space.slack.add_file(name, log_of("l"))])
    look = space.replies(asked)[0]
    assert "The reward function failed" in look.shown
    assert "\u202e" not in look.shown
