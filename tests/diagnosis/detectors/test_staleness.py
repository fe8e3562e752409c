"""Asynchronous training and MoE routing."""

from __future__ import annotations

import numpy as np
import pytest

from tests.builders import run_of
from tests.diagnosis.detectors.single import look, unknown

TRAINER, ROLLOUTER = "fully_async/trainer/idle_ratio", "fully_async/rollouter/idle_ratio"


def test_stale_samples() -> None:
    name = "training/off_policy/trajectory_staleness/mean"
    found = look(run_of({name: [1.0] * 10 + [4.5] * 10, name.replace("mean", "max"): [9.0] * 20}), "stale-samples")
    assert found is not None
    assert found.first_step == 11
    assert found.facts["now"].value == 4.5
    assert look(run_of({name: [2.0] * 20}), "stale-samples") is None
    assert unknown(run_of({"actor/entropy": [0.1]}), "stale-samples")


@pytest.mark.parametrize(("finding", "busy", "idle"), [("trainer-idle", ROLLOUTER, TRAINER), ("rollouter-idle", TRAINER, ROLLOUTER)])
def test_the_side_that_waits(finding: str, busy: str, idle: str) -> None:
    found = look(run_of({idle: [0.5] * 12, busy: [0.02] * 12}), finding)
    assert found is not None
    assert found.facts["share"].text == "50%"
    assert look(run_of({idle: [0.2] * 12, busy: [0.02] * 12}), finding) is None
    assert look(run_of({idle: [0.5] * 12, busy: [0.6] * 12}), finding) is None


def test_rollout_failures() -> None:
    name = "training/rollout_failure/evicted_samples"
    found = look(run_of({name: [0.0] * 5 + [3.0] * 10}), "rollout-failures")
    assert found is not None
    assert found.first_step == 6
    assert found.facts["total"].value == 30
    assert look(run_of({name: [0.0] * 20}), "rollout-failures") is None
    assert look(run_of({name: [0.0] * 19 + [1.0]}), "rollout-failures") is None


def test_moe_imbalance() -> None:
    name = "rollout/moe/max_vio/max"
    found = look(run_of({name: list(np.linspace(1.0, 8.0, 40))}), "moe-imbalance")
    assert found is not None
    assert found.first_step is not None
    assert found.first_step > 10
    assert look(run_of({name: list(2.0 + 0.2 * np.sin(np.arange(40)))}), "moe-imbalance") is None
