from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.logs import read
from assistant.logs.formats.base import Head
from assistant.logs.formats.json_lines import JsonLines
from assistant.run import Run, Style


def of(*rows: object, end: str = "\n") -> Run:
    run = read(("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows) + end).encode())
    assert run.format == "json-lines"
    return run


def records(run: Run) -> list[dict[str, object]]:
    return [record["values"] for record in run.records()]


def test_llama_factory() -> None:
    row = {"total_steps": 500, "loss": 1.5, "lr": 1e-06, "epoch": 0.02, "percentage": 2.0, "elapsed_time": "0:00:31"}
    run = of({"current_steps": 10, **row}, {"current_steps": 20, **row})
    assert (run.framework, run.total_steps, run.steps.tolist()) == ("llama-factory", 500, [10, 20])
    assert set(run.columns) == {"loss", "lr", "epoch", "percentage"}


def test_ms_swift() -> None:
    row = {"loss": 1e-08, "learning_rate": 1e-08, "memory(GiB)": 70.5, "percentage": "0.05%", "elapsed_time": "6m 50s"}
    run = of({**row, "global_step/max_steps": "2/4389"}, {**row, "global_step/max_steps": "3/4389"})
    assert (run.framework, run.total_steps, run.steps.tolist()) == ("ms-swift", 4389, [2, 3])


def test_metrics_one_level_down_and_deeper() -> None:
    run = of({"step": 1, "metrics": {"kl": 0.1, "reward": {"mean": 0.5}}}, {"step": 2, "metrics": {"kl": 0.2, "reward": {"mean": 0.6}}})
    assert records(run) == [{"kl": 0.1, "reward/mean": 0.5}, {"kl": 0.2, "reward/mean": 0.6}]


def test_settings_inside_a_record_are_settings() -> None:
    run = of(
        *(
            {"training_iteration": i, "episode_reward_mean": 1.5, "episode_len_mean": 20.0, "config": {"lr": 1e-5, "env": {"name": "x"}}}
            for i in (1, 2)
        )
    )
    assert run.framework == "rllib"
    assert run.config == {"lr": 1e-5, "env.name": "x"}


def test_rows_without_a_step_are_numbered_and_that_is_told() -> None:
    run = of({"loss": 0.5, "kl": 0.1}, {"loss": 0.25, "kl": 0.2})
    assert run.steps.tolist() == [1, 2]
    assert [note.kind for note in run.notes] == ["numbered-records"]


def test_null_is_not_nan_and_in_a_table_of_all_keys_it_is_nothing() -> None:
    run = of({"step": 1, "loss": 0.5, "kl": None}, {"step": 2, "loss": 0.4}, {"step": 3, "loss": math.nan, "kl": 0.1})
    assert int(run.columns["kl"].styles[0]) == Style.NULL
    assert [note.kind for note in run.notes] == ["null-values"]
    table = of(*({"step": i, "loss": 0.5 if i % 2 else None, "eval_loss": None if i % 2 else 0.75} for i in range(8)))
    assert [len(column.rows) for column in table.columns.values()] == [4, 4]
    assert table.notes == []


def test_quoted_numbers_and_their_digits() -> None:
    run = of('{"_step": "1", "loss": "0.50", "kl": "NaN", "name": "x"}', '{"_step": "2", "loss": 1e-5, "kl": 0.1, "name": "y"}')
    loss = run.series("loss")
    assert loss is not None
    assert [loss.text(0), loss.text(1)] == ["0.50", "1e-5"]
    assert loss.resolution(0) == 0.0
    assert set(run.columns) == {"loss", "kl"}


def test_a_cut_last_line_is_told_and_other_lines_are_counted() -> None:
    run = of(
        {"step": 1, "loss": 0.5},
        "some words",
        {"step": 2, "loss": 0.4},
        {"step": 3, "loss": 0.3},
        {"step": 4, "loss": 0.2},
        '{"step": 5, "lo',
        end="",
    )
    assert run.steps.tolist() == [1, 2, 3, 4]
    assert run.unread_samples == [(2, "some words")]
    assert ("cut-line", 6) in [(note.kind, note.line) for note in run.notes]


@pytest.mark.parametrize(
    "rows",
    [
        [{"prompt": "What is 1+1?", "response": "2", "score": 1.0, "step": 3}] * 5,
        [{"messages": [{"role": "user", "content": "x"}], "n": 1}] * 5,
        [{"name": "x", "text": "y"}] * 5,
    ],
)
def test_data_sets_and_dumped_answers_are_no_log(rows: list[dict[str, object]]) -> None:
    block = "".join(json.dumps(row) + "\n" for row in rows).encode()
    assert not JsonLines().score(Head(block)).values


VALUES = st.floats() | st.integers(-(2**60), 2**60) | st.booleans() | st.none() | st.text(alphabet="abc", max_size=3)


@given(st.lists(st.dictionaries(st.sampled_from(["loss", "kl", "a/b", "x y"]), VALUES), min_size=1, max_size=12), st.booleans())
def test_every_number_is_read_with_its_digits(rows: list[dict[str, object]], tight: bool) -> None:
    separators = (",", ":") if tight else (", ", ": ")
    text = "".join(json.dumps({"step": step, **row}, separators=separators) + "\n" for step, row in enumerate(rows, 1))
    run = read(text.encode(), format="json-lines")
    for step, row in enumerate(rows, 1):
        for key, value in row.items():
            series = run.series(key)
            point = series.at(step) if series is not None else None
            if isinstance(value, str):
                assert point is None
            elif value is not None:
                assert point is not None
                assert point.value == float(value) or math.isnan(point.value)  # type: ignore[arg-type]
                assert point.line == step
                assert point.text == (str(value) if not isinstance(value, float) else repr(value))
