"""Several rankings of the same cards made into one, then weighed by what is known of the run."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from assistant.cards import Card
from assistant.diagnosis.naming import family
from assistant.diagnosis.view import RunView, era_matches
from assistant.run import Run

K = 8
"""Rank 1 counts 1/(K+1), rank n 1/(K+n): small, because the list asked for is short."""

WEIGHTS: Mapping[str, float] = {"alias": 1.5, "bm25": 1.0, "dense": 1.0, "finding": 0.8}
OTHER_FRAMEWORK = 0.6
OTHER_ERA = 0.7
NO_CRITIC = 0.7
PRINTED = 1.15

_WITHOUT_CRITIC = re.compile(r"grpo|rloo|remax|dapo|gspo|reinforce|opo|gpg|cispo|gdpo|optimal_token", re.IGNORECASE)
_OF_CRITIC = re.compile(r"(?:^|/)(?:critic\.(?:vf|values|vpred|loss|grad|lr|optim|ppo|cliprange)|critic-|value-|explained|gae)")


@dataclass(frozen=True, slots=True)
class Setting:
    """What is known of the run that the question is about. ``printed`` are its canonical metric names."""

    framework: str = ""
    era: str = ""
    algorithm: str = ""
    printed: Container[str] = ()

    @classmethod
    def of(cls, run: Run) -> Setting:
        printed = {name.canonical for name in RunView(run).names.values() if name.canonical}
        return cls(_known(run.framework), _known(run.era), run.algorithm or "", printed)


def fuse(rankings: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Card → weighted reciprocal rank over the rankings (by name: alias, bm25, dense, finding), best 1.0 if first in all."""
    top = sum(WEIGHTS[name] for name, ranking in rankings.items() if ranking) / (K + 1) or 1.0
    scores: dict[str, float] = {}
    for name, ranking in rankings.items():
        for rank, card in enumerate(ranking, 1):
            scores[card] = scores.get(card, 0.0) + WEIGHTS[name] / (K + rank) / top
    return scores


def weighed(
    scores: Mapping[str, float], cards: Mapping[str, Card], setting: Setting, named: Container[str] = ()
) -> list[tuple[str, float]]:
    """Cards with their scores, best first. Cards that cannot be about this run go down, unless the question names them."""
    rows = ((card, min(score * (1.0 if card in named else fit(cards[card], setting)), 1.0)) for card, score in scores.items())
    return sorted(rows, key=lambda row: (-row[1], row[0]))


def fit(card: Card, setting: Setting) -> float:
    """How well a card fits the run: below 1 for another framework, version or kind of algorithm, above for what it prints."""
    factor = 1.0
    front = card.front
    if card.folder == "metrics":
        metrics = front.get("metrics") or ()
        frameworks = {name for metric in metrics for name in metric.get("names") or ()}
        if setting.framework and frameworks and family(setting.framework) not in frameworks:
            factor *= OTHER_FRAMEWORK
        if any(metric.get("id") in setting.printed for metric in metrics):
            factor *= PRINTED
    if setting.era and (conditions := list(_conditions(front))) and not any(era_matches(setting.era, c) for c in conditions):
        factor *= OTHER_ERA
    if _WITHOUT_CRITIC.search(setting.algorithm) and _OF_CRITIC.search(card.id):
        factor *= NO_CRITIC
    return factor


def _conditions(front: Mapping[str, object]) -> Iterable[str]:
    """Versions that have the setting which a config card explains."""
    names = front.get("names")
    if isinstance(names, Mapping):
        yield from (str(condition) for condition, key in names.items() if key)


def _known(text: str) -> str:
    return "" if text == "unknown" else text
