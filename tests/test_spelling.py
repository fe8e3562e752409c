"""Misspelt names find their neighbour and say so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.lexicon import base, find
from assistant.spelling import close_names, corrections, slipped


def corrected(text: str) -> dict[str, str]:
    return {c.written: c.meant for c in corrections(text, find(text, [base()]))}


@pytest.mark.parametrize(
    ("text", "written", "metric"),
    [
        ("pg_lose", "pg_lose", "policy_loss"),
        ("why is pg_lose positive", "pg_lose", "policy_loss"),
        ("entropi", "entropi", "policy_entropy"),
        ("grad_nrom is huge", "grad_nrom", "policy_grad_norm"),
        ("pg_clipfarc", "pg_clipfarc", "policy_clip_fraction"),
    ],
)
def test_a_slip_finds_the_metric(text: str, written: str, metric: str) -> None:
    found = corrections(text, find(text, [base()]))
    assert [c.written for c in found] == [written]
    assert metric in {target.id for target in found[0].targets}


@pytest.mark.parametrize("text", ["why is pg_loss positive", "entropy", "my_own_metric/value_x", "what is going on here", "熵", ""])
def test_right_and_unknown_words_are_left_alone(text: str) -> None:
    assert corrected(text) == {}


def test_close_names_are_few_and_nearest_first() -> None:
    found = close_names("actor/pg_los")
    assert found[0].meant == "actor/pg_loss"
    assert len(found) <= 5
    assert close_names("kl") == []


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_distance_is_symmetric_and_bounded(a: str, b: str) -> None:
    distance = slipped(a, b, 6)
    assert distance == slipped(b, a, 6)
    assert abs(len(a) - len(b)) <= distance <= max(len(a), len(b))
    assert (distance == 0) == (a == b)


@given(st.text("abcd", min_size=2, max_size=8), st.data())
def test_one_slip_is_one(word: str, data: st.DataObject) -> None:
    i = data.draw(st.integers(0, len(word) - 1))
    assert slipped(word, word[:i] + word[i + 1 :], 2) == 1
    assert slipped(word, word[:i] + "z" + word[i + 1 :], 2) == 1
    swapped = word[:i] + word[i : i + 2][::-1] + word[i + 2 :]
    assert slipped(word, swapped, 2) == (swapped != word)
