"""The line below an answer: what its numbers were matched to."""

from __future__ import annotations

from collections.abc import Mapping

from assistant.messages import Language, say

KINDS = ("run", "derived", "config", "knowledge", "question", "unverified")


def checked_line(checked: Mapping[str, int], language: Language) -> str:
    """``Numbers checked: 5 from the log, 2 computed from it``."""
    parts = [say(f"web.checked_{kind}", language, n=checked[kind]) for kind in KINDS if checked.get(kind)]
    if not parts:
        return say("web.checked_none", language)
    return say("web.checked", language, parts=("，" if language == "zh" else ", ").join(parts))
