from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.retrieval.tokens import meant, stem, tokens


def test_names_are_kept_whole_and_split() -> None:
    assert tokens("actor/pg_clipfrac") == ["actor/pg_clipfrac", "pg_clipfrac", "actor", "pg", "clipfrac"]
    assert tokens("algorithm.kl_ctrl.kl_coef")[:3] == ["algorithm.kl_ctrl.kl_coef", "kl_ctrl", "kl_coef"]


def test_chinese_gives_single_characters_and_pairs() -> None:
    assert tokens("熵坍缩") == ["熵", "坍", "缩", "熵坍", "坍缩"]
    assert "熵" in tokens("为什么熵掉了")
    assert "什么" not in tokens("为什么熵掉了")


@pytest.mark.parametrize(
    "words", [("falls", "falling", "fall"), ("spikes", "spiked", "spiking", "spike"), ("dropped", "dropping", "drops")]
)
def test_forms_of_a_word_meet(words: tuple[str, ...]) -> None:
    assert len({stem(word) for word in words}) == 1


@pytest.mark.parametrize("word", ["loss", "bias", "kl", "lr", "ess", "focus"])
def test_short_words_and_double_s_stay(word: str) -> None:
    assert len(stem(word)) >= min(len(word), 3)
    assert stem("loss") == "loss"


def test_abbreviations_add_what_they_stand_for() -> None:
    assert "throughput" in [*meant(tokens("tput drops"))]
    assert meant(tokens("throughput drops")) == []


@given(st.text(max_size=300))
def test_any_text_has_tokens_without_blanks(text: str) -> None:
    assert all(token and not token.isspace() for token in tokens(text))


@given(st.text(alphabet="abcdeg_/.", min_size=1, max_size=40))
def test_a_key_finds_itself_with_other_words_around_it(key: str) -> None:
    assert set(tokens(key)) <= set(tokens(f"why? {key} ！"))
