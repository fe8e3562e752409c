"""Where sessions are kept. The faces know this protocol only, so that a database can take the place of memory.

    store = open_store()                                  # RUNWHY_STORE, RUNWHY_DATA
    session = store.create(diagnosis, name, source=data)  # with the source: it survives a restart, and its lines can be shown
    answer = answers.answer(question, session.diagnosis, history=session.turns, others=session.others)
    index = store.add_turn(session.id, answer.turn, answer=answer)
    store.feedback(session.id, index, good=False, reason="wrong step")

Questions that must not be lost, nor answered twice (Slack), go through `ask` → `claim` → `answered`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from assistant.messages import Language
from assistant.sessions.session import About, Exchange, Lines, Pending, Session

if TYPE_CHECKING:
    from assistant.answers import Answer, Turn
    from assistant.diagnosis import Diagnosis


class NoSession(LookupError):
    """There is no session of this id, or no longer."""


class SessionStore(Protocol):
    """Ids cannot be guessed: whoever knows one may read the session. Safe for use from several threads."""

    # Conversations

    def create(
        self,
        diagnosis: Diagnosis,
        name: str = "",
        *,
        source: bytes | Path | None = None,
        owner: str = "",
        language: Language | None = None,
        format: str | None = None,
        era: str | None = None,
        ttl: float | None = None,
    ) -> Session:
        """A new session. ``source`` is what the diagnosis was read from, a folder too (it is copied: the file may go after the call).

        ``ttl`` is how many seconds after its last use it is given up (None: the store's default). ``format`` and ``era`` are to be
        given when the log was read with them (`open_log`), so that it is read so again.
        """
        ...

    def get(self, session_id: str) -> Session | None:
        """None when the id is unknown, or the session was given up for its age or for room. Counts as a use.

        After a restart the first call reads the log again (as long as `open_log` takes); `about`, `lines` and `transcript` need no log.
        """
        ...

    def about(self, session_id: str) -> About | None: ...

    def sessions(self, owner: str | None = None, *, limit: int = 50) -> list[About]:
        """Those of ``owner`` (None: all), the last used first."""
        ...

    def remove(self, session_id: str, *, feedback: bool = False) -> None:
        """The session, its turns, open questions and links are gone, and its log when no other session has it.

        Feedback that was given stays for evaluation unless ``feedback`` is set: a person's "forget this" sets it, and then nothing
        is left on the disk either (else at the next `sweep`).
        """
        ...

    def forget(self, owner: str) -> int:
        """Everything of a person is gone, feedback included; returns the number of sessions. Raises ValueError for ""."""
        ...

    def sweep(self) -> int:
        """Give up what is too old or too much now; returns the number of sessions."""
        ...

    # Runs of a session

    def add_run(self, session_id: str, diagnosis: Diagnosis, name: str = "", *, source: bytes | Path | None = None) -> Session | None:
        """Another run of the same talk, last in `Session.others`; None when the session is gone."""
        ...

    def remove_run(self, session_id: str, index: int) -> Session | None:
        """Without ``others[index]``; nothing happens when there is none."""
        ...

    def reread(self, session_id: str, *, format: str | None = None, era: str | None = None) -> Session | None:
        """The first run read again as the user says it is: a format or framework by its name, a version ("0.6"); None: as recognised.

        Raises Unreadable when nothing is found that way (the session stays as it was); None when it is gone or has no source.
        """
        ...

    def lines(self, session_id: str, first: int, last: int, *, run: int = 0) -> Lines:
        """Lines ``first`` to ``last`` (1-based, last included) of the log as read (unredacted), and how many it has.

        ``run``: 0 is the session's first run, 1 is ``others[0]`` … Nothing for an unknown session and for logs without lines
        (a tracker's files). At most 5000 lines and 2 MB a call; a line longer than 20 000 characters is cut (`Lines.cut` tells).
        """
        ...

    def search(self, session_id: str, words: str, *, first: int = 1, limit: int = 200, run: int = 0) -> tuple[list[int], bool]:
        """Numbers of the lines from ``first`` on that hold ``words`` (in any case), at most ``limit``; and whether there may be more."""
        ...

    # Turns

    def add_turn(self, session_id: str, turn: Turn, *, answer: Answer | None = None) -> int | None:
        """Remember a question for follow-ups (with what was answered); returns its index, None when the session is gone."""
        ...

    def transcript(self, session_id: str) -> list[Exchange]:
        """Every question and answer of the session, oldest first. Like `about` and `sessions` it does not count as a use."""
        ...

    def feedback(self, session_id: str, turn_index: int, good: bool | None, reason: str = "") -> bool:
        """Whether an answer was good (None takes it back); kept redacted, with the question, the answer and its evidence."""
        ...

    def given_feedback(self) -> Iterator[dict[str, Any]]:
        """All feedback as JSON objects for evaluation, oldest first; questions, answers and reasons are redacted."""
        ...

    # What faces remember

    def set_language(self, session_id: str, language: Language | None) -> None: ...

    def keep(self, session_id: str, key: str, value: Any) -> None:
        """A small JSON value of a face (the place in a guide), in `Session.kept`; None drops it. Raises ValueError above 64 kB."""
        ...

    def bind(self, key: str, session_id: str) -> None:
        """The thread ``key`` (``slack:T1:C2:1700000000.1``) is about this session from now on. Raises NoSession."""
        ...

    def bound(self, key: str) -> str | None:
        """Id of the session that a thread is about."""
        ...

    # Links

    def share(self, session_id: str, hours: float = 72) -> str | None:
        """An unguessable token that opens the session until it expires (the session lives as long); None when it is gone."""
        ...

    def by_token(self, token: str) -> Session | None: ...

    def unshare(self, session_id: str, token: str | None = None) -> int:
        """Revoke one link, or all of the session; returns how many."""
        ...

    def fork(self, session_id: str, *, owner: str = "", ttl: float | None = None) -> Session | None:
        """A copy with an id of its own, the same runs and turns: what is asked in one does not show in the other.

        ``ttl`` as in `create` (None: that of the original).
        """
        ...

    # Questions that survive a restart

    def ask(
        self,
        session_id: str,
        question: str,
        *,
        key: str,
        owner: str = "",
        data: Mapping[str, Any] | None = None,
        hours: float = 24,
        lane: str = "",
    ) -> Pending | None:
        """Note a question down before work begins. None: ``key`` was seen in the last ``hours`` (a retry), there is nothing to do.

        ``session_id`` may be "" while the log is still to be read. Raises NoSession for one that is gone. ``lane`` names the talk
        that it belongs to (see `ahead`).
        """
        ...

    def ahead(self, lane: str, asked: float | None = None) -> bool:
        """Whether a question of this talk, asked before ``asked`` (None: at any time), is not answered yet, whoever holds it."""
        ...

    def claim(self, pending_id: str, worker: str, lease_seconds: float = 120) -> bool:
        """Whether ``worker`` (a name of its own for each process and task) may answer now. Claiming again prolongs the lease."""
        ...

    def release(self, pending_id: str, worker: str) -> None:
        """Give a claimed question back at once."""
        ...

    def answered(
        self,
        pending_id: str,
        turn: Turn | None,
        *,
        answer: Answer | None = None,
        worker: str = "",
        session_id: str = "",
        delivered: bool = True,
    ) -> int | None:
        """The question is answered: adds the turn to its session (or to ``session_id``), both or neither; returns the turn's index.

        None: it was answered before, or ``worker`` no longer holds it, so that what was written must not be shown. ``turn`` None
        closes a question whose answer is no turn of a talk (a first look at a log); the index is then -1. With ``delivered=False``
        it stays among the `open_questions` (``turn_index`` set) until `delivered`.
        """
        ...

    def delivered(self, pending_id: str) -> None:
        """The answer was shown, or is given up: the question is closed."""
        ...

    def open_questions(self, *, limit: int = 100) -> list[Pending]:
        """Questions that nobody holds: asked and not claimed, or the lease ran out (a process died in mid-answer); oldest first."""
        ...

    def seen(self, key: str, hours: float = 24) -> bool:
        """Whether ``key`` was told before, and remember it (events without a question)."""
        ...

    def known(self, key: str) -> bool:
        """Whether ``key`` was told to `seen` and is still remembered; unlike that it remembers nothing."""
        ...

    def close(self) -> None: ...
