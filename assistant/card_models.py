"""The shape of each kind of card, as pydantic models: used by `assistant.schema`, never at run time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

Number = int | float
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


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Text(Model):
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


class Aliases(Model):
    en: list[str] = Field(min_length=1)
    zh: list[str] = Field(min_length=1)


class Questions(Aliases):
    """What people ask or say when this card is the answer, in their words: only for finding the card."""


class Name(Model):
    key: str
    scale: Number = 1.0
    unless: str | list[str] = ""
    together: str | list[str] = Field("", alias="with")
    kind: Literal["", "rl", "preference", "supervised"] = ""


class Metric(Model):
    """``plain`` says what it is, ``look`` what it should look like, in a sentence for somebody who has never trained a model."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    names: dict[str, list[str | Name]] = {}
    unit: str
    good: Literal["up", "down", "context", "none"]
    plain: Exact | None = None
    look: Exact | None = None
    aliases: Aliases


class Era(Exact):
    when: Versions


class Range(Exact):
    metric: str | None = None
    low: Number | None
    high: Number | None
    basis: Basis
    level: Literal["usual"] | None = None
    """"usual": where a run that is well is found; charts shade it."""

    @model_validator(mode="after")
    def _ordered(self) -> Range:
        if self.low is None and self.high is None:
            raise ValueError("a range needs a low or a high end")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"range {self.low}–{self.high} is upside down")
        return self


class Sourced(Model):
    title: Exact
    questions: Questions | None = None
    related: list[str] = []
    sources: list[str] = Field(min_length=1)


class MetricCard(Sourced):
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


class ConceptCard(Sourced):
    aliases: Aliases
    short: Exact


class ConfigCard(Sourced):
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


class Setting(Model):
    """A setting of another framework that does what one of verl's does; null for ``key`` where there is none. ``to`` replaces the
    value that a finding proposes, where the two do not take the same values."""

    key: str | None
    default: Any = None
    to: Any = None


class Trainer(Model):
    """One of a framework's trainers: the metrics that only it ``prints``, and where its settings differ from the framework's usual ones."""

    prints: list[str]
    settings: dict[str, str | Setting | None]


class FrameworkCard(Sourced):
    """``settings`` maps verl's settings, in which the cards give their advice, to this framework's own."""

    aliases: Aliases
    short: Exact
    settings: dict[str, str | Setting | None] = {}
    trainers: list[Trainer] = []


class Threshold(Model):
    value: Number | list[Number]
    unit: str
    basis: Basis


class Cause(Text):
    id: str


class RuledOut(Text):
    """``only: [verl]``: for what verl alone has or does; ``not_for``: variants of the finding that it says nothing about."""

    only: list[Literal["verl"]] = []
    not_for: list[str] = []


class FixElsewhere(Model):
    """What is different about a fix in another framework."""

    key: str | None = None
    default: Any = None
    to: Any = None
    why: Text | None = None
    check: Text | None = None


class Fix(Model):
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


class Choice(Model):
    causes: list[str] = []
    fixes: list[str] = []


class FindingCard(Sourced):
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
    signals: dict[str, str] = {}
    rules_out: list[RuledOut] = []

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
        if unknown := set(self.signals.values()) - set(causes):
            raise ValueError(f"signals point to unknown causes: {sorted(unknown)}")
        return self


class ErrorCard(Model):
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
