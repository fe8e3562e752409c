"""Sentences with a log's own words in them: those stand in code, so that no face takes them for markup."""

from __future__ import annotations

import re

from assistant.diagnosis import render
from assistant.diagnosis.finding import Finding
from assistant.messages import Language

_PLAIN = re.compile(r"[^\\`*_\[\]<>&#|~$!{}\n]*")
_LONGEST = 200


def safe(text: str) -> str:
    """A text of the log for a sentence in Markdown: as it is when it holds no sign that Markdown knows, else in code."""
    if _PLAIN.fullmatch(text):
        return text
    flat = re.sub(r"\s+", " ", text.replace("`", "'")).strip()
    return f"`{flat[:_LONGEST]}…`" if len(flat) > _LONGEST else f"`{flat}`"


def summary(finding: Finding, language: Language) -> str:
    """What is seen, in this run's numbers; the words that were read from the log stand in code."""
    return render.template(finding, language).format(**{name: safe(fact.text) for name, fact in finding.facts.items()})
