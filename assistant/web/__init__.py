"""The web chat: paste a log, read the report, ask. Needs the ``web`` extra."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI

    from assistant.messages import Language
    from assistant.sessions import SessionStore
    from assistant.web.limits import Limits

__all__ = ["CannotServe", "create_app", "serve"]


def create_app(store: SessionStore | None = None, limits: Limits | None = None) -> FastAPI:
    """The web chat as an ASGI application. Raises ImportError without the ``web`` extra."""
    from assistant.web.app import build

    return build(store, limits)


def serve(host: str = "127.0.0.1", port: int = 7860, open_browser: bool = False) -> None:
    """Serve the web chat until interrupted. Raises ImportError without the ``web`` extra, CannotServe with a sentence on what to do."""
    from assistant.web.app import run

    run(host, port, open_browser)


class CannotServe(Exception):
    """The page cannot be served as it is set up; `sentence` says what to do."""

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(key)
        self.key, self.values = key, values

    def sentence(self, language: Language = "en") -> str:
        from assistant.messages import say

        return say(self.key, language, **self.values)
