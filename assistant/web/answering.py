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
    writing it failed (the server's log says why)."""

    session: Session
    question: str
    language: Language
    store: SessionStore
    endpoint: Endpoint | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)
    outcome: Answer | None = None

    def at_once(self) -> Answer | None:
        """The built-in answer."""
        self._write()
        return self.outcome

    def parts(self) -> Iterator[str]:
        """The model's answer so far, whenever it has grown by a checked sentence; ends when ``outcome`` is there."""
        grown: queue.Queue[str | None] = queue.Queue()

        def work() -> None:
            try:
                self._write(
                    model=self.endpoint,
                    on_progress=grown.put,
                    cancelled=self.cancelled.is_set,
                    source=lambda first, last: self.store.lines(self.session.id, first, last),
                )
            finally:
                grown.put(None)

        threading.Thread(target=work, name="runwhy-answer", daemon=True).start()
        while (so_far := grown.get()) is not None:
            while not grown.empty() and (newer := grown.queue[0]) is not None:
                so_far = newer
                grown.get()
            yield so_far

    def _write(self, **more: Any) -> None:
        from assistant.answers import answer

        if self.session.others:
            more["others"] = self.session.others
        language = None if any(c.isalpha() for c in self.question) else self.language
        try:
            self.outcome = answer(self.question, self.session.diagnosis, language=language, history=self.session.turns, **more)
        except Exception:
            log.exception("answering failed")
