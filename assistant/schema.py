"""What a well-formed card is: used by the tests and ``make check``, never at run time.

``problems()`` lists everything that is wrong with the cards of a folder, one line each, so that a person who edits a card
sees all of it at once. Run ``python -m assistant.schema`` for the cards and guides of this installation.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from assistant.card_models import MODELS, different_numbers, numbers
from assistant.cards import Card, cards

__all__ = ["MODELS", "canonical_ids", "card_problems", "different_numbers", "numbers", "problems", "references"]

_CHINESE = re.compile(r"[\u4e00-\u9fff]")


def problems(all_cards: Mapping[str, Card] | None = None) -> list[str]:
    """Everything that is wrong with the cards (those of this installation by default), one line each."""
    found = cards() if all_cards is None else all_cards
    return [*(p for card in found.values() for p in card_problems(card)), *_unknown_references(found), *_duplicates(found)]


def card_problems(card: Card) -> Iterator[str]:
    """What is wrong with one card taken alone: its front matter, its body in both languages."""
    if model := MODELS.get(card.folder):
        try:
            model.model_validate(dict(card.front))
        except ValidationError as error:
            for item in error.errors():
                yield f"{card.id}: {'.'.join(str(part) for part in item['loc'])}: {item['msg']}"
    for language in ("en", "zh"):
        if not card.body.get(language, "").strip():
            yield f"{card.id}: no text under '## {language}'"
    if card.body.get("zh") and not _CHINESE.search(card.body["zh"]):
        yield f"{card.id}: the text under '## zh' is not Chinese"
    if card.folder in ("metrics", "concepts", "guides", "config", "frameworks") and (
        different := different_numbers(card.body.get("en", ""), card.body.get("zh", ""))
    ):
        yield f"{card.id}: numbers differ between the two bodies: {different}"


def references(all_cards: Mapping[str, Card]) -> Iterator[tuple[str, str]]:
    """(card, the card it points to) for every ``related``, ``follows_from`` and ``finding``; canonical metrics as ``metric:<id>``."""
    for card in all_cards.values():
        front = card.front
        yield from ((card.id, target) for target in front.get("related", ()))
        yield from ((card.id, f"findings/{name}") for name in front.get("follows_from", ()))
        yield from ((card.id, f"metric:{name}") for field in ("watch_with", "shows") for name in front.get(field, ()))
        if card.folder == "errors":
            yield card.id, f"findings/{front.get('finding')}"


def canonical_ids(all_cards: Mapping[str, Card]) -> list[str]:
    return [metric["id"] for card in all_cards.values() for metric in card.front.get("metrics", ()) if "id" in metric]


def _unknown_references(all_cards: Mapping[str, Card]) -> Iterator[str]:
    known = {*all_cards, *(f"metric:{name}" for name in canonical_ids(all_cards))}
    for source, target in references(all_cards):
        if target not in known:
            yield f"{source}: points to {target}, which does not exist"
    for card in all_cards.values():
        finding = all_cards.get(f"findings/{card.front.get('finding')}")
        if card.folder != "errors" or finding is None:
            continue
        for part in ("causes", "fixes"):
            if missing := set(card.front.get(part, ())) - {entry["id"] for entry in finding.front.get(part, ())}:
                yield f"{card.id}: {part} not in {finding.id}: {sorted(missing)}"
        if (variant := card.front.get("variant")) and variant not in finding.front.get("says", {}):
            yield f"{card.id}: variant {variant!r} is no sentence of {finding.id}"


def _duplicates(all_cards: Mapping[str, Card]) -> Iterator[str]:
    """A canonical id, an alias and (without a condition) a printed key must point to one metric only."""
    for name, n in Counter(canonical_ids(all_cards)).items():
        if n > 1:
            yield f"canonical id {name} is used {n} times"
    owners: dict[str, set[str]] = {}
    for metric in (metric for card in all_cards.values() for metric in card.front.get("metrics", ())):
        for alias in (alias for side in metric.get("aliases", {}).values() for alias in side):
            owners.setdefault(f"alias {alias.lower()!r}", set()).add(metric["id"])
        for framework, names in metric.get("names", {}).items():
            for key in (name for name in names if isinstance(name, str)):
                owners.setdefault(f"key {key!r} of {framework}", set()).add(metric["id"])
    for name, metrics in owners.items():
        if len(metrics) > 1:
            yield f"{name} names several metrics: {sorted(metrics)}"


def main() -> int:
    from assistant.guide.validation import problems as guide_problems

    found = [*problems(), *guide_problems()]
    print("\n".join(found) or "all cards and guides are well formed", file=sys.stderr if found else sys.stdout)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
