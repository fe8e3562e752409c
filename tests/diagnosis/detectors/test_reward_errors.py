"""Scoring failures that become zeros."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from assistant.diagnosis import render
from assistant.logs import read
from assistant.run import Event, Run
from tests.builders import run_of
from tests.diagnosis.detectors.outcomes import findings

BATCH = {"data.train_batch_size": 8, "actor_rollout_ref.rollout.n": 4}


def failure(kind: str = "reward-exception", line: int = 10, step: int | None = None, **data: Any) -> Event:
    return Event(kind, line, "(RewardLoopWorker pid=9) Error in compute_score: bad \\frac", step, data={"finding": "reward-errors", **data})


def training(events: Sequence[Event], n: int = 5, **more: Any) -> Run:
    return run_of({"critic/score/mean": [0.4] * n, "actor/pg_loss": [0.01] * n}, events=events, **more)


def test_a_share_of_the_answers_that_cannot_be_scored() -> None:
    run = training([failure(step=1, repeats=40, last_step=4, last_line=90)], config=BATCH)
    found = findings(run, "reward-errors")["reward-errors"]
    assert (found.variant, found.severity, found.first_step, found.last_step) == ("share", "critical", 1, 4)
    assert {name: found.facts[name].value for name in ("n", "steps", "line")} == {"n": 40, "steps": 4, "line": 10}
    assert found.facts["share"].value == pytest.approx(40 / (32 * 4))
    assert found.causes is not None
    assert found.causes[0] == "exception"
    assert "Error in compute_score" in render.summary(found)
    assert [row.line for row in found.excerpt] == [10]


@pytest.mark.parametrize(
    "events",
    [
        [],
        [failure(repeats=19, step=1)],  # a handful
        [failure(repeats=24, step=0, last_step=4)],  # under five a step
        [Event("reward-exception", 3, "boom", fatal=True, data={"finding": "reward-errors", "repeats": 99})],  # that is a crash
        [Event("nccl-timeout", 3, "boom", data={"finding": "crash-nccl", "repeats": 99})],
    ],
)
def test_few_or_other_errors_are_no_finding(events: list[Event]) -> None:
    assert findings(training(events, config=BATCH), "reward-errors") == {}


def test_many_failures_among_far_more_answers_are_ordinary() -> None:
    large = {"data.train_batch_size": 512, "actor_rollout_ref.rollout.n": 16}
    events = [failure(step=1, repeats=40, last_step=4)]
    assert findings(training(events, config=large), "reward-errors") == {}
    assert findings(training(events, config=BATCH), "reward-errors") != {}


def test_without_a_batch_size_the_number_of_lines_decides() -> None:
    found = findings(training([failure("reward-timeout", step=2, repeats=30)]), "reward-errors")["reward-errors"]
    assert (found.variant, found.causes) == ("default", ("timeout",))
    assert [fix["key"] for fix in render.fixes(found, training([]))] == [None, None]


def test_a_batch_of_zeros_needs_one_line_only() -> None:
    event = failure("reward-batch-zeroed", line=7, step=3)
    found = findings(training([event, failure(line=90)], config=BATCH), "reward-errors")["reward-errors"]
    assert (found.variant, found.severity, found.facts["n"].value, found.facts["line"].value) == ("batch", "medium", 1, 7)


def test_a_crashed_sandbox_is_named_with_the_setting_of_the_version() -> None:
    events = [failure("sandbox-error", repeats=50)]
    for era, key in (("0.6", "reward_model.sandbox_fusion.max_concurrent"), ("0.9", "reward.sandbox_fusion.max_concurrent")):
        run = training(events, n=1, era=era)
        found = findings(run, "reward-errors")["reward-errors"]
        assert found.causes == ("sandbox",)
        assert [(fix["key"], fix["to"]) for fix in render.fixes(found, run) if fix["key"]] == [(key, 16)]


def test_read_from_a_log(tmp_path: Any) -> None:
    lines = ["(TaskRunner pid=3) step:1 - critic/score/mean:0.5 - actor/pg_loss:0.01 - training/global_step:1.0"]
    lines += [f"(RewardLoopWorker pid={n}) Error in math_verify compute_score: No module named 'latex2sympy{n}'" for n in range(30)]
    lines += ["(TaskRunner pid=3) step:2 - critic/score/mean:0.0 - actor/pg_loss:0.01 - training/global_step:2.0"]
    path = tmp_path / "run.log"
    path.write_text("\n".join(lines) + "\n")
    found = findings(read(path), "reward-errors")["reward-errors"]
    assert (found.facts["n"].value, found.facts["line"].value, found.first_step) == (30, 2, 1)
