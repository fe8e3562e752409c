"""Two runs side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assistant.diagnosis import Diagnosis, Finding
from assistant.diagnosis.compare import acts_on, compare, config_differences, verdict
from assistant.logs import read
from assistant.run import Run
from tests.builders import run_of
from tests.diagnosis.detectors.looking import healthy, noise, ramp, with_

SHARED = Path(__file__).parents[3] / "shared" / "cases"


def test_two_runs_of_one_kind_do_not_part() -> None:
    found = compare(run_of(healthy(100, 0), era="0.6"), run_of(healthy(100, 50), era="0.6"))
    assert [one.metric for one in found.metrics] == []
    assert found.verdict == "both-healthy"
    assert found.shared_steps == 100


def test_a_curve_parts_where_it_does() -> None:
    other = with_(healthy(100, 50), actor__entropy=[*ramp(60, 0.4, 0.31, 0.01, 3), *ramp(40, 0.6, 0.8, 0.01, 4)])
    found = compare(run_of(healthy(100, 0), era="0.6"), run_of(other, era="0.6"))
    (one,) = found.metrics
    assert one.canonical == "policy_entropy"
    assert one.parts_at is not None
    assert 61 <= one.parts_at <= 67
    assert one.b > 2 * one.a


def test_a_short_excursion_is_no_parting() -> None:
    other = with_(healthy(100, 50), actor__entropy=[*ramp(40, 0.4, 0.34, 0.01, 3), *noise(10, 1.5, 0.01), *ramp(50, 0.33, 0.25, 0.01, 4)])
    assert compare(run_of(healthy(100, 0), era="0.6"), run_of(other, era="0.6")).metrics == []


def test_runs_without_shared_steps_are_compared_where_they_end() -> None:
    longer = with_(healthy(60, 9), response_length__mean=noise(60, 900, 10))
    found = compare(run_of(healthy(60), era="0.6"), run_of(longer, start=500, era="0.6"))
    assert ("response_length_mean", None) in [(one.canonical, one.parts_at) for one in found.metrics]


def test_a_setting_that_acts_on_a_parted_curve_is_its_explanation() -> None:
    base = {"actor_rollout_ref.rollout.n": 8, "actor_rollout_ref.actor.entropy_coeff": 0.0, "trainer.experiment_name": "x"}
    other = {**base, "actor_rollout_ref.actor.entropy_coeff": 0.01, "trainer.experiment_name": "y", "data.seed": 2}
    entropy = with_(healthy(100, 50), actor__entropy=ramp(100, 0.4, 0.9, 0.01, 4))
    found = compare(run_of(healthy(100), config=base, era="0.6"), run_of(entropy, config=other, era="0.6"))
    first = found.config[0]
    assert (first.key, first.a, first.b, first.matters) == ("actor_rollout_ref.actor.entropy_coeff", 0.0, 0.01, True)
    assert "policy_entropy" in first.acts_on
    assert found.metrics[0].explained_by == ("actor_rollout_ref.actor.entropy_coeff",)
    assert {one.key for one in found.config} == {"actor_rollout_ref.actor.entropy_coeff", "data.seed"}  # names are no settings


def test_settings_are_compared_across_versions_by_their_newest_spelling_and_default() -> None:
    key = "actor_rollout_ref.actor.grad_clip"
    a = run_of(healthy(20), config={key: 1.0, "actor_rollout_ref.rollout.n": 4}, era="0.6")
    assert [d.key for d in config_differences(a, run_of(healthy(20), config={key: 1.0}, era="0.6"))] == ["actor_rollout_ref.rollout.n"]
    assert [(d.a, d.b) for d in config_differences(a, run_of(healthy(20), config={key: 1.0}, era="0.6"))] == [(4, 1)]
    assert config_differences(a, run_of(healthy(20), era="0.6")) == []  # a log without settings says nothing about them


def test_what_a_setting_acts_on_comes_from_the_cards() -> None:
    assert "advantage_max" in acts_on("actor_rollout_ref.rollout.n")
    assert acts_on("trainer.project_name") == frozenset()


def test_direction_of_better() -> None:
    worse = with_(healthy(100, 50), critic__score__mean=ramp(100, 0.3, 0.31, 0.02, 5))
    (one,) = compare(run_of(healthy(100), era="0.6"), run_of(worse, era="0.6")).metrics
    assert (one.canonical, one.better) == ("score_mean", "a")


def seen(last: int, *findings: tuple[str, str, int]) -> Diagnosis:
    run = Run(row_steps=np.arange(1, last + 1))
    return Diagnosis(run, [Finding(name, severity, first_step=step) for name, severity, step in findings], [], [])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([], [], "both-healthy"),
        ([("truncation", "high", 10)], [], "fixed"),
        ([("truncation", "high", 10), ("long-tail", "low", 1)], [("long-tail", "low", 1)], "fixed"),
        ([("truncation", "high", 10)], [("truncation", "high", 12)], "not-fixed"),
        ([("truncation", "high", 10)], [("truncation", "medium", 12)], "improved"),
        ([("truncation", "high", 10), ("reward-noisy", "medium", 1)], [("truncation", "high", 10)], "improved"),
        ([("truncation", "high", 10)], [("reward-plateau", "medium", 40)], "new-problem"),
        ([("truncation", "high", 10)], [("reward-collapse", "critical", 40)], "worse"),
        ([("truncation", "high", 10)], [("truncation", "high", 10), ("overfitting", "high", 30)], "worse"),
        ([], [("truncation", "high", 10)], "worse"),
        ([("reward-collapse", "critical", 95)], [], "too-early"),
    ],
)
def test_did_the_fix_work(before: list[tuple[str, str, int]], after: list[tuple[str, str, int]], expected: str) -> None:
    assert verdict(seen(200, *before), seen(100, *after)) == expected


@pytest.mark.skipif(not SHARED.exists(), reason="real logs are not part of a clone")
def test_group_of_one_against_group_of_four() -> None:
    a, b = (read(next(SHARED.glob(f"verl/{n}_*/log.txt"))) for n in ("21", "23"))
    found = compare(a, b)
    assert found.config[0].key == "actor_rollout_ref.rollout.n"
    assert (found.config[0].a, found.config[0].b) == (1, 4)
    assert "group-size-one" in [f.id for f in found.only_a]
    assert "shrinking-learning-signal" in [f.id for f in found.only_b]
    assert found.verdict == "new-problem"
    assert all("dir" not in one.key for one in found.config)


@pytest.mark.skipif(not SHARED.exists(), reason="real logs are not part of a clone")
def test_a_kl_coefficient_a_hundred_times_smaller() -> None:
    a, b = (read(next(SHARED.glob(f"verl/{n}_*/log.txt"))) for n in ("10", "14"))
    found = compare(a, b)
    assert found.verdict == "fixed"
    assert found.config[0].key == "algorithm.kl_ctrl.kl_coef"
    length = next(one for one in found.metrics if one.canonical == "response_length_mean")
    assert length.explained_by == ("algorithm.kl_ctrl.kl_coef",)
    assert compare(b, a).verdict == "worse"
