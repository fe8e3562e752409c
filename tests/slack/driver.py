"""A workspace to test with: sends what Slack sends, over HTTP (signed) or over the socket, and waits for what the bot does."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

import httpx
from slack_sdk.signature import SignatureVerifier

from tests.slack.server import APP_ID, APP_TOKEN, BOT_TOKEN, BOT_USER, SECRET, TEAM, Message, SlackServer

Mode = Literal["socket", "http"]
PATIENCE = 3.0
"""Seconds after which Slack sends again what was not acknowledged."""


def environment(slack: SlackServer, data: Path, **more: str) -> dict[str, str]:
    """The environment of a bot of its own."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("RUNWHY_", "SLACK_", "OPENAI_", "DEEPSEEK_"))}
    own = {
        "SLACK_BOT_TOKEN": BOT_TOKEN,
        "SLACK_APP_TOKEN": APP_TOKEN,
        "SLACK_SIGNING_SECRET": SECRET,
        "RUNWHY_SLACK_API": slack.url,
        "RUNWHY_SLACK_FILE_HOSTS": f"127.0.0.1:{slack.port}",
        "RUNWHY_DATA": str(data),
        "RUNWHY_CONFIG": str(data / "none.toml"),
        "RUNWHY_SLACK_LEASE": "2",
        "NO_PROXY": "127.0.0.1,localhost",
        "LANG": "C.UTF-8",
    }
    return {**clean, **own, **more}


class BotProcess:
    """A real ``runwhy slack``. Its log is in ``log``; over HTTP it listens at ``port``."""

    def __init__(self, mode: Mode, env: Mapping[str, str]) -> None:
        self.mode, self.port = mode, 0
        command = [sys.executable, "-c", "from assistant.cli import main; main()", "slack", f"--{mode}"]
        command += ["--port", "0"] if mode == "http" else []
        self.process = subprocess.Popen(command, env=dict(env), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines: list[str] = []
        self.started = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self.started.wait(90):
            self.stop()
            raise AssertionError(f"the bot did not start: {self.log}")

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if "runwhy is in" in line:
                if found := re.search(r"http://127\.0\.0\.1:(\d+)/", line):
                    self.port = int(found[1])
                self.started.set()

    @property
    def log(self) -> str:
        return "\n".join(self.lines)

    def kill(self) -> None:
        self.process.kill()
        self._end()

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(25)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self._end()
        return int(self.process.returncode)

    def _end(self) -> None:
        self.process.wait(10)
        self._reader.join(5)
        assert self.process.stdout is not None
        self.process.stdout.close()


class Workspace:
    """People who write and click. ``bots`` are the ports of the HTTP bots; none: everything goes over the socket."""

    def __init__(self, slack: SlackServer, ports: list[int] | None = None) -> None:
        self.slack, self.ports = slack, ports or []
        self._turn = 0
        self._http = httpx.Client(timeout=30, trust_env=False, limits=httpx.Limits(max_connections=64))

    def close(self) -> None:
        self._http.close()

    __del__ = close

    # Sending

    def deliver(self, kind: str, payload: dict[str, Any], *, retry: int = 0) -> float:
        """Seconds until the bot acknowledged. As Slack does, what is not within three seconds is sent again, three times at most.

        Raises AssertionError when the bot did not acknowledge at all, or said no.
        """
        started = time.monotonic()
        for again in range(retry, retry + 4):
            if self._delivered(kind, payload, again):
                return time.monotonic() - started
        raise AssertionError("no acknowledgement")

    def _delivered(self, kind: str, payload: dict[str, Any], retry: int) -> bool:
        if self.ports:
            try:
                answer = self.post(kind, payload, retry=retry, seconds=PATIENCE)
            except httpx.TimeoutException:
                return False
            assert answer.status_code == 200, answer.status_code
            return True
        envelope = uuid.uuid4().hex
        frame = {"envelope_id": envelope, "type": kind, "payload": payload, "accepts_response_payload": kind != "events_api"}
        if retry:
            frame |= {"retry_attempt": retry, "retry_reason": "timeout"}
        assert self.slack.connected.wait(30)
        self.slack.send_frame(frame, to=self._turn)
        self._turn += 1
        return self.slack.acked(envelope, PATIENCE)

    def post(
        self,
        kind: str,
        payload: dict[str, Any],
        *,
        retry: int = 0,
        at: float | None = None,
        secret: str = SECRET,
        seconds: float = 30,
    ) -> httpx.Response:
        body, content_type = body_of(kind, payload)
        if at is None and retry:
            at = time.time() + 20 * retry  # Slack signs each attempt anew, some seconds later
        headers = signed(body, at=at, secret=secret) | {"content-type": content_type}
        if retry:
            headers |= {"x-slack-retry-num": str(retry), "x-slack-retry-reason": "http_timeout"}
        port = self.ports[self._turn % len(self.ports)]
        self._turn += 1
        return self._http.post(f"http://127.0.0.1:{port}/slack/events", content=body, headers=headers, timeout=seconds)

    def event(self, event: dict[str, Any], *, event_id: str = "", retry: int = 0) -> float:
        return self.deliver("events_api", event_body(event, event_id), retry=retry)

    def write(
        self, text: str, *, channel: str = "C1", user: str = "U1", thread: str = "", files: Any = (), mention: bool = True
    ) -> Message:
        """A person writes; the events that Slack makes of it are delivered. Returns the person's message."""
        said = f"<@{BOT_USER}> {escaped(text)}" if mention and not channel.startswith("D") else escaped(text)
        message = self.slack.say(channel, user, said, thread, files=list(files))
        self.event(message_event(message, mention=mention and not channel.startswith("D")))
        return message

    def click(self, message: Message, wanted: str | dict[str, Any], *, user: str = "U1") -> None:
        """A person uses the button of this label (or this element)."""
        element = wanted if isinstance(wanted, dict) else next(e for e in message.buttons() if wanted in e["text"]["text"])
        self.deliver("interactive", self.click_payload(message, element, user=user))

    def click_payload(self, message: Message, element: dict[str, Any], *, user: str = "U1") -> dict[str, Any]:
        action = {"type": "button", "action_id": element["action_id"], "value": element.get("value", ""), "action_ts": f"{time.time():.6f}"}
        container = {"type": "message", "message_ts": message.ts, "channel_id": message.channel, "thread_ts": message.thread_ts}
        return {
            "type": "block_actions", "user": {"id": user, "team_id": TEAM}, "team": {"id": TEAM}, "api_app_id": APP_ID,
            "trigger_id": uuid.uuid4().hex, "container": container, "channel": {"id": message.channel},
            "message": message.to_json(), "response_url": f"{self.slack.base}/hook/button", "actions": [action],
        }  # fmt: skip

    def command(self, text: str, *, channel: str = "C1", user: str = "U1") -> str:
        trigger = uuid.uuid4().hex
        payload = {
            "command": "/runwhy", "text": text, "team_id": TEAM, "channel_id": channel, "user_id": user, "trigger_id": trigger,
            "response_url": f"{self.slack.base}/hook/command", "api_app_id": APP_ID,
        }  # fmt: skip
        self.deliver("slash_commands", payload)
        return trigger

    def shortcut(self, message: Message, *, user: str = "U1") -> None:
        payload = {
            "type": "message_action", "callback_id": "diagnose", "trigger_id": uuid.uuid4().hex, "team": {"id": TEAM},
            "user": {"id": user}, "channel": {"id": message.channel}, "message": message.to_json(), "message_ts": message.ts,
            "response_url": f"{self.slack.base}/hook/shortcut", "api_app_id": APP_ID,
        }  # fmt: skip
        self.deliver("interactive", payload)

    def submit(self, view: dict[str, Any], values: dict[str, Any], *, user: str = "U1") -> None:
        state = {"values": {f"b{n}": {name: value} for n, (name, value) in enumerate(values.items())}}
        payload = {
            "type": "view_submission", "team": {"id": TEAM}, "user": {"id": user}, "api_app_id": APP_ID, "trigger_id": "t",
            "view": {**view, "id": uuid.uuid4().hex, "hash": "1", "state": state},
        }  # fmt: skip
        self.deliver("interactive", payload)

    # Waiting

    def wait(self, found: Callable[[], Any], seconds: float = 60.0) -> Any:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if result := found():
                return result
            time.sleep(0.02)
        told = "\n---\n".join(message.shown for message in self.slack.by_bot())
        raise AssertionError(f"nothing came; the bot said:\n{told}\n{self.slack.refusals}")

    def replies(self, to: Message, n: int = 1, seconds: float = 60.0) -> list[Message]:
        """The bot's messages in the thread of ``to``, pictures and files left out, at least ``n`` of them."""
        thread = to.thread_ts or to.ts

        def found() -> list[Message]:
            rows = [m for m in self.slack.by_bot(to.channel, thread) if not m.files and not m.streaming]
            return rows if len(rows) >= n else []

        return list(self.wait(found, seconds))


def escaped(text: str) -> str:
    """As Slack's clients send what a person typed: escaped, addresses made into links."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"\bhttps?://[^\s`&]+", lambda found: f"<{found[0]}>", text)


def message_event(message: Message, *, mention: bool = False) -> dict[str, Any]:
    kind = "im" if message.channel.startswith("D") else "channel"
    found: dict[str, Any] = {
        "type": "app_mention" if mention else "message", "user": message.user, "ts": message.ts, "text": message.text,
        "channel": message.channel, "team": TEAM, "event_ts": message.ts,
    }  # fmt: skip
    found |= {} if mention else {"channel_type": kind}
    found |= {"thread_ts": message.thread_ts} if message.thread_ts else {}
    found |= {"files": message.files, **({} if mention else {"subtype": "file_share"})} if message.files else {}
    return found


def event_body(event: dict[str, Any], event_id: str = "") -> dict[str, Any]:
    return {
        "token": "unused", "team_id": TEAM, "api_app_id": APP_ID, "event": event, "type": "event_callback",
        "event_id": event_id or f"Ev{uuid.uuid4().hex[:10]}", "event_time": int(time.time()),
        "authorizations": [{"team_id": TEAM, "user_id": BOT_USER, "is_bot": True}],
    }  # fmt: skip


def body_of(kind: str, payload: dict[str, Any]) -> tuple[str, str]:
    form = "application/x-www-form-urlencoded"
    if kind == "events_api":
        return json.dumps(payload), "application/json"
    return (urlencode(payload), form) if kind == "slash_commands" else (urlencode({"payload": json.dumps(payload)}), form)


def signed(body: str, *, at: float | None = None, secret: str = SECRET) -> dict[str, str]:
    stamp = str(int(time.time() if at is None else at))
    signature = SignatureVerifier(secret).generate_signature(timestamp=stamp, body=body)
    return {"x-slack-request-timestamp": stamp, "x-slack-signature": str(signature)}


@contextmanager
def bot(mode: Mode, env: Mapping[str, str]) -> Iterator[BotProcess]:
    process = BotProcess(mode, env)
    try:
        yield process
    finally:
        if process.process.poll() is None:
            process.stop()
