"""What a question asks: intent, metrics, findings, steps and settings, read by words alone."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass

from assistant.answers.language import detect
from assistant.answers.topics import BREAK, COUNT_STEPS, EVER, HAPPENED, IMPROVES, OF_METRIC, SAME, START, TWO_STEPS, WHEN, topic_of
from assistant.answers.windows import Statistic, Threshold, Window, stretches
from assistant.answers.words import (
    ADVISED,
    BARE_WHY,
    CONFIGURED,
    CRITIC_WORDS,
    FIRST,
    FOLLOW_UP,
    INTENTS,
    LAST,
    MAXIMUM,
    MINIMUM,
    MY_VALUE,
    PROPERTIES,
    RUN_WORDS,
    SETTING_WORDS,
    STEP_TAKES,
    STRICT_MEANING,
    TIMERS_SLOW,
)
from assistant.lexicon import Lexicon, Mention, Target, base, find, known_metrics, normal, unknown_keys
from assistant.messages import Language
from assistant.spoken_names import METRIC_PHRASES, SETTING_OF_METRIC
from assistant.symptoms import symptoms

_STEPS = re.compile(
    r"\b(?:step|iteration|iter)s?\s*[:=#]?\s*(\d{1,7})(?:\s*(?:,|and|&|vs\.?|versus|with|to|or|than)\s*(?:step\s*)?(\d{1,7})(?![\w.%]|\s*(?:gpu|card|node)))?"
    r"|第\s*(\d{1,7})\s*(?:和|与|跟|、|vs)\s*第?\s*(\d{1,7})\s*步|第\s*(\d{1,7})\s*步|(\d{1,7})\s*步"
)
_SPELLED_OUT = 2.5
"""Weight from which on a name is a printed key, not a short form of one."""


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
    ``intents``; ``properties`` are what is said of the metric (positive, zero, missing, rising …). ``topic`` names a question
    about the run itself, ``window``, ``statistic`` and ``threshold`` what is to be computed; ``spellings`` are all printed keys
    that were written, several for one metric included.
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
    topic: str = ""
    window: Window | None = None
    statistic: Statistic = ""
    threshold: Threshold | None = None
    spellings: tuple[str, ...] = ()
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
    timed = bool(WHEN.search(lowered))
    stretch = stretches(lowered, threshold=timed or bool(COUNT_STEPS.search(lowered) or EVER.search(lowered)))
    framework = run_lexicon.framework if run_lexicon else "verl"
    mentions = find(stretch.rest, [base(framework), *([run_lexicon] if run_lexicon else [])])
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
    if not metrics and not extra:
        metrics = tuple(_once(metric for pattern, metric in METRIC_PHRASES if pattern.search(plain)))
    intents = frozenset(name for name, pattern in INTENTS.items() if pattern.search(lowered))
    properties = frozenset(name for name, pattern in PROPERTIES.items() if pattern.search(stretch.rest))
    steps = tuple(_once(int(group) for match in _STEPS.finditer(stretch.rest) for group in match.groups() if group))
    places = frozenset(
        name for name, pattern in (("last", LAST), ("first", FIRST), ("max", MAXIMUM), ("min", MINIMUM)) if pattern.search(lowered)
    )
    settings = tuple(_once(names["setting"]))
    topic = topic_of(stretch.rest)
    if _gives_way(topic, metrics, intents, settings):
        topic = ""
    if CONFIGURED.search(lowered) and metrics and set(metrics) <= set(SETTING_OF_METRIC):
        settings, metrics = (*(SETTING_OF_METRIC[metric] for metric in metrics), *settings), ()
    concepts = tuple(_once(names["concept"]))
    follow_up = False
    if history and not (metrics or extra or findings or settings or topic) and len(lowered) <= 80 and FOLLOW_UP.search(lowered):
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
        topic=topic,
        window=stretch.window,
        statistic=stretch.statistic,
        threshold=stretch.threshold,
        spellings=tuple(_once(t.key for t in names["metric_targets"] if t.key and t.weight > _SPELLED_OUT)),
        about_run=bool(RUN_WORDS.search(lowered)),
        follow_up=follow_up,
    )
    return _with_intent(question, lowered)


def _with_intent(q: Question, lowered: str) -> Question:
    from dataclasses import replace

    return replace(q, intent=_leading(q, lowered))


def _gives_way(topic: str, metrics: Sequence[str], intents: frozenset[str], settings: Sequence[str]) -> bool:
    """Whether what looks like a question about the run is one about a metric or setting, or asks why."""
    if topic in ("learning", "critic_learning", "oom", "grad_clip", "total_throughput"):
        return topic == "learning" and bool(metrics)
    if "why" in intents or "change" in intents:
        return True
    others = [m for m in metrics if not m.startswith(("gpu_memory", "host_memory", "critic_gpu_memory", "time_step", "total_tokens", "prompt_", "epoch", "global_step", "mfu"))]
    return bool(others) and (topic in OF_METRIC or topic in ("version", "algorithm", "eta", "steps_done"))


def _of_moments(q: Question, lowered: str) -> str:
    """The intent of a question about the run itself, a stretch of it, or a moment; "" when it is none."""
    named, has = bool(q.metrics or q.extra_keys), q.intents
    if BARE_WHY.search(lowered) and not named:
        return "top_why"
    if q.topic:
        return "run"
    if len(q.spellings) >= 2 and len(q.metrics) == 1 and SAME.search(lowered):
        return "same"
    if (len(q.steps) >= 2 and TWO_STEPS.search(lowered)) or (
        q.window is not None and q.window.kind == "range" and None not in (q.window.low, q.window.high) and not named and not q.statistic
    ):
        return "two_steps"
    if q.steps and not named and HAPPENED.search(lowered):
        return "happened"
    timed = bool(WHEN.search(lowered))
    if q.threshold is not None and named:
        return "moment"
    if timed and "extremes" not in has and "change" not in has and not q.steps:
        moving = bool(START.search(lowered) or IMPROVES.search(lowered) or BREAK.search(lowered))
        if (named and (moving or q.properties & {"nan", "zero", "negative", "positive", "rising", "falling", "flat"})) or (
            not named and (BREAK.search(lowered) or q.properties & {"crash", "falling", "nan"})
        ):
            return "moment"
    if (q.window or q.statistic) and not has & {"why", "change"} and not STRICT_MEANING.search(lowered):
        judged = "normal" in has and not q.statistic and "trend" not in has and not q.properties & {"rising", "falling"}
        if (named and not judged) or (not named and q.window and not (q.settings or q.findings)):
            return "stretch"
    return ""


def _leading(q: Question, lowered: str) -> str:
    """The intent that decides the form of the answer."""
    if intent := _of_moments(q, lowered):
        return intent
    named = bool(q.metrics or q.extra_keys)
    has = q.intents
    if q.settings and not q.metrics and not q.findings and ADVISED.search(lowered):
        return "setting"
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
    if len(q.metrics) >= 2 and ("compare" in has or ("why" not in has and SAME.search(lowered))):
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
        first_is_metric = mention.targets[0].kind == "metric"
        if targets and settings and not certain_metric and (ADVISED.search(lowered) or (not first_is_metric and SETTING_WORDS.search(lowered))):
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
    keys = {target.id: target.key for target in reversed(targets) if target.key and target.weight > _SPELLED_OUT}
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
