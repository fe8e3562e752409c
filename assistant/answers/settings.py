"""Settings: what the log's configuration says, else the default of the version as far as a card knows it."""

from __future__ import annotations

from typing import Any

from assistant.answers.context import Context
from assistant.answers.evidence import code, plain_value, shortened
from assistant.cards import in_folder, pick
from assistant.config_cards import UNLISTED, card_of
from assistant.config_cards import default as default_of
from assistant.diagnosis import render
from assistant.diagnosis.finding import Finding

MOST = 3


def settings(context: Context) -> list[str]:
    keys = _present_first(context)
    parts: list[str] = []
    for key in keys[:MOST]:
        parts.append(_one(context, key))
        if about := card_of(key):
            context.evidence.cite(about.id)
            if text := pick(about.front.get("short"), context.language):
                parts.append(context.say("label_meaning") + shortened(text, 60, context.language))
    for finding in context.diagnosis.findings:
        if _speaks_of(context, finding, keys):
            parts.append(context.glue([context.say("setting_advice", title=context.titled(finding)), context.evidence.summary(finding)]))
            break
    return parts


def _present_first(context: Context) -> list[str]:
    config = context.diagnosis.run.config
    asked = list(context.question.settings)
    return [key for key in asked if key in config] or asked[:1]


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
    parts = [context.say("setting_absent", key=key, config=reason)]
    default = _default(context, key)
    if default is not None:
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
