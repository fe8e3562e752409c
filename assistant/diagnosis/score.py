"""What counts as the score of a run: its range, its noise, and the validation curves that stand for progress."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from assistant.diagnosis.stats import finite, mad, rolling_median
from assistant.diagnosis.view import RunView, Validation
from assistant.run import NO_STEP, FloatArray, IntArray, Series

SCORE_VARIABLES = (
    "acc",
    "accuracy",
    "reward",
    "score",
    "success",
    "success_rate",
    "pass",
    "solved",
    "em",
    "exact_match",
    "f1",
    "pass1",
    "ndcg",
    "recall",
    "mrr",
)
"""Validation variables that measure how good an answer is, best measure first; others (token counts, formats) are not progress."""


OUTLYING = 5.0
"""Usual ranges of the score by which an extreme of a batch has to stand off to count as an outlier."""

MANY = 0.25
"""Share of the batches from which on such extremes are part of the score's range."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The lowest and highest score that samples get in this run (reward units), outliers left out."""

    low: float
    high: float

    @property
    def span(self) -> float:
        return self.high - self.low


def score_scale(view: RunView) -> Scale | None:
    """Range of the per-sample score from ``score_min`` and ``score_max``; None when they are not logged."""
    low, high = known(view, "score_min"), known(view, "score_max")
    if low is None or high is None:
        return None
    lowest = float(np.percentile(_usual(low.scaled, high.scaled), 1, method="higher"))
    highest = float(np.percentile(_usual(high.scaled, low.scaled), 99, method="lower"))
    return Scale(min(lowest, highest), max(lowest, highest))


def _usual(values: FloatArray, other: FloatArray) -> FloatArray:
    """The extremes of the batches without those far outside the usual range, unless many are: then they belong to the score."""
    span = abs(float(np.median(values)) - float(np.median(other)))
    near = np.abs(values - np.median(values)) <= OUTLYING * span
    return values[near] if span > 0 and near.mean() > 1 - MANY else values


def step_noise(values: FloatArray) -> float:
    """How much neighbouring values scatter (≈ σ of one value, trends removed); 0 for fewer than 3 finite values."""
    kept = finite(values)
    return mad(np.diff(kept)) / np.sqrt(2.0) if len(kept) >= 3 else 0.0


def window_of(n: int, largest: int = 10) -> int:
    """Width of a smoothing window for ``n`` logged points: an eighth of them, 3 to ``largest``."""
    return int(min(largest, max(3, n // 8)))


def smoothed(series: Series) -> FloatArray:
    """Rolling median of the values in their own unit. Shape (n,)."""
    return rolling_median(series.scaled, window_of(len(series)))


def at_steps(series: Series, steps: IntArray) -> FloatArray:
    """Smoothed value at the last logged step at or before each of ``steps``; NaN before the first. Shape (len(steps),)."""
    values = smoothed(series)
    where = np.searchsorted(series.steps, steps, side="right") - 1
    return np.where(where >= 0, values[np.maximum(where, 0)], np.nan)


_VALIDATIONS: WeakKeyDictionary[RunView, list[Validation]] = WeakKeyDictionary()


def main_validations(view: RunView) -> list[Validation]:
    """The curve to judge by for each validation source: a mean over samples of a score-like variable, the longest one.

    A console captured by wandb cuts long lines, so that the core metric may be there once and another one at every
    validation: the number of points decides first, ``val-core`` and the order of ``SCORE_VARIABLES`` next.
    """
    if view in _VALIDATIONS:
        return _VALIDATIONS[view]
    best: dict[str, tuple[tuple[int, int, int, int], Validation]] = {}
    for one in view.validations():
        if not one.key.statistic.startswith("mean@") or one.key.variable not in SCORE_VARIABLES:
            continue
        samples = int(one.key.statistic.partition("@")[2])
        one = Validation(one.key, finite_part(one.series))
        points = len(one.series)
        worth = (points, int(one.key.core), -SCORE_VARIABLES.index(one.key.variable), samples)
        if points and (one.key.source not in best or worth > best[one.key.source][0]):
            best[one.key.source] = (worth, one)
    _VALIDATIONS[view] = [one for _, one in best.values()]
    return _VALIDATIONS[view]


def known(view: RunView, name: str) -> Series | None:
    """The finite values of a metric; None when there is none."""
    series = view[name]
    return None if series is None or not series.finite.any() else finite_part(series)


def known_together(view: RunView, *names: str) -> tuple[Series, ...] | None:
    """The metrics cut to the steps at which all of them have a finite value; None when there is no such step."""
    together = view.together(*names)
    if together is None:
        return None
    good = np.logical_and.reduce([series.finite for series in together])
    if not good.any():
        return None
    return together if good.all() else tuple(series.take(good) for series in together)


def finite_part(series: Series) -> Series:
    """The series without its non-finite values."""
    return series if series.finite.all() else series.take(series.finite)


def step_at(series: Series, index: int) -> int | None:
    """The step of a value, None when the log printed none (a tracker's summary)."""
    step = int(series.steps[index])
    return None if step == NO_STEP else step
