"""Real files of trackers and trainers, as labelled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assistant.logs import read

SHARED = Path(__file__).parents[4] / "shared"
CASES = [path for path in sorted((SHARED / "cases" / "long").glob("*/case.json")) if json.loads(path.read_text())["input"] != "log.txt"]
SAMPLES = (
    ("tensorboard_1.tfevents", "tensorboard", "sb3", 34),
    ("wandb_csv_export_1.csv", "csv", "megatron", 39),
    ("wandb_offline_history_1.jsonl", "json-lines", "verl", 6),
    ("llama_factory_1.jsonl", "json-lines", "llama-factory", 29),
    ("llama_factory_2.jsonl", "json-lines", "llama-factory", 40),
    ("ms_swift_4.jsonl", "json-lines", "ms-swift", 1),
    ("hf_trainer_state_1.json", "json", "trl", 1),
    ("mlflow_1", "mlflow", "generic", 1),
    ("mlflow_2", "mlflow", "generic", 1),
)

pytestmark = pytest.mark.skipif(not CASES, reason="the labelled logs are not here")


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.parent.name)
def test_labelled_files(case: Path) -> None:
    label = json.loads(case.read_text())
    must = label["must_parse"]
    run = read(case.parent / label["input"])
    assert run.framework == must["framework"]
    assert run.n_records == must["n_records"]
    if label.get("era"):
        assert run.era == label["era"]
    records = list(run.records())
    for probe in must["probes"]:
        record = records[probe["record"]]
        assert (record["step"], record["values"][probe["metric"]]) == (probe["step"], probe["value"])


@pytest.mark.parametrize(("name", "format", "framework", "n_records"), SAMPLES)
def test_samples(name: str, format: str, framework: str, n_records: int) -> None:
    run = read(SHARED / "samples" / name)
    assert (run.format, run.framework, run.n_records) == (format, framework, n_records)


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.parent.name)
def test_a_folder_with_the_same_run_twice_is_one_run(case: Path) -> None:
    label = json.loads(case.read_text())
    run = read(case.parent)
    assert run.n_records == label["must_parse"]["n_records"]
    assert not {"part-differs", "repeated-steps"} & {note.kind for note in run.notes}
