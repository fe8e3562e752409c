"""The runs of a session in the database: further ones, read again as something else, and their lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, delete, update

from assistant.sessions.database import tables as t
from assistant.sessions.database.base import LostLog, retried
from assistant.sessions.database.conversations import Conversations
from assistant.sessions.frames import Damaged
from assistant.sessions.session import Lines, Session, log_json

if TYPE_CHECKING:
    from assistant.diagnosis import Diagnosis


class Runs(Conversations):
    @retried
    def add_run(self, session_id: str, diagnosis: Diagnosis, name: str = "", *, source: bytes | Path | None = None) -> Session | None:
        with self._prepared(source, diagnosis.run) as ready, self._writing() as connection:
            if self._locked(connection, session_id) is not None:
                stored = self._keep_log(connection, ready)
                position = self._run_rows(connection, session_id)[-1].position + 1
                self._insert_run(connection, session_id, position, diagnosis, name, stored, source, None, None)
        return self.get(session_id)

    @retried
    def remove_run(self, session_id: str, index: int) -> Session | None:
        hashes: list[str] = []
        with self._writing() as connection:
            runs = self._run_rows(connection, session_id) if self._locked(connection, session_id) is not None else []
            if 0 <= index < len(runs) - 1:
                gone = runs[index + 1]
                which = (t.runs.c.session_id == session_id) & (t.runs.c.position == gone.position)
                connection.execute(delete(t.runs).where(which))
                hashes = [gone.sha256] if gone.sha256 else []
        self._release_logs(hashes)
        return self.get(session_id)

    def reread(self, session_id: str, *, format: str | None = None, era: str | None = None) -> Session | None:
        row = self._run(session_id, 0)
        if row is None or row.sha256 is None:
            return None
        try:
            diagnosis = self.reading_of(row, format, era)
        except LostLog:
            return None
        self._read_as(row, diagnosis, format, era)
        return self.get(session_id)

    @retried
    def _read_as(self, row: Row[Any], diagnosis: Diagnosis, format: str | None, era: str | None) -> None:
        which = (t.runs.c.session_id == row.session_id) & (t.runs.c.position == row.position)
        fresh = {"format": format, "era": era, "log": log_json(diagnosis), "findings": [finding.id for finding in diagnosis.findings]}
        with self._writing() as connection:
            connection.execute(update(t.runs).where(which).values(**fresh))
        self._remember(row, format, era, diagnosis)

    # Lines

    def lines(self, session_id: str, first: int, last: int, *, run: int = 0) -> Lines:
        row = self._run(session_id, run)
        if row is None or row.sha256 is None:
            return Lines()
        try:
            return self.logs.lines(row.sha256, first, last)
        except Damaged:
            return Lines()

    def search(self, session_id: str, words: str, *, first: int = 1, limit: int = 200, run: int = 0) -> tuple[list[int], bool]:
        row = self._run(session_id, run)
        if row is None or row.sha256 is None:
            return [], False
        try:
            return self.logs.search(row.sha256, words, first, limit)
        except Damaged:
            return [], False

    def _run(self, session_id: str, index: int) -> Row[Any] | None:
        with self.engine.connect() as connection:
            row = self._session_row(connection, session_id)
            runs = self._run_rows(connection, session_id) if row is not None else []
        if row is None or not 0 <= index < len(runs):
            return None
        self._touch(row)
        return runs[index]
