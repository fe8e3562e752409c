"""The command line: `runwhy LOG` diagnoses; everything else is a command."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the ``runwhy`` command."""
    from assistant.cli.commands import app, command_names

    given = list(sys.argv[1:] if arguments is None else arguments)
    first = next((a for a in given if a == "-" or not a.startswith("-")), None)
    if first is not None and first not in command_names() and not {"--help", "--version"} & set(given):
        given.insert(0, "diagnose")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal or pipe that lacks a character shows "?" instead of a traceback
            stream.reconfigure(errors="replace")
    app(given, prog_name="runwhy")
