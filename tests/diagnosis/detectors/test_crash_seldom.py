"""Crashes seldom seen: start-up errors of Hydra, engines, libraries and storage, and exceptions that nobody passed on."""

from __future__ import annotations

import re

import pytest

from assistant.diagnosis import Diagnosis, diagnose
from assistant.diagnosis.render import finding_json, summary
from assistant.logs import read_text

STEP = "(TaskRunner pid=9) step:{} - actor/entropy:0.4 - actor/pg_loss:0.01 - critic/score/mean:0.5 - timing_s/step:30.0\n"
PACKAGES = "/usr/lib/python3/dist-packages"


def raised(*frames: tuple[str, str], error: str, process: str = "WorkerDict pid=3241", steps: int = 0) -> str:
    """A log of some steps that ends with a worker's traceback."""
    rows = ["Traceback (most recent call last):"]
    for file, function in frames:
        rows += [f'  File "{file}", line 10, in {function}', "    call()"]
    prefix = f"({process}) " if process else ""
    head = "".join(STEP.format(i + 1) for i in range(steps))
    return head + "".join(f"{prefix}{row}\n" for row in [*rows, *error.split("\n")])


def top(text: str) -> tuple[Diagnosis, str, str]:
    found = diagnose(read_text(text))
    assert found.faults, "nothing found"
    first = found.faults[0]
    english, chinese = summary(first, "en"), summary(first, "zh")
    assert english != chinese
    assert any("\u4e00" <= letter <= "\u9fff" for letter in chinese)
    return found, first.id, first.variant


def causes(found: Diagnosis) -> list[str]:
    chosen = found.faults[0].causes
    return list(chosen) if chosen is not None else []


@pytest.mark.parametrize(
    ("line", "finding", "variant"),
    [
        ("Cannot find primary config 'ppo_trainr'. Check that it's in your config search path.", "crash-config", "file"),
        ("In 'ppo_trainer': Could not find 'actor@actor_rollout_ref.actor/dp_actr'", "crash-config", "file"),
        ("LexerNoViableAltException: data.train_files=['a.parquet'", "crash-config", "syntax"),
        ("mismatched input '=' expecting <EOF>", "crash-config", "syntax"),
        ("ConnectionError: Could not find any running Ray instance. Please specify the one to connect to", "crash-network", "ray"),
        ("OSError: Incorrect path_or_model_id: '/models/x'. Please provide either the path to a local folder", "crash-config", "path"),
        ("OSError: Error no file named pytorch_model.bin, model.safetensors found in directory /models/x.", "crash-config", "path"),
        ("OSError: You are trying to access a gated repo.", "crash-network", "hub"),
        ("RuntimeError: [enforce fail at inline_container.cc:626] . unexpected pos 1920 vs 1814", "crash-disk", "default"),
        ("RuntimeError: DataLoader worker (pid 9123) is killed by signal: Killed.", "crash-host-oom", "sigkill"),
        ("Fatal Python error: Bus error", "crash-host-oom", "shm"),
        ("BlockingIOError: [Errno 11] Resource temporarily unavailable", "crash-worker-died", "limits"),
        (
            "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500",
            "crash-network",
            "port",
        ),
        (
            "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 180224, Hardware limit: 101376.",
            "crash-cuda-kernel",
            "resources",
        ),
        (
            "ValueError: User-specified max_model_len (40960) is greater than the derived max_model_len (max_position_embeddings=32768)",
            "crash-engine-init",
            "model_len",
        ),
        (
            "ValueError: The checkpoint has model type `qwen3` but Transformers does not recognize this architecture.",
            "crash-import-version",
            "default",
        ),
    ],
)
def test_messages(line: str, finding: str, variant: str) -> None:
    is_exception = re.match(r"[\w.]+(?:Error|Resources): ", line)
    text = raised((f"{PACKAGES}/lib/x.py", "run"), error=line, process="TaskRunner pid=9") if is_exception else line + "\n"
    text += "\nSet the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.\n"
    assert top(text)[1:] == (finding, variant)


@pytest.mark.parametrize(
    ("file", "function", "error", "finding", "variant"),
    [
        (
            "/opt/verl/verl/workers/megatron_workers.py",
            "__init__",
            "RuntimeError: world_size (8) is not divisible by 3",
            "crash-config",
            "parallel",
        ),
        (
            "/opt/verl/verl/models/transformers/monkey_patch.py",
            "apply_monkey_patch",
            "AssertionError: num_attention_heads 14 must be divisible by ulysses_sp_size 4",
            "crash-config",
            "parallel",
        ),
        (
            "/opt/verl/verl/utils/x.py",
            "split",
            "AssertionError: the batch of 30 samples must be divisible by 8",
            "crash-batch-divisibility",
            "default",
        ),
        ("/home/me/train.py", "main", "PermissionError: [Errno 13] Permission denied: '/data/x'", "crash-config", "permission"),
        (
            "/opt/verl/verl/trainer/ppo/ray_trainer.py",
            "_save_checkpoint",
            "PermissionError: [Errno 13] Permission denied: '/ckpt/global_step_20'",
            "crash-checkpoint",
            "not_writable",
        ),
        (
            "/opt/verl/verl/single_controller/ray/base.py",
            "get_placement_groups",
            "ray.exceptions.GetTimeoutError: Get timed out: some object(s) not ready.",
            "hang",
            "resources",
        ),
        (
            f"{PACKAGES}/triton/runtime/build.py",
            "_build",
            "subprocess.CalledProcessError: Command '['/usr/bin/gcc']' returned non-zero exit status 1.",
            "crash-cuda-kernel",
            "compile",
        ),
        (
            "/home/me/my_reward.py",
            "compute_score",
            "TypeError: compute_score() got an unexpected keyword argument 'extra_info'",
            "crash-reward-function",
            "signature",
        ),
        (
            "/opt/verl/verl/utils/reward_score/sandbox_fusion/utils.py",
            "call_sandbox_api",
            "requests.exceptions.ConnectionError: HTTPConnectionPool(host='sandbox', port=8080): Max retries exceeded",
            "crash-reward-function",
            "service",
        ),
        ("/opt/verl/verl/workers/reward_manager/naive.py", "__call__", "KeyError: 'reward_model'", "crash-config", "column"),
    ],
)
def test_exceptions_by_place_and_words(file: str, function: str, error: str, finding: str, variant: str) -> None:
    assert top(raised((file, function), error=error, process="TaskRunner pid=9"))[1:] == (finding, variant)


@pytest.mark.parametrize("steps", [0, 3])
@pytest.mark.parametrize("ranks", [1, 8])
def test_a_worker_s_exception_at_the_end_is_the_end(steps: int, ranks: int) -> None:
    frames = (("/opt/verl/verl/trainer/ppo/core_algos.py", "compute_policy_loss"),)
    error = "RuntimeError: The size of tensor a (2048) must match the size of tensor b (2047)"
    text = "".join(STEP.format(i + 1) for i in range(steps))
    text += "".join(raised(*frames, error=error, process=f"WorkerDict pid={3000 + rank}") for rank in range(ranks))
    found, finding, _ = top(text)
    assert finding == "crash-worker-died"
    assert found.faults[0].confidence <= 0.6  # nobody passed it on: it may have been caught


def test_a_worker_s_exception_that_was_survived_is_none() -> None:
    broken = raised(("/opt/verl/verl/x.py", "helper"), error="ValueError: bad sample", steps=2)
    assert not diagnose(read_text(broken + STEP.format(3) + STEP.format(4))).faults
    chatter = "".join(f"(AgentLoopWorker pid=7) request {i} done\n" for i in range(40))
    assert not diagnose(read_text(broken + chatter)).faults  # the program printed on


def test_what_the_driver_passed_on_comes_before_a_worker_s_last_word() -> None:
    text = raised(("/opt/verl/verl/x.py", "helper"), error="ValueError: bad sample")
    text += raised(("/opt/verl/verl/trainer/main_ppo.py", "main"), error="ModuleNotFoundError: No module named 'math_verify'", process="")
    assert top(text)[1] == "crash-import-version"


@pytest.mark.parametrize("process", ["vLLMHttpServer pid=2", "EngineCore_DP0 pid=8123", "SGLangHttpServer pid=6"])
def test_memory_that_runs_out_in_the_engine_is_not_the_actor_s(process: str) -> None:
    error = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.63 GiB. GPU 0 has a total capacity of 79.11 GiB."
    found, finding, variant = top(raised((f"{PACKAGES}/vllm/v1/worker/x.py", "_dummy"), error=error, process=process, steps=2))
    assert (finding, variant) == ("crash-gpu-oom", "generate")
    keys = [row["key"] for row in finding_json(found.faults[0], found.run)["fixes"]]
    assert keys[0] == "actor_rollout_ref.rollout.gpu_memory_utilization"
    assert not any(key and "ppo_micro_batch" in key for key in keys)


def test_a_field_that_a_config_class_does_not_know_is_named() -> None:
    error = (
        "hydra.errors.InstantiationException: Error in call to target 'verl.workers.config.actor.FSDPActorConfig':\n"
        "TypeError(\"FSDPActorConfig.__init__() got an unexpected keyword argument 'clip_ratio_hi'\")\nfull_key: actor_rollout_ref.actor"
    )
    found, finding, variant = top(raised((f"{PACKAGES}/hydra/_internal/x.py", "_call_target"), error=error, process="TaskRunner pid=9"))
    assert (finding, variant) == ("crash-config", "key_named")
    assert "clip_ratio_hi" in summary(found.faults[0], "en")


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("W1102 api.py:704] Received Signals.SIGTERM death signal, shutting down workers", "scheduler"),
        ("W1102 api.py:704] Received Signals.SIGHUP death signal, shutting down workers", "hangup"),
        ("W1102 api.py:704] Received 2 death signal, shutting down workers", "person"),
    ],
)
def test_the_signal_tells_who_ended_it(line: str, cause: str) -> None:
    found, finding, _ = top(STEP.format(1) + line + "\n")
    assert finding == "crash-killed"
    assert causes(found) == [cause]


WAITING = (
    "[rank{0}]:[E1102 ProcessGroupNCCL.cpp:632] [Rank {0}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=8, OpType=ALLGATHER, NumelIn=2048, Timeout(ms)=600000) ran for 600012 milliseconds before timing out."
)


@pytest.mark.parametrize("before", [True, False])
def test_the_rank_that_says_why_comes_before_those_that_waited(before: bool) -> None:
    why = raised(("/opt/verl/verl/workers/actor/dp_actor.py", "update_policy"), error="AssertionError: shape mismatch", steps=2)
    waiting = "".join(f"(WorkerDict pid={3000 + rank}) {WAITING.format(rank)}\n" for rank in range(7))
    died = "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n"
    head = STEP.format(1) + STEP.format(2)
    text = why + waiting + died if before else head + waiting + why.removeprefix(head) + died
    assert top(text)[1] == ("crash-worker-died" if before else "crash-nccl")
