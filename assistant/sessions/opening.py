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


class Unreadable(ValueError):
    """The input holds nothing to diagnose; ``kind`` says why."""

    def __init__(self, kind: str, note: Note | None = None) -> None:
        super().__init__(kind)
        self.kind, self.note = kind, note

    def sentence(self, language: Language = "en") -> str:
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
) -> Diagnosis:
    """Read and diagnose a log; text is the log itself, a `Path` a file (plain, gzip or zstandard).

    ``progress`` is called with the bytes read so far and may raise `Cancelled`. Raises Unreadable when there is nothing in
    it to diagnose.
    """
    from assistant.diagnosis import diagnose
    from assistant.logs import read

    run = read(source.encode() if isinstance(source, str) else source, name=name, progress=progress)
    if not readable(run):
        raise unreadable(run)
    return diagnose(run)


def readable(run: Run) -> bool:
    """Metrics, or at least words that say what went wrong, were recognised."""
    return bool(run.n_rows or any(event.fatal for event in run.events))


def unreadable(run: Run) -> Unreadable:
    by_kind = {note.kind: note for note in run.notes}
    kind = next((kind for kind in UNREADABLE if kind in by_kind), "no-metrics")
    return Unreadable(kind, by_kind.get(kind))
