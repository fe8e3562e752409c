"""What the printed statistics say about the batch behind them: zero advantages, the kind of estimator, group size.

Also small readings that several detectors share. Masks have shape (n,), one entry a value of the series.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assistant.cards import card
from assistant.diagnosis.facts import count
from assistant.diagnosis.finding import Quantity
from assistant.diagnosis.stats import Interval, finite, latched, mad, median, rolling_median, sustained
from assistant.diagnosis.stepless import UNKNOWN
from assistant.diagnosis.view import RunView
from assistant.run import NO_STEP, FloatArray, Series, Style

Mask = NDArray[np.bool_]

EARLY = 10
"""A log whose first step is at most this shows the start of its run."""

GROUPED = ("grpo", "grpo_passk", "grpo_vectorized", "rloo", "rloo_vectorized", "opo", "gpg", "gdpo", "reinforce_plus_plus_baseline")
WHITENED = ("gae", "reinforce_plus_plus", "reinforce_plus_plus_baseline", "gdpo")
UNNORMALISED = ("rloo", "rloo_vectorized", "remax", "opo", "gpg")


def clean(series: Series | None) -> Series | None:
    """Its finite values; None when there is none."""
    if series is None:
        return None
    kept = series if series.finite.all() else series.take(series.finite)
    return kept if len(kept) else None


def prints_zero(series: Series, exact: float = 1e-9) -> Mask:
    """Values that are zero (below ``exact``) or, in a three-decimals log, print as 0.000."""
    values = np.abs(series.values)
    mask: Mask = np.where(series.styles == Style.FIXED3, values == 0.0, values < exact)
    return mask


def numbered(view: RunView) -> bool:
    """The log prints no steps: its records are counted, so that record 1 may be any step of the run."""
    return any(note.kind == "numbered-records" for note in view.run.notes)


def step_gap(view: RunView) -> int:
    """Usual distance of the logged steps; 1 for a single one."""
    return int(np.median(np.diff(view.steps))) if len(view.steps) > 1 else 1


def seen_from_start(view: RunView) -> bool:
    """Whether the log shows the beginning of the run, so that its first values are a baseline.

    Steps may be logged at a distance (every 20 updates, every 2,048 environment steps); where none are printed, the epoch tells.
    """
    if not len(view.steps):
        return False
    if numbered(view) and (epoch := clean(view["epoch"])) is not None:
        gap = (float(epoch.values[-1]) - float(epoch.values[0])) / max(len(epoch) - 1, 1)
        return float(epoch.values[0]) <= 1.5 * gap + 0.01  # epochs are printed with two decimals
    return int(view.steps[0]) <= max(EARLY, step_gap(view))


def last_stretch(mask: Mask, k: int, m: int) -> Interval | None:
    """The last stretch in which ``mask`` holds k of m steps; in a shorter log every step has to."""
    if len(mask) < k:
        return Interval(0, len(mask) - 1, True) if len(mask) and bool(mask.all()) else None
    found = sustained(mask, k, m)
    return found[-1] if found else None


def no_signal(view: RunView) -> tuple[Series, Series, Mask] | None:
    """Largest and smallest advantage, and the steps at which both are zero: every group has one reward."""
    pair = view.together("advantage_max", "advantage_min")
    if pair is None:
        return None
    high, low = pair
    both = high.finite & low.finite
    if not both.any():
        return None
    high, low = high.take(both), low.take(both)
    return high, low, prints_zero(high) & prints_zero(low)


@dataclass(frozen=True, slots=True)
class Spread:
    """Which steps had something to learn from. ``none`` marks the steps of ``series`` at which no group had two different rewards.

    ``kind`` says what shows it: "advantages", "groups" (share of uniform groups), "counted" (answers without
    an advantage) or "rewards" (their standard deviation).
    """

    kind: str
    series: Series
    none: Mask


UNIFORM = 0.95
"""Share of uniform groups from which on a step taught nothing (a line may be the mean of several steps)."""


def spread_of(view: RunView) -> Spread | None:
    """What the log says about differences within groups; None when it says nothing."""
    signal = no_signal(view)
    if signal is not None:
        return Spread("advantages", signal[0], signal[2])
    share = clean(view["uniform_group_share"])
    if share is not None:
        return Spread("groups", share, share.values >= UNIFORM)
    counted = view.together("zero_advantage_count", "rollout_count")
    if counted is not None and (counted[1].values > 0).all():
        return Spread("counted", counted[0], counted[0].values >= UNIFORM * counted[1].values)
    deviation = clean(view["score_group_std"]) or clean(view["score_std"])
    return None if deviation is None else Spread("rewards", deviation, prints_zero(deviation))


def spread_at(view: RunView, series: Series) -> Mask | None:
    """For each step of ``series``: did any group have two different rewards? None when the log does not say."""
    found = spread_of(view)
    if found is None:
        return None
    spread: Mask = np.isin(series.steps, found.series.steps[~found.none])
    return spread


def grouped(view: RunView) -> bool | None:
    """Whether the estimator compares answers to one prompt (GRPO, RLOO …); None when nothing shows it."""
    if view.estimator:
        return str(view.estimator).lower() in GROUPED
    if view.has("value_loss") or view.has("explained_variance"):
        return False
    return True if view.has("advantage_mean", "policy_loss") and view.run.framework.startswith("verl") else None


def whitened(view: RunView) -> bool:
    """Whether advantages are scaled to mean 0 and standard deviation 1 over the batch."""
    if view.estimator:
        return str(view.estimator).lower() in WHITENED
    return view.has("value_loss")


def group_size(view: RunView, tolerance: float = 0.002) -> int | None:
    """Answers per prompt: from the config, else from the bound (n - 1)/√n that GRPO advantages touch; None if neither shows it."""
    if (configured := view.number("actor_rollout_ref.rollout.n")) is not None and configured > 1:
        return int(configured)
    high, low = clean(view["advantage_max"]), clean(view["advantage_min"])
    if high is None or low is None or whitened(view):
        return None
    bound = max(float(high.values.max()), float(-low.values.min()))
    touched = np.count_nonzero(np.abs(high.values - bound) < tolerance) + np.count_nonzero(np.abs(low.values + bound) < tolerance)
    for n in (2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32, 48, 64, 128):
        if abs((n - 1) / np.sqrt(n) - bound) < tolerance and touched >= 1:
            return n
    return None


def responses_per_step(view: RunView) -> float | None:
    """N = train_batch_size × n, else total tokens / (prompt + answer length)."""
    batch = view.number("data.train_batch_size")
    if batch:
        return batch * (view.number("actor_rollout_ref.rollout.n") or 1.0)
    parts = view.together("total_tokens", "prompt_length_mean", "response_length_mean")
    if parts is None:
        return None
    tokens, prompt, response = parts
    with np.errstate(all="ignore"):
        n = median(tokens.values / (prompt.values + response.values))
    return n if np.isfinite(n) and n >= 1 else None


def fell_from_best(values: FloatArray, least: float, noises: float = 3.0) -> tuple[int, float, float] | None:
    """Whether a score has fallen: (index of its best level, best, now), levels being medians of 10 to n/20 values.

    The fall must be more than ``least`` of the range that the level has covered and ``noises`` times the step-to-step noise of a level.
    """
    kept = finite(values)
    if len(kept) < 15:
        return None
    noise = mad(np.diff(kept)) / np.sqrt(2) * 1.25 / np.sqrt(max(10, len(kept) // 20))
    blocks = np.array_split(np.arange(len(kept)), min(len(kept), 400))
    values_of_blocks = np.array([np.median(kept[b]) for b in blocks]) if len(blocks) < len(kept) else kept
    window = max(10, len(blocks) // 20)
    level = rolling_median(values_of_blocks, window)[window - 1 :]
    best = fallen(level, noises, noise, window, least, lowest=float(kept[0]))
    if best is None:
        return None
    return int(blocks[best + window - 1][-1]), float(level[best]), float(level[-1])


def fallen(level: FloatArray, noises: float, noise: float, window: int, least: float, lowest: float = np.inf) -> int | None:
    """Index of the best of a smoothed curve that lies below its best, by more than chance, since some step up to the end; else None.

    ``noise`` is σ of one level, ``window`` how many steps it is made of: the best of many levels is high by luck. A fall
    counts until half of it is made good.
    """
    if not len(level):
        return None
    best = np.maximum.accumulate(level)
    luck = np.sqrt(2 * np.log(np.maximum(np.arange(len(level)) / window, 1.0)))
    need = np.maximum((noises + luck) * noise, least * (best - np.minimum(np.minimum.accumulate(level), lowest)))
    fall = best - level
    if latched((fall > need) & (fall > 0), fall < need / 2, 1, 1) is None:
        return None
    return int(np.argmax(level))


def lower_rate(view: RunView, factor: float = 3.0) -> float | None:
    """A learning rate to try instead: the configured (else the largest printed) one divided by ``factor``, to one digit."""
    rate = view.number("actor_rollout_ref.actor.optim.lr")
    printed = clean(view["policy_lr"])
    if not rate and printed is not None:
        rate = float(printed.scaled.max())
    return float(f"{rate / factor:.0e}") if rate else None


def filled(finding_id: str, **values: object) -> dict[str, object]:
    """Every fix of the card in its order, with the ``values`` that this run suggests (``learning_rate`` for ``learning-rate``)."""
    rows = card(f"findings/{finding_id}").front.get("fixes") or ()
    return {row["id"]: values.get(row["id"].replace("-", "_")) for row in rows}


def step_of(series: Series, index: int) -> int | None:
    """The step of a value; None when the log printed none (a tracker's summary, a pasted tail)."""
    step = int(series.steps[index])
    return None if step == NO_STEP else step


def step_fact(series: Series, index: int) -> Quantity:
    """The step of a value as a fact; shown as "?" when the log printed none."""
    return step_number(int(series.steps[index]))


def step_number(step: int) -> Quantity:
    return count(step) if step != NO_STEP else Quantity(float("nan"), UNKNOWN, "count", formula="no step printed")


def setting_is(view: RunView, key: str, *values: str) -> bool:
    return str(view.setting(key, default="")).lower() in values


def sums_tokens(view: RunView) -> bool:
    """The loss mode adds up tokens instead of averaging them: losses, norms and (since 0.4) entropy carry the answer's length."""
    return view.loss_agg_mode in ("seq-mean-token-sum", "seq-mean-token-sum-norm", "token-sum")
