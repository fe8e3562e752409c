"""Answer lengths: growing, shrinking, aborted, tails, turns."""

from __future__ import annotations

import numpy as np

from tests.builders import run_of
from tests.diagnosis.detectors.outcomes import findings


def _noise(n: int, scale: float) -> np.ndarray:
    return np.random.default_rng(3).normal(0, scale, n)


def _score(mean: np.ndarray) -> dict[str, list[float]]:
    return {"critic/score/mean": list(mean), "critic/score/max": [1.0] * len(mean), "critic/score/min": [0.0] * len(mean)}


def test_growth_without_gain_is_an_explosion() -> None:
    lengths = np.concatenate([np.full(40, 300.0), np.linspace(300, 1500, 60)]) + _noise(100, 10)
    found = findings(run_of({"response_length/mean": list(lengths), **_score(0.4 + _noise(100, 0.02))}), "length-explosion")
    assert set(found) == {"length-explosion"}
    assert 50 <= found["length-explosion"].first_step <= 62


def test_growth_that_ends_at_the_limit_is_an_explosion_although_the_score_rose() -> None:
    lengths, clip = np.linspace(1000, 5000, 120) + _noise(120, 50), np.linspace(0, 0.4, 120)
    metrics = {"response_length/mean": list(lengths), "response_length/clip_ratio": list(clip), "response_length/max": [8096] * 120}
    found = findings(run_of({**metrics, **_score(np.linspace(0.25, 0.31, 120) + _noise(120, 0.01))}, era="0.6"), "length-explosion")
    assert found["length-explosion"].variant == "cut"


def test_growth_with_the_score_is_healthy() -> None:
    lengths, clip = np.linspace(1000, 2200, 50) + _noise(50, 30), [0.01] * 50
    metrics = {"response_length/mean": list(lengths), "response_length/clip_ratio": clip}
    found = findings(run_of({**metrics, **_score(np.linspace(0.2, 0.4, 50) + _noise(50, 0.01))}), "length-explosion")
    assert {one.id: one.severity for one in found.values()} == {"length-growth-healthy": "info"}


def test_growth_with_the_score_but_validation_down_is_bought() -> None:
    lengths = np.linspace(300, 1200, 100) + _noise(100, 10)
    validation = [0.6 - 0.002 * i if i % 10 == 0 else None for i in range(100)]
    metrics = {"response_length/mean": list(lengths), "val-core/x/acc/mean@1": validation}
    found = findings(run_of({**metrics, **_score(np.linspace(0.3, 0.8, 100) + _noise(100, 0.01))}), "length-explosion")
    assert set(found) == {"length-hacking"}


def test_lengths_that_stay_are_nothing() -> None:
    assert not findings(run_of({"response_length/mean": list(300 + _noise(200, 20))}), "length-explosion", "length-collapse")


def test_collapse_when_the_score_falls_with_the_length() -> None:
    lengths = np.concatenate([np.full(30, 970.0), np.linspace(970, 9, 12), np.full(20, 9.0)])
    score = np.concatenate([np.full(30, 0.5), np.linspace(0.5, 0.1, 12), np.full(20, 0.1)]) + _noise(62, 0.005)
    found = findings(run_of({"response_length/mean": list(lengths), **_score(score)}), "length-collapse")
    assert set(found) == {"length-collapse"}
    assert 37 <= found["length-collapse"].first_step <= 41
    assert found["length-collapse"].variant == "score_fell"


def test_shrinking_while_score_rises_is_briefness() -> None:
    lengths = np.linspace(3500, 900, 100) + _noise(100, 30)
    assert not findings(run_of({"response_length/mean": list(lengths), **_score(np.linspace(0.2, 0.9, 100))}), "length-collapse")


def test_stubs_that_keep_the_score_are_a_hack() -> None:
    lengths = np.concatenate([np.full(30, 400.0), np.full(40, 12.0)])
    shortest = [40.0] * 30 + [3.0] * 40
    metrics = {"response_length/mean": list(lengths), "response_length/min": shortest, **_score(0.6 + _noise(70, 0.005))}
    assert set(findings(run_of(metrics), "length-collapse")) == {"short-answer-hacking"}


def test_aborted_generations() -> None:
    lasting = run_of({"response/aborted_ratio": [0.0] * 20 + [0.3] * 10})
    assert findings(lasting, "aborted-generations")["aborted-generations"].first_step == 21
    assert not findings(run_of({"response/aborted_ratio": [0.0] * 20 + [0.3] + [0.0] * 9}), "aborted-generations")


def test_long_tail_needs_a_step_spent_generating() -> None:
    lengths = {"response_length/max": [8000.0] * 10, "response_length/mean": [800.0] * 10, "timing_s/step": [100.0] * 10}
    assert findings(run_of({**lengths, "timing_s/gen": [70.0] * 10}), "long-tail")["long-tail"].severity == "low"
    assert not findings(run_of({**lengths, "timing_s/gen": [30.0] * 10}), "long-tail")


def test_turns_that_are_used_up() -> None:
    turns = {"num_turns/mean": [15.5] * 10, "num_turns/max": [16.0] * 10, "num_turns/min": [4.0] * 10}
    assert findings(run_of(turns), "turns-saturated")["turns-saturated"].first_step == 1
    assert not findings(run_of({**turns, "num_turns/mean": [10.0] * 10}), "turns-saturated")
    single = {"num_turns/mean": [2.0] * 10, "num_turns/max": [2.0] * 10, "num_turns/min": [2.0] * 10}
    assert not findings(run_of(single), "turns-saturated")
