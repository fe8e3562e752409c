"""What the log leaves out, where it starts again, and when there is too little of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assistant.diagnosis import RunView, diagnose
from assistant.diagnosis.detector import registered
from assistant.diagnosis.finding import Finding
from assistant.diagnosis.render import summary
from assistant.logs import read, read_text
from assistant.run import Event, Note, Run
from tests.builders import run_of

CASES = Path(__file__).parents[4] / "shared" / "cases"


def look(finding: str, run: Run) -> Finding | None:
    one = registered()[finding]
    outcome = one.function(RunView(run), one.thresholds())
    assert outcome is None or isinstance(outcome, Finding)
    if outcome is not None:
        english, chinese = summary(outcome, "en"), summary(outcome, "zh")
        assert english != chinese
        assert "{" not in english + chinese
    return outcome


def training(n: int, start: int = 1, **more: Any) -> Run:
    metrics = {"actor/pg_loss": [0.01] * n, "critic/score/mean": [0.5] * n, "timing_s/step": [30.0] * n}
    return run_of(metrics, start=start, **more)


def variant(finding: str, run: Run) -> str | None:
    found = look(finding, run)
    return found.variant if found else None


END = Event("final-validation", 99, "Final validation metrics: {}")
CRASH = Event("disk-full", 50, "No space left on device", fatal=True, data={"card": "errors/disk-full"})
WRAPPER = Event("ray-task-error", 50, "ray.exceptions.RayTaskError: x", fatal=True, data={"card": "errors/ray-task-error"})


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (training(10, total_steps=20), "default"),
        (training(20, total_steps=20), None),
        (training(20, start=0, total_steps=20, era="0.1"), None),  # there steps count from 0
        (training(10, total_steps=20, events=[END]), None),
        (training(10, total_steps=20, events=[CRASH]), None),  # the crash says why it ends
        (training(10, total_steps=20, events=[WRAPPER]), "no_cause"),
        (run_of({}, total_steps=20), "before_training"),
        (training(10, start=80), "starts_late"),
        (training(10, start=80, events=[Event("resume", 1, "Setting global step to 79")]), None),
        (run_of({"actor/pg_loss": [0.1] * 5, "critic/score/mean": [0.5] * 5}, steps=[10, 20, 30, 40, 50]), None),  # logs every ten steps
        (training(10), None),
    ],
)
def test_incomplete(run: Run, expected: str | None) -> None:
    assert variant("log-incomplete", run) == expected


def test_a_cut_line_is_named() -> None:
    run = training(10)
    run.notes = [Note("cut-line", 7)]
    found = look("log-incomplete", run)
    assert found is not None
    assert "Line 7" in summary(found)


def test_an_excerpt_without_steps_says_so_but_prose_is_for_the_reader_to_refuse() -> None:
    run = Run(n_lines=10)
    assert variant("log-incomplete", run) == "no_steps"
    run.notes = [Note("prose")]
    assert look("log-incomplete", run) is None


def test_restarts() -> None:
    twice = run_of({"critic/score/mean": [0.5] * 12}, steps=[*range(1, 6), *range(1, 8)])
    found = look("log-restarted", twice)
    assert found is not None
    assert summary(found).startswith("The log holds 2 attempts; the one from line 6 on (steps 1–7)")
    resumed = look("log-restarted", run_of({"critic/score/mean": [0.5] * 10}, steps=[1, 2, 3, 4, 5, 6, 4, 5, 6, 7]))
    assert resumed is not None
    assert (resumed.variant, resumed.first_step) == ("resumed", 4)
    assert look("log-restarted", training(10)) is None


def test_a_version_change_is_a_metric_that_goes_on_under_another_name() -> None:
    changed = run_of({"actor/entropy_loss": [0.4] * 5 + [None] * 5, "actor/entropy": [None] * 5 + [0.4] * 5})
    found = look("log-version-change", changed)
    assert found is not None
    assert found.first_step == 6
    assert "actor/entropy_loss is called actor/entropy" in summary(found)
    side_by_side = run_of({"actor/entropy_loss": [0.4] * 10, "actor/entropy": [0.4] * 10})
    assert look("log-version-change", side_by_side) is None


def test_a_table_whose_section_is_cut_off_is_no_other_version() -> None:
    """Stable-Baselines3 prints the section on a line of its own, above its rows."""
    cut = "|    explained_variance   | 0.9        |\n|    value_loss           | 22.1       |\n-----------------\n"
    train = "| train/ | |\n|    explained_variance | 0.94 |\n|    value_loss | 17 |\n-------\n"
    whole = "----------------\n| time/ | |\n|    total_timesteps | 24576 |\n" + train
    run = read_text(cut + whole)
    assert "explained_variance" in run.columns
    assert "train/explained_variance" in run.columns
    assert look("log-version-change", run) is None


def test_a_missing_score_is_told_only_when_training_metrics_are_there() -> None:
    assert variant("metric-missing", run_of({"actor/pg_loss": [0.1] * 5})) == "default"
    assert look("metric-missing", run_of({"timing_s/adv": [10.0]})) is None
    assert look("metric-missing", training(5)) is None
    assert look("metric-missing", run_of({"actor/pg_loss": [0.1] * 5}, framework="verl-sft")) is None


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (training(1), "one"),
        (training(3), "default"),
        (training(2, start=80), None),  # an excerpt of a long run
        (training(6), None),
        (training(3, total_steps=3), None),  # a short run that is over
        (training(3, events=[CRASH]), None),
        (training(20, config={"actor_rollout_ref.actor.optim.lr_warmup_steps": 50}), "warmup"),
        (training(60, config={"actor_rollout_ref.actor.optim.lr_warmup_steps": 50}), None),
        (training(20, events=[Event("optimizer-steps", 1, "Total steps: 900, num_warmup_steps: 90", data={"warmup": 90})]), "warmup"),
    ],
)
def test_too_early(run: Run, expected: str | None) -> None:
    assert variant("too-early-to-tell", run) == expected


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (training(60), "default"),
        (training(60, config={"trainer.test_freq": -1}), "off"),
        (training(60, events=[END]), None),
        (run_of({"critic/score/mean": [0.5] * 60, "val-core/gsm8k/acc/mean@1": [None] * 59 + [0.4]}), None),
    ],
)
def test_no_validation(run: Run, expected: str | None) -> None:
    assert variant("no-validation", run) == expected


@pytest.mark.parametrize(("run", "steps"), [(training(40), 50), (training(60, config={"trainer.test_freq": 100}), 100)])
def test_a_validation_that_is_not_due_yet_is_neither_missing_nor_fine(run: Run, steps: int) -> None:
    diagnosis = diagnose(run, ["no-validation"])
    assert [(u.finding, u.needs) for u in diagnosis.unknown] == [("no-validation", f"steps>={steps}")]
    assert not diagnosis.findings
    assert not diagnosis.fine


def test_score_and_validation_are_compared_at_the_last_shared_step() -> None:
    key = "val-core/gsm8k/acc/mean@1"
    run = run_of({"critic/score/mean": [0.5, 0.6, 0.9, 0.95], key: [0.5, None, 0.6, None]})
    found = look("score-not-validation", run)
    assert found is not None
    assert [(p.step, p.value) for p in found.evidence] == [(3, 0.9), (3, 0.6)]
    assert look("score-not-validation", run_of({"critic/score/mean": [0.5, 0.6], key: [None, 0.55]})) is None
    assert look("score-not-validation", run_of({"critic/score/mean": [0.5, None], key: [None, 0.1]})) is None


def test_nothing_odd_in_an_ordinary_log() -> None:
    text = "".join(
        f"step:{i} - actor/pg_loss:0.01 - critic/score/mean:0.5 - val-core/g/acc/mean@1:0.5 - timing_s/step:3.0\n" for i in range(1, 61)
    )
    run = read_text(text)
    odd = (
        "log-incomplete",
        "log-restarted",
        "log-version-change",
        "metric-missing",
        "too-early-to-tell",
        "no-validation",
        "score-not-validation",
    )
    assert [name for name in odd if look(name, run)] == []


@pytest.mark.parametrize(
    ("case", "finding"),
    [
        ("verl/36_char_count_smollm_start_step0_1", "too-early-to-tell"),
        ("verl/41_step0_and_step1_different_format", "too-early-to-tell"),
        ("other/64_slime_oom_one_rank", "log-incomplete"),
        ("other/65_skyrl_oom_after_checkpoint", "log-incomplete"),
    ],
)
def test_real_logs(case: str, finding: str) -> None:
    log = CASES / case / "log.txt"
    if not log.exists():
        pytest.skip("labelled logs are not here")
    assert look(finding, read(log)) is not None
