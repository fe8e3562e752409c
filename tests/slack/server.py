"""A Slack that runs here: its Web API, files, Socket Mode and signed deliveries, over real sockets.

It holds what was posted, refuses what Slack refuses (`rules`), and fails on command: ``limit`` (429), ``fail`` (an error), ``hang``
(503 after a while), ``slow`` (does the call late), ``after`` (does it, and replies late).
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from tests.slack.rules import Refused, alive, check_message, texts

BOT_TOKEN, APP_TOKEN, SECRET = "xoxb-1-test", "xapp-1-test", "a-signing-secret"
TEAM, BOT_USER, BOT_ID, APP_ID = "T1", "UBOT", "B1", "A1"
SCOPES = (
    "app_mentions:read,assistant:write,channels:history,chat:write,commands,files:read,files:write,groups:history,"
    "im:history,im:read,im:write,mpim:history,users:read"
)


@dataclass(slots=True)
class Message:
    channel: str
    ts: str
    user: str
    text: str = ""
    thread_ts: str = ""
    blocks: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    files: list[dict[str, Any]] = field(default_factory=list)
    edits: list[float] = field(default_factory=list)
    streaming: bool = False
    streamed: str = ""
    ephemeral: str = ""
    at: float = field(default_factory=time.monotonic)

    @property
    def shown(self) -> str:
        """All that a reader sees."""
        return "\n".join([self.streamed, *texts(self.blocks)] if self.blocks or self.streamed else [self.text])

    def buttons(self) -> list[dict[str, Any]]:
        return [e for block in self.blocks if block["type"] == "actions" for e in block["elements"] if e["type"] == "button"]

    def to_json(self) -> dict[str, Any]:
        rest = {"thread_ts": self.thread_ts} if self.thread_ts else {}
        by_bot = {"bot_id": BOT_ID} if self.user == BOT_USER else {}
        return {
            "type": "message", "ts": self.ts, "user": self.user, "text": self.text, "blocks": self.blocks, "files": self.files,
            "metadata": self.metadata, **rest, **by_bot,
        }  # fmt: skip


class SlackServer:
    """``with SlackServer() as slack``: ``slack.url`` ends in ``/api/``, ``slack.messages`` is what was posted, oldest first."""

    def __init__(self, *, scopes: str = SCOPES) -> None:
        self.scopes = scopes
        self.messages: list[Message] = []
        self.views: list[dict[str, Any]] = []
        self.calls: list[tuple[float, str, dict[str, Any]]] = []
        self.statuses: list[dict[str, Any]] = []
        self.prompts: list[dict[str, Any]] = []
        self.hooks: list[dict[str, Any]] = []
        self.locales: dict[str, str] = {}
        self.uploads: dict[str, dict[str, Any]] = {}
        self.downloads: list[str] = []
        self.refusals: list[tuple[str, str]] = []
        self._faults: dict[str, list[tuple[str, Any]]] = defaultdict(list)
        self._last_ts = 1_700_000_000.0
        self._lock = threading.Lock()
        self._sockets: list[WebSocket] = []
        self.acks: set[str] = set()
        self._acked = threading.Condition()
        self.connected = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    # Life

    def __enter__(self) -> SlackServer:
        routes = [
            Route("/api/{method}", self._api, methods=["POST", "GET"]),
            Route("/upload/{file_id}", self._upload, methods=["POST"]),
            Route("/files-pri/{file_id}/{name:path}", self._download),
            Route("/hook/{name}", self._hook, methods=["POST"]),
            Route("/elsewhere", self._elsewhere),
            WebSocketRoute("/socket", self._socket),
        ]
        config = uvicorn.Config(
            Starlette(routes=routes), port=0, log_level="critical", ws="websockets-sansio", lifespan="off", ws_ping_interval=None
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)
        self._loop = self._server.servers[0].get_loop()
        self.port = self._server.servers[0].sockets[0].getsockname()[1]
        self.base = f"http://127.0.0.1:{self.port}"
        self.url = f"{self.base}/api/"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(10)

    # Commands

    def limit(self, method: str, times: int = 1, retry_after: int = 1) -> None:
        self._faults[method] += [("limit", retry_after)] * times

    def fail(self, method: str, error: str, times: int = 1) -> None:
        self._faults[method] += [("fail", error)] * times

    def hang(self, method: str, seconds: float, times: int = 1) -> None:
        self._faults[method] += [("hang", seconds)] * times

    def slow(self, method: str, seconds: float, times: int = 1) -> None:
        self._faults[method] += [("slow", seconds)] * times

    def heal(self) -> None:
        """No more faults."""
        self._faults.clear()

    def after(self, method: str, seconds: float, times: int = 1) -> None:
        """The call is done at once, the reply comes late."""
        self._faults[method] += [("after", seconds)] * times

    def next_ts(self) -> str:
        with self._lock:
            self._last_ts = max(self._last_ts + 0.000100, round(time.time(), 6))
            return f"{self._last_ts:.6f}"

    def say(self, channel: str, user: str, text: str, thread_ts: str = "", **more: Any) -> Message:
        """A message of a person, as kept by Slack (nothing is delivered)."""
        message = Message(channel, self.next_ts(), user, text, thread_ts, **more)
        self.messages.append(message)
        return message

    def add_file(self, name: str, data: bytes, *, user: str = "U1", mode: str = "hosted", **more: Any) -> dict[str, Any]:
        """A file that a person uploaded: the object that events carry."""
        file_id = f"F{len(self.uploads) + 1:08d}"
        private = f"{self.base}/files-pri/{file_id}/download"
        kept = {"id": file_id, "name": name, "title": name, "size": len(data), "mode": mode, "user": user, "mimetype": "text/plain",
                "filetype": "text", "url_private": private, "url_private_download": private, **more}  # fmt: skip
        self.uploads[file_id] = {"data": data, "file": kept, "status": more.get("http", 200)}
        return kept

    # What was seen

    def by_bot(self, channel: str | None = None, thread_ts: str | None = None) -> list[Message]:
        return [
            m
            for m in list(self.messages)
            if m.user == BOT_USER and channel in (None, m.channel) and (thread_ts is None or thread_ts == m.thread_ts)
        ]

    def called(self, method: str) -> list[dict[str, Any]]:
        return [arguments for _, name, arguments in list(self.calls) if name == method]

    def alive(self) -> list[str]:
        return [one for m in self.by_bot() for one in [*alive(m.text, m.blocks), *alive("", [{"type": "markdown", "text": m.streamed}])]]

    # Socket Mode

    def send_frame(self, frame: dict[str, Any], to: int | None = None) -> None:
        """One frame, to one of the connections, as Slack does."""
        sockets = self._sockets
        socket = sockets[(to if to is not None else len(self.acks)) % len(sockets)]
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(socket.send_text(json.dumps(frame)), self._loop).result(10)

    def acked(self, envelope: str, seconds: float) -> bool:
        """Whether the bot acknowledged the envelope; waits for it."""
        with self._acked:
            return self._acked.wait_for(lambda: envelope in self.acks, seconds)

    async def _socket(self, socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_text(json.dumps({"type": "hello", "num_connections": len(self._sockets) + 1}))
        self._sockets.append(socket)
        self.connected.set()
        try:
            while True:
                frame = json.loads(await socket.receive_text())
                with self._acked:
                    self.acks.add(frame["envelope_id"])
                    self._acked.notify_all()
        except WebSocketDisconnect:
            pass
        finally:
            self._sockets.remove(socket)
            if not self._sockets:
                self.connected.clear()

    # HTTP

    async def _api(self, request: Request) -> Response:
        method = request.path_params["method"]
        arguments = await self._arguments(request)
        self.calls.append((time.monotonic(), method, arguments))
        late = 0.0
        if self._faults[method]:
            kind, value = self._faults[method].pop(0)
            if kind == "limit":
                return JSONResponse({"ok": False, "error": "ratelimited"}, 429, {"Retry-After": str(value)})
            if kind == "fail":
                return JSONResponse({"ok": False, "error": value})
            if kind == "after":
                late = value
            else:
                await asyncio.sleep(value)
            if kind == "hang":
                return PlainTextResponse("", 503)
        token = request.headers.get("authorization", "").removeprefix("Bearer ") or arguments.get("token", "")
        if token != (APP_TOKEN if method == "apps.connections.open" else BOT_TOKEN):
            return JSONResponse({"ok": False, "error": "invalid_auth"})
        handler = getattr(self, "_on_" + method.replace(".", "_"), None)
        if handler is None:
            return JSONResponse({"ok": False, "error": "unknown_method"})
        try:
            reply = JSONResponse({"ok": True, **handler(arguments)}, headers={"x-oauth-scopes": self.scopes})
            await asyncio.sleep(late)
            return reply
        except Refused as problem:
            self.refusals.append((method, str(problem)))
            return JSONResponse({"ok": False, "error": problem.error, "response_metadata": {"messages": [problem.detail]}})

    async def _arguments(self, request: Request) -> dict[str, Any]:
        body = await request.body()
        if "json" in request.headers.get("content-type", ""):
            given: dict[str, Any] = json.loads(body or b"{}")
            return given
        found: dict[str, Any] = {name: values[-1] for name, values in parse_qs(body.decode()).items()}
        for name in ("blocks", "files", "view", "metadata", "prompts"):
            if isinstance(found.get(name), str):
                found[name] = json.loads(found[name])
        return found

    async def _upload(self, request: Request) -> Response:
        self.uploads[request.path_params["file_id"]]["data"] = await request.body()
        return PlainTextResponse("OK")

    async def _download(self, request: Request) -> Response:
        kept = self.uploads.get(request.path_params["file_id"])
        self.downloads.append(request.headers.get("authorization", ""))
        if kept is None:
            return PlainTextResponse("", 404)
        if request.headers.get("authorization") != f"Bearer {BOT_TOKEN}" or kept["file"].get("html"):
            return Response("<!DOCTYPE html><title>Sign in</title>", media_type="text/html")
        if where := kept["file"].get("redirect"):
            return RedirectResponse(where, 302)
        return Response(kept["data"], media_type="application/octet-stream")

    async def _elsewhere(self, request: Request) -> Response:
        self.downloads.append("elsewhere " + request.headers.get("authorization", "none"))
        return PlainTextResponse("step:1 - a:1")

    async def _hook(self, request: Request) -> Response:
        self.hooks.append(json.loads(await request.body()))
        return PlainTextResponse("ok")

    # Methods

    def _on_auth_test(self, _: dict[str, Any]) -> dict[str, Any]:
        return {"url": "https://lab.slack.test/", "team": "lab", "team_id": TEAM, "user": "runwhy", "user_id": BOT_USER, "bot_id": BOT_ID}

    def _on_apps_connections_open(self, _: dict[str, Any]) -> dict[str, Any]:
        return {"url": f"ws://127.0.0.1:{self.port}/socket"}

    def _on_users_info(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"user": {"id": given["user"], "locale": self.locales.get(given["user"], "en-US")}}

    def _on_chat_postMessage(self, given: dict[str, Any]) -> dict[str, Any]:
        blocks = given.get("blocks") or []
        check_message(given.get("text") or given.get("markdown_text"), blocks)
        if given["channel"].startswith("CNOT"):
            raise Refused("not_in_channel")
        message = Message(given["channel"], self.next_ts(), BOT_USER, given.get("text") or "", given.get("thread_ts") or "", blocks)
        message.metadata = given.get("metadata") or {}
        self.messages.append(message)
        return {"channel": message.channel, "ts": message.ts, "message": message.to_json()}

    def _on_chat_postEphemeral(self, given: dict[str, Any]) -> dict[str, Any]:
        answer = self._on_chat_postMessage(given)
        self.messages[-1].ephemeral = given["user"]
        return {"message_ts": answer["ts"]}

    def _own(self, given: dict[str, Any]) -> Message:
        for message in self.messages:
            if (message.channel, message.ts, message.user) == (given["channel"], given["ts"], BOT_USER) and not message.ephemeral:
                return message
        raise Refused("message_not_found")

    def _on_chat_update(self, given: dict[str, Any]) -> dict[str, Any]:
        message = self._own(given)
        if message.streaming:
            raise Refused("streaming_state_conflict")
        check_message(given.get("text"), given.get("blocks") or [])
        message.text, message.blocks, message.streamed = given.get("text") or "", given.get("blocks") or [], ""
        message.metadata = given.get("metadata") or message.metadata
        message.edits.append(time.monotonic())
        return {"channel": message.channel, "ts": message.ts, "text": message.text}

    def _on_chat_delete(self, given: dict[str, Any]) -> dict[str, Any]:
        self.messages.remove(self._own(given))
        return {}

    def _streamed(self, given: dict[str, Any]) -> str:
        text = (given.get("markdown_text") or "") + "".join(
            chunk["text"] for chunk in given.get("chunks") or [] if chunk["type"] == "markdown_text"
        )
        if len(text) > 12_000:
            raise Refused("msg_too_long")
        return text

    def _on_chat_startStream(self, given: dict[str, Any]) -> dict[str, Any]:
        if not given.get("thread_ts"):
            raise Refused("invalid_arguments", "thread_ts")
        if not given["channel"].startswith("D") and not (given.get("recipient_user_id") and given.get("recipient_team_id")):
            raise Refused("missing_recipient_user_id")
        message = Message(
            given["channel"], self.next_ts(), BOT_USER, "", given["thread_ts"], streaming=True, streamed=self._streamed(given)
        )
        self.messages.append(message)
        return {"channel": message.channel, "ts": message.ts}

    def _on_chat_appendStream(self, given: dict[str, Any]) -> dict[str, Any]:
        message = self._own(given)
        if not message.streaming:
            raise Refused("message_not_in_streaming_state")
        message.streamed += self._streamed(given)
        message.edits.append(time.monotonic())
        return {"channel": message.channel, "ts": message.ts}

    def _on_chat_stopStream(self, given: dict[str, Any]) -> dict[str, Any]:
        self._on_chat_appendStream(given)
        message = self._own(given)
        check_message(message.streamed or "…", given.get("blocks") or [])
        message.streaming, message.blocks, message.metadata = False, given.get("blocks") or [], given.get("metadata") or {}
        message.text = message.streamed
        return {"channel": message.channel, "ts": message.ts}

    def _on_conversations_info(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"channel": {"id": given["channel"], "is_im": given["channel"].startswith("D")}}

    def _on_conversations_replies(self, given: dict[str, Any]) -> dict[str, Any]:
        rows = [m for m in self.messages if m.channel == given["channel"] and given["ts"] in (m.ts, m.thread_ts) and not m.ephemeral]
        if given.get("oldest"):
            rows = [m for m in rows if float(m.ts) >= float(given["oldest"])]
        return {"messages": [m.to_json() for m in rows], "has_more": False}

    def _on_conversations_open(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"channel": {"id": "D" + given["users"]}}

    def _on_files_info(self, given: dict[str, Any]) -> dict[str, Any]:
        if given["file"] not in self.uploads:
            raise Refused("file_not_found")
        return {"file": self.uploads[given["file"]]["file"]}

    def _on_files_getUploadURLExternal(self, given: dict[str, Any]) -> dict[str, Any]:
        kept = self.add_file(given["filename"], b"", user=BOT_USER)
        return {"upload_url": f"{self.base}/upload/{kept['id']}", "file_id": kept["id"]}

    def _on_files_completeUploadExternal(self, given: dict[str, Any]) -> dict[str, Any]:
        files = [self.uploads[row["id"]]["file"] | {"title": row.get("title", "")} for row in given["files"]]
        if channel := given.get("channel_id"):
            message = Message(channel, self.next_ts(), BOT_USER, given.get("initial_comment") or "", given.get("thread_ts") or "")
            message.files = files
            self.messages.append(message)
        return {"files": files}

    def _on_views_publish(self, given: dict[str, Any]) -> dict[str, Any]:
        check_message("home", given["view"]["blocks"], most=100)
        self.views.append({"user": given["user_id"], **given["view"]})
        return {"view": {"id": f"V{len(self.views)}"}}

    def _on_views_open(self, given: dict[str, Any]) -> dict[str, Any]:
        if not given.get("trigger_id"):
            raise Refused("invalid_trigger_id")
        if len(given["view"]["title"]["text"]) > 24:
            raise Refused("invalid_arguments", "title")
        check_message("modal", given["view"]["blocks"], most=100)
        self.views.append(dict(given["view"]))
        return {"view": {"id": f"V{len(self.views)}"}}

    def _on_assistant_threads_setStatus(self, given: dict[str, Any]) -> dict[str, Any]:
        self.statuses.append(given)
        return {}

    def _on_assistant_threads_setSuggestedPrompts(self, given: dict[str, Any]) -> dict[str, Any]:
        if len(given["prompts"]) > 4:
            raise Refused("too_many_prompts")
        self.prompts.append(given)
        return {}

    def _on_assistant_threads_setTitle(self, _: dict[str, Any]) -> dict[str, Any]:
        return {}
