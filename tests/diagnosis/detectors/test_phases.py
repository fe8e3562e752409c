"""Which phase takes the time: one run that trips each detector, one near miss."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.diagnosis import render
from assistant.logs import read_text
from assistant.run import NO_STEP, Run
from tests.builders import run_of
from tests.diagnosis.detectors.single import look, unknown


def steps(n: int = 5, era: str = "0.6", config: dict[str, Any] | None = None, **seconds: float) -> Run:
    """A run whose ``timing_s/<name>`` are constant; ``step`` is 100 s unless given."""
    metrics = {f"timing_s/{name}": [value] * n for name, value in {"step": 100.0, **seconds}.items()}
    return run_of(metrics, era=era, config=config)


def test_generation_bound() -> None:
    found = look(steps(gen=85.0, update_actor=10.0), "generation-bound")
    assert found is not None
    assert found.severity == "low"
    assert found.facts["share"].text == "85%"
    assert look(steps(gen=65.0, update_actor=30.0), "generation-bound") is None


def test_waiting_of_an_asynchronous_trainer_is_not_generation() -> None:
    run = run_of({"timing_s/step": [100.0] * 5, "timing_s/gen": [90.0] * 5, "fully_async/trainer/idle_ratio": [0.9] * 5})
    assert look(run, "generation-bound") is None


def test_update_bound_by_settings_and_by_mfu() -> None:
    slow = {"actor_rollout_ref.model.use_remove_padding": False, "actor_rollout_ref.actor.use_dynamic_bsz": False}
    run = steps(2, gen=30.0, update_actor=58.0, config=slow)
    found = look(run, "update-bound")
    assert found is not None
    assert [fix["key"] for fix in render.fixes(found, run)] == list(slow)
    low = run_of({"timing_s/step": [100.0] * 3, "timing_s/update_actor": [60.0] * 3, "perf/mfu/actor": [0.05] * 3})
    found = look(low, "update-bound")
    assert found is not None
    assert found.variant == "low-mfu"
    assert found.facts["mfu"].text == "5%"
    good = run_of({"timing_s/step": [100.0] * 3, "timing_s/update_actor": [60.0] * 3, "perf/mfu/actor": [0.4] * 3})
    assert look(good, "update-bound") is None
    assert unknown(steps(2, update_actor=60.0), "update-bound") == ["perf/mfu/actor"]


def padded(used: float, remove: bool | None) -> Run:
    config: dict[str, Any] = {"data.max_prompt_length": 1024, "data.max_response_length": 3072}
    if remove is not None:
        config["actor_rollout_ref.model.use_remove_padding"] = remove
    return run_of(
        {
            "timing_s/step": [100.0] * 3,
            "timing_s/update_actor": [60.0] * 3,
            "response_length/mean": [used - 200] * 3,
            "prompt_length/mean": [200.0] * 3,
        },
        config=config,
        era="0.6",
    )


def test_padding_waste() -> None:
    found = look(padded(1000.0, False), "padding-waste")
    assert found is not None
    assert found.facts["filled"].text == "24.4%"
    assert look(padded(3000.0, False), "padding-waste") is None
    assert look(padded(1000.0, True), "padding-waste") is None
    assert unknown(padded(1000.0, None), "padding-waste") == ["actor_rollout_ref.model.use_remove_padding="]


def test_padding_does_not_matter_where_the_update_is_short() -> None:
    run = padded(1000.0, False)
    run.columns["timing_s/update_actor"].values[:] = 5.0
    assert look(run, "padding-waste") is None


def test_logprob_heavy_and_a_slow_reference() -> None:
    found = look(steps(old_log_prob=20.0, ref=20.0), "logprob-heavy")
    assert found is not None
    assert found.variant == "default"
    found = look(steps(old_log_prob=6.0, ref=40.0), "logprob-heavy")
    assert found is not None
    assert found.variant == "reference"
    assert found.facts["times"].text == "6.67"
    assert look(steps(old_log_prob=12.0, ref=12.0), "logprob-heavy") is None


def test_weight_sync() -> None:
    found = look(steps(update_weights=30.0, gen=40.0), "weight-sync-heavy")
    assert found is not None
    assert found.variant == "default"
    found = look(steps(gen=80.0, generate_sequences=2.5, update_actor=15.0), "weight-sync-heavy")
    assert found is not None
    assert found.variant == "around-engine"
    assert found.facts["around"].text == "77.5"
    assert look(steps(gen=80.0, generate_sequences=70.0), "weight-sync-heavy") is None


def test_generation_is_not_the_bottleneck_when_the_engine_is_idle() -> None:
    assert look(steps(gen=90.0, generate_sequences=2.0), "generation-bound") is None


def test_unexplained_rest_of_the_v1_trainer() -> None:
    metrics = {"timing_s/step": [100.0] * 6, "timing_s/gen": [30.0] * 6, "timing_s/update_actor": [30.0] * 6}
    v1 = metrics | {"training/off_policy/trajectory_staleness/mean": [0.0] * 6}
    found = look(run_of(v1, era="0.9"), "dataloader-stall")
    assert found is not None
    assert found.facts["share"].text == "40%"
    assert unknown(run_of(metrics, era="0.6"), "dataloader-stall") == ["progress_bar"]
    assert look(run_of(v1 | {"timing_s/ref": [35.0] * 6}, era="0.9"), "dataloader-stall") is None


@pytest.mark.parametrize(("name", "timer"), [("checkpoint-stall", "save_checkpoint"), ("validation-costly", "testing")])
def test_occasional_work_that_adds_up(name: str, timer: str) -> None:
    def run(every: int) -> Run:
        seconds = [120.0 if i % every == 0 else None for i in range(1, 61)]
        return run_of({"timing_s/step": [50.0] * 60, "timing_s/gen": [50.0] * 60, f"timing_s/{timer}": seconds}, era="0.6.1")

    found = look(run(5), name)
    assert found is not None
    assert found.facts["every"].value == 5
    assert found.facts["share"].text == "32.4%"
    assert look(run(30), name) is None


def test_reward_in_its_own_timer() -> None:
    found = look(steps(reward=60.0, gen=30.0), "reward-slow")
    assert found is not None
    assert found.severity == "high"
    assert found.variant == "default"
    assert look(steps(reward=20.0, gen=70.0), "reward-slow") is None


def test_reward_inside_adv() -> None:
    found = look(steps(era="0.2", adv=40.0, gen=30.0), "reward-slow")
    assert found is not None
    assert found.variant == "advantage"
    assert found.severity == "medium"
    assert look(steps(adv=40.0, reward=10.0, gen=30.0), "reward-slow") is None


def test_a_pasted_adv_timer_needs_no_step() -> None:
    found = look(run_of({"timing_s/adv": [10751.941]}, steps=[NO_STEP]), "reward-slow")
    assert found is not None
    assert found.variant == "advantage-alone"
    assert found.first_step is None
    assert found.evidence[0].value == 10751.941
    assert look(run_of({"timing_s/adv": [11.2]}, steps=[NO_STEP]), "reward-slow") is None


def test_reward_inside_generation() -> None:
    run = {"timing_s/step": [100.0] * 3, "timing_s/gen": [80.0] * 3, "timing_s/agent_loop/compute_score/max": [70.0] * 3}
    found = look(run_of(run, era="0.8"), "reward-slow")
    assert found is not None
    assert found.variant == "in-generation"


def agents(tool: float, thinking: float) -> Run:
    loop = "timing_s/agent_loop/"
    return run_of(
        {
            "timing_s/step": [100.0] * 12,
            "timing_s/gen": [80.0] * 12,
            loop + "tool_calls/max": [tool] * 12,
            loop + "slowest/tool_calls": [tool] * 12,
            loop + "slowest/generate_sequences": [thinking] * 12,
        }
    )


def test_tool_latency() -> None:
    found = look(agents(60.0, 15.0), "tool-latency")
    assert found is not None
    assert found.facts["share"].text == "75%"
    assert look(agents(45.0, 70.0), "tool-latency") is None
    assert look(agents(20.0, 10.0), "tool-latency") is None


def test_preemptions() -> None:
    found = look(run_of({"timing_s/agent_loop/num_preempted/mean": [0.0, 0.4, 0.5, 0.6, 0.4, 0.7]}), "kv-preemption")
    assert found is not None
    assert found.first_step == 2
    assert look(run_of({"timing_s/agent_loop/num_preempted/mean": [-1.0] * 6}), "kv-preemption") is None


WARNING = (
    "WARNING 03-01 10:00:00 scheduler.py:1510] Sequence group {n} is preempted by PreemptionMode.RECOMPUTE mode because there is not"
    " enough KV cache space. total_num_cumulative_preemption={total}\n"
)


def test_what_the_engine_says_of_preemptions() -> None:
    steps = [f"step:{i} - actor/entropy:0.431 - timing_s/step:60.5\n" for i in range(1, 6)]
    text = steps[0] + "".join(line + WARNING.format(n=n, total=50 * n + 1) for n, line in enumerate(steps[1:]))
    found = look(read_text(text), "kv-preemption")
    assert found is not None
    assert (found.variant, found.facts["times"].value, found.facts["line"].value) == ("engine", 4, 3)
    assert look(read_text("".join(steps) + WARNING.format(n=1, total=1)), "kv-preemption") is None, "once is nothing"
    said = "step:1 - actor/entropy:0.431\nThe worker is preempted by another job.\n" * 4
    assert look(read_text(said), "kv-preemption") is None


def ranks(slow: list[float], fast: list[float]) -> Run:
    return run_of(
        {"timing_s/step": [100.0] * len(slow), "timing_s/generation_timing/max": slow, "timing_s/generation_timing/min": fast}, era="0.6"
    )


def test_straggler() -> None:
    found = look(ranks([70.0] * 12, [35.0] * 12), "straggler")
    assert found is not None
    assert found.first_step == 1
    assert look(ranks([70.0] * 12, [60.0] * 12), "straggler") is None
    assert look(ranks([70.0, *[40.0] * 11], [35.0] * 12), "straggler") is None
    assert look(ranks([4.0] * 12, [1.0] * 12), "straggler") is None


def tokens(most: float, least: float, **balanced: float) -> Run:
    metrics = {"global_seqlen/max": most, "global_seqlen/min": least, **{f"global_seqlen/{k}": v for k, v in balanced.items()}}
    return run_of({name: [value] * 3 for name, value in metrics.items()})


def test_sequence_imbalance() -> None:
    found = look(tokens(2e5, 1e5, balanced_max=1.8e5, balanced_min=1.2e5), "sequence-imbalance")
    assert found is not None
    assert found.variant == "default"
    assert found.facts["ratio"].text == "1.5"
    assert look(tokens(3e5, 1e5, balanced_max=2e5, balanced_min=2e5), "sequence-imbalance") is None
    found = look(tokens(3e5, 1e5), "sequence-imbalance")
    assert found is not None
    assert found.variant == "unbalanced"
