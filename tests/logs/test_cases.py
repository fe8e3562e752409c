"""Real logs: framework, era, records and probes as labelled, and every value against a second reader."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from assistant.run import Run
from tests.logs import naive
from tests.real import run_of_file

SHARED = Path(__file__).parents[3] / "shared"
CASES = sorted((SHARED / "cases" / "verl").glob("*/case.json")) if SHARED.is_dir() else []
LONG = sorted((SHARED / "cases" / "long").glob("*verl*/metrics.jsonl")) if SHARED.is_dir() else []
OTHERS = sorted((SHARED / "cases" / "other").glob("*/log.txt")) if SHARED.is_dir() else []
WANDB_CUT = 4096

pytestmark = pytest.mark.skipif(not CASES, reason="the labelled logs are not here")


def log_of(case: Path) -> Path:
    return case.parent / json.loads(case.read_text()).get("input", "log.txt")


def printed(run: Run) -> dict[tuple[int, int, str], tuple[float, str]]:
    found = {}
    for name, column in run.columns.items():
        series = run.series(name)
        assert series is not None
        for index, row in enumerate(column.rows):
            found[int(run.row_lines[row]), int(run.row_steps[row]), name] = (float(series.values[index]), series.text(index))
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.parent.name)
def test_what_the_label_says_must_be_read(case: Path) -> None:
    label = json.loads(case.read_text())
    must = label["must_parse"]
    run = run_of_file(log_of(case))
    assert run.framework in (must["framework"], *must.get("framework_also", ()))
    assert run.era == label["era"]
    assert run.n_records == must["n_records"]
    for probe in must["probes"]:
        series = run.series(probe["metric"])
        assert series is not None, probe
        point = series.point(0) if probe["step"] is None else series.at(probe["step"])
        assert point is not None, probe
        assert math.isnan(point.value) if probe["value"] == "nan" else point.value == probe["value"], probe


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.parent.name)
def test_every_value_of_every_step_line_is_read_exactly(case: Path) -> None:
    path = log_of(case)
    run = run_of_file(path)
    have, want = printed(run), naive.values(path)
    lines = path.read_bytes().decode("utf-8", "replace").split("\n")
    cut = {number for number, line in enumerate(lines, 1) if len(line) == WANDB_CUT}
    missing = {key for key in want if key not in have and key[0] not in cut}
    unfinished = {key for key in missing if lines[key[0] - 1].endswith(f"{key[2]}:{want[key]}") and re.fullmatch(r"\d+\.\d?", want[key])}
    assert not missing - unfinished
    assert not unfinished or "cut-line" in [note.kind for note in run.notes]
    for key, text in want.items():
        if key in have:
            value, again = have[key]
            number = {"True": 1.0, "False": 0.0}.get(text)
            number = float(text) if number is None else number
            assert value == number or (math.isnan(value) and math.isnan(number)), key
            assert again == text, key
    wrapped = {note.line for note in run.notes if note.kind == "wrapped-lines"}
    no_step_line = run.format == "wandb-summary" or run.first_step is None
    extra = {key for key in have if key not in want}
    assert not extra or wrapped or no_step_line or all(lines[key[0] - 1].endswith("-") for key in extra)


@pytest.mark.parametrize("path", LONG, ids=lambda path: path.parent.name)
def test_json_lines_of_whole_runs(path: Path) -> None:
    label = json.loads((path.parent / "case.json").read_text())
    run = run_of_file(path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert (run.format, run.framework, run.era) == ("verl-jsonl", "verl", label["era"])
    assert run.n_records == len(rows) == label["must_parse"]["n_records"]
    for record, row in zip(run.records(), rows, strict=True):
        assert record["step"] == row["step"]
        assert record["values"] == {k: v for k, v in row["data"].items() if isinstance(v, (int, float))}


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.parent.name)
def test_another_framework_is_not_taken_for_verl(path: Path) -> None:
    run = run_of_file(path)
    assert run.framework not in ("verl", "verl-sft", "unknown")


def test_settings_come_out_of_dumps_and_commands() -> None:
    by_number = {case.parent.name[:2]: case for case in CASES}
    torn = run_of_file(log_of(by_number["05"]))  # other processes print in the middle of the dump
    assert torn.config["trainer.total_epochs"] == 15
    assert torn.config["data.train_batch_size"] == 512
    assert torn.config["trainer.logger"] == ["console", "wandb"]
    command = run_of_file(log_of(by_number["02"]))  # a shell script, with variables
    assert command.config["actor_rollout_ref.rollout.n"] == 5
    assert command.config["actor_rollout_ref.actor.optim.lr"] == 1e-6
    assert command.config["actor_rollout_ref.rollout.tensor_model_parallel_size"] == 2
    lines = log_of(by_number["02"]).read_text().split("\n")
    assert "rollout.n=5" in lines[command.config_lines["actor_rollout_ref.rollout.n"] - 1]


@pytest.mark.parametrize(
    ("number", "kind", "line", "phase"),
    [
        ("19", "gpu-oom", 31, "update_actor"),
        ("27", "config-key", 89, ""),
        ("28", "disk-full", 300, "save_checkpoint"),
        ("58", "dynamic-sampling-exhausted", 6, ""),
        ("62", "reward-not-implemented", 4, "compute_score"),
    ],
)
def test_the_error_that_ended_the_run_is_found(number: str, kind: str, line: int, phase: str) -> None:
    case = next(case for case in CASES if case.parent.name.startswith(number))
    events = [e for e in run_of_file(log_of(case)).events if e.fatal and not e.data.get("wrapper")]
    assert [(e.kind, e.line, e.data["phase"]) for e in events] == [(kind, line, phase)]


def test_exceptions_that_training_outlives_are_not_fatal() -> None:
    case = next(case for case in CASES if case.parent.name.startswith("30"))
    errors = [e for e in run_of_file(log_of(case)).events if e.kind == "exception"]
    assert errors
    assert all(e.process.startswith("CursorLoopWorker") for e in errors)
