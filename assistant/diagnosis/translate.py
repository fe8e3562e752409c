"""The cards speak verl: here their words and settings become those of the framework whose log it is.

Metric keys are replaced by what this log (or, where it does not print the metric, this framework) calls the same quantity, settings
by ``settings:`` of the framework's card. What has no counterpart is left out rather than advised under a name nobody can set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from assistant.cards import cards, in_folder
from assistant.diagnosis.naming import family, first_names, tables

if TYPE_CHECKING:
    from assistant.diagnosis.view import RunView
    from assistant.run import Run

Settings = Mapping[str, Mapping[str, Any]]
"""A setting's name → ``{"key", "default", "to"}``."""


@dataclass(frozen=True, slots=True)
class Words:
    """``table`` maps keys of verl to this log's own; ``pattern`` finds verl's keys in a text, also those without a counterpart."""

    table: Mapping[str, str]
    pattern: re.Pattern[str]

    def __call__(self, text: str) -> str:
        return self.pattern.sub(lambda found: self.table.get(found[0], found[0]), text)

    def foreign(self, text: str) -> bool:
        """Whether the text names a key that this framework does not have."""
        return any(key not in self.table for key in self.pattern.findall(text))

    def advice(self, text: str) -> str:
        """The text without the sentences that name such a key; the whole of it when nothing else would be left."""
        sentences = [part for part in _SENTENCE.split(text) if part]
        kept = [part for part in sentences if not self.foreign(part)]
        return self((" " if _SPACED.search(text) else "").join(kept) if kept else text)


ELSEWHERE = "elsewhere"
"""What a check needs, where this framework, or what it trains, has nothing of the kind."""


def own_needs(needs: str, framework: str, kind: str = "rl", trainer: Settings | None = None) -> str:
    """What a check needs (a canonical metric, a key or a setting of verl) as the framework whose log it is calls it.

    A key that it does not print becomes the canonical metric, which is told by its title; a setting that it does not have, `ELSEWHERE`.
    ``kind``: what the log trains (`naming.KINDS`); settings of the policy mean nothing where there is none. ``trainer``: `of_trainer`.
    """
    if (
        family(framework) in ("verl", "unknown")
        or framework == "unknown"
        or needs.startswith("steps>=")
        or not (_FOREIGN.search(needs) or needs in _TOLD_IN_VERLS_WORDS)
    ):
        return needs
    if needs in _TOLD_IN_VERLS_WORDS:
        return ELSEWHERE
    if (canonical := _verl_metrics().get(needs)) is not None:
        return first_names(framework).get(canonical) or canonical
    settings = _WITH_VALUE.findall(needs)
    if not settings or _WITH_VALUE.sub("", needs).strip(" ,"):
        return ELSEWHERE
    no_policy = kind != "rl" and family(framework) == "trl"  # whose trainers share settings
    own: list[str] = []
    for key, value in settings:
        place = _renamed(own_settings(framework).get(key) or {}, trainer) or {}
        if not place.get("key") or (no_policy and not key.startswith("trainer.")):
            return ELSEWHERE
        to = place.get("to", value)
        own.append(f"{place['key']}={'' if to is None or not value else to}")
    return ", ".join(dict.fromkeys(own))


_SPACED = re.compile(r"[.;]\s")
_SENTENCE = re.compile(r"(?<=[.;])\s+|(?<=[。；])")
_SETTING = r"(?:actor_rollout_ref|algorithm|trainer|critic|data|reward|reward_model|async_training)\.[a-z_]\w*(?:\.\w+)*"
"""How settings of verl look, those that no other framework has as well."""

_TOLD_IN_VERLS_WORDS = ("progress_bar",)
_FOREIGN = re.compile(r"[/=]")
_WITH_VALUE = re.compile(rf"({_SETTING})=(\S*?)(?=[\s,]|$)")


def words(view: RunView) -> Words | None:
    """The dictionary for a log; None for verl's own."""
    framework = view.run.framework
    if family(framework) in ("verl", "unknown") or framework == "unknown":
        return None
    table: dict[str, str] = {}
    usual = first_names(framework)
    for key, canonical in _verl_metrics().items():
        series = view[canonical]
        if series is not None:
            table[key] = series.name
        elif canonical in usual:
            table[key] = usual[canonical]
    for key, row in settings_of(view.run).items():
        if row.get("key"):
            table[key] = str(row["key"])
    return Words(table, _pattern())


@cache
def _verl_metrics() -> Mapping[str, str]:
    """Printed keys of verl that cannot be mistaken for words → canonical metric."""
    found: dict[str, str] = {}
    for card in in_folder("metrics"):
        for metric in card.front.get("metrics", ()):
            for name in metric.get("names", {}).get("verl", ()):
                key = name["key"] if isinstance(name, Mapping) else name
                if "/" in key:
                    found.setdefault(key, metric["id"])
    return found


@cache
def _settings_in_texts() -> frozenset[str]:
    """Settings of verl that some framework has under another name; a plain word such as ``beta`` stays as it is."""
    return frozenset(key for card in in_folder("frameworks") for key in card.front.get("settings") or () if "." in key)


@cache
def _pattern() -> re.Pattern[str]:
    keys = sorted({*_verl_metrics(), *_settings_in_texts()}, key=len, reverse=True)
    return re.compile(r"(?<![\w/.])(?:(?:" + "|".join(map(re.escape, keys)) + r")(?![\w/@]|\.\w)|" + _SETTING + ")")


@cache
def own_settings(framework: str) -> Mapping[str, Mapping[str, Any]]:
    """verl's setting → ``{"key", "default", "to"}`` of this framework (``key`` None: it has no such setting)."""
    found: dict[str, Mapping[str, Any]] = {}
    for name in reversed(tables(framework)):
        card = cards().get(f"frameworks/{name}")
        for key, row in ((card.front.get("settings") if card else None) or {}).items():
            found[key] = row if isinstance(row, Mapping) else {"key": row}
    return found


def of_trainer(run: Run) -> Settings:
    """Settings by which a trainer differs from the others of its framework: usual name → its own (``key`` None: it has none).

    Which trainer it is, is told by what it alone prints (``trainers:`` of the framework's card, the last that fits).
    """
    found: Settings = {}
    for name in tables(run.framework):
        card = cards().get(f"frameworks/{name}")
        for trainer in (card.front.get("trainers") if card else None) or ():
            if all(key in run.columns for key in trainer["prints"]):
                found = {key: row if isinstance(row, Mapping) else {"key": row} for key, row in trainer["settings"].items()}
    return found


def settings_of(run: Run) -> Settings:
    """`own_settings` of the trainer whose log this is."""
    trainer = of_trainer(run)
    own = own_settings(run.framework)
    return {key: _renamed(row, trainer) or {"key": None} for key, row in own.items()} if trainer else own


def _renamed(row: Mapping[str, Any], trainer: Settings | None) -> Mapping[str, Any] | None:
    """``row`` with the trainer's name and default for its setting; None when the trainer has no such setting."""
    change = (trainer or {}).get(str(row.get("key")))
    if change is None:
        return row
    return {**row, "default": None, **change} if change.get("key") else None


def own_fix(row: Mapping[str, Any], key: str | None, framework: str, trainer: Settings | None = None) -> Mapping[str, Any] | None:
    """A fix of a card as this framework can carry it out; None when it cannot.

    ``row`` may say so itself (``frameworks:``, ``only:``); else its setting is looked up. A step that is no setting stays as it is.
    """
    names = ("verl",) if framework == "unknown" else tables(framework)
    only = row.get("only")
    if only is not None and not set(names).intersection(only):
        return None
    for name in names:
        if name in (row.get("frameworks") or {}):
            said = row["frameworks"][name]
            return None if said is None else _renamed({**row, "default": None, **said}, trainer)
    if family(framework) == "verl" or framework == "unknown" or key is None:
        return {**row, "key": key} if key is not None else row
    place = own_settings(framework).get(key)
    if place is None:
        return None if "." in key else {**row, "key": key}
    if not place.get("key"):
        return None
    return _renamed({**row, "default": None, **place}, trainer)
