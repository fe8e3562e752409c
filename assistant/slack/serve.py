"""Running the bot until it is told to stop: over a socket, or as an HTTP server."""

from __future__ import annotations

import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from assistant.slack.app import Clients, Intake, build
from assistant.slack.bot import Bot
from assistant.slack.delivery import code_of
from assistant.slack.settings import Settings
from assistant.slack.work import Pool

if TYPE_CHECKING:
    from slack_bolt.adapter.socket_mode.builtin import SocketModeHandler
    from slack_bolt.authorization import AuthorizeResult

    from assistant.sessions import SessionStore

log = logging.getLogger("runwhy.slack")
GRACE = 20.0
SWITCH = 0.001
"""Seconds a thread may compute before another gets its turn: an acknowledgement must not wait behind a long log."""


class NotStarted(Exception):
    """``key`` is one of the messages ``slack.…``, ``values`` fill it."""

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(key)
        self.key, self.values = key, values


class Running:
    """The parts of a bot that runs; ``identity`` says where and under which name, ``port`` where it listens (0: nowhere)."""

    port: int = 0

    def __init__(self, settings: Settings, store: SessionStore) -> None:
        from slack_sdk.errors import SlackApiError

        self.settings, self.store = settings, store
        self.clients = Clients(settings)
        try:
            self.identity: AuthorizeResult = self.clients.first()
        except SlackApiError as problem:
            raise NotStarted("token_refused", error=code_of(problem)) from None
        except OSError as problem:
            raise NotStarted("slack_unreachable", url=settings.api_url, error=type(problem).__name__) from None
        self.bot = Bot(settings, store, self.clients.of, lambda team: self.clients.identity(team).url or "")
        self.pool = Pool(store, self.bot.do, workers=settings.workers, lease=settings.lease, sweep=min(2.0, settings.lease / 2))
        self.intake = Intake(store, self.pool)
        self.app = build(settings, self.intake, self.clients.identity)
        self._stop = threading.Event()

    def start(self) -> None:
        sys.setswitchinterval(SWITCH)
        self.pool.start()
        self.pool.take_up()
        threading.Thread(target=self._housekeeping, name="housekeeping", daemon=True).start()

    def stop(self, grace: float = GRACE) -> None:
        self._stop.set()
        self.pool.stop(grace)
        self.store.close()

    def _housekeeping(self) -> None:
        while not self._stop.wait(0.5):
            try:
                self.intake.look_again()
            except Exception as problem:
                log.warning("housekeeping: error=%s", type(problem).__name__)


def log_to_stderr() -> None:
    """Our own log, one line each: ids and kinds, never what anybody wrote."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    ours = logging.getLogger("runwhy.slack")
    ours.setLevel(logging.INFO)
    ours.addHandler(handler)
    ours.propagate = False


def _until_signal() -> threading.Event:
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    return stopped


def over_socket(settings: Settings, store: SessionStore, started: Callable[[Running], None]) -> None:
    """Socket Mode until SIGINT or SIGTERM: no public address is needed. Raises NotStarted."""
    from slack_bolt.adapter.socket_mode.builtin import SocketModeHandler
    from slack_sdk import WebClient
    from slack_sdk.errors import SlackApiError

    running = Running(settings, store)
    stopped = _until_signal()
    running.start()
    sdk = logging.getLogger("runwhy.slack.socket")
    sdk.setLevel(logging.CRITICAL)
    handler = SocketModeHandler(
        running.app,
        settings.app_token,
        logger=sdk,
        web_client=WebClient(settings.app_token, base_url=settings.api_url, timeout=int(settings.timeout), logger=sdk),
        receive_buffer_size=1 << 16,
        concurrency=16,
    )
    try:
        handler.connect()  # type: ignore[no-untyped-call]
        if not handler.client.is_connected():
            raise NotStarted("slack_unreachable", url=settings.api_url, error="websocket")
        started(running)
        stopped.wait()
    except SlackApiError as problem:
        raise NotStarted("app_token_refused", error=code_of(problem)) from None
    except OSError as problem:
        raise NotStarted("slack_unreachable", url=settings.api_url, error=type(problem).__name__) from None
    finally:
        _hang_up(handler)
        running.stop()


def _hang_up(handler: SocketModeHandler) -> None:
    """Close the connection without waiting: the SDK's reader holds the socket for three seconds at a time, its dispatcher waits for one."""
    client = handler.client
    client.closed, client.auto_reconnect_enabled = True, False
    session = client.current_session
    if session is not None and session.sock is not None:
        with suppress(OSError):
            session.sock.shutdown(socket.SHUT_RDWR)
    client.message_queue.put(None)
    handler.close()  # type: ignore[no-untyped-call]


def over_http(settings: Settings, store: SessionStore, host: str, port: int, started: Callable[[Running], None]) -> None:
    """Signed requests at ``/slack/events`` until SIGINT or SIGTERM. Raises NotStarted."""
    import uvicorn

    from assistant.slack.http import SlackHttp

    running = Running(settings, store)
    try:
        listening = socket.create_server((host, port), backlog=1024)
    except OSError as problem:
        raise NotStarted("port_taken", error=problem.strerror or problem) from None
    running.port = listening.getsockname()[1]
    stopped = _until_signal()
    running.start()
    web = SlackHttp(running.app, settings.signing_secret)
    config = uvicorn.Config(web, log_level="critical", access_log=False, lifespan="off", ws="none", timeout_keep_alive=10)
    server = uvicorn.Server(config)
    serving = threading.Thread(target=server.run, args=([listening],), name="http", daemon=True)  # signals are ours, not uvicorn's
    try:
        serving.start()
        started(running)
        stopped.wait()
    finally:
        server.should_exit = True
        serving.join(GRACE)
        listening.close()
        running.stop()
