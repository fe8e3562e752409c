from __future__ import annotations

import csv
import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.logs import read
from assistant.logs.formats.base import Head
from assistant.logs.formats.csv_table import CsvTable
from assistant.run import Run, Series


def of(text: str) -> Run:
    run = read(text.encode())
    assert run.format == "csv"
    return run


def series(run: Run, name: str) -> Series:
    found = run.series(name)
    assert found is not None
    return found


def test_an_empty_cell_is_no_value_and_nan_is_one() -> None:
    run = of("step,loss,kl\n1,0.5,\n2,,nan\n3,0.25,0.1\n")
    assert series(run, "loss").steps.tolist() == [1, 3]
    assert series(run, "kl").steps.tolist() == [2, 3]
    assert math.isnan(series(run, "kl").values[0])
    assert run.row_lines.tolist() == [2, 3, 4]


def test_a_row_that_holds_only_its_step_is_no_record() -> None:
    assert of("step,loss,kl\n1,0.5,1\n2,,\n3,0.25,2\n").steps.tolist() == [1, 3]


def test_a_chart_of_wandb() -> None:
    run = of(
        '"Step","my-run - train/loss","my-run - train/loss__MIN","my-run - train/loss__MAX"\n"4","0.5","0.5","0.5"\n"52","0.25","0","0.3"\n'
    )
    assert list(run.columns) == ["train/loss"]
    assert series(run, "train/loss").steps.tolist() == [4, 52]


def test_several_runs_in_one_chart_are_told() -> None:
    run = of("Step,run-a - loss,run-b - loss\n1,0.5,0.6\n2,0.4,0.7\n")
    assert series(run, "loss").values.tolist() == [0.5, 0.4]
    assert [(note.kind, note.data["read"], note.data["others"]) for note in run.notes] == [("other-runs", "run-a", "run-b")]


def test_digits_and_precision_are_kept() -> None:
    rows = "".join(f"{i},{i / 7:.3f},{i / 7!r},1e-0{i % 9 + 1}\n" for i in range(1, 12))
    run = of("step,fixed,full,odd\n" + rows)
    fixed = series(run, "fixed")
    assert [fixed.text(i) for i in range(3)] == ["0.143", "0.286", "0.429"]
    assert {fixed.resolution(i) for i in range(len(fixed))} == {0.0005}
    assert series(run, "full").resolution(3) == 0.0
    assert series(run, "odd").text(0) == "1e-02"


def test_numbers_that_are_whole_though_printed_with_a_point_keep_no_room() -> None:
    tokens = series(of("step,num_tokens\n" + "".join(f"{i},{i * 512}.0\n" for i in range(20))), "num_tokens")
    assert tokens.resolution(0) == 0.0


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ("step;loss\n1;0,50\n2;0,25\n", "loss", [0.5, 0.25]),
        ("iteration\tloss\tkl\n10\t0.5\t0.1\n20\t0.25\t0.2\n", "loss", [0.5, 0.25]),
        ('#{"t_start": 1.0, "env_id": "Pendulum"}\nr,l,t\n-100.5,200,1.5\n-90.25,200,2.5\n', "r", [-100.5, -90.25]),
        (",step,loss\n0,1,0.5\n1,2,0.25\n", "loss", [0.5, 0.25]),
        ("step,loss\r\n1,0.5\r\n2,0.25\r\n", "loss", [0.5, 0.25]),
        ("step,loss,when\n1,0.5,2025-01-01 10:00\n2,0.25,2025-01-01 10:01\n", "loss", [0.5, 0.25]),
    ],
)
def test_dialects(text: str, name: str, values: list[float]) -> None:
    run = of(text)
    assert series(run, name).values.tolist() == values
    assert not {"", "when", "timestamp"} & set(run.columns)


def test_one_value_a_row() -> None:
    run = of("step,metric,value\n1,loss,0.5\n2,loss,0.25\n1,kl,0.0\n2,kl,0.125\n")
    assert [record["values"] for record in run.records()] == [{"loss": 0.5, "kl": 0.0}, {"loss": 0.25, "kl": 0.125}]


def test_a_header_that_comes_again_and_a_cut_last_row() -> None:
    run = of("step,loss,kl\n1,0.5,0\n2,0.4,0\nstep,loss,kl\n2,0.3,0\n3,0.2,0\n4,0.")
    assert series(run, "loss").values.tolist() == [0.5, 0.4, 0.3, 0.2]
    assert len(run.segments) == 1
    assert [(note.kind, note.line) for note in run.notes] == [("cut-line", 7)]


def test_steps_of_stable_baselines_are_environment_steps() -> None:
    run = of("time/iterations,time/total_timesteps,rollout/ep_rew_mean,train/approx_kl\n1,2048,1.5,\n2,4096,1.75,0.01\n")
    assert run.framework == "sb3"
    assert run.steps.tolist() == [2048, 4096]
    assert "time/total_timesteps" in run.columns


def test_verl_names_with_underscores_still_tell_the_version() -> None:
    names = "step,actor_entropy,critic_score_mean,response_length_mean,response_aborted_ratio,timing_s_step,training_global_step"
    run = of(names + "\n1,0.5,0.1,100.5,0.0,12.5,1\n2,0.4,0.2,101.5,0.0,12.5,2\n")
    assert (run.framework, run.era) == ("verl", "0.6")


@pytest.mark.parametrize(
    "text",
    [
        "Hello, this is a letter,\nwith commas, and nothing else,\nto read, at all\n",
        "step:1 - actor/lr:0.001, note\n",
        "name,city\nAnn,Rome\nBob,Oslo\n",
        "1,2,3\n4,5,6\n7,8,9\n",
        "loss\n0.5\n0.25\n",
    ],
)
def test_what_is_no_table_of_metrics(text: str) -> None:
    assert not CsvTable().score(Head(text.encode())).values


def test_a_quote_that_never_closes_loses_no_rows() -> None:
    rows = [f"{step},{step / 4},0" for step in range(1, 12)]
    rows[8] = '9,"2.25,0'
    run = of("\n".join(["step,loss,kl", *rows, ""]))
    assert series(run, "loss").values.tolist() == [step / 4 for step in range(1, 12)]
    assert run.row_lines.tolist() == list(range(2, 13))


def test_a_step_that_lost_its_first_digit_is_no_step() -> None:
    run = of("step,loss,kl\n2048,0.5,0\n096,0.4,0\n4096,0.3,0\n8192,0.2,0\n")
    assert run.steps.tolist() == [2048, 4096, 8192]
    assert of("step,loss,kl\n0008,0.5,0\n0009,0.4,0\n0010,0.3,0\n").steps.tolist() == [8, 9, 10]


CELLS = (
    st.none()
    | st.floats(allow_nan=False, allow_infinity=False).map(repr)
    | st.integers(-999, 999).map(str)
    | st.just("nan")
    | st.just("0.500")
)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=3, max_size=30), st.sampled_from(",;\t"))
def test_every_cell_is_read_with_its_digits_and_its_line(rows: list[tuple[str | None, ...]], delimiter: str) -> None:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(["step", "loss", "kl", "reward"])
    writer.writerows([[place, *(cell or "" for cell in row)] for place, row in enumerate(rows)])
    run = read(out.getvalue().encode(), format="csv")
    found = {
        (int(run.row_steps[row]), name, series(run, name).text(index), int(run.row_lines[row]))
        for name, column in run.columns.items()
        for index, row in enumerate(column.rows)
    }
    wanted = {
        (place, name, cell, place + 2)
        for place, row in enumerate(rows)
        for name, cell in zip(("loss", "kl", "reward"), row, strict=True)
        if cell
    }
    if any(cell for row in rows for cell in row):
        assert found == wanted


@given(st.binary(max_size=300), st.integers(0, 5))
def test_garbage_after_a_header_never_raises(garbage: bytes, n: int) -> None:
    read(b"step,loss,kl\n" + b"1,0.5,0.1\n" * n + garbage, format="csv")
