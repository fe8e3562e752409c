"""What is known of a run's configuration: what the log's config says, and what its metrics give away."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from assistant import derived
from assistant.diagnosis.batch import clean, group_size, grouped
from assistant.diagnosis.view import RunView
from assistant.run import Run, Style

# Metrics that print a setting. A learning rate is one only while no schedule moves it.
PRINTED = {
    "actor/kl_coef": "actor_rollout_ref.actor.kl_loss_coef",
    "actor/reward_kl_penalty_coeff": "algorithm.kl_ctrl.kl_coef",
    "critic/kl_coeff": "algorithm.kl_ctrl.kl_coef",
    "actor/lr": "actor_rollout_ref.actor.optim.lr",
    "critic/lr": "critic.optim.lr",
}
LEAST_PAIRS = 8
"""Steps with loss and KL from which the KL's weight is read."""
# Metrics that are there only when a setting is on (verl ≥ 0.4 prints them under these names).
SWITCHES = {
    "actor/reward_kl_penalty": "algorithm.use_kl_in_reward",
    "actor/kl_coef": "actor_rollout_ref.actor.use_kl_loss",
}


def settings(run: Run) -> dict[str, Any]:
    """Config keys and values: the config wins over what constant metrics print, and a printed 0.000 gives nothing away."""
    known: dict[str, Any] = {}
    for name, key in PRINTED.items():
        column = run.columns.get(name)
        if column is None or not len(column.values) or (column.values != column.values[0]).any():
            continue
        if column.styles[0] == Style.FIXED3 and abs(column.values[0]) < 0.01:
            continue  # three decimals: 0.001 may be anything from 0.0005 to 0.0015
        known[key] = float(column.values[0])
    known.update({key: True for name, key in SWITCHES.items() if name in run.columns})
    return {**known, **run.config}


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the metrics say of a setting that no line shows: at least ``low``, at most ``high``, or ``exact``."""

    low: float = -math.inf
    high: float = math.inf
    exact: float | None = None

    def allows(self, value: Any) -> bool:
        """Whether the setting may have this value; what is no number is not judged."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return True
        return self.low <= value <= self.high and (self.exact is None or value == self.exact)


def bounds(run: Run, key: str) -> Bounds:
    """What the metrics give away about a setting: a default outside of it is not this run's value."""
    rule = _RULES.get(key)
    return rule(RunView(run)) if rule else Bounds()


def observed(run: Run, key: str) -> Any:
    """The setting as the log's config or its metrics show it; None when neither does."""
    value = settings(run).get(key)
    return bounds(run, key).exact if value is None else value


def _length(metric: str, ratio: str, view: RunView) -> Bounds:
    """Nothing is longer than its limit. Up to 0.8 the clip ratio counts what is exactly as long; 0.9 may count the batch's longest."""
    longest = clean(view[metric])
    if longest is None:
        return Bounds()
    top = float(longest.scaled.max())
    pair = view.together(metric, ratio)
    cut = pair[0].scaled[pair[1].values > 0] if pair is not None else np.zeros(0)
    at_top = cut == top
    if len(cut) and (bool(at_top.all()) if view.era_is("<0.9") else np.count_nonzero(at_top) >= max(3, 0.3 * len(longest))):
        return Bounds(top, top, int(top) if top.is_integer() else top)
    return Bounds(low=top)


def _rollout_n(view: RunView) -> Bounds:
    batch, responses = view.number("data.train_batch_size"), derived.responses_per_step(view)
    if batch and responses and responses.value % batch == 0:
        return _exactly(responses.value / batch)
    if not view.estimator or not grouped(view):
        return Bounds()
    if touched := group_size(view):
        return _exactly(touched)
    least = derived.group_size_bound(view)
    alone = view.together("advantage_mean", "score_mean")
    single = alone is not None and bool((alone[0].values != 0).any()) and np.allclose(alone[0].values, alone[1].values, atol=0.02)
    return Bounds(low=max(least.value if least is not None else 1.0, 1.0 if single else 2.0))


def _train_batch(view: RunView) -> Bounds:
    responses = derived.responses_per_step(view)
    if responses is None:
        return Bounds()
    n = view.number("actor_rollout_ref.rollout.n")
    if n and responses.value % n == 0 and view.setting("algorithm.filter_groups.enable") is not True:
        return _exactly(responses.value / n)
    return Bounds(high=responses.value / max(_rollout_n(view).low, 1.0))


def _gpus(view: RunView) -> Bounds:
    gpus, nodes = derived.n_gpus(view), view.number("trainer.nnodes")
    if gpus is None:
        return Bounds()
    return _exactly(gpus.value / nodes) if nodes and gpus.value % nodes == 0 else Bounds(high=gpus.value)


def _rate(metric: str, view: RunView) -> Bounds:
    """A schedule stays at or below the configured rate."""
    rate = clean(view[metric])
    if rate is None:
        return Bounds()
    top = int(np.argmax(rate.scaled))
    return Bounds(low=float(rate.scaled[top]) - rate.resolution(top) * abs(rate.scale))


def _coefficient(metric: str, view: RunView) -> Bounds:
    """A fixed coefficient as far as it is printed; an adaptive one starts anywhere."""
    series = clean(view[metric])
    if series is None or bool((series.values != series.values[0]).any()):
        return Bounds()
    value, unsure = float(series.scaled[0]), series.resolution(0) * abs(series.scale)
    return Bounds(value - unsure, value + unsure)


def _loss_coefficient(view: RunView) -> Bounds:
    """The weight of the KL in the loss: printed, or, where the loss is nothing else (one update a step), the loss per KL."""
    known = _coefficient("reference_kl_coef", view)
    if known != Bounds() or view.run.framework.startswith("verl"):
        return known
    pair = view.together("policy_total_loss", "reference_kl")
    if pair is None or len(pair[0].values) < LEAST_PAIRS:
        return Bounds()
    loss, kl = pair[0].scaled, pair[1].scaled
    unsure = np.array([pair[0].resolution(i) for i in range(len(loss))])
    told = np.isfinite(loss) & np.isfinite(kl) & (kl > 0) & (np.abs(loss) > 20 * unsure)
    if np.count_nonzero(told) < max(LEAST_PAIRS, len(loss) // 2):
        return Bounds()
    share = loss[told] / kl[told]
    middle = float(np.median(share))
    if middle <= 0 or np.quantile(np.abs(share - middle), 0.75) > 0.1 * middle:
        return Bounds()
    value = next(v for digits in (1, 2) if abs((v := float(f"{middle:.{digits}g}")) - middle) <= 0.05 * middle or digits == 2)
    return Bounds(value, value, value)


def _epochs(view: RunView) -> Bounds:
    epoch = clean(view["epoch"])
    return Bounds(low=float(epoch.values.max()) + 1) if epoch is not None else Bounds()


def _test_freq(view: RunView) -> Bounds:
    """The usual distance between validations; one before training and one at the end come in between."""
    steps = max((one.series.steps for one in view.validations()), key=len, default=np.zeros(0, np.int64))
    steps = steps[steps > 0]
    if len(steps) < 3:
        return Bounds()
    values, counts = np.unique(np.diff(steps), return_counts=True)
    usual = int(values[np.argmax(counts)])
    return _exactly(usual) if counts.max() >= 0.7 * counts.sum() and int(steps[0]) % usual == 0 else Bounds(low=1)


def _exactly(value: float) -> Bounds:
    return Bounds(value, value, int(value) if float(value).is_integer() else value)


_RULES: dict[str, Callable[[RunView], Bounds]] = {
    "data.max_response_length": partial(_length, "response_length_max", "response_clip_ratio"),
    "data.max_prompt_length": partial(_length, "prompt_length_max", "prompt_clip_ratio"),
    "actor_rollout_ref.rollout.n": _rollout_n,
    "data.train_batch_size": _train_batch,
    "trainer.n_gpus_per_node": _gpus,
    "trainer.total_epochs": _epochs,
    "trainer.test_freq": _test_freq,
    "actor_rollout_ref.actor.optim.lr": partial(_rate, "policy_lr"),
    "critic.optim.lr": partial(_rate, "critic_lr"),
    "actor_rollout_ref.actor.kl_loss_coef": _loss_coefficient,
    "algorithm.kl_ctrl.kl_coef": partial(_coefficient, "reward_kl_coef"),
}
