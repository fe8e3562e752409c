"""One answer being written: at once by the built-in writer, or by a model in a thread of its own, sentence by sentence."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assistant.messages import Language
from assistant.sessions import Session, SessionStore

if TYPE_CHECKING:
    from assistant.answers import Answer
    from assistant.answers.model.settings import Endpoint

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Answering:
    """``language`` is the page's, for questions that show none of their own. ``outcome`` is None until the answer is there, and when
    writing it failed (the server's log says why).

    An answer that was begun is kept in the store when it is there, whoever still waits for it: ``index`` is its place in the talk.
    """

    session: Session
    question: str
    language: Language
    store: SessionStore
    endpoint: Endpoint | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)
    outcome: Answer | None = None
    index: int | None = None
    taken: bool = False
    """Its tab shows another session, or this one anew: whoever waits for the answer is to say nothing."""
    over: threading.Event = field(default_factory=threading.Event)
    _grown: queue.Queue[str | None] = field(default_factory=queue.Queue)

    def stop(self, seconds: float = 0.0) -> None:
        """Say no more; wait at most so long until what was said is kept."""
        self.cancelled.set()
        if seconds:
            self.over.wait(seconds)

    def at_once(self) -> Answer | None:
        """The built-in answer."""
        self._write()
        return self.outcome

    def kept(self) -> None:
        """The built-in answer, put into the talk."""
        self._write()
        self._keep()

    def begin(self) -> None:
        """The model writes, in a thread of its own."""
        threading.Thread(target=self._work, name="runwhy-answer", daemon=True).start()

    def parts(self) -> Iterator[str]:
        """The model's answer so far, whenever it has grown by a checked sentence; ends when ``outcome`` is there."""
        grown = self._grown
        while (so_far := grown.get()) is not None:
            while not grown.empty() and (newer := grown.queue[0]) is not None:
                so_far = newer
                grown.get()
            yield so_far

    def _work(self) -> None:
        try:
            self._write(
                model=self.endpoint,
                on_progress=self._grown.put,
                cancelled=self.cancelled.is_set,
                source=lambda first, last: self.store.lines(self.session.id, first, last),
            )
            self._keep()
        except Exception:
            log.exception("an answer could not be kept")
        finally:
            self.over.set()
            self._grown.put(None)

    def _keep(self) -> None:
        if self.outcome is not None:
            self.index = self.store.add_turn(self.session.id, self.outcome.turn, answer=self.outcome)

    def _write(self, **more: Any) -> None:
        from assistant.answers import answer

        if self.session.others:
            more["others"] = self.session.others
        language = None if any(c.isalpha() for c in self.question) else self.language
        try:
            self.outcome = answer(self.question, self.session.diagnosis, language=language, history=self.session.turns, **more)
        except Exception:
            log.exception("answering failed")
