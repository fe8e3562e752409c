"""Every sentence that a user reads and that is not in a card, in English and Chinese.

One module an area (``cli``, ``logs``, ``diagnosis``, ``answers``, ``web``), each with ``TEXT: {key: (english, chinese)}``.
Placeholders are ``str.format`` fields. What a metric or a finding *means* belongs in its card under ``knowledge/``.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Literal

Language = Literal["en", "zh"]


@cache
def _area(name: str) -> dict[str, tuple[str, str]]:
    text: dict[str, tuple[str, str]] = import_module(f"assistant.messages.{name}").TEXT
    return text


def say(key: str, language: Language = "en", /, **values: Any) -> str:
    """The sentence ``area.key`` in ``language``, filled in. Raises KeyError for an unknown key."""
    area, _, name = key.partition(".")
    english, chinese = _area(area)[name]
    return (chinese if language == "zh" else english).format(**values)


def has(key: str) -> bool:
    area, _, name = key.partition(".")
    return name in _area(area)
