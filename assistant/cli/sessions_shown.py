"""Conversations in the terminal, and as JSON lines."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from assistant.messages import Language, say

if TYPE_CHECKING:
    from assistant.sessions import About, Exchange

SHORT = 8


def print_list(found: Sequence[About], language: Language) -> None:
    console = Console(highlight=False)
    if not found:
        console.print(Text(say("sessions.none", language)))
        return
    table = Table(box=None, pad_edge=False)
    for column in ("id", "used", "log", "turns", "findings", "owner"):
        table.add_column(say(f"sessions.column_{column}", language), justify="right" if column == "turns" else "left")
    for about in found:
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(about.used))
        findings = ", ".join(about.findings[:2]) + (f" +{len(about.findings) - 2}" if len(about.findings) > 2 else "")
        cells = (about.id[:SHORT], used, _log(about, language), str(about.n_turns), findings, about.owner)
        table.add_row(*(Text(plain(cell)) for cell in cells))
    console.print(table)
    console.print(Text(say("sessions.next", language, id=found[0].id[:SHORT]), style="dim"))


def _log(about: About, language: Language) -> str:
    kind = " ".join(str(about.log[part]) for part in ("framework", "era") if about.log.get(part) not in (None, "", "unknown"))
    more = f" +{about.n_runs - 1}" if about.n_runs > 1 else ""
    return f"{about.name or say('sessions.pasted', language)}{f' ({kind})' if kind else ''}{more}"


def print_session(about: About, talk: Sequence[Exchange], language: Language) -> None:
    console = Console(highlight=False)
    console.print(Text(plain(_log(about, language)), style="bold"))
    until = time.strftime("%Y-%m-%d %H:%M", time.localtime(about.expires))
    lines = about.log.get("n_lines", 0)
    console.print(Text(plain(say("sessions.kept_until", language, id=about.id, until=until, lines=lines)), style="dim"))
    if about.owner:
        console.print(Text(plain(f"{say('sessions.column_owner', language)}: {about.owner}"), style="dim"))
    if about.findings:
        console.print(Text(plain(f"{say('sessions.column_findings', language)}: {', '.join(about.findings)}")))
    for one in talk:
        console.print()
        console.print(Text(f"{one.index + 1}. {plain(one.question)}", style="bold cyan"))
        console.print(Markdown(plain(one.markdown)))
        if one.good is not None:
            rated = say("sessions.good" if one.good else "sessions.bad", language)
            console.print(Text(plain(f"{rated}{': ' + one.reason if one.reason else ''}"), style="dim"))
    if not talk:
        console.print(Text(say("sessions.nothing_asked", language), style="dim"))


def plain(text: str) -> str:
    """Without what would steer the terminal."""
    return "".join(char if char.isprintable() or char in "\n\t" else "�" for char in text)


def write_lines(rows: Iterable[dict[str, Any]], path: Path | None) -> int:
    """One JSON object a line; to ``path`` readable by its owner only. Returns how many."""
    if path is None:
        n = _write(rows, sys.stdout.buffer)
        sys.stdout.flush()
        return n
    with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
        return _write(rows, file)


def _write(rows: Iterable[dict[str, Any]], file: BinaryIO) -> int:
    n = 0
    for row in rows:
        file.write(orjson.dumps(row, option=orjson.OPT_NON_STR_KEYS) + b"\n")
        n += 1
    return n
