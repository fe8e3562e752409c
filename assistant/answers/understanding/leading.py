"""Which intent of a question leads: what form the answer takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assistant.answers.understanding.decisions import ASKED_OF_ALL, AT_ALL, GOOD_VALUE, IMPROVED, READING
from assistant.answers.understanding.topics import (
    BREAK,
    HAPPENED,
    IMPROVES,
    JUDGE,
    OF_METRIC,
    SAME,
    STARTED,
    STOPS,
    TWO_STEPS,
    WHEN,
)
from assistant.answers.understanding.words import (
    ADVISED,
    AGAINST,
    BARE_WHY,
    CONVERGED,
    MY_VALUE,
    SETTING_WORDS,
    STRICT_MEANING,
    TIMERS_SLOW,
)

if TYPE_CHECKING:
    from assistant.answers.understanding.question import Question

_STATISTIC = re.compile(r"\b(mean|best|maj|pass)@")
_NUMBER = re.compile(r"\bdifferent (?:from|to|than) (?:zero|one|\d)|(?:不等于|不同于|不为)\s?(?:零|\d)")
"""Something set against a number, not against another metric."""


def leading(q: Question, lowered: str) -> str:
    """The intent that decides the form of the answer."""
    if q.metrics and not q.topic and AT_ALL.search(lowered):
        return "normal"
    if intent := _of_moments(q, lowered):
        return intent
    named = bool(q.metrics or q.extra_keys)
    has = q.intents
    if q.settings and not q.metrics and not q.findings and (ADVISED.search(lowered) or (not named and "normal" in has)):
        return "setting"
    if len(set(_STATISTIC.findall(lowered))) > 1 and not q.steps and q.window is None and not q.statistic:
        return "statistics"
    if q.metrics and not q.steps and "why" not in has:
        if GOOD_VALUE.search(lowered) and not ADVISED.search(lowered):
            return "range"
        if IMPROVED.search(lowered):
            return "gain"
        if READING.search(lowered) and (len(q.metrics) > 1 or "trend" in has):
            return "reading"
        if len(q.metrics) > 1 and STRICT_MEANING.search(lowered) and not has & {"normal", "change", "compare", "overview"}:
            return "reading"
    if not named:
        if "which" in has:
            return "which"
        if "crash" in q.properties and any(name.startswith(("crash", "hang")) for name in q.findings):
            return "finding"
        if "time" in has or (TIMERS_SLOW.search(lowered) and not q.findings):
            return "time"
        if q.settings and not q.findings and (SETTING_WORDS.search(lowered) or has & {"value", "meaning"} or not has):
            return "setting"
        if q.findings:
            return "finding"
        if "crash" in q.properties:
            return "crash"
        if q.concepts and not q.about_run and (has & {"meaning", "why", "compare"} or not has):
            return "concept"
        if "overview" in has or "normal" in has:
            return "overview"
        if "change" in has:
            return "change"
        if q.concepts:
            return "concept"
        if q.settings:
            return "setting"
        return "overview" if "why" in has and q.about_run and len(lowered) <= 160 else "unknown"
    if "which" in has and len(q.metrics) < 2 and not has & {"why", "meaning"}:
        return "which"
    if "time" in has and all(name.startswith(("time_", "per_token", "throughput", "mfu", "seconds")) for name in q.metrics):
        return "time"
    if len(q.metrics) >= 2 and not _NUMBER.search(lowered) and ("compare" in has or ("why" not in has and SAME.search(lowered))):
        return "compare"
    if MY_VALUE.search(lowered) and not STRICT_MEANING.search(lowered) and not has & {"why", "normal", "change"}:
        return "value"
    for intent in ("why", "normal", "change"):
        if intent in has and not (intent == "normal" and "meaning" in has and not q.properties):
            return intent
    if q.steps and not has - {"value", "meaning"}:
        return "value"
    for intent in ("trend", "extremes"):
        if intent in has:
            return intent
    if "value" in has and q.settings and ADVISED.search(lowered):
        return "change"
    if "value" in has and ("meaning" not in has or q.steps or q.places):
        return "value"
    if "meaning" in has:
        return "meaning"
    if q.properties - {"flat"}:
        return "why"
    return "about"


def gives_way(topic: str, metrics: Sequence[str], intents: frozenset[str], timed: bool, lowered: str) -> bool:
    """Whether what looks like a question about the run is one about a metric or setting, or asks why."""
    if topic in ASKED_OF_ALL or topic == "usual_time":
        judged = topic in ("hardware", "data_quality", "reward_function", "stop") and bool(intents & {"why"})
        return judged or (topic == "data_quality" and bool(intents & {"value"}))
    if topic in ("learning", "critic_learning", "oom", "grad_clip", "total_throughput"):
        return topic == "learning" and (timed or (bool(metrics) and not CONVERGED.search(lowered)))
    if "why" in intents or "change" in intents:
        return True
    others = [
        m
        for m in metrics
        if not m.startswith(
            ("gpu_memory", "host_memory", "critic_gpu_memory", "time_", "total_tokens", "prompt_", "epoch", "global_step", "mfu")
        )
    ]
    return bool(others) and (topic in OF_METRIC or topic in ("version", "algorithm", "eta", "steps_done"))


def _of_moments(q: Question, lowered: str) -> str:
    """The intent of a question about the run itself, a stretch of it, or a moment; "" when it is none."""
    named, has = bool(q.metrics or q.extra_keys), q.intents
    if BARE_WHY.search(lowered) and not named and not q.findings:
        return "top_why"
    if q.topic:
        return "run"
    if len(q.spellings) >= 2 and len(q.metrics) == 1 and SAME.search(lowered):
        return "same"
    if (len(q.steps) >= 2 and TWO_STEPS.search(lowered)) or (
        q.window is not None and q.window.kind == "range" and None not in (q.window.low, q.window.high) and not named and not q.statistic
    ):
        return "two_steps"
    if len(q.steps) == 1 and AGAINST.search(lowered) and not has & {"why", "change"} and q.window is None and not q.settings:
        return "two_steps"
    if "first" in q.places and AGAINST.search(lowered) and len(q.metrics) < 2 and q.window is None and "why" not in has:
        return "two_steps"
    if q.window is not None and q.window.kind == "range" and not named and HAPPENED.search(lowered):
        return "two_steps"
    if q.steps and not named and not (q.findings or q.settings or q.concepts or "slow" in q.properties) and not has & {"change", "which"}:
        return "happened"
    if len(q.steps) == 1 and named and not q.extra_keys and HAPPENED.search(lowered) and "change" not in has:
        return "happened"
    timed = bool(WHEN.search(lowered))
    if q.threshold is not None and named and not (JUDGE.search(lowered) and not timed):
        return "moment"
    if timed and "change" not in has and not q.steps and ("extremes" not in has or STOPS.search(lowered)):
        broken = BREAK.search(lowered) or IMPROVES.search(lowered) or STARTED.search(lowered) or q.properties & {"crash", "falling", "nan"}
        if (named and not has & {"meaning", "which"}) or (not named and broken):
            return "moment"
    if (q.window or q.statistic) and not has & {"why", "change"} and not STRICT_MEANING.search(lowered):
        judged = "normal" in has and not q.statistic and "trend" not in has and not q.properties & {"rising", "falling"}
        if (named and not judged) or (not named and q.window and not (q.settings or q.findings)):
            return "stretch"
    return ""
