"""Whatever happens to a log, a diagnosis comes back; and what does not change the run does not change the diagnosis."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assistant.diagnosis import RunView, diagnose
from assistant.diagnosis.compare import compare
from assistant.diagnosis.render import diagnosis_json
from assistant.diagnosis.story import story, told
from assistant.logs import read
from assistant.run import Column, Run, Segment, Style
from tests.builders import run_of
from tests.counting import calls
from tests.diagnosis.healthy_runs import healthy_run
from tests.real import run_of_file

HERE = Path(__file__).parents[1] / "cases"
SHARED = Path(__file__).parents[3] / "shared" / "cases"
LOGS = [
    *sorted(HERE.glob("*/log.txt")),
    *(log for n in ("02", "21", "32", "40", "03") for log in SHARED.glob(f"verl/{n}_*/log.txt")),
]
named = pytest.mark.parametrize("log", LOGS, ids=lambda log: log.parent.name[:20])


def outline(run: Run) -> list[tuple[object, ...]]:
    return [(f.id, f.severity, f.first_step, f.last_step, f.variant, round(f.confidence, 6)) for f in diagnose(run).findings]


def survives(run: Run) -> None:
    """Every sentence renders, and the object is what JSON takes."""
    diagnosis = diagnose(run)
    for language in ("en", "zh"):
        out = diagnosis_json(diagnosis, language)
        assert all(row["summary"] for row in out["findings"])
    if found := story(diagnosis):
        assert told(found)


@named
def test_the_order_of_metrics_in_a_line_does_not_matter(log: Path) -> None:
    run = read(log)
    expected = outline(run)
    names = list(run.columns)
    for seed in range(3):
        np.random.default_rng(seed).shuffle(names)
        run.columns = {name: run.columns[name] for name in names}
        assert outline(run) == expected


def test_two_names_of_one_metric_are_joined_in_the_order_of_the_log() -> None:
    old: list[float | None] = [0.4] * 30 + [None] * 30
    new: list[float | None] = [None] * 30 + [0.4] * 10 + [0.0] * 20
    a = run_of({"actor/entropy_loss": old, "actor/entropy": new})
    b = run_of({"actor/entropy": new, "actor/entropy_loss": old})
    assert RunView(a)["policy_entropy"].name == RunView(b)["policy_entropy"].name  # type: ignore[union-attr]
    assert outline(a) == outline(b)


@named
def test_lines_printed_twice_change_nothing(log: Path) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    whole = lines[-1].endswith(b"\n")
    doubled = b"".join(line + line if b"step:" in line and (whole or line is not lines[-1]) else line for line in lines)
    assert outline(read(doubled)) == outline(run_of_file(log))


@named
def test_dropped_metrics_and_cut_ends_break_nothing(log: Path) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    n = len(lines)
    for part in (lines[n // 3 :], lines[: n // 3], lines[n // 3 : 2 * n // 3], lines[-1:], lines[::-1], lines[1::3]):
        survives(read(b"".join(part)))
    run = run_of_file(log)
    rng = np.random.default_rng(0)
    for _ in range(3):
        kept = [name for name in run.columns if rng.random() < 0.5]
        survives(_with(run, {name: run.columns[name] for name in kept}))


@named
def test_lines_in_any_order_break_nothing(log: Path) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    rng = np.random.default_rng(1)
    survives(read(b"".join(lines[i] for i in rng.permutation(len(lines)))))


BAD: list[Callable[[np.random.Generator, int], np.ndarray]] = [
    lambda rng, n: np.where(rng.random(n) < 0.2, np.nan, 1.0),
    lambda rng, n: np.where(rng.random(n) < 0.05, np.inf, 1.0),
    lambda rng, n: np.full(n, np.nan),
    lambda rng, n: np.where(rng.random(n) < 0.1, -1e30, 1.0),
    lambda rng, n: np.zeros(n),
]


@pytest.mark.parametrize("bad", range(len(BAD)))
@pytest.mark.parametrize("seed", [0, 4, 6])
def test_values_that_are_no_numbers_break_nothing(bad: int, seed: int) -> None:
    run = healthy_run(seed)
    rng = np.random.default_rng(seed)
    with np.errstate(invalid="ignore"):
        columns = {
            name: Column(c.rows, c.values * BAD[bad](rng, len(c.values)) if rng.random() < 0.5 else c.values, c.styles)
            for name, c in run.columns.items()
        }
    survives(_with(run, columns))
    compare(run, _with(run, columns))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_a_few_steps_of_a_healthy_run_raise_nothing(seed: int, n: int) -> None:
    run = healthy_run(seed)
    cut = _first_rows(run, n)
    survives(cut)
    assert [f.id for f in diagnose(cut).faults] == []


def test_the_values_of_a_hundred_thousand_steps_are_not_looked_at_one_by_one() -> None:
    """Seconds are in `benchmarks.diagnosis`."""
    diagnose(_lengthened(1000))  # cards are read once, not at every diagnosis
    long = _lengthened(100_000)
    assert calls(lambda: diagnose(long)) < 5 * 100_000 < sum(len(column.values) for column in long.columns.values()) / 5


def _lengthened(n: int) -> Run:
    run = healthy_run(2)
    rng = np.random.default_rng(0)
    rows = np.arange(n, dtype=np.int32)
    columns = {
        name: Column(rows, np.resize(c.values, n) * np.exp(rng.normal(0, 0.01, n)), np.full(n, Style.REPR, np.uint8))
        for name, c in run.columns.items()
    }
    steps = np.arange(1, n + 1, dtype=np.int64)
    return Run(
        framework="verl",
        era="0.6",
        algorithm="grpo",
        row_steps=steps,
        row_lines=steps,
        row_records=rows.astype(np.int64),
        columns=columns,
        segments=[Segment(0, n - 1, 1, n, 1)],
        n_lines=n,
    )


def _with(run: Run, columns: dict[str, Column]) -> Run:
    return Run(
        framework=run.framework,
        era=run.era,
        algorithm=run.algorithm,
        row_steps=run.row_steps,
        row_lines=run.row_lines,
        row_records=run.row_records,
        columns=columns,
        config=run.config,
        events=run.events,
        segments=run.segments,
        n_lines=run.n_lines,
        total_steps=run.total_steps,
    )


def _first_rows(run: Run, n: int) -> Run:
    columns = {}
    for name, column in run.columns.items():
        kept = column.rows < n
        if kept.any():
            columns[name] = Column(column.rows[kept], column.values[kept], column.styles[kept])
    cut = _with(run, columns)
    cut.row_steps, cut.row_lines, cut.row_records = run.row_steps[:n], run.row_lines[:n], run.row_records[:n]
    cut.segments = [Segment(0, n - 1, int(run.row_steps[0]), int(run.row_steps[n - 1]), 1)]
    cut.n_lines = n
    return cut
