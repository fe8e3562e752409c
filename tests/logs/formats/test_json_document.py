from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.logs import read
from assistant.logs.formats.base import Head
from assistant.logs.formats.json_document import JsonDocument
from assistant.run import NO_STEP, Run
from tests.logs.files.reading import printed


def of(found: object, indent: int | None = 2) -> Run:
    run = read(json.dumps(found, indent=indent).encode())
    assert run.format == "json"
    return run


STATE = {
    "epoch": 1.0,
    "global_step": 10,
    "log_history": [
        {"loss": 0.0, "grad_norm": 1.5, "learning_rate": 1e-06, "step": 5},
        {"eval_loss": 0.7, "eval_runtime": 3.5, "step": 5},
        {"loss": math.nan, "grad_norm": 2.5, "learning_rate": 1e-06, "step": 10},
        {"train_runtime": 9.5, "train_loss": 0.1, "step": 10},
    ],
    "max_steps": 20,
    "trial_params": None,
}


@pytest.mark.parametrize("indent", [None, 2])
def test_the_state_of_the_hugging_face_trainer(indent: int | None) -> None:
    run = of(STATE, indent)
    assert (run.framework, run.n_records, run.total_steps) == ("hf-trainer", 2, 20)
    assert run.steps.tolist() == [5, 10]
    assert [record["values"]["loss"] for record in run.records()] == [0.0, "nan"]
    lines = json.dumps(STATE, indent=indent).split("\n")
    assert all("{" in lines[line - 1] for line in run.row_lines)


def test_a_history_told_twice_is_read_once() -> None:
    rows = [{"step": i, "loss": 0.5 / i, "kl": 0.1 * i, "grad_norm": 1.0, "learning_rate": 1e-6} for i in range(1, 9)]
    series = {key: [{"step": row["step"], key: row[key]} for row in rows] for key in ("loss", "kl")}
    run = of({"run": {"name": "x"}, **series, "raw": rows, "scalars": series})
    assert run.n_rows == 8
    assert set(run.columns) == {"loss", "kl", "grad_norm", "learning_rate"}


def test_two_lists_that_say_different_things() -> None:
    run = of({"train": [{"step": i, "loss": 0.5} for i in range(1, 5)], "eval": [{"step": i, "loss": 0.75} for i in (2, 4)]})
    assert {name: len(column.rows) for name, column in run.columns.items()} == {"loss": 4, "eval/loss": 2}
    assert run.n_records == 4


def test_columns_of_numbers() -> None:
    run = of({"step": [10, 20, 30], "loss": [0.5, 0.4, 0.3], "val_loss": [0.6, None, 0.4], "note": "x"})
    assert run.steps.tolist() == [10, 20, 30]
    assert run.columns["val_loss"].values[0] == 0.6


def test_named_values_and_triples() -> None:
    run = of([{"key": "loss", "value": 0.5, "step": 1}, {"key": "kl", "value": 0.1, "step": 1}, {"key": "loss", "value": 0.4, "step": 2}])
    assert [record["values"] for record in run.records()] == [{"loss": 0.5, "kl": 0.1}, {"loss": 0.4}]
    curve = of([[1.7e9, 1, 0.5], [1.7e9, 2, 0.25]])
    assert (curve.steps.tolist(), curve.columns["value"].values.tolist()) == ([1, 2], [0.5, 0.25])


def test_a_summary_is_one_record() -> None:
    run = of({"epoch": 3.0, "train_loss": 0.5, "train_runtime": 12.5, "eval_loss": 0.6})
    assert (run.n_records, int(run.row_steps[0])) == (1, NO_STEP)
    assert of({"_step": 40, "loss": 0.5, "_runtime": 3.0, "_wandb": {"runtime": 3}}).steps.tolist() == [40]


def test_a_cut_file_is_read_as_far_as_it_goes() -> None:
    text = json.dumps([{"step": i, "loss": 0.5, "kl": 0.25} for i in range(20)], indent=1)
    run = read(text[: text.index('"step": 15')].encode())
    assert run.format == "json"
    assert run.steps.tolist() == list(range(15))
    assert [note.kind for note in run.notes] == ["cut-line"]


@pytest.mark.parametrize(
    "found",
    [
        {"architectures": ["X"], "hidden_size": 4096, "num_layers": 32, "loss_type": "mse"},
        [{"prompt": "a", "completion": "b", "score": 1.0}] * 4,
        {"name": "package", "version": "1.0"},
        ["a", "b"],
        {},
    ],
)
def test_other_json(found: object) -> None:
    assert not JsonDocument().score(Head(json.dumps(found).encode())).values


ROW = st.dictionaries(st.sampled_from(["loss", "kl", "reward"]), st.floats() | st.integers(-99, 99), min_size=1)


@given(st.lists(ROW, min_size=2, max_size=10), st.sampled_from([None, 1]), st.integers(0, 400))
def test_numbers_are_read_exactly_and_a_cut_adds_none(rows: list[dict[str, float]], indent: int | None, cut: int) -> None:
    text = json.dumps([{"step": step, **row} for step, row in enumerate(rows)], indent=indent)
    whole, part = read(text.encode(), format="json"), read(text[:cut].encode(), format="json")
    for run, complete in ((whole, True), (part, False)):
        found = printed(run)
        wanted = {(step, key): repr(value) for step, row in enumerate(rows) for key, value in row.items()}
        assert found == wanted if complete else found.items() <= wanted.items()
