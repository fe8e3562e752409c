"""Sampling against training probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.diagnosis import render
from assistant.run import Style
from tests.builders import run_of
from tests.diagnosis.detectors.single import look, unknown

DIFFERENCE = "training/rollout_probs_diff_mean"
PEARSON = "training/rollout_actor_probs_pearson_corr"


def test_elevated_since_its_onset() -> None:
    found = look(run_of({DIFFERENCE: [0.003] * 20 + [0.015] * 10}), "rollout-mismatch")
    assert found is not None
    assert found.id == "rollout-mismatch"
    assert (found.first_step, found.last_step) == (21, 30)


def test_usual_difference_is_fine_and_one_step_is_enough_for_a_large_one() -> None:
    assert look(run_of({DIFFERENCE: [0.003]}, style=Style.FIXED3), "rollout-mismatch") is None
    found = look(run_of({DIFFERENCE: [0.03]}), "rollout-mismatch")
    assert found is not None
    assert found.confidence < 0.7


def test_kl_alone_is_judged_by_its_own_level() -> None:
    found = look(run_of({"rollout_corr/k3_kl": [0.2] * 6}), "rollout-mismatch")
    assert found is not None
    assert found.variant == "kl"
    assert look(run_of({"rollout_corr/kl": [-0.02] * 6}), "rollout-mismatch") is None


def test_other_weights_in_the_engine() -> None:
    found = look(run_of({DIFFERENCE: [0.3] * 6, PEARSON: [0.2] * 6}), "rollout-mismatch")
    assert found is not None
    assert found.id == "weights-not-synced"
    assert found.severity == "critical"
    found = look(run_of({PEARSON: [0.5] * 6}), "rollout-mismatch")
    assert found is not None
    assert found.id == "weights-not-synced"
    assert found.variant == "correlation"


def test_a_correlation_of_exactly_zero_is_a_failed_comparison() -> None:
    assert look(run_of({PEARSON: [0.0] * 6, DIFFERENCE: [0.003] * 6}), "rollout-mismatch") is None


def test_without_rollout_probabilities_nothing_can_be_said() -> None:
    needs = ["actor_rollout_ref.rollout.calculate_log_probs=True"]
    assert unknown(run_of({"actor/entropy": [0.4]}), "rollout-mismatch") == needs
    assert unknown(run_of({DIFFERENCE: [float("nan")] * 5}), "rollout-mismatch") == needs
    assert unknown(run_of({DIFFERENCE: [0.002] * 5}), "rollout-mismatch-drift") == ["steps>=20"]


def test_drift() -> None:
    found = look(run_of({DIFFERENCE: list(np.linspace(0.002, 0.03, 100))}), "rollout-mismatch-drift")
    assert found is not None
    assert found.first_step is not None
    assert 15 < found.first_step < 40
    steady = np.full(100, 0.004) + 0.001 * np.sin(np.arange(100))
    assert look(run_of({DIFFERENCE: list(steady)}), "rollout-mismatch-drift") is None


def test_drift_from_a_start_that_prints_as_zero() -> None:
    run = run_of({DIFFERENCE: [0.0] * 30 + [0.02] * 30}, style=Style.FIXED3)
    found = look(run, "rollout-mismatch-drift")
    assert found is not None
    assert found.variant == "from-zero"


@pytest.mark.parametrize(
    ("name", "bad", "good", "variant"),
    [
        ("rollout_corr/rollout_is_eff_sample_size", 0.1, 0.8, "default"),
        ("rollout_corr/rollout_is_mean", 3.0, 1.02, "mean"),
        ("mismatch/rollout_is_std", 1.5, 0.2, "spread"),
    ],
)
def test_importance_weights(name: str, bad: float, good: float, variant: str) -> None:
    found = look(run_of({name: [good] * 10 + [bad] * 10}), "importance-weights-degenerate")
    assert found is not None
    assert found.variant == variant
    assert found.first_step == 11
    assert look(run_of({name: [good] * 20}), "importance-weights-degenerate") is None


def test_rejection() -> None:
    found = look(run_of({"rollout_corr/rollout_rs_masked_fraction": [0.05] * 5 + [0.35] * 5}), "rejection-too-strong")
    assert found is not None
    assert found.first_step == 6
    assert found.facts["share"].text == "35%"
    assert look(run_of({"rollout_corr/rollout_rs_masked_fraction": [0.08] * 10}), "rejection-too-strong") is None


@pytest.mark.parametrize(("era", "mode"), [("0.6", "token"), ("0.7", "token_k1"), ("0.9", "token_k1"), ("unknown", "token_k1")])
def test_what_to_set_for_rejection_depends_on_the_version(era: str, mode: str) -> None:
    (needs,) = unknown(run_of({"critic/score/mean": [0.5]}, era=era), "rejection-too-strong")
    assert needs.split()[0] == f"algorithm.rollout_correction.rollout_rs={mode}"


def test_greedy_groups_are_seen_in_the_settings_alone() -> None:
    config = {"actor_rollout_ref.rollout.temperature": 0, "actor_rollout_ref.rollout.n": 8}
    run = run_of({"actor/entropy": [0.4]}, config=config)
    found = look(run, "sampling-config-mismatch")
    assert found is not None
    assert found.variant == "greedy"
    fixes = render.fixes(found, run)
    assert [(fix["key"], fix["from"], fix["to"]) for fix in fixes] == [("actor_rollout_ref.rollout.temperature", 0, 1.0)]
    assert look(run_of({"actor/entropy": [0.4]}, config=config | {"actor_rollout_ref.rollout.n": 1}), "sampling-config-mismatch") is None


def test_constant_perplexity_ratio_is_a_setting_and_a_moving_one_is_not() -> None:
    found = look(run_of({"rollout_corr/ppl_ratio": [1.2] * 20}), "sampling-config-mismatch")
    assert found is not None
    assert found.facts["median"].text == "1.2"
    assert look(run_of({"rollout_corr/ppl_ratio": list(np.linspace(1, 1.3, 40))}), "sampling-config-mismatch") is None
    assert look(run_of({"rollout_corr/ppl_ratio": [1.01] * 20}), "sampling-config-mismatch") is None


@given(st.lists(st.floats(0, 0.009) | st.just(float("nan")), min_size=1, max_size=80))
def test_nothing_is_found_below_the_level(values: list[float]) -> None:
    assert look(run_of({DIFFERENCE: values, PEARSON: [0.995] * len(values)}), "rollout-mismatch") is None
