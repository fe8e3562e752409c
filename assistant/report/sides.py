"""Two runs side by side, in words: did it help, why the curves part, which settings differ, which findings went and came."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assistant.charts import Panels, overlaid, renamed
from assistant.diagnosis import Finding, RunView, render
from assistant.diagnosis.compare import SHARED, Comparison, ConfigDifference, Parting
from assistant.diagnosis.facts import number
from assistant.messages import Language, say

Mask = Callable[[str], str]
MOST_REASONS, MOST_CURVES, MOST_SETTINGS, DRAWN = 5, 12, 20, 4
POINTS = 500
GOOD = frozenset({"fixed", "both-healthy", "improved"})


@dataclass(frozen=True, slots=True)
class Reason:
    """A setting that differs and acts on curves that part; ``curves`` is how many of them."""

    key: str
    text: str
    curves: int


@dataclass(frozen=True, slots=True)
class Setting:
    key: str
    a: str
    b: str
    acts_on: str


@dataclass(frozen=True, slots=True)
class Curve:
    """A metric that goes apart: from which step (words, where it does not say one), its last values in A and in B, which is better."""

    metric: str
    step: int | None
    since: str
    a: str
    b: str
    better: str
    explained_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A finding of one of the runs or of both. ``kind`` is gone, new or stays; ``a`` and ``b`` say since when it holds there."""

    kind: str
    where: str
    title: str
    severity: str
    a: str
    b: str


@dataclass(frozen=True, slots=True)
class Sides:
    verdict: str
    tone: str
    """good, bad or open."""
    names: tuple[str, str]
    reasons: tuple[Reason, ...]
    unexplained: str
    settings: tuple[Setting, ...]
    other_settings: str
    no_settings: str
    curves: tuple[Curve, ...]
    curves_lead: str
    curves_more: str
    findings: tuple[Change, ...]
    panels: Panels
    language: Language


def sides_of(found: Comparison, names: tuple[str, str], language: Language = "en", *, mask: Mask = str) -> Sides:
    """``names`` are what the two runs are called."""
    shown = (mask(names[0]), mask(names[1]))
    known = [one for one in found.config if one.matters or one.acts_on]
    rest = [one.key for one in (*known[MOST_SETTINGS:], *(one for one in found.config if not (one.matters or one.acts_on)))]
    left = len(found.metrics) - MOST_CURVES
    ends = found.shared_steps < SHARED
    none = "report.no_curves" if found.shared_steps else "report.no_shared"
    lead = none if not found.metrics else "report.curves_ends" if ends else "report.curves_lead"
    tone = "good" if found.verdict in GOOD else "open" if found.verdict == "too-early" else "bad"
    reasons = _reasons(found, language, mask)
    return Sides(
        verdict=say(f"compare.verdict_{found.verdict}", language),
        tone=tone,
        names=shown,
        reasons=tuple(reasons[:MOST_REASONS]),
        unexplained="" if reasons else _unexplained(found, language),
        settings=tuple(_setting(one, language, mask) for one in known[:MOST_SETTINGS]),
        other_settings=say("report.settings_other", language, n=len(rest), names=_listed(rest[:8], language)) if rest else "",
        no_settings="" if found.config else say("report.no_settings", language, why=_why_none(found, language)),
        curves=tuple(_curve(one, language, mask) for one in found.metrics[:MOST_CURVES]),
        curves_lead=say(lead, language, shared=found.shared_steps),
        curves_more=say("report.curves_more", language, n=left) if left > 0 else "",
        findings=tuple(_findings(found, language)),
        panels=renamed(overlay(found, names), mask),
        language=language,
    )


def overlay(found: Comparison, names: tuple[str, str], most: int = DRAWN) -> Panels:
    """The curves that tell most, of both runs over each other; those of the findings where none parts."""
    told = [one.metric for one in found.metrics[:most]]
    faults = [*found.only_a, *found.only_b, *(one for one, _ in found.both)]
    told = told or [point.metric for finding in faults for point in finding.evidence][:most]
    views = RunView(found.a.run), RunView(found.b.run)
    told = told or [series.name for name in ("score_mean", "policy_entropy", "train_loss") if (series := views[1][name]) is not None]
    parted = {one.parts_at for one in found.metrics[:1] if one.parts_at is not None}
    return overlaid(*views, list(dict.fromkeys(told)), runs=names, parted=next(iter(parted), None), most=POINTS)


def _reasons(found: Comparison, language: Language, mask: Mask) -> list[Reason]:
    """Settings that act on curves that part: the more of them, and the more telling the first of them, the likelier."""
    by_key = {one.key: one for one in found.config}
    acted: dict[str, list[tuple[int, Parting]]] = {}
    for rank, parting in enumerate(found.metrics):
        for key in parting.explained_by:
            acted.setdefault(key, []).append((rank, parting))
    ranked = sorted(acted, key=lambda key: (acted[key][0][0], -len(acted[key]), key))
    said = []
    for key in ranked:
        setting, curves = by_key[key], [parting for _, parting in acted[key]]
        told = [mask(_parted(one, language)) for one in curves[:3]]
        if len(curves) > 3:
            told.append(say("report.and_more", language, n=len(curves) - 3))
        text = say("report.likely_row", language, key="{key}", a="{a}", b="{b}", metrics=_listed(told, language))
        values = {"{key}": f"`{key}`", "{a}": _value(setting.a, language, mask), "{b}": _value(setting.b, language, mask)}
        for mark, value in values.items():
            text = text.replace(mark, value, 1)
        said.append(Reason(key, text, len(curves)))
    return said


def _unexplained(found: Comparison, language: Language) -> str:
    if found.metrics:
        return say("report.unexplained", language)
    if not found.shared_steps:
        return say("report.no_shared", language)
    key = "report.no_likely_short" if found.shared_steps < SHARED else "report.no_likely"
    return say(key, language, shared=found.shared_steps)


def _parted(one: Parting, language: Language) -> str:
    key = "part_at" if one.parts_at is not None else "part_end"
    return say(f"report.{key}", language, metric=f"`{one.metric}`", step=one.parts_at)


def _setting(one: ConfigDifference, language: Language, mask: Mask) -> Setting:
    acts = _listed([f"`{name}`" for name in one.acts_on[:4]], language)
    return Setting(one.key, _value(one.a, language, mask), _value(one.b, language, mask), acts)


def _value(value: Any, language: Language, mask: Mask) -> str:
    return say("report.unset", language) if value is None else mask(str(value))[:300]


def _why_none(found: Comparison, language: Language) -> str:
    a, b = bool(found.a.run.config), bool(found.b.run.config)
    key = "same_config" if a and b else "no_config_b" if a else "no_config_a" if b else "no_config_both"
    return say(f"report.{key}", language)


def _curve(one: Parting, language: Language, mask: Mask) -> Curve:
    since = say("report.ends", language) if one.parts_at is None else str(one.parts_at)
    better = say("report.better", language, letter=one.better.upper()) if one.better else ""
    return Curve(mask(one.metric), one.parts_at, since, number(one.a), number(one.b), better, one.explained_by[:3])


def _findings(found: Comparison, language: Language) -> list[Change]:
    last = found.b.run.last_step
    rows = []
    for finding in found.only_a:
        early = finding.first_step is not None and last is not None and last < finding.first_step + 10
        where = say("report.gone_not_yet" if early else "report.gone", language)
        rows.append(_row("open" if early else "gone", where, finding, _since(finding, language), "", language))
    rows += [_row("new", say("report.new", language), one, "", _since(one, language), language) for one in found.only_b]
    for one, other in found.both:
        rows.append(_row("stays", say("report.stays", language), other, _since(one, language), _since(other, language), language))
    return rows


def _row(kind: str, where: str, finding: Finding, a: str, b: str, language: Language) -> Change:
    return Change(kind, where, render.title(finding, language), finding.severity or "medium", a, b)


def _since(finding: Finding, language: Language) -> str:
    return "–" if finding.first_step is None else say("report.since", language, step=finding.first_step)


def _listed(names: list[str], language: Language) -> str:
    return ("、" if language == "zh" else ", ").join(names)
