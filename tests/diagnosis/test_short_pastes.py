"""Last lines of crashed runs of every framework, as people paste them, and lines that only look like them."""

from __future__ import annotations

import pytest

from assistant.diagnosis import Diagnosis, diagnose, render
from assistant.logs import read_text
from assistant.sessions import open_log

LOSS = "{{'loss': {:.2f}, 'grad_norm': 0.7, 'learning_rate': 2e-05, 'epoch': {:.1f}}}"
SYNC = "CUDA kernel errors might be asynchronously reported at some other API call"


def told(text: str) -> list[tuple[str, str]]:
    return _said(diagnose(read_text(text)))


def _said(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    return [(finding.id, finding.variant) for finding in diagnosis.faults]


@pytest.mark.parametrize(
    ("line", "finding", "variant"),
    [
        # settings
        (
            "ValueError: Some specified arguments are not used by the HfArgumentParser: ['--evaluation_strategy']",
            "crash-config",
            "argument",
        ),
        ("train.py: error: argument --lr_scheduler_type: invalid choice: 'cosin' (choose from 'linear')", "crash-config", "argument"),
        (
            "AssertionError: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step"
            " * world_size 256 != 4 * 8 * 4",
            "crash-config",
            "value",
        ),
        (
            "ValueError: Please correct the following DeepSpeed config values that mismatch TrainingArguments values:",
            "crash-config",
            "value",
        ),
        ("ValueError: --load_best_model_at_end requires the save and eval strategy to match", "crash-config", "value"),
        ("ValueError: GRPO requires at least 2 generations per prompt to calculate the advantages.", "crash-config", "value"),
        ("ValueError: Unsloth: this GPU has no bfloat16 - please set `fp16 = True, bf16 = False`", "crash-config", "value"),
        ("ValueError: Unknown loss type: dapo2", "crash-config", "name"),
        ("ValueError: Template qwen3_nothink does not exist.", "crash-config", "name"),
        ("AssertionError: world size (12) is not divisible by 8", "crash-config", "parallel"),
        ("ValueError: FlatParameter requires uniform dtype but got torch.bfloat16 and torch.float32", "crash-config", "mixed"),
        ("ValueError: Asking to pad but the tokenizer does not have a padding token.", "crash-config", "tokenizer"),
        ("ValueError: You cannot perform fine-tuning on purely quantized models. Please attach adapters", "crash-config", "quantized"),
        ("ValueError: Your setup doesn't support bf16/gpu. You need torch>=1.10", "crash-cuda-kernel", "too_old"),
        # data
        ("KeyError: 'chosen'", "crash-config", "column"),
        ("KeyError: \"Column train not in the dataset. Current columns in the dataset: ['question']\"", "crash-config", "column"),
        # environments
        ("gymnasium.error.NameNotFound: Environment `HalfCheetah` doesn't exist in namespace ALE.", "crash-config", "name"),
        (
            "AssertionError: The algorithm only supports <class 'gymnasium.spaces.discrete.Discrete'> as action spaces but Box was given",
            "crash-config",
            "environment",
        ),
        ("gymnasium.error.DependencyNotInstalled: MuJoCo is not installed, run `pip install`", "crash-import-version", "default"),
        # checkpoints
        ("ValueError: No valid checkpoint found in output directory (outputs/qwen)", "crash-checkpoint", "default"),
        (
            "deepspeed.runtime.zero.utils.ZeRORuntimeException: The checkpoint being loaded used a DP world size of 8 but the current is 4",
            "crash-checkpoint",
            "default",
        ),
        # rewards
        ("ValueError: The reward function 'accuracy' returned 1 rewards, but 16 were expected", "crash-reward-function", "default"),
        # devices, memory, communication
        (
            "../aten/src/ATen/native/cuda/Indexing.cu:1290: indexSelectLargeIndex: block: [262,0,0], thread: [31,0,0]"
            " Assertion `srcIndex < srcSelectDimSize` failed.",
            "crash-cuda-kernel",
            "assert",
        ),
        (
            "RuntimeError: NPU function error: aclrtSynchronizeDevice, error code is 507035",
            "crash-cuda-kernel",
            "default",
        ),
        (f"RuntimeError: HIP error: invalid device function\n{SYNC}", "crash-cuda-kernel", "too_old"),
        (
            "ray.exceptions.ObjectStoreFullError: Failed to put object ffff in object store because it is full.",
            "crash-host-oom",
            "object_store",
        ),
        (
            "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv",
            "crash-nccl",
            "timeout",
        ),
    ],
)
def test_a_last_line(line: str, finding: str, variant: str) -> None:
    assert told(line)[:1] == [(finding, variant)]


@pytest.mark.parametrize(
    "line",
    [
        "ValueError: input_ids and attention_mask must have the same number of rows",
        "ValueError: total_size must be the sum of all tensor shapes",
        "AssertionError: expect to find sharded parameter, got None",
        "ValueError: invalid literal for int() with base 10: 'None'",
        "ValueError: too many values to unpack (expected 4)",
        "KeyError: 'answer_2'",
    ],
)
def test_an_exception_about_data_is_no_setting(line: str) -> None:
    assert [finding for finding, _ in told(line)] == ["crash-worker-died"]


@pytest.mark.parametrize(
    "line",
    [
        "The tokenizer does not have a padding token, using eos_token instead.",
        "Failed to load image processor: ValueError: `size` must be set for this processor, falling back to default",
        "[WARNING|logging.py:313] ValueError: `use_cache` must be False when gradient checkpointing is on. Setting it.",
        "2025-05-01 12:00:00 - INFO - retrying: ValueError: `max_tokens` must be at least 1, got 0 (prompt skipped)",
        "ValueError: Unknown loss type: dapo2",
    ],
)
def test_a_line_that_training_outlives(line: str) -> None:
    steps = [LOSS.format(1.2 - 0.01 * n, 0.1 * n) for n in range(1, 5)]
    assert told("\n".join([*steps[:1], line, *steps[1:]])) == []


def test_what_ray_waits_for_is_read_without_any_step() -> None:
    line = "(autoscaler +1m3s) Error: No available node types can fulfill resource request {'GPU': 8.0}. Add suitable node types."
    assert _said(open_log(line)) == [("hang", "resources")]


@pytest.mark.parametrize(
    ("line", "speaks_against"),
    [
        ("RuntimeError: DataLoader worker (pid 990) is killed by signal: Bus error.", False),
        ("ray.exceptions.ObjectStoreFullError: Failed to put object ffff in object store because it is full.", False),
        ("numpy.core._exceptions._ArrayMemoryError: Unable to allocate 26.3 GiB for an array", True),
    ],
)
def test_free_memory_rules_out_only_what_needs_all_of_it(line: str, speaks_against: bool) -> None:
    (finding,) = diagnose(read_text(line)).faults
    assert finding.id == "crash-host-oom"
    assert bool(render.rules_out(finding)) is speaks_against
