from __future__ import annotations

import pytest

from assistant.diagnosis import Diagnosis
from assistant.messages import Language
from assistant.sessions import MemoryStore, open_log
from assistant.web import chat
from assistant.web.answering import Answering
from assistant.web.samples import sample_text
from tests.builders import run_of


@pytest.fixture(scope="module")
def collapse() -> Diagnosis:
    return open_log(sample_text("collapse"))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_suggestions_fit_the_run(collapse: Diagnosis, language: str) -> None:
    asked = chat.suggestions(collapse, language)
    assert len(asked) == len(set(asked)) == chat.MOST_SUGGESTIONS
    assert any("pg_loss" in question for question in asked)
    crashed = chat.suggestions(open_log(sample_text("crash")), language)
    assert crashed[0] == {"en": "Why did it crash?", "zh": "为什么崩溃？"}[language]


@pytest.mark.parametrize(("value", "expected"), [(0.1, "positive"), (-0.1, "negative"), (0.0, None), (float("nan"), None)])
def test_the_sign_in_a_suggestion_is_the_log_s(value: float, expected: str | None) -> None:
    asked = chat.suggestions(Diagnosis(run_of({"actor/pg_loss": [value]}), [], [], []), "en")
    assert [question for question in asked if "pg_loss" in question] == ([f"Why is my pg_loss {expected}?"] if expected else [])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_suggestion_gets_an_answer_in_its_language(collapse: Diagnosis, language: Language) -> None:
    store = MemoryStore()
    session = store.create(collapse)
    for question in chat.suggestions(collapse, language):
        given = Answering(session, question, language, store).at_once()
        assert given is not None
        assert given.language == language
        assert given.markdown.strip()


def test_a_question_refers_to_the_one_before(collapse: Diagnosis) -> None:
    store = MemoryStore()
    session = store.create(collapse)
    first = Answering(session, "why is my entropy so low?", "en", store).at_once()
    assert first is not None
    store.add_turn(session.id, first.turn, answer=first)
    kept = store.get(session.id)
    assert kept is not None
    second = Answering(kept, "and what should I change?", "en", store).at_once()
    assert second is not None
    assert "entropy" in second.markdown.lower()


def test_open_suggestions_stay_after_the_followups() -> None:
    assert chat.next_questions(["a", "b"], ["b", "c", "d", "e"]) == ["a", "b", "c", "d"]
