"""Questions in memory that wait for an answer: claimed for a time, answered once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from threading import RLock
from typing import TYPE_CHECKING, Any

from assistant.sessions.session import Pending
from assistant.sessions.store import NoSession
from assistant.sessions.tokens import MOST_ASKED, new_id, small_json

if TYPE_CHECKING:
    from assistant.answers import Answer, Turn

NO_TURN = -1
"""Index of an answer that is no turn of a talk."""


@dataclass(slots=True)
class _Open:
    pending: Pending
    worker: str = ""
    lease: float = 0.0
    answered: bool = False
    lane: str = ""


class MemoryQuestions:
    """The part of `MemoryStore` that keeps questions; see `SessionStore` for what each call does."""

    _lock: RLock

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._questions: dict[str, _Open] = {}
        self._seen: dict[str, float] = {}

    def _exists(self, session_id: str) -> bool:
        raise NotImplementedError

    def sweep(self) -> int:
        raise NotImplementedError

    def add_turn(self, session_id: str, turn: Turn, *, answer: Answer | None = None) -> int | None:
        raise NotImplementedError

    def ask(
        self,
        session_id: str,
        question: str,
        *,
        key: str,
        owner: str = "",
        data: Mapping[str, Any] | None = None,
        hours: float = 24,
        lane: str = "",
    ) -> Pending | None:
        with self._lock:
            if session_id and not self._exists(session_id):
                raise NoSession(session_id)
            if self.seen(f"ask {key}", hours):
                return None
            pending = Pending(new_id(), session_id, question, key, owner, small_json(dict(data or {}), MOST_ASKED), self._clock())
            self._questions[pending.id] = _Open(pending, lane=lane)
            return pending

    def ahead(self, lane: str, asked: float | None = None) -> bool:
        with self._lock:
            self.sweep()
            waiting = (one.pending for one in self._questions.values() if lane and one.lane == lane and not one.answered)
            return any(asked is None or pending.asked < asked for pending in waiting)

    def claim(self, pending_id: str, worker: str, lease_seconds: float = 120) -> bool:
        if not worker:
            raise ValueError("a worker needs a name")
        with self._lock:
            self.sweep()
            one = self._questions.get(pending_id)
            now = self._clock()
            if one is None or (one.worker not in ("", worker) and one.lease >= now):
                return False
            if one.worker != worker or one.lease < now:
                one.pending = replace(one.pending, attempts=one.pending.attempts + 1)
            one.worker, one.lease = worker, now + lease_seconds
            return True

    def release(self, pending_id: str, worker: str) -> None:
        with self._lock:
            one = self._questions.get(pending_id)
            if one is not None and one.worker == worker:
                one.worker, one.lease = "", 0.0

    def answered(
        self,
        pending_id: str,
        turn: Turn | None,
        *,
        answer: Answer | None = None,
        worker: str = "",
        session_id: str = "",
        delivered: bool = True,
    ) -> int | None:
        with self._lock:
            one = self._questions.get(pending_id)
            if one is None or one.answered or (worker and one.worker != worker):
                return None
            target = session_id or one.pending.session_id
            if session_id and not self._exists(session_id):
                raise NoSession(session_id)
            index = self.add_turn(target, turn, answer=answer) if turn is not None and target else NO_TURN
            if index is None:  # given up for its age: the question goes with it
                self._questions.pop(pending_id, None)
                return None
            one.answered = True
            one.pending = replace(one.pending, session_id=target, turn_index=index)
            if delivered:
                self._questions.pop(pending_id, None)
            return index

    def delivered(self, pending_id: str) -> None:
        with self._lock:
            self._questions.pop(pending_id, None)

    def open_questions(self, *, limit: int = 100) -> list[Pending]:
        with self._lock:
            self.sweep()
            now = self._clock()
            waiting = [one.pending for one in self._questions.values() if not one.worker or one.lease < now]
            return waiting[:limit]

    def seen(self, key: str, hours: float = 24) -> bool:
        with self._lock:
            now = self._clock()
            self._seen = {name: until for name, until in self._seen.items() if until >= now}
            if key in self._seen:
                return True
            self._seen[key] = now + hours * 3600
            return False

    def known(self, key: str) -> bool:
        with self._lock:
            return self._seen.get(key, 0.0) >= self._clock()

    def _drop_questions(self, session_id: str) -> None:
        self._questions = {name: one for name, one in self._questions.items() if one.pending.session_id != session_id}

    def _forget_questions(self, owner: str) -> None:
        self._questions = {name: one for name, one in self._questions.items() if one.pending.owner != owner}
