"""What was asked, answered and thought of it, and what faces noted down, in the database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, delete, select, update

from assistant.messages import Language
from assistant.sessions.database import tables as t
from assistant.sessions.database.base import retried
from assistant.sessions.database.conversations import turn_of
from assistant.sessions.database.runs import Runs
from assistant.sessions.feedback import feedback_json
from assistant.sessions.session import Exchange, answer_json
from assistant.sessions.tokens import small_json

if TYPE_CHECKING:
    from assistant.answers import Answer, Turn

MOST_TURNS = 1000
"""Of a session; the oldest go."""

_EXPORTED_AT_ONCE = 200


class Turns(Runs):
    @retried
    def add_turn(self, session_id: str, turn: Turn, *, answer: Answer | None = None) -> int | None:
        with self._writing() as connection:
            return self._insert_turn(connection, session_id, turn, answer)

    def _insert_turn(self, connection: Connection, session_id: str, turn: Turn, answer: Answer | None) -> int | None:
        row = self._locked(connection, session_id)
        if row is None:
            return None
        number: int = row.n_turns
        kept = {
            "session_id": session_id,
            "number": number,
            "at": self._clock(),
            "question": turn.question,
            "metrics": list(turn.metrics),
            "findings": list(turn.findings),
            "plain": turn.answer,
            "answer": answer_json(answer),
            "good": None,
            "reason": "",
        }
        connection.execute(t.turns.insert().values(**kept))
        connection.execute(update(t.sessions).where(t.sessions.c.id == session_id).values(n_turns=number + 1))
        if number >= MOST_TURNS:
            old = (t.turns.c.session_id == session_id) & (t.turns.c.number <= number - MOST_TURNS)
            connection.execute(delete(t.turns).where(old))
        return number

    def transcript(self, session_id: str) -> list[Exchange]:
        with self.engine.connect() as connection:
            if self._session_row(connection, session_id) is None:
                return []
            found = select(t.turns).where(t.turns.c.session_id == session_id).order_by(t.turns.c.number)
            return [_exchange(one) for one in connection.execute(found)]

    # Feedback

    @retried
    def feedback(self, session_id: str, turn_index: int, good: bool | None, reason: str = "") -> bool:
        which = (t.turns.c.session_id == session_id) & (t.turns.c.number == turn_index)
        with self._writing() as connection:
            session = self._locked(connection, session_id)
            turn = connection.execute(select(t.turns).where(which)).first() if session is not None else None
            if session is None or turn is None:
                return False
            reason = reason if good is not None else ""
            connection.execute(update(t.turns).where(which).values(good=good, reason=reason))
            given = (t.feedback.c.session_id == session_id) & (t.feedback.c.number == turn_index)
            connection.execute(delete(t.feedback).where(given))
            if good is not None:
                first = self._run_rows(connection, session_id)[0]
                now = self._clock()
                exchange = Exchange(turn_index, turn_of(turn), turn.at, turn.answer, good, reason)
                body = feedback_json(exchange, log=first.log, findings=first.findings, at=now)
                row = {"session_id": session_id, "number": turn_index, "owner": session.owner, "at": now, "body": body}
                connection.execute(t.feedback.insert().values(**row))
            return True

    def given_feedback(self) -> Iterator[dict[str, Any]]:
        columns = (t.feedback.c.at, t.feedback.c.session_id, t.feedback.c.number)
        after: tuple[Any, ...] | None = None
        while True:
            found = select(t.feedback).order_by(*columns).limit(_EXPORTED_AT_ONCE)
            if after is not None:
                at, session_id, number = after
                same = columns[0] == at
                found = found.where(
                    (columns[0] > at)
                    | (same & (columns[1] > session_id))
                    | (same & (columns[1] == session_id) & (columns[2] > number))
                )  # fmt: skip
            with self.engine.connect() as connection:
                rows = list(connection.execute(found))
            yield from (row.body for row in rows)
            if len(rows) < _EXPORTED_AT_ONCE:
                return
            after = (rows[-1].at, rows[-1].session_id, rows[-1].number)

    # What faces remember

    @retried
    def set_language(self, session_id: str, language: Language | None) -> None:
        with self._writing() as connection:
            if self._locked(connection, session_id) is not None:
                connection.execute(update(t.sessions).where(t.sessions.c.id == session_id).values(language=language))

    @retried
    def keep(self, session_id: str, key: str, value: Any) -> None:
        value = small_json(value)
        with self._writing() as connection:
            row = self._locked(connection, session_id)
            if row is not None:
                kept = {name: one for name, one in {**row.kept, key: value}.items() if one is not None}
                connection.execute(update(t.sessions).where(t.sessions.c.id == session_id).values(kept=kept))


def _exchange(row: Row[Any]) -> Exchange:
    return Exchange(row.number, turn_of(row), row.at, row.answer, row.good, row.reason)
