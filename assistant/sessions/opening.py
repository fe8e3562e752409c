"""From a log to a diagnosis, with the errors that every face has to tell its user about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.messages import Language, has, say

if TYPE_CHECKING:
    from assistant.diagnosis import Diagnosis
    from assistant.run import Note, Run

UNREADABLE = ("empty", "binary", "prose", "other-framework", "no-metrics")
"""Kinds of the reader's notes that explain why nothing was found, most telling first."""

UNKNOWN_FORMAT = "unknown-format"
"""``Unreadable.kind`` when the user named a format that there is not."""


class Unreadable(ValueError):
    """The input holds nothing to diagnose; ``kind`` says why."""

    def __init__(self, kind: str, note: Note | None = None) -> None:
        super().__init__(kind)
        self.kind, self.note = kind, note

    def sentence(self, language: Language = "en") -> str:
        if self.kind == UNKNOWN_FORMAT:
            return say("sessions.unknown_format", language)
        if self.note is not None and has(f"logs.note.{self.kind}"):
            return say(f"logs.note.{self.kind}", language, **{"line": self.note.line, **self.note.data})
        return say("sessions.nothing_found", language)


class Cancelled(Exception):
    """The user no longer wants this log read."""


def open_log(
    source: str | Path | bytes,
    *,
    name: str = "",
    progress: Callable[[int], None] | None = None,
    format: str | None = None,
    era: str | None = None,
) -> Diagnosis:
    """Read and diagnose a log; text is the log itself, a `Path` a file (plain, gzip or zstandard) or a folder.

    ``progress`` is called with the bytes read so far and may raise `Cancelled`. ``format`` (of a log, or a framework) and ``era``
    (its version, "0.6") are what the user says it is. Raises Unreadable when there is nothing in it to diagnose.
    """
    from assistant.diagnosis import diagnose

    run = _read(source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source, name, progress, format)
    if not readable(run):
        raise unreadable(run)
    if era:
        run.era, run.era_evidence = era, ()
    return diagnose(run)


def _read(source: Path | bytes, name: str, progress: Callable[[int], None] | None, format: str | None) -> Run:
    from assistant.logs import read
    from assistant.logs.formats import names

    if format is None:
        return read(source, name=name, progress=progress)
    if format not in names():
        raise Unreadable(UNKNOWN_FORMAT)
    if isinstance(source, bytes) or not source.is_dir():
        run = read(source, name=name, progress=progress, format=format)
        if run.n_rows:
            return run
    run = read(source, name=name, progress=progress)  # a tracker's file is read by what it is, only its framework is told
    if run.framework != format and run.n_rows:
        run.framework, run.era, run.era_evidence = format, "unknown", ()
    return run


def readable(run: Run) -> bool:
    """Metrics, or at least words that say what went wrong, were recognised."""
    return bool(run.n_rows or any(event.fatal or event.data.get("finding") for event in run.events))


def unreadable(run: Run) -> Unreadable:
    by_kind = {note.kind: note for note in run.notes}
    kind = next((kind for kind in UNREADABLE if kind in by_kind), "no-metrics")
    return Unreadable(kind, by_kind.get(kind))
