"""No reward at all, or hardly any: every answer on the floor, or so few above it that groups carry no signal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assistant.cards import card
from assistant.derived import responses_per_step
from assistant.diagnosis.detector import Thresholds, detector, thresholds
from assistant.diagnosis.facts import count, percent, printed
from assistant.diagnosis.finding import Finding, NotChecked
from assistant.diagnosis.score import Scale, known, main_validations, score_scale, step_at
from assistant.diagnosis.stats import baseline, median, tail
from assistant.diagnosis.view import RunView
from assistant.run import Series


@detector("reward-flat-floor")
def reward_flat_floor(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """No sample is told from another: every score is the lowest one, at every logged step or for the last steps."""
    score = known(view, "score_mean")
    if score is None or not score.finite.any():
        return _validation_floor(view, t)
    if (apart := _validation_apart(view, score, t)) is not None:
        return apart
    flat = _uniform(view, score)
    if flat is None or _not_rewarded(view, score):
        return None
    scale = score_scale(view)
    lowest = scale.low if scale else float(np.min(score.scaled))
    stuck = flat & (score.scaled <= max(lowest, 0.0) + 0.001) & (score.scaled < t.not_floor)
    length = _run_at_end(stuck)
    if length == 0 or (length < len(score) and length < t.last_steps):
        return None
    start = len(score) - length
    level = float(score.scaled[-1])
    if scale and scale.span > 0 and level >= scale.high - 1e-6:  # the best value of a score that only punishes
        return None
    variant = "floor" if level <= 0.0 else "partial"
    before = float(score.scaled[:start].max()) if start > 0 else level
    if before > level:
        whole = _whole_scale(view)
        lucky = whole is not None and whole.span > 0 and (before - level) / whole.span < thresholds("reward-sparse").level
        variant = "rare" if lucky else "lost"
    elif len(score) == 1:
        variant += "_once"
    validations = [one for one in main_validations(view) if (one.series.scaled[one.series.finite][-1:] <= 0).all()]
    facts = {"value": printed(score.point(-1)), "n": count(length)}
    if variant == "rare":
        facts["best"] = printed(score.point(int(np.argmax(score.scaled[:start]))))
    if (first := step_at(score, start)) is not None:
        facts["since"] = count(first)
        facts["step"] = count(int(score.steps[-1]))
    else:
        variant = "summary"
    evidence = [score.point(-1)]
    for name in ("score_max", "score_min", "advantage_max"):
        if (other := known(view, name)) is not None and (point := other.at(int(score.steps[-1]))) is not None:
            evidence.append(point)
    if validations:
        evidence = [*evidence[:3], validations[0].series.point(-1)]
    batch = responses_per_step(view)
    few = batch is not None and batch.value * length < t.few_answers  # a handful of wrong answers is no broken reward
    certain = not few and (length >= t.certain_steps or bool(validations and length > 1))
    return Finding(
        "reward-flat-floor",
        severity="critical" if certain else "medium" if few else "high",
        confidence=0.9 if certain else 0.5 if few else 0.7,
        first_step=first,
        last_step=step_at(score, -1),
        evidence=evidence[:4],
        facts=facts,
        variant=variant,
        causes=_floor_causes(view, t, lost=variant == "lost"),
        fixes=_floor_fixes(view, t),
    )


def _uniform(view: RunView, score: Series) -> NDArray[np.bool_] | None:
    """Where every sample of the batch has one score. Shape (n,); None when only means are logged and they vary."""
    low, high = known(view, "score_min"), known(view, "score_max")
    if low is not None and high is not None:
        lowest = {int(s): v for s, v in zip(low.steps, low.scaled, strict=True)}
        highest = {int(s): v for s, v in zip(high.steps, high.scaled, strict=True)}
        spread = np.array([highest.get(int(s), np.nan) - lowest.get(int(s), np.nan) for s in score.steps])
        return np.asarray(spread <= 1e-6)
    constant = np.abs(score.scaled - score.scaled[-1]) <= 1e-9
    for name in ("score_group_std", "score_std"):  # a constant mean of scores that differ is chance
        if (within := known(view, name)) is not None:
            constant &= ~np.isin(score.steps, within.steps[within.scaled > 1e-6])
    advantage = known(view, "advantage_max")
    no_signal = advantage is not None and advantage.finite.any() and float(np.max(np.abs(advantage.values[advantage.finite]))) == 0.0
    if len(score) >= 3 or no_signal:
        return np.asarray(constant)
    return None


def _not_rewarded(view: RunView, score: Series) -> bool:
    """Whether the run learns from a teacher and no answer ever got a reward: distillation without a task reward."""
    distilled = view["distillation_loss"] is not None and view.setting("distillation.distillation_loss.use_task_rewards") is not True
    return distilled and bool((score.values == 0.0).all())


def _run_at_end(mask: NDArray[np.bool_]) -> int:
    """How many values at the end of the mask are true without a gap."""
    gaps = np.flatnonzero(~mask)
    return len(mask) - (int(gaps[-1]) + 1 if len(gaps) else 0)


def _validation_floor(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    curves = main_validations(view)
    if not curves:
        return NotChecked("score_mean")
    if any((one.series.scaled[one.series.finite] > 0).any() for one in curves):
        return None
    if any((one.series.scaled[one.series.finite] < 0).any() for one in curves) and len(curves[0].series) < t.certain_steps:
        return None  # the lowest value of this score is not known
    series = max((one.series for one in curves), key=len)
    if len(np.unique(series.values)) > 1:
        return None
    facts = {"value": printed(series.point(-1)), "n": count(len(series))}
    return Finding(
        "reward-flat-floor",
        severity="high" if len(series) >= t.certain_steps else "medium",
        confidence=0.8 if len(series) >= t.certain_steps else 0.55,
        first_step=step_at(series, 0),
        last_step=step_at(series, -1),
        evidence=[series.point(0), series.point(-1)] if len(series) > 1 else [series.point(0)],
        facts=facts,
        variant="validation",
        causes=_floor_causes(view, t, lost=False),
    )


def _validation_apart(view: RunView, score: Series, t: Thresholds) -> Finding | None:
    """Every validation is exactly 0 while training answers are well rewarded: what validates is not what trains."""
    curves = main_validations(view)
    high, low = known(view, "score_max"), known(view, "score_min")
    if not curves or high is None or low is None or any((one.series.values != 0.0).any() for one in curves):
        return None
    longest = max((one.series for one in curves), key=len)
    span = float(high.scaled.max() - low.scaled.min())
    now = tail(score.scaled, 5)
    if len(longest) < t.certain_steps or low.scaled.min() < 0 or span <= 0 or now - float(low.scaled.min()) < t.trained * span:
        return None
    facts = {
        "value": printed(longest.point(-1)),
        "n": count(len(longest)),
        "train": printed(score.point(-1)),
        "step": count(int(score.steps[-1])),
    }
    return Finding(
        "reward-flat-floor",
        severity="medium",
        confidence=0.6,
        first_step=step_at(longest, 0),
        last_step=step_at(longest, -1),
        evidence=[longest.point(0), longest.point(-1), score.point(-1)],
        facts=facts,
        variant="validation_only",
        causes=["data-source", "parsing", "template"],
        fixes={"score-by-hand": None},
    )


def _floor_fixes(view: RunView, t: Thresholds) -> dict[str, None] | None:
    """Without the longer limit where the log shows that answers are not cut; None: all of the card's."""
    clipped = known(view, "response_clip_ratio")
    if clipped is None or not clipped.finite.any() or tail(clipped.scaled, 5) >= t.few_cut:
        return None
    return {row["id"]: None for row in card("findings/reward-flat-floor").front.get("fixes") or () if row["id"] != "length"}


def _floor_causes(view: RunView, t: Thresholds, *, lost: bool) -> list[str]:
    clipped = known(view, "response_clip_ratio")
    cut = clipped is not None and clipped.finite.any() and tail(clipped.scaled, 5) > t.cut_share
    whole = clipped is not None and clipped.finite.any() and tail(clipped.scaled, 5) < t.few_cut
    causes = ["parsing", "data-source", "template", "too-hard"]
    if lost:
        return ["collapsed", "truncated"] if cut else ["collapsed", *([] if whole else ["truncated"]), "reward-service"]
    return ["truncated", *causes] if cut else causes if whole else [*causes, "truncated"]


@detector("reward-sparse", needs=("score_mean", "score_max", "score_min"), min_points=20)
def reward_sparse(view: RunView, t: Thresholds) -> Finding | None:
    score, scale = known(view, "score_mean"), _whole_scale(view)
    if score is None or scale is None or scale.span <= 0:
        return None
    share = (score.scaled - scale.low) / scale.span
    recent = share[-int(t.of) :]
    if (recent >= t.level).any() or not (recent > 0).any():
        return None
    length = _run_at_end(np.asarray(share < t.level))
    start = len(score) - length
    facts = {
        "share": percent(median(recent), f"median of (score − lowest) / range, last {len(recent)} steps", metric=score.name),
        "since": count(int(score.steps[start])),
        "step": count(int(score.steps[-1])),
        "now": printed(score.point(-1)),
    }
    return Finding(
        "reward-sparse",
        severity="high" if baseline(share) < t.level else "medium",
        confidence=0.75,
        first_step=step_at(score, start),
        last_step=step_at(score, -1),
        evidence=[score.point(start), score.point(-1)],
        facts=facts,
    )


def _whole_scale(view: RunView) -> Scale | None:
    """The range of the score; where a reward is so rare that the usual range is a point, up to the best one ever given."""
    scale, high = score_scale(view), known(view, "score_max")
    if scale is None or scale.span > 0 or high is None:
        return scale
    return Scale(scale.low, float(high.scaled.max()))
