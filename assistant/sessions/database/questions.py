"""Questions in the database that wait for an answer: noted once, held by one process for a time, answered once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, case, delete, exists, select, update

from assistant.sessions.database import tables as t
from assistant.sessions.database.base import retried
from assistant.sessions.database.links import Links
from assistant.sessions.questions import NO_TURN
from assistant.sessions.session import Pending
from assistant.sessions.store import NoSession
from assistant.sessions.tokens import MOST_ASKED, new_id, small_json, token_hash

if TYPE_CHECKING:
    from assistant.answers import Answer, Turn

_HOUR = 3600.0


class Questions(Links):
    @retried
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
        pending = Pending(new_id(), session_id, question, key, owner, small_json(dict(data or {}), MOST_ASKED), self._clock())
        with self._writing() as connection:
            if session_id and self._locked(connection, session_id) is None:
                raise NoSession(session_id)
            if self._was_seen(connection, f"ask {key}", hours):
                return None
            row = {
                "id": pending.id,
                "session_id": session_id or None,
                "question": question,
                "key": key,
                "owner": owner,
                "data": pending.data,
                "asked": pending.asked,
                "attempts": 0,
                "worker": "",
                "lease": 0.0,
                "answered": False,
                "lane": token_hash(lane) if lane else "",
            }
            connection.execute(t.questions.insert().values(**row))
            return pending

    def ahead(self, lane: str, asked: float | None = None) -> bool:
        if not lane:
            return False
        c, now = t.questions.c, self._clock()
        alive = c.session_id.is_(None) | exists().where(t.sessions.c.id == c.session_id, t.sessions.c.expires >= now)
        found = select(c.id).where(c.lane == token_hash(lane), c.answered.is_(False), alive).limit(1)
        with self.engine.connect() as connection:
            return connection.execute(found if asked is None else found.where(c.asked < asked)).first() is not None

    @retried
    def claim(self, pending_id: str, worker: str, lease_seconds: float = 120) -> bool:
        if not worker:
            raise ValueError("a worker needs a name")
        now, c = self._clock(), t.questions.c
        free = (c.worker == "") | (c.lease < now)
        claimed = (
            update(t.questions)
            .where(c.id == pending_id, free | (c.worker == worker))
            .values(worker=worker, lease=now + lease_seconds, attempts=case((free, c.attempts + 1), else_=c.attempts))
        )
        with self._writing() as connection:
            return connection.execute(claimed).rowcount == 1

    @retried
    def release(self, pending_id: str, worker: str) -> None:
        which = (t.questions.c.id == pending_id) & (t.questions.c.worker == worker)
        with self._writing() as connection:
            connection.execute(update(t.questions).where(which).values(worker="", lease=0.0))

    @retried
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
        c = t.questions.c
        mine = (c.id == pending_id) & c.answered.is_(False)
        if worker:
            mine &= c.worker == worker
        with self._writing() as connection:
            row = connection.execute(select(t.questions).where(mine).with_for_update()).first()
            if row is None:
                return None
            target = session_id or row.session_id or ""
            if session_id and self._locked(connection, session_id) is None:
                raise NoSession(session_id)
            index = self._insert_turn(connection, target, turn, answer) if turn is not None and target else NO_TURN
            if index is None:  # given up for its age: the question goes with it
                connection.execute(delete(t.questions).where(c.id == pending_id))
                return None
            if delivered:
                connection.execute(delete(t.questions).where(c.id == pending_id))
            else:
                done = {"answered": True, "turn_index": index, "session_id": target or None}
                connection.execute(update(t.questions).where(c.id == pending_id).values(**done))
            return index

    @retried
    def delivered(self, pending_id: str) -> None:
        with self._writing() as connection:
            connection.execute(delete(t.questions).where(t.questions.c.id == pending_id))

    def open_questions(self, *, limit: int = 100) -> list[Pending]:
        c = t.questions.c
        now = self._clock()
        alive = c.session_id.is_(None) | exists().where(t.sessions.c.id == c.session_id, t.sessions.c.expires >= now)
        found = select(t.questions).where((c.worker == "") | (c.lease < now), alive).order_by(c.asked, c.id).limit(limit)
        with self.engine.connect() as connection:
            return [
                Pending(
                    row.id, row.session_id or "", row.question, row.key, row.owner, row.data, row.asked, row.attempts, row.turn_index
                )
                for row in connection.execute(found)
            ]  # fmt: skip

    @retried
    def seen(self, key: str, hours: float = 24) -> bool:
        with self._writing() as connection:
            return self._was_seen(connection, key, hours)

    def known(self, key: str) -> bool:
        found = select(t.seen.c.key).where(t.seen.c.key == token_hash(key), t.seen.c.until >= self._clock())
        with self.engine.connect() as connection:
            return connection.execute(found).first() is not None

    def _was_seen(self, connection: Connection, key: str, hours: float) -> bool:
        """Whether the key is known; it is from now on. Of two that tell it at once, one waits for the other."""
        now = self._clock()
        put = self._insert(t.seen).values(key=token_hash(key), until=now + hours * _HOUR)
        fresh = put.on_conflict_do_update(index_elements=["key"], set_={"until": put.excluded.until}, where=t.seen.c.until < now)
        return connection.execute(fresh.returning(t.seen.c.key)).first() is None
