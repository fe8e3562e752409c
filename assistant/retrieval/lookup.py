"""The one card that a name means, however it is written."""

from __future__ import annotations

from functools import cache

from assistant.cards import Card, cards
from assistant.diagnosis.naming import metric_card, validation_key
from assistant.lexicon import Target, base, tokenize
from assistant.retrieval.documents import own_keys, own_names
from assistant.retrieval.exact import config_card, other_frameworks
from assistant.spelling import close_names


def find_card(name: str) -> tuple[Card | None, list[str]]:
    """The card that ``name`` means (a printed key, canonical id, alias, setting, finding or card id), else names close to it."""
    names = _names()
    wanted = name.strip().lower()
    if not wanted:
        return None, []
    if wanted in names:
        return cards()[names[wanted]], []
    if validation_key(name) is not None and "metrics/validation" in cards():
        return cards()["metrics/validation"], []
    shared = [key for key in names if key.endswith("/" + wanted) or key.rpartition("/")[0] == wanted]
    owners = {names[key] for key in shared}
    if len(owners) == 1:
        return cards()[owners.pop()], []
    if not shared:
        key = tuple(token for token, *_ in tokenize(name))
        for table in (base(), other_frameworks()):
            ranked = sorted(table.names.get(key, ()), key=lambda target: -target.weight)
            meant = dict.fromkeys(card for target in ranked[:1] if (card := target_card(target)))
            if meant:
                return cards()[next(iter(meant))], []
    return None, sorted(shared)[:6] or [close.meant for close in close_names(name)]


def target_card(target: Target) -> str | None:
    """The card of what a name of the lexicon stands for; None when there is none."""
    if target.kind == "metric":
        return metric_card(target.id)
    if target.kind == "setting":
        return config_card(target.id)
    card = f"findings/{target.id}" if target.kind == "finding" else target.id
    return card if card in cards() else None


@cache
def _names() -> dict[str, str]:
    """Lower-case name → card id; exact identifiers win over aliases."""
    exact: dict[str, str] = {}
    loose: dict[str, str] = {}
    for card in cards().values():
        exact[card.id.lower()] = card.id
        for name in own_keys(card):
            (exact if card.folder in ("metrics", "findings", "config") else loose).setdefault(name.lower(), card.id)
        if code := card.front.get("code"):
            exact.setdefault(str(code).lower(), card.id)
        for name in (card.id.partition("/")[2], *own_names(card)):
            loose.setdefault(name.lower(), card.id)
    return {**loose, **exact}
