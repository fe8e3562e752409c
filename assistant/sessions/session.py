"""One conversation: the log that was read, what was found in it, and what was asked so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assistant.answers import Turn
    from assistant.diagnosis import Diagnosis
    from assistant.run import Run


@dataclass(frozen=True, slots=True)
class Session:
    """``name`` is what the user calls the log (a file name, or "" for pasted text); ``turns`` are oldest first."""

    id: str
    diagnosis: Diagnosis
    name: str = ""
    turns: tuple[Turn, ...] = ()


def size_of(run: Run) -> int:
    """Memory that a run keeps alive, in bytes: its arrays and texts, not the Python objects around them."""
    arrays = run.row_steps.nbytes + run.row_lines.nbytes + run.row_records.nbytes
    for column in run.columns.values():
        arrays += column.rows.nbytes + column.values.nbytes + column.styles.nbytes + sum(len(text) + 80 for text in column.texts.values())
    words = sum(len(event.text) + 400 for event in run.events) + 200 * len(run.config) + 20_000
    return int(arrays + words)
