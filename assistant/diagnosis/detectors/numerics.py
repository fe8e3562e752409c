"""NaN and Inf: where they began, whether they lasted, and whether they touch the weights."""

from __future__ import annotations

import re

import numpy as np

from assistant.diagnosis.batch import Mask, step_fact, step_number, step_of
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.detectors.crash import stopped_by
from assistant.diagnosis.facts import count, printed, quoted
from assistant.diagnosis.finding import Finding, NotChecked
from assistant.diagnosis.naming import family
from assistant.diagnosis.view import RunView
from assistant.run import NO_STEP, Point, Series, Style

ACTOR = (
    "policy_loss",
    "policy_total_loss",
    "policy_grad_norm",
    "policy_entropy",
    "policy_step_kl",
    "reference_kl",
    "reward_kl",
    "advantage_mean",
    "advantage_max",
    "train_loss",
    "preference_loss",
    "train_grad_norm",
)
CRITIC = ("value_loss", "critic_total_loss", "critic_grad_norm", "value_prediction_mean", "value_mean")
NORMS = ("policy_grad_norm", "critic_grad_norm", "train_grad_norm")
LOSSES = ("policy_loss", "policy_total_loss", "train_loss", "preference_loss")
_EPISODE = re.compile(r"(?:^|/)(?:episode_(?:reward|return|len)|ep_(?:rew|len)|policy_reward)_?")
"""Statistics of episodes: NaN without a finished one, which is a finding of its own."""


def _bad(series: Series) -> Mask:
    """Printed as nan or inf. ``null`` may just mean "not there": only a lasting one at the end of a healthy series counts."""
    bad: Mask = ~series.finite
    null = series.styles == Style.NULL
    if not null.any():
        return bad
    ended = len(series) > 3 and bool(null[-3:].all()) and bool(series.finite.any())
    if not ended:
        only_printed: Mask = bad & ~null
        return only_printed
    last_good = int(np.flatnonzero(series.finite)[-1])
    bad[:last_good] &= ~null[:last_good]
    return bad


def _core(view: RunView) -> dict[str, tuple[Series, Mask]]:
    """What shows the state of the weights, and where it is not finite.

    A loss that is NaN in the update makes its gradient NaN: where another trainer than verl prints a finite norm, a NaN beside it is
    the mean of an empty set (no chosen answer in the batch, every token masked). verl prints losses of single updates.
    """
    found = {}
    for name in (*ACTOR, *CRITIC):
        series = view[name]
        if series is not None and len(series):
            found[name] = (series, _bad(series))
    if family(view.run.framework) == "verl":
        return found
    norms = [series.steps[series.finite] for name in NORMS if (series := view[name]) is not None]
    alive = np.unique(np.concatenate(norms)) if norms else np.zeros(0, np.int64)
    return {name: (s, bad if name in NORMS else bad & ~np.isin(s.steps, alive)) for name, (s, bad) in found.items()}


@detector("non-finite")
def non_finite(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    core = _core(view)
    hit = {name: pair for name, pair in core.items() if pair[1].any()}
    if not hit and (told := stopped_by("non-finite", view)) is not None:
        return told
    if not core:
        return NotChecked("policy_loss")
    if not hit:
        return _loss_not_printed(view)
    first = min(int(s.steps[np.argmax(bad)]) for s, bad in hit.values())
    last = max(int(s.steps[np.flatnonzero(bad)[-1]]) for s, bad in hit.values())
    lasting = {name for name, (s, bad) in hit.items() if bad[-1] and (bad[-min(len(bad), 3) :].all() or _never_again(bad))}
    n_bad = max(int(bad.sum()) for _, bad in hit.values())
    n_steps = max(len(s) for s, _ in core.values())
    only_norms = all(name in NORMS for name in hit)
    if not lasting and only_norms and n_bad < t.skipped * n_steps:
        variant, severity, confidence = "isolated_norm", "low", 0.8
    elif not lasting:
        variant, severity, confidence = "isolated", "high", 0.75
    elif all(name in CRITIC for name in hit):
        variant, severity, confidence = "critic", None, 0.95
    elif all(bool(bad[0]) for s, bad in hit.values() if int(s.steps[0]) == first) and first == min(
        int(s.steps[0]) for s, _ in core.values()
    ):
        variant, severity, confidence = "from_start", None, 0.95
    else:
        variant, severity, confidence = "default", None, 0.95
    order = sorted(hit, key=lambda name: (int(hit[name][0].steps[np.argmax(hit[name][1])]), (*ACTOR, *CRITIC).index(name)))
    evidence: list[Point] = []
    for name in order[:4]:
        series, bad = hit[name]
        evidence.append(series.point(int(np.argmax(bad))))
    return Finding(
        "non-finite",
        severity=severity,  # type: ignore[arg-type]
        confidence=confidence,
        first_step=None if first == NO_STEP else first,
        last_step=None if last == NO_STEP else last,
        evidence=evidence,
        facts={
            "since": step_number(first),
            "until": step_number(last),
            "value": printed(evidence[0]),
            "n_metrics": count(len(hit), "metrics that print nan or inf"),
            "n": count(n_bad, "steps with nan or inf"),
        },
        variant=variant,
        causes=_causes(variant, hit, first),
    )


def _never_again(bad: Mask) -> bool:
    """Every value since the first bad one is bad, and there are at least two."""
    first = int(np.argmax(bad))
    return len(bad) - first >= 2 and bool(bad[first:].all())


def _loss_not_printed(view: RunView) -> Finding | None:
    """Megatron prints a loss only if it is above 0, so that NaN leaves a gap; while fp16 skips a step the loss is missing as well."""
    loss, rate = view["train_loss"], view["train_lr"]
    if family(view.run.framework) != "megatron" or loss is None or rate is None or not loss.finite.any():
        return None
    gone = rate.steps[(rate.steps > int(loss.steps[0])) & ~np.isin(rate.steps, loss.steps)]
    skipped, scale = view["skipped_iterations"], view["loss_scale"]
    for step in gone:
        known = skipped.at(int(step)) if skipped is not None else None
        factor = scale.at(int(step)) if scale is not None else None
        if (known is not None and known.value > 0) or (known is None and (factor is None or factor.value > 1)):
            continue  # thrown away as fp16 does, or the line does not say
        before = int(np.flatnonzero(loss.steps < step)[-1])
        there = rate.at(int(step))
        assert there is not None
        facts = {
            "metric": quoted(loss.name, there.line),
            "step": count(int(step)),
            "line": count(there.line),
            "before": printed(loss.point(before)),
            "before_step": step_fact(loss, before),
        }
        points = [loss.point(before), there]
        return Finding("non-finite", None, 0.75, int(step), int(gone[-1]), points, facts, "not_printed", ["precision", "empty-batch"])
    return None


def _causes(variant: str, hit: dict[str, tuple[Series, Mask]], first: int) -> list[str]:
    rest = ["precision", "kl-overflow", "empty-batch", "weights-sync"]
    if variant == "critic":
        return ["accumulation-zero", "precision", "empty-batch"] if first <= 1 else ["precision", "accumulation-zero", "empty-batch"]
    if "reference_kl" in hit and first > 1 and len(hit) <= 3:
        return ["kl-overflow", "precision", "empty-batch"]
    return rest


@detector("metric-nan-only")
def metric_nan_only(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """A statistic is NaN while losses, norms and entropy of the same steps are finite: its input was empty or constant."""
    core = _core(view)
    if not core:
        return NotChecked("policy_loss")
    broken = [int(step) for s, bad in core.values() for step in s.steps[bad]]
    known = {s.name for s, bad in core.values() if bad.any()}
    verl = family(view.run.framework) == "verl"
    hits: list[tuple[Series, Mask]] = []
    for name, column in view.run.columns.items():
        if name in known or np.isfinite(column.values).all() or _EPISODE.search(name):
            continue
        series = view.printed(name)
        if series is None or not len(series):
            continue
        bad = ~series.finite & (series.styles != Style.NULL) & ~np.isin(series.steps, broken)
        again = not verl and bad.sum() >= 2 and bad.mean() >= t.some
        if bad[-1] or bad.mean() >= t.share or again:
            hits.append((series, bad))
    hits = [(s, bad) for s, bad in hits if bad.any()]
    if not hits or broken:
        return None
    if (found := _loss_of_nothing(view, hits)) is not None:
        return found
    points = [s.point(int(np.argmax(bad))) for s, bad in hits[:3]]
    return Finding(
        "metric-nan-only",
        confidence=0.8,
        first_step=min((p.step for p in points if p.step is not None), default=None),
        last_step=max((p.step for p in points if p.step is not None), default=None),
        evidence=points,
        facts={
            "n_metrics": count(len(hits), "metrics that print nan or inf"),
            "value": printed(points[0]),
            "step": step_number(NO_STEP if points[0].step is None else points[0].step),
        },
    )


def _loss_of_nothing(view: RunView, hits: list[tuple[Series, Mask]]) -> Finding | None:
    """The printed loss itself is NaN beside a finite gradient norm."""
    losses = {s.name for name in LOSSES if (s := view[name]) is not None}
    hit = next((pair for pair in hits if pair[0].name in losses), None)
    if hit is None:
        return None
    series, bad = hit
    where = np.flatnonzero(bad)
    norm = next((p for name in NORMS if (s := view[name]) is not None and (p := s.at(int(series.steps[where[-1]]))) is not None), None)
    if norm is None:
        return None
    facts = {
        "metric": quoted(series.name, series.point(int(where[0])).line),
        "value": printed(series.point(int(where[0]))),
        "n": count(len(where), "logged steps"),
        "total": count(len(series), "logged steps"),
        "norm_metric": quoted(norm.metric, norm.line),
        "norm": printed(norm),
    }
    points = [series.point(int(where[0])), norm]
    first, last = step_of(series, int(where[0])), step_of(series, int(where[-1]))
    return Finding("metric-nan-only", "medium", 0.8, first, last, points, facts, "loss", ["one-sided", "empty"])


@detector("skipped-updates")
def skipped_updates(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Warnings of a skipped update, or non-finite norms between finite ones, again and again."""
    warned = [e for e in view.run.events if "grad_norm is not finite" in e.text or e.kind == "grad-not-finite"]
    series = next((s for name in NORMS if (s := view[name]) is not None and len(s)), None)
    bad = _bad(series) if series is not None else np.zeros(0, bool)
    if series is not None and bad.any() and not bad[-3:].all() and not bad[int(np.argmax(bad)) :].all():
        counts = np.convolve(bad.astype(int), np.ones(10, int))[: len(bad)]
        hot = np.flatnonzero((counts >= t.in_ten) & bad)
        if len(hot):
            where = np.flatnonzero(bad)
            return Finding(
                "skipped-updates",
                confidence=0.8,
                first_step=step_of(series, where[0]),
                last_step=step_of(series, where[-1]),
                evidence=[series.point(int(i)) for i in where[:3]],
                facts={
                    "n": count(len(where), "steps with a non-finite norm"),
                    "total": count(len(series), "steps"),
                    "first": step_fact(series, where[0]),
                },
            )
    if len(warned) >= t.warnings:
        steps = [e.step for e in warned if e.step is not None]
        return Finding(
            "skipped-updates",
            confidence=0.85,
            first_step=steps[0] if steps else None,
            last_step=steps[-1] if steps else None,
            facts={"n": count(len(warned), "warnings"), "line": count(warned[0].line, "line of the first warning")},
            variant="warned",
        )
    return None if series is not None or warned else NotChecked("policy_grad_norm")
