"""The sample logs that the start page offers: parts of real runs that people published in bug reports and documentation, masked."""

from __future__ import annotations

from importlib.resources import files

from assistant.messages import Language, say

SAMPLES = ("healthy", "collapse", "floor", "crash")


def sample_text(key: str) -> str:
    if key not in SAMPLES:
        raise KeyError(key)
    return (files("assistant.web") / "samples" / f"{key}.log").read_text(encoding="utf-8")


def sample_name(key: str, language: Language) -> str:
    return say("web.sample_name", language, title=say(f"web.sample_{key}", language))
