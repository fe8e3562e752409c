"""Canonical metric names: what a printed key *is*, whatever the framework and version call it.

The table is the ``metrics:`` part of the cards in ``knowledge/metrics/``. A name entry is a key, or a mapping with
``key``, ``scale`` (the factor that the name carries) and ``unless`` or ``with`` (another key whose absence or presence in
the same log decides what this one means). Validation metrics carry a data source in the middle and are matched by shape.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from assistant.cards import in_folder

# val-core/<source, may hold slashes>/<variable>/<statistic>; statistics are mean@N, best@N/mean, maj@N/std …
_VALIDATION = re.compile(r"^(val-core|val-aux)/(.*)/([^/]+)/((?:mean|std)@\d+|(?:best|worst|maj)@\d+/(?:mean|std))$")
_OLD_VALIDATION = re.compile(r"^(?:val/)?test_score/(.*)$")


@dataclass(frozen=True, slots=True)
class Name:
    """``canonical`` is "" for a key that no card knows."""

    canonical: str
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class ValidationKey:
    """``val-core/openai/gsm8k/acc/mean@1`` → source ``openai/gsm8k``, variable ``acc``, statistic ``mean@1``, core."""

    key: str
    source: str
    variable: str
    statistic: str
    core: bool


@dataclass(frozen=True, slots=True)
class _Entry:
    canonical: str
    scale: float
    without: str
    together: str

    def applies(self, present: set[str]) -> bool:
        return self.without not in present and (not self.together or self.together in present)


@cache
def _table(framework: str) -> Mapping[str, tuple[_Entry, ...]]:
    rows: dict[str, tuple[_Entry, ...]] = {}
    for card in in_folder("metrics"):
        for metric in card.front.get("metrics", ()):
            for name in metric.get("names", {}).get(framework, ()):
                name = name if isinstance(name, Mapping) else {"key": name}
                entry = _Entry(metric["id"], float(name.get("scale", 1.0)), name.get("unless", ""), name.get("with", ""))
                rows[name["key"]] = (*rows.get(name["key"], ()), entry)
    return rows


@cache
def metric_card(canonical: str) -> str | None:
    """Id of the card that explains a canonical metric."""
    for card in in_folder("metrics"):
        if any(metric["id"] == canonical for metric in card.front.get("metrics", ())):
            return card.id
    return None


def family(framework: str) -> str:
    """Frameworks that print another's keys share its table: verl's SFT trainer and its forks."""
    return framework.partition("-")[0]


def resolve(names: Iterable[str], framework: str) -> dict[str, Name]:
    """Each printed key's canonical name. Two keys of one canonical name (an upgrade in mid-log) both keep it."""
    present = set(names)
    table = _table(family(framework))
    resolved: dict[str, Name] = {}
    for name in present:
        entry = next((e for e in table.get(name, ()) if e.applies(present)), None)
        canonical, scale = (entry.canonical, entry.scale) if entry else ("", 1.0)
        if not canonical and validation_key(name):
            canonical = "validation"
        resolved[name] = Name(canonical, scale)
    return resolved


def validation_key(name: str) -> ValidationKey | None:
    if found := _VALIDATION.match(name):
        return ValidationKey(name, found[2], found[3], found[4], core=found[1] == "val-core")
    if found := _OLD_VALIDATION.match(name):
        return ValidationKey(name, found[1], "reward", "mean@1", core=True)
    return None
