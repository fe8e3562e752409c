"""Why a run stopped: the first real error among the many that a dying run prints.

One rank runs out of memory; the others wait until NCCL times out; Ray reports dead actors; the driver raises it all again.
An error card says what its kind is: a ``wrapper`` only passes on another error, a ``symptom`` often follows from one on
another rank, a ``guarded`` kind is often caught and logged while training goes on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assistant.cards import Card, cards
from assistant.diagnosis.view import RunView
from assistant.run import Event

DRIVERS = ("main_task", "TaskRunner", "FullyAsyncTaskRunner", "OneStepTaskRunner", "FullyAsyncTrainer", "skyrl_entrypoint")
TRAINING = re.compile(
    r"WorkerDict|Actor\w*Worker|Critic\w*Worker|RefWorker|TrainingWorker|RewardModelWorker|EngineCore|HttpServer|vLLMServer"
)
"""Processes whose exception nobody is expected to catch."""

CAUGHT_OFTEN = 5
"""An exception that a worker printed this often without ending is handled by the program."""

NEAR = 200
"""Lines before the end of the run (or of the log) within which an exception that may have been caught is taken for its cause."""

LAST = 20
"""Lines before the end of the log within which a worker's exception is its last word."""

DOUBTFUL = 0.6
"""Confidence that such an exception ended the run."""

_LEVEL = re.compile(r"^\W*(?:\S+ ){0,4}\S*\b(?:WARNING|WARN|INFO|DEBUG)\b")
_FOLLOW_ON = re.compile(r"(?:Connection\w*|BrokenPipe|BrokenProcessPool|EOF|Cancelled|IncompleteRead)(?:Error)?$")


@dataclass(frozen=True, slots=True)
class Failure:
    """``root`` is the error to act on, at ``line``; ``others`` are the errors that follow from it, by line.

    ``finding`` and ``variant`` say which finding and which of its sentences; ``phase`` what the run was doing
    ("update_actor", "" when unknown); ``after_end`` that the run had already finished.
    """

    root: Event
    line: int
    step: int | None
    finding: str
    variant: str
    phase: str
    confidence: float
    others: Sequence[Event]
    after_end: bool
    error_card: Card | None


def failure(view: RunView) -> Failure | None:
    """The error that ended the run (or came after its end); None when nothing fatal is left after what was survived."""
    found = [event for event in view.run.events if _fatal(event)]
    passed_on = frozenset(str(event.data["inner"]) for event in found if event.data.get("inner"))
    lasting = [event for event in found if _lasting(event, found, passed_on, view)]
    doubtful = not lasting
    if doubtful:  # nobody passed it on; but nothing came after it either
        lasting = [event for event in found if _last_word(event, view)]
    if not lasting:
        return None
    if all(_flag(event, "wrapper") for event in lasting):
        lasting += _suspects(found, lasting, view)
    elif all(_flag(event, "wrapper") or _symptom(event) for event in lasting):  # some rank may have said why the others waited
        lasting += [event for event in _suspects(found, lasting, view) if TRAINING.search(event.process)]
    root = _with_numbers(_root(lasting))
    finding, variant, confidence = _meaning(root)
    line = _line(root, view)
    return Failure(
        root,
        line,
        root.step if line == root.line else root.data.get("last_step", root.step),
        finding,
        variant,
        phase_of(root),
        min(confidence, DOUBTFUL) if doubtful else confidence,
        tuple(event for event in found if event.line > root.line),
        _ended_before(view, line),
        error_card(root),
    )


def error_card(event: Event) -> Card | None:
    return cards().get(event.data.get("card") or f"errors/{event.kind}")


def _flag(event: Event, name: str) -> bool:
    known = error_card(event)
    return bool(event.data.get(name)) or bool(known and known.front.get(name))


def _fatal(event: Event) -> bool:
    known = error_card(event)
    if known is None:
        return event.fatal and (event.kind == "exception" or "type" in event.data)
    harmless = any(words in event.text for words in known.front.get("unless") or ())
    return bool(known.front.get("fatal")) and not harmless and not _LEVEL.match(event.text)


# What was survived


def _line(event: Event, view: RunView) -> int:
    """Line of the last occurrence when training went on after the first (the same crash after a restart)."""
    last = int(event.data.get("last_line", event.line))
    return last if last > event.line and records_after(view, event.line) else event.line


def records_after(view: RunView, line: int) -> int:
    """How many records (steps) begin to be printed below ``line``."""
    run = view.run
    row = int(np.searchsorted(run.row_lines, line, side="right"))
    return run.n_records - int(run.row_records[row]) if row < run.n_rows else 0


def _lasting(event: Event, found: Sequence[Event], passed_on: frozenset[str], view: RunView) -> bool:
    line = _line(event, view)
    records = records_after(view, line)
    if records > 1:
        return False
    if records == 1 and not any(other.line > line and _flag(other, "wrapper") and not records_after(view, other.line) for other in found):
        return False
    if event.kind != "exception" and not _flag(event, "guarded"):
        return True
    if view.run.n_lines - line > NEAR and not any(_flag(other, "wrapper") and other.line > line for other in found):
        return False
    return _uncaught(event, passed_on)


def _uncaught(event: Event, passed_on: frozenset[str]) -> bool:
    """Whether an exception ended its process: Ray passed it on, or the driver or a launcher's rank printed it."""
    if str(event.data.get("type", "")).rpartition(".")[2] in passed_on:
        return True
    if int(event.data.get("repeats", 1)) >= CAUGHT_OFTEN:
        return False
    return not event.process or event.process.startswith((*DRIVERS, "rank"))


def _last_word(event: Event, view: RunView) -> bool:
    """Whether a worker's exception, which no other process passed on, stands at the end of the log: then it may well be the end.

    Only processes that train or serve the model: an error there goes up. Before the first step nothing else has to be printed.
    """
    line, end = int(event.data.get("last_line", event.line)), view.run.n_lines
    if "traceback_line" not in event.data or _flag(event, "wrapper") or records_after(view, event.line):
        return False
    if int(event.data.get("repeats", 1)) >= CAUGHT_OFTEN * int(event.data.get("processes", 1)):
        return False
    if not TRAINING.search(event.process):  # loops of agents and scorers are apps: they log what they catch
        return False
    scoring = any(_SCORING.search(_place(frame)) for frame in event.data.get("frames") or ())
    return end - line <= (LAST if view.run.n_rows or scoring else NEAR)


def _suspects(found: Sequence[Event], wrappers: Sequence[Event], view: RunView) -> list[Event]:
    """Errors that workers printed shortly before the run ended, for a run whose end names no other cause."""
    end = max(event.line for event in wrappers)
    return [
        event
        for event in found
        if not _flag(event, "wrapper")
        and event.line < end
        and int(event.data.get("repeats", 1)) < CAUGHT_OFTEN
        and not records_after(view, event.line)
        and (event.kind != "exception" or end - event.line < NEAR)
    ]


def _ended_before(view: RunView, line: int) -> bool:
    """Whether the run had finished: it printed its last validation, or its last step, and no metrics after the error."""
    if records_after(view, line):
        return False
    for event in view.events("final-validation"):
        end = int(event.data.get("last_line", event.line))
        if end < line and not records_after(view, end):
            return True
    total, last = view.run.total_steps, view.run.last_step
    if total is None or last is None or view.run.framework != "verl":
        return False
    return last >= (total - 1 if view.run.era == "0.1" else total)


# Which one is the cause


def _root(lasting: Sequence[Event]) -> Event:
    real = [event for event in lasting if not _flag(event, "wrapper")]
    if not real:
        return min(lasting, key=_wrapper_rank)
    primary = [event for event in real if not _symptom(event)]
    symptoms = [event for event in real if _symptom(event)]
    first = min(primary, key=_by_line, default=None)
    if first is None:
        return min(symptoms, key=_by_line)
    certain = any(event.kind != "exception" and not _flag(event, "guarded") for event in primary)
    if not certain and symptoms and min(symptoms, key=_by_line).line < first.line:
        return min(symptoms, key=_by_line)
    return first


def _with_numbers(root: Event) -> Event:
    """A bare assertion about a remainder (``130 % 8 != 0``) has no fixed words: its two numbers are read here."""
    remainder = _REMAINDER.search(root.text) if root.kind == "exception" else None
    if remainder is None:
        return root
    return replace(root, data={**root.data, "size": int(remainder[1]), "divisor": int(remainder[2])})


def _by_line(event: Event) -> int:
    return event.line


def _wrapper_rank(event: Event) -> tuple[bool, bool, int]:
    """Among wrappers one that names its inner error says most, one that only says "ended" least."""
    return event.kind == "hydra-exit", not event.data.get("inner") and event.kind == "ray-task-error", event.line


def _symptom(event: Event) -> bool:
    return _flag(event, "symptom") or (event.kind == "exception" and bool(_FOLLOW_ON.search(str(event.data.get("type", "")))))


# What it means

_INNER = {
    "OutOfMemoryError": ("crash-gpu-oom", "default"),
    "ModuleNotFoundError": ("crash-import-version", "default"),
    "ImportError": ("crash-import-version", "default"),
    "ConfigAttributeError": ("crash-config", "default"),
    "ConfigKeyError": ("crash-config", "default"),
    "EngineDeadError": ("crash-engine-init", "dead"),
    "AsyncEngineDeadError": ("crash-engine-init", "dead"),
    "DistBackendError": ("crash-nccl", "default"),
}


def _meaning(root: Event) -> tuple[str, str, float]:
    """Finding id, variant and confidence."""
    known = error_card(root)
    if known is None:
        return _exception(root)
    if root.kind == "ray-task-error" and (inner := _INNER.get(str(root.data.get("inner", "")))):
        return (*inner, 0.6)
    confidence = 0.6 if _flag(root, "wrapper") else 0.75 if known.front.get("guarded") else 0.95
    return known.front["finding"], known.front.get("variant", "default"), confidence


def _exception(root: Event) -> tuple[str, str, float]:
    """An exception that no card knows: by its type, and by where it was raised."""
    kind = str(root.data.get("type", ""))
    name = kind.rpartition(".")[2]
    frames = root.data.get("frames") or ()
    inner = frames[-1] if frames else {}
    where = _place(inner)
    message = str(root.data.get("message", root.text))
    if "divisor" in root.data:
        return "crash-batch-divisibility", "default", 0.8
    if kind.startswith(("omegaconf.", "hydra.")):
        return "crash-config", "default", 0.85
    if name in ("ModuleNotFoundError", "ImportError"):
        return "crash-import-version", "default", 0.85
    if any(_SCORING.search(_place(frame)) for frame in frames[-6:]):
        return _scoring(name, where, message)
    if phase_of(root) in ("save", "load"):
        unwritable = name == "PermissionError" and phase_of(root) == "save"
        return "crash-checkpoint", "not_writable" if unwritable else phase_of(root), 0.7
    if name == "GetTimeoutError":
        placing = any("placement_group" in _place(frame) for frame in frames)
        return ("hang", "resources", 0.7) if placing else ("crash-worker-died", "exception", 0.5)
    if name == "CalledProcessError" and any("triton/" in _place(frame) for frame in frames):
        return "crash-cuda-kernel", "compile", 0.8
    if name == "PermissionError":
        return "crash-config", "permission", 0.7
    if _UNEVEN.search(message):
        if _SAMPLES.search(message):
            return "crash-batch-divisibility", "default", 0.7
        if _PARALLEL.search(message):
            return "crash-config", "parallel", 0.7
    if name == "KeyboardInterrupt":
        return "crash-killed", "interrupt", 0.8
    if name == "MemoryError":
        return "crash-host-oom", "default", 0.7
    if name in ("FileNotFoundError", "NotADirectoryError"):
        return "crash-config", "path", 0.7
    if name in _SETTING_ERRORS and re.search(r"config|omegaconf|main_ppo|__post_init__|validate_", where):
        return "crash-config", "default", 0.6
    if name == "KeyError" and any(_DATASET.search(_place(frame)) for frame in frames[-4:]):
        return "crash-config", "column", 0.7
    if _LIBRARY.search(str(inner.get("file", ""))) and _INTERFACE.search(message) and "'NoneType'" not in message:
        return "crash-import-version", "api", 0.5
    if re.search(r"(?:HTTP|URL|Timeout|Connect\w*)Error$", name):
        return "crash-network", "default", 0.5
    return "crash-worker-died", "exception" if kind else "default", 0.5


def _scoring(name: str, where: str, message: str) -> tuple[str, str, float]:
    """An exception where answers are scored: by the data, by the call, by a service, or in the reward code itself."""
    if name == "NotImplementedError" and "reward_score" in where:  # what verl raises for a data source it does not know
        return "crash-reward-function", "data_source", 0.8
    if name == "KeyError" and "reward_manager" in where and message.strip("'\" ") in _COLUMNS:
        return "crash-config", "column", 0.8
    if name == "TypeError" and re.search(r"unexpected keyword argument|positional argument", message):
        return "crash-reward-function", "signature", 0.8
    if re.search(r"(?:HTTP|URL|Timeout|Connect\w*)Error$|ConnectTimeout|ReadTimeout", name):
        return "crash-reward-function", "service", 0.8
    return "crash-reward-function", "default", 0.8


_COLUMNS = frozenset(("reward_model", "data_source", "ground_truth", "extra_info", "prompt", "raw_prompt"))
_UNEVEN = re.compile(r"divisible by|multiple of|divide evenly")
_SAMPLES = re.compile(r"batch|chunk|sample|DataProto", re.IGNORECASE)
_PARALLEL = re.compile(r"heads?\b|world_?size|parallel|\bt[ep]\b|\b[sp]p_size|gpus?\b|layers|query_groups|experts", re.IGNORECASE)
_SCORING = re.compile(r"reward_score|reward_manager|reward_loop|compute_score|reward_fn|reward_func")
_DATASET = re.compile(r"dataset\.py|collate")
_LIBRARY = re.compile(r"site-packages|/verl/")
_INTERFACE = re.compile(r"unexpected keyword argument|has no attribute|required positional argument")
_REMAINDER = re.compile(r"\b(\d+) % (\d+) != 0")
_SETTING_ERRORS = ("ValueError", "KeyError", "AssertionError", "AttributeError")


def _place(frame: Mapping[str, Any]) -> str:
    """Where a frame is: the last folders of its file, and its function (a user's home folder says nothing)."""
    return f"{'/'.join(str(frame.get('file', '')).split('/')[-3:])} {frame.get('function', '')}"


ENGINE = re.compile(r"EngineCore|vLLMHttpServer|SGLangHttpServer|VllmWorker|Worker_TP\d|\bTP\d+\b")
"""A process, or the front of its line, that belongs to a rollout engine."""

_PHASES = (
    ("update_critic", r"update_critic|dp_critic\.py.*(?:update|backward)"),
    ("update_actor", r"update_actor|update_policy|train_mini_batch|train_batch"),
    ("ref", r"ref_log_prob"),
    ("log_prob", r"log_prob|infer_batch"),
    ("values", r"compute_values"),
    ("reward", r"compute_rm_score|reward_model"),
    ("wake_up", r"wake_up|\bresume\b|update_weights|rollout_mode|sharding_manager"),
    ("save", r"save_checkpoint|save_model|save_pretrained"),
    ("load", r"load_checkpoint"),
    ("generate", r"generate|execute_model|run_engine_core|/scheduler\.py"),
    (
        "init",
        r"_build_rollout|profile_run|determine_num_available_blocks|cuda_graph_runner|capture_model|init_memory_pool|init_model|init_workers|from_pretrained|_build_model|load_model",
    ),
)


def phase_of(event: Event) -> str:
    """What the run was doing, in the words of the crash cards; the innermost telling frame decides, then Ray's task name."""
    frames = event.data.get("frames") or ()
    places = [_place(frame) for frame in reversed(frames)]
    named = str(event.data.get("phase", ""))
    critic = any("critic" in place.partition(" ")[0].rpartition("/")[2] for place in places)
    reference = any("ref_log_prob" in text for text in (*places, named, str(event.data.get("task", ""))))
    if ENGINE.search(event.process) or ENGINE.search(event.text[:60]):
        places.append("generate")  # the engine's own process trains nothing; its frames may tell better
    for place in (*places, named, str(event.data.get("task", "")), event.text):
        for phase, pattern in _PHASES:
            if re.search(pattern, place):
                if phase == "log_prob" and reference:
                    return "ref"
                return "update_critic" if phase == "update_actor" and critic else phase
    return ""
