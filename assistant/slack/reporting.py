"""The report of a session as one file: the run, the comparison with the last log of the thread, and the talk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assistant.messages import Language

if TYPE_CHECKING:
    from assistant.sessions import Session, SessionStore


def report(session: Session, store: SessionStore, language: Language) -> str:
    """A self-contained HTML page; what is quoted of the log is masked."""
    from assistant.report import Talked, html

    talk = [Talked(one.question, one.markdown, one.answer.get("checked") or {}) for one in store.transcript(session.id)]
    against = session.others[-1] if session.others else None
    return html(session.diagnosis, name=session.name, language=language, talk=talk, against=against)
