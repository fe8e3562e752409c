"""What a well-formed guide is: used by the tests and ``python -m assistant.schema``, never at run time.

It proves that every path ends, that no step is out of reach, that everything a guide names exists, that both languages are there,
and that each finding has a guide that leads to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from assistant.card_models import Exact, Model
from assistant.cards import Card, cards
from assistant.guide import loading
from assistant.guide.loading import END, RESERVED, START, WALK, Guide, Step, guide_of

Kind = Literal["rl", "classic", "preference", "supervised"]


class Home(Exact):
    again: int = Field(20, ge=1)


class SaidModel(Model):
    event: str
    field: str
    low: float
    high: float


class ChoiceModel(Exact):
    id: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    goto: str
    says: Exact | None = None
    when: SaidModel | None = None
    causes: dict[str, list[str]] = Field(default_factory=dict)


class StepModel(Model):
    id: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    title: Exact
    explain: Exact
    look: bool = False
    metrics: list[str] = Field(default_factory=list)
    needs: list[str] = Field(default_factory=list)
    checks: list[str] = Field(default_factory=list)
    info: list[str] = Field(default_factory=list)
    kinds: list[Kind] = Field(default_factory=list)
    found: Exact | None = None
    fine: Exact | None = None
    read: Exact | None = None
    ask: Exact | None = None
    choices: list[ChoiceModel] = Field(default_factory=list)
    then: str | None = None
    next: str | dict[Literal["found", "explained", "fine", "unknown", "none", "else"], str] | None = None

    @model_validator(mode="after")
    def _asks_or_checks(self) -> StepModel:
        if bool(self.choices) == bool(self.checks):
            raise ValueError("a step either checks findings or asks with choices")
        if bool(self.choices) != bool(self.ask):
            raise ValueError("'ask' and 'choices' belong together")
        return self


class GuideModel(Model):
    order: int
    title: Exact
    intro: Exact
    not_seen: Exact | None = None
    further: Exact | None = None
    findings: dict[str, Home] = Field(min_length=1)
    steps: list[StepModel] = Field(min_length=1)


class Lesson(Model):
    metrics: list[str] = Field(min_length=1)
    should: Exact | None = None
    checks: list[str] = Field(default_factory=list)
    info: list[str] = Field(default_factory=list)
    optional: bool = False


class TermModel(Model):
    id: str
    word: dict[Literal["en", "zh"], str]
    meaning: Exact
    match: dict[Literal["en", "zh"], str] = Field(default_factory=dict)
    card: str | None = None


def problems(folder: Path | None = None) -> list[str]:
    """Everything that is wrong with the guides of a folder (those of this installation by default), one line each."""
    folder = loading.folder() if folder is None else folder
    found: list[str] = []
    guides: dict[str, Guide] = {}
    for path in sorted(folder.glob("*.yaml")):
        try:
            data = _yaml(path)
        except ValueError as error:
            found.append(f"guides/{path.stem}: {error}")
            continue
        if path.stem == "lessons":
            found += _lessons(data)
        elif path.stem == "terms":
            found += _terms(data)
        elif not (wrong := list(_shape(GuideModel, data, path.stem))):
            guides[path.stem] = guide_of(path.stem, data)
            found += guide_problems(guides[path.stem])
        else:
            found += wrong
    return [*found, *_together(guides)]


def guide_problems(guide: Guide) -> Iterator[str]:
    """What is wrong with one guide whose shape is right."""
    known = cards()
    where = f"guides/{guide.id}"
    for name in guide.findings:
        if f"findings/{name}" not in known:
            yield f"{where}: there is no finding {name}"
    lost = {target for step in guide.steps.values() for target in step.targets} - {END, *guide.steps}
    if lost:
        yield f"{where}: steps lead to steps that do not exist: {sorted(lost)}"
        return
    if circle := _circle(guide):
        yield f"{where}: a path does not end: {' → '.join(circle)}"
    if out := set(guide.steps) - _from(guide, guide.first):
        yield f"{where}: no path leads to {sorted(out)}"
    for step in guide.steps.values():
        yield from (f"{where}/{step.id}: {problem}" for problem in _step_problems(guide, step, known))
    decided = {name for step in guide.steps.values() if not step.look for name in step.checks}
    if missing := set(guide.findings) - decided:
        yield f"{where}: no step decides about {sorted(missing)}"


def _step_problems(guide: Guide, step: Step, known: Mapping[str, Card]) -> Iterator[str]:
    for name in (*step.checks, *step.info):
        if f"findings/{name}" not in known:
            yield f"there is no finding {name}"
    for name in step.info:
        if (found := known.get(f"findings/{name}")) and found.front["severity"] != "info" and name not in step.checks:
            yield f"{name} is a fault: it belongs into 'checks'"
    yield from _metric_problems((*step.metrics, *step.needs), known)
    if step.look:
        later = {name for one in _from(guide, step.id) if not guide.steps[one].look for name in guide.steps[one].checks}
        if missing := set(step.checks) - later:
            yield f"no later step decides about {sorted(missing)}"
    ids = [choice.id for choice in step.choices]
    if len(set(ids)) != len(ids) or RESERVED.intersection(ids):
        yield f"choices need ids of their own: {ids}"
    for choice in step.choices:
        for finding, causes in choice.causes.items():
            card = known.get(f"findings/{finding}")
            have = {row["id"] for row in card.front.get("causes", ())} if card else set()
            if missing := set(causes) - have:
                yield f"{choice.id}: findings/{finding} has no cause {sorted(missing)}"


def _metric_problems(names: tuple[str, ...], known: Mapping[str, Card]) -> Iterator[str]:
    entries = {metric["id"]: metric for card in known.values() if card.folder == "metrics" for metric in card.front.get("metrics", ())}
    for name in dict.fromkeys(names):
        if name not in entries:
            yield f"there is no metric {name}"
        elif not (entries[name].get("plain") and entries[name].get("look")):
            yield f"the card of {name} needs 'plain' and 'look'"


def _from(guide: Guide, start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        if (one := waiting.pop()) != END and one not in found:
            found.add(one)
            waiting.extend(guide.steps[one].targets)
    return found


def _circle(guide: Guide) -> list[str]:
    """Steps that lead back to themselves; empty when every path ends."""
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name == END or name in done:
            return []
        if name in path:
            return [*path[path.index(name) :], name]
        for target in guide.steps[name].targets:
            if found := visit(target, [*path, name]):
                return found
        done.add(name)
        return []

    return visit(guide.first, [])


def _together(guides: Mapping[str, Guide]) -> Iterator[str]:
    """Each finding above ``info`` shows as one symptom, and the walk through everything asks for all of them."""
    faults = {card.id.partition("/")[2] for card in cards().values() if card.folder == "findings" and card.front["severity"] != "info"}
    homes: dict[str, list[str]] = {}
    for guide in guides.values():
        for name in guide.findings:
            homes.setdefault(name, []).append(guide.id)
    for name, where in homes.items():
        if len(where) > 1:
            yield f"guides: {name} is at home in {where}; one must do"
    if missing := faults - set(homes):
        yield f"guides: no symptom leads to {sorted(missing)}"
    if WALK not in guides:
        yield f"guides: there must be one called {WALK}"
    elif missing := faults - guides[WALK].checks:
        yield f"guides/{WALK}: does not ask for {sorted(missing)}"
    if {START, END}.intersection(guides):
        yield f"guides: {START} and {END} are no names for a guide"


def _lessons(data: Mapping[str, Any]) -> Iterator[str]:
    known = cards()
    for kind, rows in data.items():
        if kind not in ("rl", "classic", "preference", "supervised"):
            yield f"guides/lessons: there is no kind of training {kind}"
        if len([row for row in rows if isinstance(row, Mapping)]) < 8:
            yield f"guides/lessons: {kind} has fewer than eight numbers"
        for row in rows:
            if wrong := list(_shape(Lesson, row, f"lessons/{kind}")):
                yield from wrong
                continue
            yield from (f"guides/lessons/{kind}: {problem}" for problem in _metric_problems(tuple(row["metrics"]), known))
            for name in (*row.get("checks", ()), *row.get("info", ())):
                if f"findings/{name}" not in known:
                    yield f"guides/lessons/{kind}: there is no finding {name}"


def _terms(data: list[Mapping[str, Any]]) -> Iterator[str]:
    ids = [row.get("id") for row in data]
    yield from (f"guides/terms: {name} is there twice" for name in {one for one in ids if ids.count(one) > 1})
    for row in data:
        if wrong := list(_shape(TermModel, row, f"terms/{row.get('id')}")):
            yield from wrong
            continue
        if row.get("card") and row["card"] not in cards():
            yield f"guides/terms/{row['id']}: there is no card {row['card']}"
        for language, pattern in row.get("match", {}).items():
            try:
                re.compile(pattern)
            except re.error as error:
                yield f"guides/terms/{row['id']}: {language}: {error}"


def _shape(model: type[Model], data: Any, name: str) -> Iterator[str]:
    try:
        model.model_validate(data)
    except ValidationError as error:
        for item in error.errors():
            yield f"guides/{name}: {'.'.join(str(part) for part in item['loc'])}: {item['msg']}"


def _yaml(path: Path) -> Any:
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"is not YAML: {error}") from error
