"""Quantities that follow from printed ones."""

from __future__ import annotations

import pytest

from assistant.derived import derived_quantities, group_size_bound, n_gpus, responses_per_step
from assistant.diagnosis.view import RunView
from tests.builders import run_of

STEPS = range(1, 21)
METRICS = {
    "perf/total_num_tokens": [512 * (100.0 + 300.5 + step) for step in STEPS],
    "perf/time_per_step": [40.0 + step for step in STEPS],
    "perf/throughput": [512 * (100.0 + 300.5 + step) / ((40.0 + step) * 8) for step in STEPS],
    "global_seqlen/mean": [512 * (100.0 + 300.5 + step) / 4 for step in STEPS],
    "prompt_length/mean": [100.0 for _ in STEPS],
    "response_length/mean": [300.5 + step for step in STEPS],
    "timing_s/gen": [20.0 for _ in STEPS],
    "critic/advantages/max": [1.7888 if step == 7 else 1.5 for step in STEPS],
}


def test_batch_gpus_and_group_come_out_of_the_metrics() -> None:
    found = derived_quantities(RunView(run_of(METRICS, algorithm="grpo", era="0.6")))
    values = {name: quantity.value for name, quantity in found.items()}
    rate = values.pop("decode_tokens_per_second_per_gpu")
    assert values == {"responses_per_step": 512.0, "n_gpus": 8.0, "dp_size": 4.0, "group_size_bound": 5.0}
    assert rate == pytest.approx(512 * 311 / 20 / 8, rel=1e-6)
    assert found["n_gpus"].formula == "perf/total_num_tokens / (perf/throughput × perf/time_per_step)"
    assert [point.metric for point in found["dp_size"].inputs] == ["perf/total_num_tokens", "global_seqlen/mean"]
    assert found["group_size_bound"].inputs[0].step == 7


def test_updates_come_from_the_settings() -> None:
    config = {"data.train_batch_size": 1024, "actor_rollout_ref.actor.ppo_mini_batch_size": 256, "actor_rollout_ref.actor.ppo_epochs": 2}
    assert derived_quantities(RunView(run_of({}, config=config)))["updates_per_step"].value == 8.0


def test_missing_inputs_give_nothing() -> None:
    assert derived_quantities(RunView(run_of({"actor/pg_loss": [0.1, 0.2]}))) == {}


def test_a_batch_that_changes_every_step_has_no_size() -> None:
    changing = METRICS | {"perf/total_num_tokens": [(300 + 20 * step) * (400.5 + step) for step in STEPS]}
    view = RunView(run_of(changing))
    assert responses_per_step(view) is None
    assert n_gpus(view) is None


@pytest.mark.parametrize("n", [2, 4, 5, 8, 16, 64])
def test_the_group_is_the_one_whose_single_success_gives_the_largest_advantage(n: int) -> None:
    view = RunView(run_of({"critic/advantages/max": [0.3, (n - 1) / n**0.5, 0.2]}, algorithm="grpo"))
    found = group_size_bound(view)
    assert found is not None
    assert found.value == n


def test_no_group_size_where_advantages_are_not_divided_by_the_groups_deviation() -> None:
    metrics = {"critic/advantages/max": [1.5], "critic/advantages/min": [-1.5]}
    assert group_size_bound(RunView(run_of(metrics, algorithm="gae"))) is None
    unscaled = run_of(metrics, algorithm="grpo", config={"algorithm.norm_adv_by_std_in_grpo": False})
    assert group_size_bound(RunView(unscaled)) is None
    alone = run_of(metrics | {"critic/score/max": [1.5], "critic/score/min": [-1.5]}, algorithm="grpo")
    assert group_size_bound(RunView(alone)) is None
