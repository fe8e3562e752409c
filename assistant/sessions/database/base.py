"""What every part of the database store works with: the connection, the logs, the diagnoses in memory, rows of sessions and runs."""

from __future__ import annotations

import logging
import os
import time
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import partial, wraps
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine, Row, delete, exists, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import OperationalError

from assistant.sessions.database import tables as t
from assistant.sessions.database.engine import open_engine, writing
from assistant.sessions.frames import Damaged
from assistant.sessions.live import Live
from assistant.sessions.logs import LogFolder, Prepared, Stored, TooLarge
from assistant.sessions.opening import Unreadable, open_log
from assistant.sessions.session import log_json
from assistant.sessions.settings import Settings, UnusableStore
from assistant.sessions.tokens import new_id

if TYPE_CHECKING:
    from assistant.diagnosis import Diagnosis
    from assistant.run import Run

log = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")
_TRIES = 5


def retried(method: Callable[P, R]) -> Callable[P, R]:
    """Again, when the database gave this transaction up for another one's sake."""

    @wraps(method)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        for n in range(_TRIES - 1):
            try:
                return method(*args, **kwargs)
            except OperationalError as error:
                if not any(word in str(error.orig).lower() for word in ("deadlock", "serialize")):
                    raise
                time.sleep(0.05 * 2**n)
        return method(*args, **kwargs)

    return run


class LostLog(Exception):
    """A session's log cannot be read any more."""


class Base:
    """Opens the store. Raises UnusableStore."""

    def __init__(self, settings: Settings, clock: Callable[[], float]) -> None:
        self.settings = settings
        self._clock = clock
        try:
            settings.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise UnusableStore("no_folder", error.strerror or str(error)) from error
        self.engine = open_engine(settings)
        with self.engine.connect() as connection:
            name = connection.execute(select(t.about_store.c.value).where(t.about_store.c.name == "id")).scalar_one()
        try:
            self.logs = LogFolder(Path(settings.folder) / "logs" / name)
        except OSError as error:
            self.engine.dispose()
            raise UnusableStore("no_folder", error.strerror or str(error)) from error
        _renew_after_fork(self.engine)
        self.live = Live(settings.live_bytes)
        # SQLite lets one write at a time and has the others try again and again: threads rather wait in a queue.
        self._one_writes: AbstractContextManager[Any] = Lock() if self.engine.dialect.name == "sqlite" else nullcontext()
        self._unpurged = False
        self._stop = Event()
        if settings.sweep_every > 0:
            Thread(target=self._keep_swept, name="runwhy-sweep", daemon=True).start()

    def close(self) -> None:
        self._stop.set()
        self.engine.dispose()

    def sweep(self) -> int:
        raise NotImplementedError

    def _keep_swept(self) -> None:
        while not self._stop.wait(self.settings.sweep_every):
            try:
                self.sweep()
            except Exception as error:  # the database may be away for a while
                log.warning("the store could not be tidied: %s", type(error).__name__)

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._one_writes, writing(self.engine) as connection:
            yield connection

    def _insert(self, table: Any) -> Any:
        """An INSERT that knows ON CONFLICT."""
        return (postgresql if self.engine.dialect.name == "postgresql" else sqlite).insert(table)

    # Sessions

    def _session_row(self, connection: Connection, session_id: str) -> Row[Any] | None:
        found = select(t.sessions).where(t.sessions.c.id == session_id, t.sessions.c.expires >= self._clock())
        return connection.execute(found).first()

    def _locked(self, connection: Connection, session_id: str) -> Row[Any] | None:
        """The session's row, which nobody else changes until the transaction ends; the use is noted."""
        now = self._clock()
        found = select(t.sessions).where(t.sessions.c.id == session_id, t.sessions.c.expires >= now).with_for_update()
        row = connection.execute(found).first()
        if row is not None:
            self._used(connection, row, now)
        return row

    def _touch(self, row: Row[Any]) -> None:
        """Notes the use, but not each of many in a row."""
        now = self._clock()
        if now - row.used > min(60.0, row.ttl / 20):
            with self._writing() as connection:
                self._used(connection, row, now)

    def _used(self, connection: Connection, row: Row[Any], now: float) -> None:
        fresh = {"used": now, "expires": max(now + row.ttl, row.linked_until)}
        connection.execute(update(t.sessions).where(t.sessions.c.id == row.id).values(**fresh))

    def _delete_sessions(self, connection: Connection, condition: Any) -> tuple[int, set[str]]:
        """Sessions with everything that hangs on them; returns how many, and the logs to be released after the commit."""
        ids = list(connection.execute(select(t.sessions.c.id).where(condition).order_by(t.sessions.c.id)).scalars())
        hashes: set[str] = set()
        for at in range(0, len(ids), 500):
            some = ids[at : at + 500]
            hashes.update(h for h in connection.execute(select(t.runs.c.sha256).where(t.runs.c.session_id.in_(some))).scalars() if h)
            connection.execute(delete(t.sessions).where(t.sessions.c.id.in_(some)))
        return len(ids), hashes

    # Runs and their logs

    def _run_rows(self, connection: Connection, session_id: str) -> list[Row[Any]]:
        found = select(t.runs).where(t.runs.c.session_id == session_id).order_by(t.runs.c.position)
        return list(connection.execute(found))

    @contextmanager
    def _prepared(self, source: bytes | Path | None, run: Run) -> Iterator[Prepared | None]:
        """The log ready to be kept (before a transaction: it may take seconds); None when there is none or it cannot be kept.

        A full disk must not keep anybody from a diagnosis: the session then lives as long as this process.
        """
        with ExitStack() as stack:
            ready = None
            if source is not None:
                try:
                    ready = stack.enter_context(self.logs.prepared(source, run.parts, run.n_lines))
                except (TooLarge, OSError) as error:
                    log.warning("a log of %d bytes cannot be kept: %s", run.n_bytes, type(error).__name__)
            yield ready

    def _keep_log(self, connection: Connection, ready: Prepared | None) -> Stored | None:
        """Notes the log, whose row is locked until the transaction ends, and puts its files in their place."""
        if ready is None:
            return None
        stored = ready.stored
        row = {"sha256": stored.sha256, "n_bytes": stored.n_bytes, "n_stored": stored.n_stored, "created": self._clock()}
        insert = self._insert(t.logs).values(**row)
        connection.execute(insert.on_conflict_do_update(index_elements=["sha256"], set_={"n_stored": stored.n_stored}))
        ready.place()
        return stored

    def _release_logs(self, hashes: Iterable[str]) -> None:
        """Removes those of the logs that no run refers to any more; whoever would add one waits for the row's lock.

        In a transaction of its own, that holds nothing else: were it rolled back, nobody would miss the file.
        """
        for sha256 in sorted(hashes):
            self._release_log(sha256)

    @retried
    def _release_log(self, sha256: str) -> None:
        with self._writing() as connection:
            held = connection.execute(select(t.logs.c.sha256).where(t.logs.c.sha256 == sha256).with_for_update()).first()
            if held and not connection.execute(select(exists().where(t.runs.c.sha256 == sha256))).scalar():
                connection.execute(delete(t.logs).where(t.logs.c.sha256 == sha256))
                self.logs.remove(sha256)
                self.live.drop_where(partial(_is_of, sha256))

    def _insert_run(
        self,
        connection: Connection,
        session_id: str,
        position: int,
        diagnosis: Diagnosis,
        name: str,
        stored: Stored | None,
        source: bytes | Path | None,
        format: str | None,
        era: str | None,
    ) -> None:
        row: dict[str, Any] = {
            "session_id": session_id,
            "position": position,
            "name": name,
            "file": new_id() if stored is None else source.name if isinstance(source, Path) else "",
            "kind": "none" if stored is None else stored.kind,
            "sha256": None if stored is None else stored.sha256,
            "format": format,
            "era": era,
            "log": log_json(diagnosis),
            "findings": [finding.id for finding in diagnosis.findings],
        }
        connection.execute(t.runs.insert().values(**row))
        key = _key(None if stored is None else stored.sha256, row["kind"], name, row["file"], format, era)
        self.live.put(key, diagnosis)

    def _diagnosis(self, row: Row[Any]) -> Diagnosis:
        """The diagnosis of a run, from memory or read again. Raises LostLog."""
        key = _key(row.sha256, row.kind, row.name, row.file, row.format, row.era)
        if row.sha256 is None:
            if (found := self.live.peek(key)) is None:
                raise LostLog
            return found
        return self.live.get(key, lambda: self.reading_of(row, row.format, row.era))

    def _remember(self, row: Row[Any], format: str | None, era: str | None, diagnosis: Diagnosis) -> None:
        self.live.put(_key(row.sha256, row.kind, row.name, row.file, format, era), diagnosis)

    def reading_of(self, row: Row[Any], format: str | None, era: str | None) -> Diagnosis:
        """The run's log read again. Raises LostLog, and Unreadable when another ``format`` than its own finds nothing."""
        try:
            with self.logs.opened(row.sha256, row.kind, row.file) as source:
                return open_log(source, name=row.name, format=format, era=era)
        except (Damaged, OSError, ValueError) as error:
            if isinstance(error, Unreadable) and format != row.format:
                raise
            log.warning("the log %s cannot be read again: %s", row.sha256[:12], type(error).__name__)
            raise LostLog from error

    # Leaving nothing behind

    def _purge(self) -> None:
        """What was deleted is not left in SQLite's write-ahead file either."""
        self._unpurged = False
        if self.engine.dialect.name != "sqlite":
            return
        with suppress(Exception):
            connection = self.engine.raw_connection()
            try:
                cursor = connection.cursor()
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # waits for those who read
                cursor.fetchall()
                cursor.close()
            finally:
                connection.close()


def _renew_after_fork(engine: Engine) -> None:
    """A forked child makes connections of its own: neither database allows using the parent's."""
    if hasattr(os, "register_at_fork"):
        known = weakref.ref(engine)

        def renew() -> None:
            if (mine := known()) is not None:
                mine.dispose(close=False)

        os.register_at_fork(after_in_child=renew)


def _key(sha256: str | None, kind: str, name: str, file: str, format: str | None, era: str | None) -> Hashable:
    return ("", file) if sha256 is None else (sha256, kind, name, file, format, era)


def _is_of(sha256: str, key: Hashable) -> bool:
    return isinstance(key, tuple) and key[0] == sha256
