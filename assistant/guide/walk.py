"""Where the choices lead: positions in the guides, without a word of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from assistant.guide.loading import DEEPER, ELSEWHERE, END, NEXT, ON, START, THIS, URGENT, WALK, Choice, Guide, Step, guides, home_of
from assistant.guide.parts import State
from assistant.guide.state import Reading

MOST_JUMPS = 2
"""Guides that a walk may change to: with steps that never lead back, every walk ends."""

Skip = Literal["not_logged", "not_here", "cannot_tell"]


@dataclass(frozen=True, slots=True)
class Skipped:
    guide: str
    step: str
    why: Skip


@dataclass(frozen=True, slots=True)
class Position:
    """``guide`` "start" is the page that asks what is seen; ``step`` "end" the last page. ``taken`` and ``noted`` are findings that the
    person went on with or passed by, ``answers`` what they said, ``skipped`` the steps left out right before this one."""

    guide: str
    step: str
    taken: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()
    answers: tuple[tuple[str, str, str], ...] = ()
    skipped: tuple[Skipped, ...] = ()
    jumps: int = 0
    from_guide: str = ""

    @property
    def done(self) -> bool:
        return self.step == END


def begin(reading: Reading, guide: str) -> Position:
    """The first position of a walk. Raises KeyError for a guide that does not exist."""
    if guide == START:
        return Position(START, START)
    return _enter(reading, Position(guide, guides()[guide].first), guides()[guide].first)


def positions(reading: Reading, guide: str, choices: Sequence[str]) -> Iterator[Position]:
    """Every position on the way, the present one last. The first choice that is not offered ends the way there."""
    place = begin(reading, guide)
    yield place
    for choice in choices:
        if choice not in offered(reading, place):
            return
        place = follow(reading, place, choice)
        yield place


def offered(reading: Reading, place: Position) -> Sequence[str]:
    """Ids of the options at a position, in the order in which they are shown."""
    if place.guide == START:
        return list(guides())
    if place.done:
        return [URGENT] if urgent(reading, place) else []
    guide = guides()[place.guide]
    step = guide.steps[place.step]
    if step.choices:
        return [choice.id for choice in step.choices]
    jump = place.jumps < MOST_JUMPS
    if reading.found_in(step) and not step.look:
        deeper = [DEEPER] if jump and place.guide == WALK and _home(reading.found_in(step)[0]) not in (None, WALK) else []
        return [THIS, ON, *deeper]
    if place.step == guide.first and target(reading, place) is None and jump and place.guide != WALK:
        return [ELSEWHERE, NEXT]
    return [NEXT]


def default(reading: Reading, place: Position) -> str:
    """The option that the log supports; "" on the last page."""
    if place.done:
        return ""
    if place.guide == START:
        first = next(iter(reading.faults), None)
        return (_home(first) if first else None) or WALK
    aim = target(reading, place)
    options = offered(reading, place)
    step = guides()[place.guide].steps[place.step]
    if step.choices:
        if said := next((choice.id for choice in step.choices if reading.said(choice)), None):
            return said
        ways = [choice for choice in step.choices if place.taken or aim is None or _leads(guides()[place.guide], choice.goto or END, aim)]
        return (ways or step.choices)[0].id
    if THIS in options:
        return THIS if aim in step.checks else ON
    return options[0]


def target(reading: Reading, place: Position) -> str | None:
    """The finding that the rest of this guide should lead to: of those that it still asks for, the first to act on."""
    guide = guides()[place.guide]
    ahead = _checks_from(guide.id, place.step)
    return next((name for name in reading.faults if name in ahead and name not in place.noted), None)


def urgent(reading: Reading, place: Position) -> str | None:
    """What should be acted on before the finding that this walk ended with; None when that is the first thing to do."""
    first = next(iter(reading.faults), None)
    ended = (*place.taken, *place.noted)
    if first is None or not ended or first in ended or place.jumps >= MOST_JUMPS or _home(first) is None:
        return None
    return first


def follow(reading: Reading, place: Position, choice: str) -> Position:
    """The position after ``choice`` (one that is offered)."""
    if place.guide == START:
        return replace(begin(reading, choice), skipped=())
    if choice in (ELSEWHERE, URGENT, DEEPER):
        return _jump(reading, place, choice)
    step = guides()[place.guide].steps[place.step]
    if choice == THIS:
        taken = tuple(dict.fromkeys((*place.taken, *reading.found_in(step))))
        if (aim := target(reading, place)) in step.checks and aim is not None and not place.taken:
            taken = (aim, *(name for name in taken if name != aim))
        return _enter(reading, replace(place, taken=taken), step.then or END)
    if choice in (ON, NEXT):
        passed = () if step.look else reading.found_in(step)
        noted = (*place.noted, *(name for name in passed if name not in place.noted))
        return _enter(reading, replace(place, noted=noted), step.after(reading.state_of(step)))
    answer = answer_of(step, choice)
    answers = (*place.answers, (place.guide, place.step, choice))
    return _enter(reading, replace(place, answers=answers), answer.goto or END)


def answer_of(step: Step, choice: str) -> Choice:
    return next(one for one in step.choices if one.id == choice)


def by_default(reading: Reading, place: Position) -> Iterator[Position]:
    """The positions from here on, when every default is taken."""
    while not place.done:
        place = follow(reading, place, default(reading, place))
        yield place


def _jump(reading: Reading, place: Position, choice: str) -> Position:
    if choice == DEEPER:
        name: str | None = reading.found_in(guides()[place.guide].steps[place.step])[0]
    else:
        name = next(iter(reading.faults), None)
    home = _home(name) if name else None
    moved = replace(place, jumps=place.jumps + 1, from_guide=place.guide, skipped=(), taken=(), noted=())
    if home is None:
        return replace(moved, step=END)
    return _enter(reading, replace(moved, guide=home), guides()[home].first)


def _enter(reading: Reading, place: Position, step_id: str) -> Position:
    """Go to a step, past those that this log has nothing to say about."""
    guide = guides()[place.guide]
    skipped: list[Skipped] = []
    state: State
    while step_id != END:
        step = guide.steps[step_id]
        why = _why_skipped(reading, step) if step_id != guide.first else None
        if why is None:
            break
        if why != "other_kind":
            skipped.append(Skipped(guide.id, step_id, why))
        state = reading.state_of(step)
        step_id = step.after(state)
    return replace(place, step=step_id, skipped=tuple(skipped))


def _why_skipped(reading: Reading, step: Step) -> Skip | Literal["other_kind"] | None:
    if not reading.applies(step):
        return "other_kind"
    if step.choices or reading.found_in(step):
        return None
    missing = bool(step.needs) and not any(reading.logged(name) for name in step.needs)
    state = reading.state_of(step)
    if state == "none" and step.checks and reading.diagnosis.run.n_rows:
        return "not_here"
    if missing:
        return "not_logged"
    return "cannot_tell" if state in ("none", "unknown") and not step.metrics and step.checks else None


def _home(finding: str) -> str | None:
    return home_of(finding)


@cache
def reachable(guide_id: str, step_id: str) -> frozenset[str]:
    """Steps that can come from ``step_id`` on, itself included."""
    guide = guides()[guide_id]
    found: set[str] = set()
    waiting = [step_id]
    while waiting:
        if (one := waiting.pop()) != END and one not in found:
            found.add(one)
            waiting.extend(guide.steps[one].targets)
    return frozenset(found)


@cache
def _checks_from(guide_id: str, step_id: str) -> frozenset[str]:
    """Findings that the guide still asks for from a step on."""
    steps = guides()[guide_id].steps
    return frozenset(name for one in reachable(guide_id, step_id) if not steps[one].look for name in steps[one].checks)


def _leads(guide: Guide, step_id: str, finding: str) -> bool:
    return step_id != END and finding in _checks_from(guide.id, step_id)
