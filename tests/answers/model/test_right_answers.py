"""Right answers on real logs, written by careful readers of the printed prompt: none of their words is marked, none is turned away."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assistant.answers import answer
from tests.answers.model.scenes import endpoint
from tests.answers.model.server import Act, serving
from tests.real import diagnosis_of_file

CASES = Path(__file__).resolve().parents[4] / "shared" / "cases"
ROWS = json.loads(Path(__file__).with_name("right_answers.json").read_text(encoding="utf-8"))


@pytest.mark.skipif(not CASES.exists(), reason="needs the shared logs")
@pytest.mark.parametrize("row", ROWS, ids=[row["case"].split("/")[1][:24] for row in ROWS])
def test_nothing_that_is_right_is_marked(row: dict[str, str]) -> None:
    with serving(Act(row["answer"])) as server:
        given = answer(row["question"], diagnosis_of_file(CASES / row["case"]), model=endpoint(server))
    assert given.mode == "model", given.note
    assert "⚠" not in given.markdown, given.markdown
    assert [number.text for number in given.numbers if number.status == "unverified"] == []


def test_settings_of_one_family_are_no_repetition() -> None:
    from assistant.answers.model.answering import _loops

    keys = " ".join(f"Set `actor_rollout_ref.actor.{name}` first." for name in ("use_dynamic_bsz", "ppo_epochs", "clip_ratio_high"))
    assert not _loops(keys)
    assert _loops("The run is fine so far. " * 3)
