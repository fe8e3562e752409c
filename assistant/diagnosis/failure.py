"""Why a run stopped: the first real error among the many that a dying run prints.

One rank runs out of memory; the others wait until NCCL times out; Ray reports dead actors; the driver raises it all again.
An error card says what its kind is: a ``wrapper`` only passes on another error, a ``symptom`` often follows from one on
another rank, a ``guarded`` kind is often caught and logged while training goes on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assistant.cards import Card
from assistant.diagnosis.error_meaning import SCORING, error_card, flag, meaning, phase_of, place_of
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

SPOKEN = 30
"""Lines of the longest text in which an exception named within a sentence is what the text is about."""

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
    fatal = [event for event in view.run.events if _fatal(event)]
    found = [event for event in fatal if not event.data.get("bare")]
    passed_on = frozenset(str(event.data["inner"]) for event in found if event.data.get("inner"))
    lasting = [event for event in found if _lasting(event, found, passed_on, view)]
    doubtful = not lasting
    if doubtful:  # nobody passed it on; but nothing came after it either
        lasting = [event for event in found if _last_word(event, view)]
    if all(flag(event, "wrapper") for event in lasting):  # or no error at all
        bare = [event for event in fatal if event.data.get("bare") and _alone(event, view)]
        doubtful = doubtful and bool(bare)
        lasting += _suspects(found, lasting, view) or bare
    elif all(flag(event, "wrapper") or _symptom(event) for event in lasting):  # some rank may have said why the others waited
        lasting += [event for event in _suspects(found, lasting, view) if TRAINING.search(event.process)]
    if not lasting:
        return None
    root = _with_numbers(_root(lasting))
    finding, variant, confidence = meaning(root)
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
    if records == 1 and not any(other.line > line and flag(other, "wrapper") and not records_after(view, other.line) for other in found):
        return False
    if event.kind != "exception" and not flag(event, "guarded"):
        return True
    if view.run.n_lines - line > NEAR and not any(flag(other, "wrapper") and other.line > line for other in found):
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
    if "traceback_line" not in event.data or flag(event, "wrapper") or records_after(view, event.line):
        return False
    if int(event.data.get("repeats", 1)) >= CAUGHT_OFTEN * int(event.data.get("processes", 1)):
        return False
    if not TRAINING.search(event.process):  # loops of agents and scorers are apps: they log what they catch
        return False
    scoring = any(SCORING.search(place_of(frame)) for frame in event.data.get("frames") or ())
    return end - line <= (LAST if view.run.n_rows or scoring else NEAR)


def _alone(event: Event, view: RunView) -> bool:
    """Whether an exception's line without a traceback is what the log is about: nothing trained after it, and it is near the end."""
    if records_after(view, event.line) or int(event.data.get("repeats", 1)) >= CAUGHT_OFTEN or _LEVEL.match(event.text):
        return False
    if event.data.get("spoken") and (view.run.n_rows or view.run.n_lines > SPOKEN):
        return False
    if event.process and not event.process.startswith((*DRIVERS, "rank")) and not TRAINING.search(event.process):
        return False
    return not view.run.n_rows or view.run.n_lines - int(event.data.get("last_line", event.line)) <= LAST


def _suspects(found: Sequence[Event], wrappers: Sequence[Event], view: RunView) -> list[Event]:
    """Errors that workers printed shortly before the run ended, for a run whose end names no other cause."""
    end = max((event.line for event in wrappers), default=0)
    return [
        event
        for event in found
        if not flag(event, "wrapper")
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
    real = [event for event in lasting if not flag(event, "wrapper")]
    if not real:
        return min(lasting, key=_wrapper_rank)
    primary = [event for event in real if not _symptom(event)]
    symptoms = [event for event in real if _symptom(event)]
    first = min(primary, key=_by_line, default=None)
    if first is None:
        return min(symptoms, key=_by_line)
    certain = any(event.kind != "exception" and not flag(event, "guarded") for event in primary)
    if not certain and symptoms and min(symptoms, key=_by_line).line < first.line:
        return min(symptoms, key=_by_line)
    return first


_REMAINDER = re.compile(r"\b(\d+) % (\d+) != 0")


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
    return flag(event, "symptom") or (event.kind == "exception" and bool(_FOLLOW_ON.search(str(event.data.get("type", "")))))
