"""The engine that samples and the trainer that learns disagree about the probabilities of the same tokens."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis import stats
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import configured, count, derived, percent, printed
from assistant.diagnosis.finding import Finding, NotChecked, Severity
from assistant.diagnosis.lasting import certainty, evidence, holds
from assistant.diagnosis.stats import Interval
from assistant.diagnosis.view import RunView
from assistant.run import Series

_LOG_PROBS = "actor_rollout_ref.rollout.calculate_log_probs=True"
_REJECTION = "algorithm.rollout_correction.rollout_rs"


def _finite(series: Series | None) -> Series | None:
    """The series without its non-finite values (an empty mask prints NaN); None when nothing is left."""
    if series is None:
        return None
    kept = series.take(series.finite)
    return kept if len(kept) else None


@detector("rollout-mismatch", also=("weights-not-synced",))
def rollout_mismatch(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Elevated difference; so large that the engine must hold other weights: weights-not-synced."""
    difference, pearson = _finite(view["rollout_probs_diff_mean"]), _finite(view["rollout_pearson"])
    k1, k3, logs = _finite(view["rollout_kl"]), _finite(view["rollout_k3_kl"]), _finite(view["rollout_logp_diff_mean"])
    if all(series is None for series in (difference, pearson, k1, k3, logs)):
        return NotChecked(_LOG_PROBS)
    if broken := _not_synced(view, t, difference, pearson, logs):
        return broken
    if difference is not None and (at := holds(difference.values > t.level)):
        return _elevated(view, difference, at, "default")
    for kl in (k3, k1):
        if kl is not None and (at := holds(np.abs(kl.values) > t.kl)):
            return _elevated(view, kl, at, "kl")
    if logs is not None and (at := holds(logs.values > t.logs)):
        return _elevated(view, logs, at, "logs")
    return None


def _elevated(view: RunView, series: Series, at: Interval, variant: str) -> Finding:
    first, last = series.point(at.start), series.point(at.end)
    facts = {
        "now": printed(last),
        "step": count(int(series.steps[at.end])),
        "since": count(int(series.steps[at.start])),
        "median": derived(stats.median(series.values[at.start : at.end + 1]), f"median of {series.name} since step {first.step}"),
    }
    points = [first, last, *evidence(view, [last.step], "rollout_pearson", "rollout_probs_diff_max")]
    n = at.end - at.start + 1
    return Finding("rollout-mismatch", None, certainty(n, 0.9), first.step, last.step, list(dict.fromkeys(points))[:4], facts, variant)


def _not_synced(
    view: RunView, t: Thresholds, difference: Series | None, pearson: Series | None, logs: Series | None = None
) -> Finding | None:
    """Different weights: probabilities far apart, or uncorrelated. A correlation of exactly 0 is a shape mismatch."""
    for series, variant in ((difference, "default"), (pearson, "correlation"), (logs, "logs")):
        if series is None:
            continue
        limit = t.broken_logs if variant == "logs" else t.broken
        bad = (series.values < t.correlation) & (series.values != 0) if variant == "correlation" else series.values > limit
        at = holds(bad)
        if at is None or _gradual(series, at, t.gradual):
            continue
        last = series.point(at.end)
        facts = {"now": printed(last), "step": count(int(series.steps[at.end])), "since": count(int(series.steps[at.start]))}
        first = series.point(at.start)
        points = list(dict.fromkeys([first, last, *evidence(view, [last.step], "rollout_pearson", "score_mean")]))
        sure = certainty(at.end - at.start + 1, 0.9)
        return Finding("weights-not-synced", "critical", sure, first.step, last.step, points[:4], facts, variant)
    return None


def _gradual(series: Series, at: Interval, share: float) -> bool:
    """Whether the level was reached little by little: weights that do not arrive make a jump, or are off from the start."""
    before = series.values[: at.start]
    if len(before) < 5:
        return False
    change = abs(float(series.values[at.end]) - float(before[0]))
    return abs(float(series.values[at.start]) - float(before[-3])) < share * change


@detector("rollout-mismatch-drift")
def rollout_mismatch_drift(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """The difference grows well above its own start."""
    candidates = [
        (name, s) for name in ("rollout_k3_kl", "rollout_probs_diff_mean", "rollout_logp_diff_mean") if (s := _finite(view[name]))
    ]
    if not candidates:
        return NotChecked(_LOG_PROBS)
    for name, series in candidates:
        if len(series) < t.min_steps:
            continue
        start = stats.baseline(series.values)
        floor = {"rollout_k3_kl": t.kl_floor, "rollout_logp_diff_mean": t.logs_floor}.get(name, t.floor)
        at = holds(series.values > max(t.times * start, floor), 7, 10)
        if at is None or not at.open or not stats.trend(series.values).rising:
            continue
        now = stats.tail(series.values)
        facts = {
            "start": derived(start, f"median of the first 10 values of {series.name}", metric=series.name),
            "now": derived(now, f"median of the last 10 values of {series.name}", metric=series.name),
            "since": count(int(series.steps[at.start])),
        }
        if start > 0:
            facts["times"] = derived(now / start, "ratio of the two medians")
        variant = "default" if start > 0 else "from-zero"
        points = [series.point(0), series.point(at.start), series.point(-1)]
        return Finding("rollout-mismatch-drift", None, 0.85, int(series.steps[at.start]), int(series.steps[-1]), points, facts, variant)
    short = all(len(series) < t.min_steps for _, series in candidates)
    return NotChecked(f"steps>={int(t.min_steps)}") if short else None


@detector("importance-weights-degenerate")
def importance_weights_degenerate(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """A few tokens or sequences carry the whole correction: mean weight off 1, wide spread, or small effective sample."""
    ess, mean, spread = (_finite(view[f"importance_weight_{name}"]) for name in ("ess", "mean", "std"))
    if ess is None and mean is None and spread is None:
        return NotChecked("algorithm.rollout_correction.rollout_is=token")
    checks = (
        (ess, "default", None if ess is None else ess.values < t.ess),
        (mean, "mean", None if mean is None else (mean.values < t.mean_low) | (mean.values > t.mean_high)),
        (spread, "spread", None if spread is None else spread.values > t.spread),
    )
    for series, variant, bad in checks:
        if series is None or bad is None or (at := holds(bad)) is None:
            continue
        first, last = series.point(at.start), series.point(at.end)
        facts = {"now": printed(last), "step": count(int(series.steps[at.end])), "since": count(int(series.steps[at.start]))}
        if variant == "default":
            facts["share"] = percent(last.value, f"{series.name} as a share of the samples")
        points = list(
            dict.fromkeys([first, last, *evidence(view, [last.step], *(f"importance_weight_{n}" for n in ("mean", "std", "ess")))])
        )
        n = at.end - at.start + 1
        return Finding("importance-weights-degenerate", None, certainty(n), first.step, last.step, points[:4], facts, variant)
    return None


@detector("rejection-too-strong")
def rejection_too_strong(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    series = _finite(view["rejection_masked_fraction"])
    if series is None:
        # the modes were renamed with 0.7.1, which also wants the threshold; "0.7" may be either release
        return NotChecked(f"{_REJECTION}=token" if view.era_is("<0.7") else f"{_REJECTION}=token_k1 {_REJECTION}_threshold=2.0")
    at = holds(series.values > t.share)
    if at is None:
        return None
    last = series.point(at.end)
    facts = {
        "now": printed(last),
        "share": percent(last.value, series.name, metric=series.name),
        "step": count(int(series.steps[at.end])),
        "since": count(int(series.steps[at.start])),
    }
    points = list(dict.fromkeys([series.point(at.start), last]))
    severity: Severity | None = "high" if last.value > t.severe else None
    return Finding("rejection-too-strong", severity, 0.85, points[0].step, last.step, points, facts)


@detector("sampling-config-mismatch")
def sampling_config_mismatch(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Sampling that the trainer does not account for: from the settings, or a perplexity ratio off 1 from the first step."""
    temperature = view.number("actor_rollout_ref.rollout.temperature")
    samples = view.number("actor_rollout_ref.rollout.n") or 1
    greedy = temperature == 0 or view.setting("actor_rollout_ref.rollout.do_sample") is False
    first, last = view.run.first_step, view.run.last_step
    if greedy and samples > 1:
        facts = {"n": configured(samples, "actor_rollout_ref.rollout.n", view.run.config_lines.get("actor_rollout_ref.rollout.n"))}
        return Finding("sampling-config-mismatch", "high", 0.9, first, last, (), facts, "greedy", ["greedy"], {"temperature": None})
    ratio = _finite(view["rollout_ppl_ratio"])
    if ratio is not None:
        start = stats.baseline(ratio.values)
        away = np.abs(np.log(np.maximum(ratio.values, 1e-12))) > np.log(t.ratio)
        at = holds(away, 7, 10)
        if at is not None and at.start <= 2 and at.open:
            facts = {
                "start": printed(ratio.point(0)),
                "now": printed(ratio.point(-1)),
                "median": derived(start, f"median of the first 10 values of {ratio.name}", metric=ratio.name),
            }
            points = list(dict.fromkeys([ratio.point(0), ratio.point(-1)]))
            return Finding("sampling-config-mismatch", None, certainty(len(ratio), 0.75), points[0].step, points[-1].step, points, facts)
        return None
    return None if temperature is not None else NotChecked(_LOG_PROBS)
