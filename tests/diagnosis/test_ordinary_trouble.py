"""Single outliers, slow steps and swings are no faults, and a log that was cut or trimmed raises none either."""

from __future__ import annotations

from assistant.diagnosis import diagnose
from tests.diagnosis.ordinary_trouble import troubled_run

SEEDS = 100


def test_ordinary_trouble_raises_next_to_nothing() -> None:
    found = {seed: [(f.id, f.severity) for f in diagnose(troubled_run(seed)).faults] for seed in range(SEEDS)}
    raised = {seed: kept for seed, faults in found.items() if (kept := [f for f in faults if f[0] != "no-validation"])}  # its keys left out
    assert len(raised) <= SEEDS / 33, raised
    assert all(severity == "low" for faults in raised.values() for _, severity in faults), raised
