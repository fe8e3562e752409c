"""Cards that a question names: metrics, findings, settings, concepts and error messages, by any of their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from assistant.cards import Card, cards
from assistant.diagnosis.naming import metric_card, validation_key
from assistant.lexicon import Lexicon, Mention, Target, base, find, normal, setting_keys, tokenize, unknown_keys
from assistant.logs.fragments import automaton, meanings
from assistant.retrieval.documents import elsewhere, fix_keys
from assistant.retrieval.tokens import BACKGROUND, stands_for
from assistant.spelling import Correction, corrections
from assistant.symptoms import symptoms

_DESCRIBED = 1.5
_QUOTED = 4.5
_VALIDATION = 4.0
_FIXES_SETTING = 0.8
_ELSEWHERE = 3.0
_BACKGROUND = 0.2
_ABBREVIATED = 0.6
_SHORT = 24
_MEANING = re.compile(r"what (?:is|are|does)|meaning|explain|differ|\bvs\b|versus|compare|是什么|什么意思|区别|不同|对比|原理|介绍")


@dataclass(slots=True)
class Named:
    """``weights`` by card, the surest first; ``keys`` what was written where the card knows a whole family of keys."""

    weights: dict[str, float] = field(default_factory=dict)
    keys: dict[str, list[str]] = field(default_factory=dict)
    corrections: list[Correction] = field(default_factory=list)

    def add(self, card: str | None, weight: float) -> None:
        if card is not None and card in cards():
            self.weights[card] = max(weight, self.weights.get(card, 0.0))

    def ranked(self) -> list[str]:
        return sorted(self.weights, key=lambda card: -self.weights[card])


def named(question: str, run_lexicon: Lexicon | None = None) -> Named:
    """What ``question`` names. Misspelt names are read as their neighbours, and said so in ``corrections``."""
    found = Named()
    lowered = normal(question)
    mentions = find(question, [base(), other_frameworks(), *([run_lexicon] if run_lexicon else [])])
    for word in unknown_keys(lowered, mentions):
        if validation_key(word):
            found.add("metrics/validation", _VALIDATION)
            found.keys.setdefault("metrics/validation", []).append(word)
    found.corrections = corrections(question, mentions)
    for correction in found.corrections:
        for target in correction.targets:
            _add(found, target, target.weight)
    meaning = bool(_MEANING.search(lowered)) or len(lowered) < _SHORT
    for mention in mentions:
        written = lowered[mention.first_char : mention.last_char]
        _add_mention(found, mention, _BACKGROUND if written in BACKGROUND and not meaning else 1.0)
    for token, start, end in tokenize(question):
        if (full := stands_for(token)) and not any(m.first_char <= start and end <= m.last_char for m in mentions):
            for mention in find(full, [base()]):
                _add_mention(found, mention, _ABBREVIATED)
    for name in symptoms(question):
        found.add(f"findings/{name}", _DESCRIBED)
    for card in quoted(question):
        found.add(card, _QUOTED)
    return found


def quoted(text: str) -> list[str]:
    """Error cards whose message stands in ``text``, and their findings."""
    out: list[str] = []
    data = text.encode()
    for match in automaton().find_matches_as_indexes(data):
        kind, meaning = meanings()[1][match[0]]
        if kind == "event" and meaning.card:
            out.extend([f"errors/{meaning.card.rpartition('/')[2]}", f"findings/{meaning.finding}"])
    return list(dict.fromkeys(out))


def _add_mention(found: Named, mention: Mention, share: float) -> None:
    best = mention.targets[0].weight
    words = mention.end - mention.start
    for target in mention.targets:
        if target.weight >= best - 1.0:
            _add(found, target, (target.weight + min(words, 4) * 0.1) * share)


def _add(found: Named, target: Target, weight: float) -> None:
    if target.kind == "metric":
        found.add(metric_card(target.id), weight)
    elif target.kind == "finding":
        found.add(f"findings/{target.id}", weight)
    elif target.kind == "concept":
        found.add(target.id, weight)
    elif target.kind == "setting":
        found.add(config_card(target.id), weight)
        for card in changed_by(target.id):
            found.add(card, min(weight, 4.0) * 0.2 * _FIXES_SETTING)


@cache
def other_frameworks() -> Lexicon:
    """Names that other frameworks give to metrics that the cards explain."""
    lexicon = Lexicon()
    for card in cards().values():
        for metric in (card.front.get("metrics") or ())[:1]:
            for name in elsewhere(card):
                lexicon.add(name, Target("metric", metric["id"], _ELSEWHERE, name))
                last = name.rpartition("/")[2]
                if "/" in name and "_" in last:
                    lexicon.add(last, Target("metric", metric["id"], _ELSEWHERE - 1.0, name))
    return lexicon


def config_card(key: str) -> str | None:
    return _config_cards().get(key)


@cache
def _config_cards() -> Mapping[str, str]:
    return {key: card.id for card in cards().values() if card.folder == "config" for key in setting_keys(card.front)}


def changed_by(key: str) -> Sequence[str]:
    """Findings whose fixes change the setting ``key``."""
    return _changes().get(key, ())


@cache
def _changes() -> Mapping[str, Sequence[str]]:
    out: dict[str, list[str]] = {}
    for card in _findings():
        for fix in card.front.get("fixes") or ():
            for key in fix_keys(fix):
                rows = out.setdefault(key, [])
                if card.id not in rows:
                    rows.append(card.id)
    return out


def _findings() -> Iterable[Card]:
    return (card for card in cards().values() if card.folder == "findings")
