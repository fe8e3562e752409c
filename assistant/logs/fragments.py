"""Every piece of text that the readers look for, in one automaton over the raw bytes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import ahocorasick_rs

from assistant.logs import events
from assistant.logs.config import DUMP_STARTS, OVERRIDE_STARTS

Meaning = tuple[str, Any]
"""What a fragment stands for: ``("event", signature)``, ``("sample", "open")``, ``("framework", "verl")`` …"""

PROGRESS = b"Training Progress:"
_VERL = (
    b"verl.trainer",
    b"verl/trainer",
    b"verl/workers",
    b"verl/utils",
    b"verl/single_controller",
    b"verl/experimental",
    b"<verl.",
    b"main_dapo",
    b"dapo_ray_trainer",
)
_OTHERS = {
    "areal": (b"AReaL", b"areal/", b"areal."),
    "deepspeed-chat": (b"DeepSpeedExamples", b"deepspeed_chat", b"|Actor Loss:", b"|act_loss: ", b", Total Micro Batches "),
    "llama-factory": (b"llamafactory", b"llamatuner"),
    "megatron": (b"elapsed time per iteration (ms):", b"elapsed time per iteration:"),
    "ms-swift": (b"swift/llm", b"swift.cli", b"'global_step/max_steps'", b'"global_step/max_steps"'),
    "nemo-rl": (b"nemo_rl", b"NeMo-RL", b"nemo-rl"),
    "openrlhf": (b"openrlhf", b"ActorModelRayActor", b"ReferenceModelRayActor", b"RewardModelRayActor"),
    "prime-rl": (b"prime_rl", b"prime-rl"),
    "rllib": (b"ray/rllib", b"episode_reward_mean", b"name=RolloutWorker.", b"(RolloutWorker pid=", b"(SingleAgentEnvRunner pid="),
    "roll": (b"roll/pipeline", b"roll.pipeline", b"/ROLL/", b"roll/distributed", b"namespace: roll"),
    "sb3": (b"| rollout/", b"|    ep_rew_mean", b"stable_baselines3"),
    "skyrl": (b"skyrl", b"SkyRL"),
    "slime": (b"slime/backends", b"slime/ray", b"slime/utils", b"slime/rollout", b"/slime/", b"'rollout/truncated_ratio': "),
    "torchtune": (b"torchtune",),
    "trlx": (b"trlx/", b"trlx.", b"accelerate_ppo_trainer", b"[losses/total_loss: "),
    "unsloth": (b"Unsloth", b"unsloth"),
    "trl": (
        *(b"trl/trainer", b"trl.trainer", b"trl vllm-serve", b"trl/scripts", b"trl.scripts"),
        *(b"'reward_std': ", b"'rewards/chosen': ", b"'objective/kl': ", b"'completion_length': "),
    ),
    "hf-trainer": (b"transformers/trainer.py", b"{'loss': ", b"{'train_runtime': "),
}
_OWN: tuple[tuple[Sequence[bytes], Meaning], ...] = (
    ((b"Traceback (most recent call last)", b'File "'), ("traceback", None)),
    (DUMP_STARTS, ("dump", None)),
    ((*OVERRIDE_STARTS, b"overrides: ["), ("override", None)),
    ((b" validation metrics: ",), ("validation", None)),
    ((PROGRESS,), ("progress", None)),
    ((b"wandb: Run summary:",), ("summary", None)),
    ((b"[prompt]",), ("sample", "open")),
    ((b"[score]",), ("sample", "close")),
    (_VERL, ("framework", "verl")),
)


@cache
def meanings() -> tuple[list[bytes], list[Meaning]]:
    """Every fragment, and what each of them means."""
    found: dict[bytes, Meaning] = {}
    for signature in events.signatures():
        for words in signature.fragments:
            found.setdefault(words.encode(), ("event", signature))
    for fragments, meaning in _OWN:
        for fragment in fragments:
            found.setdefault(fragment, meaning)
    for name, fragments in _OTHERS.items():
        for fragment in fragments:
            found.setdefault(fragment, ("framework", name))
    return list(found), list(found.values())


@cache
def automaton(fast: bool = False) -> ahocorasick_rs.BytesAhoCorasick:
    """All fragments in one automaton; ``fast`` takes longer to build and less time a byte."""
    kind = ahocorasick_rs.Implementation
    return ahocorasick_rs.BytesAhoCorasick(meanings()[0], implementation=kind.DFA if fast else kind.ContiguousNFA)
