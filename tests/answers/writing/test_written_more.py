"""More answers written from nothing but the printed prompt, over other frameworks and other kinds of questions: each sentence stands,
in the language of the question, and a changed number is marked."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from assistant.answers.checking.verify import Verified, verify
from assistant.answers.model import prompt_to_copy
from assistant.answers.packed.packing import Packed
from assistant.answers.understanding.language import detect
from tests.real import diagnosis_of_file

CASES = Path(__file__).resolve().parents[4] / "shared" / "cases"
ROWS = json.loads(Path(__file__).with_name("written_more.json").read_text(encoding="utf-8"))


@cache
def packed(case: str, question: str) -> Packed:
    folder = CASES / case
    if not folder.is_dir():
        pytest.skip("needs ../shared/cases")
    log = next(path for path in sorted(folder.iterdir()) if path.name not in ("case.json", "metrics.jsonl"))
    return prompt_to_copy(question, diagnosis_of_file(log)).packed


def checked(row: dict[str, str], text: str) -> Verified:
    found = packed(row["case"], row["question"])
    return verify(text, found.evidence, found.evidence.language, shown=found.text, said=row["question"])


@pytest.mark.parametrize("row", ROWS, ids=[row["case"].partition("/")[2][:12] for row in ROWS])
def test_a_right_answer_stands(row: dict[str, str]) -> None:
    found = checked(row, row["answer"])
    assert [(issue.kind, issue.text) for issue in found.issues] == []
    assert detect(row["answer"]) == detect(row["question"])


@pytest.mark.parametrize("row", [row for row in ROWS if row.get("wrong")], ids=lambda row: row["case"].partition("/")[2][:12])
def test_a_changed_number_is_marked(row: dict[str, str]) -> None:
    right, wrong = row["wrong"]
    assert row["answer"].count(right) >= 1
    assert checked(row, row["answer"].replace(right, wrong, 1)).issues
