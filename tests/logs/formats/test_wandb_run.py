from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.logs import read
from tests.logs.files import writers as w
from tests.logs.files.reading import printed


@pytest.mark.parametrize("nested", [False, True])
def test_history_settings_and_digits(nested: bool) -> None:
    rows = [{"_step": i, "_timestamp": 1.7e9 + i, "actor/grad_norm": math.nan if i == 2 else 0.1 * i, "actor/lr": 1e-06} for i in (1, 2, 3)]
    records = [w.config({"algorithm": {"adv_estimator": "grpo"}, "_wandb": {"t": 1}}), *(w.history(row, nested=nested) for row in rows)]
    run = read(w.wandb_file(records))
    assert (run.format, run.framework, run.algorithm) == ("wandb", "verl", "grpo")
    assert run.steps.tolist() == [1, 2, 3]
    assert run.row_lines.tolist() == [2, 3, 4]
    assert set(run.columns) == {"actor/grad_norm", "actor/lr"}
    assert run.config == {"algorithm.adv_estimator": "grpo"}
    assert [record["values"]["actor/grad_norm"] for record in run.records()] == [0.1, "nan", 0.30000000000000004]


def test_the_trainers_own_step_goes_before_the_count_of_calls() -> None:
    rows = [{"_step": i, "train/global_step": 10 * i, "train/loss": 0.5} for i in range(4)]
    assert read(w.wandb_file([w.history(row) for row in rows])).steps.tolist() == [0, 10, 20, 30]


def test_values_with_a_type_of_their_own() -> None:
    item = w.chunk(1, w.chunk(2, "loss") + w.double(6, 0.5)) + w.chunk(1, w.chunk(2, "n") + w.number(5, 13)) + w.chunk(2, w.number(1, 4))
    run = read(w.wandb_file([w.chunk(2, item)]))
    assert list(run.records()) == [{"step": 4, "line": 1, "values": {"loss": 0.5, "n": -7}}]


def test_a_run_that_died_before_its_first_row_still_has_its_console() -> None:
    lines = [
        w.console("Traceback (most recent call last):\n"),
        w.console('  File "a.py", line 1, in <module>\n'),
        w.console("ValueError: bad\n"),
    ]
    run = read(w.wandb_file(lines))
    assert not run.n_rows
    assert any("ValueError" in event.text for event in run.events)


def test_a_record_longer_than_a_block_is_joined() -> None:
    row = {f"metric/{i}": i / 7 for i in range(5000)}
    run = read(w.wandb_file([w.history({"_step": 1, **row}), w.history({"_step": 2, "metric/0": 1.5})]))
    assert len(run.columns) == 5000
    assert run.columns["metric/4999"].values[0] == 4999 / 7


VALUES = st.floats() | st.integers(-(2**53) + 1, 2**53 - 1)


@given(st.lists(st.dictionaries(st.sampled_from(["a", "b/c", "loss"]), VALUES, min_size=1), min_size=1, max_size=10), st.integers(0, 300))
def test_rows_are_read_exactly_and_a_cut_file_gives_a_part(rows: list[dict[str, Any]], lost: int) -> None:
    data = w.wandb_file([w.history({"_step": step, **row}) for step, row in enumerate(rows)])
    wanted = {(step, key): repr(value) for step, row in enumerate(rows) for key, value in row.items()}
    for run, whole in ((read(data), True), (read(data[: max(7, len(data) - lost)]), False)):
        found = printed(run)
        assert found == wanted if whole else found.items() <= wanted.items()


@given(st.binary(max_size=400))
def test_damaged_files_never_raise(garbage: bytes) -> None:
    read(b":W&B\xe1\xbe\x00" + garbage)
    read(w.wandb_file([w.chunk(2, garbage), w.history({"_step": 1, "a": 1.0}), garbage]))
