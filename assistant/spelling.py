"""Misspelt names: which known name was meant, so that the answer can say so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from assistant.cards import in_folder
from assistant.lexicon import Mention, Target, base, normal, spelled, tokenize, unknown_keys


@dataclass(frozen=True, slots=True)
class Correction:
    """``written`` in the question, ``meant`` as the cards spell it, with what it stands for."""

    written: str
    meant: str
    targets: tuple[Target, ...]


def corrections(text: str, mentions: Sequence[Mention]) -> list[Correction]:
    """Names in ``text`` that are no known name and come close to one. ``mentions`` are those that were found."""
    lowered = normal(text)
    out: list[Correction] = []
    for word in unknown_keys(lowered, mentions):
        out.extend(close_names(word, most=1))
    known = [(m.first_char, m.last_char) for m in mentions]
    for token, start, end in tokenize(text):
        right = spelled(token)
        if right == token or any(c.written.find(token) >= 0 for c in out):
            continue
        owner = next((m for m, (a, b) in zip(mentions, known, strict=True) if a <= start and end <= b), None)
        if owner is not None:
            written = lowered[owner.first_char : owner.last_char]
            out.append(Correction(written, owner.targets[0].key or written.replace(token, right), owner.targets))
    if not mentions and not out and len(lowered.split()) <= 2:
        out.extend(close_names(lowered.strip(" ?!.？！。"), most=1))
    return out


def close_names(word: str, most: int = 5) -> list[Correction]:
    """Known names at most two slips from ``word`` (one for short words), nearest first."""
    wanted = "".join(token for token, *_ in tokenize(word))
    slips = 0 if len(wanted) < 4 else 1 if len(wanted) < 8 else 2
    if not slips:
        return []
    found: list[tuple[int, float, str, tuple[Target, ...]]] = []
    for name, targets in _glued().items():
        if name != wanted and name[0] == wanted[0] and abs(len(name) - len(wanted)) <= slips:
            distance = slipped(wanted, name, slips)
            if distance <= slips:
                found.append((distance, -targets[0].weight, name, targets))
    best: list[Correction] = []
    for *_, targets in sorted(found, key=lambda row: row[:3]):
        meant = _shown(targets[0])
        if not any(c.meant == meant for c in best):
            best.append(Correction(word, meant, targets[:3]))
    return best[:most]


def _shown(target: Target) -> str:
    """How a name is written in a log: the printed key of a metric, else its id."""
    if target.kind == "metric" and target.foreign:
        return _printed().get(target.id, target.key)
    return target.key or (_printed().get(target.id, target.id) if target.kind == "metric" else target.id)


@cache
def _printed() -> dict[str, str]:
    """Canonical metric → the first key that its card knows."""
    out: dict[str, str] = {}
    for card in in_folder("metrics"):
        for metric in card.front.get("metrics") or ():
            for name in (name for names in (metric.get("names") or {}).values() for name in names):
                out.setdefault(metric["id"], str(name["key"] if isinstance(name, Mapping) else name))
    return out


def slipped(a: str, b: str, most: int) -> int:
    """Letters to insert, drop, replace or swap to get from ``a`` to ``b``; ``most + 1`` when it takes more."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        now = [i]
        for j, y in enumerate(b, 1):
            cost = min(row[j] + 1, now[j - 1] + 1, row[j - 1] + (x != y))
            if before and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            now.append(cost)
        if min(now) > most:
            return most + 1
        before, row = row, now
    return row[-1]


@cache
def _glued() -> dict[str, tuple[Target, ...]]:
    """Known Latin names with nothing between their tokens → what they stand for, likeliest first."""
    out: dict[str, tuple[Target, ...]] = {}
    for tokens, targets in base().names.items():
        name = "".join(tokens)
        if name.isascii() and len(name) >= 4:
            out.setdefault(name, tuple(sorted(targets, key=lambda t: -t.weight)))
    return out
