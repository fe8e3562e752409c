"""The knowledge card that a name means, in the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from assistant.cards import Card, pick
from assistant.config_cards import keys as config_keys
from assistant.config_cards import names as spelled
from assistant.messages import Language, say

SECTIONS = (
    "definition",
    "zero",
    "negative",
    "nan",
    "absent",
    "healthy",
    "lookalikes",
    "advice",
    "effect",
    "safe",
    "pitfalls",
    "may_have_read",
)


def card_json(card: Card) -> dict[str, Any]:
    return {"card": card.id, **card.front, "body": dict(card.body)}


def print_card(card: Card, language: Language, console: Console | None = None) -> None:
    console = console or Console(highlight=False)
    front = card.front
    console.print(Text(card.title(language), style="bold"))
    keys = [k["key"] if isinstance(k, dict) else k for m in front.get("metrics", ()) for ks in m.get("names", {}).values() for k in ks]
    console.print(Text(" · ".join([card.id, *keys[:6]]), style="dim"))
    if short := pick(front.get("short"), language):
        console.print(Text(short))
    console.print()
    console.print(Markdown(card.body.get(language) or next(iter(card.body.values()), "")))
    console.print()
    for section in SECTIONS:
        if text := pick(front.get(section), language):
            label = "healthy_curve" if section == "healthy" else section
            console.print(Text.assemble((say(f"cli.{label}", language) + ": ", "bold"), text))
    for row in front.get("eras", ()):
        console.print(Text.assemble((f"{say('cli.versions', language)} {row['when']}: ", "bold"), pick(row, language)))
    for row in front.get("ranges", ()):
        span = "–".join(str(row[k]) for k in ("low", "high") if k in row)
        console.print(Text.assemble((f"{say('cli.ranges', language)} {span} ({row.get('basis', '')}): ", "bold"), pick(row, language)))
    _rows(console, say("cli.defaults", language), [_defaults(card, key) for key in (config_keys(card) if card.folder == "config" else ())])
    _rows(console, say("cli.thresholds", language), [_threshold(k, v) for k, v in (front.get("thresholds") or {}).items()])
    _rows(console, say("cli.causes", language), [pick(row, language) for row in front.get("causes", ())])
    _rows(console, say("cli.fixes", language), [_fix(row, language) for row in front.get("fixes", ())])
    _rows(console, say("cli.rules_out", language), [pick(row, language) for row in front.get("rules_out", ())])
    if needs := front.get("needs"):
        console.print(Text.assemble((say("cli.needs", language) + ": ", "bold"), str(needs)))
    if sources := front.get("sources"):
        console.print(Text(say("cli.sources", language) + ": " + "; ".join(map(str, sources)), style="dim"))


def _rows(console: Console, label: str, rows: list[str]) -> None:
    if rows:
        console.print(Text(label, style="bold"))
        for row in rows:
            console.print(Text("  · " + row))


def _defaults(card: Card, key: str) -> str:
    """A setting's default by version, and its older spellings."""
    value = card.front.get("default")
    value = value if "key" in card.front else (value or {}).get(key)
    listed = [f"{one} ({when})" for when, one in value.items()] if isinstance(value, dict) else [str(value)]
    older = [f"{name} ({when})" for when, name in spelled(card, key).items()]
    return f"{key} = {', '.join(listed)}" + (f" · {', '.join(older)}" if older else "")


def _threshold(name: str, row: Any) -> str:
    if not isinstance(row, dict):
        return f"{name} = {row}"
    return f"{name} = {row['value']} {row.get('unit', '')} ({row.get('basis', 'heuristic')})".replace("  ", " ")


def _fix(row: dict[str, Any], language: Language) -> str:
    key = row.get("key")
    names = key if isinstance(key, str) else ", ".join(f"{k} ({era})" for era, k in key.items()) if key else ""
    to = row.get("to")
    change = f"{names} → {to}" if names and to is not None else names
    return ": ".join(part for part in (change, pick(row.get("why"), language)) if part)
