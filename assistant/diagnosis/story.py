"""What happened first, what followed, what to act on: the findings of a diagnosis joined into a chain of causes.

A finding knows every present finding that it can follow from (``follows``); here only the nearest of them are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assistant.diagnosis import render
from assistant.diagnosis.finding import SEVERITIES, Diagnosis, Finding
from assistant.messages import Language, say


@dataclass(frozen=True, slots=True)
class Event:
    """``follows`` are the nearest causes among the findings; empty for what came first."""

    finding: Finding
    follows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """``events`` are all findings that have a cause or an effect, causes first. ``chain`` is the longest line of causes and effects
    that ends in the gravest of them, ``also`` what else follows from its first. ``act`` is whether that first is what to act on."""

    events: Sequence[Event]
    chain: Sequence[Finding]
    also: Sequence[Finding]
    act: bool


def story(diagnosis: Diagnosis) -> Story | None:
    """The chain of causes in this diagnosis; None when no finding above ``info`` follows from another."""
    faults = {finding.id: finding for finding in diagnosis.faults}
    causes = {name: [c for c in faults if c in finding.follows] for name, finding in faults.items()}
    nearest = {name: tuple(c for c in found if not any(c in causes[other] for other in found)) for name, found in causes.items()}
    effects: dict[str, list[str]] = {name: [e for e in faults if name in nearest[e]] for name in faults}
    linked = [name for name in faults if nearest[name] or effects[name]]
    if not linked:
        return None
    roots = [name for name in linked if not nearest[name]]  # findings come in the order to act on them
    first = next(iter(faults))
    if nearest[first]:  # a crash stands first whatever it follows from: tell what led to it
        chain = max((_way(root, first, effects) for root in roots), key=len)
    else:
        chain = min((_longest(root, effects, faults) for root in roots), key=lambda line: _worth(line, faults))
    root = chain[0]
    rest = [name for name in linked if name in _after(root, effects) and name not in chain]
    ordered = sorted(linked, key=lambda name: _depth(name, nearest))
    events = [Event(faults[name], nearest[name]) for name in ordered]
    return Story(events, [faults[name] for name in chain], [faults[name] for name in rest], bool(nearest[first]) or root == first)


def _longest(name: str, effects: dict[str, list[str]], faults: dict[str, Finding]) -> list[str]:
    """The longest line of effects from ``name`` on; of equally long ones the one that ends in the gravest finding."""
    lines = [_longest(effect, effects, faults) for effect in effects[name]]
    if not lines:
        return [name]
    return [name, *min(lines, key=lambda line: _worth(line, faults))]


def _worth(line: list[str], faults: dict[str, Finding]) -> tuple[int, int]:
    """Lines of causes and effects, the one to tell first: by what it ends in, then by its length."""
    return SEVERITIES.index(faults[line[-1]].severity or "medium"), -len(line)


def _way(start: str, end: str, effects: dict[str, list[str]]) -> list[str]:
    """The longest line of effects from ``start`` to ``end``; empty when none leads there."""
    if start == end:
        return [end]
    ways = [way for effect in effects[start] if (way := _way(effect, end, effects))]
    return [start, *max(ways, key=len)] if ways else []


def _after(name: str, effects: dict[str, list[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(effects[name])
    while waiting:
        if (one := waiting.pop()) not in found:
            found.add(one)
            waiting.extend(effects[one])
    return found


def _depth(name: str, nearest: dict[str, tuple[str, ...]]) -> int:
    return max((1 + _depth(cause, nearest) for cause in nearest[name]), default=0)


def told(found: Story, language: Language = "en") -> str:
    """The chain in a few sentences, each finding with the step since which it holds."""
    chain = " → ".join(_titled(finding, language, later=later) for finding, later in dated(found.chain))
    parts = [say("diagnosis.story", language, chain=chain)]
    if found.also:
        names = say("diagnosis.comma", language).join(_titled(finding, language) for finding in found.also)
        parts.append(say("diagnosis.story_also", language, names=names))
    if found.act:
        parts.append(say("diagnosis.story_act", language, name=render.title(found.chain[0], language)))
    return say("diagnosis.space", language).join(parts)


def dated(chain: Sequence[Finding]) -> list[tuple[Finding, bool]]:
    """Each finding with whether its onset is no earlier than that of all before it: a few steps earlier is as good as the same time."""
    latest, found = None, []
    for finding in chain:
        step = finding.first_step
        found.append((finding, step is None or latest is None or step >= latest))
        latest = step if latest is None else max(latest, step) if step is not None else latest
    return found


def _titled(finding: Finding, language: Language, *, later: bool = True) -> str:
    title, step = render.title(finding, language), finding.first_step
    if step is None:
        return title
    return say("diagnosis.story_at" if later else "diagnosis.story_then", language, title=title, step=step)


def story_json(found: Story | None) -> list[dict[str, Any]]:
    """``[{"id", "step", "follows"}]``, causes before effects; empty without a story."""
    events = found.events if found else ()
    return [{"id": one.finding.id, "step": one.finding.first_step, "follows": list(one.follows)} for one in events]
