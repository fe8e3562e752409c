"""Which store, where, and for how long: from the environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assistant.sessions.store import SessionStore

HOUR, DAY = 3600.0, 86400.0
MEMORY = "memory"


class UnusableStore(Exception):
    """The store cannot be opened. ``kind`` is a key of the messages (``sessions.<kind>``), ``reason`` what the system says."""

    def __init__(self, kind: str, reason: str = "") -> None:
        super().__init__(f"{kind}: {reason}" if reason else kind)
        self.kind, self.reason = kind, reason

    def sentence(self, language: str = "en") -> str:
        from assistant.messages import say

        return say(f"sessions.{self.kind}", "zh" if language == "zh" else "en", reason=self.reason)


def data_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """``RUNWHY_DATA``, or the place for a user's data on this system."""
    if named := environment.get("RUNWHY_DATA"):
        return Path(named).expanduser()
    if sys.platform == "win32":
        return Path(environment.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "runwhy"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "runwhy"
    return Path(environment.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "runwhy"


@dataclass(frozen=True, slots=True)
class Settings:
    """``url`` is ``memory``, or what SQLAlchemy takes ("" for SQLite in ``folder``); ``folder`` holds the logs.

    ``ttl`` is in seconds since a session's last use, ``feedback_ttl`` since it was given; ``max_bytes`` bounds the packed logs,
    ``live_bytes`` the runs in memory.
    """

    url: str = ""
    folder: Path = field(default_factory=lambda: data_folder())
    ttl: float = 6 * HOUR
    feedback_ttl: float = 180 * DAY
    max_sessions: int = 20_000
    max_bytes: int = 50 << 30
    live_bytes: int = 2 << 30
    sweep_every: float = 300.0


def configured(environment: Mapping[str, str] = os.environ) -> Settings:
    """RUNWHY_STORE, RUNWHY_DATA, RUNWHY_KEEP_HOURS, RUNWHY_KEEP_FEEDBACK_DAYS, RUNWHY_STORE_GB. Raises UnusableStore for a bad number."""
    return Settings(
        url=environment.get("RUNWHY_STORE", ""),
        folder=data_folder(environment),
        ttl=_number(environment, "RUNWHY_KEEP_HOURS", 6) * HOUR,
        feedback_ttl=_number(environment, "RUNWHY_KEEP_FEEDBACK_DAYS", 180) * DAY,
        max_bytes=int(_number(environment, "RUNWHY_STORE_GB", 50) * (1 << 30)),
    )


def _number(environment: Mapping[str, str], name: str, default: float) -> float:
    text = environment.get(name, "")
    try:
        value = float(text) if text else default
    except ValueError:
        value = -1.0
    if not 0 < value < 1e9:
        raise UnusableStore("bad_number", name)
    return value


def open_store(settings: Settings | None = None) -> SessionStore:
    """The store of ``settings`` (None: of the environment), made ready when it is new. Raises UnusableStore."""
    from assistant.sessions.memory import MemoryStore

    settings = settings if settings is not None else configured()
    if settings.url == MEMORY:
        return MemoryStore(ttl=settings.ttl, max_bytes=settings.live_bytes)
    try:
        import alembic  # noqa: F401
        import sqlalchemy  # noqa: F401
    except ModuleNotFoundError as error:
        raise UnusableStore("needs_sqlalchemy") from error
    from assistant.sessions.database import of_settings

    return of_settings(settings)
