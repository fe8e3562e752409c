"""What people paste into an issue about verl: a last line, a few frames, one or two metric lines."""

from __future__ import annotations

import pytest

from assistant.diagnosis import Diagnosis, diagnose
from assistant.run import Style
from tests.builders import run_of
from tests.diagnosis.pasted import faults

LIBRARY = "/opt/conda/lib/python3.10/site-packages"
STEP = (
    "(TaskRunner pid=5) step:{} - actor/entropy:0.4 - actor/kl_loss:0.001 - actor/grad_norm:0.2 - actor/lr:1e-06"
    " - critic/score/mean:{:.2f} - critic/score/max:1.0 - critic/score/min:0.0 - response_length/mean:600.0"
)


def traceback(error: str, *frames: str, process: str = "") -> str:
    lines = ["Traceback (most recent call last):", *(f'  File "{f}", line 7, in call' for f in frames), error]
    return "\n".join(process + line for line in lines)


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        ("AttributeError: 'LLMEngine' object has no attribute 'model_executor'", "crash-import-version"),
        ("RuntimeError: Error loading 'vllm._C': libcudart.so.12: cannot open shared object file: No such file", "crash-import-version"),
        ("TypeError: Qwen2ForCausalLM.forward() got an unexpected keyword argument 'logits_to_keep'", "crash-import-version"),
        (
            "Exception: sgl-kernel is installed with version 0.1.2, which is less than the minimum required version 0.1.4.",
            "crash-import-version",
        ),
        ("pyarrow.lib.ArrowInvalid: Parquet magic bytes not found in footer. Either the file is corrupted", "crash-config"),
        ("ValueError: Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`", "crash-config"),
        ("ValueError: LoRA rank 128 is greater than max_lora_rank 64.", "crash-config"),
        ("jinja2.exceptions.TemplateError: Conversation roles must alternate user/assistant/user/assistant/...", "crash-config"),
        ("OSError: AF_UNIX path length cannot exceed 107 bytes: '/mnt/x/ray/session/sockets/plasma_store'", "crash-config"),
        ("ValueError: top_k must be -1 (disable), or at least 1, got 0.", "crash-config"),
        ("NotImplementedError: Rollout name: hf is not supported", "crash-config"),
        ("AssertionError: Expandable segments are not compatible with memory pool. Please track", "crash-config"),
        ("ValueError: Image features and image tokens do not match: tokens: 1018, features 1332", "crash-prompt-too-long"),
        ("AssertionError: Attempted to load weight (torch.Size([8, 4])) into parameter (torch.Size([4, 4]))", "crash-engine-init"),
        ("ValueError: There is no module or parameter named 'base_model' in Qwen2ForCausalLM", "crash-engine-init"),
        ("RuntimeError: CUDA driver error: out of memory", "crash-gpu-oom"),
        (
            "run.sh: line 43: 2901177 Killed                  python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo",
            "crash-host-oom",
        ),
        ("OSError: [Errno 116] Stale file handle: '/nfs/global_step_100/actor/optim_world_size_8_rank_3.pt'", "crash-checkpoint"),
        ("RuntimeError: Function 'LogSoftmaxBackward0' returned nan values in its 0th output.", "non-finite"),
        ("RuntimeError: The size of tensor a (1025) must match the size of tensor b (1024)", "crash-worker-died"),
    ],
)
@pytest.mark.parametrize("shape", ["{}", "> {}\n\nverl 0.5, 8 GPUs, any idea?", "`{}`", "[rank0]: {}"])
def test_a_single_line_is_enough(line: str, finding: str, shape: str) -> None:
    assert faults(shape.format(line))[:1] == [finding]


@pytest.mark.parametrize(
    ("error", "frames", "finding"),
    [
        (
            "AttributeError: 'Qwen2_5_VLConfig' object has no attribute 'hidden_size'",
            [f"{LIBRARY}/transformers/configuration_utils.py"],
            "crash-import-version",
        ),
        ("KeyError: 'qwen2_5_vl'", [f"{LIBRARY}/transformers/models/auto/configuration_auto.py"], "crash-import-version"),
        ("TypeError: string indices must be integers, not 'str'", ["/root/verl/verl/utils/dataset/rl_dataset.py"], "crash-config"),
        (
            "requests.exceptions.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
            ["/w/generation.py", f"{LIBRARY}/requests/models.py"],
            "crash-network",
        ),
        (
            "ValueError: token_to_kv_pool_allocator memory leak detected!",
            ["/sgl/python/sglang/srt/managers/scheduler.py"],
            "crash-engine-init",
        ),
        ("TypeError: 'NoneType' object has no attribute 'shape'", ["/root/verl/verl/workers/actor/dp_actor.py"], "crash-worker-died"),
    ],
)
def test_unknown_exceptions_by_where_they_were_raised(error: str, frames: list[str], finding: str) -> None:
    assert faults(traceback(error, *frames, process="(WorkerDict pid=20121) ")) == [finding]


def test_a_service_that_scores_is_the_rewards_matter() -> None:
    error = "requests.exceptions.ConnectionError: HTTPConnectionPool(host='10.0.0.9', port=8080): Max retries exceeded with url: /run"
    assert faults(traceback(error, "/w/search/generation.py", f"{LIBRARY}/requests/adapters.py")) == ["crash-network"]
    assert faults(traceback(error, "/root/verl/verl/workers/reward_manager/naive.py", f"{LIBRARY}/requests/adapters.py")) == [
        "crash-reward-function"
    ]


def test_a_quoted_or_survived_line_is_no_crash() -> None:
    steps = [STEP.format(n, 0.3 + 0.01 * n) for n in range(1, 31)]
    line = "RuntimeError: CUDA error: device-side assert triggered"
    unknown = "RuntimeError: something nobody knows"
    assert faults("\n".join(["it crashed before with", line, unknown, "is it fine now?", *steps])) == []
    assert faults("\n".join([*steps[:15], unknown, *steps[15:]])) == []
    assert faults("\n".join([*steps, *["(RewardWorker pid=9) TimeoutError: evaluation timed out"]])) == []
    assert faults("\n".join([*steps, unknown])) == ["crash-worker-died"]


def test_an_error_named_in_a_sentence_counts_when_it_is_all_there_is() -> None:
    asked = "【BUG】ValueError: Cannot use FlashAttention-2 backend for head size 72. 用的 vllm 0.8.2"
    assert faults(asked) == ["crash-worker-died"]
    assert faults("\n".join([asked, *(STEP.format(n, 0.3 + 0.01 * n) for n in range(1, 4))])) == []
    started = ["(TaskRunner pid=5) Total training steps: 105"] * 40
    assert faults("\n".join([*started, "hub said (ValueError: nothing) and asked for ValueError: more"])) == []


def test_the_own_line_of_an_exception_beside_a_dead_actor() -> None:
    died = "ray.exceptions.ActorDiedError: The actor died because of an error raised in its creation task, ray::WorkerDict.__init__()"
    assert faults(
        f"{died}\nValueError: Target modules {{'qkv_proj'}} not found in the base model. Please check the target modules and try again."
    ) == ["crash-config"]


# Metrics


def info(diagnosis: Diagnosis) -> set[str]:
    return {finding.id for finding in diagnosis.findings if finding.severity == "info"}


def test_critic_warm_up_shows_in_the_timers() -> None:
    critic = {"critic/vf_loss": [0.2] * 8, "critic/score/mean": [0.2] * 8, "timing_s/update_critic": [6.0] * 8}
    assert "critic-warmup" in info(diagnose(run_of(critic)))
    assert "critic-warmup" not in info(diagnose(run_of({**critic, "timing_s/update_actor": [9.0] * 8})))


def test_minutes_of_generation_in_a_single_late_step() -> None:
    def of(step: int, gen: float, whole: float) -> list[str]:
        run = run_of({"timing_s/gen": [gen], "timing_s/update_actor": [90.0], "timing_s/step": [whole]}, start=step)
        return [finding.id for finding in diagnose(run).faults]

    assert of(5, 1611.0, 1859.0) == ["generation-bound"]
    assert of(1, 1611.0, 1859.0) == []  # the first step warms everything up
    assert of(5, 50.0, 56.0) == []


def test_a_mean_above_the_clamp_is_not_clamped() -> None:
    def of(kl: float) -> list[str]:
        return [finding.id for finding in diagnose(run_of({"actor/kl_loss": [kl] * 12, "critic/score/mean": [0.3] * 12})).findings]

    assert "kl-estimator-saturated" in of(6.0)
    assert "kl-estimator-saturated" not in of(14.9)


def test_distillation_needs_no_reward() -> None:
    score = {f"critic/score/{which}": [0.0] * 12 for which in ("mean", "max", "min")}
    falling = [0.4 - 0.01 * n for n in range(12)]
    assert "reward-flat-floor" not in [f.id for f in diagnose(run_of({**score, "actor/distillation/loss": falling})).faults]
    assert "reward-flat-floor" in [f.id for f in diagnose(run_of(score)).faults]


def test_validation_that_never_scores_beside_training_that_does() -> None:
    score = {"critic/score/mean": [0.31, 0.33, 0.35], "critic/score/max": [1.0] * 3, "critic/score/min": [0.0] * 3}
    found = diagnose(run_of({**score, "val-core/mine/reward/mean@1": [0.0] * 3}, steps=[20, 40, 60])).faults
    assert [(f.id, f.variant) for f in found] == [("reward-flat-floor", "validation_only")]
    assert not diagnose(run_of({**score, "val-core/mine/reward/mean@1": [0.0, 0.0, 0.1]}, steps=[20, 40, 60])).faults


def test_a_clip_ratio_that_the_lengths_contradict_is_no_truncation() -> None:
    lengths = {"response_length/mean": [311.0], "response_length/max": [702.0], "response_length/clip_ratio": [1.0]}
    assert [f.id for f in diagnose(run_of(lengths, start=3)).faults] == ["eos-not-recognised"]


def test_correlation_that_falls_little_by_little_is_drift() -> None:
    steps = range(41)
    gradual = {
        "training/rollout_actor_probs_pearson_corr": [0.998 - 0.004 * n for n in steps],
        "training/rollout_probs_diff_mean": [0.004 + 0.0012 * n for n in steps],
    }
    assert "weights-not-synced" not in [f.id for f in diagnose(run_of(gradual)).faults]
    broken = {**gradual, "training/rollout_actor_probs_pearson_corr": [0.998] * 20 + [0.3] * 21}
    assert "weights-not-synced" in [f.id for f in diagnose(run_of(broken)).faults]


def test_nothing_moves_within_sixty_steps() -> None:
    wobble = [0.31 + 0.012 * ((7 * n) % 5 - 2) / 2 for n in range(60)]
    still = {
        "critic/score/mean": wobble,
        "critic/score/max": [1.0] * 60,
        "critic/advantages/max": [2.47] * 60,
        "critic/advantages/min": [-2.47] * 60,
        "actor/entropy": [0.521] * 60,
        "actor/grad_norm": [0.002] * 60,
        "actor/kl_loss": [1e-5] * 60,
        "val-core/x/acc/mean@1": [0.3 if n % 20 == 0 else None for n in range(60)],
    }
    assert "not-learning" in [f.id for f in diagnose(run_of(still)).faults]
    moving = {**still, "actor/kl_loss": [1e-5 * 1.1**n for n in range(60)]}
    assert "not-learning" not in [f.id for f in diagnose(run_of(moving)).faults]
    rounded = {**still, "actor/kl_loss": [0.0] * 60}
    assert "not-learning" not in [f.id for f in diagnose(run_of(rounded, style=Style.FIXED3)).faults]
