"""``runwhy redact``: the log as it would leave this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from assistant.cli.loading import Unreadable
from assistant.messages import Language, say
from assistant.redaction import BadPattern, Redactor

LINES_AT_ONCE = 2000


def redactor_for(patterns: Sequence[str]) -> Redactor:
    """With the user's own patterns: those given, and those of the config file. Raises Unreadable for one that is none."""
    from assistant.answers.model.settings import BadSettings, configured

    try:
        endpoint = configured()
    except BadSettings:
        endpoint = None
    try:
        return Redactor((*(endpoint.patterns if endpoint else ()), *patterns))
    except BadPattern as problem:
        raise Unreadable(str(problem)) from problem


def masked(source: str, redactor: Redactor, language: Language) -> Iterator[str]:
    """The masked text of the file (or ``-``), some thousand lines at a time."""
    from assistant.logs.stream import Source, UnreadableLog

    if source != "-" and not Path(source).is_file():
        raise Unreadable(say("cli.is_a_folder" if Path(source).is_dir() else "cli.no_such_file", language, path=source))
    try:
        for block, _ in Source(sys.stdin.buffer if source == "-" else Path(source)).blocks():
            lines = block.decode("utf-8", "replace").splitlines(keepends=True)
            for at in range(0, len(lines), LINES_AT_ONCE):
                yield redactor.mask("".join(lines[at : at + LINES_AT_ONCE]))
    except (UnreadableLog, OSError) as error:
        raise Unreadable(say("cli.cannot_open", language, path=source, reason=str(error))) from error


def as_json(redactor: Redactor) -> dict[str, Any]:
    """What was masked, by kind, without the secrets themselves."""
    return {"masked": dict(sorted(redactor.found.items())), "different": len(redactor.marks)}


def told(redactor: Redactor, language: Language) -> str:
    if not redactor.found:
        return say("cli.redact_nothing", language)
    kinds = ", ".join(f"{say(f'cli.redact_{kind}', language)} {n}" for kind, n in sorted(redactor.found.items()))
    return say("cli.redact_found", language, kinds=kinds)
