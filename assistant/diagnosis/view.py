"""A run as detectors see it: canonical metric names, one value a step, settings with their defaults by version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from assistant.diagnosis.naming import Name, ValidationKey, family, held_out, resolve, validation_key
from assistant.run import NO_STEP, Event, FloatArray, IntArray, Run, Segment, Series

TRAINING = (
    "score_mean",
    "policy_loss",
    "policy_total_loss",
    "time_step",
    "train_loss",
    "preference_loss",
    "response_length_mean",
    "value_loss",
)
"""Metrics that a training step prints."""


@dataclass(frozen=True, slots=True)
class Validation:
    key: ValidationKey
    series: Series


class RunView:
    """``view["policy_entropy"]`` is a Series with rising steps, each once (the last print wins), or None.

    A log that holds several attempts (it starts again from its first step) is seen through its last attempt of useful
    length; resumed stretches of one attempt are joined. ``attempts`` says what there was.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self._series: dict[str, Series | None] = {}
        self.outcomes: dict[str, Any] = {}
        """What detectors have said of this run, by id (`assistant.diagnosis.detector.look`)."""

    @cached_property
    def names(self) -> dict[str, Name]:
        found = resolve(self.run.columns, self.run.framework)
        if family(self.run.framework) == "generic":
            found.update({name: Name("validation") for name in self._evaluations(found)})
        return found

    def _evaluations(self, found: dict[str, Name]) -> list[str]:
        """Measures that stand in lines of their own, apart from those of the training: a trainer's own evaluation."""
        rows = [self.run.columns[name].rows for name, meaning in found.items() if meaning.canonical in TRAINING]
        if not rows:
            return []
        trained = np.unique(np.concatenate(rows))
        unknown = (name for name, meaning in found.items() if not meaning.canonical and held_out(name))
        return [name for name in unknown if not np.isin(self.run.columns[name].rows, trained).any()]

    @cached_property
    def _by_canonical(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        columns = self.run.columns
        first = {name: int(column.rows[0]) if len(column.rows) else -1 for name, column in columns.items()}
        for name in sorted(columns, key=lambda name: (first[name], name)):  # a later name of the same metric comes later
            if canonical := self.names[name].canonical:
                found.setdefault(canonical, []).append(name)
        return found

    @cached_property
    def attempts(self) -> list[tuple[Segment, ...]]:
        """Segments grouped: a segment that starts at or before the attempt's own first step begins a new attempt."""
        groups: list[list[Segment]] = []
        for segment in self.run.segments:
            if groups and segment.first_step > groups[-1][0].first_step:
                groups[-1].append(segment)
            else:
                groups.append([segment])
        return [tuple(group) for group in groups]

    @cached_property
    def attempt(self) -> int | None:
        """Index of the attempt looked at: the last one, unless it is a stump beside a much longer one."""
        if not self.attempts:
            return None
        sizes = [sum(s.last_row - s.first_row + 1 for s in group) for group in self.attempts]
        last = len(sizes) - 1
        return last if sizes[last] >= min(5, max(sizes)) else int(np.argmax(sizes))

    @cached_property
    def _rows(self) -> tuple[int, int]:
        if self.attempt is None:
            return (0, self.run.n_rows - 1)
        group = self.attempts[self.attempt]
        return group[0].first_row, group[-1].last_row

    def printed(self, name: str) -> Series | None:
        """The metric printed as ``name``, one value a step, in step order."""
        column = self.run.columns.get(name)
        series = self.run.series(name)
        if column is None or series is None:
            return None
        first, last = self._rows
        series = series.take((column.rows >= first) & (column.rows <= last))
        return self._one_a_step(series, self.names[name].scale)

    def __getitem__(self, canonical: str) -> Series | None:
        if canonical not in self._series:
            self._series[canonical] = self._merge(self._by_canonical.get(canonical, ()))
        return self._series[canonical]

    def has(self, *canonical: str) -> bool:
        """Whether each of the metrics was printed at least once."""
        return all(self[name] is not None for name in canonical)

    def together(self, *canonical: str) -> tuple[Series, ...] | None:
        """The metrics cut to the steps at which all of them were printed; None when one is missing or none is shared."""
        series = [self[name] for name in canonical]
        if any(s is None for s in series):
            return None
        shared = series[0].steps  # type: ignore[union-attr]
        for one in series[1:]:
            shared = np.intersect1d(shared, one.steps)  # type: ignore[union-attr]
        if not len(shared):
            return None
        return tuple(one.take(np.isin(one.steps, shared)) for one in series)  # type: ignore[union-attr]

    @cached_property
    def steps(self) -> IntArray:
        """Steps of the attempt looked at, rising, each once."""
        first, last = self._rows
        steps = self.run.row_steps[first : last + 1]
        return np.unique(steps[steps != NO_STEP])

    @cached_property
    def n_steps(self) -> int:
        """Steps that printed training metrics (a validation before training is not one)."""
        counts = [len(s) for name in TRAINING if (s := self[name])]
        return max(counts, default=len(self.steps))

    def validations(self, *, core: bool | None = None) -> Iterator[Validation]:
        """Every validation series, main ones (``val-core``) first."""
        named = self._by_canonical.get("validation", ())
        found = [(key, name) for name in named if (key := validation_key(name, self.run.framework) or held_out(name))]
        for key, name in sorted(found, key=lambda pair: (not pair[0].core, pair[1])):
            if core in (None, key.core) and (series := self.printed(name)) is not None and len(series):
                yield Validation(key, series)

    def events(self, *kinds: str) -> list[Event]:
        return [event for event in self.run.events if not kinds or event.kind in kinds]

    # Settings

    def setting(self, *keys: str, default: Any = None) -> Any:
        """The first of ``keys`` (old and new names of one setting) that the log's config has, else ``default``."""
        for key in keys:
            if key in self.run.config:
                return self.run.config[key]
        return default

    def number(self, *keys: str) -> float | None:
        """A setting as a number; None when it is unset, absent or not one."""
        value = self.setting(*keys)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def era_is(self, condition: str) -> bool | None:
        """``era_is(">=0.6")``; None when the log does not give its version away."""
        return None if self.run.era == "unknown" else era_matches(self.run.era, condition)

    @property
    def three_decimals(self) -> bool:
        """The log rounds to three decimals: a value below 0.0005 prints as 0.000."""
        from assistant.run import Style

        return any(len(c.styles) and c.styles[-1] == Style.FIXED3 for c in self.run.columns.values())

    @cached_property
    def updates_per_step(self) -> float | None:
        """Optimiser updates per step, u = train_batch_size / ppo_mini_batch_size × ppo_epochs; None without the config.

        verl: ``ppo_mini_batch_size`` counts prompts, as ``train_batch_size`` does; a mini-batch is never larger.
        """
        batch = self.number("data.train_batch_size")
        mini = self.number("actor_rollout_ref.actor.ppo_mini_batch_size")
        if not batch or not mini:
            return None
        return max(batch / mini, 1.0) * (self.number("actor_rollout_ref.actor.ppo_epochs") or 1.0)

    @property
    def estimator(self) -> str | None:
        """Advantage estimator: from the config, else what the metrics show (``run.algorithm``)."""
        return self.setting("algorithm.adv_estimator") or self.run.algorithm

    @cached_property
    def critic_free(self) -> bool:
        """No critic is trained: batch statistics are printed, and no metric of a value function."""
        return self.has("score_mean") and not any(self.has(name) for name in ("value_loss", "explained_variance", "value_mean"))

    @property
    def loss_agg_mode(self) -> str:
        return str(self.setting("actor_rollout_ref.actor.loss_agg_mode", default="token-mean"))

    # Internals

    def _merge(self, names: Iterable[str]) -> Series | None:
        parts = [s for name in names if (s := self.printed(name)) is not None and len(s)]
        if len(parts) <= 1:
            return parts[0] if parts else None
        texts: dict[int, str] = {}
        offset = 0
        for part in parts:
            texts.update({offset + index: text for index, text in part.texts.items()})
            offset += len(part)
        joined = Series(
            parts[-1].name,
            np.concatenate([p.steps for p in parts]),
            np.concatenate([p.values for p in parts]),
            np.concatenate([p.lines for p in parts]),
            np.concatenate([p.styles for p in parts]),
            texts,
            parts[-1].scale,
        )
        return self._one_a_step(joined, joined.scale)

    @staticmethod
    def _one_a_step(series: Series, scale: float) -> Series:
        if len(series) and (series.steps == NO_STEP).all():
            series = series.take(np.array([len(series) - 1]))
        reversed_steps = series.steps[::-1]
        _, first = np.unique(reversed_steps, return_index=True)
        series = series.take(len(series) - 1 - first)
        return Series(series.name, series.steps, series.values, series.lines, series.styles, series.texts, scale)


def era_matches(era: str, condition: str) -> bool:
    """``era_matches("0.6", ">=0.4,<0.8")``: every comma-separated part holds. Versions compare by their numbers."""

    def version(text: str) -> tuple[int, ...]:
        return tuple(int(part) for part in text.split(".") if part.isdigit())

    for part in condition.split(","):
        part = part.strip()
        operator = part.rstrip("0123456789. ")
        bound = version(part[len(operator) :].strip())
        have = version(era)[: len(bound)]
        holds = {">=": have >= bound, "<=": have <= bound, ">": have > bound, "<": have < bound}.get(operator, have == bound)
        if not holds:
            return False
    return True


def finite_values(series: Series | None) -> FloatArray:
    """Finite values of a series in its own unit; empty for None."""
    return np.zeros(0) if series is None else series.scaled[series.finite]
