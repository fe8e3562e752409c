from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import numpy as np
import pytest

from assistant.retrieval.embedding import BATCH, BuiltIn, EmbeddingError, Service, configured


class OpenAILike(BaseHTTPRequestHandler):
    """Answers as an embeddings service does, in the wrong order; ``broken`` says how it fails."""

    broken = ""
    asked: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append({"path": self.path, "key": self.headers.get("Authorization"), **body})
        rows = [{"index": i, "embedding": [float(len(text)), 1.0, 0.0]} for i, text in enumerate(body["input"])]
        if self.broken == "short":
            rows = rows[:-1]
        if self.broken == "nan":
            rows[0]["embedding"][0] = float("nan")
        data = b"<html>" if self.broken == "html" else json.dumps({"data": rows[::-1]}).encode()
        self.send_response(500 if self.broken == "500" else 200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def service() -> Iterator[Service]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), OpenAILike)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    OpenAILike.broken, OpenAILike.asked = "", []
    yield Service(f"http://127.0.0.1:{server.server_port}/v1/", "some-model", "secret")
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_service_is_asked_in_batches_and_its_order_restored(service: Service) -> None:
    texts = ["x" * (i + 1) for i in range(BATCH + 3)]
    vectors = service.embed(texts)
    assert vectors.shape == (BATCH + 3, 3)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0)
    assert (np.diff(vectors[:, 0]) > 0).all()
    assert [len(request["input"]) for request in OpenAILike.asked] == [BATCH, 3]
    first = OpenAILike.asked[0]
    assert (first["path"], first["key"], first["model"]) == ("/v1/embeddings", "Bearer secret", "some-model")
    assert "secret" not in repr(service)


@pytest.mark.parametrize("broken", ["500", "html", "short", "nan"])
def test_a_failing_service_is_one_clear_error(service: Service, broken: str) -> None:
    OpenAILike.broken = broken
    with pytest.raises(EmbeddingError, match=r"/v1/embeddings: "):
        service.embed(["one", "two"])


def test_a_service_that_is_not_there() -> None:
    with pytest.raises(EmbeddingError, match="refused"):
        Service("http://127.0.0.1:9", "m").embed(["x"])


def test_the_environment_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUNWHY_EMBEDDINGS_URL", raising=False)
    assert isinstance(configured(), BuiltIn)
    monkeypatch.setenv("RUNWHY_EMBEDDINGS_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("RUNWHY_EMBEDDINGS_MODEL", "m")
    chosen = configured()
    assert isinstance(chosen, Service)
    assert chosen.id != Service("http://127.0.0.1:2/v1", "m").id


def test_the_built_in_encoder_knows_both_languages() -> None:
    english, chinese, other = BuiltIn().embed(["the reward suddenly drops", "奖励突然下降", "the disk is full"])
    assert english @ chinese > english @ other + 0.2
