from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest

from assistant.web.guard import OWNER, BodyLimit, Login, SameOrigin, SecurityHeaders
from assistant.web.limits import LOCAL, configured

MULTIPART = (b"content-type", b"multipart/form-data; boundary=x")


class Reader:
    """An application that reads the whole body, then answers; ``patient`` turns any error into its own answer, as FastAPI does."""

    def __init__(self, patient: bool = False) -> None:
        self.patient, self.read = patient, 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        status = 200
        try:
            more = True
            while more:
                message = await receive()
                self.read += len(message["body"])
                more = message["more_body"]
        except Exception:
            if not self.patient:
                raise
            status = 400
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})


def request(app: Any, parts: list[bytes], *headers: tuple[bytes, bytes], path: str = "/", method: str = "GET") -> list[dict[str, Any]]:
    waiting, sent = list(parts), []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app({"type": "http", "method": method, "path": path, "headers": list(headers)}, receive, send))
    return sent


@pytest.mark.parametrize("patient", [False, True])
def test_a_body_that_grows_past_the_limit_is_broken_off(patient: bool) -> None:
    inner = Reader(patient)
    sent = request(BodyLimit(inner, largest=25, largest_upload=100), [b"x" * 10] * 8)
    assert [message.get("status") for message in sent] == [413, None]
    assert inner.read == 20


def test_an_announced_body_is_refused_unread() -> None:
    inner = Reader()
    sent = request(BodyLimit(inner, largest=25, largest_upload=100), [b"x" * 26], (b"content-length", b"26"))
    assert sent[0]["status"] == 413
    assert inner.read == 0


def test_uploads_have_a_limit_of_their_own() -> None:
    app = BodyLimit(Reader(), largest=25, largest_upload=100)
    assert request(app, [b"x" * 50] * 2, MULTIPART)[0]["status"] == 200
    assert request(app, [b"x" * 50] * 3, MULTIPART)[0]["status"] == 413
    assert request(app, [b"x" * 25])[0]["status"] == 200


def test_every_answer_carries_the_policy() -> None:
    headers = dict(request(SecurityHeaders(Reader()), [b""])[0]["headers"])
    assert b"default-src 'self'" in headers[b"content-security-policy"]


class Greeter:
    """Answers with the owner that it was told."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        owner = dict(scope["headers"]).get(OWNER, b"-")
        await send({"type": "http.response.start", "status": 200, "headers": [(b"owner", owner)]})
        await send({"type": "http.response.body", "body": b""})


def basic(user: str, password: str) -> tuple[bytes, bytes]:
    return b"authorization", b"Basic " + base64.b64encode(f"{user}:{password}".encode())


def entered(app: Any, *headers: tuple[bytes, bytes], path: str = "/") -> bytes | int:
    """The owner that the application saw, or the status of being turned away."""
    first = request(app, [b""], *headers, path=path)[0]
    return dict(first["headers"])[b"owner"] if first["status"] == 200 else int(first["status"])


def test_only_who_knows_a_password_comes_in() -> None:
    app = Login(Greeter(), {"ann": "s:ecret", "bob": "other"})
    assert entered(app, basic("ann", "s:ecret")) == b"web:ann"
    for headers in ([], [basic("ann", "other")], [basic("eve", "\0")], [basic("eve", "")], [(b"authorization", b"Basic !!")]):
        assert entered(app, *headers) == 401
    assert entered(app, (OWNER, b"web:ann")) == 401
    assert entered(app, path="/health") == b"-"


def test_a_proxy_can_say_who_it_is() -> None:
    app = Login(Greeter(), {}, "X-Forwarded-User")
    assert entered(app, (b"x-forwarded-user", b"ann")) == b"web:ann"
    assert entered(app, (b"x-forwarded-user", b"ann"), (OWNER, b"web:eve")) == b"web:ann"
    assert entered(app, (b"x-forwarded-user", b"ann"), (b"x-forwarded-user", b"eve")) == 401
    assert entered(app) == 401


def test_without_a_login_nobody_has_a_name() -> None:
    assert entered(Login(Greeter(), {}), (OWNER, b"web:eve")) == b"-"


HOST = (b"host", b"localhost:7860")


def asked(app: Any, *headers: tuple[bytes, bytes], method: str = "POST", path: str = "/gradio_api/queue/join") -> int:
    return int(request(app, [b""], *headers, method=method, path=path)[0]["status"])


@pytest.mark.parametrize(
    ("headers", "method", "status"),
    [
        ([], "POST", 200),  # no browser
        ([(b"origin", b"http://localhost:7860")], "POST", 200),
        ([(b"origin", b"http://localhost:8888")], "POST", 403),
        ([(b"origin", b"https://evil.example")], "POST", 403),
        ([(b"origin", b"https://evil.example")], "OPTIONS", 403),
        ([(b"origin", b"https://evil.example")], "GET", 403),
        ([(b"origin", b"null")], "POST", 403),
        ([(b"sec-fetch-site", b"cross-site")], "POST", 403),
        ([(b"sec-fetch-site", b"same-site"), (b"sec-fetch-mode", b"cors")], "GET", 403),
        ([(b"sec-fetch-site", b"cross-site"), (b"sec-fetch-mode", b"navigate")], "POST", 403),
        ([(b"sec-fetch-site", b"cross-site"), (b"sec-fetch-mode", b"navigate")], "GET", 200),  # a link to the page
        ([(b"sec-fetch-site", b"same-origin"), (b"origin", b"https://runwhy.example")], "POST", 200),  # a proxy changed the host
        ([(b"x-forwarded-host", b"runwhy.example"), (b"origin", b"https://runwhy.example")], "POST", 200),
    ],
)
def test_another_site_cannot_drive_the_page(headers: list[tuple[bytes, bytes]], method: str, status: int) -> None:
    assert asked(SameOrigin(Greeter()), HOST, *headers, method=method) == status


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost:7860", 200), ("127.0.0.1", 200), ("[::1]:7860", 200), ("a.localhost:1", 200), ("LOCALHOST", 200), ("runs.example", 200),
     ("evil.example:7860", 403), ("127.0.0.1.evil.example", 403), ("localhost.evil.example", 403), ("", 403)],
)  # fmt: skip
def test_a_name_that_an_attacker_lets_point_here_is_not_answered(host: str, status: int) -> None:
    app = SameOrigin(Greeter(), configured({"RUNWHY_WEB_HOSTS": "Runs.example"}).hosts)
    assert asked(app, (b"host", host.encode())) == status
    assert asked(app, (b"host", host.encode()), path="/health") == 200


def test_which_names_a_server_answers_to() -> None:
    assert configured({}).hosts == LOCAL
    assert configured({}, public=True).hosts == ()
    assert configured({"RUNWHY_WEB_AUTH": "ann:secret"}).hosts == ()
    assert configured({"RUNWHY_WEB_HOSTS": "a.example, B.example"}, public=True).hosts == (*LOCAL, "a.example", "b.example")


def test_a_websocket_of_another_site_is_closed() -> None:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": "/", "headers": [HOST, (b"origin", b"https://evil.example")]}
    asyncio.run(SameOrigin(Greeter())(scope, None, send))  # type: ignore[arg-type]
    assert [message["type"] for message in sent] == ["websocket.close"]
