"""Lines of all formats thrown together, cut, doubled and interleaved: nothing raises, and nothing is made up."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.logs import read, read_text
from assistant.logs.formats import text_formats
from assistant.run import NO_STEP, Run

SAMPLES = [sample.text for one in text_formats() for sample in one.samples]
LINES = [line for text in SAMPLES for line in text.splitlines()]
NOISE = (
    "(TaskRunner pid=7) step:3 - actor/entropy:0.431 - actor/lr:1e-06 - critic/score/mean:0.25",
    "[rank1]: Traceback (most recent call last):", "  5%|5         | 10/200 [00:10<03:10,  1.0s/it]", "", "```", "| Step | loss |",
    "{'actor_rollout_ref': {'actor': {'ppo_mini_batch_size': 64,", "You said the reward: 0.7 was fine?", "\x1b[36m(pid=3)\x1b[0m", "{", "}",
    "Iter 5: Train loss", "{'loss': 0.1, 'kl':", "iteration 5/ 10 | lm loss: 1.0E", "> quoted", "step=7, loss=", "│ a │ 1.0 │",
)  # fmt: skip
LOGS = sorted((Path(__file__).parents[4] / "shared" / "cases" / "other").glob("*/log.txt"))


def mixture(seed: int) -> str:
    """Whole samples, single lines and noise; some lines cut, doubled, joined by a carriage return or behind a prefix."""
    rng = random.Random(seed)
    pieces: list[str] = []
    for _ in range(rng.randint(1, 8)):
        kind = rng.randint(0, 3)
        if kind == 0:
            pieces += rng.choice(SAMPLES).splitlines()
        elif kind == 1:
            pieces += [rng.choice(LINES) for _ in range(rng.randint(1, 6))]
        else:
            pieces.append(rng.choice(NOISE))
    if rng.random() < 0.3:  # one format's lines, many times
        pieces += rng.choice(SAMPLES).splitlines() * rng.randint(2, 6)
    for _ in range(rng.randint(0, 6)):
        at = rng.randrange(len(pieces))
        line = pieces[at]
        change = rng.randint(0, 4)
        if change == 0:
            pieces[at] = line[: rng.randint(0, len(line))]
        elif change == 1:
            pieces[at] = line[rng.randint(0, len(line)) :]
        elif change == 2:
            pieces.insert(at, line)
        elif change == 3 and at + 1 < len(pieces):
            pieces[at : at + 2] = [line + rng.choice(["\r", "", " "]) + pieces[at + 1]]
        else:
            pieces[at] = rng.choice(["(Worker pid=5) ", "[rank0]: ", "12:00:00 ", "> ", "\x1b[36m"]) + line
    return "\n".join(pieces) + rng.choice(["", "\n"])


SEEDS = st.integers(0, 2**32)


def made_up(run: Run, lines: list[str]) -> list[object]:
    """Values and steps that do not stand in the line they are said to be of (a wrapped number ends in a later one; a JSON document and a
    long table tell the line where a record begins)."""
    wrong: list[object] = []
    for name in run.columns:
        series = run.series(name)
        assert series is not None
        for i in range(len(series)):
            line = int(series.lines[i])
            text = series.text(i)
            near = "".join(lines) if run.format in ("json", "csv") else lines[line - 1] + "".join(lines[line : line + 4])
            if text not in near and text.replace("nan", "NaN") not in near and not (text == "null" and "None" in near):
                wrong.append((name, text, line))
    if not any(note.kind in ("numbered-records", "epochs-counted-on") for note in run.notes):
        everything = " ".join(lines)
        for step in {int(step) for step in run.row_steps if step != NO_STEP}:
            if not re.search(rf"(?<![\d.])0*{step}(?!\d)", everything):
                wrong.append(("step", step))
    return wrong


@settings(max_examples=200, deadline=None)
@given(SEEDS.map(mixture))
def test_a_mixture_never_raises_and_nothing_is_made_up(text: str) -> None:
    run = read_text(text)
    assert made_up(run, text.split("\n")) == []
    assert (run.row_lines >= 1).all()
    assert (run.row_lines <= run.n_lines).all()
    for column in run.columns.values():
        assert (column.rows[1:] > column.rows[:-1]).all()
    assert sum(1 for _ in run.records()) == run.n_records


@settings(max_examples=60, deadline=None)
@given(SEEDS.map(mixture), st.integers(0, 30))
def test_every_format_may_be_forced_on_any_text(text: str, which: int) -> None:
    formats = text_formats()
    run = read(text.encode(), format=formats[which % len(formats)].name)
    assert made_up(run, text.split("\n")) == []


@pytest.mark.skipif(not LOGS, reason="the labelled logs are not here")
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_two_real_logs_interleaved_make_nothing_up(data: st.DataObject) -> None:
    first, second = (data.draw(st.sampled_from(LOGS)).read_text(errors="replace").split("\n")[:60] for _ in range(2))
    cut = data.draw(st.integers(0, len(first)))
    turns = data.draw(st.lists(st.booleans(), min_size=1, max_size=10))
    mixed: list[str] = []
    a, b = list(first[cut:]), list(second)
    turn = 0
    while a or b:
        take = a if (turns[turn % len(turns)] and a) or not b else b
        mixed.append(take.pop(0))
        turn += 1
    assert made_up(read_text("\n".join(mixed)), mixed) == []
