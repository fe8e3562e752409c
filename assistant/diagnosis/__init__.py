"""From a run to a diagnosis: every detector looks once, the findings are put in the order to act on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from assistant.cards import card
from assistant.diagnosis import ends
from assistant.diagnosis.detector import Detector, look, registered
from assistant.diagnosis.enough import enough
from assistant.diagnosis.finding import Diagnosis, Finding, NotChecked, Quantity, Severity, Unknown
from assistant.diagnosis.naming import log_kind
from assistant.diagnosis.order import in_order
from assistant.diagnosis.translate import of_trainer, own_needs, words
from assistant.diagnosis.view import RunView
from assistant.run import Run

__all__ = ["Diagnosis", "Finding", "NotChecked", "Quantity", "RunView", "Unknown", "diagnose", "registered"]


def diagnose(run: Run, only: Iterable[str] | None = None) -> Diagnosis:
    """Look at ``run`` with every detector (or with those of the ids in ``only``)."""
    view = RunView(run)
    said, kind = words(view), log_kind(run.columns)
    findings: list[Finding] = []
    fine: list[str] = []
    unknown: list[Unknown] = []
    chosen = registered().values() if only is None else [registered()[name] for name in only]
    for one in chosen:
        if not _applies(one, view):
            continue
        outcome = look(one, view)
        found = [] if outcome is None or isinstance(outcome, NotChecked) else [outcome] if isinstance(outcome, Finding) else list(outcome)
        if not found and (change := ends.look(one.id, view)):
            outcome, found = None, [change]
        if isinstance(outcome, NotChecked):
            unknown.append(Unknown(one.id, own_needs(outcome.needs, run.framework, kind, of_trainer(run))))
            continue
        findings.extend(replace(f, severity=f.severity or _severity(f.id), words=said) for f in found)
        reported = {f.id for f in found}
        others = [name for name in (one.id, *one.ids) if name not in reported and _severity(name) != "info"]
        if _points(one, view) >= enough(one):
            fine.extend(others)
        elif not found and others and run.n_rows:
            unknown.append(Unknown(one.id, f"steps>={enough(one)}"))
    return Diagnosis(run, in_order(findings), sorted(fine), unknown)


CRITIC_METRICS = frozenset(
    (
        "explained_variance",
        "value_loss",
        "value_mean",
        "value_max",
        "value_min",
        "value_clip_fraction",
        "value_prediction_mean",
        "critic_grad_norm",
        "critic_lr",
        "time_values",
        "time_update_critic",
    )
)


def _applies(one: Detector, view: RunView) -> bool:
    """Whether the question makes sense here: a log without metrics, or a run without a critic, leaves nothing unknown."""
    if one.needs and not view.run.n_rows:
        return False
    return not CRITIC_METRICS.intersection(one.needs) or not view.critic_free


def _points(one: Detector, view: RunView) -> int:
    """Logged steps that the detector could judge by; words and settings are judged as they are."""
    if enough(one) == 1:
        return 1
    first = view[one.needs[0]] if one.needs else None
    return int(first.finite.sum()) if first is not None else view.n_steps


def _severity(finding_id: str) -> Severity:
    severity: Severity = card(f"findings/{finding_id}").front.get("severity", "medium")
    return severity
