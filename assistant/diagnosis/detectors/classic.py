"""Agents of classic reinforcement learning: missing episodes, a policy that stands still, an entropy coefficient that runs away."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis.batch import clean, fell_from_best, seen_from_start, step_fact, step_of
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import count, derived, printed, quoted
from assistant.diagnosis.finding import Finding, NotChecked, Quantity, Severity
from assistant.diagnosis.naming import family, first_names
from assistant.diagnosis.stats import baseline, few, tail, trend
from assistant.diagnosis.view import RunView
from assistant.run import Point, Series

AGENTS = frozenset({"sb3", "rllib"})
"""Frameworks that print the mean reward of finished episodes beside their losses."""
_LOSSES = ("policy_step_kl", "value_loss", "explained_variance", "policy_loss", "policy_total_loss", "td_loss", "q_critic_loss")


@detector("episode-stats-missing")
def episode_stats_missing(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Losses are printed, the reward of finished episodes is not, or is NaN."""
    if family(view.run.framework) not in AGENTS:
        return None
    if not (view.has("env_steps_total") or view.has("env_steps_per_second") or view.has("score_mean")):
        return NotChecked("env_steps_total")  # part of a table
    reward, length = view["score_mean"], view["episode_length_mean"]
    trained: Series | None = next((s for name in _LOSSES if (s := view[name]) is not None and s.finite.any()), None)
    if trained is None:
        return NotChecked("policy_loss")
    shown = reward if reward is not None else length
    if shown is not None and shown.finite[-1]:
        return None
    if shown is None and (view["success_rate"] is not None or any(True for _ in view.validations())):
        return None
    last = trained.point(-1)
    facts: dict[str, Quantity] = {
        "metric": quoted(trained.name, last.line),
        "value": printed(last),
        "wanted": quoted(first_names(view.run.framework).get("score_mean", "reward"), last.line),
        "step": step_fact(trained, -1),
    }
    points: list[Point] = [last]
    variant = "absent"
    if shown is not None:
        facts["wanted"], facts["nan"] = quoted(shown.name, shown.point(-1).line), printed(shown.point(-1))
        points.insert(0, shown.point(-1))
        variant = "nan"
    total, fast = view["env_steps_total"], view["episodes_in_iteration"]
    if variant == "nan" and fast is not None and fast.finite[-1] and fast.values[-1] == 0:
        points.append(fast.point(-1))
    if total is not None and len(total) and len(points) < 4:
        points.append(total.point(-1))
    return Finding(
        "episode-stats-missing",
        severity="high" if len(trained) >= t.long else None,
        confidence=0.85,
        first_step=step_of(trained, 0),
        last_step=step_of(trained, -1),
        evidence=points,
        facts=facts,
        variant=variant,
        causes=["unfinished", "no-monitor", "never-done"] if len(trained) < t.long else ["no-monitor", "never-done", "unfinished"],
    )


@detector("policy-frozen", needs=("policy_step_kl",))
def policy_frozen(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Several passes over a batch that leave the policy exactly where it was: no KL, no clipping, no loss."""
    if family(view.run.framework) not in ("sb3", "cleanrl", "rllib"):
        return None
    kl = clean(view["policy_step_kl"])
    if kl is None:
        return NotChecked("policy_step_kl")
    still = np.abs(kl.values) < t.kl
    n = min(len(kl), int(t.steps))
    if not still[-n:].all():
        return None
    clipped, loss = clean(view["policy_clip_fraction"]), clean(view["policy_loss"])
    if clipped is not None and (clipped.values[-n:] > 0).any():
        return None
    if loss is not None and (np.abs(loss.values[-n:]) > t.loss).any():
        return None
    if clipped is None and loss is None:
        return NotChecked("policy_clip_fraction")
    start = int(np.flatnonzero(~still)[-1]) + 1 if (~still).any() else 0
    points = [kl.point(-1)] + [s.point(-1) for s in (loss, clipped) if s is not None]
    facts: dict[str, Quantity] = {
        "metric": quoted(kl.name, kl.point(-1).line),
        "kl": printed(kl.point(-1)),
        "n": count(len(kl) - start, "logged updates"),
        "since": step_fact(kl, start),
    }
    variant = "numbers"
    for name in ("action_entropy", "action_std"):
        series = clean(view[name])
        if series is not None and np.ptp(series.values[-n:]) < t.entropy:
            facts["entropy_metric"], facts["entropy"] = quoted(series.name, series.point(-1).line), printed(series.point(-1))
            points.append(series.point(-1))
            variant = "entropy"
            break
    return Finding(
        "policy-frozen",
        confidence=0.85 if len(kl) - start > 1 else 0.75,
        first_step=step_of(kl, start),
        last_step=step_of(kl, -1),
        evidence=points[:4],
        facts=facts,
        variant=variant,
    )


@detector("entropy-coefficient-growth", needs=("entropy_coefficient",), min_points=6)
def entropy_coefficient_growth(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """A learned coefficient that has grown far above its own lowest and still grows."""
    series = clean(view["entropy_coefficient"])
    if series is None:
        return NotChecked("entropy_coefficient")
    values = series.values
    low = int(np.argmin(values))
    later = values[low:]
    if len(later) < t.least or values[low] < 0 or not trend(later).rising:
        return None
    if len(values) >= t.long_enough and not trend(values[-max(len(values) // 3, 5) :]).rising:
        return None
    n = few(len(values), 5)
    now, start = tail(values, n), baseline(values, n)
    if now < t.level or now < t.times * max(float(values[low]), t.small) or now < start:
        return None
    since = low + int(np.argmax(later > max(2 * float(values[low]), t.small)))
    severity: Severity = "high" if now > t.grave else "medium"
    facts = {
        "metric": quoted(series.name, series.point(-1).line),
        "low": printed(series.point(low)),
        "low_step": step_fact(series, low),
        "now": derived(now, f"median of the last {n} values of {series.name}", metric=series.name),
        "step": step_fact(series, -1),
    }
    points = [series.point(low), series.point(-1)]
    return Finding("entropy-coefficient-growth", severity, 0.8, step_of(series, since), step_of(series, -1), points, facts, "numbers")


def action_entropy_collapse(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """An agent with discrete actions that has stopped trying others, while its reward has fallen or never rose.

    The entropy of continuous actions has no floor: where a standard deviation is printed nothing is concluded.
    """
    minus, plus = clean(view["action_entropy_loss"]), clean(view["action_entropy"])
    series = minus if minus is not None else plus
    if series is None:
        return NotChecked("policy_entropy")
    if view.has("action_std") or not seen_from_start(view):
        return None
    entropy = -series.values if minus is not None else series.values
    if len(entropy) < t.min_steps or (entropy < -t.floor).any():
        return None
    start, now = baseline(entropy), tail(entropy)
    low = entropy < min(t.level, t.share * start)
    if start < t.actions or not low[-10:].all():
        return None
    score = clean(view["score_mean"])
    if score is None or len(score) < t.min_steps:
        return NotChecked("score_mean")
    fall = fell_from_best(score.values, t.score_fall)
    rose = trend(score.values).rising and tail(score.values) > baseline(score.values)
    if fall is None and rose:
        return None
    since = int(np.flatnonzero(~low)[-1]) + 1 if (~low).any() else 0
    facts: dict[str, Quantity] = {
        "metric": quoted(series.name, series.point(-1).line),
        "start": derived(start, f"size of {series.name}, median of the first 10 values", metric=series.name),
        "now": derived(now, f"size of {series.name}, median of the last 10 values", metric=series.name),
        "last": printed(series.point(-1)),
        "step_now": step_fact(series, -1),
        "since": step_fact(series, since),
        "score_start": derived(baseline(score.values), f"median of {score.name}, first 10 values", metric=score.name),
        "score_now": derived(tail(score.values), f"median of {score.name}, last 10 values", metric=score.name),
    }
    return Finding(
        "entropy-collapse",
        confidence=0.8,
        first_step=step_of(series, since),
        last_step=step_of(series, -1),
        evidence=[series.point(0), series.point(-1), score.point(-1)],
        facts=facts,
        variant="actions",
    )
