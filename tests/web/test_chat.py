from __future__ import annotations

import pytest

from assistant.answers import Answer, Turn, answer
from assistant.diagnosis import Diagnosis
from assistant.sessions import MemoryStore, open_log
from assistant.web import chat
from assistant.web.samples import sample_text
from tests.builders import run_of


@pytest.fixture(scope="module")
def collapse() -> Diagnosis:
    return open_log(sample_text("collapse"))


def made(markdown: str = "It is 1.", **more: object) -> Answer:
    given = {"language": "en", "numbers": [], "facts": [], "cards": [], "findings": [], "followups": [], "checked": {}}
    return Answer(markdown=markdown, turn=Turn("q", (), ()), **{**given, **more})  # type: ignore[arg-type]


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


def test_every_suggestion_gets_an_answer_in_its_language(collapse: Diagnosis) -> None:
    session = MemoryStore().create(collapse)
    for language in ("en", "zh"):
        for question in chat.suggestions(collapse, language):
            given = chat.reply(session, question, language)
            assert given.language == language
            assert given.markdown.strip()


def test_the_footer_counts_the_checked_numbers() -> None:
    footer = chat.footer(made(checked={"run": 11, "derived": 2, "knowledge": 0, "unverified": 0}))
    assert footer == '<p class="checked">Numbers checked: 11 from the log, 2 computed from it</p>'
    assert "doubtful" in chat.footer(made(checked={"run": 1, "unverified": 1}))
    assert chat.footer(made(language="zh", checked={"run": 3})) == '<p class="checked">数字核对：3 个来自日志</p>'
    assert chat.footer(made(checked={"run": 0})) == ""


def test_numbers_are_traced_to_their_line(collapse: Diagnosis) -> None:
    given = answer("what is actor/entropy at step 36?", collapse)
    shown = chat.markdown(given)
    fact = next(fact for fact in given.facts if fact.metric == "actor/entropy" and fact.line)
    assert f"line {fact.line}" in shown
    assert "actor/entropy" in chat.places(given)


def test_an_answer_brings_no_picture_and_hostile_facts_are_escaped() -> None:
    class Hostile:
        metric, step, value, text, line = "<img src=x>", 3, 1.0, "<b>1</b>", 7

    shown = chat.markdown(made("![x](http://example.org/x.png)", facts=[Hostile()]))
    assert "![" not in shown
    assert "<img" not in shown
    assert "<b>" not in shown


def test_open_suggestions_stay_after_the_followups() -> None:
    assert chat.next_questions(made(followups=["a", "b"]), ["b", "c", "d", "e"]) == ["a", "b", "c", "d"]


def test_a_question_refers_to_the_one_before(collapse: Diagnosis) -> None:
    store = MemoryStore()
    session = store.create(collapse)
    first = chat.reply(session, "why is my entropy so low?", "en")
    store.add_turn(session.id, first.turn)
    kept = store.get(session.id)
    assert kept is not None
    assert chat.reply(kept, "and what should I change?", "en").markdown
    assert len(kept.turns) == 1
