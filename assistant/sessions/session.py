"""What a conversation consists of: the log that was read, what was found in it, what was asked so far, and what is still to be answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from assistant.messages import Language
from assistant.run import SourceLine
from assistant.sessions.tokens import clean_json

if TYPE_CHECKING:
    from assistant.answers import Answer, Turn
    from assistant.diagnosis import Diagnosis
    from assistant.run import Run


@dataclass(frozen=True, slots=True)
class Session:
    """``name`` is what the user calls the log (a file name, or "" for pasted text); ``turns`` are oldest first.

    ``others`` are further runs of the same talk (name, diagnosis), in the order in which they came. ``owner`` is the person
    it belongs to, as a face names people (``slack:T1:U2``); "" for somebody unknown. ``format`` and ``era`` are what the user
    said the log is, where recognising went wrong (see `SessionStore.reread`). ``kept`` is what faces noted down (`SessionStore.keep`).
    """

    id: str
    diagnosis: Diagnosis
    name: str = ""
    turns: tuple[Turn, ...] = ()
    others: tuple[tuple[str, Diagnosis], ...] = ()
    language: Language | None = None
    owner: str = ""
    format: str | None = None
    era: str | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class About:
    """A session without its runs: quick to get, whatever the size of the log. Times are seconds since 1970.

    ``log`` says what was recognised: framework, era, algorithm, format, first_step, last_step, n_lines, n_bytes, sha256.
    """

    id: str
    name: str
    owner: str
    created: float
    used: float
    expires: float
    n_turns: int
    n_runs: int
    findings: tuple[str, ...]
    log: Mapping[str, Any]
    language: Language | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "owner": self.owner,
            "created": self.created,
            "used": self.used,
            "expires": self.expires,
            "turns": self.n_turns,
            "runs": self.n_runs,
            "findings": list(self.findings),
            "log": dict(self.log),
            "language": self.language,
        }


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its answer as kept. ``answer`` is `Answer.to_json` without the usage, empty when only the turn is known.

    ``good`` and ``reason`` are the feedback, None when none was given.
    """

    index: int
    turn: Turn
    at: float
    answer: Mapping[str, Any] = field(default_factory=dict)
    good: bool | None = None
    reason: str = ""

    @property
    def question(self) -> str:
        return self.turn.question

    @property
    def markdown(self) -> str:
        """The answer as it was shown."""
        return str(self.answer.get("answer", self.turn.answer))

    def to_json(self) -> dict[str, Any]:
        rated = {} if self.good is None else {"feedback": {"good": self.good, "reason": self.reason}}
        return {"turn": self.index, "at": self.at, "question": self.question, **(dict(self.answer) or {"answer": self.markdown}), **rated}


@dataclass(frozen=True, slots=True)
class Pending:
    """A question that was asked and is not answered yet, or whose answer may not have been delivered.

    ``session_id`` is "" while its log is not read; ``data`` is what the face needs to deliver the answer (channel, thread).
    ``attempts`` counts the claims. ``turn_index`` is set when the answer is in the session already and only its delivery
    is open (`SessionStore.answered` with ``delivered=False``).
    """

    id: str
    session_id: str
    question: str
    key: str
    owner: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    asked: float = 0.0
    attempts: int = 0
    turn_index: int | None = None


@dataclass(frozen=True, slots=True)
class Lines(Sequence[SourceLine]):
    """Some lines of a log and how many it has in all (``total``); ``cut`` says that long lines or the stretch were shortened."""

    lines: tuple[SourceLine, ...] = ()
    total: int = 0
    cut: bool = False

    def __len__(self) -> int:
        return len(self.lines)

    @overload
    def __getitem__(self, index: int) -> SourceLine: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[SourceLine, ...]: ...
    def __getitem__(self, index: int | slice) -> SourceLine | tuple[SourceLine, ...]:
        return self.lines[index]

    def __iter__(self) -> Iterator[SourceLine]:
        return iter(self.lines)


def size_of(run: Run) -> int:
    """Memory that a run keeps alive, in bytes: its arrays and texts, not the Python objects around them."""
    arrays = run.row_steps.nbytes + run.row_lines.nbytes + run.row_records.nbytes
    for column in run.columns.values():
        arrays += column.rows.nbytes + column.values.nbytes + column.styles.nbytes + sum(len(text) + 80 for text in column.texts.values())
    words = sum(len(event.text) + 400 for event in run.events) + 200 * len(run.config) + 20_000
    return int(arrays + words)


def log_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """What was recognised of a log, for `About.log`."""
    run = diagnosis.run
    return {
        "framework": run.framework,
        "era": run.era,
        "algorithm": run.algorithm,
        "format": run.format,
        "first_step": run.first_step,
        "last_step": run.last_step,
        "n_lines": run.n_lines,
        "n_bytes": run.n_bytes,
        "sha256": run.sha256,
    }


def answer_json(answer: Answer | None) -> dict[str, Any]:
    """What is kept of an answer: everything that was shown and what stands behind it; no prompt, no cost."""
    if answer is None:
        return {}
    kept = answer.to_json()
    kept.pop("usage", None)
    cleaned: dict[str, Any] = clean_json(kept)
    return cleaned
