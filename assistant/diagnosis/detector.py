"""The door through which every detector enters.

A detector is a pure function ``(view, thresholds) -> Finding | list[Finding] | NotChecked | None``; None means "checked,
nothing wrong". It is registered where it is defined, under the finding id whose card holds its thresholds and words::

    @detector("entropy-collapse", needs=("policy_entropy",), min_points=10)
    def entropy_collapse(view: RunView, t: Thresholds) -> Finding | None: ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

import numpy as np

from assistant.cards import card
from assistant.diagnosis.finding import Finding, NotChecked

if TYPE_CHECKING:
    from assistant.diagnosis.view import RunView

Outcome = Finding | Sequence[Finding] | NotChecked | None


class Thresholds:
    """The numbers of a card's ``thresholds``, as attributes. An unknown name raises AttributeError naming the card."""

    __slots__ = ("_card", "_values")

    def __init__(self, card_id: str, values: Mapping[str, float]) -> None:
        self._card, self._values = card_id, values

    def __getattr__(self, name: str) -> float:
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"knowledge/{self._card}.md has no threshold {name!r}; add it under 'thresholds:'") from None


@dataclass(frozen=True, slots=True)
class Detector:
    """``needs`` are canonical metric names, all required; ``min_points`` is how many finite values of the first are.

    ``ids`` are further finding ids that the function may report (one look at the data, several verdicts).
    """

    id: str
    function: Callable[[RunView, Thresholds], Outcome]
    needs: tuple[str, ...] = ()
    min_points: int = 1
    ids: tuple[str, ...] = ()

    def thresholds(self) -> Thresholds:
        return thresholds(self.id)


REGISTRY: dict[str, Detector] = {}


def detector(
    finding_id: str, *, needs: tuple[str, ...] = (), min_points: int = 1, also: tuple[str, ...] = ()
) -> Callable[[Callable[[RunView, Thresholds], Outcome]], Callable[[RunView, Thresholds], Outcome]]:
    """Register a detector for ``finding_id`` (and the ids in ``also``)."""

    def register(function: Callable[[RunView, Thresholds], Outcome]) -> Callable[[RunView, Thresholds], Outcome]:
        if finding_id in REGISTRY and REGISTRY[finding_id].function is not function:
            raise ValueError(f"two detectors for {finding_id!r}")
        REGISTRY[finding_id] = Detector(finding_id, function, needs, min_points, also)
        return function

    return register


@cache
def registered() -> Mapping[str, Detector]:
    """Every detector by finding id; importing the modules of ``detectors/`` registers them."""
    from assistant.diagnosis import detectors as package

    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(REGISTRY.items()))


def look(one: Detector, view: RunView) -> Outcome:
    """What the detector says of the run; each looks once."""
    if one.id not in view.outcomes:
        view.outcomes[one.id] = _outcome(one, view)
    said: Outcome = view.outcomes[one.id]
    return said


def reports(view: RunView, finding_id: str) -> bool:
    """Whether the detector of that id finds something: for another one that has nothing to add to it."""
    said = look(registered()[finding_id], view)
    return said is not None and not isinstance(said, NotChecked) and bool(said)


def _outcome(one: Detector, view: RunView) -> Outcome:
    for name in one.needs:
        series = view[name]
        if series is None or not series.finite.any():
            return NotChecked(card(f"findings/{one.id}").front.get("needs") or name)
    if one.needs and one.min_points > 1:
        first = view[one.needs[0]]
        if first is not None and int(first.finite.sum()) < one.min_points:
            return NotChecked(f"steps>={one.min_points}")
    with np.errstate(all="ignore"):  # logs hold Inf and NaN; arithmetic on them is not worth a warning
        return one.function(view, one.thresholds())


@cache
def thresholds(finding_id: str) -> Thresholds:
    """The thresholds in the card ``findings/<id>``; also for a detector that borrows another card's limit."""
    card_id = f"findings/{finding_id}"
    rows = card(card_id).front.get("thresholds") or {}
    return Thresholds(card_id, {name: row["value"] if isinstance(row, Mapping) else row for name, row in rows.items()})
