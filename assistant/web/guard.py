"""ASGI middleware: nothing from elsewhere is loaded by the page, and no request is larger than allowed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# Gradio's page has inline scripts and builds its event handlers from text.
POLICY = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'self'",
    ]
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
]


class SecurityHeaders:
    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *HEADERS]
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


class TooLarge(Exception):
    pass


class BodyLimit:
    """Answers 413 to a request whose body is larger than allowed, whether or not it announces its length.

    ``largest`` is in bytes; file uploads (multipart) may have ``largest_upload``.
    """

    def __init__(self, app: App, largest: int, largest_upload: int) -> None:
        self.app, self.largest, self.largest_upload = app, largest, largest_upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope.get("headers") or [])
        multipart = headers.get(b"content-type", b"").startswith(b"multipart/form-data")
        allowed = self.largest_upload if multipart else self.largest
        announced = headers.get(b"content-length", b"")
        if announced.isdigit() and int(announced) > allowed:
            await _refuse(send)
            return
        taken, started, refused = 0, False, False

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > allowed:
                raise TooLarge
            return message

        async def noted(message: Message) -> None:
            """What the application makes of the broken-off body (often 400) is replaced by our answer."""
            nonlocal started, refused
            if taken > allowed and not started:
                refused, started = True, True
                await _refuse(send)
            elif not refused:
                started = True
                await send(message)

        try:
            await self.app(scope, counted, noted)
        except TooLarge:
            if not started:
                await _refuse(send)


async def _refuse(send: Send) -> None:
    await send({"type": "http.response.start", "status": 413, "headers": [(b"content-type", b"text/plain; charset=utf-8")]})
    await send({"type": "http.response.body", "body": b"Too large for this server.\n"})
