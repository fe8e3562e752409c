"""SQLite stores: MLflow's ``mlflow.db`` and Trackio's ``<project>.db``. Of several runs the latest is read.

Opened read-only; only tables are read, never views or triggers of an unknown file. The line of a value is its row number.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from assistant.logs.files.finished import finish, other_runs
from assistant.logs.files.json_text import line_object
from assistant.logs.files.points import Points
from assistant.logs.files.rows import RowWriter, flat_settings
from assistant.logs.files.settings import json_value
from assistant.logs.files.source import Pieces, Progress
from assistant.logs.formats.base import BlockReader
from assistant.logs.stream import UnreadableLog
from assistant.run import Note, Run

MAGIC = b"SQLite format 3\x00"
_INFINITE = 1.7976931348623157e308
"""What MLflow stores for an infinite value."""
_ROWS = 20_000


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection. A write-ahead log beside the file is read, too, where the folder allows it."""
    connection: sqlite3.Connection | None = None
    for how in ("mode=ro", "mode=ro&immutable=1"):
        with suppress(sqlite3.Error):
            connection = sqlite3.connect(f"file:{quote(str(path.resolve()))}?{how}", uri=True)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            break
        if connection is not None:
            connection.close()
            connection = None
    if connection is None:
        raise UnreadableLog("damaged", path.name)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    try:
        yield connection
    except sqlite3.DatabaseError as error:
        raise UnreadableLog("damaged", f"{path.name}: {error}") from error
    finally:
        connection.close()


def columns_of(connection: sqlite3.Connection, table: str) -> set[str]:
    """Names of the columns of a table (empty when there is no such table)."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone():
        return set()
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}


@contextmanager
def as_path(source: Path | bytes) -> Iterator[Path]:
    """The source as a file; bytes are laid into a temporary one."""
    if isinstance(source, Path):
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="runwhy-") as folder:
        path = Path(folder) / "store.db"
        path.write_bytes(source)
        yield path


class _Database:
    name: str
    shape = "database"
    frameworks: Sequence[str] = ("generic", "trl", "hf-trainer", "verl")
    columns: frozenset[str]
    """Columns of the table ``metrics`` by which the store is known."""

    def claims(self, path: Path | None, head: bytes) -> str:
        if not head.startswith(MAGIC):
            return ""
        if path is None:
            return self.name
        try:
            with opened(path) as connection:
                return self.name if self.columns <= columns_of(connection, "metrics") else ""
        except UnreadableLog:
            return ""

    def open(self, source: Path | bytes, progress: Callable[[int], None] | None = None) -> Run:
        pieces = Pieces(source, progress)
        for _ in pieces:
            pass
        with as_path(source) as path, opened(path) as connection:
            return pieces.sign(self.read(connection, None))

    def read(self, connection: sqlite3.Connection, progress: Progress | None) -> Run:
        raise NotImplementedError


class MlflowDatabase(_Database):
    name = "mlflow-db"
    columns = frozenset({"key", "value", "step", "run_uuid"})

    def claims(self, path: Path | None, head: bytes) -> str:
        return super().claims(path, head) if path is not None else ""

    def read(self, connection: sqlite3.Connection, progress: Progress | None) -> Run:
        counted = dict(connection.execute("SELECT run_uuid, count(*) FROM metrics GROUP BY run_uuid"))
        started: dict[str, tuple[int, str]] = {}
        if {"run_uuid", "start_time"} <= columns_of(connection, "runs"):
            for run_id, name, start in connection.execute("SELECT run_uuid, name, start_time FROM runs"):
                started[run_id] = (start or 0, name or run_id)
        runs = sorted(counted, key=lambda one: started.get(one, (0, one)))
        points = Points()
        run_id = runs[-1] if runs else ""
        nan = "is_nan" if "is_nan" in columns_of(connection, "metrics") else "0"
        query = f"SELECT rowid, key, value, step, {nan} FROM metrics WHERE run_uuid = ? ORDER BY timestamp, rowid"
        for place, key, value, step, is_nan in connection.execute(query, (run_id,)):
            if isinstance(key, str) and isinstance(step, int) and isinstance(value, (int, float)):
                number = float("nan") if is_nan else float(value)
                points.add(key, step, place, number if abs(number) < _INFINITE else number * 2)
        run = Run(format=self.name, **points.fields())
        run.n_lines = len(points)
        if {"key", "value"} <= columns_of(connection, "params"):
            params = connection.execute("SELECT key, value FROM params WHERE run_uuid = ?", (run_id,))
            run.config = flat_settings({str(key): json_value(str(value)) for key, value in params})
        return finish(run, notes=_others([started.get(one, (0, one))[1] for one in runs]))


class TrackioDatabase(_Database):
    name = "trackio"
    columns = frozenset({"metrics", "step", "run_name"})

    def claims(self, path: Path | None, head: bytes) -> str:
        return super().claims(path, head) if path is not None else ""

    def read(self, connection: sqlite3.Connection, progress: Progress | None) -> Run:
        known = columns_of(connection, "metrics")
        who = "run_id" if "run_id" in known else "run_name"
        runs = connection.execute(f"SELECT {who}, run_name, max(id) FROM metrics GROUP BY {who} ORDER BY max(id)").fetchall()
        run_id = runs[-1][0] if runs else ""
        rows = BlockReader()
        writer = RowWriter(rows)
        query = f"SELECT id, step, metrics FROM metrics WHERE {who} = ? ORDER BY id"
        for place, step, metrics in connection.execute(query, (run_id,)):
            found = line_object(metrics if isinstance(metrics, bytes) else str(metrics).encode("utf-8", "replace"))
            if isinstance(found, dict) and isinstance(step, int):
                writer.add({"step": step, **{key: value for key, value in found.items() if key != "step"}}, int(place))
        writer.finish()
        run = Run(format=self.name, **rows.table.finish())
        run.n_lines = run.n_rows
        if "config" in columns_of(connection, "configs"):
            column = who if who in columns_of(connection, "configs") else "run_name"
            found = connection.execute(f"SELECT config FROM configs WHERE {column} = ?", (run_id,)).fetchone()
            with suppress(ValueError, RecursionError):
                config = json.loads(found[0]) if found else {}
                run.config = flat_settings({key: value for key, value in config.items() if not key.startswith("_")})
        return finish(run, notes=_others([str(name) for _, name, _ in runs]))


def _others(runs: Sequence[str]) -> list[Note]:
    """``runs``: names of all runs of the store, the one that is read last."""
    return other_runs(runs[-1], runs[:-1]) if runs else []


class Database:
    """Chooses between the stores when only bytes are at hand."""

    name = "sqlite"
    shape = "database"
    frameworks: Sequence[str] = ("generic",)

    def claims(self, path: Path | None, head: bytes) -> str:
        return "SQLite file" if head.startswith(MAGIC) else ""

    def open(self, source: Path | bytes, progress: Callable[[int], None] | None = None) -> Run:
        with as_path(source) as path:
            for one in (MlflowDatabase(), TrackioDatabase()):
                if one.claims(path, MAGIC):
                    run = one.open(path, progress)
                    return run
        pieces = Pieces(source)
        for _ in pieces:
            pass
        return pieces.sign(Run(format=self.name, notes=[Note("unknown-store")]))


FORMATS = (MlflowDatabase(), TrackioDatabase(), Database())
