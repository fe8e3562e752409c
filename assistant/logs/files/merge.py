"""Several files of one run (the console's text, a tracker's numbers) as one run, step by step with the better precision.

Lines are counted through the files: a file's lines follow those of the file before it (`Run.parts`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.logs.columns import records, segments
from assistant.run import FIXED_DECIMALS, NO_STEP, Column, FloatArray, IntArray, Note, Part, Run, Series, Style

_COMPARED = 400
_THROUGH_HF = frozenset({"ms-swift", "unsloth", "llama-factory"})
_AGREE = 0.8
_NUMBERED = "numbered-records"
_MAX_NOTES = 5


@dataclass(slots=True)
class _Source:
    """A run and where its rows go: ``attempts`` has shape (rows,)."""

    run: Run
    offset: int
    attempts: IntArray
    names: dict[str, str]


def merged(runs: Sequence[tuple[str, Run]]) -> Run:
    """One run out of (file name, run) pairs; the first gives its names and lines where two files say the same."""
    runs = [(name, run) for name, run in runs if run.n_rows or run.events or run.config]
    if not runs:
        return Run()
    if len(runs) == 1:
        return runs[0][1]
    base = max(range(len(runs)), key=lambda index: _worth(runs[index][1]))
    notes: list[Note] = []
    parts: list[Part] = []
    sources: list[_Source] = []
    offset = 0
    for index, (name, run) in enumerate(runs):
        parts.append(Part(name, run.format, offset + 1, run.n_lines))
        if run.n_rows:
            reason = "" if index == base else _against(run, runs[base][1])
            if reason:
                notes.append(Note(reason, offset + 1, {"file": name, "other": runs[base][0]}))
            else:
                names = {} if index == base else _renamed(run, runs[base][1])
                sources.append(_Source(run, offset, _attempts(run, runs[base][1]), names))
        offset += run.n_lines
    _slashes_back(sources)
    sources.sort(key=lambda source: source.run is not runs[base][1])
    result = _put_together(sources)
    _words(result, runs, parts)
    result.parts = parts
    result.notes = [*notes[:_MAX_NOTES], *_shifted_notes(runs, parts)]
    return result


def _worth(run: Run) -> tuple[bool, float]:
    """Steps of its own first, then the number of values, those in full counting double."""
    values = sum(len(column.values) for column in run.columns.values())
    full = sum(int(np.count_nonzero(_resolution(column.styles) == 0)) for column in run.columns.values())
    return bool(run.n_rows) and not _numbered(run), values + full


def _numbered(run: Run) -> bool:
    return any(note.kind == _NUMBERED for note in run.notes) or run.first_step is None


def _against(run: Run, base: Run) -> str:
    """Why a file's numbers are left out: "" when they fit, else the note that says it."""
    if _numbered(run):
        return "part-without-steps"
    compared = agreed = 0
    flat = {_flat(name): name for name in base.columns}
    for name in run.columns:
        other = _counterpart(name, base) or flat.get(_flat(name))
        mine, theirs = run.series(name), base.series(other) if other else None
        if mine is None or theirs is None:
            continue
        for index in range(0, len(mine), max(1, len(mine) // 20)):
            step = int(mine.steps[index])
            at = theirs.index_at(step)
            if at is None or step == NO_STEP or not np.isfinite(mine.values[index]):
                continue
            compared += 1
            agreed += _same(mine, index, theirs, at)
        if compared >= _COMPARED:
            break
    return "part-differs" if compared >= 5 and agreed < _AGREE * compared else ""


def _same(mine: Series, index: int, theirs: Series, at: int) -> bool:
    """Whether two printed values can be one number, each as exact as it was printed (trackers keep 32 bits)."""
    a, b = float(mine.values[index]), float(theirs.values[at])
    room = mine.resolution(index) + theirs.resolution(at) + 2e-6 * max(abs(a), abs(b)) + 1e-12
    return abs(a - b) <= room * 1.01


def _counterpart(name: str, base: Run) -> str | None:
    """The name under which the other file has a metric: the same, or with a tracker's ``train/`` in front."""
    tries = [name, f"train/{name}", name.removeprefix("train/")]
    if name.startswith(("eval/", "eval_")):
        tries += [f"eval/{name[5:]}", f"eval_{name[5:]}"]
    return next((one for one in tries if one in base.columns), None)


def _renamed(run: Run, base: Run) -> dict[str, str]:
    return {name: other for name in run.columns if (other := _counterpart(name, base)) is not None and other != name}


def _flat(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9@]+", "_", name)


def _slashes_back(sources: Sequence[_Source]) -> None:
    """Where one file has ``actor_entropy`` and another ``actor/entropy``, both get the name with the slash."""
    proper = {_flat(name): name for source in sources for name in source.run.columns if "/" in name}
    for source in sources:
        for name in source.run.columns:
            if "/" not in name and (other := proper.get(name)) is not None and name not in source.names:
                source.names[name] = other


def _attempts(run: Run, base: Run) -> IntArray:
    """The attempt (stretch of the base run) that each row belongs to, shape (rows,); rows without a step come last."""
    number = np.zeros(run.n_rows, np.int64)
    for index, segment in enumerate(run.segments):
        number[segment.first_row :] = index
    if run is not base and len(run.segments) != len(base.segments):
        number[:] = 0
        for index, segment in enumerate(base.segments):
            number[(run.row_steps >= segment.first_step) & (run.row_steps != NO_STEP)] = index
    number[run.row_steps == NO_STEP] = max(len(base.segments), int(number.max(initial=0)) + 1)
    return number


def _put_together(sources: Sequence[_Source]) -> Run:
    steps = np.concatenate([source.run.row_steps for source in sources])
    lines = np.concatenate([source.run.row_lines + source.offset for source in sources])
    attempts = np.concatenate([source.attempts for source in sources])
    starts = np.cumsum([0, *(source.run.n_rows for source in sources)])
    by_name: dict[str, list[tuple[int, Column]]] = {}
    for index, source in enumerate(sources):
        for name, column in source.run.columns.items():
            by_name.setdefault(source.names.get(name, name), []).append((index, column))
    kept: dict[str, tuple[IntArray, FloatArray, NDArray[np.uint8], dict[int, str]]] = {}
    used = np.zeros(len(steps), bool)
    for name, owners in by_name.items():
        kept[name] = _chosen(owners, starts, steps, attempts)
        used[kept[name][0]] = True
    rows = np.flatnonzero(used)
    order = rows[np.lexsort((rows, steps[rows], attempts[rows]))]
    new_row = np.zeros(len(steps), np.int32)
    new_row[order] = np.arange(len(order), dtype=np.int32)
    columns = {}
    for name, (old, values, styles, texts) in kept.items():
        place = new_row[old]
        by_row = np.argsort(place, kind="stable")
        columns[name] = Column(
            place[by_row],
            values[by_row],
            styles[by_row],
            {new: texts[int(was)] for new, was in enumerate(by_row) if int(was) in texts} if texts else {},
        )
    row_steps, row_lines = steps[order], lines[order]
    return Run(
        row_steps=row_steps,
        row_lines=row_lines,
        row_records=records(row_steps),
        columns=columns,
        segments=segments(row_steps, row_lines, np.zeros(len(order), np.int64), [{""}]),
    )


def _chosen(
    owners: Sequence[tuple[int, Column]], starts: NDArray[Any], steps: IntArray, attempts: IntArray
) -> tuple[IntArray, FloatArray, NDArray[np.uint8], dict[int, str]]:
    """A metric's values out of all files: at each step of an attempt those of the file that printed it most exactly."""
    rows = np.concatenate([column.rows.astype(np.int64) + starts[index] for index, column in owners])
    values = np.concatenate([column.values for _, column in owners])
    styles = np.concatenate([column.styles for _, column in owners])
    texts: dict[int, str] = {}
    before = 0
    for _, column in owners:
        texts |= {before + at: text for at, text in column.texts.items()}
        before += len(column.values)
    if len(owners) == 1:
        return rows, values, styles, texts
    owner = np.repeat(np.arange(len(owners)), [len(column.values) for _, column in owners])
    at_step, attempt = steps[rows], attempts[rows]
    order = np.lexsort((owner, _resolution(styles), at_step, attempt))
    new = np.ones(len(rows), bool)
    new[1:] = (at_step[order][1:] != at_step[order][:-1]) | (attempt[order][1:] != attempt[order][:-1])
    group = np.empty(len(rows), np.int64)
    group[order] = np.cumsum(new) - 1
    winner = owner[order][new]
    keep = np.flatnonzero((owner == winner[group]) | (at_step == NO_STEP))
    return (
        rows[keep],
        values[keep],
        styles[keep],
        {new: texts[int(old)] for new, old in enumerate(keep) if int(old) in texts} if texts else {},
    )


def _resolution(styles: NDArray[np.uint8]) -> FloatArray:
    """Half a unit of the last decimal, for each style; a ``null`` is the least exact of all."""
    exact = np.zeros(len(styles))
    exact[styles == Style.FIXED3] = 0.0005
    fixed = styles >= FIXED_DECIMALS
    exact[fixed] = 0.5 * 10.0 ** (FIXED_DECIMALS - styles[fixed].astype(np.float64))
    exact[styles == Style.NULL] = np.inf
    return exact


def _words(result: Run, runs: Sequence[tuple[str, Run]], parts: Sequence[Part]) -> None:
    """Framework, version, settings and events: of the file that says most, and of the others what it does not say."""
    order = sorted(range(len(runs)), key=lambda index: _worth(runs[index][1]), reverse=True)
    digest = hashlib.sha256()
    for index, (name, run) in enumerate(runs):
        shift = parts[index].first_line - 1
        result.events += [_moved(event, shift) for event in run.events]
        result.unread_samples += [(line + shift, text) for line, text in run.unread_samples]
        result.unread_lines += run.unread_lines
        result.n_lines += run.n_lines
        result.n_bytes += run.n_bytes
        digest.update(f"{name}\n{run.sha256}\n".encode())
    for index in order:
        run, shift = runs[index][1], parts[index].first_line - 1
        for key, value in run.config.items():
            if key not in result.config:
                result.config[key] = value
                if key in run.config_lines:
                    result.config_lines[key] = run.config_lines[key] + shift
        result.total_steps = result.total_steps or run.total_steps
        if result.framework in _less_telling(run.framework):
            result.framework = run.framework
        if result.era == "unknown":
            result.era, result.era_evidence = run.era, run.era_evidence
        if result.algorithm is None:
            result.algorithm, result.algorithm_evidence = run.algorithm, run.algorithm_evidence
    result.format = "+".join(dict.fromkeys(runs[index][1].format for index in order))
    result.sha256 = digest.hexdigest()


def _less_telling(framework: str) -> tuple[str, ...]:
    """The frameworks that give way to one: a file of its own says more than names that many share."""
    if framework in ("unknown", "generic"):
        return ("unknown",)
    return ("unknown", "generic", "hf-trainer", "trl") if framework in _THROUGH_HF else ("unknown", "generic")


def _moved(event: Any, shift: int) -> Any:
    data = dict(event.data)
    for key in ("last_line", "first_line"):
        if isinstance(data.get(key), int):
            data[key] += shift
    return replace(event, line=event.line + shift, data=data)


def _shifted_notes(runs: Sequence[tuple[str, Run]], parts: Sequence[Part]) -> list[Note]:
    """The notes of the files, each kind once; those that only hold for a file alone are left out."""
    found: dict[str, Note] = {}
    for (_, run), part in zip(runs, parts, strict=True):
        for note in run.notes:
            alone = note.kind in (_NUMBERED, "no-metrics", "other-framework", "prose", "empty", "version-change")
            if not alone and note.kind not in found:
                found[note.kind] = note if note.line is None else replace(note, line=note.line + part.first_line - 1)
    return list(found.values())
