"""The HTTP side: Slack's signed requests, checked before anything of them is read or written into a log.

Refused are: a wrong or missing signature, a timestamp more than five minutes off, a request that was taken before (a replay), a
body larger than Slack sends. What is refused is logged without a word of it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slack_bolt import App

log = logging.getLogger("runwhy.slack")
PATH = "/slack/events"
MOST_BODY = 4 << 20
BODY_SECONDS = 10.0
STALE = 300

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Replays:
    """Signatures of requests that were taken, as long as their timestamp is good."""

    def __init__(self, most: int = 50_000) -> None:
        self.most = most
        self._seen: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, signature: str) -> bool:
        with self._lock:
            return signature in self._seen

    def add(self, signature: str) -> None:
        now = time.monotonic()
        with self._lock:
            self._seen[signature] = now
            while self._seen and (len(self._seen) > self.most or next(iter(self._seen.values())) < now - 2 * STALE):
                self._seen.popitem(last=False)


class SlackHttp:
    """An ASGI application: ``POST /slack/events`` is Bolt's, ``GET /health`` says that it lives."""

    def __init__(self, app: App, secret: str) -> None:
        from slack_sdk.signature import SignatureVerifier

        self.app, self._verifier, self._replays = app, SignatureVerifier(secret), Replays()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["method"] == "GET" and scope["path"] == "/health":
            return await _answer(send, 200, b"ok")
        if scope["path"] != PATH:
            return await _answer(send, 404, b"")
        if scope["method"] != "POST":
            return await _answer(send, 405, b"")
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        status, body = await _body(receive, headers)
        if status != 200:
            log.warning("refused: why=%s", "too-large" if status == 413 else "slow")
            return await _answer(send, status, b"")
        if why := self._refusal(body, headers):
            log.warning("refused: why=%s retry=%s", why, headers.get("x-slack-retry-num", "0")[:4])
            return await _answer(send, 401, b"")
        await self._dispatch(body, headers, send)

    def _refusal(self, body: bytes, headers: dict[str, str]) -> str:
        """Why the request is not Slack's; "" when it is."""
        signature, stamp = headers.get("x-slack-signature", ""), headers.get("x-slack-request-timestamp", "")
        if not (stamp.isascii() and stamp.isdigit() and len(stamp) < 13) or abs(time.time() - int(stamp)) > STALE:
            return "stale"
        try:
            signed = self._verifier.is_valid(body, stamp, signature)
        except (TypeError, ValueError):
            signed = False
        if not signed:
            return "signature"
        return "replay" if self._replays.known(signature) else ""

    async def _dispatch(self, body: bytes, headers: dict[str, str], send: Send) -> None:
        import asyncio

        from slack_bolt import BoltRequest

        request = BoltRequest(body=body.decode("utf-8", "replace"), headers=dict(headers))
        response = await asyncio.to_thread(self.app.dispatch, request)
        if response.status < 400:
            self._replays.add(headers["x-slack-signature"])
        kind = response.first_headers_without_set_cookie().get("content-type", "text/plain;charset=utf-8")
        await _answer(send, response.status, response.body.encode(), kind)


async def _body(receive: Receive, headers: dict[str, str]) -> tuple[int, bytes]:
    """The body with 200, or what to answer instead: 413 for too large, 408 for too slow."""
    import asyncio

    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length) > MOST_BODY:
        return 413, b""
    found = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return 408, b""
                found += message.get("body", b"")
                if len(found) > MOST_BODY:
                    return 413, b""
                if not message.get("more_body"):
                    return 200, bytes(found)
    except TimeoutError:
        return 408, b""


async def _answer(send: Send, status: int, body: bytes, kind: str = "text/plain;charset=utf-8") -> None:
    headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
