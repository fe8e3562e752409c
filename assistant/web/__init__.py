"""The web chat: paste a log, read the report, ask. Needs the ``web`` extra."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI

    from assistant.sessions import SessionStore
    from assistant.web.limits import Limits

__all__ = ["create_app", "serve"]


def create_app(store: SessionStore | None = None, limits: Limits | None = None) -> FastAPI:
    """The web chat as an ASGI application. Raises ImportError without the ``web`` extra."""
    from assistant.web.app import build

    return build(store, limits)


def serve(host: str = "127.0.0.1", port: int = 7860, open_browser: bool = False) -> None:
    """Serve the web chat until interrupted. Raises ImportError without the ``web`` extra, OSError when the port is taken."""
    from assistant.web.app import run

    run(host, port, open_browser)
