"""Lines that are read at once give exactly what they give one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assistant.logs import read, read_text, stream
from assistant.logs.shapes import repeats
from assistant.run import Run
from benchmarks.console_shapes import RNG, SHAPES

NOISE = ("", "INFO something else", "  5%|5  | 10/200 [00:10<03:10,  1.0s/it]", "-----------------", "Step 3 | ", "{", "loss: 0.1", "```")
NUMBERS = ("nan", "inf", "0", "-0.0", "1e-05", "0.4310", "12345678901234567890", "1,234", "7", "0.00001", "1e+16", "None", "1.5e-5", ".5")


@contextmanager
def one_by_one() -> Iterator[None]:
    kept = repeats.read_on
    repeats.read_on = lambda *args: None
    try:
        yield
    finally:
        repeats.read_on = kept


def told(run: Run) -> object:
    """Everything that a run says of its numbers."""
    columns = {}
    for name in run.columns:
        series = run.series(name)
        assert series is not None
        columns[name] = (
            series.steps.tolist(),
            series.lines.tolist(),
            [series.text(i) for i in range(len(series))],
            [repr(value) for value in series.values.tolist()],
            [round(series.resolution(i), 15) for i in range(len(series))],  # sixteen decimals: in full or not, no one can say
        )
    records = [(record["step"], record["line"]) for record in run.records()]
    segments = [(one.first_row, one.last_row, one.first_step, one.last_step) for one in run.segments]
    return columns, records, run.row_lines.tolist(), run.total_steps, segments


def broken(text: str, rng: random.Random, changes: int) -> str:
    lines = text.split("\n")
    for _ in range(changes):
        at = rng.randrange(len(lines))
        kind = rng.randint(0, 6)
        if kind == 0:
            lines.insert(at, rng.choice(NOISE))
        elif kind == 1:
            lines.insert(at, lines[at])
        elif kind == 2:
            lines[at] = lines[at][: rng.randint(0, len(lines[at]))]
        elif kind == 3:
            lines[at] = rng.choice(["[rank0]: ", "(W pid=3) ", "\x1b[36m", "12:00:00 ", "\t"]) + lines[at]
        elif kind == 4:
            del lines[at]
        elif kind == 5:
            lines[at] += rng.choice(["\r", " ", "  x", "\t"])
        else:
            found = [i for i, letter in enumerate(lines[at]) if letter.isdigit()]
            if found:
                i = rng.choice(found)
                lines[at] = lines[at][:i] + rng.choice(NUMBERS) + lines[at][i + 1 :]
        if not lines:
            lines = [""]
    return "\n".join(lines)


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 12))
@example(1356, 4)  # a step printed as 00480
@example(1000079, 2)  # 2.651515E-00
@example(1000297, 12)  # sixteen decimals that are not the number in full
def test_reading_at_once_changes_nothing(shape: str, seed: int, changes: int) -> None:
    rng = random.Random(seed)
    RNG.seed(seed)
    records = [SHAPES[shape](rng.choice([step, step, step, step // 2]) + 1) for step in range(rng.randint(1, 24))]
    text = broken("".join(records), rng, changes)
    with one_by_one():
        slow = told(read_text(text))
    assert told(read_text(text)) == slow


@pytest.mark.parametrize("shape", SHAPES)
def test_a_long_log_is_read_at_once(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "BLOCK", 16 << 10)
    data = "".join(SHAPES[shape](step + 1) for step in range(500)).encode()
    assert len(data) > 2 * stream.BLOCK
    taken = []
    kept = repeats.read_on

    def counted(*args: object) -> object:
        batch = kept(*args)  # type: ignore[arg-type]
        taken.append(len(batch.values) if batch else 0)
        return batch

    monkeypatch.setattr(repeats, "read_on", counted)
    run = read(data)
    assert run.n_records == 500
    with one_by_one():
        assert told(run) == told(read(data))
    if shape not in ("boxed table (AReaL)", "dict behind a step (slime)"):  # a line of words stands before each
        assert sum(taken) > 300
