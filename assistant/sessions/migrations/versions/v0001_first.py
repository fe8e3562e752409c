"""The first tables."""

from __future__ import annotations

import secrets
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    about = op.create_table("about_store", sa.Column("name", sa.String(40), primary_key=True), sa.Column("value", sa.Text, nullable=False))
    op.bulk_insert(about, [{"name": "id", "value": secrets.token_hex(8)}])
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(64), primary_key=True),
        _text("name"),
        _text("owner"),
        sa.Column("language", sa.String(8)),
        _text("kept"),
        _number("created"),
        _number("used"),
        _number("ttl"),
        _number("linked_until"),
        _number("expires"),
        sa.Column("n_turns", sa.Integer, nullable=False),
    )
    op.create_table(
        "logs", sa.Column("sha256", sa.String(64), primary_key=True), _number("n_bytes"), _number("n_stored"), _number("created")
    )
    op.create_table(
        "runs",
        _session(primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        _text("name"),
        _text("file"),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("sha256", sa.String(64), sa.ForeignKey("logs.sha256")),
        sa.Column("format", sa.Text),
        sa.Column("era", sa.Text),
        _text("log"),
        _text("findings"),
    )
    op.create_table(
        "turns",
        _session(primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        _number("at"),
        _text("question"),
        _text("metrics"),
        _text("findings"),
        _text("plain"),
        _text("answer"),
        sa.Column("good", sa.Boolean),
        _text("reason"),
    )
    op.create_table(
        "feedback",
        sa.Column("session_id", sa.String(64), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        _text("owner"),
        _number("at"),
        _text("body"),
    )
    op.create_table(
        "questions",
        sa.Column("id", sa.String(64), primary_key=True),
        _session(),
        _text("question"),
        _text("key"),
        _text("owner"),
        _text("data"),
        _number("asked"),
        sa.Column("attempts", sa.Integer, nullable=False),
        _text("worker"),
        _number("lease"),
        sa.Column("answered", sa.Boolean, nullable=False),
        sa.Column("turn_index", sa.Integer),
    )
    op.create_table("seen", sa.Column("key", sa.String(64), primary_key=True), _number("until"))
    op.create_table("threads", sa.Column("key", sa.String(64), primary_key=True), _session(nullable=False))
    op.create_table("links", sa.Column("token", sa.String(64), primary_key=True), _session(nullable=False), _number("until"))
    for table, column in (
        ("sessions", "owner"),
        ("sessions", "used"),
        ("sessions", "expires"),
        ("runs", "sha256"),
        ("feedback", "owner"),
        ("feedback", "at"),
        ("questions", "session_id"),
        ("questions", "owner"),
        ("questions", "asked"),
        ("seen", "until"),
        ("threads", "session_id"),
        ("links", "session_id"),
        ("links", "until"),
    ):
        op.create_index(f"ix_{table}_{column}", table, [column])


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False)


def _number(name: str) -> sa.Column[float]:
    return sa.Column(name, sa.Double, nullable=False)


def _session(**options: Any) -> sa.Column[str]:
    return sa.Column("session_id", sa.String(64), sa.ForeignKey("sessions.id", ondelete="CASCADE"), **options)
