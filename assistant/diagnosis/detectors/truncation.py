"""Answers cut off at the length limit, and answers only counted as cut."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis.detector import Thresholds, detector, reports, thresholds
from assistant.diagnosis.facts import configured, count, derived, percent, printed
from assistant.diagnosis.finding import Finding, NotChecked, Quantity
from assistant.diagnosis.naming import family
from assistant.diagnosis.score import finite_part, known, known_together, step_at
from assistant.diagnosis.stats import baseline, latched, rolling_median, sustained, tail
from assistant.diagnosis.view import RunView
from assistant.run import Series

_LIMIT = "data.max_response_length"


def _limit(view: RunView) -> float | None:
    """The longest answer allowed: configured, else the longest seen when it is the same at most of several steps."""
    if (limit := view.number(_LIMIT)) is not None and limit > 0:
        return limit
    longest = known(view, "response_length_max")
    if longest is None or int(longest.finite.sum()) < 3:
        return None
    values, counts = np.unique(longest.values[longest.finite], return_counts=True)
    top = float(values[-1])
    return top if top > 0 and counts[-1] >= 3 and counts[-1] >= 0.3 * counts.sum() else None


def cut_share(view: RunView) -> Series | None:
    """``response_length/clip_ratio`` where it means "cut at the limit": NaN where it cannot.

    verl's v1 trainer (0.9 on) pads a batch only to its longest answer, so that the ratio counts answers as long as that
    one: it is the truncated share only when the longest answer reached the limit.
    """
    series = known(view, "response_clip_ratio")
    if series is None or not series.finite.any():
        return None
    if view.era_is("<0.9") or view.run.framework.partition("-")[0] != "verl":
        return series
    limit, longest = _limit(view), known(view, "response_length_max")
    if limit is None or longest is None or (_LIMIT not in view.run.config and view.era_is(">=0.9") is None):
        # a fifth of a batch with one and the same length, its longest, is a cap; a few answers may be chance
        values = np.where(series.values >= thresholds("truncation").act, series.values, 0.0)
        if view.era_is(">=0.9") is None:
            values = series.values
        return Series(series.name, series.steps, values, series.lines, series.styles, series.texts, series.scale)
    reached = {int(s) for s, v in zip(longest.steps, longest.scaled, strict=True) if v >= limit}
    values = np.where([int(s) in reached for s in series.steps], series.values, 0.0)
    return Series(series.name, series.steps, values, series.lines, series.styles, series.texts, series.scale)


@detector("truncation")
def truncation(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    share = cut_share(view)
    if share is None:
        return _near_limit(view, t)
    printed_share = known(view, "response_clip_ratio")
    assert printed_share is not None
    shown = finite_part(printed_share)
    now = tail(share.scaled, int(t.window))
    limit = t.watch if len(share) >= t.of else t.act
    early = np.arange(len(share)) < t.long  # far into a run, a share that hovers around the limit is judged by more steps
    level = np.where(early, share.scaled, rolling_median(share.scaled, int(t.window_long)))
    lately = np.where(early, rolling_median(share.scaled, int(t.window)), rolling_median(share.scaled, 2 * int(t.window_long)))
    spell = latched(level >= limit, lately < limit * np.where(early, t.clear, t.clear_long), int(min(t.k, len(share))), int(t.of))
    if spell is None:
        return None
    start = spell.start
    lengths, cap = known(view, "response_length_max"), _limit(view)
    facts: dict[str, Quantity] = {
        "share": percent(now, f"median of the last {min(int(t.window), len(share))} values of {share.name}", metric=share.name),
        "last": printed(shown.point(-1)),
    }
    evidence = [shown.point(start), shown.point(-1)] if start != len(share) - 1 else [shown.point(-1)]
    if lengths is not None and len(lengths):
        evidence.append(lengths.point(-1))
    variant = "default"
    if cap is not None:
        facts["limit"] = _limit_fact(view, cap)
        variant = "with_limit"
    if (first := step_at(share, start)) is not None:
        facts["since"], facts["step"] = count(first), count(int(share.steps[-1]))
        variant = variant if len(share) > 1 else f"{variant}_once"
    else:
        variant = f"{variant}_once"
    if reports(view, "eos-not-recognised") and (family(view.run.framework) != "verl" or _far_below(view, t)):
        return None  # the lengths say that these answers were not cut
    growing = known(view, "response_length_mean") is not None and _grew(view, t.grown)
    return Finding(
        "truncation",
        severity="high" if now >= t.act else "medium" if now >= t.watch else "low",
        confidence=0.9 if len(share) >= t.of else 0.75,
        first_step=first,
        last_step=step_at(share, -1),
        evidence=evidence,
        facts=facts,
        variant=variant,
        causes=["growth", "limit", "no-eos"] if growing else ["limit", "no-eos", "growth"],
    )


def _far_below(view: RunView, t: Thresholds) -> bool:
    """Whether the mean length is far below what the cut answers alone would make it."""
    parts = known_together(view, "response_clip_ratio", "response_length_mean", "response_length_max")
    if parts is None:
        return False
    clip, mean, longest = (tail(one.scaled, int(t.window)) for one in parts)
    return mean < t.contradicted * clip * longest


def _limit_fact(view: RunView, limit: float) -> Quantity:
    if view.number(_LIMIT) is not None:
        return configured(limit, _LIMIT, view.run.config_lines.get(_LIMIT))
    return derived(limit, "most frequent largest value of response_length/max", metric="response_length/max")


def _grew(view: RunView, factor: float) -> bool:
    lengths = known(view, "response_length_mean")
    return lengths is not None and len(lengths) >= 10 and tail(lengths.scaled) > factor * baseline(lengths.scaled)


def _near_limit(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Without a clip ratio (verl 0.1): the mean itself stands close to the limit."""
    lengths, limit = known(view, "response_length_mean"), _limit(view)
    if lengths is None or limit is None:
        return NotChecked("response_clip_ratio")
    close = lengths.scaled >= t.near_limit * limit
    spells = [s for s in sustained(close, int(min(t.k, len(close))), int(t.of)) if s.open]
    if not spells:
        return None
    start = spells[-1].start
    facts = {
        "mean": printed(lengths.point(-1)),
        "limit": _limit_fact(view, limit),
        "share": percent(float(lengths.scaled[-1]) / limit, f"{lengths.name} / limit", metric=lengths.name),
    }
    return Finding(
        "truncation",
        severity="high",
        confidence=0.7,
        first_step=step_at(lengths, start),
        last_step=step_at(lengths, -1),
        evidence=[lengths.point(start), lengths.point(-1)] if start != len(lengths) - 1 else [lengths.point(-1)],
        facts=facts,
        variant="near_limit",
        causes=["limit", "no-eos", "growth"],
    )


@detector("eos-not-recognised", needs=("response_clip_ratio", "response_length_mean", "response_length_max"))
def eos_not_recognised(view: RunView, t: Thresholds) -> Finding | None:
    """Cut answers are as long as the longest, so the mean is at least clip ratio × max: when it is not, endings are missed."""
    parts = known_together(view, "response_clip_ratio", "response_length_mean", "response_length_max")
    if parts is None:
        return None
    clip, mean, longest = parts
    odd = (clip.scaled >= t.level) & (mean.scaled < t.slack * clip.scaled * longest.scaled)
    spells = [s for s in sustained(odd, int(min(t.k, len(odd))), int(t.of)) if s.open]
    if not spells:
        return None
    start = spells[-1].start
    facts = {
        "clip": printed(clip.point(-1)),
        "mean": printed(mean.point(-1)),
        "max": printed(longest.point(-1)),
        "least": derived(float(clip.scaled[-1] * longest.scaled[-1]), f"{clip.name} × {longest.name}"),
    }
    evidence = [clip.point(-1), mean.point(-1), longest.point(-1)]
    return Finding("eos-not-recognised", first_step=step_at(clip, start), last_step=step_at(clip, -1), evidence=evidence, facts=facts)
