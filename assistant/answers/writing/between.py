"""Two runs in one answer: what differs, whether a change helped, and a metric side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from assistant.answers.grounding.context import Context, course, fix_lines
from assistant.answers.grounding.evidence import Fact, code, plain_value
from assistant.answers.understanding.run_words import Meant
from assistant.diagnosis.compare import Comparison, ConfigDifference, Parting, compare_diagnosed
from assistant.diagnosis.facts import number
from assistant.diagnosis.finding import Finding
from assistant.messages import say

SETTINGS, CURVES = 4, 4
"""Differing settings and parting curves that are named; the rest is counted."""


_WORSE = re.compile(r"\bworse\b|更差|变差|差")
_FIX = {"fixed": "fix_yes", "improved": "fix_partly", "new-problem": "fix_partly", "not-fixed": "fix_no", "worse": "fix_no"}
_WHAT_IS_TRAINED = ("adv_estimator", "model.path", "train_files")
_BETTER = re.compile(r"\bbetter\b|更好|变好|好")


@dataclass
class Pair:
    """The earlier run ``a`` and the later one ``b``, each with its own facts, and the names that they go by."""

    a: Context
    b: Context
    names: tuple[str, str]

    @cached_property
    def found(self) -> Comparison:
        return compare_diagnosed(self.a.diagnosis, self.b.diagnosis)

    @property
    def both(self) -> Sequence[tuple[Context, str]]:
        return ((self.a, self.names[0]), (self.b, self.names[1]))

    def say(self, key: str, /, **values: str) -> str:
        return say(f"between.{key}", self.a.language, **values)

    @property
    def named(self) -> dict[str, str]:
        return {"a": code(self.names[0]), "b": code(self.names[1])}


def between(pair: Pair, meant: Meant) -> list[str]:
    """The answer about both runs, as paragraphs."""
    question = pair.a.question
    metrics = list(dict.fromkeys([*question.metrics, *pair.b.question.metrics]))
    keys = list(dict.fromkeys([*question.extra_keys, *pair.b.question.extra_keys]))
    if metrics and not meant.fix:
        parts = [part for metric in metrics[:3] for part in _metric(pair, metric)]
        if question.intents & {"why", "change"}:
            parts += [_likely(pair, metrics), *_why(pair, meant)]
        return [part for part in parts if part]
    parts = [verdict(pair, meant), _findings(pair), _settings(pair), *([] if keys else [_curves(pair)]), _likely(pair, ())]
    if question.intents & {"why", "change"} or meant.fix:
        parts += _why(pair, meant)
    return [part for part in parts if part]


def verdict(pair: Pair, meant: Meant) -> str:
    """What the checks of both runs say together; first a no to a question that takes the wrong run for the worse or better one."""
    said, lead = _said(pair.found), ""
    if (subject := _subject(pair, meant)) is not None and "why" in pair.a.question.intents:
        worse = {"worse": 1, "fixed": 0, "improved": 0}.get(said)
        text = pair.a.question.text.lower()
        name = code(pair.names[subject])
        if _WORSE.search(text) and worse != subject and said not in ("not-fixed", "new-problem"):
            lead = pair.say("not_worse", name=name)
        elif _BETTER.search(text) and (worse is None or worse == subject):
            lead = pair.say("not_better", name=name)
    if meant.fix and said in _FIX:
        lead = pair.say(_FIX[said])
    return pair.a.glue([lead, pair.say(f"verdict_{said}", **pair.named)])


def _subject(pair: Pair, meant: Meant) -> int | None:
    """Which of the two the question is about: 0 the earlier, 1 the later; None when it names neither alone."""
    return None if meant.subject is None else int(meant.subject == meant.runs[1])


def _said(found: Comparison) -> str:
    """The comparison's verdict; "worse" only where something of the earlier run is left: else its faults are gone and others came."""
    left = any(earlier.severity != "low" for earlier, _ in found.both)
    gone = any(finding.severity != "low" for finding in found.only_a)
    return "new-problem" if found.verdict == "worse" and gone and not left else found.verdict


def _findings(pair: Pair) -> str:
    found, rows = pair.found, []
    for context, name, only in ((pair.a, pair.names[0], found.only_a), (pair.b, pair.names[1], found.only_b)):
        if only:
            rows.append(pair.say("only", name=code(name), titles=_titles(context, only)))
    if found.both:
        for finding, _ in found.both[:3]:
            pair.a.titled(finding)
        rows.append(pair.say("both", titles=_titles(pair.b, [later for _, later in found.both], since=False)))
    return pair.say("label_findings") + pair.a.glue(rows) if rows else ""


def _titles(context: Context, found: Sequence[Finding], *, since: bool = True) -> str:
    return context.joined([context.titled(f) + (context.since(f) if since else "") for f in found[:3]])


def _settings(pair: Pair) -> str:
    rows = sorted((one for one in pair.found.config if one.matters), key=lambda one: not one.key.endswith(_WHAT_IS_TRAINED))
    if not rows:
        shown = all(context.diagnosis.run.config for context, _ in pair.both)
        return pair.say("settings_none" if shown else "settings_unknown")
    texts = [_setting(pair, one) for one in rows[:SETTINGS]]
    if len(rows) > SETTINGS:
        n = pair.b.evidence.count(len(rows) - SETTINGS, "further settings that differ")
        texts.append(pair.say("settings_more", n=n.text))
    return pair.say("label_settings") + pair.a.joined(texts) + pair.a.say("stop")


def _setting(pair: Pair, one: ConfigDifference) -> str:
    values = [_value(context, one.key, value) for (context, _), value in zip(pair.both, (one.a, one.b), strict=True)]
    return pair.say("setting", key=one.key, a=values[0], b=values[1])


def _value(context: Context, key: str, value: Any) -> str:
    """A setting's value as a fact of its run."""
    if value is None:
        return say("between.unset", context.language)
    if key in context.diagnosis.run.config:
        text = context.evidence.config(key, value).text
    else:
        real = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else plain_value(value)
        text = context.evidence.derived(
            real, f"{key} of this run, as its metrics or its version give it", metric=key, text=plain_value(value)
        ).text
    return text if text.replace(".", "").replace("-", "").isalnum() else code(text)


def _curves(pair: Pair) -> str:
    found = pair.found
    if not found.metrics:
        n = pair.b.evidence.count(found.shared_steps, "steps that both runs print")
        return pair.say("no_parting" if found.shared_steps else "few_shared", n=n.text)
    rows = list(found.metrics[:CURVES])
    ends = all(one.parts_at is None for one in rows)
    shown = pair.a.joined([_parting(pair, one) for one in rows]) + pair.a.say("stop")
    return pair.a.glue([pair.say("label_curves") + shown, pair.say("parts_note_ends" if ends else "parts_note")])


def _parting(pair: Pair, one: Parting) -> str:
    values = [
        _median(context, one.canonical, one.metric, value).text for (context, _), value in zip(pair.both, (one.a, one.b), strict=True)
    ]
    better = ""
    if one.better is not None:
        better = pair.say("better", name=code(pair.names[one.better == "b"]))
    if one.parts_at is None:
        return pair.say("parts_ends", metric=one.metric, va=values[0], vb=values[1], **pair.named) + better
    for context, _ in pair.both:
        step = context.evidence.count(one.parts_at, f"step from which {one.metric} of the two runs stays apart")
    return pair.say("parts", metric=one.metric, step=step.text, va=values[0], vb=values[1], **pair.named) + better


def _median(context: Context, canonical: str, metric: str, value: float) -> Fact:
    series = context.series(canonical)
    key = series.name if series is not None else metric
    key = metric if metric in context.diagnosis.run.columns else key
    return context.evidence.derived(value, f"median of the last shared values of {key}", metric=key)


def _likely(pair: Pair, metrics: Sequence[str]) -> str:
    """The setting that most likely made the difference: one that acts on a curve which parts."""
    by_key = {one.key: one for one in pair.found.config}
    for one in pair.found.metrics:
        if one.explained_by and (not metrics or one.canonical in metrics):
            setting = by_key[one.explained_by[0]]
            values = [_value(context, setting.key, value) for (context, _), value in zip(pair.both, (setting.a, setting.b), strict=True)]
            return pair.say("likely", key=setting.key, a=values[0], b=values[1], metric=one.metric)
    return ""


def _why(pair: Pair, meant: Meant) -> list[str]:
    """The gravest finding that the run in question has alone, or that is still there, with its first remedy."""
    found, index = pair.found, _subject(pair, meant)
    if index is not None and _BETTER.search(pair.a.question.text.lower()):
        index = 1 - index  # what makes one better is what is wrong with the other
    index = 1 if index is None else index
    context = pair.both[index][0]
    alone = list(found.only_b if index else found.only_a)
    shared = [both[index] for both in found.both]
    lead = next((f for f in context.diagnosis.faults if f in alone), next((f for f in context.diagnosis.faults if f in shared), None))
    if lead is None:
        return []
    summary = context.evidence.summary(lead)
    parts = [pair.say("so_in" if lead in alone else "left", name=code(pair.names[index]), summary=summary)]
    if lines := fix_lines(context, lead, 1):
        parts.append(context.say("label_do") + lines[0])
    return parts


# One metric in both


def _metric(pair: Pair, metric: str) -> list[str]:
    question = pair.a.question
    there = [context.series(metric) is not None for context, _ in pair.both]
    keys = [context.key(metric) for context, _ in pair.both]
    if not any(there):
        return [pair.say("no_such_metric", key=keys[0])]
    if question.steps:
        return [_at(pair, metric, keys, step) for step in question.steps[:3]]
    parts = []
    if all(there):
        parting = next((p for p in pair.found.metrics if p.canonical == metric or p.metric in keys), None)
        if parting is not None:
            note = pair.say("parts_note_ends" if parting.parts_at is None else "parts_note")
            parts.append(pair.a.glue([_parting(pair, parting).rstrip("。.") + pair.a.say("stop"), note]))
        else:
            n = pair.b.evidence.count(pair.found.shared_steps, "steps that both runs print")
            parts.append(pair.say("same_metric" if pair.found.shared_steps >= 10 else "few_shared", metric=keys[1], n=n.text))
    for (context, name), present, key in zip(pair.both, there, keys, strict=True):
        text = (
            pair.say("course", name=code(name), course=course(context, metric))
            if present
            else pair.say("absent_in", name=code(name), key=key)
        )
        parts.append(text)
    return parts


def _at(pair: Pair, metric: str, keys: Sequence[str], step: int) -> str:
    points = [series.at(step) if (series := context.series(metric)) is not None else None for context, _ in pair.both]
    facts = [context.evidence.point(point) if point is not None else None for (context, _), point in zip(pair.both, points, strict=True)]
    shown = {"key": keys[1] if facts[1] is not None else keys[0], "step": str(step)}
    pair.a.evidence.count(step, "step of the question")
    first, second = facts
    if first is None and second is None:
        return pair.say("at_none", **shown)
    if first is None or second is None:
        index = 0 if second is None else 1
        one = first if second is None else second
        assert one is not None
        text = pair.say("at_only", va=one.text, name=code(pair.names[index]), other=code(pair.names[1 - index]), **shown)
        return pair.a.glue([text, _nearest(pair.both[1 - index][0], metric, step)])
    text = pair.say("at", va=first.text, vb=second.text, **pair.named, **shown)
    if not isinstance(first.value, float) or not isinstance(second.value, float):
        return text
    gap = second.value - first.value
    if gap == 0:
        return pair.a.glue([text, pair.say("equal")])
    decimals = max((len(f.text.partition(".")[2]) for f in (first, second) if "e" not in f.text), default=6)
    fact = pair.b.evidence.derived(
        abs(gap), f"|{keys[1]} of the later run − of the earlier| at step {step}", metric=keys[1], text=number(round(abs(gap), decimals))
    )
    how = pair.say("higher" if gap > 0 else "lower")
    return pair.a.glue([text, pair.say("gap", gap=fact.text, how=how, **pair.named)])


def _nearest(context: Context, metric: str, step: int) -> str:
    """The value printed nearest to a step that is not printed."""
    series = context.series(metric)
    if series is None or not series.finite.any():
        return ""
    kept = series.take(series.finite)
    point = kept.point(int(np.argmin(np.abs(kept.steps - step))))
    return say("between.nearest", context.language, value=context.at(point))
