"""Groups without spread, where only their share is printed."""

from __future__ import annotations

from tests.builders import run_of
from tests.diagnosis.detectors.looking import look, noise, ramp


def test_a_rising_share_of_uniform_groups() -> None:
    run = run_of({"reward": noise(90, 0.6, 0.05), "frac_reward_zero_std": ramp(90, 0.25, 0.65, 0.03)}, framework="trl")
    found = look("shrinking-learning-signal", run)
    assert found is not None
    assert (found.severity, found.variant) == ("medium", "groups")
    steady = run_of({"reward": noise(90, 0.6, 0.05), "frac_reward_zero_std": noise(90, 0.5, 0.05)}, framework="trl")
    assert look("shrinking-learning-signal", steady) is None


def test_a_large_steady_share() -> None:
    run = run_of({"reward": [0.9] * 20, "frac_reward_zero_std": noise(20, 0.9, 0.01)}, framework="trl")
    found = look("many-uniform-groups", run)
    assert found is not None
    assert (found.severity, found.variant) == ("low", "default")
    assert look("many-uniform-groups", run_of({"reward": [0.9] * 20, "frac_reward_zero_std": [0.75] * 20}, framework="trl")) is None
    assert look("many-uniform-groups", run_of({"reward": [0.9] * 2, "frac_reward_zero_std": [0.9] * 2}, framework="trl")) is None
    assert look("many-uniform-groups", run_of({"reward": [0.0] * 20, "frac_reward_zero_std": [1.0] * 20}, framework="trl")) is None
