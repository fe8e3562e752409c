"""Why a log was read as it was: the formats that were tried, how far each got, and the lines that were not read."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assistant.logs.formats import shape_of
from assistant.messages import Language, say
from assistant.run import Run


def tried_json(run: Run) -> dict[str, Any]:
    """``{"format", "tried": [{"format", "lines", "tried", "values", "chosen"}], "unread": [{"line", "text"}]}``."""
    return {
        "format": run.format,
        "tried": [
            {"format": one.format, "lines": one.fit.lines, "tried": one.fit.tried, "values": one.fit.values, "chosen": one.chosen}
            for one in run.tried
        ],
        "unread": [{"line": line, "text": text} for line, text in run.unread_samples],
    }


def print_tried(run: Run, language: Language, console: Console | None = None) -> None:
    from assistant.cli.note import console_for, header

    console = console_for(console)
    console.print(Text.assemble((say("cli.parse_read", language) + ": ", "bold"), header(run, language)))
    console.print(Text(say("cli.tried_title", language), style="bold"))
    table = Table(box=None, padding=(0, 1), header_style="bold dim")
    table.add_column("")
    table.add_column(say("cli.tried_format", language), style="cyan", no_wrap=True)
    table.add_column(say("cli.tried_lines", language), justify="right", no_wrap=True)
    table.add_column(say("cli.tried_values", language), justify="right", no_wrap=True)
    table.add_column(say("cli.tried_shape", language), overflow="fold")
    for one in run.tried:
        fit = one.fit
        table.add_row(
            "→" if one.chosen else "", one.format, f"{fit.lines}/{fit.tried}", str(fit.values), Text(shape_of(one.format, language))
        )
    console.print(table)
    console.print(Text(say("cli.tried_why", language), style="dim"))
    if not run.unread_lines:
        console.print(Text(say("cli.parse_unread_none", language), style="dim"))
        return
    console.print(Text(say("cli.parse_unread", language, n=run.unread_lines), style="yellow"))
    for line, text in run.unread_samples:
        console.print(Text(f"  {say('cli.line', language, line=line)}  {text[:160]}", style="dim"))
