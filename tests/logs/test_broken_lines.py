"""Real metric lines, broken as copy and paste breaks them: every value kept is a printed one, and what is lost is said."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.logs import read_text
from assistant.run import NO_STEP, Run
from tests.logs.naive import NUMBER, STEP

CASES = Path(__file__).parents[3] / "shared" / "cases" / "verl"
NUMBERS = [number for number in ("02", "10", "12", "13", "21", "23", "28") if any(CASES.glob(f"{number}_*"))]
WIDTHS = (60, 80, 100, 120, 160, 200, 250)
TAG = re.compile(r"\([^()]*pid=\d+[^()]*\) ")
GLUED = (
    "INFO 03-01 22:42:08 worker.py:133] Memory profiling", "Processed prompts:  45%|████", "/usr/lib/x.py:3: UserWarning: old", "`",
    "(WorkerDict pid=7) hello - there:5", "2025-03-01 12:00:01,123 INFO", "12:30:01 up", "45%|███  | 3/7", "3 warnings", "127.0.0.1:80",
    "\x1b[K", " is this ok?", "error: none", "e5-base loaded",
)  # fmt: skip

Truth = dict[tuple[int, str], str]


@cache
def metric_lines(number: str) -> list[str]:
    text = next(CASES.glob(f"{number}_*")).joinpath("log.txt").read_bytes().decode("utf-8", "replace")
    lines = [re.sub(r"\x1b?\[[0-9;]*m", "", line) for line in text.split("\n")]
    return [line for line in lines if STEP.search(line) and len(line) != 4096 and not line.rstrip().endswith("-")]


@cache
def values(line: str) -> Truth:
    found = STEP.search(line)
    assert found
    parts = [part.rpartition(":") for part in found[2].strip().split(" - ")]
    return {(int(found[1]), key): printed[1] for key, _, value in parts if (printed := NUMBER.fullmatch(value.strip()))}


def truth(lines: list[str]) -> Truth:
    return {place: text for line in lines for place, text in values(line).items()}


def stored(run: Run) -> Truth:
    found = {}
    for name in run.columns:
        series = run.series(name)
        assert series is not None
        for index, step in enumerate(series.steps):
            found[int(step), name] = series.text(index)
    return found


def said(run: Run) -> bool:
    return run.unread_lines > 0 or any(note.kind == "cut-line" for note in run.notes)


def check(text: str, lines: list[str]) -> tuple[Run, int]:
    """Nothing is made up; how many values are missing (those of a row without a step count as its line's)."""
    run, want = read_text(text), truth(lines)
    have = stored(run)
    of_first = {key: value for (_, key), value in values(lines[0]).items()}
    for (step, key), printed in have.items():
        assert printed == (of_first.get(key) if step == NO_STEP else want.get((step, key))), (step, key)
    missing = sum(place not in have and (NO_STEP, place[1]) not in have for place in want)
    assert not missing or said(run)
    return run, missing


def folded(lines: list[str], width: int, repeat: bool, strip: bool) -> str:
    rows = []
    for line in lines:
        tag = TAG.match(line) if repeat else None
        pieces = [line[i : i + width] for i in range(0, len(line), width)]
        rows += [("" if i == 0 or tag is None else tag[0]) + (piece.rstrip() if strip else piece) for i, piece in enumerate(pieces)]
    return "\n".join(rows) + "\n"


def some_lines(number: str, rng: random.Random, n: int = 3) -> list[str]:
    lines = metric_lines(number)
    start = rng.randrange(len(lines) - n)
    return lines[start : start + n]


def head_end(line: str) -> int:
    found = STEP.search(line)
    assert found
    return found.start(2)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("repeat", [False, True], ids=["plain", "tag repeated"])
def test_lines_broken_at_any_width_come_back_whole(number: str, repeat: bool) -> None:
    rng = random.Random(number)
    for width in (*WIDTHS, rng.randrange(55, 260)):
        lines = some_lines(number, rng)
        for strip in (False, True):
            run, missing = check(folded(lines, width, repeat, strip), lines)
            assert (missing, said(run), run.n_rows) == (0, False, 3), width


@pytest.mark.parametrize("number", NUMBERS)
def test_a_paste_that_begins_inside_a_line_loses_no_whole_value(number: str) -> None:
    rng = random.Random(number)
    for width in (0, 0, 0, 80, 200) * 4:
        lines = some_lines(number, rng, 2)
        at = rng.randrange(head_end(lines[0]), len(lines[0]))
        pasted = [lines[0][at:], lines[1]]
        rest = [part.rpartition(":")[0] for part in lines[0][at:].split(" - ")[1:]]
        run = read_text(folded(pasted, width, False, False) if width else "\n".join(pasted) + "\n")
        have, want = stored(run), {key: text for (_, key), text in values(lines[0]).items()}
        assert {key for (step, key) in have if step == NO_STEP} >= {key for key in rest if key}
        assert all(text == want.get(key) for (step, key), text in have.items() if step == NO_STEP)
        assert {place: text for place, text in have.items() if place[0] != NO_STEP} == values(lines[1])


@pytest.mark.parametrize("number", NUMBERS)
def test_a_log_that_ends_anywhere_in_a_line_stores_no_unfinished_number(number: str) -> None:
    rng = random.Random(number)
    for width in (0, 0, 0, 80, 200) * 5:
        lines = some_lines(number, rng)
        at = rng.randrange(head_end(lines[-1]), len(lines[-1]))
        text = folded([*lines[:2], lines[2][:at]], width, False, False)[:-1] if width else "\n".join([*lines[:2], lines[2][:at]])
        _run, missing = check(text, lines)
        done = {part.rpartition(":")[0] for part in lines[2][head_end(lines[2]) : at].split(" - ")[:-1]}
        assert missing <= len(values(lines[2])) - len({key for _, key in values(lines[2])} & done)


@pytest.mark.parametrize("number", NUMBERS)
def test_output_glued_to_a_line_takes_nothing_with_it_but_what_is_said(number: str) -> None:
    rng = random.Random(number)
    for glued in GLUED:
        lines = some_lines(number, rng)
        _, missing = check(f"{lines[0]}\n{lines[1]}{glued}\n{lines[2]}\n", lines)
        assert missing <= 1
        check(f"{lines[0]}\n{glued}{lines[1]}\n{lines[2]}\n", lines)


@pytest.mark.parametrize("number", NUMBERS)
def test_lines_without_anything_between_them_are_told_apart(number: str) -> None:
    rng = random.Random(number)
    for between in ("", " ", "\r"):
        lines = some_lines(number, rng)
        run, missing = check(between.join(lines) + "\n", lines)
        assert (missing, run.n_rows) == (0, 3)
    lines = some_lines(number, rng)
    check(folded(["".join(lines)], 100, False, False), lines)


@pytest.mark.parametrize("number", NUMBERS)
def test_output_between_the_pieces_of_a_broken_line(number: str) -> None:
    rng = random.Random(number)
    for noise in ("(WorkerDict pid=1) hello", "INFO 03-14 22:42:08 worker.py:133] took 3.45 seconds", "", "Processed: 45%|██", "- a list"):
        lines = some_lines(number, rng)
        rows = folded(lines, rng.choice([80, 120, 200]), False, True).split("\n")
        at = rng.randrange(1, len(rows) - 1)
        check("\n".join([*rows[:at], noise, *rows[at:]]), lines)


@pytest.mark.parametrize("number", [number for number in NUMBERS if number in ("12", "21", "28")])
def test_lines_that_a_pager_cut_at_one_width_keep_no_unfinished_number(number: str) -> None:
    rng = random.Random(number)
    for width in (200, 300, 431, 700):
        lines = some_lines(number, rng, 5)
        check("\n".join(line[:width] for line in lines) + "\n", lines)


@st.composite
def made_lines(draw: st.DrawFn) -> list[str]:
    show = draw(st.sampled_from([repr, lambda v: f"np.float64({v!r})", lambda v: f"{v:.3f}"]))
    keys = [
        "actor/entropy",
        "actor/pg_loss",
        "training/global_step",
        "training/epoch",
        "timing_s/step",
        "critic/score/mean",
        "perf/throughput",
    ]
    numbers = st.builds(lambda seed, size: random.Random(seed).gauss(0, 10.0**size), st.integers(0, 10**9), st.integers(-7, 5))
    tag = draw(st.sampled_from(["", "(TaskRunner pid=7) ", "(TaskRunner pid=7, ip=10.0.0.2) "]))
    lines = []
    for step in range(9, 9 + draw(st.integers(2, 3))):
        printed = [str(step) if key == "training/global_step" else show(draw(numbers)) for key in keys]
        lines.append(f"{tag}step:{step} - " + " - ".join(f"{key}:{text}" for key, text in zip(keys, printed, strict=True)))
    return lines


@settings(max_examples=80)
@given(made_lines(), st.integers(45, 300), st.booleans(), st.booleans())
def test_made_up_lines_broken_at_any_width(lines: list[str], width: int, repeat: bool, strip: bool) -> None:
    _, missing = check(folded(lines, width, repeat, strip), lines)
    assert missing <= len(lines)  # digits alone on a line, and nothing yet to tell that lines are broken


@settings(max_examples=80)
@given(made_lines(), st.data())
def test_made_up_lines_cut_at_both_ends(lines: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(head_end(lines[0]), len(lines[0]) - 1))
    last = data.draw(st.integers(head_end(lines[-1]), len(lines[-1])))
    run = read_text("\n".join([lines[0][first:], *lines[1:-1], lines[-1][:last]]))
    of_first = {key: value for (_, key), value in values(lines[0]).items()}
    want = truth(lines)
    for (step, key), printed in stored(run).items():
        assert printed == (of_first.get(key) if step == NO_STEP else want.get((step, key))), (step, key)
