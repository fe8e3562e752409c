"""What every run from a data file gets after its numbers: framework, version, algorithm and notes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import numpy as np

from assistant.logs.algorithm import algorithm
from assistant.logs.era import _NAMES, verl_era
from assistant.logs.formats.frameworks import framework_by_names
from assistant.logs.notes import _repeated
from assistant.run import Column, Note, Run, Style

_TELLING = (
    "actor/entropy",
    "actor/entropy_loss",
    "critic/advantages/mean",
    "critic/returns/mean",
    "critic/values/mean",
    "critic/vf_loss",
    "response/aborted_ratio",
    "response_length/mean",
    "timing_s/step",
)
_NOTHING = Column(np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.uint8))


def finish(run: Run, *, notes: Iterable[Note] = (), seen: Mapping[str, int] | None = None) -> Run:
    """Fills framework, era, algorithm and notes of a run whose numbers come from a data file."""
    if run.framework in ("unknown", "generic"):
        run.framework = framework_of(run.columns, seen)
    told_era(run)
    run.notes = [*notes, *noticed(run)]
    return run


_HF_FAMILY = frozenset({"trl", "hf-trainer"})
_HF_ALWAYS = re.compile(r"(?:train/)?(?:learning_rate|grad_norm)$|train_runtime$|(?:eval_|eval/)(?:loss|runtime)$")


def framework_of(names: Iterable[str], seen: Mapping[str, int] | None = None) -> str:
    """The framework whose names a data file holds: the Hugging Face family is told only by a name that its trainer always logs."""
    known = list(names)
    if {"percentage", "epoch"} <= set(known) and "learning_rate" not in known:
        return "llama-factory"
    found = framework_by_names(known, seen)
    if found in _HF_FAMILY and not any(_HF_ALWAYS.match(name) for name in known):
        return "generic"
    return found


def other_runs(read: str, others: Sequence[str]) -> list[Note]:
    """The note that ``others`` lie beside the run that was read; nothing when there are none."""
    if not others:
        return []
    return [Note("other-runs", data={"n": len(others), "read": read[:80], "others": ", ".join(name[:40] for name in others[-3:][::-1])})]


def told_era(run: Run) -> None:
    """The version from names alone: how a data file writes numbers says nothing about it."""
    if run.framework != "verl":
        return
    names = Run(columns=dict.fromkeys(slashed(run.columns), _NOTHING), config=run.config)
    run.era, evidence = verl_era(names, {})
    run.era_evidence = tuple(evidence)
    run.algorithm, run.algorithm_evidence = algorithm(run)


def noticed(run: Run) -> list[Note]:
    """Notes that the numbers themselves give."""
    notes = []
    if len(run.segments) > 1:
        notes.append(Note("restarted", run.segments[1].first_line, {"n": len(run.segments)}))
    if repeated := _repeated(run):
        notes.append(Note("repeated-steps", repeated[0], {"n": repeated[1]}))
    nulls = {name: int(np.count_nonzero(column.styles == Style.NULL)) for name, column in run.columns.items()}
    nulls = {name: n for name, n in nulls.items() if n}
    if nulls:
        first = min(int(run.row_lines[run.columns[n].rows[int(np.argmax(run.columns[n].styles == Style.NULL))]]) for n in nulls)
        notes.append(Note("null-values", first, {"n": sum(nulls.values()), "metrics": ", ".join(sorted(nulls)[:5])}))
    return notes


def slashed(names: Iterable[str]) -> list[str]:
    """verl's names where an export wrote ``_`` for ``/`` (``actor_entropy`` → ``actor/entropy``); other names stay."""
    names = list(names)
    if any("/" in name for name in names):
        return names
    whole, starts = _flat_names()
    found = []
    for name in names:
        start = next((start for start in starts if name.startswith(start)), "")
        found.append(whole.get(name) or (starts[start] + name[len(start) :] if start else name))
    return found


@cache
def _flat_names() -> tuple[dict[str, str], dict[str, str]]:
    """(flat name → name; flat beginning → beginning) of the names that tell verl's version."""
    listed = [pattern for patterns, *_ in _NAMES for pattern in patterns]
    known = {_flat(name): name for name in (*_TELLING, *listed) if not name.endswith("/")}
    starts = sorted((name for name in listed if name.endswith("/")), key=len, reverse=True)
    return known, {_flat(name): name for name in starts}


def _flat(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9]+", "_", name)
