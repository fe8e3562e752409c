"""What the log says in words: fragments of error cards, and the trainer's own messages, found all at once.

The fragments of ``knowledge/errors/*.md`` (``kind``, ``fragments``, ``extract``, ``fatal``, ``wrapper``) are literal; they
are matched over the raw bytes by one automaton, so a log costs about a nanosecond a byte however many cards there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from assistant.cards import in_folder
from assistant.logs.traceback import Traceback, exception
from assistant.run import Event

MAX_TEXT = 600
MAX_EVENTS = 4000


@dataclass(frozen=True, slots=True)
class Signature:
    """A kind of event and how it is known."""

    kind: str
    fragments: Sequence[str]
    extract: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    fatal: bool = False
    wrapper: bool = False
    finding: str = ""
    card: str = ""

    def stands_in(self, text: str) -> bool:
        return any(fragment in text for fragment in self.fragments)


def _own(kind: str, *fragments: str, **extract: str) -> Signature:
    return Signature(kind, fragments, {name: re.compile(pattern) for name, pattern in extract.items()})


BARE = ("Error: ", "Exception: ")
"""What the line of an exception holds that was pasted without its traceback."""

# verl: the trainer's own messages (wording checked in the versions 0.1 to 0.9).
OWN = (
    _own("total-steps", "Total training steps: ", total=r"Total training steps: (\d+)"),
    _own("optimizer-steps", "num_warmup_steps: ", total=r"Total steps: (-?\d+)", warmup=r"num_warmup_steps: (-?\d+)"),
    _own(
        "steps-per-epoch",
        "Size of train dataloader: ",
        "train and validate dataloader initialized",
        train=r"Size of train dataloader: (\d+)",
        val=r"Size of val dataloader: (\d+)",
        dataset=r"train dataset size: (\d+)",
    ),
    _own("dataset-filtered", "filter dataset len: ", n=r"filter dataset len: (\d+)"),
    _own("dataset-size", "original dataset len: ", "dataset len: ", n=r"dataset len: (\d+)"),
    _own(
        "checkpoint",
        "local_global_step_folder: ",
        "Saving checkpoint to",
        "Saving actor checkpoint to",
        "Saved model to",
        saved_step=r"global_step_(\d+)",
    ),
    _own("checkpoint-forced", "Force saving checkpoint: ESI", saved_step=r"global_step_(\d+)"),
    _own(
        "resume",
        "Setting global step to ",
        "Resuming from ",
        "Load from checkpoint folder: ",
        resumed_step=r"(?:Setting global step to |global_step_)(\d+)",
    ),
    _own("from-scratch", "Training from scratch"),
    _own("dataloader-state-missing", "No dataloader state found at"),
    _own("validation-start", "test_gen_batch meta info:"),
    _own("validation-end", "validation generation end"),
    _own("critic-disabled", "Disabled critic as algorithm.adv_estimator != gae"),
    _own("double-kl", "You have both enabled in-reward kl and kl loss"),
    _own("config-checked", "[validate_config] All configuration checks passed successfully!"),
    _own("grad-not-finite", "grad_norm is not finite", value=r"not finite: (\S+)"),
    _own(
        "generation-rounds",
        "num_prompt_in_batch=",
        "Keep generating...",
        prompts=r"num_prompt_in_batch=(\d+)",
        wanted=r"prompt_bsz=(\d+)",
        rounds=r"num_gen_batches=(\d+)",
    ),
    _own("memory-user", " ray::", "\tray::", gb=r"^\s*(?:\([^)]*\)\s*)?\d+\s+(\d+\.\d+)\s+ray::"),  # Ray's list of the biggest processes
    _own("all-aborted", "All samples are aborted, returning default", "Response mask is all False"),
    _own(
        "rollout-queue",
        "pending: ",
        pending=r"pending: (\d+), running: \d+",
        running=r"running: (\d+)",
        finished=r"finished: (\d+)",
        failure=r"failure: (\d+)",
    ),
    _own(
        "loss-scale-skip",
        "OVERFLOW! Rank ",
        "Overflow detected. Skipping step",
        scale=r"Attempted loss scale: ([\d.]+)",
        reduced=r"reducing to ([\d.]+)",
    ),
    _own(  # vLLM's first engine tells every 50th time, SGLang each time
        "kv-preempted",
        "is preempted by ",
        "KV cache pool is full. Retract requests",
        "Decode out of memory happened",
        total=r"total_num_cumulative_preemption=(\d+)",
        retracted=r"#retracted_reqs: (\d+)",
    ),
    _own("exception", *BARE),
    _own("start", "ray init kwargs:", "TaskRunner hostname:", "Started a local Ray instance"),
    _own("file-logger", "Creating file logger at", "Saving tensorboard log to"),
)
_MUST_MATCH = frozenset(
    {"memory-user", "kv-preempted", "rollout-queue", "total-steps", "optimizer-steps", "dataset-size", "dataset-filtered"}
)


_LATEST = ("scale", "reduced")
"""Numbers that change from one such message to the next: their latest value is kept beside the first."""


@cache
def signatures() -> tuple[Signature, ...]:
    """The error cards' signatures, then the built-in ones."""
    return (*_from_cards(), *OWN)


@cache
def _from_cards() -> tuple[Signature, ...]:
    return tuple(_cards())


def _cards() -> Iterator[Signature]:
    for card in in_folder("errors"):
        front = card.front
        fragments: list[str] = []
        for fragment in front.get("fragments", ()):
            fragments += _cases(str(fragment)) if front.get("ignore_case") else [str(fragment)]
        extract = {name: re.compile(str(pattern)) for name, pattern in (front.get("extract") or {}).items()}
        yield Signature(
            str(front.get("kind", card.id.partition("/")[2])),
            fragments,
            extract,
            bool(front.get("fatal")),
            bool(front.get("wrapper")),
            str(front.get("finding", "")),
            card.id,
        )


def _cases(text: str) -> list[str]:
    return list(dict.fromkeys((text, text.lower(), text.upper(), text.capitalize(), text.title())))


def card_signature(text: str) -> Signature | None:
    """The error card whose fragment stands in ``text``; the longest fragment wins."""
    found = [
        (len(fragment), signature) for signature in signatures() if signature.card for fragment in signature.fragments if fragment in text
    ]
    return max(found, key=lambda pair: pair[0])[1] if found else None


def extracted(signature: Signature, text: str) -> dict[str, Any]:
    """Values that the signature's patterns find in ``text``; plain numbers become numbers."""
    data: dict[str, Any] = {}
    for name, pattern in signature.extract.items():
        if found := pattern.search(text):
            value = next((group for group in found.groups() if group is not None), found[0])
            data[name] = int(value) if re.fullmatch(r"-?\d{1,18}", value) else value
    return data


def event_of(signature: Signature, line: int, text: str, step: int | None, process: str) -> Event | None:
    """The event of a line on which a fragment was found; None when the line only looks like one."""
    if signature.kind == "exception":
        return _bare_exception(line, text, step, process)
    data = extracted(signature, text)
    if signature.kind in _MUST_MATCH and not data:
        return None
    if signature.wrapper:
        data["wrapper"] = True
    if signature.finding:
        data["finding"] = signature.finding
    if signature.card:
        data["card"] = signature.card
    return Event(signature.kind, line, text[:MAX_TEXT], step, process, signature.fatal, data)


_FRONT = re.compile(r"^(?:(?:[>*`#|\-]|E(?= {2})|\[rank\d+\]:)\s*)+")
_INSIDE = re.compile(r"(?<![\w.(\[])(?:\w+\.)*[A-Z]\w+Error: ", re.ASCII)
_PYTHON = re.compile(r"(?:\w+\.)*(?:[A-Z]\w+Error|[A-Z]\w*Exception)$")


def _bare_exception(line: int, text: str, step: int | None, process: str) -> Event | None:
    """The event of an exception's own line without a traceback (``data["bare"]``): often all that people paste."""
    plain = _FRONT.sub("", text).strip("` ")
    found = exception(plain)
    inside = _INSIDE.search(plain) if found is None and not process else None
    if inside is not None:  # a title, or a sentence that quotes it
        plain = plain[inside.start() :]
        found = exception(plain)
    if found is None or not found[1] or not _PYTHON.match(found[0]):
        return None
    data = {"type": found[0], "message": found[1], "frames": [], "phase": "", "bare": True, "spoken": inside is not None}
    return Event("exception", line, plain[:MAX_TEXT], step, process, True, data)


def event_of_traceback(closed: Traceback, step: int | None) -> Event:
    """The event of an exception: its kind is the error card's that knows the message, else ``exception``."""
    data = closed.data()
    kind = "exception"
    signature = card_signature(closed.text)
    if signature is not None:
        kind = signature.kind
        data |= extracted(signature, closed.text) | {"finding": signature.finding, "card": signature.card}
        data["wrapper"] = data["wrapper"] or signature.wrapper
    return Event(kind, closed.exception_line, closed.text[:MAX_TEXT], step, closed.process, True, data)


class EventLog:
    """Events in the order of the log; an event that says the same again (numbers aside) is only counted.

    ``data["repeats"]`` is how often it was printed in all, ``last_line`` and ``last_step`` where last (``last_scale`` its loss
    scale then), ``processes`` by how many processes; saved or resumed steps are gathered in ``data["steps"]``.
    """

    def __init__(self) -> None:
        self._events: list[tuple[Event, dict[str, Any], set[str]]] = []
        self._known: dict[tuple[str, str], int] = {}
        self.dropped = 0

    def add(self, event: Event) -> None:
        mark = (event.kind, re.sub(r"\d+", "", event.text[:200]))
        at = self._known.get(mark)
        if at is None:
            if len(self._events) >= MAX_EVENTS:
                self.dropped += 1
                return
            self._known[mark] = at = len(self._events)
            self._events.append((event, dict(event.data), {event.process}))
        else:
            _, data, processes = self._events[at]
            data["repeats"] = data.get("repeats", 1) + 1
            data["last_line"], data["last_step"] = event.line, event.step
            data.update({f"last_{name}": event.data[name] for name in _LATEST if name in event.data})
            if len(processes) < 4096:
                processes.add(event.process)
        data = self._events[at][1]
        for name in ("saved_step", "resumed_step"):
            if name in event.data:
                steps = data.setdefault("steps", [])
                if len(steps) < 2000 and event.data[name] not in steps[-64:]:
                    steps.append(event.data[name])

    def finish(self) -> list[Event]:
        done = []
        for event, data, processes in self._events:
            if len(processes) > 1:
                data["processes"] = len(processes)
            done.append(Event(event.kind, event.line, event.text, event.step, event.process, event.fatal, data))
        return sorted(done, key=lambda event: event.line)
