"""The new values of a crash's fixes, computed from the numbers in its message and the run's own settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil, gcd
from typing import Any

from assistant.diagnosis.failure import Failure
from assistant.diagnosis.view import RunView

Values = dict[str, Any]

_ACTOR, _ROLLOUT, _REF = "actor_rollout_ref.actor", "actor_rollout_ref.rollout", "actor_rollout_ref.ref"
DROP = object()
"""This fix does not apply here."""


def computed(failure: Failure, view: RunView) -> Values:
    """Fix id → new value, or `DROP`; a fix that is not named keeps the card's value."""
    rule = _RULES.get(failure.root.kind) or _BY_FINDING.get(failure.finding)
    return rule(failure, view) if rule else {}


def number(data: Mapping[str, Any], name: str) -> int | None:
    """A whole number that was read out of the message."""
    value = data.get(name)
    if isinstance(value, str) and value.replace(".", "", 1).isdecimal():  # "²" is a digit and no number
        value = float(value)
    return int(value) if isinstance(value, (int, float)) else None


def longest_sequence(view: RunView) -> int | None:
    """Prompt limit plus response limit, in tokens."""
    prompt, response = view.number("data.max_prompt_length"), view.number("data.max_response_length")
    return int(prompt + response) if prompt and response else None


def samples(view: RunView) -> int:
    """Answers per prompt, ``rollout.n``."""
    return int(view.number(f"{_ROLLOUT}.n") or 1)


def data_parallel(view: RunView) -> int | None:
    """Data-parallel ranks of FSDP: GPUs / ulysses_sequence_parallel_size."""
    gpus = view.number("trainer.n_gpus_per_node")
    if not gpus:
        return None
    total = gpus * (view.number("trainer.nnodes") or 1)
    return max(int(total // _sequence_parallel(view)), 1)


def _sequence_parallel(view: RunView) -> float:
    return view.number(f"{_ACTOR}.ulysses_sequence_parallel_size") or 1


def _gpu_memory(failure: Failure, view: RunView) -> Values:
    values: Values = {}
    needed = longest_sequence(view)
    floor = ceil(needed / _sequence_parallel(view)) if needed else None
    for micro, tokens, dynamic, section, name in (
        ("actor-micro", "actor-tokens", f"{_ACTOR}.use_dynamic_bsz", _ACTOR, "ppo"),
        ("log-prob-micro", "log-prob-tokens", f"{_ROLLOUT}.log_prob_use_dynamic_bsz", _ROLLOUT, "log_prob"),
        ("ref-micro", "ref-tokens", f"{_REF}.log_prob_use_dynamic_bsz", _REF, "log_prob"),
        ("critic-micro", "critic-tokens", "critic.use_dynamic_bsz", "critic", "ppo"),
    ):
        packed = view.setting(dynamic, f"{_ACTOR}.use_dynamic_bsz")
        size = view.number(f"{section}.{name}_micro_batch_size_per_gpu")
        budget = view.number(f"{section}.{name}_max_token_len_per_gpu", f"{_ACTOR}.ppo_max_token_len_per_gpu")
        if packed is True or size == 1:
            values[micro] = DROP
        elif size:
            values[micro] = max(int(size) // 2, 1)
        if packed is False:
            values[tokens] = DROP
        elif budget:
            lower = max(int(budget) // 2, floor or 0)
            values[tokens] = lower if lower < budget else DROP
    share = view.number(f"{_ROLLOUT}.gpu_memory_utilization")
    if share:
        values["share-down"] = round(max(share - 0.1, 0.3), 2) if share > 0.3 else DROP
    return values


def _divisible(failure: Failure, view: RunView) -> Values:
    divisor = number(failure.root.data, "divisor")
    batch = view.number("data.train_batch_size")
    if not divisor or not batch:
        return {}
    unit = divisor // gcd(samples(view), divisor)
    fitting = ceil(batch / unit) * unit
    return {"batch": fitting if fitting != batch else DROP}


def _mini_batch_up(failure: Failure, view: RunView) -> Values:
    ranks = data_parallel(view)
    return {"mini-up": ceil(ranks / samples(view))} if ranks else {}


def _mini_batch_down(failure: Failure, view: RunView) -> Values:
    return {"mini-down": number(failure.root.data, "size")}


def _token_budget(failure: Failure, view: RunView) -> Values:
    longest = max(number(failure.root.data, "longest") or 0, longest_sequence(view) or 0)
    if not longest:
        return {}
    critic = failure.phase in ("update_critic", "values")
    return {
        "actor-budget": DROP if critic else ceil(longest / _sequence_parallel(view)),
        "critic-budget": ceil(longest / (view.number("critic.ulysses_sequence_parallel_size") or 1)) if critic else DROP,
    }


def _prompt(failure: Failure, view: RunView) -> Values:
    return {"longer": number(failure.root.data, "length")}


def _batched_tokens(failure: Failure, view: RunView) -> Values:
    return {"batched-tokens": number(failure.root.data, "model_len") or longest_sequence(view)}


def _engine(failure: Failure, view: RunView) -> Values:
    share = view.number(f"{_ROLLOUT}.gpu_memory_utilization")
    values: Values = {"model-len": longest_sequence(view)}
    if share:
        values["share-up"] = round(min(share + 0.1, 0.9), 2) if share < 0.9 else DROP
        values["share-down"] = round(max(share - 0.1, 0.3), 2) if share > 0.3 else DROP
    return values


def _gpus(failure: Failure, view: RunView) -> Values:
    available = number(failure.root.data, "available")
    nodes = int(view.number("trainer.nnodes") or 1)
    return {"gpus": available // nodes} if available and available >= nodes else {}


_RULES: dict[str, Callable[[Failure, RunView], Values]] = {
    "mini-batch-zero": _mini_batch_up,
    "mini-batch-above-batch": _mini_batch_down,
    "engine-batched-tokens": _batched_tokens,
    "ray-gpus-missing": _gpus,
}
_BY_FINDING: dict[str, Callable[[Failure, RunView], Values]] = {
    "crash-gpu-oom": _gpu_memory,
    "crash-batch-divisibility": _divisible,
    "crash-token-budget": _token_budget,
    "crash-prompt-too-long": _prompt,
    "crash-engine-init": _engine,
}
