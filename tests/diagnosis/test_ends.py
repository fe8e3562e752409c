"""The first lines and the last lines of a long run, pasted together: the steps between are time, and silence is not "fine"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from assistant.cards import card
from assistant.diagnosis import Diagnosis, RunView, diagnose, registered
from assistant.diagnosis.ends import JUDGED_SHORT, RULES, gap, stretches
from assistant.diagnosis.enough import AT_ONCE, LASTING, NOW, enough
from assistant.diagnosis.render import summary
from assistant.logs import read
from assistant.run import Run
from tests.builders import run_of
from tests.diagnosis.directions import backwards
from tests.diagnosis.healthy_runs import healthy_run

STEPS = [1, 2, 3, 498, 499, 500]
QUIET: dict[str, Sequence[float]] = {
    "actor/entropy": [0.40, 0.41, 0.39, 0.30, 0.31, 0.29],
    "actor/grad_norm": [0.2, 0.22, 0.19, 0.21, 0.2, 0.23],
    "actor/kl_loss": [0.0, 0.001, 0.001, 0.05, 0.06, 0.05],
    "critic/score/mean": [0.30, 0.33, 0.31, 0.62, 0.60, 0.63],
    "critic/score/max": [1.0] * 6,
    "critic/score/min": [0.0] * 6,
    "response_length/mean": [300.0, 310.0, 305.0, 420.0, 410.0, 430.0],
}
FALLEN = {"critic/score/mean": [0.60, 0.62, 0.58, 0.05, 0.04, 0.06]}


def looked(more: Mapping[str, Sequence[float]], steps: Sequence[int] = STEPS) -> Diagnosis:
    metrics = {name: values[: len(steps)] for name, values in {**QUIET, **more}.items()}
    return diagnose(run_of(metrics, steps=steps, era="0.6", algorithm="grpo"))


@pytest.mark.parametrize(
    ("finding", "more", "start", "now"),
    [
        ("reward-collapse", FALLEN, 0.60, 0.05),
        ("length-collapse", {**FALLEN, "response_length/mean": [900.0, 910.0, 905.0, 9.0, 10.0, 9.0]}, 905, 9),
        ("length-explosion", {**FALLEN, "response_length/mean": [300.0, 310.0, 305.0, 2000.0, 2010.0, 1990.0]}, 305, 2000),
        ("entropy-collapse", {**FALLEN, "actor/entropy": [0.4, 0.41, 0.39, 0.003, 0.002, 0.003]}, 0.4, 0.003),
        ("entropy-explosion", {**FALLEN, "actor/entropy": [0.4, 0.41, 0.39, 3.0, 3.1, 3.2]}, 0.4, 3.1),
        ("gradient-explosion", {"actor/grad_norm": [0.2, 0.22, 0.19, 40.0, 50.0, 45.0]}, 0.2, 45),
        ("kl-blowup", {"actor/kl_loss": [0.0, 0.001, 0.001, 8.0, 9.0, 8.5]}, 0.001, 8.5),
        ("value-loss-divergence", {"critic/vf_loss": [0.1, 0.12, 0.11, 30.0, 31.0, 29.0]}, 0.11, 30),
    ],
)
def test_a_change_that_is_beyond_doubt_is_told_with_less_confidence(
    finding: str, more: Mapping[str, Sequence[float]], start: float, now: float
) -> None:
    diagnosis = looked(more)
    found = {f.id: f for f in diagnosis.findings}[finding]
    assert found.first_step == 498
    if finding not in ("kl-blowup", "gradient-explosion"):  # those two can judge by six lines themselves
        assert found.variant == "ends"
        assert found.confidence < 0.6
        assert (found.facts["start"].value, found.facts["now"].value) == pytest.approx((start, now))
        assert (found.facts["head"].text, found.facts["tail"].text) == ("3", "498")
    for language in ("en", "zh"):
        assert "{" not in summary(found, language)
    assert not backwards(found, diagnosis.run)
    assert finding not in diagnosis.fine


@pytest.mark.parametrize("finding", sorted(RULES))
def test_every_such_change_has_words_for_it(finding: str) -> None:
    assert "ends" in card(f"findings/{finding}").front["says"]
    assert finding in JUDGED_SHORT or "few" in card(f"findings/{finding}").front["says"]
    assert finding in registered()


def test_one_line_on_each_side_shows_what_no_noise_can_do() -> None:
    more = {"actor/kl_loss": [0.001, 9.0], "actor/grad_norm": [0.2, 45.0], "critic/score/mean": [0.6, 0.05]}
    found = {f.id: f for f in looked(more, [1, 500]).faults}
    assert found["kl-blowup"].variant == found["gradient-explosion"].variant == "ends"
    assert "reward-collapse" not in found  # one batch may be bad luck
    assert "1" in summary(found["kl-blowup"])


def test_lines_that_follow_one_another_are_no_ends() -> None:
    assert not [f for f in looked(FALLEN, [1, 2, 3, 4, 5, 6]).findings if f.variant == "ends"]
    assert not [f for f in looked(FALLEN, [50, 100, 150, 200, 250, 300]).findings if f.variant == "ends"]  # logged every 50 steps


def test_a_run_that_learns_raises_nothing() -> None:
    assert looked({}).faults == []


def test_noise_between_the_ends_raises_nothing() -> None:
    assert looked({"critic/score/mean": [0.30, 0.42, 0.36, 0.24, 0.21, 0.26]}).faults == []


def test_ends_of_healthy_runs_raise_nothing() -> None:
    alarms = {}
    for seed in range(120):
        run = healthy_run(seed)
        n = len(run.row_steps)
        kept = [*range(3), *range(n - 3, n)]
        metrics = {
            name: [dict(zip(column.rows.tolist(), column.values.tolist(), strict=True)).get(row) for row in kept]
            for name, column in run.columns.items()
        }
        steps = [int(run.row_steps[row]) for row in kept]
        part = run_of(metrics, steps=steps, era=run.era, config=run.config)
        if found := [f.id for f in diagnose(part, list(RULES)).faults]:
            alarms[seed] = found
    assert alarms == {}


def test_stretches() -> None:
    def parts(steps: list[int]) -> list[tuple[int, int]]:
        return [(piece.start, piece.end) for piece in stretches(np.array(steps, np.int64))]

    assert parts([]) == []
    assert parts([7]) == [(0, 0)]
    assert parts([1, 2, 3, 90, 91]) == [(0, 2), (3, 4)]
    assert parts([1, 800]) == [(0, 0), (1, 1)]
    assert parts([10, 20, 30, 40]) == [(0, 3)]
    assert parts([1, 2, 60, 61, 120]) == [(0, 1), (2, 3), (4, 4)]


def test_a_small_hole_in_a_long_log_is_no_gap() -> None:
    steps = [*range(1, 200), *range(230, 400)]
    assert gap(RunView(run_of({"critic/score/mean": [0.5] * len(steps)}, steps=steps))) is None


# What silence means


def test_six_lines_do_not_make_a_developing_fault_fine() -> None:
    diagnosis = looked({}, [1, 2, 3, 4, 5, 6])
    waiting = {u.finding: u.needs for u in diagnosis.unknown if u.needs.startswith("steps>=")}
    for finding in ("gradient-explosion", "policy-degenerate", "reward-collapse", "entropy-collapse"):
        assert finding not in diagnosis.fine
        assert finding in waiting
    assert waiting["gradient-explosion"] == "steps>=10"
    assert waiting["no-validation"] == "steps>=50"
    assert {"non-finite", "setting-ignored", "weights-not-loaded"} <= set(diagnosis.fine)


@pytest.mark.parametrize("n", [1, 2, 3, 9, 10, 30])
def test_nothing_is_fine_with_less_than_enough_and_nothing_is_both(n: int) -> None:
    diagnosis = diagnose(healthy_run_cut(n))
    owners = {name: one for one in registered().values() for name in (one.id, *one.ids)}
    assert {name for name in diagnosis.fine if enough(owners[name]) > n} == set()
    assert set(diagnosis.fine).isdisjoint(f.id for f in diagnosis.findings)
    assert set(diagnosis.fine).isdisjoint(u.finding for u in diagnosis.unknown)


def healthy_run_cut(n: int) -> Run:
    run = healthy_run(3)
    metrics = {
        name: [dict(zip(column.rows.tolist(), column.values.tolist(), strict=True)).get(row) for row in range(n)]
        for name, column in run.columns.items()
    }
    return run_of(metrics, era=run.era, config=run.config)


def test_the_lists_name_detectors_that_exist() -> None:
    assert set(AT_ONCE | NOW) <= set(registered())
    assert not AT_ONCE & NOW
    assert enough(registered()["reward-collapse"]) == LASTING
    assert enough(registered()["gpu-memory-leak"]) == 40
    assert enough(registered()["truncation"]) == 3


def test_head_and_tail_of_a_real_collapse() -> None:
    logs = sorted((Path(__file__).parents[3] / "shared/cases/verl").glob("10_*/log.txt"))
    if not logs:
        pytest.skip("needs the labelled logs")
    lines = [line for line in logs[0].read_bytes().splitlines(keepends=True) if b"step:" in line and b"critic/score/mean" in line]
    diagnosis = diagnose(read(b"".join([*lines[:3], *lines[-3:]])))
    assert [f.id for f in diagnosis.faults][:3] == ["reward-kl-gap", "length-collapse", "reward-collapse"]
    assert all(f.confidence < 0.7 for f in diagnosis.faults[:3])
    assert not {"reward-kl-gap", "kl-blowup", "gradient-explosion"} & set(diagnosis.fine)
