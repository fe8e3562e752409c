"""What is searched of a card: its names, the questions it answers, its text; and what it covers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from assistant.cards import Card
from assistant.lexicon import setting_keys, texts
from assistant.spoken_names import PLAIN_NAMES, SETTING_ALIASES

_SECTIONS = (
    "definition",
    "zero",
    "negative",
    "positive",
    "nan",
    "absent",
    "healthy",
    "lookalikes",
    "advice",
    "may_have_read",
    "effect",
    "safe",
    "pitfalls",
    "needs",
)


@dataclass(frozen=True, slots=True)
class Document:
    """``fields`` are texts by their weight class (names, title, ask, short, text), ``passages`` what is embedded, one vector each."""

    card: str
    fields: Mapping[str, str]
    passages: tuple[str, ...]


def document(card: Card) -> Document:
    front = card.front
    titles, short = texts(front.get("title")), texts(front.get("short"))
    aliases, asked = _aliases(card), texts(front.get("questions"))
    says = [_without_placeholders(text) for text in texts(front.get("says"))]
    causes = [text for row in _rows(front, "causes") for text in _both(row)]
    fixes = [text for row in _rows(front, "fixes") for text in texts(row.get("why"))]
    sections = [text for name in _SECTIONS for text in texts(front.get(name))]
    rows = [text for part in ("eras", "ranges", "rules_out") for row in _rows(front, part) for text in _both(row)]
    bodies = [body for body in card.body.values() if body]
    fields = {
        "names": "\n".join([card.id.partition("/")[2], *own_keys(card), *aliases]),
        "title": "\n".join(titles),
        "ask": "\n".join([*asked, *texts(front.get("fragments"))]),
        "short": "\n".join([*short, *says]),
        "text": "\n".join([*sections, *rows, *causes, *fixes, *bodies]),
    }
    passages = [*titles, *asked, *short, *says[:4], *(", ".join(group) for group in _grouped(aliases, 6))]
    return Document(card.id, fields, tuple(dict.fromkeys(p.strip() for p in passages if p and p.strip())))


def own_keys(card: Card) -> list[str]:
    """Printed keys and canonical ids of a metric card, config keys of a config card, the id of a finding, the kind of an error."""
    front = card.front
    stem = card.id.partition("/")[2]
    if card.folder == "metrics":
        return _once(name for metric in front.get("metrics") or () for name in (*_printed(metric), str(metric.get("id", ""))))
    if card.folder == "config":
        return setting_keys(front) or [stem]
    if card.folder == "errors":
        return _once([stem, str(front.get("kind", ""))])
    return [stem]


def own_names(card: Card) -> list[str]:
    """Everything the card is called: its keys, aliases and titles."""
    return _once([*own_keys(card), *_aliases(card), *texts(card.front.get("title"))])


def covers(card: Card, cards: Mapping[str, Card]) -> list[str]:
    """What the card answers for: its own names, and the keys and ids of what it links to.

    A metric's card explains the findings it names, a finding's card the metrics it is read from and the settings it changes.
    """
    linked: list[str] = []
    front = card.front
    targets = [str(target) for target in front.get("related") or ()]
    if card.folder == "errors":
        targets.insert(0, f"findings/{front.get('finding')}")
    for target in targets:
        other = cards.get(target)
        if other is not None and other.folder in ("metrics", "findings", "config"):
            linked.extend(own_keys(other))
    linked.extend(key for fix in _rows(front, "fixes") for key in fix_keys(fix))
    return _once([*own_names(card), *linked])


def fix_keys(fix: Mapping[str, Any]) -> list[str]:
    key = fix.get("key")
    found = key.values() if isinstance(key, Mapping) else (key,)
    return [str(one) for one in found if one]


def elsewhere(card: Card) -> list[str]:
    """What other frameworks call the metrics of the card, and examples of keys that are known by their shape."""
    return [*texts(card.front.get("elsewhere")), *texts(card.front.get("examples"))]


def _aliases(card: Card) -> list[str]:
    front = card.front
    found = texts(front.get("aliases"))
    for metric in front.get("metrics") or () if card.folder == "metrics" else ():
        found.extend(texts(metric.get("aliases")))
        found.extend(name for name, metrics in PLAIN_NAMES.items() if metric.get("id") in metrics)
        found.extend(short for key in _printed(metric) for short in _short_forms(key))
    found.extend(elsewhere(card))
    if card.folder == "config":
        found.extend(alias for key in setting_keys(front) for alias in SETTING_ALIASES.get(key, ()))
    return _once(found)


def _printed(metric: Mapping[str, Any]) -> Iterator[str]:
    for names in (metric.get("names") or {}).values():
        for name in names:
            yield str(name["key"] if isinstance(name, Mapping) else name)


def _short_forms(key: str) -> Iterator[str]:
    """``actor/grad_norm`` is also called ``grad_norm``; ``critic/score/mean`` has no shorter name of its own."""
    last = key.rpartition("/")[2]
    if "/" in key and "_" in last:
        yield last


def _without_placeholders(text: str) -> str:
    return " ".join("…" if "{" in word else word for word in text.split())


def _rows(front: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = front.get(name)
    return [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []


def _both(row: Mapping[str, Any]) -> list[str]:
    return [str(row[language]) for language in ("en", "zh") if row.get(language)]


def _grouped(items: list[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _once(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(item for item in items if item))
