"""The guides as data: ``knowledge/guides/*.yaml``, read once. `assistant.guide.validation` says what a well-formed one is."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from assistant.cards import cache_folder, knowledge_folder

Texts = Mapping[str, str]
"""A text in both languages: ``{"en": …, "zh": …}``; empty for none."""

START, WALK = "start", "walk-through"
"""The page that asks "What do you see?", and the guide for who does not know."""
END, ELSEWHERE, THIS, ON, NEXT, URGENT, DEEPER = "end", "elsewhere", "this", "on", "next", "urgent", "deeper"
"""Targets and options that the engine supplies."""
RESERVED = frozenset((END, ELSEWHERE, THIS, ON, NEXT, URGENT, DEEPER))


@dataclass(frozen=True, slots=True)
class Said:
    """An event of the log whose ``data[field]`` is a number from ``low`` up to (not including) ``high``."""

    event: str
    field: str
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Choice:
    """An answer that the person gives. ``causes`` puts these causes of a finding first; ``says`` is what follows from it; where the log
    itself says so (``when``), it is the default."""

    id: str
    label: Texts
    says: Texts
    goto: str | None
    causes: Mapping[str, Sequence[str]]
    when: Said | None


@dataclass(frozen=True, slots=True)
class Step:
    """``checks`` are the findings that decide it, ``info`` those that are only explained. ``then`` is a question asked when one was
    found, ``next`` the step after this one, by what was seen (``found``, ``fine``, …, ``else``). Question steps (with ``ask``) have
    answers instead of checks. ``kinds`` limits a step to kinds of training (`Reading.kind`), ``needs`` are metrics of which one must
    have been printed. A ``look`` only says whether the symptom shows; later steps decide.
    """

    id: str
    title: Texts
    explain: Texts
    metrics: Sequence[str]
    checks: Sequence[str]
    info: Sequence[str]
    found: Texts
    fine: Texts
    read: Texts
    ask: Texts
    choices: Sequence[Choice]
    then: str | None
    next: Mapping[str, str]
    kinds: Sequence[str]
    needs: Sequence[str]
    look: bool

    def after(self, state: str) -> str:
        """The step that follows, by what was seen here."""
        return self.next.get(state) or self.next["else"]

    @property
    def targets(self) -> frozenset[str]:
        """Every step (or ``end``) that can follow this one."""
        answers = (choice.goto or END for choice in self.choices)
        return frozenset((*self.next.values(), *answers, *((self.then or END,) if self.checks and not self.look else ())))


@dataclass(frozen=True, slots=True)
class Meaning:
    """A finding in one plain sentence, and after how many steps a change shows."""

    plain: Texts
    again: int


@dataclass(frozen=True, slots=True)
class Guide:
    """``not_seen`` is said when the log shows nothing of this guide, ``further`` when it shows only what later steps find."""

    id: str
    order: int
    title: Texts
    intro: Texts
    not_seen: Texts
    further: Texts
    findings: Mapping[str, Meaning]
    steps: Mapping[str, Step]

    @property
    def first(self) -> str:
        return next(iter(self.steps))

    @property
    def checks(self) -> frozenset[str]:
        return frozenset(name for step in self.steps.values() if not step.look for name in step.checks)


def folder() -> Path:
    return knowledge_folder() / "guides"


@cache
def _files(where: Path) -> Mapping[str, Any]:
    """Every data file of the folder by its name. YAML is slow to read: what was read is kept in the cache folder, as cards are."""
    found = sorted(where.glob("*.yaml"))
    stamp = "\n".join(f"{p} {(s := p.stat()).st_size} {s.st_mtime_ns}" for p in found)
    kept = cache_folder() / f"guides-{hashlib.sha256(stamp.encode()).hexdigest()[:24]}.json"
    try:
        read: Mapping[str, Any] = orjson.loads(kept.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        read = {p.stem: yaml.load(p.read_text(encoding="utf-8"), Loader=loader) for p in found}
        _keep(kept, orjson.dumps(read))
    return read


def _keep(path: Path, data: bytes) -> None:
    """Write through a temporary name, so that two processes never read half a file; old ones are swept."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_bytes(data)
        temporary.replace(path)
        for old in path.parent.glob("guides-*.json"):
            if old != path:
                old.unlink(missing_ok=True)
    except OSError:
        pass


def raw(name: str) -> Any:
    """A data file of the guides (``lessons``, ``terms``) as YAML has it; empty where the knowledge folder has no guides."""
    return _files(folder()).get(name, [] if name == "terms" else {})


def guides() -> Mapping[str, Guide]:
    """Every guide by id, in the order in which they are offered."""
    return _guides(knowledge_folder())


@cache
def _guides(knowledge: Path) -> Mapping[str, Guide]:
    found = [guide_of(name, data) for name, data in _files(knowledge / "guides").items() if name not in DATA]
    return {guide.id: guide for guide in sorted(found, key=lambda one: one.order)}


DATA = frozenset(("lessons", "terms"))
"""Files beside the guides that are none."""


def guide_of(name: str, data: Mapping[str, Any]) -> Guide:
    """A guide from its file; the steps follow one another where ``next`` does not say otherwise."""
    rows = data["steps"]
    following = [*(row["id"] for row in rows[1:]), END]
    steps = {row["id"]: _step(row, after, data["findings"]) for row, after in zip(rows, following, strict=True)}
    meanings = {key: Meaning(_both(row), int(row.get("again", 20))) for key, row in data["findings"].items()}
    return Guide(name, data["order"], data["title"], data["intro"], data.get("not_seen", {}), data.get("further", {}), meanings, steps)


def _step(row: Mapping[str, Any], following: str, home: Mapping[str, Any]) -> Step:
    choices = tuple(
        Choice(
            one["id"],
            _both(one),
            one.get("says", {}),
            one.get("goto"),
            one.get("causes", {}),
            Said(**one["when"]) if "when" in one else None,
        )
        for one in row.get("choices", ())
    )
    metrics = tuple(row.get("metrics", ()))
    return Step(
        row["id"],
        row["title"],
        row.get("explain", {}),
        metrics,
        tuple(home) if row.get("checks") == "all" else tuple(row.get("checks", ())),
        tuple(row.get("info", ())),
        row.get("found", {}),
        row.get("fine", {}),
        row.get("read", {}),
        row.get("ask", {}),
        choices,
        row.get("then"),
        _next(row.get("next"), following),
        tuple(row.get("kinds", ())),
        tuple(row.get("needs", metrics)),
        bool(row.get("look", False)),
    )


def _next(given: str | Mapping[str, str] | None, following: str) -> Mapping[str, str]:
    if isinstance(given, Mapping):
        return {"else": following, **given}
    return {"else": given or following}


def _both(row: Mapping[str, Any]) -> Texts:
    return {"en": row["en"], "zh": row["zh"]}


def home_of(finding: str) -> str | None:
    """The guide for the symptom that this finding shows as; None for one that is only explained."""
    return next((guide.id for guide in guides().values() if finding in guide.findings), None)


def meaning_of(finding: str) -> Meaning | None:
    home = home_of(finding)
    return guides()[home].findings[finding] if home else None
