"""Whatever a server does, there is an answer, and one plain sentence on why it is the built-in one."""

from __future__ import annotations

import socket
import time

import pytest

from assistant.answers import answer
from assistant.answers.model.faults import KINDS
from assistant.answers.model.settings import Endpoint
from assistant.messages import has, say
from tests.answers.model.scenes import collapsed, endpoint
from tests.answers.model.server import Act, serving

QUESTION = "Why does actor/entropy fall?"
GOOD = "Entropy collapsed: it fell from 0.404 at step 1 to 0.004526 at step 200, and the reward went down with it."
BUILT_IN = answer(QUESTION, collapsed()).markdown


def test_every_kind_has_its_sentence() -> None:
    assert all(has(f"model.fault_{kind}") for kind in KINDS)


@pytest.mark.parametrize(
    ("act", "kind", "calls"),
    [
        (Act(status=401, error="Incorrect API key"), "key", 1),
        (Act(status=403, error="no access"), "forbidden", 1),
        (Act(status=404, error="no such model"), "model-missing", 1),
        (Act(status=429, error="insufficient_quota: check your billing"), "quota", 1),
        (Act(status=429, error="slow down", headers={"retry-after": "0"}), "rate", 2),
        (Act(status=500, error="boom"), "server", 2),
        (Act(status=503, error="loading model"), "server", 2),
        (Act(status=400, error="bad schema"), "rejected", 1),
        (Act(status=400, error="This model's maximum context length is 900 tokens"), "context", 3),
        (Act(text=""), "empty", 2),
        (Act(text=" \n\t "), "empty", 2),
        (Act(text="", reasoning="long thoughts", finish="length"), "empty", 1),
        (Act(text="<think>never ends", finish="length"), "empty", 1),
        (Act(text=GOOD, break_after=2), "broken-stream", 2),
        (Act(text=GOOD, finish=None), "broken-stream", 2),
        (Act(text=GOOD, finish="content_filter"), "unusable", 1),
        (Act(raw=b"<html>a proxy's page</html>"), "protocol", 1),
        (Act(raw=b'{"choices": "none"}'), "protocol", 1),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_each_fault_ends_in_the_built_in_answer(act: Act, kind: str, calls: int) -> None:
    with serving(act) as server:
        given = answer(QUESTION, collapsed(), model=endpoint(server, retries=1))
        wanted = say(f"model.fault_{kind}", "en", where=f"`{server.url}`", model="`test-model`")
        assert given.note == wanted
        assert given.markdown == f"{BUILT_IN}\n\n{wanted}"
        assert (given.mode, given.model) == ("builtin", None)
        assert len(server.requests) == calls


def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    given = answer(QUESTION, collapsed(), model=Endpoint("m", base_url=f"http://127.0.0.1:{port}/v1", retries=0, timeout=5))
    assert "could not be reached" in given.note
    assert given.mode == "builtin"


def test_a_slow_server_is_not_waited_for() -> None:
    with serving(Act(GOOD, delay=60)) as server:
        given = answer(QUESTION, collapsed(), model=endpoint(server, timeout=0.6))
        assert not server.finished
        assert "in time" in given.note


def test_a_stream_that_drips_is_cut_at_the_deadline() -> None:
    with serving(Act("word " * 3000, pace=0.05)) as server:
        given = answer(QUESTION, collapsed(), model=endpoint(server, timeout=0.8))
        assert not server.finished
        assert "in time" in given.note


def test_it_can_be_stopped() -> None:
    with serving(Act("word " * 3000, pace=0.05)) as server:
        begun = time.monotonic()
        given = answer(QUESTION, collapsed(), model=endpoint(server), cancelled=lambda: time.monotonic() - begun > 0.4)
        assert not server.finished
        assert given.note == say("model.fault_cancelled", "en")
        assert given.markdown.startswith(BUILT_IN)


@pytest.mark.parametrize(
    "first",
    [
        Act(status=429, error="slow down", headers={"retry-after": "0"}),
        Act(status=502, error="bad gateway"),
        Act(text=GOOD, break_after=1),
        Act(text=""),
        Act(status=400, error="Unsupported parameter: 'stream_options' is not supported"),
        Act(status=400, error="Unsupported value: 'temperature' does not support 0.2, only the default"),
        Act(status=400, error="max_tokens is not supported with this model, use max_completion_tokens"),
        Act(status=400, error="the request exceeds the available context size"),
    ],
    ids=lambda act: str(act.error or act.text[:5]),
)
def test_a_second_try_helps(first: Act) -> None:
    with serving(first, Act(GOOD)) as server:
        given = answer(QUESTION, collapsed(), model=endpoint(server))
        assert given.mode == "model"
        assert given.note == ""
        assert len(server.requests) == 2


def test_what_a_server_refused_once_is_not_sent_again() -> None:
    with serving(Act(status=400, error="Unsupported parameter: 'temperature' is not supported"), Act(GOOD)) as server:
        answer(QUESTION, collapsed(), model=endpoint(server))
        answer(QUESTION + " Really?", collapsed(), model=endpoint(server))
        assert ["temperature" in request for request in server.requests] == [True, False, False]


def test_a_smaller_evidence_for_a_smaller_window() -> None:
    with serving(Act(status=400, error="maximum context length is 3000 tokens"), Act(GOOD)) as server:
        assert answer(QUESTION, collapsed(), model=endpoint(server)).mode == "model"
        sizes = [len(str(request["messages"])) for request in server.requests]
        assert sizes[1] < 0.7 * sizes[0]


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "langchain_openai", None)
    given = answer(QUESTION, collapsed(), model=Endpoint("never-built", base_url="http://127.0.0.1:9/v1"))
    assert 'pip install "runwhy[llm]"' in given.note
    assert given.mode == "builtin"


def test_an_answer_that_is_cut_keeps_its_whole_sentences() -> None:
    with serving(Act(GOOD + " And then the policy bec", finish="length")) as server:
        given = answer(QUESTION, collapsed(), model=endpoint(server))
        assert given.markdown.endswith(say("model.cut", "en"))
        assert "bec" not in given.markdown.replace("because", "")
