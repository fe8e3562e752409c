"""Settings: what the log's configuration says, else the default of the version as far as a card knows it."""

from __future__ import annotations

import re
from typing import Any

from assistant.answers.grounding.context import Context, asked_settings, course, fix_lines
from assistant.answers.grounding.evidence import code, picked, plain_value, shortened
from assistant.answers.understanding.words import ADVISED
from assistant.answers.writing.about import speaks, terms_of
from assistant.answers.writing.problems import root
from assistant.cards import Card, in_folder, pick
from assistant.config_cards import UNLISTED, card_of
from assistant.config_cards import default as default_of
from assistant.derived import responses_per_step
from assistant.diagnosis import render
from assistant.diagnosis.finding import Finding
from assistant.diagnosis.settings import bounds
from assistant.diagnosis.settings import settings as known_settings
from assistant.lexicon import normal

MOST = 3
_SEVERAL = re.compile(r"\band\b|和|以及|还有|[,，、]", re.IGNORECASE)
BATCH = "data.train_batch_size"


def settings(context: Context) -> list[str]:
    keys = _present_first(context)
    advice = bool(ADVISED.search(normal(context.question.text))) or bool(context.question.intents & {"change", "normal"})
    speaking = next((f for f in context.diagnosis.findings if _speaks_of(context, f, keys)), None)
    parts: list[str] = [_verdict(context, speaking)] if advice else []
    for key in keys[:MOST]:
        if "why" in context.question.intents and (reason := _reason(context, key)):
            parts.append(reason)
        parts.append(_one(context, key))
        if key == BATCH and key not in context.diagnosis.run.config and (derived := responses_per_step(context.view)) is not None:
            parts.append(
                context.say(
                    "responses_derived", n=context.evidence.derived(derived.value, derived.formula, text=str(int(derived.value))).text
                )
            )
        if about := card_of(key):
            context.evidence.cite(about.id)
            if text := pick(about.front.get("short"), context.language):
                parts.append(context.say("label_meaning") + shortened(text, 60, context.language))
            if advice:
                parts.extend(_advice(context, about))
    if speaking is not None and not advice:
        parts.append(context.glue([context.say("setting_advice", title=context.titled(speaking)), context.evidence.summary(speaking)]))
        parts.append(asked_settings(context, ""))
    return parts


def _verdict(context: Context, speaking: Finding | None) -> str:
    """Whether to change the settings asked for: what a finding proposes, else that none does and what it proposes instead."""
    cause = root(context, speaking) if speaking is not None else None
    if (
        speaking is not None
        and cause is not None
        and cause is not speaking
        and not _speaks_of(context, cause, list(context.question.settings))
    ):
        lines = fix_lines(context, cause, 1)
        lead = context.say(
            "setting_not_first",
            title=context.titled(speaking) + context.since(speaking),
            cause=context.titled(cause) + context.since(cause),
            fix=lines[0] if lines else "",
        )
        own = asked_settings(context, "").removeprefix(context.say("label_setting"))
        return context.glue([lead, context.say("setting_then", fix=own) if own else ""])
    if speaking is not None:
        lead = context.say("setting_asked", title=context.titled(speaking) + context.since(speaking))
        return context.glue([lead, asked_settings(context, "").removeprefix(context.say("label_setting"))])
    parts = [context.say("setting_no_reason")]
    grave = next((f for f in context.diagnosis.faults if f.severity in ("critical", "high", "medium")), None)
    if grave is not None and not context.mentioned(grave) and (lines := fix_lines(context, root(context, grave), 1)):
        parts.append(context.say("setting_ask_instead", title=context.titled(grave) + context.since(grave), fix=lines[0]))
    return context.glue(parts)


def _reason(context: Context, key: str) -> str:
    """What the card says to mind of a setting, when it speaks of the question's own words."""
    about, terms = card_of(key), terms_of(context)
    text = pick(about.front.get("pitfalls"), context.language) if about else ""
    return picked(text, terms, 40, context.language) if text and speaks(text, terms) else ""


def _advice(context: Context, about: Card) -> list[str]:
    """What the setting does, usual values, what to mind, and the metrics of this log that show it."""
    out = []
    for name, label in (("effect", "setting_effect"), ("safe", "setting_safe"), ("pitfalls", "setting_pitfall")):
        if text := pick(about.front.get(name), context.language):
            out.append(context.say(label, text=shortened(text, 60, context.language)))
    rows = []
    for metric in about.front.get("shows") or ():
        if (shape := context.curve(str(metric))) is not None:
            rows.append(context.glue([course(context, str(metric), short=True), context.scaled_note(shape)]))
    if rows:
        out.append(context.say("setting_shows", text=context.glue(rows[:3])))
    return out


def _present_first(context: Context) -> list[str]:
    """Of settings that share a name, those that the log shows: in its config, else in its metrics."""
    run, asked = context.diagnosis.run, list(context.question.settings)
    known = known_settings(run)
    if _SEVERAL.search(context.question.text) and 1 < len(asked) <= MOST:
        return [key for key in asked if "." in key or key in run.config] or asked
    return [key for key in asked if key in run.config] or [key for key in asked if key in known] or asked[:1]


def _one(context: Context, key: str) -> str:
    run = context.diagnosis.run
    if key in run.config:
        fact = context.evidence.config(key, run.config[key])
        value = fact.text if isinstance(fact.value, float) else code(fact.text)
        line = run.config_lines.get(key)
        if line is None:
            return context.say("setting_is_noline", key=key, value=value)
        return context.say("setting_is", key=key, value=value, line=context.evidence.count(line, f"line of {key}").text)
    reason = context.say("setting_no_config" if not run.config else "setting_not_set")
    seen = bounds(run, key)
    shown = known_settings(run).get(key, seen.exact)
    parts = [context.say("setting_absent", key=key, config="" if shown is not None else reason)]
    if shown is not None:
        real = str(shown) if isinstance(shown, bool) else shown
        fact = context.evidence.derived(real, f"{key} as the metrics give it", text=plain_value(shown))
        parts.append(context.say("setting_seen", value=fact.text))
        return context.glue(parts)
    default = _default(context, key)
    if default is not None and seen.allows(default):
        parts.append(context.say("setting_default", value=code(plain_value(default))))
    return context.glue(parts)


def _default(context: Context, key: str) -> Any:
    """Default of the key in this version, from its card or from a card that proposes to change it; None when the version is unknown."""
    era = context.diagnosis.run.era
    if era == "unknown":
        return None
    about = card_of(key)
    if about is not None and (value := default_of(key, era)) is not UNLISTED:
        context.evidence.cite(about.id)
        return value
    for found in in_folder("findings"):
        for fix in found.front.get("fixes") or ():
            if render.by_era(fix.get("key"), era) == key and (default := render.by_era(fix.get("default"), era)) is not None:
                context.evidence.cite(found.id)
                return default
    return None


def _speaks_of(context: Context, finding: Finding, keys: list[str]) -> bool:
    return any(fix["key"] in keys for fix in render.fixes(finding, context.diagnosis.run, context.language))
