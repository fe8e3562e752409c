"""Which column of a data file counts the steps."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assistant.logs.files.values import whole

_COUNTERS = (
    "step",
    "global_step",
    "train/global_step",
    "trainer/global_step",
    "_step",
    "current_steps",
    "training_step",
    "train_step",
    "trainer_step",
    "opt_step",
    "optimizer_step",
    "training/global_step",
    "global_steps",
    "steps",
    "iteration",
    "iter",
    "it",
    "n_iter",
    "training_iteration",
    "update",
    "updates",
    "num_updates",
    "rollout_id",
    "rollout_step",
)
_AXES = (
    "total_timesteps",
    "time/total_timesteps",
    "timesteps_total",
    "num_env_steps_sampled_lifetime",
    "total_env_steps",
    "env_steps",
    "timesteps",
    "timestep",
    "frames",
    "total_steps",
    "time/iterations",
    "iterations",
    "episode",
    "episodes",
    "time/episodes",
    "batch",
    "epoch",
)
_RANK = {name: rank for rank, name in enumerate((*_COUNTERS, *_AXES))}
_STEP_OF_TOTAL = re.compile(r"\s*(\d{1,15})\s*/\s*(\d{1,15})\s*$")
OF_TOTAL = "global_step/max_steps"
TOTALS = ("total_steps", "max_steps")
CLOCKS = frozenset({"_timestamp", "timestamp", "wall_time", "datetime", "date", "created_at", "unnamed:_0", ""})
"""Columns that say when, or the row numbers that pandas writes: no metrics."""


def plain(name: str) -> str:
    """Lower case, with one underscore for spaces: ``Wall time`` → ``wall_time``."""
    return re.sub(r"[\s_]+", "_", name.strip().lower())


@dataclass(frozen=True, slots=True)
class StepColumn:
    """``name`` as in the file ("" when no column counts); ``metric``: it is worth keeping as a metric, too."""

    name: str
    metric: bool = False


NONE = StepColumn("")


def step_column(rows: Sequence[Mapping[str, Any]]) -> StepColumn:
    """The column that counts the steps of these rows: whole numbers, in (nearly) every row, rising."""
    if any(OF_TOTAL in row for row in rows):
        return StepColumn(OF_TOTAL)
    found: list[tuple[tuple[int, int, int, int], str]] = []
    for name in dict.fromkeys(key for row in rows for key in row):
        rank = _rank(name)
        if rank is None:
            continue
        given = [row[name] for row in rows if name in row and row[name] not in (None, "")]
        numbers = [number for value in given if (number := whole(value)) is not None]
        if not numbers or len(numbers) < 0.95 * len(given) or len(given) < 0.5 * len(rows):
            continue
        falls = sum(after < before for before, after in itertools.pairwise(numbers))
        if plain(name) == "epoch" and len(set(numbers)) < max(2, len(numbers)):  # several records in an epoch
            continue
        still = len(numbers) > 2 and len(set(numbers)) == 1
        partly = len(given) < 0.95 * len(rows)
        found.append(((still, partly, falls > 0.2 * len(numbers), rank), name))
    if not found:
        return NONE
    _, best = min(found)
    return StepColumn(best, plain(best) in _AXES_PLAIN)


def _rank(name: str) -> int | None:
    return _RANK_PLAIN.get(plain(name)) if len(name) < 40 else None


_RANK_PLAIN = {plain(name): rank for name, rank in reversed(_RANK.items())}
_AXES_PLAIN = frozenset(plain(name) for name in _AXES)


def step_and_total(value: Any) -> tuple[int | None, int | None]:
    """``"2/4389"`` → (2, 4389); a plain step has no total."""
    if isinstance(value, str) and (found := _STEP_OF_TOTAL.match(value)):
        return int(found[1]), int(found[2])
    return whole(value), None


def names_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))
