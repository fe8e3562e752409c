"""What is forgotten is gone from the disk, secrets are kept as hashes, and nothing is told to our own logs."""

from __future__ import annotations

import logging
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError

from assistant.answers import answer
from assistant.sessions import open_log
from assistant.sessions.database import tables as t
from tests.sessions.conftest import Kind
from tests.sessions.logs import log_text, opened, shown, turn

SECRET = "Zaphod-Beeblebrox-42"


def written(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def all_rows(store: Any) -> str:
    with store.engine.connect() as connection:
        return repr([list(connection.execute(select(table))) for table in t.metadata.sorted_tables])


def busy(store: Any, owner: str) -> tuple[Any, str]:
    """A session with everything that a session can have."""
    data = log_text() + f"# {SECRET}\n".encode()
    session = store.create(open_log(data), f"{SECRET}.log", source=data, owner=owner)
    given = answer(f"why? {SECRET}", session.diagnosis)
    store.add_turn(session.id, given.turn, answer=given)
    store.feedback(session.id, 0, False, SECRET)
    store.keep(session.id, "guide", SECRET)
    store.bind(SECRET, session.id)
    assert store.ask(session.id, SECRET, key=SECRET, owner=owner, data={"text": SECRET})
    return session, store.share(session.id)


@pytest.mark.parametrize("way", ["forget", "remove"])
def test_nothing_of_what_is_forgotten_is_left(lasting: Kind, way: str) -> None:
    store = lasting.open()
    session, _ = busy(store, SECRET)
    assert SECRET in all_rows(store)
    if lasting.name == "sqlite":
        assert SECRET.encode() in written(lasting.folder)
    if way == "forget":
        assert store.forget(SECRET) == 1
    else:
        store.remove(session.id, feedback=True)
    assert SECRET not in all_rows(store)
    assert SECRET.encode() not in written(lasting.folder)  # the database's file and its write-ahead file, too
    assert list(lasting.folder.rglob("*.zst")) == []
    assert len(store.live) == 0


def test_tokens_are_kept_as_hashes(lasting: Kind) -> None:
    store = lasting.open()
    session, token = busy(store, "ann")
    assert store.by_token(token).id == session.id
    assert token not in all_rows(store)
    assert token.encode() not in written(lasting.folder)


def test_our_logs_tell_nothing_of_what_people_write(lasting: Kind, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("sqlalchemy.engine").setLevel(logging.INFO)  # every statement
    try:
        store = lasting.open()
        session, token = busy(store, SECRET)
        again = lasting.open()
        assert shown(again.get(session.id))
        store.forget(SECRET)
        with pytest.raises(DBAPIError) as problem, store.engine.connect() as connection:
            connection.execute(text("SELECT :words FROM nowhere"), {"words": SECRET})
    finally:
        logging.getLogger("sqlalchemy.engine").setLevel(logging.NOTSET)
    told = caplog.text + str(problem.value)
    assert "INSERT INTO sessions" in told
    assert SECRET not in told
    assert token not in told
    assert "actor/entropy" not in told


def test_only_the_owner_can_read_the_store(sqlite: Kind) -> None:
    old = os.umask(0)
    try:
        busy(sqlite.open(), "ann")
        places = [sqlite.folder, *sqlite.folder.rglob("*")]
        assert any(path.name == "sessions.db-wal" for path in places)
        for path in places:
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    finally:
        os.umask(old)


# Tidying up


def test_old_feedback_and_abandoned_questions_go(lasting: Kind) -> None:
    store = lasting.open(ttl=1e9, feedback_ttl=100 * 86400.0)
    session, _ = busy(store, "ann")
    lasting.clock.now += 8 * 86400
    store.sweep()
    assert store.open_questions() == []
    assert len(list(store.given_feedback())) == 1
    lasting.clock.now += 93 * 86400
    store.sweep()
    assert list(store.given_feedback()) == []
    assert store.get(session.id)


def test_what_a_process_that_died_left_behind_is_cleared_away(lasting: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    store = lasting.open()
    kept, gone = opened(store, log_text(20)), opened(store, log_text(21))
    with monkeypatch.context() as patch:  # it dies after the session was deleted, before its log is
        patch.setattr(store, "_release_logs", lambda hashes: None)
        store.remove(gone.id)
    fresh, old = store.logs.put(b"just being written\n"), store.logs.put(b"an hour ago\n")
    for path in store.logs.folder.glob(f"*/{old.sha256}*"):
        os.utime(path, (time.time() - 7200,) * 2)
    begun = store.logs.folder / "new-abc"
    begun.write_bytes(b"half")
    os.utime(begun, (time.time() - 7200,) * 2)
    assert store.logs.has(gone.diagnosis.run.sha256)
    assert store.sweep() == 0
    assert not store.logs.has(gone.diagnosis.run.sha256)
    assert not store.logs.has(old.sha256)
    assert not begun.exists()
    assert store.logs.has(fresh.sha256)
    assert shown(store.get(kept.id)) == shown(kept)


def test_room_on_the_disk_is_bounded(lasting: Kind) -> None:
    store = lasting.open(max_bytes=40_000)
    sessions = []
    for number in range(6):
        data = log_text(20) + os.urandom(15_000).hex()[:15_000].encode()
        sessions.append(opened(store, data, name=str(number)))
        lasting.clock.now += 10
    stored = [path.stat().st_size for path in store.logs.folder.rglob("*.zst")]
    assert sum(stored) > 40_000
    assert 0 < store.sweep() < 6
    left = [about.name for about in store.sessions()]
    assert left == [str(n) for n in range(5, 5 - len(left), -1)]  # the last used stay
    assert sum(path.stat().st_size for path in store.logs.folder.rglob("*.zst")) <= 40_000


def test_the_store_tidies_itself_while_it_is_open(sqlite: Kind) -> None:
    from assistant.sessions.database import DatabaseStore

    store = DatabaseStore("", sqlite.folder, clock=sqlite.clock, ttl=10, sweep_every=0.05)
    try:
        store.create(open_log(log_text()), source=log_text())
        sqlite.clock.now += 11
        until = time.time() + 10
        while list(sqlite.folder.rglob("*.zst")) and time.time() < until:
            time.sleep(0.02)
        assert list(sqlite.folder.rglob("*.zst")) == []
    finally:
        store.close()


def test_another_process_that_forgets_is_noticed(sqlite: Kind) -> None:
    one, two = sqlite.open(), sqlite.open()
    session = opened(one, owner="ann")
    assert two.get(session.id)
    two.forget("ann")
    assert one.get(session.id) is None
    assert one.add_turn(session.id, turn()) is None
    assert len(one.live) == 1
    one.sweep()
    assert len(one.live) == 0


def test_a_log_that_cannot_be_kept_keeps_nobody_from_a_diagnosis(sqlite: Kind, caplog: pytest.LogCaptureFixture) -> None:
    store = sqlite.open()
    store.logs.folder.rmdir()
    store.logs.folder.write_text("the disk is full")
    session = opened(store)
    assert shown(store.get(session.id)) == shown(session)
    assert store.add_turn(session.id, turn()) == 0
    assert store.lines(session.id, 1, 5).total == 0
    assert "cannot be kept" in caplog.text
    assert sqlite.open().get(session.id) is None
