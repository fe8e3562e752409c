"""Reading a log for the page: limits, progress, cancelling, and one clear sentence when it fails."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock

from assistant.messages import Language, say
from assistant.sessions import Cancelled, Session, SessionStore, Unreadable, open_log
from assistant.web.limits import Limits
from assistant.web.markup import size

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
    return _read(data, len(data), name, attempt)


def read_file(path: Path, attempt: Attempt) -> Session:
    """Read an uploaded file and delete it. Raises Refused."""
    try:
        n_bytes = path.stat().st_size
        if n_bytes > attempt.limits.upload:
            raise Refused(say("web.file_too_large", attempt.language, size=size(n_bytes), limit=size(attempt.limits.upload)))
        return _read(path, n_bytes, "" if path.name == PASTED else path.name, attempt)
    finally:
        path.unlink(missing_ok=True)


def _read(source: bytes | Path, n_bytes: int, name: str, attempt: Attempt) -> Session:
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
    if attempt.cancelled.is_set():
        raise Refused(say("web.cancelled", language))
    return attempt.store.create(diagnosis, name)
