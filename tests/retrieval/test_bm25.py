from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.retrieval.bm25 import FURTHER, K1, B, build

WORD = st.sampled_from(["kl", "entropy", "loss", "reward", "nan"])
DOCUMENTS = st.lists(st.lists(WORD, max_size=8), min_size=1, max_size=6)


@given(DOCUMENTS, st.lists(WORD, max_size=4))
def test_scores_are_those_of_the_formula(documents: list[list[str]], question: list[str]) -> None:
    index = build([{"text": words} for words in documents])
    n, mean = len(documents), max(sum(map(len, documents)) / len(documents), 1.0)
    expected = []
    for words in documents:
        total = 0.0
        for word in set(question):
            found_in = sum(word in other for other in documents)
            frequency = words.count(word) / (1 - B + B * len(words) / mean)
            total += math.log1p((n - found_in + 0.5) / (found_in + 0.5)) * frequency / (K1 + frequency)
        expected.append(total)
    assert index.score(question) == pytest.approx(np.array(expected), abs=1e-5)


def test_a_title_counts_more_than_text() -> None:
    index = build([{"text": ["entropy"]}, {"title": ["entropy"]}, {"text": ["loss"]}])
    text, title, other = index.score(["entropy"])
    assert title > text > other == 0


def test_further_words_count_half_and_never_twice() -> None:
    index = build([{"text": ["throughput"]}, {"text": ["loss"]}])
    assert index.score([], ["throughput"])[0] == pytest.approx(FURTHER * index.score(["throughput"])[0])
    assert index.score(["throughput"], ["throughput"])[0] == pytest.approx(index.score(["throughput"])[0])


def test_no_documents_and_unknown_words() -> None:
    assert build([]).score(["entropy"]).shape == (0,)
    assert build([{"text": ["loss"]}]).score(["never seen"]).tolist() == [0.0]
