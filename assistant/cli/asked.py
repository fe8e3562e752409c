"""``runwhy ask``: the answer, by a configured model or built in; or the prompt that a model would get."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath
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


def answered(
    question: str,
    diagnosis: Diagnosis,
    language: Language | None,
    endpoint: Endpoint | None,
    log: str,
    *,
    show: bool,
    others: Sequence[tuple[str, Diagnosis]] = (),
    name: str = "",
) -> Answer:
    """The answer; while a model writes, ``show`` prints its words as they come, and Ctrl-C stops it (not the program)."""
    from assistant.answers import answer

    if endpoint is None:
        return answer(question, diagnosis, others=others, name=name, language=language)
    from assistant.answers.model.lines import lines_of

    source = None if log == "-" else lines_of(log)
    with _stoppable() as stopped:
        if not (show and sys.stdout.isatty()):
            return answer(
                question,
                diagnosis,
                others=others,
                name=name,
                language=language,
                model=endpoint,
                cancelled=stopped.is_set,
                source=source,
            )
        from rich.live import Live
        from rich.markdown import Markdown

        with Live(Markdown("…"), transient=True, refresh_per_second=4) as live:
            return answer(
                question,
                diagnosis,
                others=others,
                name=name,
                language=language,
                model=endpoint,
                on_progress=lambda text: live.update(Markdown(text)),
                cancelled=stopped.is_set,
                source=source,
            )


def prompt_for(
    question: str,
    diagnosis: Diagnosis,
    language: Language | None,
    endpoint: Endpoint | None,
    *,
    name: str = "",
    others: Sequence[tuple[str, Diagnosis]] = (),
) -> Prompt:
    """What would be sent. Without a configured endpoint: what would go to an unknown one, with everything masked."""
    from assistant.answers.model import prompt_to_copy

    return prompt_to_copy(question, diagnosis, others=others, name=name, language=language, endpoint=endpoint)


def print_prompt(prompt: Prompt, *, as_json: bool) -> None:
    """The prompt as text, or as the messages that would be sent."""
    if as_json:
        from assistant.cli.commands import print_json

        print_json({"messages": prompt.messages, "tokens": prompt.tokens, "left_out": prompt.packed.left_out})
        return
    from assistant.answers.model.prompting import as_text

    print(as_text(prompt))


def run_names(logs: Sequence[str]) -> list[str]:
    """What logs are called in a talk about several: their files, with the folder where two files have one name."""
    paths = [None if log == "-" else PurePath(log) for log in logs]
    files = [path.name if path else "" for path in paths]
    shared = {file for file in files if files.count(file) > 1}
    return [f"{path.parent.name}/{path.name}".lstrip("/") if path and path.name in shared else path.name if path else "" for path in paths]


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
