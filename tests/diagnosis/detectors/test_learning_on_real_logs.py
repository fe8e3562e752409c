"""What these families say about published logs with known stories (`../shared/cases`)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from assistant.run import Run
from tests.diagnosis.detectors.outcomes import findings
from tests.diagnosis.detectors.test_any_run_learning import mine
from tests.real import run_of_file

CASES = Path(__file__).parents[4] / "shared" / "cases" / "verl"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="labelled logs are not here")


@cache
def _run(case: str) -> Run:
    return run_of_file(next(CASES.glob(f"{case}_*")) / "log.txt")


def _faults(case: str) -> dict[str, int | None]:
    ids = [one.id for one in mine()]
    return {name: one.first_step for name, one in findings(_run(case), *ids).items() if one.severity != "info"}


def _infos(case: str) -> set[str]:
    ids = [one.id for one in mine()]
    return {name for name, one in findings(_run(case), *ids).items() if one.severity == "info"}


@pytest.mark.parametrize("case", ["03", "05", "07", "14", "30", "34", "36", "38", "41", "64"])
def test_healthy_runs_and_other_faults_stay_quiet(case: str) -> None:
    assert not _faults(case)


def test_a_solved_task_is_called_solved() -> None:
    assert set(_faults("02")) == {"reward-saturated"}


def test_a_kl_penalty_that_shortens_every_answer() -> None:
    found = _faults("10")
    assert set(found) == {"reward-kl-gap", "length-collapse", "reward-hacking", "reward-collapse"}
    assert found["reward-kl-gap"] == 1
    assert 30 <= (found["length-collapse"] or 0) <= 38


@pytest.mark.parametrize(
    ("case", "onset", "ids"), [("12", (48, 93), {"truncation", "length-explosion"}), ("13", (81, 225), {"truncation"})]
)
def test_answers_that_grow_into_the_limit(case: str, onset: tuple[int, int], ids: set[str]) -> None:
    found = _faults(case)
    assert set(found) == ids
    assert onset[0] <= (found["truncation"] or 0) <= onset[1]


@pytest.mark.parametrize("case", ["32", "44", "49", "52"])
def test_no_answer_is_ever_rewarded(case: str) -> None:
    assert "reward-flat-floor" in _faults(case)


def test_validation_data_that_was_trained_on() -> None:
    assert set(_faults("17")) == {"validation-overlaps-train"}


@pytest.mark.parametrize(
    ("case", "info"),
    [
        ("13", "validation-noisy"),
        ("28", "explained-variance-artefact"),
        ("38", "critic-early-negative-ev"),
        ("64", "length-growth-healthy"),
    ],
)
def test_what_looks_odd_is_explained(case: str, info: str) -> None:
    assert info in _infos(case)
