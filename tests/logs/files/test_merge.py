from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.logs import read_text
from assistant.logs.files.merge import merged
from assistant.run import Event, Note, Run, Style
from tests.builders import run_of


def named(run: Run, n_lines: int = 10, **more: object) -> Run:
    run.n_lines = n_lines
    for key, value in more.items():
        setattr(run, key, value)
    return run


def test_the_better_precision_wins_step_by_step() -> None:
    console = named(run_of({"actor/entropy": [0.1234, 0.2345], "actor/lr": [0.0, 0.0]}, style=Style.FIXED3), format="verl-console")
    tracker = named(run_of({"actor/entropy": [0.12341, None], "actor/lr": [1e-06, 1e-06]}), format="tensorboard")
    run = merged([("log.txt", console), ("events", tracker)])
    entropy, rate = run.series("actor/entropy"), run.series("actor/lr")
    assert entropy is not None
    assert rate is not None
    assert [entropy.text(0), entropy.text(1)] == ["0.12341", "0.234"]
    assert entropy.lines.tolist() == [11, 2], "a line of the second file stands behind those of the first"
    assert rate.values.tolist() == [1e-06, 1e-06]
    assert run.n_records == 2
    assert [(part.name, part.first_line, part.n_lines) for part in run.parts] == [("log.txt", 1, 10), ("events", 11, 10)]


def test_a_tracker_that_adds_train_in_front_says_the_same() -> None:
    state = named(run_of({"loss": [0.5, 0.25], "eval_loss": [1.0, None]}, framework="hf-trainer"))
    tracker = named(run_of({"train/loss": [0.5, 0.25], "eval/loss": [1.0, None], "train/kl": [0.0, 0.1]}, framework="generic"))
    run = merged([("trainer_state.json", state), ("events", tracker)])
    assert set(run.columns) == {"train/loss", "eval/loss", "train/kl"}
    assert run.framework == "hf-trainer"


def test_names_with_underscores_get_their_slashes_back() -> None:
    run = merged(
        [("a.csv", named(run_of({"actor_entropy": [0.5] * 6, "other": [1.0] * 6}))), ("b", named(run_of({"actor/entropy": [0.5] * 6})))]
    )
    assert set(run.columns) == {"actor/entropy", "other"}


def test_another_run_beside_it_is_left_out_and_named() -> None:
    mine = named(run_of({"loss": [float(i) for i in range(10)], "kl": [0.1] * 10}))
    other = named(run_of({"loss": [float(i) + 1 for i in range(10)]}))
    run = merged([("a.csv", mine), ("b.csv", other)])
    series = run.series("loss")
    assert series is not None
    assert series.values.tolist() == [float(i) for i in range(10)]
    assert [(note.kind, note.data["file"]) for note in run.notes] == [("part-differs", "b.csv")]


def test_numbers_without_steps_are_left_out_and_words_are_kept() -> None:
    numbered = named(
        run_of({"loss": [9.0, 8.0]}),
        notes=[Note("numbered-records", None, {"n": 2})],
        events=[Event("gpu-oom", 4, "CUDA out of memory", 1)],
    )
    run = merged([("log.txt", numbered), ("trainer_state.json", named(run_of({"loss": [0.5, 0.25]}, steps=[5, 10])))])
    assert run.steps.tolist() == [5, 10]
    assert [(event.kind, event.line) for event in run.events] == [("gpu-oom", 4)]
    assert [note.kind for note in run.notes] == ["part-without-steps"]


def test_lines_of_events_and_settings_move_with_their_file() -> None:
    first = named(run_of({"loss": [0.5]}), n_lines=100)
    second = named(Run(events=[Event("gpu-oom", 3, "x", data={"last_line": 5})], config={"lr": 1}, config_lines={"lr": 2}))
    run = merged([("a", first), ("b", second)])
    assert (run.events[0].line, run.events[0].data["last_line"], run.config_lines["lr"]) == (103, 105, 102)


def test_a_run_that_started_again_keeps_its_attempts() -> None:
    console = read_text("".join(f"step:{i} - actor/lr:0.000 - critic/score/mean:0.{i}00 - actor/kl:0.100\n" for i in (1, 2, 3, 2, 3, 4)))
    tracker = named(run_of({"actor/lr": [1e-06] * 6}, steps=[1, 2, 3, 2, 3, 4]))
    run = merged([("log", console), ("events", tracker)])
    series = run.series("actor/lr")
    assert series is not None
    assert series.values.tolist() == [1e-06] * 6
    assert [(s.first_step, s.last_step) for s in run.segments] == [(1, 3), (2, 4)]


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_and_one_file(n: int) -> None:
    one = named(run_of({"loss": [0.5]}))
    assert merged([("a", one)] * n).n_rows == n


RUNS = st.lists(
    st.dictionaries(
        st.sampled_from(["loss", "train/loss", "kl", "actor/kl", "actor_kl"]),
        st.lists(st.none() | st.floats(0, 1), min_size=4, max_size=4),
        max_size=4,
    ),
    min_size=1,
    max_size=3,
)


@given(RUNS, st.lists(st.sampled_from([Style.REPR, Style.FIXED3]), min_size=3, max_size=3))
def test_no_value_is_made_up(runs: list[dict[str, list[float | None]]], styles: list[Style]) -> None:
    parts = [(f"file{i}", named(run_of(metrics, style=style))) for i, (metrics, style) in enumerate(zip(runs, styles, strict=False))]
    known = {
        (int(run.row_steps[row]), int(run.row_lines[row]) + 10 * i, float(value))
        for i, (_, run) in enumerate(parts)
        for column in run.columns.values()
        for row, value in zip(column.rows, column.values, strict=True)
    }
    filled = [(name, run) for name, run in parts if run.n_rows]
    shift = 0 if len(filled) == len(parts) else None
    run = merged(parts)
    for name in run.columns:
        series = run.series(name)
        assert series is not None
        assert len(series) == len(set(series.steps.tolist()))
        assert (np.diff(series.steps) > 0).all()
        if shift == 0:
            assert {
                (s, ln, v) for s, ln, v in zip(series.steps.tolist(), series.lines.tolist(), series.values.tolist(), strict=True)
            } <= known
