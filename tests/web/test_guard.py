from __future__ import annotations

import asyncio
from typing import Any

import pytest

from assistant.web.guard import BodyLimit, SecurityHeaders

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


def request(app: Any, parts: list[bytes], *headers: tuple[bytes, bytes]) -> list[dict[str, Any]]:
    waiting, sent = list(parts), []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app({"type": "http", "headers": list(headers)}, receive, send))
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
