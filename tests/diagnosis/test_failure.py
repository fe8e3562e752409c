"""Which of many errors is the cause: symptoms, wrappers, what was survived, what came after the end."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.diagnosis.failure import failure, phase_of
from assistant.diagnosis.view import RunView
from assistant.run import Event, Run
from tests.builders import run_of

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


def event(kind: str, line: int, text: str = "", *, process: str = "", **data: Any) -> Event:
    known = {"card": f"errors/{kind}"} if kind != "exception" else {}
    return Event(kind, line, text or kind, None, process, True, {**known, **data})


def cause(*events: Event, steps: int = 0, total: int | None = None, era: str = "0.6") -> str | None:
    """Kind of the root error of a run of ``steps`` steps (step k printed on line k)."""
    run = run_of({"critic/score/mean": [0.5] * steps}, events=events, total_steps=total, era=era)
    found = failure(RunView(run))
    return None if found is None or found.after_end else found.root.kind


def test_the_first_error_of_several_ranks_is_the_cause() -> None:
    assert cause(event("gpu-oom", 20, OOM), event("nccl-timeout", 30), event("ray-actor-died", 40)) == "gpu-oom"


def test_a_symptom_printed_before_its_cause_does_not_hide_it() -> None:
    # logs put together rank by rank: the waiting rank's timeout stands first
    assert cause(event("nccl-timeout", 10), event("gpu-oom", 90, OOM)) == "gpu-oom"


def test_a_timeout_alone_is_the_cause_and_later_exceptions_follow_from_it() -> None:
    later = event("exception", 20, type="RuntimeError", message="aborted")
    assert cause(event("nccl-timeout", 10), later, event("ray-actor-died", 30)) == "nccl-timeout"


def test_an_own_exception_before_a_timeout_is_the_cause() -> None:
    first = event("exception", 5, type="KeyError", message="'answer'")
    assert cause(first, event("nccl-timeout", 10)) == "exception"


def test_wrappers_count_only_when_nothing_else_is_there() -> None:
    died, raised = event("ray-actor-died", 10), event("ray-task-error", 20)
    assert cause(died, raised) == "ray-actor-died"
    assert cause(died, raised, event("host-oom", 99)) == "host-oom"
    assert cause(event("hydra-exit", 5), event("ray-task-error", 9, inner="ValueError")) == "ray-task-error"


def test_an_error_that_training_survived_ended_nothing() -> None:
    assert cause(event("gpu-oom", 3, OOM), steps=10) is None
    assert cause(event("gpu-oom", 11, OOM), steps=10) == "gpu-oom"


def test_a_step_line_delayed_past_the_error_does_not_excuse_it() -> None:
    # one buffered record after the error, then the driver's own exit
    assert cause(event("gpu-oom", 9, OOM), event("ray-task-error", 20), steps=10) == "gpu-oom"
    assert cause(event("gpu-oom", 9, OOM), steps=10) is None


def test_the_same_crash_after_a_restart_is_found_at_its_last_line() -> None:
    run = run_of({"critic/score/mean": [0.5] * 10}, events=[event("gpu-oom", 3, OOM, last_line=40, last_step=10, repeats=2)])
    found = failure(RunView(run))
    assert found is not None
    assert (found.line, found.step) == (40, 10)


@pytest.mark.parametrize(
    ("process", "repeats", "wrapped", "fatal"),
    [
        ("ToolWorker pid=7", 1, False, False),  # a worker logged it and went on
        ("ToolWorker pid=7", 1, True, True),  # Ray passed it on
        ("TaskRunner pid=1", 1, False, True),  # the driver's own
        ("", 1, False, True),
        ("", 40, False, False),  # printed again and again: handled
    ],
)
def test_unknown_exceptions_need_a_sign_that_nobody_caught_them(process: str, repeats: int, wrapped: bool, fatal: bool) -> None:
    events = [event("exception", 20, process=process, type="TypeError", message="x", repeats=repeats)]
    if wrapped:
        events.append(event("ray-task-error", 30, inner="TypeError"))
    run = run_of({"critic/score/mean": [0.5] * 3}, events=events)
    found = failure(RunView(run))
    assert (found is not None and found.root.kind == "exception") == fatal


def test_warnings_are_no_errors() -> None:
    text = "[2025-12-06 15:32:18,446][huggingface_hub.utils._http][WARNING] - HTTPSConnectionPool(host='huggingface.co'"
    assert cause(event("hub-unreachable", 20, text)) is None
    retried = "'(ReadTimeoutError(\"HTTPSConnectionPool(host='huggingface.co', port=443): Read timed out.\"))' thrown while requesting HEAD"
    assert cause(event("hub-unreachable", 20, retried)) is None
    assert cause(event("hub-unreachable", 20, "OSError: We couldn't connect to 'https://huggingface.co'")) == "hub-unreachable"


def test_errors_after_the_end_are_marked() -> None:
    end = Event("final-validation", 11, "Final validation metrics: {}")
    died = event("ray-actor-died", 15)
    assert cause(end, died, steps=10) is None
    assert cause(died, steps=10, total=10) is None
    assert cause(died, steps=10, total=11) == "ray-actor-died"
    assert cause(died, steps=10, total=11, era="0.1") is None  # steps there count from 0


@pytest.mark.parametrize(
    ("data", "finding"),
    [
        ({"type": "omegaconf.errors.ConfigKeyError"}, "crash-config"),
        ({"type": "ModuleNotFoundError"}, "crash-import-version"),
        (
            {"type": "KeyError", "frames": [{"file": "/x/verl/utils/reward_score/math.py", "line": 3, "function": "score"}]},
            "crash-reward-function",
        ),
        ({"type": "OSError", "frames": [{"file": "a.py", "line": 3, "function": "save_checkpoint"}]}, "crash-checkpoint"),
        ({"type": "FileNotFoundError"}, "crash-config"),
        (
            {"type": "KeyError", "frames": [{"file": "/x/verl/utils/dataset/rl_dataset.py", "line": 3, "function": "__getitem__"}]},
            "crash-config",
        ),
        ({"type": "KeyboardInterrupt"}, "crash-killed"),
        ({"type": "ValueError", "frames": [{"file": "/x/verl/utils/config.py", "line": 3, "function": "validate_config"}]}, "crash-config"),
        (
            {
                "type": "TypeError",
                "message": "f() got an unexpected keyword argument 'x'",
                "frames": [{"file": "/env/lib/site-packages/vllm/a.py", "line": 3, "function": "g"}],
            },
            "crash-import-version",
        ),
        ({"type": "ZeroDivisionError", "frames": [{"file": "train.py", "line": 3, "function": "loop"}]}, "crash-worker-died"),
    ],
)
def test_exceptions_without_a_card_go_by_type_and_place(data: dict[str, Any], finding: str) -> None:
    found = failure(RunView(Run(events=[event("exception", 5, **data)])))
    assert found is not None
    assert found.finding == finding


@pytest.mark.parametrize(
    ("functions", "phase"),
    [
        (["fit", "update_actor", "update_policy", "backward"], "update_actor"),
        (["fit", "compute_log_prob", "_forward_micro_batch"], "log_prob"),
        (["fit", "compute_ref_log_prob", "compute_log_prob"], "ref"),
        (["fit", "generate_sequences", "wake_up"], "wake_up"),
        (["main", "loop"], ""),
    ],
)
def test_phase_is_the_innermost_known_function(functions: list[str], phase: str) -> None:
    frames = [{"file": "worker.py", "line": 1, "function": name} for name in functions]
    assert phase_of(Event("gpu-oom", 1, OOM, data={"frames": frames})) == phase


def test_phase_tells_the_critic_by_its_file() -> None:
    frames = [{"file": "/v/verl/workers/critic/dp_critic.py", "line": 9, "function": "update_critic"}]
    assert phase_of(Event("gpu-oom", 1, OOM, data={"frames": frames})) == "update_critic"


def test_phase_from_the_task_name_when_there_are_no_frames() -> None:
    assert phase_of(Event("gpu-oom", 1, OOM, data={"task": "WorkerDict.ref_compute_ref_log_prob"})) == "ref"


def test_a_bare_remainder_assertion_gives_its_numbers() -> None:
    found = failure(RunView(Run(events=[event("exception", 5, "AssertionError: 130 % 8 != 0", type="AssertionError")])))
    assert found is not None
    assert (found.finding, found.root.data["size"], found.root.data["divisor"]) == ("crash-batch-divisibility", 130, 8)


def test_a_workers_import_error_explains_the_assertion_about_a_missing_worker_group() -> None:
    broken = event("import-error", 5, "ModuleNotFoundError: No module named 'x'", process="WorkerDict pid=7", type="ModuleNotFoundError")
    assert cause(broken, event("register-center", 20), event("ray-task-error", 19, inner="AssertionError")) == "import-error"
    assert cause(broken) is None  # an optional import that failed in a run that went on


def test_a_workers_exception_far_from_the_end_is_not_blamed() -> None:
    died = event("ray-actor-died", 1000)
    assert cause(event("exception", 950, process="W pid=7", type="ValueError"), died) == "exception"
    assert cause(event("exception", 100, process="W pid=7", type="ValueError"), died) == "ray-actor-died"
    assert cause(event("exception", 950, process="W pid=7", type="ValueError", repeats=60), died) == "ray-actor-died"


def test_an_exception_with_much_output_after_it_was_caught() -> None:
    caught = event("exception", 20, type="TypeError", message="x")
    for n_lines, expected in ((100, "exception"), (5000, None)):
        found = failure(RunView(Run(events=[caught], n_lines=n_lines)))
        assert (found.root.kind if found else None) == expected
