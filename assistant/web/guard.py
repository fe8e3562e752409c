"""ASGI middleware: nothing from elsewhere is loaded by the page, no request is larger than allowed, and who is not known stays out."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping
from typing import Any

from starlette.requests import ClientDisconnect

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
    (b"cross-origin-resource-policy", b"same-origin"),
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


class SameOrigin:
    """Turns away what the page of another site makes a visitor's browser send, and requests to a name that is not this server's.

    ``hosts`` are the names it answers to (without port; "" or none: any). A site whose name an attacker lets point here (DNS rebinding)
    is of the same origin for the browser: where neither a login nor a proxy stands in front, only the name tells it from us.
    """

    def __init__(self, app: App, hosts: Collection[str] = ()) -> None:
        self.app, self.hosts = app, frozenset(host.lower() for host in hosts if host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and scope.get("path") not in OPEN_PATHS:
            headers = {name.lower(): value.decode("latin-1").strip().lower() for name, value in scope.get("headers") or []}
            if self.hosts and not self._known(headers.get(b"host", "")):
                return await _turn_away(
                    scope, send, b"This server has another name. Open it as http://localhost, or set RUNWHY_WEB_HOSTS.\n"
                )
            if _foreign(str(scope.get("method", "GET")), headers):
                return await _turn_away(scope, send, b"Only the server's own page may ask this.\n")
        await self.app(scope, receive, send)

    def _known(self, host: str) -> bool:
        name = _name_of(host)
        return name in self.hosts or ("localhost" in self.hosts and name.endswith(".localhost"))


def _name_of(host: str) -> str:
    """``[::1]:7860`` → ``::1``."""
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0].rstrip(".")


def _foreign(method: str, headers: Mapping[bytes, str]) -> bool:
    """Whether a page of elsewhere is behind the request. A link that leads here is none of those; a form that is sent here is.

    Browsers say where a request comes from (``Sec-Fetch-Site``, which no script can change), over plain HTTP only the page's address.
    """
    site = headers.get(b"sec-fetch-site", "")
    if site in ("same-origin", "none"):
        return False
    if site:
        return not (method in ("GET", "HEAD") and headers.get(b"sec-fetch-mode") == "navigate")
    origin = headers.get(b"origin")
    if origin is None:
        return False
    scheme, _, address = origin.partition("://")
    port = {"http": ":80", "https": ":443"}.get(scheme, "")
    own = [value for name in (b"host", b"x-forwarded-host") if (value := headers.get(name))]
    return address not in own and address + port not in own


async def _turn_away(scope: Scope, send: Send, words: bytes) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 4403})
        return
    await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain; charset=utf-8")]})
    await send({"type": "http.response.body", "body": words})


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
        except ClientDisconnect:
            return  # the visitor has left, or stopped an upload: nobody waits, and nothing is broken


async def _refuse(send: Send) -> None:
    await send({"type": "http.response.start", "status": 413, "headers": [(b"content-type", b"text/plain; charset=utf-8")]})
    await send({"type": "http.response.body", "body": b"Too large for this server.\n"})


OWNER = b"x-runwhy-owner"
"""The header in which the application finds who is asking; one that comes from outside is dropped."""


def owner_of(request: Any) -> str:
    """The user behind a request (Starlette's or Gradio's), "" for somebody unknown."""
    return str(request.headers.get(OWNER.decode(), ""))


OPEN_PATHS = frozenset({"/health"})


class Login:
    """Lets in who knows a user's password (HTTP Basic), or whom a proxy names in ``user_header``; without either, everybody.

    The application finds the user in the header `OWNER` (``web:<name>``; absent for everybody).
    """

    def __init__(self, app: App, logins: Mapping[str, str], user_header: str = "") -> None:
        self.app, self.logins, self.user_header = app, dict(logins), user_header.lower().encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        given = list(scope.get("headers") or [])
        headers = [(name, value) for name, value in given if name.lower() != OWNER]
        user = self._user(given)
        if user is None and (self.logins or self.user_header) and scope.get("path") not in OPEN_PATHS:
            await self._turn_away(scope, send)
            return
        if user:
            headers.append((OWNER, b"web:" + user.encode("utf-8", "replace")))
        await self.app({**scope, "headers": headers}, receive, send)

    def _user(self, headers: list[tuple[bytes, bytes]]) -> str | None:
        if self.user_header:
            named = [value.decode("utf-8", "replace").strip() for name, value in headers if name.lower() == self.user_header]
            return named[0] if len(named) == 1 and named[0] else None
        if not self.logins:
            return None
        value = next((value for name, value in headers if name.lower() == b"authorization"), b"")
        kind, _, code = value.partition(b" ")
        if kind.lower() != b"basic":
            return None
        try:
            user, _, password = base64.b64decode(code, validate=True).decode("utf-8").partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
        wanted = self.logins.get(user)
        same = hmac.compare_digest((wanted or "\0").encode(), password.encode())
        return user if same and wanted is not None else None

    async def _turn_away(self, scope: Scope, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 4401})
            return
        asks = [] if self.user_header else [(b"www-authenticate", b'Basic realm="runwhy", charset="UTF-8"')]
        await send({"type": "http.response.start", "status": 401, "headers": [(b"content-type", b"text/plain; charset=utf-8"), *asks]})
        await send({"type": "http.response.body", "body": b"Please log in.\n"})
