"""Policy, KL, loss, gradient, numerics, signal and learning-rate detectors on real labelled logs."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from assistant.diagnosis import Diagnosis, diagnose, registered
from assistant.diagnosis.render import diagnosis_json
from tests.real import run_of_file

CASES = Path(__file__).parents[4] / "shared" / "cases"
FAMILIES = ("policy", "weights", "kl", "loss", "gradient", "numerics", "signal", "shrinking", "learning_rate")
LONG = sorted(CASES.glob("long/*verl*/metrics.jsonl"))
INPUTS = [*sorted(CASES.glob("verl/*/log.txt")), *LONG]

pytestmark = pytest.mark.skipif(not INPUTS, reason="labelled logs are not beside this checkout")


@cache
def diagnosis_of(log: Path) -> Diagnosis:
    mine = [name for name, one in registered().items() if one.function.__module__.rpartition(".")[2] in FAMILIES]
    return diagnose(run_of_file(log), only=mine)


def found(name: str) -> dict[str, tuple[str | None, int | None]]:
    log = next(log for log in INPUTS if log.parent.name.startswith(name) and log.parent.parent.name == "verl")
    return {f.id: (f.severity, f.first_step) for f in diagnosis_of(log).findings}


@pytest.mark.parametrize("log", INPUTS, ids=lambda log: f"{log.parent.parent.name}-{log.parent.name[:30]}")
def test_nothing_beyond_the_label(log: Path) -> None:
    case = json.loads((log.parent / "case.json").read_text())
    diagnosis = diagnosis_of(log)
    assert {f.id for f in diagnosis.faults} <= {*case["accept"], *case["tolerate"]}
    assert not {f.id for f in diagnosis.faults} & set(case["forbid"])
    for language in ("en", "zh"):
        assert all(f["summary"] for f in diagnosis_json(diagnosis, language)["findings"])


@pytest.mark.parametrize(
    ("name", "finding", "severity", "first_step"),
    [
        ("21", "group-size-one", "high", 1),
        ("28", "policy-degenerate", "critical", 383),
        ("32", "weights-not-loaded", "critical", 9),
        ("38", "non-finite", "critical", 1),
        ("40", "no-learning-signal", "high", 80),
        ("46", "policy-degenerate", "critical", 1049),
        ("49", "non-finite", "critical", 3663),
    ],
)
def test_main_problem_is_found(name: str, finding: str, severity: str, first_step: int) -> None:
    assert found(name)[finding] == (severity, first_step)


def test_shrinking_signal_in_the_labelled_stretch() -> None:
    severity, first_step = found("23")["shrinking-learning-signal"]
    assert severity == "medium"
    assert 200 <= (first_step or 0) <= 400


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("02", "gradient-spike"),
        ("02", "learning-rate-rounded"),
        ("03", "gradient-spike"),
        ("07", "gradient-spike"),
        ("07", "learning-rate-rounded"),
        ("21", "on-policy-zero-kl"),
        ("23", "on-policy-zero-kl"),
        ("23", "zero-loss-by-design"),
        ("28", "learning-rate-rounded"),
        ("30", "on-policy-zero-kl"),
        ("30", "zero-loss-by-design"),
        ("41", "learning-rate-rounded"),
        ("44", "learning-rate-rounded"),
    ],
)
def test_the_odd_and_normal_is_explained(name: str, finding: str) -> None:
    assert found(name)[finding][0] == "info"
