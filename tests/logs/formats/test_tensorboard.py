from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.logs import read
from assistant.logs.formats.tensorboard import looks_like
from assistant.run import Run
from tests.logs.files import writers as w


def single(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def points(run: Run) -> set[tuple[str, int, float]]:
    return {
        (name, int(run.row_steps[row]), float(value))
        for name, column in run.columns.items()
        for row, value in zip(column.rows, column.values, strict=True)
    }


def test_scalars_by_step() -> None:
    run = read(w.event_file([(128, "rollout/ep_rew_mean", 1.5), (128, "time/fps", 200.0), (256, "rollout/ep_rew_mean", 1.75)]))
    assert (run.format, run.framework) == ("tensorboard", "sb3")
    assert [(r["step"], r["line"], r["values"]) for r in run.records()] == [
        (128, 2, {"rollout/ep_rew_mean": 1.5, "time/fps": 200.0}),
        (256, 4, {"rollout/ep_rew_mean": 1.75}),
    ]


def test_tensorflow_2_tensors() -> None:
    data = w.frame(w.double(1, 1.0)) + b"".join(w.tensor_event(step, "loss", step / 4, metadata=step == 1) for step in range(1, 6))
    assert points(read(data)) == {("loss", step, step / 4) for step in range(1, 6)}


def test_settings_that_the_hugging_face_trainer_writes_as_text() -> None:
    settings = json.dumps({"learning_rate": 1e-6, "optim": {"name": "adamw"}})
    run = read(w.event_file([]) + w.text_event("args/text_summary", settings) + w.scalar_event(1, "train/loss", 0.5))
    assert run.config == {"learning_rate": 1e-6, "optim.name": "adamw"}
    assert list(run.columns) == ["train/loss"]


def test_negative_and_huge_steps() -> None:
    steps = [-5, 0, 1, 2**31, 2**40]
    assert points(read(w.event_file([(step, "a", 1.0) for step in steps]))) == {("a", step, 1.0) for step in steps}


@pytest.mark.parametrize("lost", [1, 5, 20])
def test_a_cut_end_is_told(lost: int) -> None:
    data = w.event_file([(step, "loss", 0.5) for step in range(1, 6)])
    run = read(data[:-lost])
    assert run.steps.tolist() == [1, 2, 3, 4]
    assert [note.kind for note in run.notes] == ["cut-line"]


def test_damage_in_the_middle_ends_the_reading() -> None:
    data = bytearray(w.event_file([(step, "loss", 0.5) for step in range(1, 6)]))
    at = data.index(w.scalar_event(3, "loss", 0.5))
    data[at + 6] = 0xFF
    run = read(bytes(data))
    assert run.steps.tolist() == [1, 2]
    assert [note.kind for note in run.notes] == ["cut-line"]


def test_text_is_no_event_file() -> None:
    assert not looks_like(b"step:1 - actor/lr:0.001 - critic/kl:0.1")
    assert not looks_like(b"\x00" * 64)


POINT = st.tuples(st.integers(0, 2**33), st.sampled_from(["a", "b/c", "train/loss"]), st.floats(width=32))


@given(st.lists(POINT, max_size=40))
def test_every_point_is_read(written: list[tuple[int, str, float]]) -> None:
    run = read(w.event_file(written))
    have = sorted((name, step, repr(value)) for name, step, value in ((n, s, v) for n, s, v in _all(run)))
    assert have == sorted((tag, step, repr(single(value))) for step, tag, value in written)


def _all(run: Run) -> list[tuple[str, int, float]]:
    return [
        (name, int(run.row_steps[row]), float(value))
        for name, column in run.columns.items()
        for row, value in zip(column.rows, column.values, strict=True)
    ]


@given(st.lists(POINT, min_size=1, max_size=8), st.integers(0, 600), st.binary(max_size=8))
def test_damaged_bytes_never_raise(written: list[tuple[int, str, float]], place: int, damage: bytes) -> None:
    data = w.event_file(written)
    read(data[:place] + damage + data[place + len(damage) :])
    read(data[:40] + data[40 + len(damage) :])
