"""Last lines of crashed runs of every framework, as people paste them, and lines that only look like them."""

from __future__ import annotations

import pytest

from assistant.diagnosis import diagnose, render
from assistant.logs import read_text

LOSS = "{{'loss': {:.2f}, 'grad_norm': 0.7, 'learning_rate': 2e-05, 'epoch': {:.1f}}}"
SYNC = "CUDA kernel errors might be asynchronously reported at some other API call"


@pytest.mark.parametrize(
    ("line", "speaks_against"),
    [
        ("RuntimeError: DataLoader worker (pid 990) is killed by signal: Bus error.", False),
        ("ray.exceptions.ObjectStoreFullError: Failed to put object ffff in object store because it is full.", False),
        ("numpy.core._exceptions._ArrayMemoryError: Unable to allocate 26.3 GiB for an array", True),
    ],
)
def test_free_memory_rules_out_only_what_needs_all_of_it(line: str, speaks_against: bool) -> None:
    (finding,) = diagnose(read_text(line)).faults
    assert finding.id == "crash-host-oom"
    assert bool(render.rules_out(finding)) is speaks_against
