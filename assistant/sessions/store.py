"""Where sessions are kept. The faces know the protocol only, so that a database can take the place of memory."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from assistant.sessions.session import Session, size_of

if TYPE_CHECKING:
    from assistant.answers import Turn
    from assistant.diagnosis import Diagnosis


class SessionStore(Protocol):
    """Ids cannot be guessed: whoever knows one may read the session."""

    def create(self, diagnosis: Diagnosis, name: str = "") -> Session: ...

    def get(self, session_id: str) -> Session | None:
        """None when the id is unknown, or the session was given up for its age or for room."""
        ...

    def add_turn(self, session_id: str, turn: Turn) -> None:
        """Remember a question for follow-ups; nothing happens when the session is gone."""
        ...

    def remove(self, session_id: str) -> None: ...


@dataclass(slots=True)
class _Kept:
    session: Session
    size: int
    used: float


class MemoryStore:
    """Sessions in memory: the least recently used goes first when there are too many, or they take too much room.

    ``ttl`` is in seconds since the last use, ``max_bytes`` covers the runs' data. Safe for use from several threads.
    """

    def __init__(
        self,
        *,
        ttl: float = 6 * 3600,
        max_sessions: int = 200,
        max_bytes: int = 2 << 30,
        max_turns: int = 50,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ttl, self.max_sessions, self.max_bytes, self.max_turns = ttl, max_sessions, max_bytes, max_turns
        self._clock = clock
        self._kept: OrderedDict[str, _Kept] = OrderedDict()  # least recently used first
        self._bytes = 0
        self._lock = Lock()

    def __len__(self) -> int:
        with self._lock:
            self._sweep()
            return len(self._kept)

    @property
    def n_bytes(self) -> int:
        return self._bytes

    def create(self, diagnosis: Diagnosis, name: str = "") -> Session:
        session = Session(secrets.token_urlsafe(24), diagnosis, name)
        size = size_of(diagnosis.run)
        with self._lock:
            self._kept[session.id] = _Kept(session, size, self._clock())
            self._bytes += size
            self._sweep()
        return session

    def get(self, session_id: str) -> Session | None:
        with self._lock:
            kept = self._use(session_id)
            return kept.session if kept else None

    def add_turn(self, session_id: str, turn: Turn) -> None:
        with self._lock:
            if kept := self._use(session_id):
                kept.session = replace(kept.session, turns=(*kept.session.turns, turn)[-self.max_turns :])

    def remove(self, session_id: str) -> None:
        with self._lock:
            self._drop(session_id)

    # Internals; the lock is held

    def _use(self, session_id: str) -> _Kept | None:
        self._sweep()
        kept = self._kept.get(session_id)
        if kept is not None:
            kept.used = self._clock()
            self._kept.move_to_end(session_id)
        return kept

    def _sweep(self) -> None:
        """Drop what is too old or too much; the newest session always stays."""
        oldest_allowed = self._clock() - self.ttl
        while self._kept:
            session_id, kept = next(iter(self._kept.items()))
            crowded = len(self._kept) > self.max_sessions or self._bytes > self.max_bytes
            if kept.used >= oldest_allowed and not (crowded and len(self._kept) > 1):
                break
            self._drop(session_id)

    def _drop(self, session_id: str) -> None:
        if kept := self._kept.pop(session_id, None):
            self._bytes -= kept.size
