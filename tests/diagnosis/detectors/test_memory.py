"""GPU and host memory."""

from __future__ import annotations

import numpy as np
import pytest

from assistant.diagnosis.detectors.memory import device_memory
from assistant.diagnosis.view import RunView
from assistant.run import Event
from tests.builders import run_of
from tests.diagnosis.detectors.single import look, unknown

ALLOCATED, RESERVED, HOST = "perf/max_memory_allocated_gb", "perf/max_memory_reserved_gb", "perf/cpu_memory_used_gb"


def out_of_memory(capacity: str = "79.15 GiB", unused: str = "1.20 GiB") -> Event:
    text = f"GPU 0 has a total capacity of {capacity} of which 1.0 GiB is free. {unused} is reserved by PyTorch but unallocated."
    return Event("gpu-oom", 40, text, fatal=True)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("GPU 0 has a total capacity of 39.56 GiB of which", 39.56),
        ("(GPU 0; 79.15 GiB total capacity; 60 GiB already allocated", 79.15),
        ("GPU 0 has a total capacity of 24576.00 MiB of which", 24.0),
    ],
)
def test_size_of_the_device_from_the_error_message(text: str, size: float) -> None:
    found = device_memory(RunView(run_of({ALLOCATED: [1.0]}, events=[Event("gpu-oom", 3, text)])))
    assert found is not None
    assert found[0] == size


def test_near_the_limit() -> None:
    found = look(run_of({RESERVED: [60.0, 74.0, 76.0], ALLOCATED: [50.0] * 3}, events=[out_of_memory()]), "gpu-memory-near-limit")
    assert found is not None
    assert found.first_step == 2
    assert found.facts["share"].text == "96%"
    assert look(run_of({RESERVED: [60.0]}, events=[out_of_memory()]), "gpu-memory-near-limit") is None


def test_unknown_size_and_impossible_peaks_are_not_judged() -> None:
    assert unknown(run_of({RESERVED: [204.0]}), "gpu-memory-near-limit") == ["device_memory"]
    assert look(run_of({RESERVED: [91.0]}, events=[out_of_memory()]), "gpu-memory-near-limit") is None


def test_leak() -> None:
    run = {ALLOCATED: list(np.linspace(40, 60, 100)), "response_length/max": [8096.0] * 100}
    found = look(run_of(run), "gpu-memory-leak")
    assert found is not None
    assert found.first_step == 25
    assert 19 < found.facts["per_100"].value < 21


def test_a_peak_that_follows_longer_batches_is_no_leak() -> None:
    run = {ALLOCATED: list(np.linspace(40, 60, 100)), "response_length/max": list(np.linspace(2000, 8000, 100))}
    assert look(run_of(run), "gpu-memory-leak") is None


def test_a_peak_that_settles_is_no_leak() -> None:
    settled = np.minimum(40 + 5 * np.arange(100), 60)
    assert look(run_of({ALLOCATED: list(settled)}), "gpu-memory-leak") is None


def test_gap_without_an_error_is_slack_and_with_one_fragmentation() -> None:
    memory = {RESERVED: [70.0], ALLOCATED: [44.0]}
    found = look(run_of(memory), "gpu-fragmentation")
    assert found is not None
    assert found.severity == "info"
    found = look(run_of(memory, events=[out_of_memory(unused="12.50 GiB")]), "gpu-fragmentation")
    assert found is not None
    assert found.severity == "medium"
    assert look(run_of({RESERVED: [70.0], ALLOCATED: [60.0]}), "gpu-fragmentation") is None


def test_host_memory_that_never_levels_off() -> None:
    noise = np.random.default_rng(1).standard_normal(300)
    found = look(run_of({HOST: list(137 + 0.32 * np.arange(300) + noise)}), "host-memory-growth")
    assert found is not None
    assert 30 < found.facts["per_100"].value < 34


@pytest.mark.parametrize(
    "curve",
    [
        150 + 60 * (1 - np.exp(-np.arange(300) / 20)),  # caches fill, then nothing
        100 + 70 * (np.arange(300) > 150) + np.sin(np.arange(300)),  # one jump at a resume
        400 + 0.1 * np.arange(300),  # small against what is there
        np.abs(np.random.default_rng(2).standard_normal(300)) * 40 + 40,  # noise
    ],
    ids=["caches", "resume", "small", "noise"],
)
def test_host_memory_that_does_not_leak(curve: np.ndarray) -> None:
    assert look(run_of({HOST: list(curve)}), "host-memory-growth") is None
