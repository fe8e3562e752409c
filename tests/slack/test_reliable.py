"""Each message is answered exactly once: in a burst with repetitions, by two processes, and when one is killed in mid-answer."""

from __future__ import annotations

import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from assistant.sessions import Settings, open_store
from assistant.slack.jobs import Job
from tests.slack.conftest import Space, log_of
from tests.slack.driver import BotProcess, Workspace, bot, environment, event_body, message_event
from tests.slack.server import BOT_USER, TEAM, Message, SlackServer

QUICK = {"RUNWHY_SLACK_LEASE": "1"}
BOTH_MODES = frozenset(["test_burst_is_acknowledged_and_answered_once"])
FREE = {"RUNWHY_SLACK_TEAM_LIMIT": "9999/60", "RUNWHY_SLACK_USER_LIMIT": "9999/60"}


def parts(slack: SlackServer, part: str = "", channel: str = "") -> Counter[tuple[str, str]]:
    """How often each part of each answer was shown, in channels whose names begin so."""
    shown = [m for m in slack.by_bot() if m.channel.startswith(channel)]
    marks = [(p["mark"], p["part"]) for m in shown if (p := m.metadata.get("event_payload"))]
    return Counter(mark for mark in marks if part in ("", mark[1]))


def burst(space: Workspace, n: int, channel: str = "C") -> list[float]:
    """``n`` people ask at once; every fourth delivery is repeated, every third mention comes as a message event too.

    Returns the seconds until each delivery was acknowledged, the slowest last.
    """
    crash = log_of("l").decode()
    bodies = []
    for number in range(n):
        text = f"<@{BOT_USER}> why did it crash?\n```{crash}```"
        message = space.slack.say(f"{channel}{number % 7}", f"U{number % 40}", text)
        body = event_body(message_event(message, mention=True))
        bodies += [(body, 0)] + ([(body, 1)] if number % 4 == 0 else [])
        bodies += [(event_body(message_event(message)), 0)] if number % 3 == 0 else []
    random.Random(7).shuffle(bodies)
    with ThreadPoolExecutor(40) as pool:
        return sorted(pool.map(lambda one: space.deliver("events_api", one[0], retry=one[1]), bodies))


def test_burst_is_acknowledged_and_answered_once(space: Space, channel: str) -> None:
    """Two hundred in HTTP, where Slack repeats what it has no answer to in time. How quick it is `benchmarks.slack` measures."""
    n = 200 if space.bot.mode == "http" else 40
    name = f"{channel}b"
    burst(space, n, name)
    space.wait(lambda: len(parts(space.slack, "answer", name)) >= n, 120)
    time.sleep(0.2)
    assert set(parts(space.slack, channel=name).values()) == {1}
    assert len(parts(space.slack, "answer", name)) == len(parts(space.slack, "look-0", name)) == n


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_two_processes_on_one_store_answer_once(store: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with ExitStack() as stack:
        slack = stack.enter_context(SlackServer())
        extra = {"RUNWHY_STORE": request.getfixturevalue("postgres_url")} if store == "postgresql" else {}
        env = environment(slack, tmp_path, **FREE, **extra, RUNWHY_SLACK_LEASE="45")  # a slow machine is no dead process
        with ThreadPoolExecutor(2) as pool:  # both at once on an empty store
            bots = list(pool.map(lambda _: BotProcess("http", env), range(2)))
        for one in bots:
            stack.callback(one.stop)
        space = Workspace(slack, [one.port for one in bots])
        burst(space, 24)
        space.wait(lambda: len(parts(slack, "answer")) >= 24)
        time.sleep(0.3)
        assert set(parts(slack).values()) == {1}
        assert all("job:" in one.log for one in bots)  # both worked
        # The log is being read in one process while the question reaches the other
        slack.slow("files.getUploadURLExternal", 1.0, times=1)
        asked = space.write("", channel="C90", files=[slack.add_file("train.log", log_of("m"))])
        space.write("why?", channel="C90", thread=asked.ts, mention=False)
        assert "clip_ratio_high" in space.replies(asked, 2)[1].shown


def in_pieces(space: Space) -> Message:
    """A message whose picture hangs in the upload: the look is shown, the answer is not."""
    space.slack.slow("files.getUploadURLExternal", 60, times=1)
    asked = space.write("why?", files=[space.slack.add_file("train.log", log_of("m"))])
    space.replies(asked)
    space.wait(lambda: space.slack.called("files.getUploadURLExternal"))
    return asked


def test_killed_in_mid_answer_and_started_again(tmp_path: Path) -> None:
    with SlackServer() as slack:
        env = environment(slack, tmp_path, **QUICK)
        first = BotProcess("http", env)
        asked = in_pieces(Space(slack, first))
        first.kill()
        with bot("http", env) as second:
            space = Space(slack, second)
            replies = space.replies(asked, 2)
            space.wait(lambda: [m for m in slack.by_bot() if m.files])
            assert "clip_ratio_high" in replies[1].shown
            space.write("and since when?", thread=asked.ts, mention=False)
            space.replies(asked, 3)
            assert set(parts(slack).values()) == {1}
            assert len([m for m in slack.by_bot() if m.files]) == 1


def test_killed_between_posting_and_noting_it_down(tmp_path: Path) -> None:
    """Slack has the message, its reply never came: the thread is read before anything is posted again."""
    with SlackServer() as slack:
        env = environment(slack, tmp_path, **QUICK)
        first = BotProcess("socket", env)
        space = Space(slack, first)
        slack.after("chat.postMessage", 60)
        asked = space.write("why did it crash?", files=[slack.add_file("crash.log", log_of("l"))])
        space.replies(asked)
        first.kill()
        with bot("socket", env) as second:
            space = Space(slack, second)
            space.replies(asked, 2)
            time.sleep(0.3)
            assert set(parts(slack).values()) == {1}
            assert slack.called("conversations.replies")


def test_killed_before_anything_was_done(tmp_path: Path) -> None:
    """Taken in, acknowledged, killed: the next process answers what waited, each once."""
    with SlackServer() as slack:
        env = environment(slack, tmp_path, **FREE, **QUICK, RUNWHY_SLACK_WORKERS="1")
        first = BotProcess("http", env)
        space = Space(slack, first)
        burst(space, 12)
        first.kill()
        with bot("http", env) as second:
            space = Space(slack, second)
            space.wait(lambda: len(parts(slack, "answer")) >= 12)
            time.sleep(0.3)
            assert set(parts(slack).values()) == {1}


def test_stopped_politely_finishes_what_it_began(tmp_path: Path) -> None:
    with SlackServer() as slack:
        running = BotProcess("socket", environment(slack, tmp_path))
        space = Space(slack, running)
        slack.slow("chat.postMessage", 1.0, times=1)
        asked = space.write("why?", files=[slack.add_file("crash.log", log_of("l"))])
        space.wait(lambda: slack.called("chat.postMessage"))
        assert running.stop() == 0
        assert space.replies(asked)


def test_after_the_fourth_attempt_the_person_is_told(tmp_path: Path) -> None:
    """What brings one process after the other down is not tried for ever."""
    with SlackServer() as slack:
        asked = slack.say("C1", "U1", f"<@{BOT_USER}> why?")
        store = open_store(Settings(folder=tmp_path))
        job = Job("k", "message", TEAM, "U1", channel="C1", ts=asked.ts, thread=asked.ts, text="why?", mentioned=True)
        pending = store.ask("", "", key="k", data={"slack": job.to_json()})
        assert pending is not None
        for worker in "abcd":
            assert store.claim(pending.id, worker, 0.01)
            time.sleep(0.02)
        store.close()
        with bot("socket", environment(slack, tmp_path)) as running:
            (told,) = Space(slack, running).replies(asked)
            assert "stopped trying" in told.shown
