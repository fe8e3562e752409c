"""Slack's deliveries → the session store → acknowledged. One set of listeners for the socket and for HTTP.

A job is noted down before Slack is told that it arrived: whatever dies later, it is done. Nothing else happens before the
acknowledgement, so that it is quick whatever the load.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from assistant.slack import events
from assistant.slack.context import TALK
from assistant.slack.jobs import Job
from assistant.slack.settings import Settings
from assistant.slack.work import Pool

if TYPE_CHECKING:
    from slack_bolt import Ack, App
    from slack_bolt.authorization import AuthorizeResult
    from slack_sdk import WebClient

    from assistant.sessions import SessionStore

log = logging.getLogger("runwhy.slack")
KEPT_HOURS = 72.0
"""How long a delivery is recognised as a repetition."""
PATIENCE = 60.0
"""Seconds in which a reply in a thread that is not ours may become ours (Slack brings the message before it later)."""
MOST_WAITING = 500
_ANY = re.compile(".*")


class Intake:
    """Takes jobs in: each once, into the store, then to the pool."""

    def __init__(self, store: SessionStore, pool: Pool) -> None:
        self.store, self.pool = store, pool
        self._maybe: OrderedDict[str, tuple[float, Job]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, job: Job | None) -> bool:
        """Whether the job was new. Raises what the store raises: then Slack must send it again."""
        if job is None:
            return False
        self.pool.hold()
        owner = "" if job.kind == "button" else job.owner  # a button's job must outlive "forget everything"
        pending = self.store.ask("", "", key=job.key, owner=owner, data={"slack": job.to_json()}, hours=KEPT_HOURS, lane=job.queue)
        if pending is None:
            log.info("again: kind=%s team=%s channel=%s", job.kind, job.team, job.channel)
            return False
        self.pool.submit(pending)
        return True

    def ours(self, lane: str) -> bool:
        """Whether a thread is about a log, or will be: one is being read, by whatever process, or the bot asked for one."""
        return self.store.bound(lane) is not None or self.store.ahead(lane) or self.store.known(TALK + lane)

    def maybe(self, job: Job) -> None:
        """A reply in a thread that is not (yet) ours: kept in memory for a moment."""
        with self._lock:
            self._maybe[job.key] = (time.monotonic(), job)
            while len(self._maybe) > MOST_WAITING:
                self._maybe.popitem(last=False)

    def look_again(self) -> None:
        """Take in what has become ours since; drop what is too old."""
        with self._lock:
            rows = list(self._maybe.items())
        for key, (since, job) in rows:
            if time.monotonic() - since > PATIENCE or self.ours(job.lane):
                with self._lock:
                    self._maybe.pop(key, None)
                if time.monotonic() - since <= PATIENCE:
                    self.take(job)


def build(settings: Settings, intake: Intake, identify: Callable[[str], AuthorizeResult]) -> App:
    """The Bolt application. Its listeners run before the acknowledgement and only take in. ``identify``: workspace → who the bot is."""
    from slack_bolt import App

    def authorize(team_id: str | None) -> AuthorizeResult:  # Bolt looks at the names of the arguments
        return identify(team_id or "")

    app = App(
        name="runwhy",
        authorize=authorize,
        signing_secret=settings.signing_secret or "not used over a socket",
        process_before_response=True,
        raise_error_for_unhandled_request=True,
        attaching_conversation_kwargs_enabled=False,
        logger=_quiet("runwhy.slack.bolt"),
    )

    def event(body: dict[str, Any], context: dict[str, Any]) -> None:
        job = events.event_job(body, str(context.get("bot_user_id") or ""), lambda lane: True)
        if job is None:
            return
        if job.kind == "message" and not (job.direct or job.mentioned) and not intake.ours(job.lane):
            intake.maybe(job)
            return
        intake.take(job)

    def command(body: dict[str, Any], ack: Ack) -> None:
        intake.take(events.command_job(body))
        ack()

    def shortcut(body: dict[str, Any], ack: Ack, context: dict[str, Any]) -> None:
        intake.take(events.shortcut_job(body, str(context.get("bot_user_id") or "")))
        ack()

    def action(body: dict[str, Any], ack: Ack) -> None:
        intake.take(events.button_job(body))
        ack()

    def view(body: dict[str, Any], ack: Ack) -> None:
        intake.take(events.modal_job(body))
        ack()

    for name in ("app_mention", "message", "app_home_opened", "assistant_thread_started", "assistant_thread_context_changed"):
        app.event(name)(event)
    app.command("/runwhy")(command)
    app.shortcut("diagnose")(shortcut)
    app.action({"type": "block_actions", "action_id": _ANY})(action)
    app.view(_ANY)(view)

    @app.error
    def failed(error: Exception, body: dict[str, Any]) -> Any:
        return _failed(error, body)

    return app


def _failed(error: Exception, body: dict[str, Any]) -> Any:
    """What has no listener is none of our business (200: Slack need not repeat it); a failing store is (500: it must)."""
    from slack_bolt import BoltResponse
    from slack_bolt.error import BoltUnhandledRequestError

    kind = str((body.get("event") or {}).get("type") or body.get("type") or body.get("command") or "?")[:40]
    if isinstance(error, BoltUnhandledRequestError):
        log.info("not for us: type=%s", kind)
        return BoltResponse(status=200, body="")
    log.error("not taken in: type=%s event=%s error=%s", kind, str(body.get("event_id") or "")[:40], type(error).__name__)
    return BoltResponse(status=500, body="")


def _quiet(name: str) -> logging.Logger:
    """Bolt's own log: it writes bodies of requests into warnings, so only what is fatal passes."""
    quiet = logging.getLogger(name)
    quiet.setLevel(logging.CRITICAL)
    return quiet


class Clients:
    """One client a workspace, with its bot's ids, looked up at the first use. Safe for use from several threads."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._clients: dict[str, WebClient] = {}
        self._known: dict[str, AuthorizeResult] = {}
        self._lock = threading.Lock()

    def token(self, team: str) -> str:
        return self.settings.team(team).bot_token or self.settings.bot_token

    def of(self, team: str) -> WebClient:
        from assistant.slack.delivery import client_for

        token = self.token(team)
        with self._lock:
            if token not in self._clients:
                self._clients[token] = client_for(token, self.settings.api_url, self.settings.timeout)
            return self._clients[token]

    def first(self) -> AuthorizeResult:
        """Who the bot is in the workspace of its own token, or in the first one that has a token."""
        teams = [name for name, team in self.settings.teams.items() if team.bot_token]
        return self.identity("" if self.settings.bot_token or not teams else teams[0])

    def identity(self, team: str = "") -> AuthorizeResult:
        """Who the bot is in a workspace. Raises SlackApiError for a token that Slack refuses."""
        from slack_bolt.authorization import AuthorizeResult

        token = self.token(team)
        with self._lock:
            if token in self._known:
                return self._known[token]
        answer = self.of(team).auth_test()
        found = AuthorizeResult.from_auth_test_response(bot_token=token, auth_test_response=answer)
        with self._lock:
            self._known[token] = found
        return found
