"""A local HTTP server that speaks Chat Completions, well or badly: what it does next is scripted."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Act:
    """One reply. ``status`` other than 200 sends ``error``; ``break_after`` closes the connection after so many chunks; ``delay``
    waits before the first byte, ``pace`` between chunks (seconds); ``tools`` are calls ``(name, arguments)`` instead of words."""

    text: str = ""
    status: int = 200
    error: Any = None
    reasoning: str = ""
    tools: Sequence[tuple[str, dict[str, Any]]] = ()
    finish: str | None = "stop"
    delay: float = 0.0
    pace: float = 0.0
    break_after: int | None = None
    usage: bool = True
    raw: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    chunk: int = 12


Script = Sequence[Act | Callable[[dict[str, Any]], Act]]


class ChatServer:
    """``requests`` are the bodies received, ``finished`` counts the replies that were sent to their end; ``script`` is played in
    order, the last act again and again."""

    def __init__(self, script: Script, models: Sequence[str] = ("test-model",), window: int | None = None, key: str = "") -> None:
        self.script = list(script)
        self.models, self.window, self.key = models, window, key
        self.requests: list[dict[str, Any]] = []
        self.finished = 0
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that hangs up is no fault here
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def next_act(self, request: dict[str, Any]) -> Act:
        with self._lock:
            self.requests.append(request)
            act = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return act if isinstance(act, Act) else act(request)

    @property
    def told(self) -> str:
        """All words of the last request."""
        return "\n".join(str(m.get("content", "")) for m in self.requests[-1]["messages"])


@contextmanager
def serving(*script: Act | Callable[[dict[str, Any]], Act], **options: Any) -> Iterator[ChatServer]:
    server = ChatServer(script, **options)
    server._thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server._server.shutdown()
        server._server.server_close()
        server._thread.join(2)


def _handler(server: ChatServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            rows = [
                {"id": name, "object": "model", **({"max_model_len": server.window} if server.window else {})} for name in server.models
            ]
            self._json(200, {"object": "list", "data": rows}) if self._allowed() else self._json(401, {"error": {"message": "bad key"}})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if not self._allowed():
                self._json(401, {"error": {"message": "Incorrect API key provided"}})
                return
            if body.get("model") not in server.models:
                self._json(404, {"error": {"message": f"The model {body.get('model')} does not exist"}})
                return
            act = server.next_act(body)
            if act.delay:
                server.closing.wait(act.delay)
            try:
                if act.raw is not None:
                    self.send_response(act.status)
                    self.send_header("content-length", str(len(act.raw)))
                    self.end_headers()
                    self.wfile.write(act.raw)
                elif act.status != 200:
                    self._json(
                        act.status, act.error if isinstance(act.error, dict) else {"error": {"message": act.error or "failed"}}, act.headers
                    )
                elif body.get("stream"):
                    self._stream(act, body)
                else:
                    self._whole(act, body)
                server.finished += 1
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _allowed(self) -> bool:
            return not server.key or self.headers.get("authorization") == f"Bearer {server.key}"

        def _json(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            for name, text in (headers or {}).items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(data)

        def _whole(self, act: Act, body: dict[str, Any]) -> None:
            message: dict[str, Any] = {"role": "assistant", "content": act.text}
            if act.tools:
                message["tool_calls"] = [
                    {"id": f"call_{i}", "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
                    for i, (n, a) in enumerate(act.tools)
                ]
            choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if act.tools else act.finish}
            used = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
            self._json(
                200, {"id": "x", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice], "usage": used}
            )

        def _stream(self, act: Act, body: dict[str, Any]) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            identity = f"chat-{len(server.requests)}"

            def send(delta: dict[str, Any], finish: str | None = None, usage: dict[str, int] | None = None) -> None:
                choices = [] if usage and not delta else [{"index": 0, "delta": delta, "finish_reason": finish}]
                row = {"id": identity, "object": "chat.completion.chunk", "created": 1, "model": body["model"], "choices": choices}
                if usage:
                    row["usage"] = usage
                self._chunk(b"data: " + json.dumps(row).encode() + b"\n\n")

            send({"role": "assistant", "content": ""})
            if act.reasoning:
                send({"reasoning_content": act.reasoning})
            for i, (name, arguments) in enumerate(act.tools):
                send(
                    {
                        "tool_calls": [
                            {
                                "index": i,
                                "id": f"call_{i}",
                                "type": "function",
                                "function": {"name": name, "arguments": json.dumps(arguments)},
                            }
                        ]
                    }
                )
            for count, at in enumerate(range(0, len(act.text), act.chunk)):
                if act.break_after is not None and count >= act.break_after:
                    self.wfile.flush()
                    self.connection.shutdown(2)
                    self.close_connection = True
                    return
                send({"content": act.text[at : at + act.chunk]})
                time.sleep(act.pace)
            if act.finish:
                send({}, "tool_calls" if act.tools else act.finish)
            if act.usage and (body.get("stream_options") or {}).get("include_usage"):
                send({}, usage={"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050})
            self._chunk(b"data: [DONE]\n\n")
            self._chunk(b"")

        def _chunk(self, data: bytes) -> None:
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()

    return Handler
