"""Words of the trade, explained where they first turn up in a walk. The words are data: ``knowledge/guides/terms.yaml``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache

from assistant.guide.loading import Texts, raw
from assistant.guide.parts import Term
from assistant.messages import Language

_CODE = re.compile(r"`[^`\n]*`")
_KEYS = re.compile(r"\w+(?:[./]\w+)+|\w*_\w+")
"""Keys of metrics and settings are names: ``critic/score`` does not use the word "critic"."""


@dataclass(frozen=True, slots=True)
class Entry:
    id: str
    word: Texts
    meaning: Texts
    card: str | None
    pattern_en: re.Pattern[str]
    pattern_zh: re.Pattern[str]

    def pattern(self, language: Language) -> re.Pattern[str]:
        return self.pattern_zh if language == "zh" else self.pattern_en


@cache
def entries() -> tuple[Entry, ...]:
    return tuple(
        Entry(
            row["id"],
            row["word"],
            row["meaning"],
            row.get("card"),
            re.compile(rf"(?<![\w])(?:{row.get('match', {}).get('en') or re.escape(row['word']['en'])})(?![\w])", re.IGNORECASE),
            re.compile(row.get("match", {}).get("zh") or re.escape(row["word"]["zh"]), re.IGNORECASE),
        )
        for row in raw("terms")
    )


def used(texts: Iterable[str], language: Language) -> list[str]:
    """Ids of the words that these texts use, in the order in which they first appear."""
    joined = _KEYS.sub(" ", _CODE.sub(" ", "\n".join(texts)))
    places = [(found.start(), entry.id) for entry in entries() if (found := entry.pattern(language).search(joined))]
    return [name for _, name in sorted(places)]


def explained(names: Iterable[str], language: Language, known: Collection[str] = ()) -> tuple[Term, ...]:
    """The explanations of words that are not yet ``known``."""
    by_id = {entry.id: entry for entry in entries()}
    return tuple(
        Term(by_id[name].word[language], by_id[name].meaning[language], by_id[name].card)
        for name in dict.fromkeys(names)
        if name not in known
    )
