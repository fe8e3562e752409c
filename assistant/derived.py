"""Quantities that a log does not print and that follow from what it prints: batch, GPUs, group size, decoding speed.

Each carries its formula, in metric names, and the printed values that went in. A quantity whose inputs are missing, or do
not agree over the steps, is None: a wrong number is worse than none. Formulas were checked in verl's source
(``perf/throughput`` is tokens / (seconds × GPUs) in every version that prints it).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assistant.diagnosis.view import RunView
from assistant.run import FloatArray, Point, Series

MAX_SPREAD = 0.02
"""A count that is the same at every step must come out the same: more spread than this (of its median) means it is not."""


@dataclass(frozen=True, slots=True)
class Derived:
    """``value`` follows from ``inputs`` by ``formula``."""

    value: float
    formula: str
    inputs: tuple[Point, ...]


def responses_per_step(view: RunView) -> Derived | None:
    """Responses of one step over all GPUs (prompts × samples a prompt).

    verl counts every prompt token once a response, so the tokens of a step divide by the mean length of a response with its prompt.
    """
    found = view.together("total_tokens", "prompt_length_mean", "response_length_mean")
    if found is None:
        return None
    tokens, prompt, response = found
    with np.errstate(divide="ignore", invalid="ignore"):
        values = tokens.values / (prompt.values + response.values)
    return _whole(values, found, f"{tokens.name} / ({prompt.name} + {response.name})")


def n_gpus(view: RunView) -> Derived | None:
    """GPUs that the throughput is divided by."""
    found = view.together("total_tokens", "throughput", "seconds_per_step")
    if found is None:
        return None
    tokens, throughput, seconds = found
    with np.errstate(divide="ignore", invalid="ignore"):
        values = tokens.values / (throughput.values * seconds.values)
    return _whole(values, found, f"{tokens.name} / ({throughput.name} × {seconds.name})")


def dp_size(view: RunView) -> Derived | None:
    """Data-parallel size: into how many parts a step's batch is divided."""
    found = view.together("total_tokens", "seqlen_mean")
    if found is None:
        return None
    tokens, mean = found
    with np.errstate(divide="ignore", invalid="ignore"):
        values = tokens.values / mean.values
    return _whole(values, found, f"{tokens.name} / {mean.name}")


def group_size_bound(view: RunView) -> Derived | None:
    """Smallest group that allows the largest advantage printed, for estimators that divide by the group's standard deviation.

    Of n rewards none is further than (n − 1)/√n sample standard deviations from their mean, and one success among n
    failures reaches it.
    """
    if view.estimator not in ("grpo", "grpo_passk", "grpo_vectorized", None) or view.has("value_loss"):
        return None
    if view.setting("algorithm.norm_adv_by_std_in_grpo", default=True) is False:
        return None
    series = view["advantage_max"]
    if series is None or not series.finite.any():
        return None
    raw = view.together("advantage_max", "score_max", "advantage_min", "score_min")
    if raw is not None and np.array_equal(raw[0].values, raw[1].values) and np.array_equal(raw[2].values, raw[3].values):
        return None  # groups of one: the advantage is the score itself
    index = int(np.nanargmax(np.where(series.finite, series.values, -np.inf)))
    largest = float(series.values[index])
    if largest <= 0:
        return None
    n = ((largest + math.sqrt(largest**2 + 4)) / 2) ** 2
    point = series.point(index)
    return Derived(float(math.ceil(n - max(0.02, 2 * series.resolution(index)))), f"smallest n with (n − 1)/√n ≥ {series.name}", (point,))


def updates_per_step(view: RunView) -> Derived | None:
    """Optimiser updates a step, from the settings: prompts a step / prompts an update × passes over the batch."""
    updates = view.updates_per_step
    if updates is None:
        return None
    formula = "data.train_batch_size / actor_rollout_ref.actor.ppo_mini_batch_size × actor_rollout_ref.actor.ppo_epochs"
    return Derived(updates, formula, ())


def decode_rate(view: RunView) -> Derived | None:
    """Response tokens a second and GPU while generating, the median over the steps."""
    gpus, responses = n_gpus(view), responses_per_step(view)
    found = view.together("response_length_mean", "time_gen")
    if gpus is None or responses is None or found is None:
        return None
    length, seconds = found
    with np.errstate(divide="ignore", invalid="ignore"):
        values = responses.value * length.values / seconds.values / gpus.value
    good = values[np.isfinite(values)]
    if not len(good):
        return None
    formula = f"responses per step × {length.name} / {seconds.name} / GPUs"
    return Derived(float(np.median(good)), formula, (length.point(-1), seconds.point(-1)))


QUANTITIES: dict[str, Callable[[RunView], Derived | None]] = {
    "responses_per_step": responses_per_step,
    "n_gpus": n_gpus,
    "dp_size": dp_size,
    "group_size_bound": group_size_bound,
    "updates_per_step": updates_per_step,
    "decode_tokens_per_second_per_gpu": decode_rate,
}


def derived_quantities(view: RunView) -> dict[str, Derived]:
    """Every quantity that this log gives away, by name."""
    return {name: found for name, derive in QUANTITIES.items() if (found := derive(view)) is not None}


def _whole(values: FloatArray, series: tuple[Series, ...], formula: str) -> Derived | None:
    """A count: the median over the steps, when they agree and it is close to a whole number."""
    good = values[np.isfinite(values)]
    if not len(good):
        return None
    middle = float(np.median(good))
    whole = round(middle)
    low, high = np.quantile(good, [0.1, 0.9])
    if whole < 1 or abs(middle - whole) > max(MAX_SPREAD * whole, 0.05) or high - low > 2 * MAX_SPREAD * middle:
        return None
    return Derived(float(whole), formula, tuple(one.point(-1) for one in series))
