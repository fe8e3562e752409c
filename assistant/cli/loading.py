"""Open what the user named; say in one line why when it cannot be read."""

from __future__ import annotations

import sys
from pathlib import Path

from assistant.messages import Language, has, say
from assistant.run import Run

_REASONS = frozenset({"empty", "binary", "prose", "other-framework", "no-metrics", "empty-folder", "unknown-store", "cut-archive"})


class Unreadable(Exception):
    """Nothing could be read. The message is one sentence for the user."""


def load(source: str, language: Language, format: str | None = None) -> Run:
    """The run in the file or folder ``source`` (``-``: standard input), read as ``format`` when one is named. Raises Unreadable."""
    from assistant.logs import read

    if format is not None:
        _check(format, language)
    if source == "-":
        run = read(sys.stdin.buffer, name="-", format=format)
    else:
        path = Path(source)
        if not path.exists():
            raise Unreadable(say("cli.no_such_file", language, path=source))
        try:
            run = read(path, format=format)
        except OSError as error:
            raise Unreadable(say("cli.cannot_open", language, path=source, reason=error.strerror or str(error))) from error
    if not understood(run):
        raise Unreadable(why_nothing(run, language))
    return run


def _check(format: str, language: Language) -> None:
    from assistant.logs.formats import names

    if format not in names():
        raise Unreadable(say("cli.no_format", language, name=format, names=", ".join(names())))


def understood(run: Run) -> bool:
    """Whether anything was read that a diagnosis can use: metrics, or words that say what happened."""
    return bool(run.n_rows or any(event.fatal or event.data.get("finding") for event in run.events))


def why_nothing(run: Run, language: Language) -> str:
    """One sentence on why this text holds no run."""
    for note in run.notes:
        if note.kind in _REASONS and has(f"logs.note.{note.kind}"):
            return say(f"logs.note.{note.kind}", language, **{**note.data, "line": note.line})
    return say("logs.note.no-metrics", language)
