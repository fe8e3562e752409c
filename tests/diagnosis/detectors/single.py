"""One detector on one run, by the detector's own id."""

from __future__ import annotations

from assistant.diagnosis import Finding, diagnose, render
from assistant.messages import Language
from assistant.run import Run
from tests.diagnosis.directions import backwards

LANGUAGES: tuple[Language, Language] = ("en", "zh")


def look(run: Run, name: str) -> Finding | None:
    """What the detector ``name`` found first; all that it says must render in both languages."""
    diagnosis = diagnose(run, only=[name])
    for finding in diagnosis.findings:
        for language in LANGUAGES:
            said = render.summary(finding, language)
            assert said
            assert "{" not in said
            assert render.title(finding, language)
            assert all([*render.causes(finding, language), *render.rules_out(finding, language)])
            assert all(fix["why"] and fix["check"] for fix in render.fixes(finding, run, language))
        assert not backwards(finding, run)
        assert render.finding_json(finding, run)["severity"]
        assert finding.evidence or finding.excerpt or finding.variant == "greedy"
        for point in finding.evidence:
            series = run.series(point.metric)
            assert series is not None
            assert point in [series.point(i) for i in range(len(series))]
    return diagnosis.findings[0] if diagnosis.findings else None


def unknown(run: Run, name: str) -> list[str]:
    """What the detector would need to judge."""
    return [u.needs for u in diagnose(run, only=[name]).unknown]
