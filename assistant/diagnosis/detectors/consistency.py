"""Does the log say the same as its own configuration? Each check compares a setting with what the printed values prove.

Only what cannot be otherwise counts: a bound that is exceeded, a number that follows from others by arithmetic. A setting that the log does
not show is not compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np

from assistant.derived import n_gpus, responses_per_step
from assistant.diagnosis.batch import clean, no_signal, prints_zero, seen_from_start, step_of, whitened
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import configured, count, derived, printed, shown
from assistant.diagnosis.finding import Finding, NotChecked, Quantity, Severity
from assistant.diagnosis.timing import step_times
from assistant.diagnosis.view import RunView
from assistant.run import Series, Style

_ROLLOUT_N = "actor_rollout_ref.rollout.n"
_BATCH = "data.train_batch_size"
_MINI = "actor_rollout_ref.actor.ppo_mini_batch_size"
_LR = "actor_rollout_ref.actor.optim.lr"
_IN_REWARD = "algorithm.use_kl_in_reward"
_KL_COEF = "algorithm.kl_ctrl.kl_coef"
_KL_LOSS = "actor_rollout_ref.actor.use_kl_loss"
_NORMALISED = ("grpo", "grpo_passk", "grpo_vectorized")
_OTHER_SAMPLERS = ("env.", "rllm.", "actor_rollout_ref.rollout.n_agent", "data.gen_batch_size")
"""Settings of trainers that decide elsewhere how many answers make a batch."""


@detector("log-contradicts-config")
def log_contradicts_config(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """The first contradiction, the one that changes most of what the log means."""
    if not view.run.config or not view.run.framework.startswith("verl"):
        return NotChecked("config")
    return next(_contradictions(view, t), None)


def _contradictions(view: RunView, t: Thresholds) -> Iterator[Finding]:
    for check in (_estimator, _group_size, _learning_rate, _updates, _responses, _gpus, _rewards, _lengths, _timers):
        if (found := check(view, t)) is not None:
            yield found


def _finding(variant: str, series: Series, facts: dict[str, Quantity], points: list[int], severity: Severity = "low") -> Finding:
    return Finding(
        "log-contradicts-config",
        severity=severity,
        confidence=0.8,
        first_step=step_of(series, points[0]),
        last_step=step_of(series, -1),
        evidence=[series.point(i) for i in dict.fromkeys(points)],
        facts=facts,
        variant=variant,
    )


def _set(view: RunView, key: str) -> Quantity:
    value = view.number(key)
    assert value is not None
    return configured(value, key, view.run.config_lines.get(key))


def _estimator(view: RunView, t: Thresholds) -> Finding | None:
    """GAE needs a critic, which prints its loss at every step; only a batch line that is there in full can lack it."""
    score = clean(view["score_mean"])
    whole = view.has("policy_loss", "time_update_actor", "advantage_mean")
    if view.setting("algorithm.adv_estimator") != "gae" or score is None or not whole or len(score) < t.steps:
        return None
    if view.setting("critic.enable") is False or any(
        view.has(name) for name in ("value_loss", "value_mean", "explained_variance", "critic_lr")
    ):
        return None
    return _finding("estimator", score, {"n": count(len(score), "steps with batch statistics")}, [0, -1])


def _group_size(view: RunView, t: Thresholds) -> Finding | None:
    """Of n values none lies further than (n − 1)/√n sample standard deviations from their mean."""
    n = view.number(_ROLLOUT_N)
    high, low = clean(view["advantage_max"]), clean(view["advantage_min"])
    if n is None or n < 2 or high is None or low is None or view.setting("algorithm.adv_estimator") not in _NORMALISED or whitened(view):
        return None
    if view.setting("algorithm.norm_adv_by_std_in_grpo", default=True) is False or view.has("value_loss"):
        return None
    bound = (n - 1) / sqrt(n)
    beyond = [(s, np.flatnonzero(sign * s.values > bound * (1 + t.slack) + 0.001)) for s, sign in ((high, 1.0), (low, -1.0))]
    series, where = max(beyond, key=lambda pair: len(pair[1]))
    if len(where) < t.steps:
        return None
    worst = int(where[np.argmax(np.abs(series.values[where]))])
    largest = abs(float(series.values[worst]))
    need = int(np.ceil(((largest + sqrt(largest**2 + 4)) / 2) ** 2 - 0.02))
    facts = {
        "n": _set(view, _ROLLOUT_N),
        "bound": derived(bound, "(n − 1)/√n with n = rollout.n"),
        "value": printed(series.point(worst)),
        "key": Quantity(worst, series.name, "run", series.name),
        "need": count(need, f"smallest n with (n − 1)/√n ≥ |{series.name}|"),
    }
    return _finding("group_size", series, facts, [int(where[0]), worst], "medium")


def _learning_rate(view: RunView, t: Thresholds) -> Finding | None:
    """No schedule rises above the configured rate."""
    rate, series = view.number(_LR), clean(view["policy_lr"])
    if not rate or series is None or ((series.styles == Style.FIXED3).all() and series.scale == 1.0):
        return None
    above = np.flatnonzero(series.scaled > rate * (1 + 2 * t.slack) + series.scale * series.resolution(-1))
    if len(above) < min(t.steps, len(series)):
        return _lower_rate(view, t, rate, series)
    top = int(above[np.argmax(series.scaled[above])])
    configured_rate = Quantity(rate, f"{rate:g}", "config", _LR, line=view.run.config_lines.get(_LR))
    facts = {"rate": configured_rate, "value": printed(series.point(top))}
    return _finding("learning_rate", series, facts, [int(above[0]), top], "medium")


def _lower_rate(view: RunView, t: Thresholds, rate: float, series: Series) -> Finding | None:
    """A rate that does not move from the first step on is the configured one: warm-up rises, decay falls."""
    values = series.scaled
    still = float(np.ptp(values)) <= t.slack * float(values.max())
    if len(series) < t.still_steps or not still or not 0 < values[0] < rate * (1 - 2 * t.slack) or not seen_from_start(view):
        return None
    configured_rate = Quantity(rate, f"{rate:g}", "config", _LR, line=view.run.config_lines.get(_LR))
    facts = {"rate": configured_rate, "value": printed(series.point(-1)), "n": count(len(series), "steps")}
    return _finding("lower_rate", series, facts, [0, -1], "medium")


def _updates(view: RunView, t: Thresholds) -> Finding | None:
    """From the second update of a step on, the policy is no longer the one that made the old log-probabilities."""
    updates, kl, norm = view.updates_per_step, clean(view["policy_step_kl"]), clean(view["policy_grad_norm"])
    clipped, rate = clean(view["policy_clip_fraction"]), clean(view["policy_lr"])
    if updates is None or updates < 2 or kl is None or norm is None or clipped is None or rate is None or len(kl) < t.steps:
        return None
    if (kl.styles == Style.FIXED3).any() or (kl.values != 0).any() or (clipped.values != 0).any():
        return None
    signal = no_signal(view)
    if prints_zero(norm).any() or (rate.values <= 0).any() or (signal is not None and signal[2].any()):
        return None
    facts = {"updates": derived(updates, f"{_BATCH} / {_MINI} × ppo_epochs"), "n": count(len(kl), "steps"), "kl": printed(kl.point(-1))}
    return _finding("updates", kl, facts, [0, -1])


def _responses(view: RunView, t: Thresholds) -> Finding | None:
    batch, n = view.number(_BATCH), view.number(_ROLLOUT_N)
    tokens, found = clean(view["total_tokens"]), responses_per_step(view)
    if not batch or not n or tokens is None or found is None or len(tokens) < t.steps or _samples_elsewhere(view):
        return None
    if abs(found.value - batch * n) <= 2 * t.slack * batch * n + 0.5:
        return None
    facts = {
        "found": derived(found.value, found.formula),
        "batch": _set(view, _BATCH),
        "n": _set(view, _ROLLOUT_N),
        "expected": derived(batch * n, f"{_BATCH} × {_ROLLOUT_N}"),
    }
    return _finding("responses", tokens, facts, [0, -1])


def _samples_elsewhere(view: RunView) -> bool:
    keys = view.run.config
    return view.setting("algorithm.filter_groups.enable") is True or any(key.startswith(_OTHER_SAMPLERS) and keys[key] for key in keys)


def _gpus(view: RunView, t: Thresholds) -> Finding | None:
    nodes, each = view.number("trainer.nnodes"), view.number("trainer.n_gpus_per_node")
    speed, found = clean(view["throughput"]), n_gpus(view)
    if not nodes or not each or speed is None or found is None or len(speed) < t.steps or found.value == nodes * each or _more_pools(view):
        return None
    facts = {
        "found": derived(found.value, found.formula),
        "nodes": _set(view, "trainer.nnodes"),
        "each": _set(view, "trainer.n_gpus_per_node"),
        "expected": derived(nodes * each, "trainer.nnodes × trainer.n_gpus_per_node"),
    }
    return _finding("gpus", speed, facts, [0, -1])


def _more_pools(view: RunView) -> bool:
    """Rollout or reward model on GPUs of their own: the throughput is divided by all of them."""
    config = view.run.config
    return any(key.endswith("enable_resource_pool") and value is True for key, value in config.items()) or any(
        view.number(key) for key in ("rollout.nnodes", "rollout.n_gpus_per_node", "actor_rollout_ref.rollout.nnodes")
    )


def _rewards(view: RunView, t: Thresholds) -> Finding | None:
    """Without a KL penalty in it the reward is the score; with one it is not, once the policy has moved."""
    pair = view.together("score_mean", "reward_mean")
    if pair is not None and view.setting(_IN_REWARD) is True and (view.number(_KL_COEF) or 0) > 0:
        score, reward = pair
        full = len(score) >= t.still_steps and (score.styles == Style.REPR).all()
        if full and score.finite.all() and bool((score.values == reward.values).all()) and float(np.ptp(score.values)) > 0:
            facts = {"n": count(len(score), "steps"), "coef": _set(view, _KL_COEF)}
            return _finding("no_penalty", reward, facts, [0, -1])
        return None
    if pair is None or view.setting(_IN_REWARD) is not False or view.has("reward_kl"):
        return None
    score, reward = pair
    apart = np.flatnonzero(np.abs(score.values - reward.values) > t.slack * np.maximum(np.abs(score.values), 0.1) + 0.001)
    if len(apart) < max(t.steps, 0.5 * len(score)):
        return None
    last = int(apart[-1])
    facts = {"score": printed(score.point(last)), "reward": printed(reward.point(last)), "step": count(int(score.steps[last]))}
    found = _finding("rewards", reward, facts, [int(apart[0]), last])
    return Finding(
        found.id,
        found.severity,
        found.confidence,
        found.first_step,
        found.last_step,
        [score.point(last), reward.point(last)],
        facts,
        "rewards",
    )


def _lengths(view: RunView, t: Thresholds) -> Finding | None:
    for name, key in (("response_length_max", "data.max_response_length"), ("prompt_length_max", "data.max_prompt_length")):
        limit, series = view.number(key), clean(view[name])
        if not limit or series is None:
            continue
        beyond = np.flatnonzero(series.values > limit + 0.5)
        if len(beyond) < t.steps:
            continue
        top = int(beyond[np.argmax(series.values[beyond])])
        facts = {"key": Quantity(limit, key, "config", key), "limit": _set(view, key), "value": printed(series.point(top))}
        return _finding("lengths", series, {**facts, "name": Quantity(top, series.name, "run", series.name)}, [int(beyond[0]), top])
    return None


def _timers(view: RunView, t: Thresholds) -> Finding | None:
    """Parts that add up to more than the step overlap, or one holds another: shares must not be added up."""
    times, step = step_times(view), clean(view["time_step"])
    if times is None or step is None or not times.measured or len(times.steps) < t.steps or view.has("async_trainer_idle"):
        return None
    with np.errstate(all="ignore"):
        share = 1 - times.residual / times.net
    if not float(np.nanmedian(share)) > 1 + t.overlap:
        return None
    facts = {
        "share": derived(
            100 * float(np.nanmedian(share)),
            "sum of the timers inside a step / timing_s/step, median",
            text=f"{100 * float(np.nanmedian(share)):.0f}%",
        )
    }
    return _finding("timers", step, facts, [-1], "info")


@detector("double-kl")
def double_kl(view: RunView, t: Thresholds) -> Finding | None:
    """A KL penalty in the reward and a KL loss at once: both pull to the reference, and their coefficients add up."""
    notices = view.events("double-kl")
    both = view.setting(_IN_REWARD) is True and view.setting(_KL_LOSS) is True
    loss, coefficient = clean(view["reference_kl_coef"]), clean(view["reward_kl_coef"])
    seen = loss is not None and coefficient is not None and bool((loss.values > 0).any() and (coefficient.values > 0).any())
    if not (notices or both or seen):
        return None
    facts = {}
    points = []
    if loss is not None and coefficient is not None:
        facts = {
            "loss": Quantity(loss.values[-1], shown(loss.point(-1)), "run", loss.name, line=loss.point(-1).line),
            "reward": printed(coefficient.point(-1)),
        }
        points = [loss.point(-1), coefficient.point(-1)]
    variant = "printed" if facts else "default"
    first = step_of(loss, 0) if loss is not None else None
    return Finding("double-kl", confidence=0.9, first_step=first, last_step=first, evidence=points, facts=facts, variant=variant)
