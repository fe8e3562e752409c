"""What the printed statistics say about the batch."""

from __future__ import annotations

import numpy as np
import pytest

from assistant.diagnosis.batch import (
    fell_from_best,
    filled,
    grouped,
    last_stretch,
    lower_rate,
    prints_zero,
    responses_per_step,
    spread_at,
    step_fact,
    step_of,
    whitened,
)
from assistant.diagnosis.view import RunView
from assistant.run import NO_STEP, Style
from tests.builders import run_of


def test_zero_is_what_prints_as_zero() -> None:
    values = [0.0, 1e-12, 0.0004, 0.3]
    full, rounded = run_of({"a": values}).series("a"), run_of({"a": values}, style=Style.FIXED3).series("a")
    assert full is not None
    assert rounded is not None
    assert prints_zero(full).tolist() == [True, True, False, False]
    assert prints_zero(rounded).tolist() == [True, True, True, False]


def test_last_stretch_of_a_short_log_needs_every_step() -> None:
    assert last_stretch(np.array([True, True]), 3, 5) is not None
    assert last_stretch(np.array([True, False]), 3, 5) is None
    assert last_stretch(np.array([], dtype=bool), 3, 5) is None


@pytest.mark.parametrize("n", [60, 3000])
def test_a_fall_must_exceed_noise_and_range(n: int) -> None:
    rng = np.random.default_rng(1)
    rise_and_fall = np.concatenate([np.linspace(0.2, 0.7, n // 2), np.linspace(0.7, 0.3, n // 2)]) + 0.02 * rng.standard_normal(n)
    found = fell_from_best(rise_and_fall, 0.25)
    assert found is not None
    best, top, now = found
    assert abs(best - n // 2) < n // 8
    assert top == pytest.approx(0.68, abs=0.05)
    assert now < 0.45
    assert fell_from_best(np.linspace(0.2, 0.7, n) + 0.02 * rng.standard_normal(n), 0.25) is None
    assert fell_from_best(0.5 + 0.05 * rng.standard_normal(n), 0.25, noises=6.0) is None


def test_responses_from_config_or_tokens() -> None:
    config = {"data.train_batch_size": 128, "actor_rollout_ref.rollout.n": 8}
    assert responses_per_step(RunView(run_of({"actor/lr": [0.0]}, config=config))) == 1024
    tokens = {"perf/total_num_tokens": [51_200.0], "prompt_length/mean": [150.0], "response_length/mean": [250.0]}
    assert responses_per_step(RunView(run_of(tokens))) == 128
    assert responses_per_step(RunView(run_of({"actor/lr": [0.0]}))) is None


def test_estimator_by_config_or_by_what_is_printed() -> None:
    ppo = RunView(run_of({"critic/vf_loss": [0.1], "actor/pg_loss": [0.0], "critic/advantages/mean": [0.0]}))
    grpo = RunView(run_of({"actor/pg_loss": [0.0], "critic/advantages/mean": [0.0]}))
    assert (whitened(ppo), grouped(ppo)) == (True, False)
    assert (whitened(grpo), grouped(grpo)) == (False, True)
    assert grouped(RunView(run_of({"actor/pg_loss": [0.0]}, algorithm="rloo"))) is True


def test_spread_is_known_only_with_advantages() -> None:
    view = RunView(run_of({"actor/pg_loss": [0.1, 0.2], "critic/advantages/max": [0.0, 1.0], "critic/advantages/min": [0.0, -1.0]}))
    loss = view["policy_loss"]
    assert loss is not None
    spread = spread_at(view, loss)
    assert spread is not None
    assert spread.tolist() == [False, True]
    assert spread_at(RunView(run_of({"actor/pg_loss": [0.1]})), loss) is None


def test_a_lower_rate_is_a_third_to_one_digit() -> None:
    assert lower_rate(RunView(run_of({"actor/lr": [1e-6]}))) == 3e-7
    assert lower_rate(RunView(run_of({"actor/lr(1e-4)": [0.03]}))) == 1e-6
    assert lower_rate(RunView(run_of({"actor/lr": [0.0]}))) is None


def test_filled_keeps_the_cards_order() -> None:
    fixes = filled("gradient-explosion", learning_rate=3e-7)
    assert next(iter(fixes)) == "learning-rate"
    assert fixes["learning-rate"] == 3e-7
    assert fixes["warmup"] is None


def test_a_row_without_step() -> None:
    series = run_of({"a": [1.0]}, steps=[NO_STEP]).series("a")
    assert series is not None
    assert step_of(series, 0) is None
    assert step_fact(series, 0).text == "?"
