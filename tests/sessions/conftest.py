"""Stores to test: memory, SQLite, and PostgreSQL on a cluster of our own (or on ``RUNWHY_TEST_POSTGRES``)."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from assistant.sessions import MemoryStore, SessionStore, Settings


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Kind:
    """One kind of store on one place: ``open`` opens it, again and again."""

    name: str
    folder: Path
    url: str = ""
    clock: Clock = field(default_factory=Clock)
    opened: list[Any] = field(default_factory=list)

    @property
    def lasting(self) -> bool:
        return self.name != "memory"

    def open(self, **settings: Any) -> Any:
        if self.name == "memory":
            store: Any = MemoryStore(clock=self.clock, **{k: v for k, v in settings.items() if k in ("ttl", "max_sessions")})
        else:
            from assistant.sessions.database import DatabaseStore

            store = DatabaseStore(self.url, self.folder, clock=self.clock, sweep_every=0.0, **settings)
        self.opened.append(store)
        return store

    def settings(self) -> Settings:
        return Settings(self.url, self.folder, sweep_every=0.0)

    def close(self) -> None:
        for store in self.opened:
            store.close()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """URL of a PostgreSQL server whose databases we may make and drop, without a database."""
    if url := os.environ.get("RUNWHY_TEST_POSTGRES"):
        yield url
        return
    pytest.importorskip("psycopg")
    found = shutil.which("initdb") or next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)), None)
    if found is None:
        pytest.skip("no PostgreSQL here: install it, or set RUNWHY_TEST_POSTGRES to the URL of a server")
    programs, user = Path(found).parent, None
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        try:
            user = pwd.getpwnam("postgres").pw_name
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
    place = Path(tempfile.mkdtemp(prefix="rw-pg-"))
    if user:
        shutil.chown(place, user)

    def run(*command: str) -> None:
        subprocess.run(command, user=user, check=True, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    data = str(place / "data")
    options = f"-c listen_addresses='' -c unix_socket_directories={place} -c fsync=off -c shared_buffers=32MB -c max_connections=60"
    control = str(programs / "pg_ctl")
    try:
        run(str(programs / "initdb"), "-D", data, "-U", "runwhy", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
        run(control, "-D", data, "-w", "-l", str(place / "log"), "-o", options, "start")
        yield f"postgresql://runwhy@/postgres?host={place}"
    finally:
        subprocess.run([control, "-D", data, "-m", "immediate", "stop"], user=user, cwd=place, capture_output=True)
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """A database of our own."""
    from sqlalchemy import create_engine, make_url, text

    name = f"rw_{uuid4().hex[:12]}"
    server = make_url(postgres_server).set(drivername="postgresql+psycopg")
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        yield make_url(postgres_server).set(database=name).render_as_string(hide_password=False)
        with engine.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    finally:
        engine.dispose()


def _kind(name: str, request: pytest.FixtureRequest, folder: Path) -> Kind:
    return Kind(name, folder / "data", request.getfixturevalue("postgres_url") if name == "postgres" else "")


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kind]:
    """Every store there is."""
    one = _kind(request.param, request, tmp_path)
    yield one
    one.close()


@pytest.fixture(params=["sqlite", "postgres"])
def lasting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kind]:
    """The stores that survive a restart."""
    one = _kind(request.param, request, tmp_path)
    yield one
    one.close()


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Kind]:
    one = Kind("sqlite", tmp_path / "data")
    yield one
    one.close()


@pytest.fixture
def store(kind: Kind) -> SessionStore:
    opened: SessionStore = kind.open()
    return opened
