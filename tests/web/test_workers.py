"""Reading in other processes: the same result, the same errors, and a cancelled or dead process leaves a new one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.sessions import Cancelled, Unreadable, open_log
from assistant.web.samples import SAMPLES, sample_text
from assistant.web.workers import WorkerEnded, Workers


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    made = Workers(1)
    yield made
    made.close()


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large.log"
    names = " - ".join(f"actor/m{n}:0.{n}" for n in range(60))
    with path.open("w") as file:
        for step in range(60_000):
            file.write(f"step:{step} - {names}\n")
    return path


@pytest.mark.parametrize("key", SAMPLES)
def test_the_diagnosis_is_the_same(workers: Workers, key: str) -> None:
    data = sample_text(key).encode()
    there, here = workers.read(data, name="a.log"), open_log(data, name="a.log")
    assert [(f.id, f.first_step, f.facts) for f in there.findings] == [(f.id, f.first_step, f.facts) for f in here.findings]
    assert (there.fine, there.run.sha256, there.run.n_lines) == (here.fine, here.run.sha256, here.run.n_lines)


def test_errors_come_back_as_they_are(workers: Workers, tmp_path: Path) -> None:
    with pytest.raises(Unreadable) as prose:
        workers.read(b"Dear all, the run is fine.\n" * 5)
    assert prose.value.sentence("zh")
    with pytest.raises(OSError, match=r"nothing\.log"):
        workers.read(tmp_path / "nothing.log")
    assert workers.read(sample_text("floor").encode()).faults


def test_progress_is_told_and_a_reading_can_be_cancelled(workers: Workers, large: Path) -> None:
    told: list[int] = []
    flag = threading.Event()

    def progress(done: int) -> None:
        told.append(done)
        flag.set()

    began = time.monotonic()
    with pytest.raises(Cancelled):
        workers.read(large, progress=progress, cancelled=flag)
    assert told
    assert time.monotonic() - began < 30
    assert workers.read(sample_text("floor").encode()).faults


def test_a_process_that_dies_is_replaced(workers: Workers, large: Path) -> None:
    worker = workers._free.get()
    workers._free.put(worker)
    timer = threading.Timer(0.2, worker.process.kill)
    timer.start()
    with pytest.raises(WorkerEnded):
        workers.read(large)
    assert workers.read(sample_text("floor").encode()).faults


def test_who_waits_for_a_worker_can_give_up(workers: Workers) -> None:
    busy = workers._free.get()
    flag = threading.Event()
    timer = threading.Timer(0.2, flag.set)
    timer.start()
    with pytest.raises(Cancelled):
        workers.read(sample_text("floor").encode(), cancelled=flag)
    workers._free.put(busy)
    assert workers.read(sample_text("floor").encode()).faults
