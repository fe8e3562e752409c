"""Reading a log for the page: limits, progress, cancelling, and one clear sentence when it fails."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock

from assistant.diagnosis import Diagnosis
from assistant.messages import Language, say
from assistant.sessions import Cancelled, Session, SessionStore, Unreadable, open_log
from assistant.web.limits import Limits
from assistant.web.markup import size
from assistant.web.samples import sample_name, sample_text
from assistant.web.workers import Workers

log = logging.getLogger(__name__)

PASTED = "pasted.log"
"""File name under which the page sends a paste that is too large for a text box."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What reading one log needs to know about who asked for it; ``progress`` takes a share of 0–1 and words."""

    language: Language
    store: SessionStore
    limits: Limits
    cancelled: Event
    progress: Callable[[float, str], None]
    owner: str = ""
    workers: Workers | None = None


class Refused(Exception):
    """The log was not read; the message is the sentence to show."""


class Readings:
    """The logs being read right now, by browser tab, so that each can be cancelled."""

    def __init__(self) -> None:
        self._flags: dict[str, Event] = {}
        self._lock = Lock()

    def start(self, tab: str) -> Event:
        """A new flag for this tab; what it was reading before is cancelled."""
        with self._lock:
            if tab in self._flags:
                self._flags[tab].set()
            self._flags[tab] = Event()
            return self._flags[tab]

    def cancel(self, tab: str) -> None:
        with self._lock:
            if flag := self._flags.get(tab):
                flag.set()

    def drop(self, tab: str) -> None:
        """Cancel what this tab reads, and hear no more of it."""
        with self._lock:
            if flag := self._flags.pop(tab, None):
                flag.set()

    def wanted(self, tab: str, flag: Event) -> bool:
        """Whether this is still what the tab waits for; else it has begun something else."""
        return self._flags.get(tab) is flag

    def done(self, tab: str, flag: Event) -> None:
        with self._lock:
            if self._flags.get(tab) is flag:
                del self._flags[tab]

    def __len__(self) -> int:
        return len(self._flags)


def read_paste(text: str, attempt: Attempt, name: str = "") -> Session:
    """Read pasted text. Raises Refused."""
    if not text.strip():
        raise Refused(say("web.nothing_pasted", attempt.language))
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > attempt.limits.paste:
        raise Refused(say("web.paste_too_large", attempt.language, size=size(len(data)), limit=size(attempt.limits.paste)))
    return _kept(_read(data, len(data), name, attempt), name, data, attempt)


def read_sample(key: str, attempt: Attempt) -> Session:
    """Read one of the sample logs. Raises Refused."""
    return read_paste(sample_text(key), attempt, sample_name(key, attempt.language))


def read_files(paths: Sequence[Path], attempt: Attempt) -> Session:
    """Read uploaded files and delete them: the first is the session's run, the others are there to compare with. Raises Refused.

    A file after the first that cannot be read is left out; its reason is in ``Session.kept["left_out"]``.
    """
    try:
        if len(paths) > attempt.limits.files:
            raise Refused(say("web.too_many_files", attempt.language, n=len(paths), limit=attempt.limits.files))
        session = read_file(paths[0], attempt)
        left_out = []
        for path in paths[1:]:
            try:
                diagnosis = _read_file(path, attempt)
            except Refused as problem:
                if attempt.cancelled.is_set():
                    raise
                left_out.append([path.name, str(problem)])
                continue
            attempt.store.add_run(session.id, diagnosis, path.name, source=path)
        if left_out:
            attempt.store.keep(session.id, "left_out", left_out)
        return attempt.store.get(session.id) or session
    finally:
        for path in paths:
            path.unlink(missing_ok=True)


def add_paste(session_id: str, text: str, attempt: Attempt) -> Session:
    """Read pasted text as another run of the talk. Raises Refused."""
    if not text.strip():
        raise Refused(say("web.nothing_pasted", attempt.language))
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > attempt.limits.paste:
        raise Refused(say("web.paste_too_large", attempt.language, size=size(len(data)), limit=size(attempt.limits.paste)))
    return _added(session_id, _read(data, len(data), "", attempt), "", data, attempt)


def add_files(session_id: str, paths: Sequence[Path], attempt: Attempt) -> Session:
    """Read uploaded files as further runs of the talk, and delete them. Raises Refused, also for one past the limit of files."""
    try:
        session = None
        for path in paths:
            name = "" if path.name == PASTED else path.name
            session = _added(session_id, _read_file(path, attempt), name, path, attempt)
        if session is None:
            raise Refused(say("web.nothing_pasted", attempt.language))
        return session
    finally:
        for path in paths:
            path.unlink(missing_ok=True)


def _added(session_id: str, diagnosis: Diagnosis, name: str, source: bytes | Path, attempt: Attempt) -> Session:
    kept = attempt.store.get(session_id)
    if kept is not None and len(kept.others) + 1 >= attempt.limits.files:
        raise Refused(say("web.too_many_files", attempt.language, n=len(kept.others) + 2, limit=attempt.limits.files))
    session = attempt.store.add_run(session_id, diagnosis, name, source=source)
    if session is None:
        raise Refused(say("web.session_gone", attempt.language, hours=attempt.limits.hours))
    return session


def read_file(path: Path, attempt: Attempt) -> Session:
    """Read an uploaded file and delete it. Raises Refused."""
    try:
        return _kept(_read_file(path, attempt), "" if path.name == PASTED else path.name, path, attempt)
    finally:
        path.unlink(missing_ok=True)


def _read_file(path: Path, attempt: Attempt) -> Diagnosis:
    n_bytes = path.stat().st_size
    if n_bytes > attempt.limits.upload:
        raise Refused(say("web.file_too_large", attempt.language, size=size(n_bytes), limit=size(attempt.limits.upload)))
    return _read(path, n_bytes, "" if path.name == PASTED else path.name, attempt)


def _kept(diagnosis: Diagnosis, name: str, source: bytes | Path, attempt: Attempt) -> Session:
    try:
        return attempt.store.create(diagnosis, name, source=source, owner=attempt.owner, language=attempt.language)
    except OSError:
        log.exception("a log could not be kept")
        raise Refused(say("web.failed", attempt.language)) from None


def _read(source: bytes | Path, n_bytes: int, name: str, attempt: Attempt) -> Diagnosis:
    language, told = attempt.language, 0.0

    def seen(done: int) -> None:
        nonlocal told
        if attempt.cancelled.is_set():
            raise Cancelled
        if (now := time.monotonic()) - told >= 0.1:
            told = now
            share = min(done / max(n_bytes, 1), 0.99)
            attempt.progress(share, say("web.reading", language, done=size(min(done, n_bytes)), total=size(n_bytes)))

    try:
        if attempt.workers is not None:
            diagnosis = attempt.workers.read(source, name=name, progress=seen, cancelled=attempt.cancelled)
        else:
            diagnosis = open_log(source, name=name, progress=seen)
    except Unreadable as problem:
        raise Refused(problem.sentence(language)) from None
    except Cancelled:
        raise Refused(say("web.cancelled", language)) from None
    except (OSError, EOFError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
        raise Refused(say("web.cannot_open", language, reason=reason or type(problem).__name__)) from None
    except Exception:
        log.exception("reading a log failed")
        raise Refused(say("web.failed", language)) from None
    if diagnosis.run.n_lines > attempt.limits.lines:
        raise Refused(say("web.too_many_lines", language, n=f"{diagnosis.run.n_lines:,}", limit=f"{attempt.limits.lines:,}"))
    if attempt.cancelled.is_set():
        raise Refused(say("web.cancelled", language))
    return diagnosis
