"""The built-in writer: the intent of the question decides who writes, the rest is common to every answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assistant.answers.grounding.context import Context, asked_settings, words_of
from assistant.answers.writing import (
    about,
    compare,
    decide,
    follow_ups,
    general,
    moments,
    of_run,
    problems,
    reading,
    settings,
    speed,
    steps,
    stretches,
    values,
)
from assistant.answers.writing.brief import brief
from assistant.answers.writing.parts import questions_in
from assistant.lexicon import MAX_QUESTION

TOPICS: Mapping[str, Callable[[Context], list[str]]] = {
    **of_run.TOPIC_WRITERS,
    "stop": decide.stop,
    "checkpoint": decide.checkpoint,
    "worked": decide.worked,
    "thanks": reading.thanks,
    "can_do": reading.can_do,
    "gpu_model": reading.gpu_model,
    "hardware": reading.hardware,
    "data_quality": reading.data_quality,
    "reward_function": reading.reward_function,
    "usual_time": reading.usual_time,
}


def topic(context: Context) -> list[str]:
    """The answer to a question on the run itself, by its topic."""
    return [part for part in TOPICS[context.question.topic](context) if part]


WRITERS: Mapping[str, Callable[[Context], list[str]]] = {
    "why": about.about,
    "normal": about.about,
    "meaning": about.about,
    "about": about.about,
    "change": about.about,
    "value": values.values,
    "trend": values.values,
    "extremes": values.values,
    "compare": compare.compare,
    "time": speed.where_time_goes,
    "stretch": stretches.stretch,
    "moment": moments.moment,
    "happened": steps.happened,
    "two_steps": steps.two_steps,
    "run": topic,
    "range": reading.good_range,
    "gain": reading.gain,
    "reading": reading.reading,
    "statistics": reading.statistics,
    "same": compare.same,
    "top_why": problems.top_why,
    "more": follow_ups.more,
    "sure": follow_ups.sure,
    "others": follow_ups.others,
    "setting": settings.settings,
    "finding": problems.finding,
    "crash": problems.crash,
    "overview": problems.overview,
    "which": general.which_metrics,
    "concept": general.concept,
    "unknown": general.unknown,
}


FACTS = frozenset(
    {
        "version",
        "algorithm",
        "gpus",
        "responses",
        "eta",
        "elapsed",
        "step_seconds",
        "validation_every",
        "steps_done",
        "total_throughput",
        "total_tokens",
        "memory",
        "grad_clip",
        "usual_time",
        "gpu_model",
        "thanks",
        "can_do",
    }
)
"""Topics whose answer is a plain fact: nothing is added on what is more urgent."""


ALSO = 60
"""Words that the answer to a second question in one text has about."""


def write(context: Context) -> str:
    """The answer as Markdown: paragraphs, the verdict first; of several questions in one text each is answered, the later ones shortly."""
    questions = questions_in(context)
    if len(questions) < 2:
        return _write(context)
    main = next((one for one in questions if one.intent != "overview"), questions[0])
    told: list[list[str]] = []
    for question in questions:
        parts = _write(Context(question, context.diagnosis, context.view, context.evidence)).split("\n\n")
        if question is not main:
            fresh = [part for part in parts[1:] if not any(part in earlier for earlier in told)]
            parts = parts[:1]
            for part in fresh if question.intent != "overview" else ():
                if words_of([*parts, part]) <= ALSO:
                    parts.append(part)
        told.append(parts)
    first = told[questions.index(main)][0]
    titles = [context.evidence.title(f) for f in context.diagnosis.faults if context.mentioned(f)]
    kept = [
        parts
        for question, parts in zip(questions, told, strict=True)
        if question is main
        or (parts[0] != first and not (question.intent == "overview" and any(t in parts[0] and t in first for t in titles)))
    ]
    texts = ["\n\n".join(parts) for parts in kept]
    return "\n\n".join([texts[0], *(context.say("also_asked", text=text) for text in texts[1:])])


def _write(context: Context) -> str:
    question = context.question
    named = bool(question.metrics or question.extra_keys)
    writer = WRITERS[question.intent]
    if not question.metrics and question.extra_keys and question.intent in ("why", "normal", "meaning", "about", "change", "compare"):
        writer = values.values
    elif not named and question.intent == "change":
        writer = problems.change
    elif not named and question.unknown_keys and question.intent in ("unknown", "overview"):
        writer = general.unknown_key
    if "crash" in question.properties and writer is about.about:
        no_series = all(context.series(metric) is None for metric in question.metrics)
        if problems.crashed(context):
            writer = problems.crash
        elif no_series and any(name.startswith(("crash", "hang")) for name in question.findings):
            writer = problems.finding
    parts = [part for part in writer(context) if part]
    if parts and question.intent in ("why", "normal", "about", "change") and (beyond := steps.outside(context)):
        parts.insert(1, beyond)
    if question.intent in ("top_why", "why", "change", "finding") and question.earlier:
        keep = context.say("label_do").strip() if "change" in question.intents else ""
        watch = context.say("label_watch").strip()
        fresh = _not_again(parts, question.earlier, keep, watch)
        reason = context.say("label_why").strip()
        lost = "why" in question.intents and any(part.startswith(reason) for part in parts) and not any(p.startswith(reason) for p in fresh)
        parts = follow_ups.more(context) if lost or not fresh else fresh
    if question.settings and question.intent not in ("setting", "value", "meaning", "run", "reading"):
        parts.append(asked_settings(context, "\n".join(parts)))
    if (
        question.intent not in ("overview", "which", "unknown", "concept", "more", "sure", "others")
        and question.topic not in FACTS
        and writer is not general.unknown_key
        and (line := problems.urgent(context))
    ):
        parts.append(line)
    if question.intent not in ("more", "sure", "two_steps"):
        parts = brief(context, parts)
    if len(question.text) > MAX_QUESTION:
        parts.append(context.say("long_question"))
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _not_again(parts: list[str], earlier: str, keep: str, watch: str) -> list[str]:
    """``parts`` without the paragraphs of the answer right before, but for those that begin with ``keep``; none when hardly anything
    would be left."""
    kept = [part for part in parts if part.strip() not in earlier or (keep and part.startswith(keep))]
    if len(kept) == len(parts):
        return parts
    return kept if sum(len(part) for part in kept if not part.startswith(watch)) > 60 else []


def followups(context: Context, most: int = 3) -> list[str]:
    """Questions that lead on from this answer."""
    question = context.question
    asked: list[str] = []
    faults = context.diagnosis.faults
    if question.metrics:
        key = context.key(question.metrics[0])
        if context.series(question.metrics[0]) is not None and question.intent in ("value", "extremes", "meaning"):
            asked.append(context.say("ask_normal", key=key))
        if question.intent in ("normal", "why", "about") and context.series(question.metrics[0]) is not None:
            asked.append(context.say("ask_trend", key=key))
        if question.intent != "meaning":
            asked.append(context.say("ask_meaning", key=key))
    for finding in faults[:2]:
        if finding.id not in question.findings and question.intent != "finding":
            asked.append(context.say("ask_why", title=_title(context, finding.id)))
    if faults and question.intent != "change":
        asked.append(context.say("ask_change"))
    if question.intent != "overview":
        asked.append(context.say("ask_wrong"))
    if context.view["time_step"] is not None and question.intent != "time":
        asked.append(context.say("ask_time"))
    if question.intent != "which":
        asked.append(context.say("ask_which"))
    return list(dict.fromkeys(asked))[:most]


def _title(context: Context, name: str) -> str:
    from assistant.cards import card

    return card(f"findings/{name}").title(context.language)
