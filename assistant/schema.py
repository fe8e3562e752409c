"""What a well-formed card is: used by the tests and ``make check``, never at run time.

``problems()`` lists everything that is wrong with the cards of a folder, one line each, so that a person who edits a card
sees all of it at once. Run ``python -m assistant.schema`` for the cards of this installation.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from assistant.cards import Card, cards

Number = int | float
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_SPELLED = tuple(zip(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], "一两三四五六七八九十", strict=True))
_VERSIONS = re.compile(r"(?:>=|<=|>|<)?\d+(?:\.\d+)*(?:\s*,\s*(?:>=|<=|>|<)?\d+(?:\.\d+)*)*")


def numbers(text: str) -> set[str]:
    """The numerals of a text (``0.05``, ``8``); digits inside keys count too, as keys are the same in both languages."""
    return set(_NUMBER.findall(text))


def different_numbers(english: str, chinese: str) -> list[str]:
    """Numerals of one side that the other lacks; "ten times" and 10 倍 say the same."""
    different = numbers(english) ^ numbers(chinese)
    words = re.split(r"[^a-z]+", english.lower())
    spelled = {str(n) for n, (word, sign) in enumerate(_SPELLED, 1) if word in words or sign in chinese}
    return sorted(different - spelled)


def _versions(text: str) -> str:
    if not _VERSIONS.fullmatch(text):
        raise ValueError(f"{text!r} is not a version condition such as '>=0.4,<0.8'")
    return text


def _regex(text: str) -> str:
    if re.compile(text).groups != 1:
        raise ValueError(f"{text!r} must have exactly one group")
    return text


Basis = Annotated[str, Field(min_length=3)]
"""Where a number comes from: ``heuristic``, ``source``, ``docs``, ``paper`` or a few words."""
Versions = Annotated[str, AfterValidator(_versions)]
OneGroup = Annotated[str, AfterValidator(_regex)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Text(_Model):
    """A text in both languages. Placeholders must be the same on both sides."""

    en: str = Field(min_length=1)
    zh: str = Field(min_length=1)

    @model_validator(mode="after")
    def _same_placeholders(self) -> Text:
        if set(_PLACEHOLDER.findall(self.en)) != set(_PLACEHOLDER.findall(self.zh)):
            raise ValueError(f"placeholders differ: {self.en!r} / {self.zh!r}")
        return self


class Exact(Text):
    """A text whose numerals must be the same on both sides."""

    @model_validator(mode="after")
    def _same_numbers(self) -> Exact:
        if different := different_numbers(self.en, self.zh):
            raise ValueError(f"numbers differ: {different} in {self.en!r} / {self.zh!r}")
        return self


class Aliases(_Model):
    en: list[str] = Field(min_length=1)
    zh: list[str] = Field(min_length=1)


class Questions(Aliases):
    """What people ask or say when this card is the answer, in their words: only for finding the card."""


class Name(_Model):
    key: str
    scale: Number = 1.0
    unless: str | list[str] = ""
    together: str | list[str] = Field("", alias="with")
    kind: Literal["", "rl", "preference", "supervised"] = ""


class Metric(_Model):
    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    names: dict[str, list[str | Name]] = {}
    unit: str
    good: Literal["up", "down", "context", "none"]
    aliases: Aliases


class Era(Exact):
    when: Versions


class Range(Exact):
    metric: str | None = None
    low: Number | None
    high: Number | None
    basis: Basis

    @model_validator(mode="after")
    def _ordered(self) -> Range:
        if self.low is None and self.high is None:
            raise ValueError("a range needs a low or a high end")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"range {self.low}–{self.high} is upside down")
        return self


class _Sourced(_Model):
    title: Exact
    questions: Questions | None = None
    related: list[str] = []
    sources: list[str] = Field(min_length=1)


class MetricCard(_Sourced):
    """``elsewhere`` names the same or the nearest quantity in frameworks whose logs are not read under ``names``; ``examples`` are
    printed keys of a family that is known by its shape. Both are only for finding the card."""

    metrics: list[Metric] = Field(min_length=1)
    elsewhere: dict[str, list[str]] = {}
    examples: list[str] = []
    short: Exact
    definition: Exact
    eras: list[Era] = []
    zero: Exact | None = None
    negative: Exact | None = None
    positive: Exact | None = None
    nan: Exact | None = None
    absent: Exact | None = None
    healthy: Exact
    ranges: list[Range] = []
    watch_with: list[str] = []
    lookalikes: Exact | None = None
    advice: Exact
    may_have_read: Exact | None = None

    @model_validator(mode="after")
    def _ranges_of_own_metrics(self) -> MetricCard:
        own = {metric.id for metric in self.metrics}
        if strangers := [row.metric for row in self.ranges if row.metric is not None and row.metric not in own]:
            raise ValueError(f"ranges of metrics that are not in this card: {strangers}")
        return self


class ConceptCard(_Sourced):
    aliases: Aliases
    short: Exact


class ConfigCard(_Sourced):
    """One setting (``key``) or a family of them (``keys``), in the newest spelling.

    ``names`` (version condition → other spelling) and ``default`` (a value, or one by version condition; a version that is
    not covered does not list the setting) are mappings from the key in a family. ``shows`` are canonical metrics.
    """

    key: str = ""
    keys: list[str] = []
    names: dict[str, Any] = {}
    default: Any = None
    aliases: Aliases
    short: Exact
    effect: Exact
    shows: list[str] = []
    safe: Exact
    pitfalls: Exact | None = None

    @model_validator(mode="after")
    def _one_or_many(self) -> ConfigCard:
        if bool(self.key) == bool(self.keys):
            raise ValueError("give either 'key' or 'keys'")
        family = set(self.keys)
        if family and (not isinstance(self.default, dict) or set(self.default) != family):
            raise ValueError("'default' must name each of 'keys'")
        if family and not set(self.names) <= family:
            raise ValueError(f"'names' of settings that are not in this card: {sorted(set(self.names) - family)}")
        for value in [*self.default.values(), *self.names.values()] if family else [self.default, self.names]:
            for condition in value if isinstance(value, dict) else ():
                _versions(condition)
        return self


class Setting(_Model):
    """A setting of another framework that does what one of verl's does; null for ``key`` where there is none. ``to`` replaces the
    value that a finding proposes, where the two do not take the same values."""

    key: str | None
    default: Any = None
    to: Any = None


class FrameworkCard(_Sourced):
    """``settings`` maps verl's settings, in which the cards give their advice, to this framework's own."""

    aliases: Aliases
    short: Exact
    settings: dict[str, str | Setting | None] = {}


class Threshold(_Model):
    value: Number | list[Number]
    unit: str
    basis: Basis


class Cause(Text):
    id: str


class FixElsewhere(_Model):
    """What is different about a fix in another framework."""

    key: str | None = None
    default: Any = None
    to: Any = None
    why: Text | None = None
    check: Text | None = None


class Fix(_Model):
    """``only`` and ``frameworks`` (null: not there) say where a fix applies and how it differs; see `assistant.diagnosis.translate`.

    ``key`` is absent for a step that is no setting; per-version values are mappings of version conditions, with null where
    that version has no such setting.

    ``moves`` is the direction of the change (``set``: the value itself is the aim). Where a run already has ``to``, ``factor`` or
    ``add`` leads on from its own value, up to ``limit``. ``unlimited`` are values that stand for no limit: below them lies every other.
    """

    id: str
    key: str | dict[Versions, str | None] | None = None
    default: Any = None
    to: Any = None
    moves: Literal["up", "down", "set"] | None = None
    factor: Number | None = Field(None, gt=0)
    add: Number | None = None
    limit: Number | None = None
    unlimited: list[Number | None] = []
    only: list[str] | None = None
    frameworks: dict[str, FixElsewhere | None] = {}
    why: Text
    check: Text | None = None

    @model_validator(mode="after")
    def _directed(self) -> Fix:
        targets = self.to.values() if isinstance(self.to, dict) else [self.to]
        numeric = [v for v in targets if isinstance(v, Number) and not isinstance(v, bool)]
        if (numeric or self.factor or self.add) and self.moves is None:
            raise ValueError("a number to set needs 'moves: up', 'down' or 'set'")
        if self.factor is not None and self.add is not None:
            raise ValueError("give either 'factor' or 'add'")
        step = self.factor - 1 if self.factor is not None else self.add
        if step is not None and (self.moves == "set" or step * (1 if self.moves == "up" else -1) <= 0):
            raise ValueError(f"'factor' or 'add' does not move the value {self.moves}")
        return self


class Choice(_Model):
    causes: list[str] = []
    fixes: list[str] = []


class FindingCard(_Sourced):
    code: str = ""
    aliases: Aliases | None = None
    severity: Literal["critical", "high", "medium", "low", "info"]
    thresholds: dict[str, Threshold] = {}
    needs: str = ""
    says: dict[str, Exact] = Field(min_length=1)
    follows_from: list[str] = []
    causes: list[Cause] = []
    fixes: list[Fix] = []
    variants: dict[str, Choice] = {}
    phases: dict[str, Choice] = {}
    operations: dict[str, str] = {}
    rules_out: list[Text] = []

    @model_validator(mode="after")
    def _ids(self) -> FindingCard:
        causes, fixes = [c.id for c in self.causes], [f.id for f in self.fixes]
        for ids in (causes, fixes):
            if twice := [i for i, n in Counter(ids).items() if n > 1]:
                raise ValueError(f"used twice: {twice}")
        for name, choice in {**self.variants, **self.phases}.items():
            if missing := (set(choice.causes) - set(causes)) | (set(choice.fixes) - set(fixes)):
                raise ValueError(f"{name} chooses unknown causes or fixes: {sorted(missing)}")
        if unknown := set(self.operations.values()) - set(causes):
            raise ValueError(f"operations point to unknown causes: {sorted(unknown)}")
        return self


class ErrorCard(_Model):
    """A signature in the text of a log. Causes and fixes are ids of its finding's card."""

    title: Exact
    kind: str
    finding: str
    variant: str = ""
    fatal: bool
    wrapper: bool = False
    symptom: bool = False
    guarded: bool = False
    ignore_case: bool = False
    fragments: list[str] = Field(min_length=1)
    unless: list[str] = []
    extract: dict[str, OneGroup] = {}
    causes: list[str] = []
    fixes: list[str] = []
    aliases: Aliases | None = None
    questions: Questions | None = None
    related: list[str] = []
    sources: list[str] = Field(min_length=1)


MODELS: Mapping[str, type[BaseModel]] = {
    "metrics": MetricCard,
    "concepts": ConceptCard,
    "guides": ConceptCard,
    "config": ConfigCard,
    "frameworks": FrameworkCard,
    "findings": FindingCard,
    "errors": ErrorCard,
}


def problems(all_cards: Mapping[str, Card] | None = None) -> list[str]:
    """Everything that is wrong with the cards (those of this installation by default), one line each."""
    found = cards() if all_cards is None else all_cards
    return [*(p for card in found.values() for p in card_problems(card)), *_unknown_references(found), *_duplicates(found)]


def card_problems(card: Card) -> Iterator[str]:
    """What is wrong with one card taken alone: its front matter, its body in both languages."""
    if model := MODELS.get(card.folder):
        try:
            model.model_validate(dict(card.front))
        except ValidationError as error:
            for item in error.errors():
                yield f"{card.id}: {'.'.join(str(part) for part in item['loc'])}: {item['msg']}"
    for language in ("en", "zh"):
        if not card.body.get(language, "").strip():
            yield f"{card.id}: no text under '## {language}'"
    if card.body.get("zh") and not _CHINESE.search(card.body["zh"]):
        yield f"{card.id}: the text under '## zh' is not Chinese"
    if card.folder in ("metrics", "concepts", "guides", "config", "frameworks") and (
        different := different_numbers(card.body.get("en", ""), card.body.get("zh", ""))
    ):
        yield f"{card.id}: numbers differ between the two bodies: {different}"


def references(all_cards: Mapping[str, Card]) -> Iterator[tuple[str, str]]:
    """(card, the card it points to) for every ``related``, ``follows_from`` and ``finding``; canonical metrics as ``metric:<id>``."""
    for card in all_cards.values():
        front = card.front
        yield from ((card.id, target) for target in front.get("related", ()))
        yield from ((card.id, f"findings/{name}") for name in front.get("follows_from", ()))
        yield from ((card.id, f"metric:{name}") for field in ("watch_with", "shows") for name in front.get(field, ()))
        if card.folder == "errors":
            yield card.id, f"findings/{front.get('finding')}"


def canonical_ids(all_cards: Mapping[str, Card]) -> list[str]:
    return [metric["id"] for card in all_cards.values() for metric in card.front.get("metrics", ()) if "id" in metric]


def _unknown_references(all_cards: Mapping[str, Card]) -> Iterator[str]:
    known = {*all_cards, *(f"metric:{name}" for name in canonical_ids(all_cards))}
    for source, target in references(all_cards):
        if target not in known:
            yield f"{source}: points to {target}, which does not exist"
    for card in all_cards.values():
        finding = all_cards.get(f"findings/{card.front.get('finding')}")
        if card.folder != "errors" or finding is None:
            continue
        for part in ("causes", "fixes"):
            if missing := set(card.front.get(part, ())) - {entry["id"] for entry in finding.front.get(part, ())}:
                yield f"{card.id}: {part} not in {finding.id}: {sorted(missing)}"
        if (variant := card.front.get("variant")) and variant not in finding.front.get("says", {}):
            yield f"{card.id}: variant {variant!r} is no sentence of {finding.id}"


def _duplicates(all_cards: Mapping[str, Card]) -> Iterator[str]:
    """A canonical id, an alias and (without a condition) a printed key must point to one metric only."""
    for name, n in Counter(canonical_ids(all_cards)).items():
        if n > 1:
            yield f"canonical id {name} is used {n} times"
    owners: dict[str, set[str]] = {}
    for metric in (metric for card in all_cards.values() for metric in card.front.get("metrics", ())):
        for alias in (alias for side in metric.get("aliases", {}).values() for alias in side):
            owners.setdefault(f"alias {alias.lower()!r}", set()).add(metric["id"])
        for framework, names in metric.get("names", {}).items():
            for key in (name for name in names if isinstance(name, str)):
                owners.setdefault(f"key {key!r} of {framework}", set()).add(metric["id"])
    for name, metrics in owners.items():
        if len(metrics) > 1:
            yield f"{name} names several metrics: {sorted(metrics)}"


def main() -> int:
    found = problems()
    print("\n".join(found) or "all cards are well formed", file=sys.stderr if found else sys.stdout)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
