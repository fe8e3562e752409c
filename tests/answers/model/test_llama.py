"""A real language model, small and often wrong, over real logs: what is shown is right or marked, and the verdict is always there."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.answers import answer
from assistant.answers.checking.numbers import check
from assistant.answers.grounding.evidence import Evidence
from assistant.answers.model.answering import verdict_line
from assistant.answers.model.settings import Endpoint
from assistant.diagnosis import Diagnosis, RunView, diagnose
from assistant.logs import read
from tests.answers.model.llama import WINDOW, missing, running
from tests.answers.model.scenes import collapsed, crashed, healthy

CASES = Path(__file__).resolve().parents[4] / "shared" / "cases" / "verl"
QUESTIONS = [
    "What is wrong with this run?",
    "Is the gradient norm normal?",
    "What should I change first?",
    "How did the score develop?",
    "熵为什么会变化？",
]
MOST = int(os.environ.get("RUNWHY_LLAMA_QUESTIONS") or (40 if os.environ.get("CI") else 8))
"""All of them where nobody waits."""

pytestmark = [pytest.mark.llama, pytest.mark.skipif(bool(missing()), reason=missing() or "it can run")]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running() as url:
        yield url


def diagnoses() -> list[tuple[str, Diagnosis]]:
    logs = sorted(CASES.glob("*/log.txt"))
    if not logs:
        return [("collapsed", collapsed()), ("healthy", healthy()), ("crashed", crashed("see the node's log"))]
    return [(path.parent.name, diagnose(read(path))) for path in logs[:: max(1, len(logs) // 8)]]


def test_many_questions(server: str) -> None:
    endpoint = Endpoint("smollm2", base_url=server, window=WINDOW, budget=700, max_output=60, timeout=120.0, temperature=0.0)
    rows = [(name, diagnosis, question) for name, diagnosis in diagnoses() for question in QUESTIONS][:MOST]
    modes: Counter[str] = Counter()
    for name, diagnosis, question in rows:
        given = answer(question, diagnosis, model=endpoint)
        modes[given.mode] += 1
        where = f"{name}: {question}\n{given.markdown}"
        if given.mode == "builtin":
            assert given.note, where
            assert given.markdown.startswith(answer(question, diagnosis).markdown), where
            continue
        assert given.markdown.startswith(verdict_line(diagnosis, given.language)), where
        for number in given.numbers:
            assert given.markdown[number.start : number.start + len(number.text)] == number.text, where
            if number.status == "unverified":
                before, after = given.markdown[: number.start], given.markdown[number.start + len(number.text) :]
                assert before.count("~~") % 2 == 1, where
                assert "⚠" in after.split("~~", 1)[1][:12], where
        _nothing_wrong_unmarked(given.markdown, diagnosis, question, where)
    print(f"\n{sum(modes.values())} questions: {dict(modes)}")
    assert sum(modes.values()) == len(rows)


def _nothing_wrong_unmarked(markdown: str, diagnosis: Diagnosis, question: str, where: str) -> None:
    """An independent look: every value that is written with its step must be the printed one, or be struck."""
    import re

    view = RunView(diagnosis.run)
    for key, value, step in re.findall(r"`([\w./@()-]+)`[^`.;。]{0,20}?(-?\d+\.\d+) \(step (\d+)\)", re.sub(r"~~.*?~~", "", markdown)):
        series = view.printed(key) if key in view.names else None
        point = series.at(int(step)) if series is not None else None
        if point is not None:
            assert abs(point.value - float(value)) <= 0.5 * 10.0 ** -len(value.partition(".")[2]) * 1.001, where
    assert check(markdown, Evidence(diagnosis, view, "en"), question) is not None


def test_streaming_and_a_talk(server: str) -> None:
    endpoint = Endpoint("smollm2", base_url=server, window=WINDOW, budget=700, max_output=50, timeout=120.0)
    seen: list[str] = []
    first = answer("Is the run healthy?", collapsed(), model=endpoint, on_progress=seen.append)
    second = answer("and the score?", collapsed(), model=endpoint, history=[first.turn])
    assert all(part.startswith(verdict_line(collapsed(), "en")) for part in seen)
    for given in (first, second):
        assert given.usage["tokens_in"] > 100
        assert given.usage["exact"]


def test_a_window_that_is_too_small_is_lived_with(server: str) -> None:
    endpoint = Endpoint("smollm2", base_url=server, window=32_000, budget=6000, max_output=40, timeout=240.0)
    given = answer("What is wrong with this run?", collapsed(), model=endpoint)
    assert given.mode == "model" or given.note
    assert given.mode != "model" or (given.usage["calls"] > 1 and given.usage["tokens_in"] < WINDOW * given.usage["calls"])


def test_doctor(server: str) -> None:
    from assistant.answers.model.doctor import examine

    endpoint = Endpoint("smollm2", base_url=server, window=WINDOW, timeout=60.0, temperature=0.0)
    states = {check.id: check.state for check in examine("en", endpoint)}
    assert states["reachable"] == states["model"] == states["window"] == states["chat"] == "ok"
