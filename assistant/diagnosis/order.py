"""Which finding to act on first: causes before what follows from them, then severity, then onset.

That one finding can follow from another is knowledge (``follows_from`` in its card, a graph without cycles); that it does
in this run also needs the cause to be there no later than the effect. A crash stays first all the same: nothing trains until it
is out of the way, and the story (`assistant.diagnosis.story`) says what led to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assistant.cards import card
from assistant.diagnosis.finding import SEVERITIES, Finding

SLACK = 5
"""Steps by which a cause may show up after its effect: detectors need a few steps to be sure."""

SLACK_SHARE, MOST_SLACK = 0.08, 20
"""In a long run the same, as a share of its last step, and at most this many steps: onsets of slow changes are no sharper."""


def in_order(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, the one to act on first; each with the ids of the present findings that it ``follows``."""
    slack = _slack(findings)
    linked = [replace(finding, follows=_causes(finding, findings, slack)) for finding in findings]
    waiting = sorted(linked, key=lambda finding: (_gravest(finding, linked), *_urgency(finding)))
    done: list[Finding] = []
    while waiting:
        pending = {finding.id for finding in waiting}
        ready = next((f for f in waiting if stops(f) or not pending.intersection(f.follows)), waiting[0])
        waiting.remove(ready)
        done.append(ready)
    return done


def _gravest(finding: Finding, linked: Sequence[Finding]) -> int:
    """Rank of the gravest of a finding and of what follows from it: who is the cause of the worst is to be acted on first."""
    effects = [SEVERITIES.index(other.severity or "medium") for other in linked if finding.id in other.follows and not stops(other)]
    return min([SEVERITIES.index(finding.severity or "medium"), *effects])


def _urgency(finding: Finding) -> tuple[int, float, float]:
    severity = SEVERITIES.index(finding.severity or "medium")
    return severity, -finding.confidence, finding.first_step if finding.first_step is not None else -1


def _slack(findings: Sequence[Finding]) -> int:
    first = min((f.first_step for f in findings if f.first_step is not None), default=0)
    last = max((f.last_step for f in findings if f.last_step is not None), default=0)
    return max(SLACK, min(int(SLACK_SHARE * (last - first)), MOST_SLACK))


def _causes(finding: Finding, present: Sequence[Finding], slack: int) -> tuple[str, ...]:
    known = card(f"findings/{finding.id}").front.get("follows_from") or ()
    causes = [other for other in present if other.id in known and other.severity != "info" and not _noticed_late(other)]
    return tuple(other.id for other in causes if _before(other, finding, slack))


def _noticed_late(finding: Finding) -> bool:
    """Known from the error that ended the run: what the metrics show came before it."""
    return finding.id == "non-finite" and finding.variant == "told"


def stops(finding: Finding) -> bool:
    """Whether the finding is the end of the run: a crash or a hang."""
    return finding.id.startswith("crash-") or finding.id == "hang"


def _before(cause: Finding, effect: Finding, slack: int) -> bool:
    """The cause sets in no later than the effect; what ended a run was still there when it ended."""
    if cause.first_step is None or effect.first_step is None:
        return True
    if stops(effect) and cause.last_step is not None and cause.last_step < effect.first_step - max(SLACK, effect.first_step // 10):
        return False
    return cause.first_step <= effect.first_step + slack
