"""What a question asks: intent, metrics, findings, steps and settings, read by words alone."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass

from assistant.answers.language import detect
from assistant.answers.words import (
    CONFIGURED,
    CRITIC_WORDS,
    FIRST,
    FOLLOW_UP,
    INTENTS,
    LAST,
    MAXIMUM,
    MINIMUM,
    PROPERTIES,
    RUN_WORDS,
    SETTING_WORDS,
    STEP_TAKES,
    TIMERS_SLOW,
)
from assistant.lexicon import Lexicon, Mention, Target, base, find, known_metrics, normal, unknown_keys
from assistant.messages import Language
from assistant.spoken_names import SETTING_OF_METRIC
from assistant.symptoms import symptoms

_STEPS = re.compile(r"\b(?:step|iteration|iter)s?\s*[:=#]?\s*(\d{1,7})|第\s*(\d{1,7})\s*步|(\d{1,7})\s*步")


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier question of the same conversation, what it was about and what was answered."""

    question: str
    metrics: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """``metrics`` are canonical names in the order of the question, ``keys`` the printed keys that were meant (where one was),
    ``unknown_keys`` words that look like a metric or setting and are none that we know. ``intent`` is the leading one of
    ``intents``; ``properties`` are what is said of the metric (positive, zero, missing, rising …).
    """

    text: str
    language: Language
    intent: str
    intents: frozenset[str]
    metrics: tuple[str, ...] = ()
    keys: tuple[tuple[str, str], ...] = ()
    extra_keys: tuple[str, ...] = ()
    unknown_keys: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    properties: frozenset[str] = frozenset()
    steps: tuple[int, ...] = ()
    places: frozenset[str] = frozenset()
    about_run: bool = False
    follow_up: bool = False

    def key_of(self, metric: str) -> str | None:
        return dict(self.keys).get(metric)


def understand(
    text: str,
    *,
    run_lexicon: Lexicon | None = None,
    present: Container[str] = frozenset(),
    language: Language | None = None,
    history: Sequence[Turn] = (),
) -> Question:
    """Read ``text``; names missing from a follow-up come from the last turn of ``history``.

    ``present`` are the canonical metrics of the log: of several that share a name ("the KL"), one of these is meant.
    """
    lowered = normal(text)
    mentions = find(text, [base(), *([run_lexicon] if run_lexicon else [])])
    names = _names(mentions, lowered, present)
    unknown = unknown_keys(lowered, mentions)
    plain = lowered
    for key in unknown:
        plain = plain.replace(key, " ")
    described = symptoms(plain)
    findings = _once([*names["finding"], *(name for name in described)])
    metrics, keys = _metrics(names["metric_targets"])
    extra = tuple(_once(target.key for target in names["key_targets"]))
    metrics = _with_statistics(metrics, lowered)
    if _VALIDATION_STATISTIC.search(lowered) and "validation" not in metrics:
        metrics = (*metrics, "validation")
    if not metrics and STEP_TAKES.search(lowered):
        metrics = ("time_step",)
    intents = frozenset(name for name, pattern in INTENTS.items() if pattern.search(lowered))
    properties = frozenset(name for name, pattern in PROPERTIES.items() if pattern.search(lowered))
    steps = tuple(int(next(group for group in match.groups() if group)) for match in _STEPS.finditer(lowered))
    places = frozenset(
        name for name, pattern in (("last", LAST), ("first", FIRST), ("max", MAXIMUM), ("min", MINIMUM)) if pattern.search(lowered)
    )
    settings = tuple(_once(names["setting"]))
    if CONFIGURED.search(lowered) and metrics and set(metrics) <= set(SETTING_OF_METRIC):
        settings, metrics = (*(SETTING_OF_METRIC[metric] for metric in metrics), *settings), ()
    concepts = tuple(_once(names["concept"]))
    follow_up = False
    if history and not metrics and not extra and not (findings or settings) and (len(lowered) <= 80 and FOLLOW_UP.search(lowered)):
        last = history[-1]
        if last.metrics or last.findings:
            metrics, findings, follow_up = last.metrics, list(last.findings), True
            if not intents and not steps:
                intents = understand(last.question).intents
    elif history and not intents and not steps and (metrics or findings) and len(lowered) <= 60:
        intents, follow_up = understand(history[-1].question).intents, True
    question = Question(
        text=text,
        language=language or detect(text),
        intent="",
        intents=intents,
        metrics=metrics,
        keys=keys,
        extra_keys=extra,
        unknown_keys=tuple(unknown),
        findings=tuple(findings),
        settings=settings,
        concepts=concepts,
        properties=properties,
        steps=steps,
        places=places,
        about_run=bool(RUN_WORDS.search(lowered)),
        follow_up=follow_up,
    )
    return _with_intent(question, lowered)


def _with_intent(q: Question, lowered: str) -> Question:
    from dataclasses import replace

    return replace(q, intent=_leading(q, lowered))


def _leading(q: Question, lowered: str) -> str:
    """The intent that decides the form of the answer."""
    named = bool(q.metrics or q.extra_keys)
    has = q.intents
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
        return "overview" if has & {"why"} and q.about_run and len(lowered) <= 40 else "unknown"
    if "which" in has and len(q.metrics) < 2 and not has & {"why"}:
        return "which"
    if "time" in has and all(name.startswith(("time_", "per_token", "throughput", "mfu", "seconds")) for name in q.metrics):
        return "time"
    if len(q.metrics) >= 2 and "compare" in has:
        return "compare"
    for intent in ("why", "normal", "change"):
        if intent in has and not (intent == "normal" and "meaning" in has and not q.properties):
            return intent
    if q.steps and not has - {"value", "meaning"}:
        return "value"
    for intent in ("trend", "extremes"):
        if intent in has:
            return intent
    if "value" in has and ("meaning" not in has or q.steps or q.places):
        return "value"
    if "meaning" in has:
        return "meaning"
    if q.properties - {"flat"}:
        return "why"
    return "about"


def _names(mentions: Sequence[Mention], lowered: str, present: Container[str]) -> dict[str, list]:  # type: ignore[type-arg]
    """Mentions sorted by kind; an ambiguous name is settled by the words around it."""
    out: dict[str, list] = {"metric_targets": [], "key_targets": [], "finding": [], "setting": [], "concept": []}  # type: ignore[type-arg]
    critic = bool(CRITIC_WORDS.search(lowered))
    certain_metric = any(m.targets[0].kind == "metric" and not any(t.kind == "setting" for t in m.targets) for m in mentions)
    for mention in mentions:
        kinds = {target.kind for target in mention.targets}
        targets = [t for t in mention.targets if t.kind == "metric"]
        settings = [t for t in mention.targets if t.kind == "setting"]
        if targets and settings and mention.targets[0].kind != "metric" and not certain_metric and SETTING_WORDS.search(lowered):
            targets = []
        if targets and not (settings and certain_metric and settings[0].weight >= targets[0].weight):
            out["metric_targets"].append(_role(targets, critic, lowered, present))
        if "key" in kinds:
            out["key_targets"].append(next(t for t in mention.targets if t.kind == "key"))
        if settings and (not targets or settings[0].weight >= targets[0].weight - 1.0):
            best = settings[0].weight
            out["setting"].extend(t.id for t in settings[:3] if t.weight == best)
        out["finding"].extend(t.id for t in mention.targets if t.kind == "finding")
        out["concept"].extend(t.id for t in mention.targets if t.kind == "concept")
    return out


def _role(targets: Sequence[Target], critic: bool, lowered: str, present: Container[str]) -> Target:
    """Of the metrics that share a name the one whose other words the question has (``rollouter … idle_ratio``), else the
    critic's when it speaks of the critic, else the likeliest."""
    best = [t for t in targets if t.weight >= targets[0].weight - 0.3]
    if len(best) == 1:
        return best[0]
    if critic and (of_critic := [t for t in best if t.key.startswith("critic/") or t.id.startswith(("critic", "value"))]):
        return of_critic[0]
    best = [t for t in best if t.id in present] or best
    said = set(re.findall(r"[a-z0-9]+", lowered))
    matches = [len(said & set(re.findall(r"[a-z0-9]+", t.key))) - t.id.startswith("critic_") for t in best]
    return best[matches.index(max(matches))]


def _metrics(targets: Sequence[Target]) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    metrics = tuple(_once(target.id for target in targets))
    keys = {target.id: target.key for target in reversed(targets) if target.key and target.weight >= 4.0}
    return metrics, tuple(keys.items())


_VALIDATION_STATISTIC = re.compile(r"\b(?:mean|best|worst|maj|std)@\d+|\bval-(?:core|aux)/")
_STATISTICS = re.compile(
    r"\b(mean|max|min)\s*(?:,|、|，|/|and|和|与)\s*(mean|max|min)\b(?:\s*(?:,|、|，|/|and|和|与|, and)*\s*(mean|max|min)\b)?"
)


def _with_statistics(metrics: tuple[str, ...], lowered: str) -> tuple[str, ...]:
    """ "advantages mean, max and min" asks for three metrics."""
    listed = _STATISTICS.search(lowered)
    if not listed:
        return metrics
    out: list[str] = []
    known = known_metrics()
    for metric in metrics:
        stem = re.sub(r"_(mean|max|min)$", "", metric)
        siblings = [f"{stem}_{name}" for name in listed.groups() if name and f"{stem}_{name}" in known]
        out.extend(
            siblings
            if stem != metric and metric.startswith(("advantage", "score", "reward", "return", "value", "response", "prompt"))
            else [metric]
        )
    return tuple(_once([*out, *metrics]))


def _once(items) -> list[str]:  # type: ignore[no-untyped-def]
    return list(dict.fromkeys(items))
