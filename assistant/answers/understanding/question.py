"""What a question asks: intent, metrics, findings, steps and settings, read by words alone."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from assistant.answers.understanding.decisions import GAP
from assistant.answers.understanding.follow_words import kind_of
from assistant.answers.understanding.language import detect
from assistant.answers.understanding.leading import gives_way, leading
from assistant.answers.understanding.topics import COUNT_STEPS, EVER, FIRST_TIME, WHEN, topic_of
from assistant.answers.understanding.windows import Statistic, Stretch, Threshold, Window, stretches
from assistant.answers.understanding.words import (
    ADVISED,
    CONFIGURED,
    CRITIC_WORDS,
    EXPLICIT_SETTING,
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
    TOO_MUCH,
)
from assistant.lexicon import Lexicon, Mention, Target, base, find, known_metrics, normal, unknown_keys
from assistant.messages import Language
from assistant.spoken_names import METRIC_PHRASES, SETTING_OF_METRIC
from assistant.symptoms import symptoms

_STEPS = re.compile(
    r"\b(?:step|iteration|iter)s?\s*[:=#]?\s*(\d{1,7})(?:\s*(?:,|and|&|vs\.?|versus|with|to|or|than)\s*(?:step\s*)?(\d{1,7})(?![\w.%]|"
    r"\s*(?:gpu|card|node)))?"
    r"|第\s*(\d{1,7})\s*(?:和|与|跟|、|vs)\s*第?\s*(\d{1,7})\s*步|第\s*(\d{1,7})\s*步|(\d{1,7})\s*步"
)
_SPELLED_OUT = 2.5
"""Weight from which on a name is a printed key, not a short form of one."""


_OF_A_CURVE = frozenset({"flat", "falling", "rising", "zero", "negative", "nan", "low"})
_MAIN = ("score_mean", "reward_mean", "train_loss", "policy_total_loss")
"""What "it" is in "why is it flat?": the first of these in the log."""


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
    earlier: str = ""
    """The answer before, for a follow-up; ``talk`` are all of them."""
    talk: str = ""

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
    lowered = _SLASHED.sub("_mean", normal(text))
    timed = bool(WHEN.search(lowered))
    stretch = stretches(lowered, threshold=timed or bool(COUNT_STEPS.search(lowered) or EVER.search(lowered) or FIRST_TIME.search(lowered)))
    framework = run_lexicon.framework if run_lexicon else "verl"
    lexicons = [base(framework), *([run_lexicon] if run_lexicon else [])]
    mentions, statistic = _mentions(stretch, lexicons, present)
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
    if GAP.search(lowered) and set(metrics) <= {"validation", "score_mean", "reward_mean"}:
        metrics, intents = ("score_mean", "validation"), intents | {"compare"}
    if _NO_NAN.search(lowered):
        properties -= {"nan"}
    steps = tuple(dict.fromkeys(int(group) for match in _STEPS.finditer(stretch.rest) for group in match.groups() if group))
    bare = lowered
    for mention in mentions:
        if "/" in (name := lowered[mention.first_char : mention.last_char]) or "_" in name:
            bare = bare.replace(name, " ")
    places = frozenset(
        name for name, pattern in (("last", LAST), ("first", FIRST), ("max", MAXIMUM), ("min", MINIMUM)) if pattern.search(bare)
    )
    settings = tuple(_once(names["setting"]))
    topic = topic_of(stretch.rest)
    if (topic == "step_seconds" and (stretch.window or statistic)) or gives_way(topic, metrics, intents, timed, lowered):
        topic = ""
    of_setting = bool(metrics) and set(metrics) <= set(SETTING_OF_METRIC)
    if of_setting and CONFIGURED.search(lowered):
        settings, metrics = (*(SETTING_OF_METRIC[metric] for metric in metrics), *settings), ()
    elif any("/" in key for _, key in keys):
        pass
    elif (
        of_setting
        and _AND.search(lowered)
        and set(settings) - set(SETTING_OF_METRIC.values())
        and not intents & {"why", "normal", "compare"}
    ):
        settings, metrics = (*(SETTING_OF_METRIC[metric] for metric in metrics), *settings), ()
    elif of_setting and not findings and TOO_MUCH.search(lowered) and not intents & {"why"} and not properties & {"zero", "nan"}:
        settings, metrics = settings or tuple(SETTING_OF_METRIC[metric] for metric in metrics), ()
    settings = tuple(_once(settings))
    concepts = tuple(_once(names["concept"]))
    if (
        not (metrics or extra or findings or settings or topic or history or steps)
        and "why" in intents
        and properties & _OF_A_CURVE
        and not properties & {"crash", "slow"}
    ):
        metrics = next(((name,) for name in _MAIN if name in present), ())
    follow_up = False
    kind = kind_of(lowered) if history and not (metrics or extra or settings) else ""
    if kind:
        last = history[-1]
        metrics, findings, steps, topic, follow_up = last.metrics, list(last.findings), (), "", True
    elif history and not (metrics or extra or findings or settings or topic) and len(lowered) <= 80 and FOLLOW_UP.search(lowered):
        last = history[-1]
        if last.metrics or last.findings:
            metrics, findings, follow_up = last.metrics, list(last.findings), True
            if not intents and not steps:
                before = understand(last.question, history=history[-6:-1])
                intents, steps = before.intents, before.steps
    elif history and not intents and not steps and (metrics or findings) and len(lowered) <= 60:
        before = understand(history[-1].question, history=history[-6:-1])
        intents, steps, follow_up = before.intents, before.steps, True
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
        statistic=statistic,
        threshold=stretch.threshold,
        spellings=tuple(_once(t.key for t in names["metric_targets"] if t.key and t.weight > _SPELLED_OUT)),
        about_run=bool(RUN_WORDS.search(lowered)),
        follow_up=follow_up,
        earlier=history[-1].answer if history else "",
        talk="\n".join(turn.answer for turn in history),
    )
    return replace(question, intent=kind or leading(question, lowered))


def _mentions(stretch: Stretch, lexicons: Sequence[Lexicon], present: Container[str]) -> tuple[list[Mention], Statistic]:
    """Names in the question. "Median response length" asks for a median, unless the log prints such a metric."""
    mentions = find(stretch.rest, lexicons)
    if not stretch.statistic:
        return mentions, ""
    inside = [m for m in mentions if any(m.first_char < end and start < m.last_char for start, end in stretch.statistic_at)]
    if any(target.id in present and stretch.statistic not in ("mean", "sum") for m in inside for target in m.targets[:1]):
        return mentions, ""
    bare = stretch.rest
    for start, end in stretch.statistic_at:
        bare = bare[:start] + " " * (end - start) + bare[end:]
    without = find(bare, lexicons)
    return (without if inside and any(t.kind in ("metric", "key") for m in without for t in m.targets) else mentions), stretch.statistic


def _names(mentions: Sequence[Mention], lowered: str, present: Container[str]) -> dict[str, list]:  # type: ignore[type-arg]
    """Mentions sorted by kind; an ambiguous name is settled by the words around it."""
    out: dict[str, list] = {"metric_targets": [], "key_targets": [], "finding": [], "setting": [], "concept": []}  # type: ignore[type-arg]
    critic = bool(CRITIC_WORDS.search(lowered))
    certain_metric = any(m.targets[0].kind == "metric" and not any(t.kind == "setting" for t in m.targets) for m in mentions)
    for mention in mentions:
        kinds = {target.kind for target in mention.targets}
        targets = [t for t in mention.targets if t.kind == "metric"]
        settings = [t for t in mention.targets if t.kind == "setting"]
        if settings and all(t.foreign and t.id not in present for t in targets):
            targets = []
        first_is_metric = mention.targets[0].kind == "metric"
        if targets and settings and (EXPLICIT_SETTING.search(lowered) or (not certain_metric and ADVISED.search(lowered))):
            targets = []
        if targets and settings and not certain_metric and not first_is_metric and SETTING_WORDS.search(lowered):
            targets = []
        if targets and not (settings and certain_metric and settings[0].weight >= targets[0].weight):
            out["metric_targets"].append(_role(targets, critic, lowered, present, {t.id for t in out["metric_targets"]}))
        if "key" in kinds:
            out["key_targets"].append(next(t for t in mention.targets if t.kind == "key"))
        wanted = bool(ADVISED.search(lowered) or SETTING_WORDS.search(lowered))
        if settings and (not targets or settings[0].weight >= targets[0].weight - (1.0 if wanted else 0.0)):
            best = settings[0].weight
            out["setting"].extend(t.id for t in settings[:3] if t.weight == best)
        out["finding"].extend(t.id for t in mention.targets if t.kind == "finding")
        out["concept"].extend(t.id for t in mention.targets if t.kind == "concept")
    return out


def _role(targets: Sequence[Target], critic: bool, lowered: str, present: Container[str], taken: Container[str]) -> Target:
    """Of the metrics that share a name the one whose other words the question has (``rollouter … idle_ratio``), else the
    critic's when it speaks of the critic, else the likeliest."""
    best = [t for t in targets if t.weight >= targets[0].weight - 0.3]
    best = [t for t in best if not t.foreign and t.id in present] or [t for t in best if not t.foreign or t.id in present] or best
    best = [t for t in best if t.id not in taken] or best
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
_NO_NAN = re.compile(
    r"\b(?:no|not|never|without|no longer|don'?t|doesn'?t|isn'?t)\b(?: \w+){0,3} nan\b|\bnan (?:is )?gone\b|(?:不再|没有?|无|"
    r"不会)[^，,。]{0,4}nan"
)
"""NaN is spoken of as what is not there (any more)."""
_AND = re.compile(r"\band\b|和|以及|还有|[,，、]")
_SLASHED = re.compile(r"(?<=[a-z])_(?:max|min|mean)(?:/(?:max|min|mean))+\b")
"""``episode_reward_max/min/mean``: three metrics in one word."""
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
