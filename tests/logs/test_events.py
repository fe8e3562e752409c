"""Messages, tracebacks and validation results as events."""

from __future__ import annotations

import pytest

from assistant.logs import read_text
from assistant.logs.traceback import exception, phase_of

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.78 GiB. GPU 0 has a total capacity of 39.56 GiB."


def frames(*functions: str, process: str = "") -> list[str]:
    lines = []
    for number, function in enumerate(functions, 10):
        lines += [
            f'{process}  File "/x/verl/workers/{function}.py", line {number}, in {function}',
            f"{process}    call()",
            f"{process}    ^^^^^^",
        ]
    return lines


def test_tracebacks_of_interleaved_ranks_are_told_apart() -> None:
    a, b = "(WorkerDict pid=1) ", "(WorkerDict pid=2, ip=10.0.0.2) "
    one = [f"{a}Traceback (most recent call last):", *frames("update_actor", "backward", process=a), a + OOM]
    two = [f"{b}Traceback (most recent call last):", *frames("compute_log_prob", process=b), f"{b}KeyError: 'x'"]
    mixed = [line for pair in zip(one, [*two, *["(raylet) noise"] * 9], strict=False) for line in pair]
    events = read_text("step:3 - a/b:1\n" + "\n".join(mixed) + "\n").events
    by_process = {event.process: event for event in events}
    oom, key = by_process["WorkerDict pid=1"], by_process["WorkerDict pid=2, ip=10.0.0.2"]
    assert (oom.kind, oom.step, oom.fatal, oom.data["phase"]) == ("gpu-oom", 3, True, "update_actor")
    assert oom.data["frames"][-1] == {"file": "/x/verl/workers/backward.py", "line": 11, "function": "backward"}
    assert (key.kind, key.data["type"], key.data["message"]) == ("exception", "KeyError", "'x'")


def test_ray_wraps_the_error_that_follows() -> None:
    text = [
        "Traceback (most recent call last):",
        *frames("main"),
        "ray.exceptions.RayTaskError(ValueError): \x1b[36mray::WorkerDict.actor_rollout_generate_sequences()\x1b[39m (pid=3, ip=10.0.0.1)",
        *frames("func", "generate_sequences"),
        "ValueError: bad prompt",
        "    more: about it",
        "",
        "Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.",
    ]
    wrapper, inner = (event for event in read_text("\n".join(text) + "\n").events if "frames" in event.data)
    assert wrapper.data["wrapper"]
    assert wrapper.data["phase"] == "generate_sequences"
    assert (inner.data["type"], inner.data["message"]) == ("ValueError", "bad prompt\n    more: about it")
    assert (inner.data["phase"], inner.line) == ("generate_sequences", 12)
    assert not inner.data["wrapper"]


def test_a_traceback_without_its_header_or_its_end() -> None:
    (event,) = read_text("\n".join([*frames("save_checkpoint"), "OSError: [Errno 28] No space left on device"])).events
    assert (event.data["type"], event.data["phase"], event.fatal) == ("OSError", "save_checkpoint", True)
    (cut,) = read_text("\n".join(["Traceback (most recent call last):", *frames("fit", "wake_up")])).events
    assert (cut.kind, cut.fatal, cut.data["phase"], cut.data["type"]) == ("traceback-unfinished", False, "wake_up", "")
    assert cut.text == 'File "/x/verl/workers/wake_up.py", line 11, in wake_up'


def test_the_same_error_of_many_ranks_is_one_event() -> None:
    lines = []
    for rank in range(8):
        process = f"(WorkerDict pid={rank}) "
        lines += [f"{process}Traceback (most recent call last):", *frames("update_actor", process=process), process + OOM]
    (event,) = read_text("\n".join(lines) + "\n").events
    assert (event.data["repeats"], event.data["processes"]) == (8, 8)
    assert event.line < event.data["last_line"] == len(lines)


def test_an_error_that_training_outlives_is_not_fatal() -> None:
    error = ["Traceback (most recent call last):", *frames("compute_score"), "ValueError: odd answer"]
    before, after = "step:1 - a/b:1\n", "\nstep:2 - a/b:1\nstep:3 - a/b:1\n"
    survived = read_text(before + "\n".join(error) + after).events[0]
    assert (survived.fatal, survived.data["survived"]) == (False, True)
    assert read_text(before + "\n".join(error) + "\n").events[0].fatal
    again = read_text(before + "\n".join(error) + "\nray init kwargs: {}" + after).events[0]
    assert again.fatal


def test_repeated_across_cluster_is_left_out_of_the_text() -> None:
    (event,) = read_text(f"(WorkerDict pid=1) {OOM}\x1b[32m [repeated 7x across cluster]\x1b[0m\n").events
    assert event.text == OOM


@pytest.mark.parametrize(
    ("text", "kind", "data"),
    [
        ("(TaskRunner pid=7) Total training steps: 435", "total-steps", {"total": 435}),
        ("(WorkerDict pid=7) Total steps: 435, num_warmup_steps: 13", "optimizer-steps", {"total": 435, "warmup": 13}),
        ("Size of train dataloader: 29, Size of val dataloader: 1", "steps-per-epoch", {"train": 29, "val": 1}),
        ("(TaskRunner pid=7) filter dataset len: 7400", "dataset-filtered", {"n": 7400}),
        ("local_global_step_folder: checkpoints/x/global_step_50", "checkpoint", {"saved_step": 50, "steps": [50]}),
        ("(TaskRunner pid=7) Setting global step to 120", "resume", {"resumed_step": 120, "steps": [120]}),
        ("WARN: rank 3 grad_norm is not finite: nan", "grad-not-finite", {"value": "nan"}),
        ("test_gen_batch meta info: {'eos_token_id': 1}", "validation-start", {}),
        ("num_prompt_in_batch=12 < prompt_bsz=64", "generation-rounds", {"prompts": 12, "wanted": 64}),
    ],
)
def test_the_trainers_own_messages(text: str, kind: str, data: dict[str, object]) -> None:
    event = next(event for event in read_text(f"step:9 - a/b:1\n{text}\n").events if event.kind == kind)
    assert {name: value for name, value in event.data.items() if name not in ("finding", "card")} == data
    assert (event.line, event.step) == (2, 9)


@pytest.mark.parametrize(
    "text",
    [
        "(main_task pid=1) \"Initial validation metrics: {'val/a': 0.5, 'val/b': nan}\"",
        "Initial validation metrics: {'val/a': 0.5, 'val/b': nan}",
        "(T pid=1) (\"Initial validation metrics: {'val/a': \"\n(WorkerDict pid=2) noise\n(T pid=1)  \"np.float64(0.5), 'val/b': nan}\")",
    ],
)
def test_validation_results_that_are_printed_as_text(text: str) -> None:
    (event,) = read_text(text + "\n").events
    assert event.kind == "initial-validation"
    assert event.data["values"]["val/a"] == 0.5
    assert event.data["values"]["val/b"] != event.data["values"]["val/b"]


def test_an_exceptions_line() -> None:
    assert exception("omegaconf.errors.ConfigAttributeError: Key 'a' is not in struct") == (
        "omegaconf.errors.ConfigAttributeError",
        "Key 'a' is not in struct",
    )
    assert exception("NotImplementedError") == ("NotImplementedError", "")
    assert exception("INFO: all well") is None
    assert exception("She sells 9 eggs: done") is None


def test_the_phase_is_the_innermost_known_function() -> None:
    assert phase_of(["fit", "generate_sequences", "func", "_validate", "inner"]) == "_validate"
    assert phase_of(["get"], "ray::WorkerDict.actor_rollout_update_actor() (pid=3)") == "update_actor"
    assert phase_of(["main", "get"]) == ""
