"""Sessions in a database (SQLite, PostgreSQL), their logs in a folder beside it: they survive restarts and are shared by processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from assistant.sessions.database.questions import Questions
from assistant.sessions.settings import Settings


class DatabaseStore(Questions):
    """A `SessionStore`. ``url`` is SQLAlchemy's ("" for SQLite in ``folder``), further names are those of `Settings`.

    Processes on several machines that share a database must share the folder too, and have clocks that agree within seconds.
    A session that was created without its source lives as long as this process. Raises UnusableStore.
    """

    def __init__(self, url: str, folder: Path, *, clock: Callable[[], float] = time.time, **settings: Any) -> None:
        super().__init__(replace(Settings(url, folder), **settings), clock)


def of_settings(settings: Settings) -> DatabaseStore:
    names = ("ttl", "feedback_ttl", "max_sessions", "max_bytes", "live_bytes", "sweep_every")
    return DatabaseStore(settings.url, settings.folder, **{name: getattr(settings, name) for name in names})
