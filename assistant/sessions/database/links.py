"""Ways to a session in the database: a thread that is about it, a link that opens it, a copy of it."""

from __future__ import annotations

from sqlalchemy import delete, func, insert, literal, select, update

from assistant.sessions.database import tables as t
from assistant.sessions.database.base import retried
from assistant.sessions.database.turns import Turns
from assistant.sessions.session import Session
from assistant.sessions.store import NoSession
from assistant.sessions.tokens import new_id, new_token, token_hash

_HOUR = 3600.0


class Links(Turns):
    @retried
    def bind(self, key: str, session_id: str) -> None:
        row = {"key": token_hash(key), "session_id": session_id}
        with self._writing() as connection:
            if self._locked(connection, session_id) is None:
                raise NoSession(session_id)
            put = self._insert(t.threads).values(**row)
            connection.execute(put.on_conflict_do_update(index_elements=["key"], set_={"session_id": session_id}))

    def bound(self, key: str) -> str | None:
        found = select(t.threads.c.session_id).where(t.threads.c.key == token_hash(key))
        with self.engine.connect() as connection:
            session_id = connection.execute(found).scalar()
            row = self._session_row(connection, session_id) if session_id else None
        if row is None:
            return None
        self._touch(row)
        return str(row.id)

    @retried
    def share(self, session_id: str, hours: float = 72) -> str | None:
        with self._writing() as connection:
            row = self._locked(connection, session_id)
            if row is None:
                return None
            token, now = new_token(), self._clock()
            until = now + hours * _HOUR
            connection.execute(t.links.insert().values(token=token_hash(token), session_id=session_id, until=until))
            linked = max(row.linked_until, until)
            fresh = {"linked_until": linked, "expires": max(now + row.ttl, linked)}
            connection.execute(update(t.sessions).where(t.sessions.c.id == session_id).values(**fresh))
            return token

    def by_token(self, token: str) -> Session | None:
        found = select(t.links.c.session_id).where(t.links.c.token == token_hash(token), t.links.c.until >= self._clock())
        with self.engine.connect() as connection:
            session_id = connection.execute(found).scalar()
        return self.get(session_id) if session_id else None

    @retried
    def unshare(self, session_id: str, token: str | None = None) -> int:
        which = t.links.c.session_id == session_id
        gone = which if token is None else which & (t.links.c.token == token_hash(token))
        with self._writing() as connection:
            row = self._locked(connection, session_id)
            n = connection.execute(delete(t.links).where(gone)).rowcount
            if row is not None:
                linked = connection.execute(select(func.coalesce(func.max(t.links.c.until), 0.0)).where(which)).scalar_one()
                fresh = {"linked_until": linked, "expires": max(self._clock() + row.ttl, linked)}
                connection.execute(update(t.sessions).where(t.sessions.c.id == session_id).values(**fresh))
            return n

    @retried
    def fork(self, session_id: str, *, owner: str = "", ttl: float | None = None) -> Session | None:
        session = self.get(session_id)
        if session is None:
            return None
        copy = new_id()
        now = self._clock()
        with self._writing() as connection:
            row = self._locked(connection, session_id)
            if row is None:
                return None
            new = Session(copy, session.diagnosis, row.name, language=row.language, owner=owner)
            self._insert_session(connection, new, now, row.ttl if ttl is None else ttl, row.n_turns)
            for table, changed in ((t.runs, {}), (t.turns, {"good": None, "reason": ""})):
                values = {"session_id": copy, **changed}
                chosen = [literal(values[c.name], c.type) if c.name in values else c for c in table.c]
                source = select(*chosen).where(table.c.session_id == session_id)
                connection.execute(insert(table).from_select([c.name for c in table.c], source))
        return self.get(copy)
