"""Sessions in the memory of one process: for tests, and for a server that shall keep nothing."""

from __future__ import annotations

import shutil
import tempfile
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from assistant.messages import Language
from assistant.sessions.feedback import feedback_json
from assistant.sessions.logs import LogFolder, Stored, TooLarge
from assistant.sessions.opening import open_log
from assistant.sessions.questions import MemoryQuestions
from assistant.sessions.session import About, Exchange, Lines, Session, answer_json, log_json, size_of
from assistant.sessions.store import NoSession
from assistant.sessions.tokens import new_id, new_token, small_json, token_hash

if TYPE_CHECKING:
    from assistant.answers import Answer, Turn
    from assistant.diagnosis import Diagnosis
    from assistant.run import Run


@dataclass(slots=True)
class _Kept:
    session: Session
    size: int
    used: float
    ttl: float
    created: float
    until: float = 0.0
    """Not given up for its age before this time: a link leads here."""
    sources: list[Stored | None] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)


class MemoryStore(MemoryQuestions):
    """The least recently used session goes first when there are too many, or they take too much room.

    ``ttl`` is in seconds since the last use, ``max_bytes`` covers the runs' data. Safe for use from several threads. Sources are
    kept packed in a temporary folder that goes with the store.
    """

    def __init__(
        self,
        *,
        ttl: float = 6 * 3600,
        max_sessions: int = 200,
        max_bytes: int = 2 << 30,
        max_turns: int = 50,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(clock)
        self.ttl, self.max_sessions, self.max_bytes, self.max_turns = ttl, max_sessions, max_bytes, max_turns
        self._kept: OrderedDict[str, _Kept] = OrderedDict()  # least recently used first
        self._bytes = 0
        self._lock = RLock()
        self._logs: LogFolder | None = None
        self._references: dict[str, int] = {}
        self._feedback: dict[tuple[str, int], dict[str, Any]] = {}
        self._bound: dict[str, str] = {}
        self._links: dict[str, tuple[str, float]] = {}  # hash of a token → session, expires

    def __len__(self) -> int:
        with self._lock:
            self.sweep()
            return len(self._kept)

    @property
    def n_bytes(self) -> int:
        return self._bytes

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
        session = Session(new_id(), diagnosis, name, language=language, owner=owner, format=format, era=era)
        return self._add(session, [self._put(source, diagnosis.run)], self.ttl if ttl is None else ttl)

    def _add(self, session: Session, sources: list[Stored | None], ttl: float) -> Session:
        size = _size(session)
        with self._lock:
            now = self._clock()
            self._kept[session.id] = _Kept(session, size, now, ttl, now, sources=sources)
            self._bytes += size
            self.sweep()
        return session

    def get(self, session_id: str) -> Session | None:
        with self._lock:
            kept = self._use(session_id)
            return kept.session if kept else None

    def about(self, session_id: str) -> About | None:
        with self._lock:
            self.sweep()
            return _about(kept) if (kept := self._kept.get(session_id)) else None

    def sessions(self, owner: str | None = None, *, limit: int = 50) -> list[About]:
        with self._lock:
            self.sweep()
            own = [kept for kept in reversed(self._kept.values()) if owner is None or kept.session.owner == owner]
            return [_about(kept) for kept in own[:limit]]

    def remove(self, session_id: str, *, feedback: bool = False) -> None:
        with self._lock:
            self._drop(session_id)
            if feedback:
                self._feedback = {key: row for key, row in self._feedback.items() if key[0] != session_id}

    def forget(self, owner: str) -> int:
        if not owner:
            raise ValueError("nobody is named")
        with self._lock:
            own = [session_id for session_id, kept in self._kept.items() if kept.session.owner == owner]
            for session_id in own:
                self.remove(session_id, feedback=True)
            self._feedback = {key: row for key, row in self._feedback.items() if row["owner"] != owner}
            self._forget_questions(owner)
            return len(own)

    def sweep(self) -> int:
        """Drop what is too old or too much; the newest session always stays."""
        with self._lock:
            now = self._clock()
            old = [session_id for session_id, kept in self._kept.items() if max(kept.used + kept.ttl, kept.until) < now]
            for session_id in old:
                self._drop(session_id)
            n = len(old)
            while len(self._kept) > 1 and (len(self._kept) > self.max_sessions or self._bytes > self.max_bytes):
                self._drop(next(iter(self._kept)))
                n += 1
            self._links = {token: link for token, link in self._links.items() if link[1] >= now}
            return n

    # Runs

    def add_run(self, session_id: str, diagnosis: Diagnosis, name: str = "", *, source: bytes | Path | None = None) -> Session | None:
        stored = self._put(source, diagnosis.run)
        with self._lock:
            kept = self._use(session_id)
            if kept is None:
                self._let_go(stored)
                return None
            kept.sources.append(stored)
            return self._change(kept, others=(*kept.session.others, (name, diagnosis)))

    def remove_run(self, session_id: str, index: int) -> Session | None:
        with self._lock:
            kept = self._use(session_id)
            if kept is None or not 0 <= index < len(kept.session.others):
                return kept.session if kept else None
            self._let_go(kept.sources.pop(index + 1))
            others = kept.session.others
            return self._change(kept, others=others[:index] + others[index + 1 :])

    def reread(self, session_id: str, *, format: str | None = None, era: str | None = None) -> Session | None:
        with self._lock:
            kept = self._use(session_id)
            stored = kept.sources[0] if kept else None
        if kept is None or stored is None or self._logs is None:
            return None
        with self._logs.opened(stored.sha256, stored.kind, kept.session.name) as source:
            diagnosis = open_log(source, name=kept.session.name, format=format, era=era)
        with self._lock:
            return self._change(kept, diagnosis=diagnosis, format=format, era=era) if session_id in self._kept else None

    def lines(self, session_id: str, first: int, last: int, *, run: int = 0) -> Lines:
        stored = self._source(session_id, run)
        return self._logs.lines(stored.sha256, first, last) if stored and self._logs else Lines()

    def search(self, session_id: str, words: str, *, first: int = 1, limit: int = 200, run: int = 0) -> tuple[list[int], bool]:
        stored = self._source(session_id, run)
        return self._logs.search(stored.sha256, words, first, limit) if stored and self._logs else ([], False)

    # Turns

    def add_turn(self, session_id: str, turn: Turn, *, answer: Answer | None = None) -> int | None:
        with self._lock:
            kept = self._use(session_id)
            if kept is None:
                return None
            index = kept.exchanges[-1].index + 1 if kept.exchanges else 0
            kept.exchanges = [*kept.exchanges, Exchange(index, turn, self._clock(), answer_json(answer))][-20 * self.max_turns :]
            self._change(kept, turns=(*kept.session.turns, turn)[-self.max_turns :])
            return index

    def transcript(self, session_id: str) -> list[Exchange]:
        with self._lock:
            self.sweep()
            kept = self._kept.get(session_id)
            return list(kept.exchanges) if kept else []

    def feedback(self, session_id: str, turn_index: int, good: bool | None, reason: str = "") -> bool:
        with self._lock:
            kept = self._use(session_id)
            at = next((i for i, one in enumerate(kept.exchanges) if one.index == turn_index), None) if kept else None
            if kept is None or at is None:
                return False
            rated = replace(kept.exchanges[at], good=good, reason=reason if good is not None else "")
            kept.exchanges[at] = rated
            self._feedback.pop((session_id, turn_index), None)
            if good is not None:
                about = _about(kept)
                row = feedback_json(rated, log=about.log, findings=about.findings, at=self._clock())
                self._feedback[session_id, turn_index] = {**row, "owner": kept.session.owner}
            return True

    def given_feedback(self) -> Iterator[dict[str, Any]]:
        with self._lock:
            rows = [{name: value for name, value in row.items() if name != "owner"} for row in self._feedback.values()]
        yield from rows

    # What faces remember

    def set_language(self, session_id: str, language: Language | None) -> None:
        with self._lock:
            if kept := self._use(session_id):
                self._change(kept, language=language)

    def keep(self, session_id: str, key: str, value: Any) -> None:
        value = small_json(value)
        with self._lock:
            if kept := self._use(session_id):
                new = {**kept.session.kept, key: value}
                self._change(kept, kept={name: one for name, one in new.items() if one is not None})

    def bind(self, key: str, session_id: str) -> None:
        with self._lock:
            if self._use(session_id) is None:
                raise NoSession(session_id)
            self._bound[key] = session_id

    def bound(self, key: str) -> str | None:
        with self._lock:
            session_id = self._bound.get(key)
            return session_id if session_id and self._use(session_id) else None

    # Links

    def share(self, session_id: str, hours: float = 72) -> str | None:
        with self._lock:
            kept = self._use(session_id)
            if kept is None:
                return None
            token, until = new_token(), self._clock() + hours * 3600
            self._links[token_hash(token)] = (session_id, until)
            kept.until = max(kept.until, until)
            return token

    def by_token(self, token: str) -> Session | None:
        with self._lock:
            session_id, until = self._links.get(token_hash(token), ("", 0.0))
            return self.get(session_id) if session_id and self._clock() <= until else None

    def unshare(self, session_id: str, token: str | None = None) -> int:
        with self._lock:
            kept = self._use(session_id)
            only = None if token is None else token_hash(token)
            gone = [key for key, link in self._links.items() if link[0] == session_id and only in (None, key)]
            for key in gone:
                del self._links[key]
            if kept is not None:
                kept.until = max((until for to, until in self._links.values() if to == session_id), default=0.0)
            return len(gone)

    def fork(self, session_id: str, *, owner: str = "", ttl: float | None = None) -> Session | None:
        with self._lock:
            kept = self._use(session_id)
            if kept is None:
                return None
            for stored in kept.sources:
                if stored is not None:
                    self._references[stored.sha256] += 1
            new = replace(kept.session, id=new_id(), owner=owner, kept={})
            copy = self._add(new, list(kept.sources), kept.ttl if ttl is None else ttl)
            self._kept[copy.id].exchanges = [replace(one, good=None, reason="") for one in kept.exchanges]
            return copy

    def close(self) -> None:
        with self._lock:
            for session_id in list(self._kept):
                self._drop(session_id)
            if self._logs is not None:
                shutil.rmtree(self._logs.folder, ignore_errors=True)
                self._logs = None

    # Internals; the lock is held

    def _exists(self, session_id: str) -> bool:
        return self._use(session_id) is not None

    def _use(self, session_id: str) -> _Kept | None:
        self.sweep()
        kept = self._kept.get(session_id)
        if kept is not None:
            kept.used = self._clock()
            self._kept.move_to_end(session_id)
        return kept

    def _change(self, kept: _Kept, /, **fields: Any) -> Session:
        kept.session = replace(kept.session, **fields)
        if "others" in fields or "diagnosis" in fields:
            self._bytes -= kept.size
            kept.size = _size(kept.session)
            self._bytes += kept.size
            self.sweep()
        return kept.session

    def _drop(self, session_id: str) -> None:
        if kept := self._kept.pop(session_id, None):
            self._bytes -= kept.size
            for stored in kept.sources:
                self._let_go(stored)
            self._bound = {key: to for key, to in self._bound.items() if to != session_id}
            self._links = {token: link for token, link in self._links.items() if link[0] != session_id}
            self._drop_questions(session_id)

    def _source(self, session_id: str, run: int) -> Stored | None:
        with self._lock:
            kept = self._use(session_id)
            return kept.sources[run] if kept and 0 <= run < len(kept.sources) else None

    def _put(self, source: bytes | Path | None, run: Run) -> Stored | None:
        """Not under the lock: it may take seconds."""
        if source is None:
            return None
        with self._lock:
            if self._logs is None:
                self._logs = LogFolder(Path(tempfile.mkdtemp(prefix="runwhy-")))
                weakref.finalize(self, shutil.rmtree, self._logs.folder, True)
            logs = self._logs
        try:
            with logs.prepared(source, run.parts, run.n_lines) as ready, self._lock:
                ready.place()
                sha256 = ready.stored.sha256
                self._references[sha256] = self._references.get(sha256, 0) + 1
                return ready.stored
        except (TooLarge, OSError):
            return None

    def _let_go(self, stored: Stored | None) -> None:
        if stored is None or self._logs is None:
            return
        self._references[stored.sha256] -= 1
        if not self._references[stored.sha256]:
            del self._references[stored.sha256]
            self._logs.remove(stored.sha256)


def _size(session: Session) -> int:
    return size_of(session.diagnosis.run) + sum(size_of(diagnosis.run) for _, diagnosis in session.others)


def _about(kept: _Kept) -> About:
    session = kept.session
    return About(
        session.id,
        session.name,
        session.owner,
        kept.created,
        kept.used,
        max(kept.used + kept.ttl, kept.until),
        len(kept.exchanges),
        1 + len(session.others),
        tuple(finding.id for finding in session.diagnosis.findings),
        log_json(session.diagnosis),
        session.language,
        session.kept,
    )
