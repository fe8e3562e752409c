"""Posting an answer, each part of it once: also when Slack's reply got lost, or the process died between posting and noting it down.

Every message carries the part's mark in its metadata (files carry it in their name). When it is not certain whether a part was
shown, the thread is read and the mark looked for, before anything is posted again.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.error import URLError

if TYPE_CHECKING:
    from slack_sdk import WebClient
    from slack_sdk.errors import SlackApiError

    from assistant.slack.work import Task

log = logging.getLogger("runwhy.slack")
Block = dict[str, Any]
EVENT = "runwhy_part"
CLOSED = frozenset(
    [
        "channel_not_found", "not_in_channel", "is_archived", "missing_scope", "restricted_action", "thread_not_found",
        "message_not_found", "cannot_reply_to_message", "user_not_in_channel", "ekm_access_denied",
    ]
)  # fmt: skip
"""Slack's errors after which another try is of no use."""
TOKEN = frozenset(["account_inactive", "token_revoked", "token_expired", "invalid_auth", "not_authed"])
"""Slack's errors that are nobody's fault who asked: with another token, the answer can still be given."""
REFUSED_BLOCKS = frozenset(["invalid_blocks", "invalid_blocks_format", "msg_too_long", "msg_blocks_too_long"])
LONGEST_WAIT = 60
TRIES = 3


class Undeliverable(Exception):
    """Slack will not take it; ``error`` is its code."""

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


class Lost(Exception):
    """Another process has taken this job over: nothing more may be shown from here."""


def client_for(token: str, api_url: str, timeout: float) -> WebClient:
    """A client that obeys Retry-After; other failures are for `Delivery`, which knows what may be sent twice."""
    from slack_sdk import WebClient
    from slack_sdk.http_retry import RateLimitErrorRetryHandler
    from slack_sdk.http_retry.request import HttpRequest
    from slack_sdk.http_retry.response import HttpResponse
    from slack_sdk.http_retry.state import RetryState

    class Patient(RateLimitErrorRetryHandler):
        """Waits as long as Slack says, unless that is longer than anybody would."""

        def _can_retry(
            self, *, state: RetryState, request: HttpRequest, response: HttpResponse | None = None, error: Exception | None = None
        ) -> bool:
            if response is None or response.status_code != 429:
                return False
            waits = next((value for name, value in response.headers.items() if name.lower() == "retry-after"), ["1"])
            return float(waits[0]) <= LONGEST_WAIT

    return WebClient(token, base_url=api_url, timeout=int(timeout), retry_handlers=[Patient(max_retry_count=10)], logger=_quiet())


def _quiet() -> logging.Logger:
    """The SDK's own log, without anything that could hold a message: it logs requests below INFO and reply bodies in errors."""
    quiet = logging.getLogger("runwhy.slack.sdk")
    quiet.setLevel(logging.CRITICAL)
    return quiet


def code_of(problem: SlackApiError) -> str:
    response = problem.response
    try:
        return str(response["error"])
    except (KeyError, TypeError, ValueError):
        return f"http_{getattr(response, 'status_code', 'error')}"


def refuses_blocks(problem: Exception) -> bool:
    from slack_sdk.errors import SlackApiError

    return isinstance(problem, SlackApiError) and code_of(problem) in REFUSED_BLOCKS


class Delivery:
    """Posts the parts of one task's answer into its thread."""

    def __init__(self, client: WebClient, task: Task) -> None:
        self.client, self.task = client, task
        self.channel, self.thread = task.job.channel, task.job.thread or task.job.ts
        self.mark = hashlib.sha256(task.job.key.encode()).hexdigest()[:16]
        self._shown: dict[str, str] | None = {} if not task.again else None

    # Parts

    def shown(self, part: str) -> str | None:
        """The ts of the message that shows ``part`` (for a file: of the one that it came in); None when it is not in the thread."""
        if self._shown is None:
            self._shown = self._look()
        return self._shown.get(part)

    def post(self, part: str, blocks: Sequence[Block], text: str) -> str:
        """Post ``part`` unless it is in the thread already; a part that was begun is replaced. Returns its ts."""
        begun = self.shown(part)
        if begun is not None and self.shown(part + "…") is None:
            return begun
        if begun is not None:
            self._shown = {name: ts for name, ts in (self._shown or {}).items() if name != part + "…"}
            return self.update(begun, blocks, text, part)
        return self._send(part, blocks, text)

    def begin(self, part: str, text: str) -> str:
        """A few words that stand where ``part`` will be."""
        if (ts := self.shown(part)) is not None:
            return ts
        ts = self._send(part, (), text, begun=True)
        assert self._shown is not None
        self._shown[part + "…"] = ts
        return ts

    def update(self, ts: str, blocks: Sequence[Block], text: str, part: str = "") -> str:
        more: dict[str, Any] = {"metadata": self.metadata(part)} if part else {}
        self._call(lambda: self.client.chat_update(channel=self.channel, ts=ts, text=text, blocks=list(blocks), parse="none", **more))
        return ts

    def upload(self, stem: str, ending: str, data: bytes, title: str, alt: str = "") -> bool:
        """A file into the thread; images show. Whether it is there: a file that Slack does not take must not cost the words around it."""
        name = f"{stem}-{self.mark}{ending}"
        if self.shown(name) is not None:
            return True
        try:
            self._upload(name, data, title, alt)
        except Undeliverable as problem:
            log.warning("file not delivered: id=%s error=%s", self.task.pending.id, problem.error)
            return False
        return True

    def _upload(self, name: str, data: bytes, title: str, alt: str) -> None:
        self._claimed()
        for attempt in range(TRIES):
            try:
                self.client.files_upload_v2(
                    channel=self.channel, thread_ts=self.thread or None, filename=name, content=data, title=title, alt_txt=alt or None
                )
                break
            except Exception as problem:
                self._after(problem, attempt)
                if self.shown(name) is not None:
                    break
        if self._shown is not None:
            self._shown[name] = ""

    def whisper(self, text: str, blocks: Sequence[Block] = ()) -> None:
        """Words that only the person sees; lost when Slack is."""
        response_url = self.task.job.data.get("response_url")
        if response_url and respond(str(response_url), text, blocks):
            return
        thread = self.thread if self.thread != self.task.job.ts else None
        self._call(
            lambda: self.client.chat_postEphemeral(
                channel=self.channel,
                user=self.task.job.user,
                text=text,
                blocks=list(blocks) or None,
                thread_ts=thread or None,
                parse="none",
            )
        )

    def status(self, text: str) -> None:
        """Slack's own "is doing …" beside the bot's name; where it does not exist, nothing."""
        try:
            self.client.assistant_threads_setStatus(channel_id=self.channel, thread_ts=self.thread, status=text)
        except Exception as problem:
            log.debug("no status: %s", type(problem).__name__)

    # Calls

    def _send(self, part: str, blocks: Sequence[Block], text: str, *, begun: bool = False) -> str:
        self._claimed()
        kept = list(blocks)
        for attempt in range(TRIES):
            try:
                response = self.client.chat_postMessage(
                    channel=self.channel,
                    thread_ts=self.thread or None,
                    text=text,
                    blocks=kept or None,
                    metadata=self.metadata(part, begun=begun),
                    unfurl_links=False,
                    unfurl_media=False,
                    parse="none",
                )
                ts = str(response["ts"])
                break
            except Exception as problem:
                if kept and refuses_blocks(problem):  # a fault of ours: the words come through all the same
                    log.error("blocks refused: id=%s part=%s", self.task.pending.id, part)
                    kept = []
                    continue
                self._after(problem, attempt)
                if (found := self.shown(part)) is not None:
                    ts = found
                    break
        if self._shown is not None:
            self._shown[part] = ts
        if not self.thread:
            self.thread = ts
        return ts

    def _call(self, call: Callable[[], Any]) -> Any:
        """A call that may be made twice."""
        self._claimed()
        for attempt in range(TRIES):
            try:
                return call()
            except Exception as problem:
                self._after(problem, attempt)
        raise Undeliverable("unreachable")

    def _after(self, problem: Exception, attempt: int) -> None:
        """Raise what will not get better; otherwise wait a little, and look again what the thread shows."""
        from slack_sdk.errors import SlackApiError

        if isinstance(problem, SlackApiError):
            code = code_of(problem)
            log.warning("slack said no: id=%s error=%s", self.task.pending.id, code)
            status = getattr(problem.response, "status_code", 200)
            if attempt + 1 == TRIES or not (
                status >= 500 or code in ("internal_error", "fatal_error", "service_unavailable", "request_timeout")
            ):
                raise Undeliverable(code) from None
        elif isinstance(problem, (URLError, OSError, HTTPException)):
            log.warning("slack not reached: id=%s error=%s", self.task.pending.id, type(problem).__name__)
            if attempt + 1 == TRIES:
                raise Undeliverable("unreachable") from None
        else:
            raise problem
        time.sleep(0.5 * 3**attempt)
        self._shown = None

    def _claimed(self) -> None:
        if not self.task.mine():
            raise Lost

    def metadata(self, part: str, *, begun: bool = False) -> dict[str, Any]:
        payload: dict[str, Any] = {"mark": self.mark, "part": part}
        return {"event_type": EVENT, "event_payload": payload | ({"begun": True} if begun else {})}

    def _look(self) -> dict[str, str]:
        """Marks of this job in the thread. Raises nothing: without the right to read it, the answer is shown again."""
        found: dict[str, str] = {}
        if not self.thread:
            return found
        cursor = None
        try:
            while True:
                page = self.client.conversations_replies(
                    channel=self.channel, ts=self.thread, limit=200, include_all_metadata=True, cursor=cursor
                )
                for message in page.get("messages") or ():
                    found |= self._marks(message)
                cursor = (page.get("response_metadata") or {}).get("next_cursor")
                if not cursor:
                    return found
        except Exception as problem:
            log.warning("thread not read: id=%s error=%s", self.task.pending.id, type(problem).__name__)
            return found

    def _marks(self, message: Mapping[str, Any]) -> dict[str, str]:
        ts = str(message.get("ts") or "")
        payload = (message.get("metadata") or {}).get("event_payload") or {}
        found = {str(file.get("name")): ts for file in message.get("files") or () if self.mark in str(file.get("name"))}
        if payload.get("mark") == self.mark:
            part = str(payload.get("part"))
            found[part] = ts
            if payload.get("begun"):
                found[part + "…"] = ts
        return found


def respond(response_url: str, text: str, blocks: Sequence[Block] = ()) -> bool:
    """Answer a command or a button where Slack said to; whether it was taken."""
    from slack_sdk.webhook import WebhookClient

    try:
        client = WebhookClient(response_url, timeout=10, logger=_quiet())
        return bool(
            client.send(text=text, blocks=list(blocks) or None, response_type="ephemeral", replace_original=False).status_code == 200
        )
    except Exception as problem:
        log.warning("response url failed: error=%s", type(problem).__name__)
        return False
