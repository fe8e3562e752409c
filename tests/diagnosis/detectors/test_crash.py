"""Crash findings from log text: what is named, at which line, and what to change."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.cards import in_folder
from assistant.diagnosis import Diagnosis, RunView, diagnose
from assistant.diagnosis.detector import registered
from assistant.diagnosis.detectors.crash import IDS, crash, hang
from assistant.diagnosis.finding import Finding, NotChecked
from assistant.diagnosis.render import finding_json, needs, summary
from assistant.logs import read_text
from assistant.run import Event, Run
from tests.builders import run_of
from tests.real import run_of_file

CASES = Path(__file__).parents[4] / "shared" / "cases"
STEP = "(TaskRunner pid=9) step:{} - actor/entropy:0.4 - actor/pg_loss:0.01 - critic/score/mean:0.5 - timing_s/step:30.0\n"
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.50 GiB. GPU 0 has a total capacity of 79.15 GiB "
    "of which 1.20 GiB is free.\n"
)


def found_in(text: str, **config: Any) -> Finding | None:
    run = read_text(text)
    run.config.update(config)
    return finding_of(run)


def finding_of(run: Run) -> Finding | None:
    outcome = crash(RunView(run), registered()["crash-worker-died"].thresholds())
    assert outcome is None or isinstance(outcome, Finding)
    return outcome


def said(found: Finding) -> str:
    """The English sentence; the Chinese one must render, and differ."""
    english, chinese = summary(found, "en"), summary(found, "zh")
    assert english != chinese
    assert any("\u4e00" <= letter <= "\u9fff" for letter in chinese)
    return english


def traceback(*frames: tuple[str, str], error: str) -> str:
    rows = "".join(f'  File "/opt/verl/{file}", line 10, in {function}\n    call()\n' for file, function in frames)
    return f"Traceback (most recent call last):\n{rows}{error}"


def fixed(found: Finding, run: Run | None = None) -> dict[str, Any]:
    return {row["key"]: row["to"] for row in finding_json(found, run or Run())["fixes"] if row["key"]}


def test_out_of_memory_is_told_by_phase_and_step() -> None:
    text = STEP.format(1) + STEP.format(2) + traceback(("verl/workers/actor/dp_actor.py", "update_policy"), error=OOM)
    found = found_in(text)
    assert found is not None
    assert (found.id, found.variant, found.first_step) == ("crash-gpu-oom", "update_actor", 2)
    assert "actor was being updated" in said(found)
    assert "Tried to allocate 3.50 GiB" in summary(found)
    assert (found.facts["asked"].value, found.facts["free"].value, found.facts["capacity"].value) == (3.5, 1.2, 79.15)
    assert found.excerpt[0].text.startswith("torch.OutOfMemoryError")


@pytest.mark.parametrize(
    ("function", "phase", "key"),
    [
        ("compute_log_prob", "log_prob", "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu"),
        ("compute_ref_log_prob", "ref", "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu"),
        ("update_critic", "update_critic", "critic.ppo_micro_batch_size_per_gpu"),
        ("generate_sequences", "generate", "actor_rollout_ref.rollout.gpu_memory_utilization"),
        ("wake_up", "wake_up", "actor_rollout_ref.rollout.gpu_memory_utilization"),
    ],
)
def test_each_phase_of_an_out_of_memory_has_its_own_keys(function: str, phase: str, key: str) -> None:
    found = found_in(traceback(("verl/workers/fsdp_workers.py", function), error=OOM))
    assert found is not None
    assert found.variant == phase
    assert key in fixed(found)
    said(found)


def test_new_values_follow_the_configuration() -> None:
    actor = "actor_rollout_ref.actor"
    text = traceback(("verl/workers/actor/dp_actor.py", "update_policy"), error=OOM)
    found = found_in(text, **{f"{actor}.ppo_micro_batch_size_per_gpu": 8, f"{actor}.use_dynamic_bsz": False})
    assert found is not None
    assert fixed(found)[f"{actor}.ppo_micro_batch_size_per_gpu"] == 4
    assert f"{actor}.ppo_max_token_len_per_gpu" not in fixed(found)
    packed = {f"{actor}.use_dynamic_bsz": True, f"{actor}.ppo_max_token_len_per_gpu": 16384, "data.max_prompt_length": 1024}
    found = found_in(text, **packed, **{"data.max_response_length": 8192, f"{actor}.fsdp_config.param_offload": True})
    assert found is not None
    assert fixed(found)[f"{actor}.ppo_max_token_len_per_gpu"] == 9216  # half would be below one full sequence
    assert f"{actor}.ppo_micro_batch_size_per_gpu" not in fixed(found)
    assert f"{actor}.fsdp_config.param_offload" not in fixed(found)  # is on already


def test_another_framework_gets_no_verl_keys() -> None:
    run = read_text(traceback(("train.py", "generate"), error=OOM))
    run.framework = "openrlhf"
    found = finding_of(run)
    assert found is not None
    assert fixed(found) == {}


@pytest.mark.parametrize(
    ("line", "finding", "variant"),
    [
        (
            "AssertionError: real_train_batch_size (100) must be divisible by minimal possible batch size (8)",
            "crash-batch-divisibility",
            "numbers",
        ),
        ("AssertionError: only support equal chunk. Got size of DataProto 130 and chunk 8.", "crash-batch-divisibility", "numbers"),
        ("ValueError: train_batch_size (64) must be >= actor.ppo_mini_batch_size (256)", "crash-batch-divisibility", "mini_large"),
        ("AssertionError: ppo_mini_batch_size 0 should be larger than 0 after normalization", "crash-batch-divisibility", "mini_zero"),
        (
            "AssertionError: max_token_len must be greater than the sequence length. Got max_token_len=4096 and max_seq_len=9216",
            "crash-token-budget",
            "numbers",
        ),
        ("RuntimeError: Prompt length 2300 is longer than 1024.", "crash-prompt-too-long", "numbers"),
        ("NotImplementedError: sequence_length=2049 is larger than max_length=2048", "crash-prompt-too-long", "numbers"),
        ("ValueError: Prompt length (9001) exceeds the model's maximum context length (8192).", "crash-prompt-too-long", "numbers"),
        (
            "ValueError: Prompt length (8192) leaves no room to generate within the model's maximum context length (8192); need at least",
            "crash-prompt-too-long",
            "numbers",
        ),
        (
            "ValueError: Multimodal prompt produced 3001 tokens, exceeding rollout.prompt_length=2048. Truncating multimodal token",
            "crash-prompt-too-long",
            "numbers",
        ),
        ("RuntimeError: max(): Expected reduction dim to be specified for input.numel() == 0.", "crash-worker-died", "empty"),
        (
            "ValueError: num_gen_batches=10 >= max_num_gen_batches=10. Generated too many. Please check your data.",
            "crash-no-usable-groups",
            "numbers",
        ),
        ("ValueError: [actor_rollout_ref.ref] Please set at least one of 'actor_rollout_ref.ref.x'", "crash-config", "micro_batch"),
        ("ValueError: Total available GPUs 4.0 is less than total desired GPUs 8", "crash-config", "gpus"),
        ("AssertionError: Train dataloader is empty!", "crash-config", "data"),
        ("Could not override 'actor.foo'.", "crash-config", "key_named"),
        ("NotImplementedError: Reward function is not implemented for data_source='mine'", "crash-reward-function", "data_source"),
        ("NotImplementedError: Reward function is not implemented for data_source=''", "crash-reward-function", "data_source_empty"),
        ("OSError: [Errno 28] No space left on device", "crash-disk", "default"),
        ("ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.", "crash-host-oom", "ray"),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=7.0", "crash-host-oom", "kernel"),
        ("ValueError: No available memory for the cache blocks. Try increasing", "crash-engine-init", "no_kv"),
        ("ValueError: max_num_batched_tokens (8192) is smaller than max_model_len (16384).", "crash-engine-init", "batched_tokens"),
        ("RuntimeError: Engine core initialization failed. See root cause above.", "crash-engine-init", "dead"),
        ("RuntimeError: CUDA error: an illegal memory access was encountered", "crash-cuda-kernel", "kernel"),
        ("RuntimeError: CUDA error: device-side assert triggered", "crash-cuda-kernel", "assert"),
        ("RuntimeError: probability tensor contains either `inf`, `nan` or element < 0", "crash-cuda-kernel", "probabilities"),
        ("torch.distributed.DistBackendError: NCCL error in: x.cpp:1, ncclSystemError: System call", "crash-nccl", "error"),
        ("ImportError: cannot import name 'LLM' from 'vllm'", "crash-import-version", "default"),
        ("RuntimeError: Error(s) in loading state_dict for Qwen2ForCausalLM:", "crash-checkpoint", "default"),
        ("slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***", "crash-killed", "scheduler"),
        ("[rank3]: torch.distributed.DistStoreError: Timed out after 601 seconds", "crash-nccl", "timeout"),
        ("RuntimeError: No CUDA GPUs are available", "crash-config", "no_gpu"),
        ("ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.", "crash-worker-died", "default"),
        ("Fatal Python error: Segmentation fault", "crash-worker-died", "segfault"),
    ],
)
def test_known_messages(line: str, finding: str, variant: str) -> None:
    found = found_in(STEP.format(1) + line + "\n")
    assert found is not None
    assert (found.id, found.variant) == (finding, variant)
    assert "line 2" in said(found)


def test_sizes_that_fit_are_computed() -> None:
    text = "AssertionError: real_train_batch_size (500) must be divisible by minimal possible batch size (16)\n"
    found = found_in(text, **{"data.train_batch_size": 100, "actor_rollout_ref.rollout.n": 5})
    assert found is not None
    assert "496 and 512" in said(found)
    assert fixed(found)["data.train_batch_size"] == 112  # 112 × 5 = 560 = 35 × 16
    mini = "AssertionError: ppo_mini_batch_size 0 should be larger than 0 after normalization\n"
    found = found_in(mini, **{"trainer.n_gpus_per_node": 8, "trainer.nnodes": 2, "actor_rollout_ref.rollout.n": 3})
    assert found is not None
    assert fixed(found)["actor_rollout_ref.actor.ppo_mini_batch_size"] == 6  # 6 × 3 ≥ 16 GPUs
    budget = "AssertionError: max_token_len must be greater than the sequence length. Got max_token_len=8192 and max_seq_len=9216\n"
    found = found_in(budget, **{"actor_rollout_ref.actor.ulysses_sequence_parallel_size": 2})
    assert found is not None
    assert fixed(found)["actor_rollout_ref.actor.ppo_max_token_len_per_gpu"] == 4608


def test_the_cause_behind_dead_actors_and_timeouts() -> None:
    text = (
        "(WorkerDict pid=5) "
        + OOM
        + "[rank1]:[E1 1:1] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLGATHER, "
        "Timeout(ms)=600000) ran for 600010 milliseconds before timing out.\n"
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n"
    )
    found = found_in(STEP.format(1) + text)
    assert found is not None
    assert found.id == "crash-gpu-oom"
    assert found.facts["others"].value == 2
    assert [row.line for row in found.excerpt] == [2, 3, 4]


def test_a_bare_not_implemented_in_the_builtin_scorer_means_the_data_source() -> None:
    found = found_in(
        traceback(
            ("verl/trainer/ppo/ray_trainer.py", "fit"),
            ("verl/utils/reward_score/__init__.py", "_default_compute_score"),
            error="NotImplementedError\n",
        )
    )
    assert found is not None
    assert (found.id, found.variant) == ("crash-reward-function", "data_source")


def test_healthy_runs_and_survived_errors_are_quiet() -> None:
    assert found_in("".join(STEP.format(i) for i in range(1, 5))) is None
    assert found_in(STEP.format(1) + "(W pid=3) " + OOM + STEP.format(2) + STEP.format(3)) is None
    config = "{'actor_rollout_ref': {'nccl_timeout': 600,\n 'x': 'CUDA'}}\n"
    assert found_in(config + STEP.format(1)) is None


def test_errors_after_the_end_are_noise() -> None:
    run = run_of(
        {"critic/score/mean": [0.5] * 4},
        events=[
            Event("final-validation", 5, "Final validation metrics: {}"),
            Event("ray-actor-died", 9, "ray.exceptions.ActorDiedError: gone", fatal=True, data={"card": "errors/ray-actor-died"}),
        ],
    )
    found = finding_of(run)
    assert found is not None
    assert found.id == "shutdown-noise"
    assert "after the run had finished" in said(found)


def test_hang_needs_more_than_silence() -> None:
    t = registered()["hang"].thresholds()
    silent = hang(RunView(read_text(STEP.format(1))), t)
    assert isinstance(silent, NotChecked)
    assert needs(silent.needs, "zh") != needs(silent.needs, "en")
    waiting = hang(RunView(read_text("(autoscaler +1m) Error: No available node types can fulfill resource request {'GPU': 8}\n")), t)
    assert isinstance(waiting, Finding)
    assert waiting.variant == "resources"
    said(waiting)
    stuck = hang(RunView(read_text(STEP.format(1) + "[rank0]: Heartbeat monitor timed out! Process will be terminated\n")), t)
    assert isinstance(stuck, Finding)
    assert stuck.variant == "stuck"
    done = run_of({"critic/score/mean": [0.5]}, events=[Event("final-validation", 2, "Final validation metrics: {}")])
    assert hang(RunView(done), t) is None


def test_every_sentence_renders_with_the_facts_that_its_variant_gets() -> None:
    """Variants that need numbers are chosen only when the numbers are there; the others need what every crash has."""
    always = {"line", "message", "type"}
    numbered = {"ray_numbers", "timeout_numbers", "numbers", "key_named", "unreachable_numbers", "signal"}
    for card in in_folder("findings"):
        name = card.id.partition("/")[2]
        if name not in (*IDS, "crash-worker-died", "hang"):
            continue
        for variant, sides in card.front["says"].items():
            for side in ("en", "zh"):
                wanted = {field for _, field, _, _ in string.Formatter().parse(sides[side]) if field}
                assert variant in numbered or wanted <= always, (card.id, variant)
            english, chinese = ({f for _, f, _, _ in string.Formatter().parse(sides[s]) if f} for s in ("en", "zh"))
            assert english == chinese, (card.id, variant)


REAL = {
    "verl/19_crash_oom_backward_update_actor_a800_40g": ("crash-gpu-oom", "update_actor"),
    "verl/25_crash_reward_not_implemented_maze": ("crash-reward-function", "data_source"),
    "verl/27_crash_omegaconf_missing_reward_model_enable": ("crash-config", "key_named"),
    "verl/28_tinyzero_collapsed_short_answers_383_399": ("crash-disk", "save"),
    "verl/30_gui_cursor_vlm_update_actor_bottleneck": None,
    "verl/17_healthy_sft_multiturn_qwen3_4b_372": None,
    "verl/42_sft_nccl_alltoall_timeout_epoch_end": ("crash-nccl", "timeout_numbers"),
    "verl/54_dapo_cpu_oom_ray_killed": ("crash-host-oom", "ray_numbers"),
    "verl/58_dapo_num_gen_batches_too_many_05b": ("crash-no-usable-groups", "numbers"),
    "verl/59_ttrl_mini_batch_zero_after_normalization": ("crash-batch-divisibility", "mini_zero"),
    "verl/62_reward_not_implemented_empty_data_source": ("crash-reward-function", "data_source_empty"),
    "verl/02_healthy_grpo_deepseek7b_gsm8k_1120": None,
    "other/54_openrlhf_wrong_interface_socket_timeout": ("crash-network", "unreachable_numbers"),
    "other/65_skyrl_oom_after_checkpoint": ("crash-worker-died", "no_inner"),
    "other/70_areal_server_launch_failed": ("crash-engine-init", "dead"),
    "other/71_roll_vlm_host_memory_leak": ("crash-worker-died", "default"),
    "long/38_trl_hotpotqa_v2_936": ("crash-killed", "signal"),
}


@pytest.mark.parametrize("case", REAL)
def test_real_logs(case: str) -> None:
    log = CASES / case / "log.txt"
    if not log.exists():
        pytest.skip("labelled logs are not here")
    run = run_of_file(log)
    found = finding_of(run)
    expected = REAL[case]
    assert (found and (found.id, found.variant)) == expected
    if found:
        said(found)
        assert finding_json(found, run, "zh")["excerpt"][0]["line"] == found.facts["line"].value


def test_a_crash_comes_first_in_the_diagnosis() -> None:
    diagnosis: Diagnosis = diagnose(
        read_text(STEP.format(1) + "OSError: [Errno 28] No space left on device\n"), only=["crash-worker-died", "hang"]
    )
    assert [finding.id for finding in diagnosis.findings] == ["crash-disk"]
    assert diagnosis.findings[0].severity == "critical"


def test_quotations_leave_time_stamps_and_progress_bars_out() -> None:
    found = found_in(
        " 93%|#####9 | 935/936 [44:56:16<02:48, 168.94s/it]W0608 08:11:06.999 12 torch/api.py:704] "
        "Received 15 death signal, shutting down workers\n"
    )
    assert found is not None
    assert found.facts["message"].text == "Received 15 death signal, shutting down workers"
    assert found.variant == "signal"


KINDS = [card.front["kind"] for card in in_folder("errors")]
DATA = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["ValueError", "a.b.OutOfMemoryError", "KeyboardInterrupt", ""]),
        "inner": st.sampled_from(["ValueError", ""]),
        "repeats": st.integers(1, 50),
        "last_line": st.integers(0, 400),
        "size": st.integers(0, 100),
        "divisor": st.integers(0, 9),
        "seq": st.one_of(st.integers(0, 10**18), st.just("")),
        "op": st.sampled_from(["ALLTOALL", "_ALLGATHER_BASE", ""]),
        "timeout_ms": st.one_of(st.integers(0, 10**6), st.text(max_size=4)),
        "data_source": st.text(max_size=5),
        "frames": st.lists(
            st.fixed_dictionaries({"file": st.text(max_size=20), "line": st.integers(1, 9), "function": st.text(max_size=12)}), max_size=3
        ),
    },
)
EVENTS = st.lists(
    st.builds(
        lambda kind, line, text, process, data: Event(kind, line, text, None, process, True, data),
        st.sampled_from([*KINDS, "exception", "final-validation", "progress"]),
        st.integers(0, 300),
        st.text(max_size=80),
        st.sampled_from(["", "TaskRunner pid=1", "WorkerDict pid=7", "rank3"]),
        DATA,
    ),
    max_size=6,
)


@given(EVENTS, st.integers(0, 5))
@settings(max_examples=150, deadline=None)
def test_any_mixture_of_events_gives_a_finding_that_can_be_said(events: list[Event], steps: int) -> None:
    run = run_of({"critic/score/mean": [0.5] * steps}, events=events)
    for outcome in (finding_of(run), hang(RunView(run), registered()["hang"].thresholds())):
        if isinstance(outcome, Finding):
            for language in ("en", "zh"):
                assert finding_json(outcome, run, language)["summary"]
