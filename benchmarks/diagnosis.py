"""How long a diagnosis takes: every detector on made-up runs of 300 to 100,000 steps with all of verl's metrics.

    python benchmarks/diagnosis.py [--steps 300 10000 100000] [--limit-ms 50] [--log FILE …]

Prints the time of the whole diagnosis and of the slowest detectors; exit 1 when one takes longer than the limit at 10,000 steps.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assistant.cards import in_folder
from assistant.diagnosis import _look, diagnose
from assistant.diagnosis.detector import registered
from assistant.diagnosis.view import RunView
from assistant.run import Column, Run, Segment, Style

GATE_STEPS = 10_000


def made_up(n: int, seed: int = 0) -> Run:
    """A run of ``n`` steps in which every verl metric that has a card is printed: noisy, slowly moving curves."""
    rng = np.random.default_rng(seed)
    rows = np.arange(n, dtype=np.int32)
    names = [
        name if isinstance(name, str) else name["key"]
        for card in in_folder("metrics")
        for metric in card.front.get("metrics", ())
        for name in metric.get("names", {}).get("verl", ())
    ]
    names += ["val-core/openai/gsm8k/acc/mean@1", "val-aux/openai/gsm8k/reward/mean@1"]
    columns = {}
    for name in dict.fromkeys(names):
        level, drift = rng.lognormal(0, 1), rng.normal(0, 0.5)
        values = level * (1 + drift * np.linspace(0, 1, n) + 0.1 * rng.standard_normal(n))
        columns[name] = Column(rows, np.abs(values), np.full(n, Style.REPR, np.uint8))
    steps = np.arange(1, n + 1, dtype=np.int64)
    return Run(
        framework="verl",
        era="0.6",
        row_steps=steps,
        row_lines=steps,
        row_records=rows.astype(np.int64),
        columns=columns,
        segments=[Segment(0, n - 1, 1, n, 1)],
        n_lines=n,
    )


def measure(run: Run) -> tuple[float, list[tuple[float, str]]]:
    """Seconds of the whole diagnosis, and of each detector on a fresh view (best of three), slowest first."""
    diagnose(run)
    whole = min(_timed(lambda: diagnose(run)) for _ in range(3))
    each = []
    for one in registered().values():
        seconds = []
        for _ in range(3):
            view = RunView(run)
            view.names, view.steps, view.n_steps  # noqa: B018  (shared by all detectors: not this one's cost)
            seconds.append(_timed(lambda one=one, view=view: _look(one, view)))  # type: ignore[misc]
        each.append((min(seconds), one.id))
    return whole, sorted(each, reverse=True)


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--steps", type=int, nargs="*", default=[300, GATE_STEPS, 100_000])
    arguments.add_argument("--limit-ms", type=float, default=50.0)
    arguments.add_argument("--log", nargs="*", default=[])
    options = arguments.parse_args()
    runs = [(f"{n:,} steps, made up", n, made_up(n)) for n in options.steps]
    if options.log:
        from assistant.logs import read

        runs += [(Path(path).parent.name, 0, read(path)) for path in options.log]
    slow: list[str] = []
    for title, n, run in runs:
        whole, each = measure(run)
        print(f"{title}: {len(run.columns)} metrics, {1000 * whole:.0f} ms in all, {len(each)} detectors")
        for seconds, name in each[:8]:
            print(f"  {1000 * seconds:7.1f} ms  {name}")
        if n == GATE_STEPS:
            slow = [f"{name} {1000 * seconds:.0f} ms" for seconds, name in each if 1000 * seconds > options.limit_ms]
    if slow:
        print(f"over {options.limit_ms:.0f} ms at {GATE_STEPS:,} steps: " + ", ".join(slow))
    return 1 if slow else 0


if __name__ == "__main__":
    raise SystemExit(main())
