"""The labelled logs in ``tests/cases``: trimmed real ones and made-up ones, each with exactly the findings it should have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assistant.evaluation import evaluate
from tests.real import diagnosis_of_file

FOLDER = Path(__file__).parent / "cases"
CASES = sorted(path.parent for path in FOLDER.glob("*/case.json"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_findings_are_exactly_those_of_the_label_in_their_order(case: Path) -> None:
    label = json.loads((case / "case.json").read_text())
    assert [finding.id for finding in diagnosis_of_file(case / "log.txt").faults] == label["findings"]


def test_the_score_of_these_cases_is_perfect() -> None:
    totals = evaluate(FOLDER).totals()
    assert totals["n"] == len(CASES) >= 12
    assert (totals["hit_at_1"], totals["hit_at_3"], totals["info_explained"], totals["abstention"]) == (1, 1, 1, 1)
    assert (totals["false_alarms"], totals["forbidden"], totals["quiet_disturbed"]) == (0, 0, 0)
    assert totals["parsed"] == totals["parse_checked"] == totals["n"]
