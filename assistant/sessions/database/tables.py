"""The tables. A change here needs a migration in ``assistant/sessions/migrations``; a test compares the two.

Times are seconds since 1970. Texts may hold anything a user pasted, so that they are stored without what a database refuses.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Boolean, Column, Double, ForeignKey, Integer, MetaData, String, Table, Text, TypeDecorator
from sqlalchemy.engine import Dialect

from assistant.sessions.tokens import clean

metadata = MetaData()


class Words(TypeDecorator[str]):
    """Text from a user."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else clean(value)


class Json(TypeDecorator[Any]):
    """A value as JSON in ASCII, which every database takes."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        return json.dumps(value, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


def _of_session(**options: Any) -> Column[str]:
    return Column("session_id", String(64), ForeignKey("sessions.id", ondelete="CASCADE"), **options)


about_store = Table("about_store", metadata, Column("name", String(40), primary_key=True), Column("value", Text, nullable=False))

sessions = Table(
    "sessions",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("name", Words, nullable=False),
    Column("owner", Words, nullable=False, index=True),
    Column("language", String(8)),
    Column("kept", Json, nullable=False),
    Column("created", Double, nullable=False),
    Column("used", Double, nullable=False, index=True),
    Column("ttl", Double, nullable=False),
    Column("linked_until", Double, nullable=False),
    Column("expires", Double, nullable=False, index=True),
    Column("n_turns", Integer, nullable=False),
)

logs = Table(
    "logs",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("n_bytes", Double, nullable=False),
    Column("n_stored", Double, nullable=False),
    Column("created", Double, nullable=False),
)

runs = Table(
    "runs",
    metadata,
    _of_session(primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("name", Words, nullable=False),
    Column("file", Words, nullable=False),
    Column("kind", String(10), nullable=False),
    Column("sha256", String(64), ForeignKey("logs.sha256"), index=True),
    Column("format", Words),
    Column("era", Words),
    Column("log", Json, nullable=False),
    Column("findings", Json, nullable=False),
)

turns = Table(
    "turns",
    metadata,
    _of_session(primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("question", Words, nullable=False),
    Column("metrics", Json, nullable=False),
    Column("findings", Json, nullable=False),
    Column("plain", Words, nullable=False),
    Column("answer", Json, nullable=False),
    Column("good", Boolean),
    Column("reason", Words, nullable=False),
)

feedback = Table(
    "feedback",
    metadata,
    Column("session_id", String(64), primary_key=True),  # no foreign key: it outlives the session
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("owner", Words, nullable=False, index=True),
    Column("at", Double, nullable=False, index=True),
    Column("body", Json, nullable=False),
)

questions = Table(
    "questions",
    metadata,
    Column("id", String(64), primary_key=True),
    _of_session(index=True),
    Column("question", Words, nullable=False),
    Column("key", Words, nullable=False),
    Column("owner", Words, nullable=False, index=True),
    Column("data", Json, nullable=False),
    Column("asked", Double, nullable=False, index=True),
    Column("attempts", Integer, nullable=False),
    Column("worker", Words, nullable=False),
    Column("lease", Double, nullable=False),
    Column("answered", Boolean, nullable=False),
    Column("turn_index", Integer),
    Column("lane", String(64), nullable=False, index=True, server_default=""),
)

seen = Table("seen", metadata, Column("key", String(64), primary_key=True), Column("until", Double, nullable=False, index=True))

threads = Table("threads", metadata, Column("key", String(64), primary_key=True), _of_session(nullable=False, index=True))

links = Table(
    "links",
    metadata,
    Column("token", String(64), primary_key=True),
    _of_session(nullable=False, index=True),
    Column("until", Double, nullable=False, index=True),
)

__all__ = ["about_store", "feedback", "links", "logs", "metadata", "questions", "runs", "seen", "sessions", "threads", "turns"]
