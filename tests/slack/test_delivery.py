"""Posting when Slack is slow, limits, fails, or says nothing: once, and in the end."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from assistant.sessions import MemoryStore, open_store
from assistant.sessions import Settings as Places
from assistant.slack.blocks import section
from assistant.slack.delivery import Delivery, Lost, Undeliverable, client_for
from assistant.slack.events import event_job
from assistant.slack.jobs import Job
from assistant.slack.limits import RateLimit
from assistant.slack.serve import Running
from assistant.slack.settings import configured
from assistant.slack.work import Pool, Task
from tests.slack.conftest import log_of
from tests.slack.driver import environment, event_body, message_event
from tests.slack.server import BOT_TOKEN, BOT_USER, Message, SlackServer


def task(store: MemoryStore, worker: str = "w", *, key: str = "message:T1:C1:1.1") -> Task:
    job = Job(key, "message", "T1", "U1", channel="C1", ts="1.1", thread="1.1")
    pending = store.ask("", "", key=key, data={"slack": job.to_json()})
    assert pending is not None
    assert store.claim(pending.id, worker)
    return Task(store, pending, job, worker, 30)


@pytest.fixture
def slack() -> SlackServer:  # type: ignore[misc]
    with SlackServer() as server:
        yield server


def delivery(slack: SlackServer, timeout: float = 30, one: Task | None = None) -> Delivery:
    return Delivery(client_for(BOT_TOKEN, slack.url, timeout), one or task(MemoryStore()))


def test_retry_after_is_obeyed(slack: SlackServer) -> None:
    slack.limit("chat.postMessage", times=2, retry_after=1)
    started = time.monotonic()
    delivery(slack).post("p", [section("x")], "x")
    assert time.monotonic() - started >= 2
    assert len(slack.by_bot()) == 1


def test_longer_than_anybody_waits_is_left_for_later(slack: SlackServer) -> None:
    slack.limit("chat.postMessage", times=1, retry_after=3600)
    with pytest.raises(Undeliverable, match="ratelimited"):
        delivery(slack).post("p", [], "x")
    assert len(slack.called("chat.postMessage")) == 1


def test_server_errors_are_tried_again(slack: SlackServer) -> None:
    slack.hang("chat.postMessage", 0, times=2)
    delivery(slack).post("p", [], "x")
    assert len(slack.by_bot()) == 1


def test_reply_that_never_comes_does_not_post_twice(slack: SlackServer) -> None:
    slack.say("C1", "U1", "x").ts = "1.1"
    slack.after("chat.postMessage", 3)
    ts = delivery(slack, timeout=1).post("p", [], "x")
    (shown,) = slack.by_bot()
    assert shown.ts == ts


def test_refused_blocks_come_as_words(slack: SlackServer) -> None:
    delivery(slack).post("p", [section("x" * 3001)], "the words")
    (shown,) = slack.by_bot()
    assert (shown.text, shown.blocks) == ("the words", [])


def test_what_will_not_get_better_is_not_tried_again(slack: SlackServer) -> None:
    slack.fail("chat.postMessage", "is_archived", times=5)
    with pytest.raises(Undeliverable, match="is_archived"):
        delivery(slack).post("p", [], "x")
    assert len(slack.called("chat.postMessage")) == 1


def test_nothing_is_posted_for_a_job_that_another_has(slack: SlackServer) -> None:
    store = MemoryStore()
    mine = task(store)
    store.release(mine.pending.id, "w")
    assert store.claim(mine.pending.id, "other")
    with pytest.raises(Lost):
        delivery(slack, one=mine).post("p", [], "x")
    assert not slack.called("chat.postMessage")


def test_what_waited_long_is_looked_for_before_it_is_shown(slack: SlackServer) -> None:
    """Another process may have held it meanwhile, shown it, and died."""
    one = task(MemoryStore())
    delivery(slack, one=one).post("p", [], "x")
    late = Task(one.store, one.pending, one.job, one.worker, one.lease, late=True)
    delivery(slack, one=late).post("p", [], "x")
    assert len(slack.by_bot()) == 1


def test_begun_part_is_replaced(slack: SlackServer) -> None:
    one = delivery(slack)
    one.begin("look", "Reading …")
    one.post("look", [section("done")], "done")
    one.post("look", [section("again")], "again")
    (shown,) = slack.by_bot()
    assert shown.text == "done"


def test_file_that_slack_does_not_take_costs_nothing_else(slack: SlackServer) -> None:
    slack.fail("files.getUploadURLExternal", "missing_scope", times=9)
    one = delivery(slack)
    assert one.upload("plot", ".png", b"x", "t") is False
    one.post("p", [], "x")
    assert slack.by_bot()


def test_pool_keeps_the_order_of_a_thread_and_is_bounded() -> None:
    store, done, active, most = MemoryStore(), [], [0], [0]

    def work(one: Task) -> None:
        active[0] += 1
        most[0] = max(most[0], active[0])
        time.sleep(0.01)
        done.append(one.job)
        active[0] -= 1
        store.answered(one.pending.id, None)

    pool = Pool(store, work, workers=3)
    for number in range(30):
        job = Job(f"k{number}", "message", "T1", "U1", channel="C1", ts=f"{number}", thread=f"t{number % 3}")
        pending = store.ask("", "", key=job.key, data={"slack": job.to_json()})
        assert pending is not None
        pool.submit(pending)
    pool.start()
    assert pool.drained(60)
    pool.stop(2)
    assert most[0] <= 3
    for lane in ("t0", "t1", "t2"):
        numbers = [int(job.ts) for job in done if job.thread == lane]
        assert numbers == sorted(numbers)
        assert len(numbers) == 10


def test_pool_survives_what_a_job_raises() -> None:
    store, done = MemoryStore(), []

    def work(one: Task) -> None:
        if one.job.ts == "0":
            raise RuntimeError("boom")
        done.append(one.job.ts)

    pool = Pool(store, work, workers=1)
    pool.start()
    for ts in ("0", "1"):
        pending = store.ask("", "", key=ts, data={"slack": Job(ts, "message", "T", "U", ts=ts, thread=ts).to_json()})
        assert pending is not None
        pool.submit(pending)
    assert pool.drained(60)
    pool.stop(1)
    assert done == ["1"]


def test_rate_limit_slides() -> None:
    now = [0.0]
    limit = RateLimit(2, 10, clock=lambda: now[0])
    assert [limit.wait("a"), limit.wait("a"), limit.wait("b")] == [0, 0, 0]
    now[0] = 4
    assert limit.wait("a") == 6
    now[0] = 10
    assert limit.wait("a") == 0


@contextmanager
def running_here(slack: SlackServer, folder: Path, **more: str) -> Iterator[Running]:
    """The bot's parts in this process, without its doors."""
    running = Running(configured(environment(slack, folder, **more)), open_store(Places(folder=folder)))
    running.pool.start()
    yield running
    running.stop(5)


def taken(running: Running, slack: SlackServer, text: str, **more: Any) -> Message:
    message = slack.say("C1", "U1", f"<@{BOT_USER}> {text}", **more)
    assert running.intake.take(event_job(event_body(message_event(message, mention=True)), BOT_USER, lambda lane: True))
    return message


def test_too_many_questions_are_refused_kindly_and_once(tmp_path: Path) -> None:
    with SlackServer() as slack, running_here(slack, tmp_path, RUNWHY_SLACK_USER_LIMIT="2/60") as running:
        for _ in range(5):
            taken(running, slack, "hello")
        assert running.pool.drained(60)
        told = [m for m in slack.by_bot() if m.ephemeral]
        assert len(told) == 1
        assert "Try again in" in told[0].text
        assert len([m for m in slack.by_bot() if not m.ephemeral]) == 2


def test_fault_of_ours_is_told_in_the_thread_with_a_reference(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A store that has lost a table: the person gets a reference, our log the place, nobody the words."""
    caplog.set_level(logging.INFO, "runwhy.slack")
    with SlackServer() as slack, running_here(slack, tmp_path) as running:
        with closing(sqlite3.connect(tmp_path / "sessions.db", isolation_level=None)) as database:
            database.execute("DROP TABLE turns")
        asked = taken(running, slack, "why xyzzy?", files=[slack.add_file("train.log", log_of("l"))])
        assert running.pool.drained(60)
        told = slack.by_bot("C1", asked.ts)[1]
        assert "reference" in told.shown
        assert told.shown.split("reference ")[1][:8] in caplog.text
        assert "xyzzy" not in caplog.text
        assert not running.store.open_questions()
