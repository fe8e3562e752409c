"""Is the value model of any use? Explained variance, scale, clipping, divergence, cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.detectors.classic import AGENTS
from assistant.diagnosis.facts import count, derived, percent, printed
from assistant.diagnosis.finding import Finding, NotChecked
from assistant.diagnosis.naming import family
from assistant.diagnosis.score import finite_part, known, known_together, score_scale, step_at
from assistant.diagnosis.stats import baseline, median, rolling_median, sustained, tail, trend
from assistant.diagnosis.view import RunView
from assistant.run import NO_STEP, FloatArray, Series

FEWEST = 30
"""Values of a critic's loss that show where it leads."""


def _flat_returns(view: RunView, series: Series, relative: float, absolute: float) -> FloatArray:
    """Where the returns hardly differ within the batch, as 0/1 per step of ``series`` (NaN: cannot tell). Shape (n,).

    Judged by the spread of the returns against that of the run's other steps, and by the spread of the score.
    """
    flat = np.full(len(series), np.nan)
    for low, high in (("return_min", "return_max"), ("score_min", "score_max")):
        pair = known_together(view, low, high)
        if pair is None or (low == "return_min" and view.era_is("<0.2")):
            continue
        spread = pair[1].scaled - pair[0].scaled
        scale = score_scale(view)
        limit = max(absolute, relative * (scale.span if scale else median(spread)))
        at = {int(step): float(s) for step, s in zip(pair[0].steps, spread, strict=True)}
        found = np.array([at.get(int(step), np.nan) for step in series.steps])
        known = np.isfinite(found)
        flat[known] = np.fmax(flat[known], (found[known] <= limit).astype(float))
    return flat


@detector("critic-useless", needs=("explained_variance",), also=("critic-early-negative-ev", "explained-variance-artefact"))
def explained_variance(view: RunView, t: Thresholds) -> list[Finding] | NotChecked | None:
    """One look at the explained variance: an artefact of constant returns, a young critic, or a useless one."""
    series = known(view, "explained_variance")
    assert series is not None
    values = series.scaled
    flat = _flat_returns(view, series, t.flat_share, t.flat_spread)
    artefact = (values < t.artefact) & (flat == 1)
    found = []
    if artefact.any():
        found.append(_artefact(view, series, artefact))
    real = series.take(~artefact & (flat != 1))
    if not len(real):
        return found
    until = _early_until(view, real, t)
    early = (real.steps != NO_STEP) & (real.steps <= until)
    late = real.take(~early)
    score, scale = known(view, "score_mean"), score_scale(view)
    solved = score is not None and scale is not None and tail(score.scaled) > scale.low + t.solved * scale.span
    useless = None if solved else _useless(late, t)
    if useless is not None:
        found.append(useless)
    elif early.any() and int(real.steps[-1]) <= max(t.told_until, 2 * until) and baseline(real.scaled[early]) < 0:
        found.append(_young(real.take(early)))
    elif not len(late) and not found:
        return NotChecked(f"steps>={int(t.early_steps) + int(t.of)}")
    return found


def _early_until(view: RunView, series: Series, t: Thresholds) -> float:
    """The last step of the critic's first phase; environment steps come in batches of one rollout."""
    if not view.has("env_steps_total") or len(series) < 2:
        return t.early_steps
    return max(t.early_steps, t.early_iterations * float(np.median(np.diff(series.steps))))


def _artefact(view: RunView, series: Series, artefact: NDArray[np.bool_]) -> Finding:
    rows = np.flatnonzero(artefact)
    worst = int(rows[np.argmin(series.values[rows])])
    step = int(series.steps[worst])
    evidence = [series.point(worst)]
    for name in ("score_max", "score_min", "return_max", "return_min"):
        other = known(view, name)
        if other is not None and (point := other.at(step)) is not None:
            evidence.append(point)
    facts = {"value": printed(series.point(worst)), "step": count(step), "n": count(len(rows)), "total": count(len(series))}
    first, last = step_at(series, int(rows[0])), step_at(series, int(rows[-1]))
    return Finding("explained-variance-artefact", confidence=0.9, first_step=first, last_step=last, evidence=evidence[:4], facts=facts)


def _young(early: Series) -> Finding:
    negative = np.flatnonzero(early.scaled < 0)
    first, last = int(negative[0]), len(early) - 1
    facts = {"first": printed(early.point(first)), "first_step": count(int(early.steps[first])), "now": printed(early.point(last))}
    facts["now_step"] = count(int(early.steps[last]))
    evidence = [early.point(first)] + ([early.point(last)] if last != first else [])
    return Finding(
        "critic-early-negative-ev",
        confidence=0.85,
        first_step=int(early.steps[first]),
        last_step=int(early.steps[negative[-1]]),
        evidence=evidence,
        facts=facts,
        variant="default" if len(early) > 1 else "single",
    )


def _useless(late: Series, t: Thresholds) -> Finding | None:
    if len(late) < t.least:
        return _useless_once(late) if len(late) and late.steps[-1] != NO_STEP and late.scaled.max() <= t.once else None
    window = late.take(np.arange(max(0, len(late) - int(t.of)), len(late)))
    bad = window.scaled <= t.level
    if bad.sum() < t.k / t.of * len(window):
        return None
    spells = sustained(late.scaled <= t.level, int(min(t.k, bad.sum())), int(t.of))
    start = spells[-1].start if spells else len(late) - len(window)
    middle = tail(late.scaled, int(t.of))
    facts = {
        "median": derived(middle, f"median of {late.name}, last {len(window)} values", metric=late.name),
        "bad": count(int(bad.sum())),
        "n": count(len(window)),
        "step": count(int(late.steps[start])),
        "now": printed(late.point(-1)),
        "now_step": count(int(late.steps[-1])),
    }
    return Finding(
        "critic-useless",
        severity="high" if middle < t.clearly else "medium",
        confidence=0.85 if len(window) >= t.of else 0.65,
        first_step=int(late.steps[start]),
        last_step=int(late.steps[-1]),
        evidence=[late.point(start), late.point(-1)],
        facts=facts,
    )


def _useless_once(late: Series) -> Finding:
    """One or two late steps, clearly below a constant: worth a word, no proof."""
    facts = {"now": printed(late.point(-1)), "now_step": count(int(late.steps[-1]))}
    return Finding(
        "critic-useless",
        severity="medium",
        confidence=0.5,
        first_step=step_at(late, 0),
        last_step=step_at(late, -1),
        evidence=[late.point(-1)],
        facts=facts,
        variant="once",
    )


@detector("value-scale-mismatch", needs=("value_mean", "return_mean"))
def value_scale_mismatch(view: RunView, t: Thresholds) -> Finding | None:
    pair = known_together(view, "value_mean", "return_mean")
    if pair is None:
        return None
    values, returns = pair
    scale = score_scale(view)
    gap = values.scaled - returns.scaled
    late = values.steps > t.early_steps
    if not late.any():  # a fresh value head starts anywhere: only a long log can tell
        return None
    limit = max(t.absolute, t.spans * scale.span) if scale else t.absolute
    if len(gap) >= t.of and scale:
        limit = max(t.persistent_spans * scale.span, 1e-6)
    off = late & (np.abs(gap) > limit)
    spells = [s for s in sustained(off, int(min(t.k, late.sum())), int(t.of)) if s.open]
    if not spells:
        return None
    start = spells[-1].start
    if len(np.unique(np.sign(gap[start:][off[start:]]))) > 1:  # swings around the returns: noise, not scale
        return None
    facts = {
        "value": printed(values.point(-1)),
        "returns": printed(returns.point(-1)),
        "gap": derived(float(gap[-1]), f"{values.name} − {returns.name}"),
        "limit": derived(limit, "range of critic/score between min and max" if scale else "fixed limit"),
        "step": count(int(values.steps[-1])),
        "since": count(int(values.steps[start])),
    }
    return Finding(
        "value-scale-mismatch",
        confidence=0.8,
        first_step=int(values.steps[start]),
        last_step=int(values.steps[-1]),
        evidence=[values.point(start), values.point(-1), returns.point(-1)],
        facts=facts,
    )


@detector("value-clip-saturation", needs=("value_clip_fraction",), min_points=5)
def value_clip_saturation(view: RunView, t: Thresholds) -> Finding | None:
    series = known(view, "value_clip_fraction")
    assert series is not None
    high = (series.scaled > t.level) & (series.steps > t.early_steps)
    spells = [s for s in sustained(high, int(t.k), int(t.of)) if s.open]
    if not spells:
        return None
    start = spells[-1].start
    share = median(series.scaled[start:])
    facts = {
        "share": percent(share, f"median of {series.name} since step {int(series.steps[start])}", metric=series.name),
        "step": count(int(series.steps[start])),
        "now": printed(series.point(-1)),
        "now_step": count(int(series.steps[-1])),
    }
    evidence = [series.point(start), series.point(-1)]
    return Finding(
        "value-clip-saturation", first_step=int(series.steps[start]), last_step=int(series.steps[-1]), evidence=evidence, facts=facts
    )


@detector("value-loss-divergence", min_points=FEWEST)
def value_loss_divergence(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Above its own best level by a factor, still rising, and no wider returns that would explain it."""
    series = known(view, "value_loss") or known(view, "q_critic_loss")
    if series is None:
        return None if view.critic_free else NotChecked("value_loss")
    if len(series) < FEWEST:
        return NotChecked(f"steps>={FEWEST}")
    width = int(t.window)
    level = rolling_median(series.scaled, width)
    best = int(np.argmin(level[width - 1 :])) + width - 1
    lowest, now = float(level[best]), float(level[-1])
    if not (lowest > 0 and now > t.factor * lowest) or not trend(series.scaled[best:]).rising:
        return None
    scale = score_scale(view)
    if scale and view.era_is(">=0.6,<0.8") is not True and now < t.of_span * scale.span**2:
        return None
    score = known(view, "score_mean")
    if family(view.run.framework) in AGENTS and score is not None and trend(score.scaled[score.steps >= series.steps[best]]).rising:
        return None  # an agent's returns are as large as its rewards: its critic's errors grow with what it earns
    pair = known_together(view, "return_min", "return_max")
    if pair is not None and view.era_is("<0.2") is not True:
        spread = rolling_median(pair[1].scaled - pair[0].scaled, width)
        before = np.searchsorted(pair[0].steps, series.steps[best])
        then = float(spread[min(int(before), len(spread) - 1)])
        if then > 0 and (float(spread[-1]) / then) ** 2 > now / lowest / 2:
            return None
    since = best + int(np.flatnonzero(level[best:] > t.factor * lowest)[0])
    facts = {
        "low": derived(lowest, f"lowest median of {width} values of {series.name}", metric=series.name),
        "low_step": count(int(series.steps[best])),
        "now": derived(now, f"median of the last {width} values of {series.name}", metric=series.name),
        "step": count(int(series.steps[-1])),
        "factor": derived(now / lowest, "ratio of the two medians"),
        "limit": derived(t.factor, "threshold of the card"),
        "since": count(int(series.steps[since])),
    }
    evidence = [series.point(best), series.point(since), series.point(-1)]
    return Finding(
        "value-loss-divergence",
        confidence=0.8,
        first_step=int(series.steps[since]),
        last_step=int(series.steps[-1]),
        evidence=evidence,
        facts=facts,
    )


@detector("critic-gradient-explosion", needs=("critic_grad_norm",), min_points=30)
def critic_gradient_explosion(view: RunView, t: Thresholds) -> Finding | None:
    """Norms of 100 to 1000 in the first steps belong to a fresh value head; later ones are held against the run itself."""
    series = known(view, "critic_grad_norm")
    assert series is not None
    series = finite_part(series.take(series.steps > t.early_steps))
    if len(series) < 2 * t.window:
        return None
    values, width = series.scaled, int(t.window)
    usual = np.full(len(values), np.nan)
    usual[width:] = rolling_median(values, width)[width - 1 : -1]
    settled = np.fmin.accumulate(np.where(np.isfinite(usual), usual, np.inf))  # the lowest level so far: a rising norm cannot hide
    high = (values > t.factor * settled) & (values > t.least)
    spells = [s for s in sustained(high, int(t.k), int(t.of)) if s.end - s.start + 1 >= t.k and s.open]
    if not spells:
        return None
    start, end = spells[-1].start, spells[-1].end
    top = start + int(np.argmax(values[start : end + 1]))
    facts = {
        "usual": derived(float(settled[start]), f"lowest median of {width} values of {series.name} before", metric=series.name),
        "limit": derived(t.factor, "threshold of the card"),
        "top": printed(series.point(top)),
        "top_step": count(int(series.steps[top])),
        "since": count(int(series.steps[start])),
    }
    evidence = [series.point(start), series.point(top)]
    return Finding(
        "critic-gradient-explosion",
        confidence=0.8,
        first_step=int(series.steps[start]),
        last_step=int(series.steps[end]),
        evidence=evidence,
        facts=facts,
    )


@detector("critic-dominates-time", needs=("time_update_critic", "time_update_actor"))
def critic_dominates_time(view: RunView, t: Thresholds) -> Finding | None:
    names = ["time_update_critic", "time_update_actor"]
    names += [n for n in ("time_values", "time_old_log_prob", "time_step") if view.has(n)]
    parts = known_together(view, *names)
    if parts is None:
        return None
    by = dict(zip(names, parts, strict=True))
    if len(parts[0]) > 1:  # compilation and warm-up make the first step unlike the others
        by = {name: s.take(np.arange(1, len(s))) for name, s in by.items()}

    def middle(*wanted: str) -> float:
        return sum(median(by[n].scaled) for n in wanted if n in by)

    critic, actor = middle("time_update_critic", "time_values"), middle("time_update_actor", "time_old_log_prob")
    if not (actor > 0 and critic > t.factor * actor):
        return None
    step = middle("time_step")
    if step and critic < t.share * step:
        return None
    last = {name: s.point(-1) for name, s in by.items()}
    facts = {
        "critic": derived(critic, "medians of values + update_critic (s)"),
        "actor": derived(actor, "medians of old_log_prob + update_actor (s)"),
        "factor": derived(critic / actor, "ratio of the two"),
    }
    series = by["time_update_critic"]
    evidence = [last["time_update_critic"], last["time_update_actor"]]
    return Finding("critic-dominates-time", first_step=step_at(series, 0), last_step=step_at(series, -1), evidence=evidence, facts=facts)
