"""The article's 35 claims: asked of its own log, each gets the right answer, in numbers that are all verified."""

from __future__ import annotations

import re
from functools import cache

import pytest

from assistant.answers import Answer, answer
from assistant.diagnosis import Diagnosis, diagnose
from assistant.logs import read_text
from assistant.messages import Language
from tests.answers.seed_rows import ROWS, Row, log


@cache
def diagnosis_of(text: str) -> Diagnosis:
    return diagnose(read_text(text))


def ask(row: Row, question: str) -> Answer:
    return answer(question, diagnosis_of(log(row.changes)))


CASES: list[tuple[Row, Language]] = [(row, "en") for row in ROWS] + [(row, "zh") for row in ROWS if row.zh]


@pytest.mark.parametrize(("row", "language"), CASES, ids=[f"{row.number}-{language}" for row, language in CASES])
def test_seed_row(row: Row, language: Language) -> None:
    found = ask(row, row.en if language == "en" else row.zh)
    assert found.language == language
    for pattern in row.must_en if language == "en" else row.must_zh:
        assert re.search(pattern, found.markdown), f"missing {pattern!r} in:\n{found.markdown}"
    own_words = "\n\n".join(p for p in found.markdown.split("\n\n") if not p.startswith(("You may have read", "你可能看到过")))
    for pattern in row.must_not:
        assert not re.search(pattern, own_words), f"{pattern!r} in:\n{own_words}"
    assert found.checked["unverified"] == 0, [number for number in found.numbers if number.status == "unverified"]


def test_every_claim_has_a_row() -> None:
    assert [row.number for row in ROWS] == list(range(1, 36))
    assert sum(bool(row.zh) for row in ROWS) >= 10
