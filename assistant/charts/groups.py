"""The metrics of a run grouped by what they are about, each with its plain name, for choosing what to draw."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from assistant.cards import card, in_folder
from assistant.charts.selection import drawable
from assistant.diagnosis.naming import metric_card
from assistant.diagnosis.view import RunView

GROUPS = ("reward", "policy", "length", "critic", "time", "memory", "other")
_BY_UNIT = dict.fromkeys(("s", "ms/token", "tokens/s", "tokens/s per GPU", "steps/s"), "time") | {"GiB": "memory", "tokens": "length"}
_BY_NAME = (
    ("time", re.compile(r"^time_|throughput|seconds|mfu|_speed|^fps|idle|staleness")),
    ("policy", re.compile(r"(?:^|_)kl(?:_|$)")),
    ("memory", re.compile(r"memory")),
    ("critic", re.compile(r"^value_|explained_variance|^critic_|^q_|td_")),
    ("reward", re.compile(r"reward|score|validation|advantage|return|accuracy|solve|margin|success")),
    ("length", re.compile(r"length|clip_ratio$|truncat|terminated|aborted|turns|tokens")),
    ("policy", re.compile(r"policy|entropy|kl|loss|grad_norm|(?:^|_)lr$|learning_rate|ratio|prob|logp|clip|rollout|importance|weight")),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Choice:
    """A metric that can be drawn: printed ``name``, the card's ``title`` in both languages ("" for a key that no card knows), ``group``."""

    name: str
    title: tuple[str, str]
    group: str


def choices(view: RunView) -> list[Choice]:
    """Every metric with two values to draw, group by group, in the order in which the log prints them."""
    found = [Choice(name, _title(canonical), _group(name, canonical)) for name, canonical in _drawables(view)]
    return sorted(found, key=lambda one: (GROUPS.index(one.group), not one.title[0]))


def _drawables(view: RunView) -> list[tuple[str, str]]:
    return [(name, meaning.canonical) for name, meaning in view.names.items() if drawable(view, name) is not None]


def _title(canonical: str) -> tuple[str, str]:
    found = metric_card(canonical) if canonical else None
    return (card(found).title("en"), card(found).title("zh")) if found else ("", "")


def _group(name: str, canonical: str) -> str:
    if canonical == "validation" or name.startswith("val-"):
        return "reward"
    if (known := _BY_UNIT.get(_units().get(canonical, ""))) is not None:
        return known
    if name.startswith(("timing", "perf/time")):
        return "time"
    text = canonical or name.lower()
    return next((group for group, pattern in _BY_NAME if pattern.search(text)), "other")


@cache
def _units() -> Mapping[str, str]:
    return {metric["id"]: str(metric.get("unit") or "") for found in in_folder("metrics") for metric in found.front.get("metrics") or ()}
