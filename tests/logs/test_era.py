"""Framework, version and estimator from what a log prints."""

from __future__ import annotations

import pytest

from assistant.diagnosis.render import era_evidence
from assistant.logs import read_text
from assistant.logs.era import VERSIONS, Clue, decide
from assistant.run import Run

REST = "critic/score/mean:0.1234567 - critic/score/max:1.0 - response_length/mean:300.25 - timing_s/gen:20.1234 - timing_s/step:30.1234"


def era(line: str) -> tuple[str, Run]:
    run = read_text(line + "\n")
    return run.era, run


@pytest.mark.parametrize(
    ("line", "version"),
    [
        (
            "(main_task pid=11) step:0 - timing/gen:20.100 - critic/kl:0.000 - critic/kl_coeff:0.001 - actor/entropy_loss:0.410"
            " - actor/pg_loss:-0.004 - actor/lr(1e-4):0.010 - critic/score/mean:0.010",
            "0.1",
        ),
        (
            "(main_task pid=11) step:7 - global_seqlen/mean:90112.000 - critic/kl:0.002 - actor/entropy_loss:0.301 - mfu/actor:0.301"
            " - actor/lr:0.000 - timing_s/step:10.500",
            "0.2",
        ),
        (
            "(TaskRunner pid=11) step:7 - global_seqlen/mean:90112.000 - critic/kl:0.002 - actor/entropy_loss:0.301 - actor/ppo_kl:-0.000"
            " - actor/lr:0.000 - perf/throughput:1010.500",
            "0.3",
        ),
        (
            "(TaskRunner pid=11) step:7 - actor/entropy:0.301 - actor/pg_clipfrac_lower:0.000 - actor/lr:0.000 - perf/throughput:1010.500"
            " - training/global_step:7.000 - val-core/a/acc/mean@1:0.500",
            "0.4",
        ),
        (f"(TaskRunner pid=11) step:7 - actor/entropy:0.2967 - training/global_step:7 - num_turns/min:2 - {REST}", "0.5"),
        (f"(TaskRunner pid=11) step:7 - actor/entropy:0.2967 - training/global_step:7 - response/aborted_ratio:0.0 - {REST}", "0.6"),
        (
            f"(TaskRunner pid=11) step:7 - actor/entropy:0.29 - perf/mfu/actor_infer:0 - perf/max_memory_allocated_gb:61.2"
            f" - training/global_step:7 - response/aborted_ratio:0.0 - {REST}",
            "0.7",
        ),
        (
            "(TaskRunner pid=11) step:3 - actor/loss:-0.0021 - actor/perf/max_memory_allocated_gb:61.2"
            f" - perf/mfu/actor_infer:0.41 - {REST}",
            "0.8",
        ),
        (
            f"(TaskRunnerV1 pid=11) step:3 - actor/entropy:0.31 - training/off_policy/trajectory_staleness/mean:np.float64(0.0) - {REST}",
            "0.9",
        ),
    ],
)
def test_each_version_by_its_line(line: str, version: str) -> None:
    found, run = era(line)
    assert found == version
    assert run.framework == "verl"
    assert run.era_evidence


def test_a_short_paste_that_fits_several_versions_is_unknown() -> None:
    found, run = era("step:60 - actor/entropy:0.347299 - actor/pg_loss:0.00071 - perf/mfu/actor:0.3907 - actor/lr:1e-06 - a/b:0.12345")
    assert found == "unknown"
    assert [(clue.data["span"], clue.data["low"], clue.data["high"]) for clue in run.era_evidence] == [
        ("later", "0.5", "0.9"),
        ("between", "0.4", "0.6"),
    ]
    assert [text.rpartition(": ")[2] for text in era_evidence(run)] == ["0.5 or later", "0.4 to 0.6"]
    assert [text.rpartition(": ")[2] for text in era_evidence(run, "zh")] == ["0.5 及以后", "0.4 到 0.6"]


def test_one_old_name_kept_by_a_fork_does_not_decide() -> None:
    found, _ = era(f"step:7 - mfu/actor:0.3 - actor/entropy:0.2967 - training/global_step:7 - response/aborted_ratio:0.0 - {REST}")
    assert found == "0.6"


def test_contradictions_that_leave_two_versions_leave_the_era_open() -> None:
    low, high = VERSIONS.index("0.2"), VERSIONS.index("0.6")
    assert decide([Clue(low, low, "x"), Clue(high, high, "y")])[0] == "unknown"
    assert decide([]) == ("unknown", [])


def test_the_supervised_trainer() -> None:
    found, run = era("step:1 - train/loss:0.7249 - train/lr(1e-3):0.00027 - train/time(s):7.41")
    assert (run.framework, found) == ("verl-sft", "0.6")


@pytest.mark.parametrize(
    ("lines", "estimator"),
    [
        (["step:1 - critic/vf_loss:0.5 - critic/returns/mean:0.5 - critic/advantages/mean:0.5"], "gae"),
        (["step:1 - critic/returns/mean:0.5 - critic/advantages/mean:0.5 - critic/returns/max:1.5 - critic/advantages/max:1.5"
          " - critic/returns/min:-1 - critic/advantages/min:-1"], "grpo"),
        (["step:1 - critic/returns/mean:0.5 - critic/advantages/mean:0.1"], None),
        (["step:1 - actor/kl:0.5"], None),
        (["data.x=1 algorithm.adv_estimator=RLOO \\", "step:1 - critic/vf_loss:0.5"], "rloo"),
    ],
)  # fmt: skip
def test_the_estimator_is_configured_or_inferred(lines: list[str], estimator: str | None) -> None:
    run = read_text("\n".join(lines) + "\n")
    assert run.algorithm == estimator
    assert bool(run.algorithm_evidence) == (estimator is not None)


def test_a_crash_in_verls_code_is_verls() -> None:
    run = read_text('  File "/home/u/verl/verl/workers/fsdp_workers.py", line 5, in update_actor\nValueError: x\n')
    assert (run.framework, run.era) == ("verl", "unknown")


def test_a_crash_elsewhere_names_no_framework() -> None:
    assert read_text('  File "/home/u/train.py", line 5, in main\nValueError: x\n').framework == "unknown"
