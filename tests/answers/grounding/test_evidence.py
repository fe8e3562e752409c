"""The pieces that answers are made of: sentences of cards, words of logs, numbers made readable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.answers.grounding.evidence import Evidence, code, curve, escaped, length, picked, readable, sentences, shortened
from assistant.diagnosis import RunView, diagnose
from tests.builders import run_of


def test_sentences_keep_decimals_versions_and_keys_whole() -> None:
    text = "Since verl 0.4.1 it prints 0.000. Use `actor.clip_ratio` = 0.2! Is it so?  Yes."
    assert sentences(text, "en") == ["Since verl 0.4.1 it prints 0.000.", "Use `actor.clip_ratio` = 0.2!", "Is it so?", "Yes."]
    assert sentences("小于 0.0005。接近 0；正常。", "zh") == ["小于 0.0005。", "接近 0；", "正常。"]


def test_shortened_ends_with_a_sentence() -> None:
    text = "One two three. Four five six. Seven eight nine."
    assert shortened(text, 6, "en") == "One two three. Four five six."
    assert shortened(text, 1, "en") == "One two three."
    assert shortened("", 5, "en") == ""


def test_picked_prefers_what_the_question_speaks_of() -> None:
    text = "First about length. Then about kl_coef and its weight. Last about nothing."
    assert picked(text, ["kl_coef"], 10, "en") == "Then about kl_coef and its weight."
    assert picked(text, ["absent"], 4, "en") == "First about length."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0.7249004244804382", "0.7249"),
        ("0.431", "0.431"),
        ("1176.216", "1176.216"),
        ("62339.123456", "62339"),
        ("1e-06", "1e-06"),
        ("1.2345678e-07", "1.235e-07"),
        ("nan", "nan"),
        ("256", "256"),
    ],
)
def test_readable(text: str, shown: str) -> None:
    assert readable(text, float(text)) == shown


@given(st.text())
def test_words_of_a_log_cannot_leave_their_code_span(text: str) -> None:
    assert code(text).count("`") in (0, 2)
    assert "\n" not in code(text)


@given(st.text())
def test_escaped_text_is_no_html(text: str) -> None:
    assert "<" not in escaped(text)
    assert ">" not in escaped(text)


def test_length_counts_words_and_pairs_of_characters() -> None:
    assert length("one two actor/pg_loss") == 3
    assert length("熵正常吗") == 2


def test_curve_skips_what_is_not_finite() -> None:
    series = run_of({"x": [float("nan"), 3.0, 1.0, float("inf"), 2.0]}).series("x")
    assert series is not None
    found = curve(series)
    assert (found.first, found.last, found.lowest, found.highest, found.n_finite) == (1, 4, 2, 1, 3)
    assert found.moves


def test_curve_of_nothing_finite() -> None:
    series = run_of({"x": [float("nan")]}).series("x")
    assert series is not None
    assert curve(series).first is None
    assert not curve(series).moves


def test_a_fact_is_kept_once_and_numbered() -> None:
    run = run_of({"actor/entropy": [0.4, 0.3]})
    evidence = Evidence(diagnose(run, only=[]), RunView(run), "en")
    series = run.series("actor/entropy")
    assert series is not None
    first, again, other = evidence.point(series.point(0)), evidence.point(series.point(0)), evidence.point(series.point(1))
    assert first is again
    assert [fact.id for fact in evidence.facts] == ["E1", "E2"]
    assert (other.metric, other.step, other.line, other.text) == ("actor/entropy", 2, 2, "0.3")
