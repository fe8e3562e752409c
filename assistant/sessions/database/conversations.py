"""Sessions in the database: made, found, listed, forgotten, given up."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, delete, exists, func, select

from assistant.messages import Language
from assistant.sessions.database import tables as t
from assistant.sessions.database.base import Base, LostLog, retried
from assistant.sessions.session import About, Session
from assistant.sessions.tokens import new_id

if TYPE_CHECKING:
    from assistant.answers import Turn
    from assistant.diagnosis import Diagnosis

MOST_RECENT = 50
"""Turns that a session brings along; all of them are in the transcript."""

_ABANDONED = 7 * 86400.0
"""Questions that nobody answered for so long are given up, in seconds."""

_ORPHANED = 3600.0
"""A log's file without a row may be on its way into the database; after so many seconds it is not."""

_AT_ONCE = 100


class Conversations(Base):
    @retried
    def create(
        self,
        diagnosis: Diagnosis,
        name: str = "",
        *,
        source: bytes | Path | None = None,
        owner: str = "",
        language: Language | None = None,
        format: str | None = None,
        era: str | None = None,
        ttl: float | None = None,
    ) -> Session:
        now, keep = self._clock(), self.settings.ttl if ttl is None else ttl
        session = Session(new_id(), diagnosis, name, language=language, owner=owner, format=format, era=era)
        with self._prepared(source, diagnosis.run) as ready, self._writing() as connection:
            stored = self._keep_log(connection, ready)
            self._insert_session(connection, session, now, keep)
            self._insert_run(connection, session.id, 0, diagnosis, name, stored, source, format, era)
        return session

    def _insert_session(self, connection: Connection, session: Session, now: float, ttl: float, n_turns: int = 0) -> None:
        row: dict[str, Any] = {
            "id": session.id,
            "name": session.name,
            "owner": session.owner,
            "language": session.language,
            "kept": {},
            "created": now,
            "used": now,
            "ttl": ttl,
            "linked_until": 0.0,
            "expires": now + ttl,
            "n_turns": n_turns,
        }
        connection.execute(t.sessions.insert().values(**row))

    def get(self, session_id: str) -> Session | None:
        with self.engine.connect() as connection:
            row = self._session_row(connection, session_id)
            if row is None:
                return None
            runs = self._run_rows(connection, session_id)
            latest = select(t.turns).where(t.turns.c.session_id == session_id).order_by(t.turns.c.number.desc()).limit(MOST_RECENT)
            turns = tuple(turn_of(one) for one in reversed(list(connection.execute(latest))))
        self._touch(row)
        try:
            diagnoses = [self._diagnosis(run) for run in runs]
        except LostLog:
            return None
        if not diagnoses:
            return None
        first, *more = runs
        return Session(
            row.id,
            diagnoses[0],
            row.name,
            turns,
            tuple((run.name, diagnosis) for run, diagnosis in zip(more, diagnoses[1:], strict=True)),
            row.language,
            row.owner,
            first.format,
            first.era,
            row.kept,
        )

    def about(self, session_id: str) -> About | None:
        with self.engine.connect() as connection:
            row = self._session_row(connection, session_id)
            return _about(row, self._run_rows(connection, session_id)) if row is not None else None

    def sessions(self, owner: str | None = None, *, limit: int = 50) -> list[About]:
        found = select(t.sessions).where(t.sessions.c.expires >= self._clock())
        if owner is not None:
            found = found.where(t.sessions.c.owner == owner)
        with self.engine.connect() as connection:
            rows = list(connection.execute(found.order_by(t.sessions.c.used.desc(), t.sessions.c.created.desc()).limit(limit)))
            runs = self._runs_of(connection, [row.id for row in rows])
        return [_about(row, runs.get(row.id, [])) for row in rows]

    @staticmethod
    def _runs_of(connection: Connection, ids: list[str]) -> dict[str, list[Row[Any]]]:
        runs: dict[str, list[Row[Any]]] = {}
        for at in range(0, len(ids), 500):
            found = select(t.runs).where(t.runs.c.session_id.in_(ids[at : at + 500])).order_by(t.runs.c.position)
            for run in connection.execute(found):
                runs.setdefault(run.session_id, []).append(run)
        return runs

    # Leaving

    @retried
    def remove(self, session_id: str, *, feedback: bool = False) -> None:
        with self._writing() as connection:
            if feedback:
                connection.execute(delete(t.feedback).where(t.feedback.c.session_id == session_id))
            _, hashes = self._delete_sessions(connection, t.sessions.c.id == session_id)
        self._release_logs(hashes)
        self._unpurged = True
        if feedback:
            self._purge()

    @retried
    def forget(self, owner: str) -> int:
        if not owner:
            raise ValueError("nobody is named")
        with self._writing() as connection:
            own = select(t.sessions.c.id).where(t.sessions.c.owner == owner)
            connection.execute(delete(t.feedback).where((t.feedback.c.owner == owner) | t.feedback.c.session_id.in_(own)))
            connection.execute(delete(t.questions).where(t.questions.c.owner == owner))
            n, hashes = self._delete_sessions(connection, t.sessions.c.owner == owner)
        self._release_logs(hashes)
        self._purge()
        return n

    def sweep(self) -> int:
        now = self._clock()
        n = 0
        while some := self._give_up(t.sessions.c.expires < now):
            n += some
        n += self._make_room()
        with self._writing() as connection:
            for column, before in (
                (t.seen.c.until, now),
                (t.links.c.until, now),
                (t.feedback.c.at, now - self.settings.feedback_ttl),
                (t.questions.c.asked, now - _ABANDONED),
            ):
                connection.execute(delete(column.table).where(column < before))
        self._tidy_logs()
        if n or self._unpurged:
            self._purge()
        return n

    @retried
    def _give_up(self, condition: Any, limit: int = _AT_ONCE) -> int:
        """At most ``limit`` of the sessions, the longest unused first: others need not wait long."""
        chosen = select(t.sessions.c.id).where(condition).order_by(t.sessions.c.used).limit(limit)
        with self._writing() as connection:
            n, hashes = self._delete_sessions(connection, t.sessions.c.id.in_(chosen))
        self._release_logs(hashes)
        return n

    def _make_room(self) -> int:
        n = 0
        while True:
            with self.engine.connect() as connection:
                sessions = connection.execute(select(func.count()).select_from(t.sessions)).scalar_one()
                stored = connection.execute(select(func.coalesce(func.sum(t.logs.c.n_stored), 0.0))).scalar_one()
            excess = sessions - self.settings.max_sessions
            if sessions <= 1 or (excess <= 0 and stored <= self.settings.max_bytes):
                return n
            n += self._give_up(t.sessions.c.id.is_not(None), min(max(excess, 1), _AT_ONCE))

    def _tidy_logs(self) -> None:
        """What a process that died left: logs without a run, files without a row. And what other processes removed: from memory."""
        unused = select(t.logs.c.sha256).where(~exists().where(t.runs.c.sha256 == t.logs.c.sha256))
        with self.engine.connect() as connection:
            left = set(connection.execute(unused).scalars())
            known = set(connection.execute(select(t.logs.c.sha256)).scalars())
        self._release_logs(left)
        before = time.time() - _ORPHANED
        for sha256 in {sha256 for sha256, changed in self.logs.hashes() if sha256 not in known and changed < before}:
            self._remove_orphan(sha256)
        self.logs.remove_leftovers(before)
        self.live.drop_where(lambda key: isinstance(key, tuple) and bool(key[0]) and key[0] not in known)

    @retried
    def _remove_orphan(self, sha256: str) -> None:
        row = {"sha256": sha256, "n_bytes": 0.0, "n_stored": 0.0, "created": self._clock()}
        with self._writing() as connection:  # with a row of its own for the lock
            insert = self._insert(t.logs).values(**row).on_conflict_do_nothing().returning(t.logs.c.sha256)
            if connection.execute(insert).first() is not None:
                self.logs.remove(sha256)
                connection.execute(delete(t.logs).where(t.logs.c.sha256 == sha256))


def turn_of(row: Row[Any]) -> Turn:
    from assistant.answers.understanding.question import Turn

    return Turn(row.question, tuple(row.metrics), tuple(row.findings), row.plain)


def _about(row: Row[Any], runs: list[Row[Any]]) -> About:
    first = runs[0] if runs else None
    return About(
        row.id,
        row.name,
        row.owner,
        row.created,
        row.used,
        row.expires,
        row.n_turns,
        len(runs),
        tuple(first.findings) if first else (),
        first.log if first else {},
        row.language,
        row.kept,
    )
