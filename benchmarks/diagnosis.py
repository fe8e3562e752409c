"""How long a diagnosis takes, and how early it warns.

    python benchmarks/diagnosis.py [--steps 300 10000 100000] [--limit-ms 50] [--log FILE …] [--cases FOLDER]

Time: 1,000 steps × 100 metrics (at most `WHOLE_MS`), and every detector on made-up runs with all of verl's metrics; exit 1 when the whole
or, at 10,000 steps, one detector takes longer than the limit. Early warning, on labelled logs that end badly: steps between the first
right finding, on growing prefixes, and the visible failure (the smoothed score stays below 70 % of the way from its lowest to its best).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assistant.cards import in_folder
from assistant.diagnosis import _look, diagnose
from assistant.diagnosis.detector import registered
from assistant.diagnosis.stats import rolling_median
from assistant.diagnosis.view import RunView
from assistant.run import Column, Run, Segment, Style
from benchmarks.bad_endings import made_up_endings

GATE_STEPS = 10_000
WHOLE_MS = 60
CASES = Path(__file__).resolve().parents[1] / "tests" / "cases"
SHARE = 0.7


def made_up(n: int, seed: int = 0, most: int | None = None) -> Run:
    """A run of ``n`` steps in which every verl metric that has a card (or the first ``most``) is printed: noisy, slowly moving curves."""
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
    for name in list(dict.fromkeys(names))[:most]:
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


def first_steps(run: Run, n: int) -> Run:
    """The run as it was after its first ``n`` rows."""
    columns = {}
    for name, column in run.columns.items():
        kept = column.rows < n
        if kept.any():
            columns[name] = Column(column.rows[kept], column.values[kept], column.styles[kept])
    segments = [replace(s, last_row=min(s.last_row, n - 1), last_step=int(run.row_steps[min(s.last_row, n - 1)])) for s in run.segments]
    return replace(
        run,
        columns=columns,
        row_steps=run.row_steps[:n],
        row_lines=run.row_lines[:n],
        row_records=run.row_records[:n],
        segments=[s for s in segments if s.first_row < n],
        events=[e for e in run.events if not e.fatal],
        n_lines=int(run.row_lines[n - 1]),
    )


def failed_at(run: Run) -> int | None:
    """The step from which the smoothed score stays below `SHARE` of the way from its lowest to its best; None when it does not."""
    score = RunView(run)["score_mean"]
    if score is None or int(score.finite.sum()) < 30:
        return None
    values, steps = score.scaled[score.finite], score.steps[score.finite]
    level = rolling_median(values, 10)[9:]
    low, best = float(values.min()), float(level.max())
    good = np.flatnonzero(level >= low + SHARE * (best - low))
    return int(steps[good[-1] + 10]) if good[-1] + 10 < len(steps) else None


def warned_at(run: Run, right: set[str], parts: int = 50) -> int | None:
    """The last step of the shortest prefix on which one of the ``right`` findings is reported above ``info``."""
    for part in range(1, parts + 1):
        prefix = first_steps(run, max(1, round(run.n_rows * part / parts)))
        if right.intersection(f.id for f in diagnose(prefix).faults):
            return prefix.last_step
    return None


def early_warning(folder: Path) -> None:
    """A line for each run that ends badly (labelled logs, then made-up ones), and the median leads."""
    from assistant.logs import read

    leads = []
    for path in sorted(folder.rglob("case.json")):
        label = orjson.loads(path.read_bytes())
        run = read(path.parent / label.get("input", "log.txt")) if label.get("accept") else Run()
        if run.n_rows >= 30 and (lead := _lead(path.parent.name, run, set(label["accept"]))) is not None:
            leads.append(lead)
    _tell("logs", leads)
    _tell("made-up runs", [lead for name, right, run in made_up_endings() if (lead := _lead(name, run, set(right))) is not None])


def _lead(name: str, run: Run, right: set[str]) -> float | None:
    """Steps from the first right finding to the visible failure, −∞ without a warning; None for a run that does not end badly."""
    failure = failed_at(run)
    if failure is None:
        return None
    warning = warned_at(run, right)
    lead = None if warning is None else failure - warning
    said = "never warned" if lead is None else f"first right finding with step {warning}: {lead} steps before"
    print(f"  {name[:44]:44s} fails at step {failure} of {run.last_step}, {said}")
    return -np.inf if lead is None else lead


def _tell(what: str, leads: list[float]) -> None:
    if leads:
        before = np.mean(np.array(leads) > 0)
        print(f"  {len(leads)} {what} that end badly: median lead {np.median(leads):.0f} steps, warned before in {before:.0%}")


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--steps", type=int, nargs="*", default=[300, GATE_STEPS, 100_000])
    arguments.add_argument("--limit-ms", type=float, default=50.0)
    arguments.add_argument("--log", nargs="*", default=[])
    arguments.add_argument("--cases", type=Path, default=CASES)
    options = arguments.parse_args()
    hundred = made_up(1000, most=100)
    whole_hundred, _ = measure(hundred)
    print(f"1,000 steps × {len(hundred.columns)} metrics: {1000 * whole_hundred:.0f} ms (at most {WHOLE_MS})")
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
    print(f"early warning ({options.cases}):")
    early_warning(options.cases)
    if slow:
        print(f"over {options.limit_ms:.0f} ms at {GATE_STEPS:,} steps: " + ", ".join(slow))
    return 1 if slow or 1000 * whole_hundred > WHOLE_MS else 0


if __name__ == "__main__":
    raise SystemExit(main())
