"""verl's file logger."""

from __future__ import annotations

import orjson
import pytest

from assistant.logs import read, read_text
from assistant.run import NO_STEP, Style


def test_null_is_kept_apart_from_nan_and_said() -> None:
    run = read_text('{"step":1,"data":{"actor/kl":0.5,"actor/grad_norm":null}}\n{"step":2,"data":{"actor/kl":NaN,"actor/grad_norm":2}}\n')
    assert list(run.records()) == [
        {"step": 1, "line": 1, "values": {"actor/kl": 0.5, "actor/grad_norm": None}},
        {"step": 2, "line": 2, "values": {"actor/kl": "nan", "actor/grad_norm": 2}},
    ]
    (note,) = run.notes
    assert (note.kind, note.line, note.data["n"], note.data["metrics"]) == ("null-values", 1, 1, "actor/grad_norm")
    assert run.columns["actor/grad_norm"].styles.tolist() == [Style.NULL, Style.INT]


def test_small_numbers_keep_the_writers_look() -> None:
    data = {"actor/lr": 1e-06, "actor/ppo_kl": 1.5e-05, "actor/big": 12345678901234567890}
    compact = orjson.dumps({"step": 3, "data": data})
    run = read(compact + b'\n{"step": 4, "data": {"actor/lr": 1e-06}}\n')
    lr, kl, big = (run.series(key) for key in data)
    assert lr is not None
    assert kl is not None
    assert big is not None
    assert [lr.text(0), lr.text(1)] == ["1e-6", "1e-06"]
    assert compact.count(kl.text(0).encode()) == 1
    assert big.text(0) == "12345678901234567890"


def test_a_cut_last_line_and_a_broken_line() -> None:
    run = read_text('{"step":1,"data":{"a/b":1.5}}\n{"step":2,"da\n{"data":{"a/b":2.5},"step":3}\n{"step":4,"data":{"a/b":')
    assert run.row_steps.tolist() == [1, 3]
    assert run.unread_samples == [(2, '{"step":2,"da')]
    assert [note.kind for note in run.notes] == ["cut-line", "unread-lines"]


def test_text_values_and_a_missing_step() -> None:
    run = read_text('{"step":1,"data":{"a/b":1,"note":"x","flag":true}}\n{"step":null,"data":{"a/b":2}}\n')
    assert run.row_steps.tolist() == [1, NO_STEP]
    assert run.columns["flag"].styles.tolist() == [Style.BOOL]
    assert "note" not in run.columns


LINES = '{"step": 1, "data": {"actor/kl": 0.5, "actor/lr": 1e-06}}\n{"step": 2, "data": {"actor/kl": 0.25, "actor/lr": 1e-06}}\n'


@pytest.mark.parametrize("before", ["Why does my reward not rise?\n\n", "```json\n", "see: my log\nof today\n"])
def test_words_before_the_objects(before: str) -> None:
    run = read_text(before + LINES)
    assert (run.format, run.row_steps.tolist(), run.unread_lines) == ("verl-jsonl", [1, 2], 0)
    assert run.row_lines.tolist() == [before.count("\n") + 1, before.count("\n") + 2]


@pytest.mark.parametrize(("at", "kept"), [(3, 2), (20, 2), (25, 1), (35, 1)])
def test_a_first_line_cut_at_its_start(at: int, kept: int) -> None:
    run = read_text(LINES[at:])
    assert run.row_steps.tolist() == [NO_STEP, 2]
    assert run.columns["actor/lr"].values.tolist() == [1e-06, 1e-06]
    assert run.columns["actor/kl"].values.tolist() == [0.5, 0.25][2 - kept :]
    assert [note.kind for note in run.notes] == ["cut-line"]


def test_of_a_cut_last_object_the_whole_values_are_kept() -> None:
    run = read_text(LINES[:-4])
    assert run.row_steps.tolist() == [1, 2]
    assert run.columns["actor/kl"].values.tolist() == [0.5, 0.25]
    assert run.columns["actor/lr"].values.tolist() == [1e-06]
    assert [note.kind for note in run.notes] == ["cut-line"]
