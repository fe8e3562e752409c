"""Supervised losses and fp16 loss scales."""

from __future__ import annotations

import numpy as np
import pytest

from tests.builders import run_of
from tests.diagnosis.detectors.single import look, unknown


def loss(n: int = 200) -> np.ndarray:
    """A usual curve: falls, levels off, noisy."""
    noise = np.random.default_rng(5).standard_normal(n)
    curve: np.ndarray = 0.4 + 0.8 * np.exp(-np.arange(n) / 40) + 0.05 * noise
    return curve


def test_a_spike_that_comes_back() -> None:
    values = loss()
    values[120] = 3.0
    found = look(run_of({"train/loss": list(values)}), "loss-spike")
    assert found is not None
    assert found.severity == "low"
    assert found.first_step == 121
    assert look(run_of({"train/loss": list(loss())}), "loss-spike") is None


def test_a_new_level_is_not_a_spike_but_divergence() -> None:
    values = loss()
    values[120:] += 2.0
    run = run_of({"train/loss": list(values)})
    assert look(run, "loss-spike") is None
    found = look(run, "loss-divergence")
    assert found is not None
    assert found.severity == "critical"
    assert found.first_step is not None
    assert 118 <= found.first_step <= 130


@pytest.mark.parametrize("n", [8, 40, 200, 5000])
def test_a_usual_curve_does_not_diverge(n: int) -> None:
    assert look(run_of({"train/loss": list(loss(n))}), "loss-divergence") is None


def test_noise_in_a_short_paste_is_not_divergence() -> None:
    assert look(run_of({"train/loss": [0.084, 0.0824, 0.102, 0.113, 0.114]}), "loss-divergence") is None


def test_divergence_in_a_short_paste() -> None:
    found = look(run_of({"train/loss": [1.2, 1.1, 1.3, 2.8, 4.5, 5.1, 5.2, 5.4]}), "loss-divergence")
    assert found is not None
    assert found.severity == "critical"


def test_policy_losses_around_zero_are_not_judged() -> None:
    values = list(0.01 * np.random.default_rng(1).standard_normal(50)) + [0.5] * 50
    assert look(run_of({"train/loss": values}), "loss-divergence") is None


def test_stairs_at_epochs_are_neither() -> None:
    stairs = np.repeat([0.7, 0.4, 0.25, 0.15], 50) + 0.03 * np.random.default_rng(2).standard_normal(200)
    run = run_of({"train/loss": list(stairs)})
    assert look(run, "loss-spike") is None
    assert look(run, "loss-divergence") is None


def test_loss_scale_collapse_and_warmup() -> None:
    dead = look(run_of({"loss_scale": [2.0**k for k in range(16, -1, -1)]}, framework="deepspeed"), "loss-scale-collapse")
    assert dead is not None
    assert dead.id == "loss-scale-collapse"
    assert dead.severity == "critical"
    fine = look(run_of({"loss_scale": [65536.0, 32768.0, 16384.0, *[16384.0] * 60]}, framework="deepspeed"), "loss-scale-collapse")
    assert fine is not None
    assert fine.id == "loss-scale-warmup"
    assert fine.severity == "info"
    assert look(run_of({"loss_scale": [16384.0] * 60}, framework="deepspeed"), "loss-scale-collapse") is None
    assert unknown(run_of({"train/loss": [1.0]}), "loss-scale-collapse") == ["loss_scale"]
