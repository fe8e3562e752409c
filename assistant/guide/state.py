"""What a diagnosis says about the findings that a guide asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from assistant.diagnosis import registered, render
from assistant.diagnosis.finding import Diagnosis, Finding
from assistant.diagnosis.naming import family, log_kind, metric_card
from assistant.diagnosis.view import RunView
from assistant.guide.loading import Choice, Guide, Step
from assistant.guide.parts import State
from assistant.guide.rows import short_name
from assistant.messages import Language, say

CLASSIC = frozenset(("sb3", "rllib", "cleanrl"))
"""Frameworks whose agents act in environments: no text is written."""


@cache
def detector_of(finding: str) -> str | None:
    """The detector that decides about this finding."""
    if finding in registered():
        return finding
    return next((one.id for one in registered().values() if finding in one.ids), None)


@dataclass(frozen=True)
class Reading:
    """A diagnosis, ready to be asked step by step."""

    diagnosis: Diagnosis

    @cached_property
    def view(self) -> RunView:
        return RunView(self.diagnosis.run)

    @cached_property
    def faults(self) -> Mapping[str, Finding]:
        """Findings above ``info``, the one to act on first; of several with one id, the first."""
        found: dict[str, Finding] = {}
        for finding in self.diagnosis.faults:
            found.setdefault(finding.id, finding)
        return found

    @cached_property
    def explained(self) -> Mapping[str, Finding]:
        return {finding.id: finding for finding in self.diagnosis.findings if finding.severity == "info"}

    @cached_property
    def fine(self) -> frozenset[str]:
        return frozenset(self.diagnosis.fine)

    @cached_property
    def needs(self) -> Mapping[str, str]:
        """What a detector that could not judge would need, by its id."""
        return {one.finding: one.needs for one in self.diagnosis.unknown}

    @cached_property
    def kind(self) -> str:
        """What this log trains: ``rl`` (a model that writes), ``classic`` (an agent that acts), ``preference`` or ``supervised``.

        "" when the log does not show it.
        """
        if not self.diagnosis.run.columns:
            return ""
        if family(self.diagnosis.run.framework) in CLASSIC:
            return "classic"
        if self.view.has("preference_loss") or self.view.has("preference_margin"):
            return "preference"
        if any(self.view.has(name) for name in ("score_mean", "policy_loss", "response_length_mean", "advantage_mean")):
            return "rl"
        if self.view.has("train_loss"):
            return "supervised" if log_kind(self.diagnosis.run.columns) != "preference" else "preference"
        return ""

    def state(self, finding: str) -> State:
        if finding in self.faults:
            return "found"
        if finding in self.explained:
            return "explained"
        if finding in self.fine:
            return "fine"
        return "unknown" if detector_of(finding) in self.needs else "none"

    def state_of(self, step: Step) -> State:
        """``found`` before all; then what was looked at counts more than what could not be."""
        states = {self.state(name) for name in step.checks}
        found: State = next((one for one in ("found", "fine", "explained", "unknown") if one in states), "none")
        if found in ("unknown", "none") and any(name in self.explained for name in step.info):
            return "explained"
        return found

    def found_in(self, step: Step) -> Sequence[str]:
        """Faults that the step asks for, in the order to act on them."""
        return [name for name in self.faults if name in step.checks]

    def main_of(self, guide: Guide) -> str | None:
        """The fault that this guide leads to: of its own the first to act on, else of those that it asks for as well."""
        own = [name for name in self.faults if name in guide.findings]
        asked = [name for name in self.faults if name in guide.checks]
        return next(iter(own or asked), None)

    def applies(self, step: Step) -> bool:
        """Whether this kind of training has such a step at all."""
        return not step.kinds or not self.kind or self.kind in step.kinds

    def settable(self, finding: str) -> bool:
        """Whether a setting, and not only other or more numbers, would let the log tell."""
        needs = self.needs.get(detector_of(finding) or "", "")
        return "=" in needs and not needs.startswith("steps>=") and not needs.endswith("=")

    def too_short(self, finding: str) -> bool:
        """Whether only more steps are missing to judge it."""
        return self.state(finding) == "unknown" and self.needs.get(detector_of(finding) or "", "").startswith("steps>=")

    def to_see(self, finding: str, language: Language) -> str:
        """What to log or paste so that this finding can be judged; "" when it was, or when only another framework has the setting."""
        needs = self.needs.get(detector_of(finding) or "", "")
        if metric_card(needs):
            return say("diagnosis.needs_metric", language, metric=short_name(self.view, needs, language))
        told = render.needs(needs, language) if needs else ""
        if told == needs:  # a setting, or words of a log, as verl spells them
            return f"`{told.rstrip('=')}`" if told and family(self.diagnosis.run.framework) == "verl" else ""
        return told

    def said(self, choice: Choice) -> tuple[str, int] | None:
        """What the log itself says that makes this the answer to a question (words and line), e.g. the size of its GPUs."""
        if choice.when is None:
            return None
        for event in self.diagnosis.run.events:
            text = str(event.data.get(choice.when.field, "")) if event.kind == choice.when.event else ""
            number = re.match(r"[\d.]+", text)
            if number and choice.when.low <= float(number[0]) < choice.when.high:
                return text, event.line
        return None

    def logged(self, canonical: str) -> bool:
        if canonical == "validation":
            return next(iter(self.view.validations()), None) is not None
        series = self.view[canonical]
        return series is not None and len(series) > 0
