"""Words of the trade are found where they are used, and only there."""

from __future__ import annotations

import pytest

from assistant.guide import terms
from assistant.messages import Language


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "Entropy fell.", ["entropy"]),
        ("en", "The clip ratio of answers", []),
        ("en", "Large share of tokens clipped", ["token", "clip"]),
        ("en", "Set `actor.entropy_coeff`, look at critic/score/mean and entropy_coeff", []),
        ("en", "A stepwise tokenizer in batches", ["batch"]),
        ("zh", "熵降到很低", ["entropy"]),
        ("zh", "编译、CUDA graph、缓存预热", []),
        ("zh", "学习率预热", ["lr", "warm-up"]),
    ],
)
def test_words_are_found_as_words(language: Language, text: str, expected: list[str]) -> None:
    assert terms.used([text], language) == expected


def test_every_word_finds_itself_and_is_explained_without_itself_first() -> None:
    for entry in terms.entries():
        for language in ("en", "zh"):
            assert entry.pattern(language).search(entry.word[language]), (entry.id, language)
            assert entry.meaning[language] not in ("", entry.word[language])


def test_what_was_explained_is_not_explained_again() -> None:
    assert [term.word for term in terms.explained(["kl", "entropy", "kl"], "en", {"entropy"})] == ["KL"]
