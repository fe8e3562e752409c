"""The cards in ``knowledge/config/``: which card explains a setting, how each version spells it, and its default there.

A card explains one ``key`` or a family of ``keys`` (the newest spellings). ``names`` gives other spellings and ``default``
the value by version condition; in a family both are mappings from the key. A version that no condition of ``default``
covers does not list the setting.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from assistant.cards import Card, in_folder
from assistant.diagnosis.view import era_matches

UNLISTED = object()
"""Default of a setting in a version whose configuration does not list it."""

PATCHES = {"0.4": ("0.4.0", "0.4.1"), "0.6": ("0.6.0", "0.6.1"), "0.7": ("0.7.0", "0.7.1")}
"""Releases that a log of this version may come from, where they differ in their settings."""


def keys(card: Card) -> tuple[str, ...]:
    """The settings that a card explains, in their newest spelling."""
    return (str(card.front["key"]),) if "key" in card.front else tuple(card.front.get("keys") or ())


def names(card: Card, key: str) -> Mapping[str, str]:
    """Version condition → spelling, for the versions that spell ``key`` otherwise."""
    found: Mapping[str, Any] = card.front.get("names") or {}
    return found if "key" in card.front else found.get(key) or {}


def spellings(card: Card) -> dict[str, str]:
    """Every spelling that a card knows → the newest one."""
    return {spelling: key for key in keys(card) for spelling in (key, *names(card, key).values())}


@cache
def _owners() -> dict[str, Card]:
    return {spelling: card for card in in_folder("config") for spelling in spellings(card)}


def card_of(key: str) -> Card | None:
    """The card of a setting by any spelling; Hydra's ``+`` and ``++`` in front do not matter."""
    return _owners().get(key.lstrip("+~"))


def spelling(key: str, era: str) -> str:
    """How the version ``era`` spells the setting ``key`` (given in any spelling)."""
    key = key.lstrip("+~")
    card = card_of(key)
    if card is None:
        return key
    newest = spellings(card)[key]
    return next((name for condition, name in names(card, newest).items() if era_matches(era, condition)), newest)


def default(key: str, era: str) -> Any:
    """Default of a setting in the version ``era``; `UNLISTED` where the version (or no card) has it, or its releases disagree.

    ``${other.key}`` means that it follows that setting.
    """
    card = card_of(key)
    if card is None:
        return UNLISTED
    value = card.front.get("default")
    if "key" not in card.front:
        value = value.get(spellings(card)[key.lstrip("+~")], {}) if isinstance(value, Mapping) else {}
    if not isinstance(value, Mapping):
        return value
    listed = [found for release in PATCHES.get(era, (era,)) if (found := _by_version(value, release)) is not UNLISTED]
    return listed[0] if listed and all(one == listed[0] for one in listed) else UNLISTED


def _by_version(values: Mapping[str, Any], version: str) -> Any:
    return next((value for condition, value in values.items() if era_matches(version, condition)), UNLISTED)
