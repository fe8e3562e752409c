"""The result of a search, in the terminal."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console
from rich.text import Text

from assistant.cards import cards, pick
from assistant.messages import Language, say
from assistant.retrieval import Found, searcher


def find(question: str, *, limit: int, quiet: bool) -> Found:
    """Search; the first time, building the index shows its progress on the terminal (never with ``quiet``, nor into a pipe)."""
    if quiet or not sys.stderr.isatty():
        return searcher().search(question, limit=limit)
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        task: Any = None

        def progress(done: int, total: int) -> None:
            nonlocal task
            if task is None:
                task = bars.add_task(say("cli.search_building"), total=total)
            bars.update(task, completed=done)

        searcher().progress = progress
        return searcher().search(question, limit=limit)


def print_found(found: Found, language: Language, console: Console | None = None) -> None:
    console = console or Console(highlight=False)
    for correction in found.corrections:
        console.print(Text(say("cli.read_as", language, written=correction.written, meant=correction.meant), style="yellow"))
    for hit in found.hits:
        card = cards()[hit.card]
        console.print(Text.assemble((card.title(language), "bold"), "  ", (hit.card, "cyan")))
        if short := pick(card.front.get("short"), language):
            console.print(Text("  " + short))
        console.print(Text("  " + say("cli.search_why", language, why=", ".join(hit.why)), style="dim"))
    if found.hits:
        console.print(Text(say("cli.search_next", language, card=found.hits[0].card), style="dim"))
    else:
        console.print(say("cli.search_nothing", language))
    for note in found.notes:
        console.print(Text(_note(note, language), style="dim"))


def _note(note: str, language: Language) -> str:
    kind, _, reason = note.partition(": ")
    if kind == "vectors-failed":
        return say("cli.search_vectors_failed", language, reason=reason)
    return say("cli.search_no_vectors", language) if kind == "no-vectors" else say("cli.card_skipped", language, problem=reason)
