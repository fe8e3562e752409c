"""Labelled logs of other frameworks: the main problem first, nothing on quiet ones, what only looks odd explained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assistant.diagnosis.render import diagnosis_json
from assistant.evaluation import evaluate
from tests.real import diagnosis_of_file

CASES = Path(__file__).parents[3] / "shared" / "cases"
SAMPLES = CASES.parent / "samples"

pytestmark = pytest.mark.skipif(not (CASES / "other").is_dir(), reason="labelled logs are not beside this checkout")
_VERL_KEY = re.compile(r"actor_rollout_ref\.[a-z]|(?<![\w/])critic/(?:score|advantages)/")


@pytest.mark.parametrize(("folder", "at_1", "at_3"), [("other", 0.9, 0.95), ("long", 0.9, 0.95)])
def test_scores(folder: str, at_1: float, at_3: float) -> None:
    totals = evaluate(CASES / folder).totals()
    assert totals["hit_at_1"] >= at_1
    assert totals["hit_at_3"] >= at_3
    assert totals["quiet_disturbed"] == 0
    assert totals["forbidden"] == 0
    assert totals["info_explained"] >= 0.85


def test_advice_names_no_setting_of_verl() -> None:
    for log in sorted(CASES.glob("other/*/log.txt")):
        diagnosis = diagnosis_of_file(log)
        if diagnosis.run.framework == "unknown" or diagnosis.run.framework.startswith("verl"):
            continue
        for finding in diagnosis_json(diagnosis)["findings"]:
            keys = [fix["key"] for fix in finding["fixes"] if fix["key"]]
            assert not [key for key in keys if _VERL_KEY.search(key)], (log.parent.name, finding["id"], keys)
            assert not _VERL_KEY.search(finding["summary"]), (log.parent.name, finding["id"])


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="samples are not beside this checkout")
def test_every_sample_can_be_told_in_both_languages() -> None:
    for path in sorted(p for p in SAMPLES.iterdir() if p.suffix != ".md"):
        diagnosis = diagnosis_of_file(path)
        for language in ("en", "zh"):
            assert all(finding["summary"] for finding in diagnosis_json(diagnosis, language)["findings"])
