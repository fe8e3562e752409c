"""What detectors report for a run, each finding rendered in full, so that a missing fact or word raises."""

from __future__ import annotations

from assistant.diagnosis import Finding, diagnose, render
from assistant.run import Run
from tests.diagnosis.directions import backwards


def findings(run: Run, *detectors: str) -> dict[str, Finding]:
    """Findings of these detectors (every one when none is named) by id."""
    found = {finding.id: finding for finding in diagnose(run, detectors or None).findings}
    for finding in found.values():
        _check(finding, run)
    return found


def _check(finding: Finding, run: Run) -> None:
    said = {language: render.summary(finding, language) for language in ("en", "zh")}
    assert said["en"] != said["zh"]
    for language, text in said.items():
        assert "{" not in text
        assert render.causes(finding, language)
        assert all(render.rules_out(finding, language))
        assert all(fix["why"] and fix["check"] for fix in render.fixes(finding, run, language))
    assert not backwards(finding, run)
    for point in finding.evidence:
        series = run.series(point.metric)
        assert series is not None
        assert point.line in series.lines


def unknown(run: Run, detector: str) -> bool:
    """Whether the detector says that this log cannot tell."""
    return detector in {one.finding for one in diagnose(run, [detector]).unknown}
