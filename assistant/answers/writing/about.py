"""Answers about one metric (or a few): is it normal, why is it so, what does it mean, what should change, and when it is absent."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assistant.answers.grounding.context import (
    BUDGET,
    Context,
    causes,
    course,
    explaining,
    fix_lines,
    grade,
    harmless,
    in_range,
    read_with,
    stem,
    words_of,
)
from assistant.answers.grounding.evidence import length, picked, shortened
from assistant.answers.grounding.relevant import answers, contrary, meant_by, related, show_its_validation, slowed_by
from assistant.answers.understanding.words import CHINESE_TERMS, COMMON
from assistant.answers.writing.duration import largest_timer
from assistant.answers.writing.problems import crashed, reasons_of, root, told, verdict_on_run
from assistant.answers.writing.ranges import in_stretch
from assistant.answers.writing.verdict import verdict
from assistant.cards import Card
from assistant.diagnosis.finding import Finding
from assistant.diagnosis.naming import family

WHOLE_LINE = 25
"""Metrics of a log below which its step lines are taken to be excerpts."""

_NO_ANSWER = frozenset({"metric-missing", "no-critic-by-design", "log-incomplete", "too-early-to-tell"})
"""Findings that only say why something is absent."""
_FIELDS = {
    "missing": ("absent",),
    "nan": ("nan",),
    "zero": ("zero",),
    "negative": ("negative",),
    "positive": ("positive",),
}


def about(context: Context) -> list[str]:
    """Verdict, values, reason, what to do, what to watch, for the metrics that the question names."""
    metrics = _present_first(context)
    main = metrics[0]
    if context.series(main) is None:
        return absent_with_cause(context, main)
    intent = context.question.intent
    faults_and_infos, touching = explaining(context, metrics)
    own, _ = explaining(context, [main])
    leading = _leading(context, own) or _leading(context, [f for f in faults_and_infos if f.severity in ("critical", "high", "medium")])
    leading = leading or related(context, main) or _that_shows(context, main, touching) or slowed_by(context, main)
    if leading is not None and (nearer := meant_by(context, main, leading)):
        metrics, main = [nearer, *(m for m in metrics if m not in (main, nearer))], nearer
    show_its_validation(context, main, leading)
    found = context.evidence.metric_card(main)
    asked = context.question.metrics[0]
    missed = not_here(context, asked) if context.series(asked) is None and stem(asked) != stem(main) else ""
    parts = [missed, verdict(context, main, leading)] if intent == "meaning" else [verdict(context, main, leading), missed]
    if leading is not None:
        parts.append(context.evidence.summary(leading))
    if intent == "meaning":
        parts.insert(0 if leading is not None else 2, context.evidence.text_of(found, "short"))  # after a "no" to what is taken for granted
    elif intent == "normal" and parts[0].startswith(context.say("fault_near", key="\0", title="", since="").partition("\0")[0]):
        parts.insert(0, context.glue(_property_text(context, main, found, 25)))
    values = _values(context, metrics, leading)
    if context.question.window is not None and (shape := context.curve(main)) is not None:
        values = context.glue([values, in_stretch(context, shape)])
    if main.startswith(("throughput", "mfu", "seconds_per_step", "time_")):
        values = context.glue([values, largest_timer(context, main)])
    parts.append(values)
    parts.extend(_why(context, main, leading, found, words_of(parts) + (60 if leading is not None and leading.severity != "info" else 20)))
    parts.append(_do(context, main, leading, found))
    parts.append(_watch(context, main, leading, words_of(parts)))
    parts = list(dict.fromkeys(parts))
    others = [f for f in [*faults_and_infos, *touching] if f is not leading and f.severity != "info" and not context.mentioned(f)]
    if others and words_of(parts) < BUDGET:
        parts.append(context.say("also_named", titles=context.joined([context.titled(f) + context.since(f) for f in others[:2]])))
    return parts


def _that_shows(context: Context, metric: str, touching: Sequence[Finding]) -> Finding | None:
    """A grave fault that rests on the metric among others, when the question asks for a reason or a remedy."""
    series = context.series(metric)
    if series is None or not context.question.intents & {"why", "change"}:
        return None
    grave = (f for f in touching if f.severity in ("critical", "high"))
    return next((f for f in grave if any(q.metric == series.name for q in f.facts.values())), None)


def _present_first(context: Context) -> list[str]:
    """The first metric asked for leads, unless only a later one is in the log and the question is not about absence."""
    metrics = list(context.question.metrics)
    if "missing" in context.question.properties:
        return metrics
    return sorted(metrics, key=lambda name: (context.series(name) is None, not _has_said_sign(context, name)))[:3]


def _has_said_sign(context: Context, metric: str) -> bool:
    """Whether the metric is what the question calls zero, negative or NaN; True when it calls nothing so."""
    said = context.question.properties & {"zero", "negative", "nan"}
    shape = context.curve(metric)
    if len(said) != 1 or shape is None:
        return True
    values = shape.series.values
    return bool({"zero": values == 0, "negative": values < 0, "nan": ~shape.series.finite}[next(iter(said))].any())


def _leading(context: Context, found: list[Finding]) -> Finding | None:
    """The finding to lead with: one that the question names, else the gravest about the metric."""
    named = [f for f in context.diagnosis.findings if f.id in context.question.findings and not contrary(context, f)]
    found = [f for f in found if f.severity != "info" or answers(context, f)]
    pool = list(dict.fromkeys([f.id for f in (*named, *found)]))
    by_id = {f.id: f for f in (*named, *found)}
    faults = [by_id[name] for name in pool if by_id[name].severity != "info"]
    if faults:
        return min(faults, key=lambda f: (grade(f), f not in named))
    return next(iter(named or found), None)


def _values(context: Context, metrics: list[str], leading: Finding | None) -> str:
    rows = [course(context, metric, short=index > 0) for index, metric in enumerate(metrics) if context.series(metric) is not None]
    if rows and (shape := context.curve(metrics[0])) is not None:
        rows.insert(1, context.scaled_note(shape))
    if leading is None and context.question.intent in ("normal", "about"):
        rows.append(in_range(context, metrics[0]))
    text = context.glue(rows)
    return context.say("label_values") + text if text else ""


def _why(context: Context, metric: str, leading: Finding | None, found: Card | None, used: int) -> list[str]:
    """Reasons: the finding's causes, else what the cards say about the property asked for; then version and misreadings."""
    q = context.question
    terms = terms_of(context)
    parts: list[str] = []
    own = _property_text(context, metric, found, 60)
    if q.intent == "meaning":
        parts.append(_labelled(context, "label_meaning", shortened(context.evidence.text_of(found, "definition"), 70, q.language)))
        parts.append(_labelled(context, "label_why", context.glue(own)) if q.properties else "")
    elif leading is not None and leading.severity != "info":
        parts.append(_labelled(context, "label_why", reasons_of(context, leading)))
        parts.append(context.glue(own[:1]) if q.properties and root(context, leading) is leading else "")
    else:
        reasons = (
            [causes(context, leading, 2)] if leading is not None and not harmless(leading) else [] if own else [_named_finding(context)]
        )
        parts.append(_labelled(context, "label_why", context.glue([*own, *reasons])))
    led = leading is not None and leading.severity != "info"
    healthy = context.evidence.text_of(found, "healthy")
    heard = _may_have_read(context, found, terms, always=not led)
    optional = [  # in the order shown, with how much each is worth
        (3, "label_meaning", shortened(context.evidence.text_of(found, "short"), 45, q.language) if leading is None else ""),
        (
            1 if speaks(healthy, terms) else 4,
            "label_healthy",
            picked(healthy, terms, 40, q.language) if leading is None or not led else "",
        ),
        (2, "label_version", shortened(context.glue(context.evidence.era_notes(found)), 45, q.language)),
        (1 if speaks(heard, terms) else 3, "", heard),
        (
            _worth_of_similar(context, similar := context.evidence.text_of(found, "lookalikes"), terms),
            "label_similar",
            alike if length(alike := picked(similar, terms, 35, q.language)) >= 8 else "",
        ),
    ]
    if q.intent == "change":
        optional = optional[3:]
    elif q.intent == "meaning":
        optional = optional[1:]
    return [*parts, *_that_fit(context, optional, BUDGET - used - words_of(parts))]


def _worth_of_similar(context: Context, text: str, terms: list[str]) -> int:
    if speaks(text, terms):
        return 2
    return 5 if context.question.intent == "meaning" else 0


def _that_fit(context: Context, optional: Sequence[tuple[int, str, str]], room: int) -> list[str]:
    """The texts worth most (1 first, 0 nothing) that fit into ``room`` words, in their own order."""
    chosen = set()
    for index in sorted(range(len(optional)), key=lambda i: optional[i][0]):
        worth, _, text = optional[index]
        if worth and text and words_of([text]) <= room:
            chosen.add(index)
            room -= words_of([text])
    return [_labelled(context, label, text) if label else text for i, (_, label, text) in enumerate(optional) if i in chosen]


def _labelled(context: Context, label: str, text: str) -> str:
    return context.say(label) + text if text else ""


def _property_text(context: Context, metric: str, found: Card | None, words: int) -> list[str]:
    """What the card says about being zero, negative, NaN: of what the question says, else of what the last value is."""
    said = [name for name in ("nan", "zero", "negative", "positive") if name in context.question.properties]
    if not said and context.question.intent in ("why", "normal", "about"):
        shape = context.curve(metric)
        if shape is not None and shape.last is None and len(shape.series):
            said = ["nan"]
        elif shape is not None and shape.last is not None:
            value = shape.value(shape.last)
            said = ["zero"] if value == 0 else ["negative"] if value < 0 else []
    out = []
    for name in said[:2]:
        text = context.evidence.text_of(found, *_FIELDS[name])
        if length(text) >= 8:  # shorter ones only point elsewhere
            out.append(shortened(text, words, context.language))
    return out


def _named_finding(context: Context) -> str:
    """What a finding's card says in general, when the question describes it but the log does not show it."""
    for name in context.question.findings:
        if any(f.id == name for f in context.diagnosis.findings):
            continue
        found = context.evidence.cite(f"findings/{name}")
        if found and found.front.get("severity") == "info" and (body := found.body.get(context.language)):
            return shortened(re.sub(r"[*#>]", "", body.split("\n\n")[0]), 70, context.language)
    return ""


def _may_have_read(context: Context, found: Card | None, terms: list[str], *, always: bool = True) -> str:
    """The card's correction of a common misreading, when the question comes near it."""
    text = context.evidence.text_of(found, "may_have_read")
    if not text or context.question.intent not in ("why", "normal", "meaning", "about", "change"):
        return ""
    if (not always or context.question.intent == "change") and not speaks(text, terms):
        return ""
    text = shortened(text, 75, context.language)
    if text.startswith(("You may have", "你可能")):
        return text
    if context.language == "en":
        that = re.match(r"(?i)that ", text)
        return context.say("may_have_read_that", text=text[5:]) if that else context.say("may_have_read", text=text)
    return context.say("may_have_read", text=text)


def terms_of(context: Context) -> list[str]:
    """Words of the question that may decide which sentence of a card answers it."""
    q = context.question
    own = {part for key in (context.key(m) for m in q.metrics) for part in re.split(r"\W+", key)}
    words = [w for w in re.findall(r"[a-z_]{4,}", q.text.lower()) if w not in own and w not in COMMON]
    words += re.findall(r"\d+\.\d+", q.text)
    words += [setting.rpartition(".")[2] for setting in q.settings]
    if q.language == "zh":
        words += [w for w in re.findall(r"[\u3400-\u9fff]{2,4}", q.text) if w not in ("为什么", "是不是", "正常吗", "什么")]
        words += [name for name in CHINESE_TERMS if name in q.text]
    words += [
        word
        for name, word in (("positive", "positive"), ("negative", "negative"), ("positive", "为正"), ("negative", "为负"))
        if name in q.properties
    ]
    return list(dict.fromkeys(words))


def speaks(text: str, terms: list[str]) -> bool:
    lowered = text.lower()
    return any(term in lowered for term in terms)


def _do(context: Context, metric: str, leading: Finding | None, found: Card | None) -> str:
    q = context.question
    if q.intent == "meaning" and (leading is None or leading.severity == "info"):
        return ""
    if (
        leading is not None
        and not harmless(leading)
        and (lines := fix_lines(context, root(context, leading), 2 if leading.severity != "info" else 1))
    ):
        return context.say("label_do") + ("\n".join(["", *(f"- {line}" for line in lines)]) if len(lines) > 1 else lines[0])
    if leading is not None and leading.severity == "info":
        return context.say("label_do") + context.say("nothing_to_do") if q.intent in ("why", "normal", "change") else ""
    advice = context.evidence.text_of(found, "advice")
    if leading is None and "change" in q.intents:
        shown = picked(advice, terms_of(context), 60, q.language)
        return context.say("label_do") + context.glue([context.say("nothing_to_do_metric"), shown])
    if leading is not None and advice:
        return context.say("label_do") + shortened(advice, 50, q.language)
    if q.intent in ("normal", "why") and advice and speaks(advice, [s.rpartition(".")[2] for s in q.settings]):
        return context.say("label_do") + picked(advice, terms_of(context), 45, q.language)
    return ""


def _watch(context: Context, metric: str, leading: Finding | None, used: int) -> str:
    if leading is not None and leading.severity != "info":
        return ""
    if used > BUDGET or context.question.intent not in ("why", "normal", "about"):
        return ""
    text = read_with(context, metric)
    return context.say("label_watch") + text if text else ""


def absent_with_cause(context: Context, metric: str) -> list[str]:
    """The metric is absent: when the log holds a grave fault and the question asks why, the fault is the answer."""
    faults = [f for f in context.diagnosis.faults if f.severity in ("critical", "high")]
    named = [f for f in context.diagnosis.findings if f.id in context.question.findings and f.severity != "info"]
    grades = ("critical", "high", "medium", "low") if "change" in context.question.intents else ("critical", "high")
    near = [f for group in explaining(context, [metric]) for f in group if f.severity in grades]
    if ("missing" in context.question.properties and not named) or context.question.intent == "meaning":
        return absent(context, metric)
    asks = context.question.intents & {"why", "change", "normal"} and context.question.intent not in ("value", "extremes", "trend")
    stopped = crashed(context) if asks else []
    lead = next(iter([*named, *near, *stopped, *(faults if asks else [])]), None)
    odd = next((f for f in context.diagnosis.findings if f.id in context.question.findings and f.severity == "info"), None)
    if not named and odd is not None and asks and odd.id not in _NO_ANSWER:
        return told(context, odd)
    if lead is None:
        return absent(context, metric)
    if context.question.intent == "normal" and lead not in (*named, *near):  # another fault says nothing about this metric
        return [*absent(context, metric), verdict_on_run(context)]
    return [*told(context, lead), context.glue([not_here(context, metric), _hint(context)])]


def not_here(context: Context, metric: str) -> str:
    """That the log does not print the metric."""
    key, asked = context.key(metric), context.question.key_of(metric)
    found = context.evidence.metric_card(metric)
    if asked or "/" in key:
        return context.say("absent", key=asked or key)
    return context.say("absent_title", title=found.title(context.language) if found else key)


def _hint(context: Context) -> str:
    return context.say("absent_hint") if len(context.diagnosis.run.columns) < WHOLE_LINE else ""


def absent(context: Context, metric: str) -> list[str]:
    """The metric is not in the log: say so, why that can be, and what it would tell."""
    found = context.evidence.metric_card(metric)
    lead = not_here(context, metric)
    about_it, _ = explaining(context, [metric])
    reason = next((f for f in about_it if f.severity == "info"), None) or (about_it[0] if about_it else None)
    meaning = _labelled(context, "label_meaning", shortened(context.evidence.text_of(found, "short"), 45, context.language))
    asks_meaning = context.question.intent == "meaning"
    parts = [meaning, lead] if asks_meaning else [lead]
    if asks_meaning:
        parts.append(_labelled(context, "label_healthy", shortened(context.evidence.text_of(found, "healthy"), 40, context.language)))
    own_terms = context.diagnosis.run.framework == "unknown" or family(context.diagnosis.run.framework) == "verl"
    if reason is not None and reason.severity == "info" and not asks_meaning and reason.id not in _NO_ANSWER and not own_terms:
        key = "harmless" if harmless(reason) else "info"
        parts[0] = context.say(key, title=context.titled(reason), since="")  # what was asked about is answered by it
        parts.append(context.evidence.summary(reason))
    elif reason is not None:
        parts.append(context.say("label_why") + context.evidence.summary(reason))
    elif own_terms and (text := context.evidence.text_of(found, "absent")):  # the cards speak of verl there
        parts.append(context.say("label_why") + shortened(text, 70, context.language))
    if reason is None:
        parts.append(_hint(context))
    if not asks_meaning:
        parts.append(meaning)
    own = _property_text(context, metric, found, 55)
    if own:
        parts.append(context.say("label_general") + context.glue(own))
    if heard := _may_have_read(context, found, terms_of(context)):
        parts.append(heard)
    if reason is None and "missing" not in context.question.properties and (near := read_with(context, metric)):
        parts.append(near)
    return parts
