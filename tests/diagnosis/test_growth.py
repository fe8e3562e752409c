"""A log that grows: findings appear, stay, and may clear once; since when they hold does not wander."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from assistant.diagnosis import diagnose
from assistant.logs import read
from assistant.run import Run
from tests.builders import run_of

CASES = Path(__file__).parents[3] / "shared" / "cases"
LOGS = sorted(
    [
        *(log for n in ("02", "03", "10", "12", "13", "21", "23") for log in CASES.glob(f"verl/{n}_*/log.txt")),
        *CASES.glob("long/*verl*/metrics.jsonl"),
    ]
)
PARTS = 20


def prefixes(log: Path) -> Iterator[Run]:
    lines = log.read_bytes().splitlines(keepends=True)
    for part in range(1, PARTS + 1):
        yield read(b"".join(lines[: max(1, round(len(lines) * part / PARTS))]))


def replayed(runs: Iterator[Run]) -> tuple[dict[str, list[int]], dict[str, list[int]], int]:
    """Finding id → parts at which it is reported, and its onsets; the last step."""
    seen: dict[str, list[int]] = {}
    onsets: dict[str, list[int]] = {}
    last = 0
    for part, run in enumerate(runs):
        last = run.last_step or last
        for finding in diagnose(run).faults:
            seen.setdefault(finding.id, []).append(part)
            if finding.first_step is not None:
                onsets.setdefault(finding.id, []).append(finding.first_step)
    return seen, onsets, last


def flickers(parts: list[int]) -> bool:
    return parts[-1] - parts[0] + 1 != len(parts)


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.parent.name[:24])
def test_findings_do_not_flicker_as_a_real_log_grows(log: Path) -> None:
    seen, onsets, last = replayed(prefixes(log))
    assert {name: parts for name, parts in seen.items() if flickers(parts)} == {}
    assert {name: steps for name, steps in onsets.items() if max(steps) - min(steps) > max(5, 0.1 * last)} == {}


def test_a_fault_that_sets_in_is_found_soon_and_kept() -> None:
    rng = np.random.default_rng(0)
    n = 200
    score = np.where(np.arange(n) < 120, np.linspace(0.3, 0.7, n), np.linspace(0.9, 0.1, n)) + rng.normal(0, 0.02, n)
    clip = np.where(np.arange(n) < 100, 0.01, 0.3) + np.abs(rng.normal(0, 0.02, n))
    metrics = {
        "critic/score/mean": list(score),
        "critic/score/max": [1.0] * n,
        "critic/score/min": [0.0] * n,
        "response_length/clip_ratio": list(clip),
        "response_length/mean": list(rng.normal(300, 10, n)),
    }
    runs = (run_of({name: values[:k] for name, values in metrics.items()}, era="0.6") for k in range(10, n + 1, 10))
    seen, onsets, _ = replayed(runs)
    assert seen["truncation"] == list(range(11, 20))  # first reported with step 120, twenty steps after it began
    assert max(onsets["truncation"]) - min(onsets["truncation"]) <= 5
    assert not flickers(seen["reward-collapse"])
    assert 120 <= min(onsets["reward-collapse"]) <= max(onsets["reward-collapse"]) <= 165
