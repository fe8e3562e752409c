from __future__ import annotations

import json
from pathlib import Path

import pytest

from assistant.answers.understanding.language import detect

QUESTIONS = Path(__file__).parents[4] / "shared" / "questions" / "questions.jsonl"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("why is my pg_loss positive?", "en"),
        ("pg_loss 为什么是正的", "zh"),
        ("reward 不涨", "zh"),
        ("adv 全是 0", "zh"),
        ("What does 策略熵 mean in my log?", "en"),
        ("なぜ損失が正なのですか", "en"),
        ("왜 손실이 양수인가요", "en"),
        ("pourquoi la perte est-elle positive ?", "en"),
        ("", "en"),
        ("0.003 !!", "en"),
    ],
)
def test_detect(text: str, language: str) -> None:
    assert detect(text) == language


def test_nothing_to_go_by_keeps_the_default() -> None:
    assert detect("???", default="zh") == "zh"


@pytest.mark.skipif(not QUESTIONS.exists(), reason="the question set is not here")
def test_real_questions() -> None:
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    wrong = [row["question"] for row in rows if detect(row["question"]) != row["lang"]]
    assert len(wrong) <= len(rows) // 100, wrong
