from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from assistant.logs import read
from tests.logs.files import writers as w


def test_scalars_by_step() -> None:
    records = [w.swanlab_scalar(key, step, value) for step in (1, 2) for key, value in (("train/loss", 0.5 / step), ("train/kl", 0.0))]
    run = read(w.swanlab_file([w.chunk(16, w.chunk(1, "hello")), *records, w.swanlab_scalar("__swanlab__.cpu", 1, 3.0)]))
    assert run.format == "swanlab"
    assert list(run.records()) == [
        {"step": 1, "line": 2, "values": {"train/loss": 0.5, "train/kl": 0.0}},
        {"step": 2, "line": 4, "values": {"train/loss": 0.25, "train/kl": 0.0}},
    ]


def test_nan_stays_nan() -> None:
    run = read(w.swanlab_file([w.swanlab_scalar("loss", 1, math.nan)]))
    assert math.isnan(run.columns["loss"].values[0])


@given(st.binary(max_size=200))
def test_damaged_files_never_raise(garbage: bytes) -> None:
    read(w.swanlab_file([garbage, w.swanlab_scalar("loss", 1, 0.5)]) + garbage)
