"""``runwhy ask``: the answer, by a configured model or built in; or the prompt that a model would get."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from assistant.cli.loading import Unreadable
from assistant.messages import Language

if TYPE_CHECKING:
    from assistant.answers import Answer
    from assistant.answers.model.prompting import Prompt
    from assistant.answers.model.settings import Endpoint
    from assistant.diagnosis import Diagnosis


def endpoint_of(no_llm: bool) -> Endpoint | None:
    """The configured endpoint, unless none is wanted. Raises Unreadable when its settings cannot be used."""
    if no_llm:
        return None
    from assistant.answers.model.settings import BadSettings, configured

    try:
        return configured()
    except BadSettings as problem:
        raise Unreadable(str(problem)) from problem


def answered(question: str, diagnosis: Diagnosis, language: Language | None, endpoint: Endpoint | None, log: str, *, show: bool) -> Answer:
    """The answer; while a model writes, ``show`` prints its words as they come, and Ctrl-C stops it (not the program)."""
    from assistant.answers import answer

    if endpoint is None:
        return answer(question, diagnosis, language=language)
    from assistant.answers.model.lines import lines_of

    source = None if log == "-" else lines_of(log)
    with _stoppable() as stopped:
        if not (show and sys.stdout.isatty()):
            return answer(question, diagnosis, language=language, model=endpoint, cancelled=stopped.is_set, source=source)
        from rich.live import Live
        from rich.markdown import Markdown

        with Live(Markdown("…"), transient=True, refresh_per_second=4) as live:
            return answer(
                question,
                diagnosis,
                language=language,
                model=endpoint,
                on_progress=lambda text: live.update(Markdown(text)),
                cancelled=stopped.is_set,
                source=source,
            )


def prompt_for(question: str, diagnosis: Diagnosis, language: Language | None, endpoint: Endpoint | None) -> Prompt:
    """What would be sent. Without a configured endpoint: what would go to an unknown one, with everything masked."""
    from assistant.answers.model import prompt_to_copy

    return prompt_to_copy(question, diagnosis, language=language, endpoint=endpoint)


@contextmanager
def _stoppable() -> Iterator[threading.Event]:
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return
    before = signal.getsignal(signal.SIGINT)

    def stop(*_: object) -> None:
        stopped.set()
        signal.signal(signal.SIGINT, before)  # a second Ctrl-C ends the program

    signal.signal(signal.SIGINT, stop)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)
