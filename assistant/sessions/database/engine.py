"""The connection to the database: opened safely for several threads and processes, and brought to the newest tables."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError

from assistant.sessions.settings import Settings, UnusableStore

REVISION = "0002"
"""The newest migration; a test compares it with the scripts."""

WAIT = 30.0
"""Seconds to wait for another process that writes."""

_LOCK = 0x72756E776879  # for PostgreSQL: who migrates


def open_engine(settings: Settings) -> Engine:
    """Raises UnusableStore."""
    url = _url(settings)
    try:
        engine = _sqlite(url) if url.get_backend_name() == "sqlite" else _postgresql(url)
    except ModuleNotFoundError as error:
        raise UnusableStore("needs_postgres") from error
    try:
        migrate(engine)
    except (DBAPIError, sqlite3.Error) as error:  # before a transaction, the driver's own errors come through
        engine.dispose()
        raise UnusableStore("no_database", _reason(error)) from error
    except BaseException:
        engine.dispose()
        raise
    return engine


def _url(settings: Settings) -> URL:
    if not settings.url:
        return URL.create("sqlite", database=str(settings.folder / "sessions.db"))
    try:
        url = make_url(settings.url)
        backend = {"postgres": "postgresql"}.get(url.drivername, url.get_backend_name())
    except (ArgumentError, ValueError) as error:
        raise UnusableStore("bad_url") from error
    if backend == "sqlite" and url.database and url.database != ":memory:":
        return url.set(drivername="sqlite")
    if backend == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    raise UnusableStore("bad_url")


def _reason(error: DBAPIError | sqlite3.Error) -> str:
    """What the database says, in one line; neither the statement nor its values."""
    said = str(error.orig if isinstance(error, DBAPIError) else error).strip()
    return said.splitlines()[0][:200] if said else type(error).__name__


# SQLite


def _sqlite(url: URL) -> Engine:
    path = Path(str(url.database))
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # the files beside it get the same mode
    except OSError as error:
        raise UnusableStore("no_folder", error.strerror or str(error)) from error
    engine = create_engine(url, connect_args={"timeout": WAIT}, hide_parameters=True, pool_size=8, max_overflow=24)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # `_begin` begins transactions, the driver does not
    cursor = connection.cursor()
    # With write-ahead logging, NORMAL survives a killed process; only the last moments before a power cut can be missing.
    for pragma in ("foreign_keys = ON", "synchronous = NORMAL", "secure_delete = ON", f"busy_timeout = {int(WAIT * 1000)}"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _write_ahead(engine: Engine) -> None:
    """Readers and a writer do not wait for one another. The change itself needs the file for itself, and SQLite does not wait for that."""
    until = time.monotonic() + WAIT
    while True:
        connection = engine.raw_connection()
        try:
            cursor = connection.cursor()
            cursor.execute("PRAGMA journal_mode = WAL")
            cursor.close()
            return
        except Exception as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise OperationalError("PRAGMA journal_mode", None, error) from error
            time.sleep(0.02)
        finally:
            connection.close()


# PostgreSQL


def _postgresql(url: URL) -> Engine:
    return create_engine(url, pool_size=8, max_overflow=24, pool_pre_ping=True, hide_parameters=True, connect_args={"connect_timeout": 10})


# Both


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes; on SQLite it holds the one lock from its beginning, so that what it reads stays true."""
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        yield connection


def migrate(engine: Engine) -> None:
    """Brings the tables to the newest revision; processes that start together wait for one another."""
    if engine.dialect.name == "sqlite":
        _write_ahead(engine)
    with engine.connect() as connection:
        if revision_of(connection) == REVISION:
            return
    with writing(engine) as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        if revision_of(connection) == REVISION:
            return
        from alembic import command
        from alembic.util import CommandError

        config = alembic_config()
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise UnusableStore("newer_store") from error


def revision_of(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def alembic_config() -> Any:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).resolve().parent.parent / "migrations").replace("%", "%%"))
    return config
