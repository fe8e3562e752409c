"""Sentences for a log that prints no steps (a tracker's summary, a pasted tail): what names a step is left out, not shown as "?"."""

from __future__ import annotations

import re
from collections.abc import Collection

UNKNOWN = "?"
"""Text of a step that the log does not print."""

_TIDY = (
    (r"（[，、：]", "（"),
    (r"[，、]）", "）"),
    (r"（）", ""),
    (r" ?\(\)", ""),
    (r"\([,;:] ?", "("),
    (r" +([,.;:)])", r"\1"),
    (r"^[，, ]+", ""),
)


def without_steps(text: str, names: Collection[str]) -> str:
    """A card's sentence without the phrases around the placeholders ``names`` ("at step {step}", "从第 {since} 步起")."""
    for name in names:
        place = re.escape(f"{{{name}}}")
        for pattern in (
            rf"^(?:At|Since|From|In|By) step {place}(?: on)?,? ",
            rf" ?\((?:at |to |since |from |until )?(?:at least )?step {place}\)",
            rf",? (?:at|since|from|by|until|around|to|after|in|of) (?:at least )?step {place}(?: on)?",
            rf"，?（(?:从|自|至|到)?第 {place} 步(?:起|时)?）",
            rf"(?:至少)?(?:从|自|至|到|在)?第 {place} 步(?:起|时)?",
        ):
            text = re.sub(pattern, "", text)
    for pattern, instead in _TIDY:
        text = re.sub(pattern, instead, text)
    return text[:1].upper() + text[1:] if text[:1].islower() and text[:1].isascii() else text
