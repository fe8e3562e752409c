"""A run with its evidence, and how a true number of it is made a false one, for the sentences of ``verifier.py``."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

import numpy as np

from assistant.answers.checking.grounds import Grounds
from assistant.answers.checking.numerals import numerals
from assistant.answers.grounding.evidence import Fact
from assistant.answers.packed.packing import Packed
from assistant.cards import cards
from assistant.diagnosis import RunView
from assistant.diagnosis.finding import Diagnosis
from assistant.diagnosis.naming import metric_card


@dataclass
class Scene:
    """A run with the evidence for one question."""

    diagnosis: Diagnosis
    view: RunView
    packed: Packed
    question: str
    language: str
    grounds: Grounds

    @property
    def points(self) -> list[Fact]:
        return [
            f
            for f in self.packed.evidence.facts
            if f.kind == "run"
            and f.metric in self.diagnosis.run.columns
            and f.step is not None
            and isinstance(f.value, float)
            and np.isfinite(f.value)
        ]


Pair = tuple[str, str, list[str]]
"""(kind, true sentence, false sentences)."""


# Mutations


def wrong_digit(text: str, rng: random.Random) -> str:
    """One digit of a printed number changed, not the last one of many."""
    places = [i for i, c in enumerate(text.partition("e")[0]) if c.isdigit()]
    leading = next((i for i in places if text[i] != "0"), places[0])
    chosen = rng.choice([i for i in places if leading <= i <= leading + 2] or places)
    new = rng.choice([d for d in "123456789" if d != text[chosen]])
    return text[:chosen] + new + text[chosen + 1 :]


def value_mutations(text: str, rng: random.Random) -> list[str]:
    out = [wrong_digit(text, rng)]
    if float(text) != 0:
        out.append(text[1:] if text.startswith("-") else "-" + text)
        if "e" not in text:
            out.append(f"{float(text) * 10:.6g}")
    return out


def false_value(scene: Scene, metric: str, shown: str, step: int | None) -> bool:
    """Whether ``shown`` is really wrong of the metric (at the step, or anywhere in the evidence)."""
    number = numerals(shown)
    if len(number) != 1:
        return False
    one = number[0]
    if step is not None:
        truth = scene.grounds.at(metric, step)
        medians = [f.value for f in scene.grounds.by_metric.get(metric, ()) if f.kind == "derived" and isinstance(f.value, float)]
        if any(abs(one.value - m) <= one.half * 1.001 for m in medians):
            return False  # a median that the evidence itself gives "by" this step
        return truth is not None and abs(one.value - truth) > one.half * 1.001
    known = [f.value for f in scene.grounds.by_metric.get(metric, ()) if isinstance(f.value, float)]
    return all(abs(one.value - v) > one.half * 1.001 for v in known)


def key_or_name(scene: Scene, metric: str, rng: random.Random) -> str:
    """The key in code, the bare key, or the card's title for it when it names one metric."""
    canonical = scene.view.names[metric].canonical
    card = cards().get(metric_card(canonical) or "")
    ids = [m["id"] for m in card.front.get("metrics", ())] if card else []
    if card and len(ids) == 1 and rng.random() < 0.3:
        return re.sub(r"\s*[(（].*", "", card.title(scene.language))  # type: ignore[arg-type]
    return rng.choice([f"`{metric}`", f"`{metric}`", metric])


def s(scene: Scene, en: str, zh: str) -> str:
    return zh if scene.language == "zh" else en
