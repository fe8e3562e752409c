"""Slowdowns, dips, slow first steps and MFU: one run that trips each, one near miss."""

from __future__ import annotations

import numpy as np
import pytest

from assistant.diagnosis import render
from assistant.run import Run, Style
from tests.builders import run_of
from tests.diagnosis.detectors.single import look, unknown


def curve(seconds: np.ndarray, tokens: np.ndarray | float = 5e5, **more: list[float | None]) -> Run:
    n = len(seconds)
    noise = 1 + 0.05 * np.random.default_rng(3).standard_normal(n)
    metrics = {
        "timing_s/step": list(seconds * noise),
        "timing_s/gen": list(seconds * noise - 30),
        "timing_s/update_actor": [25.0] * n,
        "perf/total_num_tokens": list(np.broadcast_to(tokens, n).astype(float)),
    }
    return run_of(metrics | more, era="0.6")


def test_sudden_slowdown_names_step_and_phase() -> None:
    run = curve(np.r_[np.full(60, 100.0), np.full(40, 220.0)])
    found = look(run, "throughput-drop")
    assert found is not None
    assert found.id == "throughput-drop"
    assert found.variant == "generation"
    assert found.first_step == 61
    assert found.last_step == 100
    assert 205 < found.facts["now"].value < 235
    assert found.facts["now"].text in render.summary(found)


def test_creeping_slowdown_is_progressive() -> None:
    found = look(curve(np.linspace(100, 280, 200)), "throughput-drop")
    assert found is not None
    assert found.id == "progressive-slowdown"
    assert found.first_step is not None
    assert 10 < found.first_step < 80


@pytest.mark.parametrize("growth", [4.0, 2.0])
def test_longer_answers_explain_longer_steps(growth: float) -> None:
    factor = np.linspace(1, growth, 150)
    assert look(curve(100 * factor, 5e5 * factor), "throughput-drop") is None


def test_a_longer_tail_explains_longer_steps() -> None:
    factor = np.linspace(1, 3, 150)
    run = curve(100 * factor, 5e5 * np.sqrt(factor), **{"response_length/max": list(2000 * factor)})
    assert look(run, "throughput-drop") is None


def test_shorter_answers_lower_throughput_and_nothing_is_slow() -> None:
    tokens = np.linspace(5e5, 5e4, 150)
    assert look(curve(np.linspace(100, 40, 150), tokens), "throughput-drop") is None


def test_a_slow_spell_that_ended_is_low() -> None:
    found = look(curve(np.r_[np.full(50, 100.0), np.full(40, 200.0), np.full(60, 100.0)]), "throughput-drop")
    assert found is not None
    assert found.severity == "low"
    assert found.variant == "recovered"
    assert (found.first_step, found.last_step) == (51, 90)


def test_short_or_tokenless_logs_are_not_judged() -> None:
    assert unknown(curve(np.full(10, 100.0)), "throughput-drop") == ["steps>=25"]
    assert unknown(run_of({"timing_s/step": [1.0] * 50}), "throughput-drop") == ["perf/total_num_tokens"]
    assert unknown(run_of({"actor/entropy": [1.0] * 50}), "throughput-drop") == ["timing_s/step"]


def test_validation_inside_the_step_is_explained() -> None:
    at = np.arange(60) % 10 == 9
    testing = [30.0 if a else None for a in at]
    run = run_of(
        {
            "timing_s/step": list(100.0 + 30 * at),
            "timing_s/gen": [60.0] * 60,
            "timing_s/update_actor": [40.0] * 60,
            "timing_s/testing": testing,
        },
        era="0.4",
    )
    found = look(run, "periodic-dips")
    assert found is not None
    assert found.severity == "info"
    assert found.facts["every"].value == 10
    outside = run_of(
        {"timing_s/step": [100.0] * 60, "timing_s/gen": [60.0] * 60, "timing_s/update_actor": [40.0] * 60, "timing_s/testing": testing},
        era="0.6",
    )
    assert look(outside, "periodic-dips") is None


def test_slow_first_step() -> None:
    found = look(run_of({"timing_s/step": [56.0, 32.0, 33.0, 31.0]}), "first-step-slow")
    assert found is not None
    assert found.first_step == 1
    assert look(run_of({"timing_s/step": [40.0, 32.0, 33.0, 31.0]}), "first-step-slow") is None
    more_work = {"timing_s/step": [60.0, 30.0, 30.0, 30.0], "perf/total_num_tokens": [2e5, 1e5, 1e5, 1e5]}
    assert look(run_of(more_work), "first-step-slow") is None


def test_mfu_that_prints_as_zero() -> None:
    run = run_of({"perf/mfu/actor": [0.0, 0.0], "timing_s/update_actor": [20.0, 21.0]}, style=Style.FIXED3)
    found = look(run, "mfu-unknown")
    assert found is not None
    assert "0.000" in render.summary(found)
    assert look(run_of({"perf/mfu/actor": [0.0, 0.002]}), "mfu-unknown") is None


def test_mfu_above_one() -> None:
    found = look(run_of({"perf/mfu/actor": [0.8, 1.08, 0.9]}), "mfu-miscalibrated")
    assert found is not None
    assert found.first_step == 2
    assert look(run_of({"perf/mfu/actor": [0.8, 0.99]}), "mfu-miscalibrated") is None
