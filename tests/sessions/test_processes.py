"""Several real processes on one store: starting at once, racing for questions, dying in mid-answer."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from assistant.sessions import open_log
from tests.sessions.conftest import Kind
from tests.sessions.logs import log_text, opened, shown, turn

PRELUDE = """
import sys, time
from pathlib import Path
from assistant.answers import Turn
from assistant.sessions.database import DatabaseStore
def store(): return DatabaseStore({url!r}, Path({folder!r}), sweep_every=0.0)
"""


def start(kind: Kind, program: str, *arguments: str) -> subprocess.Popen[str]:
    prelude = PRELUDE.format(url=kind.url, folder=str(kind.folder))
    code = prelude + textwrap.dedent(program)
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def said(child: subprocess.Popen[str]) -> str:
    out, problem = child.communicate(timeout=60)
    assert child.returncode == 0, problem
    return out


def real(kind: Kind) -> Any:
    """With the true clock, as the other processes have it."""
    kind.clock = time.time  # type: ignore[assignment]
    return kind.open()


def test_processes_that_start_at_once_on_nothing_all_come_up(lasting: Kind) -> None:
    program = """
    sys.stdin.readline()
    s = store()
    with s.engine.connect() as c:
        print(s.logs.folder.name)
    """
    children = [start(lasting, program) for _ in range(3)]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    names = {said(child).strip() for child in children}
    assert len(names) == 1
    store = real(lasting)
    assert store.logs.folder.name in names
    assert store.get(opened(store).id)


def test_two_processes_answer_two_hundred_questions_once_each(lasting: Kind) -> None:
    store = real(lasting)
    session = opened(store)
    for number in range(200):
        assert store.ask(session.id, str(number), key=f"Ev{number}")
    program = """
    s, me, n = store(), sys.argv[1], 0
    print("ready", flush=True); sys.stdin.readline()
    while waiting := s.open_questions(limit=20):
        for one in waiting:
            if s.claim(one.id, me, 60):
                if s.answered(one.id, Turn(one.question, (), (), me), worker=me) is not None: n += 1
    print(n)
    """
    children = [start(lasting, program, name) for name in ("one", "two")]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    counts = [int(said(child)) for child in children]
    assert sum(counts) == 200
    talk = store.transcript(session.id)
    assert sorted(int(one.question) for one in talk) == list(range(200))
    assert [one.index for one in talk] == list(range(200))
    assert Counter(one.markdown for one in talk) == Counter({"one": counts[0], "two": counts[1]})
    assert store.open_questions() == []


def test_an_event_that_comes_to_two_processes_is_noted_once(lasting: Kind) -> None:
    store = real(lasting)
    session = opened(store)
    program = """
    s = store(); print("ready", flush=True); sys.stdin.readline()
    print(sum(s.ask(sys.argv[1], str(n), key=f"Ev{n}") is not None for n in range(60)))
    """
    children = [start(lasting, program, session.id) for _ in range(2)]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    assert sum(int(said(child)) for child in children) == 60
    assert sorted(int(one.question) for one in store.open_questions()) == list(range(60))


def test_a_process_killed_in_mid_answer_loses_nothing(lasting: Kind) -> None:
    store = real(lasting)
    session = opened(store)
    store.add_turn(session.id, turn("before", "Yes."))
    program = """
    s = store()
    one = s.ask(sys.argv[1], "why?", key="Ev1", data={"channel": "C1"})
    assert s.claim(one.id, "dead", 1.0)
    print(one.id, flush=True)
    time.sleep(60)
    """
    child = start(lasting, program, session.id)
    assert child.stdout is not None
    question = child.stdout.readline().strip()
    child.kill()
    child.communicate()
    again = lasting.open()  # the restarted process
    assert again.get(session.id).turns == (turn("before", "Yes."),)
    assert again.ask(session.id, "why?", key="Ev1") is None  # Slack sends it again
    deadline = time.time() + 10
    while not (waiting := again.open_questions()) and time.time() < deadline:
        time.sleep(0.05)
    assert [(one.id, one.question, one.data, one.attempts) for one in waiting] == [(question, "why?", {"channel": "C1"}, 1)]
    assert again.claim(question, "alive")
    assert again.answered(question, turn("why?", "So."), worker="alive") == 1
    assert [one.markdown for one in again.transcript(session.id)] == ["Yes.", "So."]


def test_a_process_killed_while_it_writes_leaves_a_sound_store(lasting: Kind) -> None:
    """Turns and sessions are there whole or not at all."""
    store = real(lasting)
    session = opened(store)
    program = """
    from assistant.sessions import open_log
    s, n = store(), 0
    data = b"\\n".join(b"step:%d - actor/entropy:0.4 - critic/score/mean:0.%d" % (i, i) for i in range(1, 20))
    diagnosis = open_log(data)
    print("ready", flush=True)
    while True:
        n += 1
        s.add_turn(sys.argv[1], Turn(str(n), (), (), "x" * 20_000))
        s.create(diagnosis, str(n), source=data + b"\\n# %d" % n)
    """
    for wait in (0.03, 0.2):
        child = start(lasting, program, session.id)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(wait)
        child.kill()
        child.communicate()
    talk = store.transcript(session.id)
    assert [one.index for one in talk] == list(range(len(talk)))
    assert all(len(one.markdown) == 20_000 for one in talk)
    for about in store.sessions(limit=1000):
        assert shown(store.get(about.id))
        assert store.lines(about.id, 1, 1).total >= 19
    assert store.add_turn(session.id, turn()) == len(talk)


def test_one_log_created_and_removed_by_many_is_there_for_whoever_has_it(lasting: Kind) -> None:
    """Reference counting under fire: a session that exists always has its log's file, and none is left in the end."""
    store = real(lasting)
    others = lasting.open()
    data = log_text()
    diagnosis = open_log(data)

    def come_and_go(number: int) -> None:
        mine = (store, others)[number % 2]
        for n in range(12):
            session = mine.create(diagnosis, source=data)
            assert mine.lines(session.id, 1, 1).total == 30, (number, n)
            mine.remove(session.id)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(come_and_go, range(4)))
    assert list(store.logs.folder.glob("*/*")) == []
    assert store.sessions() == []


def test_a_log_is_read_once_for_all_who_wait_for_it(sqlite: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    store = sqlite.open()
    ids = [opened(store, log_text(40)).id for _ in range(3)]
    again = sqlite.open()
    import assistant.sessions.database.base as base

    reads = []

    def counted(*args: Any, **kwargs: Any) -> Any:
        reads.append(1)
        time.sleep(0.1)
        return open_log(*args, **kwargs)

    monkeypatch.setattr(base, "open_log", counted)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(again.get, ids * 2))
    assert len(reads) == 1
    assert len({id(session.diagnosis) for session in found}) == 1
    assert len(again.live) == 1


def test_diagnoses_in_memory_are_bounded_and_come_back(sqlite: Kind) -> None:
    store = sqlite.open(live_bytes=150_000)
    sessions = [opened(store, log_text(200 + n)) for n in range(12)]
    assert store.live.n_bytes <= 150_000
    assert len(store.live) < 12
    for session in sessions:
        assert shown(store.get(session.id)) == shown(session)
        assert store.live.n_bytes <= 150_000


def test_a_forked_child_makes_connections_of_its_own(lasting: Kind) -> None:
    store = real(lasting)
    session = opened(store)
    program = """
    import os
    s = store()
    s.add_turn(sys.argv[1], Turn("parent"))
    child = os.fork()
    for n in range(20):
        s.add_turn(sys.argv[1], Turn(f"{'parent' if child else 'child'} {n}"))
    if not child:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    print(len(s.transcript(sys.argv[1])))
    """
    assert said(start(lasting, program, session.id)) == "41\n"
    assert len({one.question for one in store.transcript(session.id)}) == 41
