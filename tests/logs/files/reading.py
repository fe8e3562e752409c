"""What a run holds, value by value, for comparing with what was written."""

from __future__ import annotations

from assistant.run import Run


def printed(run: Run) -> dict[tuple[int, str], str]:
    """(step, metric) → the digits as printed."""
    found = {}
    for name in run.columns:
        series = run.series(name)
        assert series is not None
        found |= {(int(step), name): series.text(index) for index, step in enumerate(series.steps)}
    return found
