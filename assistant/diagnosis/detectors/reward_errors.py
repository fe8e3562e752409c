"""Exceptions and timeouts of the reward function that become zeros, read from the log's own lines."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.diagnosis.batch import responses_per_step
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import count, percent, quoted
from assistant.diagnosis.finding import Finding, Quantity, Severity
from assistant.diagnosis.view import RunView
from assistant.run import Event, SourceLine

BATCH = "reward-batch-zeroed"
_CAUSES = {
    "reward-exception": ("exception", "environment"),
    "reward-timeout": ("timeout",),
    "sandbox-error": ("sandbox",),
    BATCH: ("overload", "timeout", "exception"),
}
_FIXES = {
    "reward-exception": ("reproduce", "count"),
    "reward-timeout": ("timeout", "count"),
    "sandbox-error": ("sandbox", "count"),
    BATCH: ("timeout", "reproduce"),
}


@detector("reward-errors")
def reward_errors(view: RunView, t: Thresholds) -> Finding | None:
    """Counts are lower bounds: a message that says the same again is counted, one beyond the reader's limit is not."""
    failures = [event for event in view.run.events if event.data.get("finding") == "reward-errors" and not event.fatal]
    if not failures:
        return None
    whole = [event for event in failures if event.kind == BATCH]
    if whole:
        return _found(whole, "batch", _times(whole), severity="high" if len(view.steps) < 2 or _times(whole) > 1 else "medium")
    n = _times(failures)
    steps = _steps_seen(view, failures)
    if n < t.lines or n < t.per_step * max(steps, 1):
        return None
    answers = responses_per_step(view)
    if not answers or not steps:
        return _found(failures, "default", n, confidence=0.6)
    share = min(n / (answers * steps), 1.0)
    if share < t.share:
        return None
    facts = {"steps": count(steps), "share": percent(share, "lines about failed scoring / (answers per step × steps)")}
    return _found(failures, "share", n, facts, severity="critical" if share >= t.grave else "high", confidence=0.75)


def _times(events: Sequence[Event]) -> int:
    return sum(int(event.data.get("repeats", 1)) for event in events)


def _steps_seen(view: RunView, events: Sequence[Event]) -> int:
    """Steps from the first to the last of these lines (an event carries the step printed before it); 0 in a log without steps."""
    if not len(view.steps):
        return 0
    first = min(event.step if event.step is not None else int(view.steps[0]) - 1 for event in events)
    last = max(int(event.data.get("last_step") or event.step or first) for event in events)
    return max(1, min(last, int(view.steps[-1])) - first + 1)


def _found(
    events: Sequence[Event],
    variant: str,
    n: int,
    facts: dict[str, Quantity] | None = None,
    *,
    severity: Severity = "high",
    confidence: float = 0.8,
) -> Finding:
    first = min(events, key=lambda event: event.line)
    commonest = max({event.kind for event in events}, key=lambda kind: _times([e for e in events if e.kind == kind]))
    causes = tuple(dict.fromkeys((*_CAUSES.get(commonest, ()), *(c for e in events for c in _CAUSES.get(e.kind, ())))))
    fixes = dict.fromkeys((*_FIXES.get(commonest, ()), "count"))
    shown = " ".join(first.text.split())[:160]
    last = max(events, key=lambda event: int(event.data.get("last_line", event.line)))
    return Finding(
        "reward-errors",
        severity=severity,
        confidence=confidence,
        first_step=first.step,
        last_step=last.data.get("last_step", last.step),
        facts={"n": count(n), "line": count(first.line), "message": quoted(shown, first.line), **(facts or {})},
        variant=variant,
        causes=causes,
        fixes=fixes,
        excerpt=tuple(SourceLine(event.line, event.text) for event in sorted(events, key=lambda event: event.line)[:3]),
    )
