"""Runs with nothing wrong raise nothing: a false alarm costs more trust than a miss."""

from __future__ import annotations

import pytest

from assistant.diagnosis import diagnose
from tests.diagnosis.healthy_runs import KINDS, healthy_run, setup

SEEDS = 200


@pytest.fixture(scope="module")
def alarms() -> dict[int, list[str]]:
    """Seed → findings above ``info``; seeds without any are left out."""
    found = {seed: [f.id for f in diagnose(healthy_run(seed)).faults] for seed in range(SEEDS)}
    return {seed: names for seed, names in found.items() if names}


def test_fewer_than_one_in_a_hundred_healthy_runs_raises_anything(alarms: dict[int, list[str]]) -> None:
    assert len(alarms) < SEEDS / 100, alarms


def test_no_kind_of_run_raises_anything_grave(alarms: dict[int, list[str]]) -> None:
    grave = {seed: [f.id for f in diagnose(healthy_run(seed)).faults if f.severity != "low"] for seed in alarms}
    assert not any(grave.values()), grave


def test_the_seeds_cover_every_kind_and_version() -> None:
    setups = [setup(seed) for seed in range(SEEDS)]
    assert {s.kind for s in setups} == set(KINDS)
    assert {s.era for s in setups} == {"0.2", "0.4", "0.6", "0.7"}
    assert {s.updates for s in setups} == {1, 2, 4}
