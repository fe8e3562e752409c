"""``runwhy guide``: guided troubleshooting in the terminal; without a terminal it walks the defaults and prints every page."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assistant.cli.loading import Unreadable
from assistant.cli.note import console_for, header, verdict
from assistant.diagnosis import render
from assistant.diagnosis.finding import Diagnosis
from assistant.guide import START, Lesson, Outcome, Page, Term, default_walk, missing, page, symptoms, teach
from assistant.messages import Language, say

_STATE = {"found": "yellow", "fine": "green", "explained": "cyan"}
_VERDICT = {"good": "green", "bad": "bold red", "odd": "cyan", "unknown": "dim", "context": "dim"}
_MARK = {"good": "✓", "bad": "✗", "odd": "i", "unknown": "?", "context": "·"}


def check(guide: str, language: Language) -> None:
    """Raises Unreadable, naming the guides that there are, for one that does not exist."""
    names = [START, *(name for name, _ in symptoms())]
    if guide not in names:
        raise Unreadable(say("guide.no_guide", language, name=guide, names=", ".join(names)))


def guide_json(diagnosis: Diagnosis, guide: str, choices: Sequence[str], language: Language) -> dict[str, Any]:
    """The object that ``runwhy guide --json`` prints: every page of the walk, defaults where ``choices`` say nothing."""
    walked = default_walk(diagnosis, guide, choices, language)
    last = walked[-1]
    return {
        "guide": guide,
        "choices": list(last.choices),
        "pages": [one.to_json() for one in walked],
        "outcome": last.to_json()["outcome"],
    }


def teach_json(diagnosis: Diagnosis, language: Language) -> dict[str, Any]:
    return {"lessons": [one.to_json() for one in teach(diagnosis, language)], "missing": missing(diagnosis, language)}


def print_walk(diagnosis: Diagnosis, guide: str, choices: Sequence[str], language: Language, console: Console | None = None) -> None:
    """Every page by default, with the option taken on each."""
    out = console_for(console)
    out.print(Text(header(diagnosis.run, language), style="dim"))
    walked = default_walk(diagnosis, guide, choices, language)
    for number, one in enumerate(walked):
        out.print(shown(one, language))
        if not one.done:
            taken = walked[-1].choices[number]
            label = next(label for name, label in one.options if name == taken)
            out.print(Text("→ " + say("guide.chosen", language, label=label), style="bold"))


def talk(
    diagnosis: Diagnosis,
    guide: str,
    choices: Sequence[str],
    language: Language,
    console: Console | None = None,
    ask: Callable[[str], str] = input,
) -> None:
    """Page by page: a number chooses, Enter takes what the log supports, ``b`` goes back, ``q`` ends."""
    out = console_for(console)
    out.print(Text(header(diagnosis.run, language), style="dim"))
    followed = list(choices)
    while True:
        one = page(diagnosis, guide, followed, language)
        followed = list(one.choices)
        out.print(shown(one, language))
        if one.done and not one.options and not followed:
            return
        answer = _asked(one, language, out, ask)
        if answer is None:
            out.print(Text(say("guide.bye", language), style="dim"))
            return
        followed = followed[:-1] if answer == "b" else [*followed, answer]


def _asked(one: Page, language: Language, out: Console, ask: Callable[[str], str]) -> str | None:
    """The id of the option chosen, ``b``, or None to end."""
    ids = [name for name, _ in one.options]
    key = "prompt_done" if one.done else "prompt" if one.choices else "prompt_first"
    prompt = say(f"guide.{key}", language, default=ids.index(one.default) + 1 if one.default in ids else "")
    while True:
        try:
            typed = ask(prompt + ": ").strip().lower()
        except (EOFError, KeyboardInterrupt):
            return None
        if typed in ("q", "quit", "exit"):
            return None
        if typed == "" and (one.default or one.done):
            return one.default or None
        if typed == "b" and one.choices:
            return "b"
        if typed.isdigit() and 1 <= int(typed) <= len(ids):
            return ids[int(typed) - 1]
        if typed in ids:
            return typed
        out.print(Text(say("guide.not_an_option", language, n=len(ids)), style="yellow"))


def shown(one: Page, language: Language) -> RenderableType:
    """A page: heading, what was left out, text, the table of numbers, words, and the numbered options."""
    n, about = one.progress
    title = Text.assemble((one.title, f"bold {_STATE.get(one.state, '')}".strip()), ("   " + _progress(n, about, language), "dim"))
    parts: list[RenderableType] = ["", title]
    parts += [Padding(Markdown(note, style="dim"), (0, 0, 0, 2)) for note in one.notes]
    parts.append(Padding(Markdown(one.body_markdown), (0, 0, 0, 2)))
    if one.rows:
        parts.append(Padding(_table(one, language), (1, 0, 0, 2)))
    for line in one.quotes:
        label = say("guide.line", language, line=line.line) + "  "
        parts.append(Padding(Text.assemble((label, "dim"), (line.text.strip(), "italic")), (0, 0, 0, 2)))
    if one.outcome is not None:
        parts.append(Padding(_outcome(one.outcome, language), (1, 0, 0, 2)))
    if one.terms:
        words = [_word(term) for term in one.terms]
        parts.append(Padding(Group(Text(say("guide.head_words", language), style="dim bold"), *words), (1, 0, 0, 2)))
    if one.options:
        parts.append("")
        if one.question != one.title and len(one.options) > 1:
            parts.append(Text(one.question, style="bold"))
        hint = say("guide.suggested" if one.by_log else "guide.if_unsure", language)
        for number, (name, label) in enumerate(one.options, 1):
            suggested = f"  ← {hint}" if name == one.default and len(one.options) > 1 else ""
            parts.append(Text.assemble((f"  {number}  ", "bold cyan"), label, (suggested, "dim")))
    return Group(*parts)


def _word(term: Term) -> Text:
    """A word with its meaning, and the command that tells more."""
    more = f"   runwhy explain {term.card}" if term.card else ""
    return Text.assemble((term.word, "italic"), ": ", term.meaning, (more, "cyan"), style="dim")


def _progress(n: int, about: int, language: Language) -> str:
    return say("guide.progress", language, n=n, about=about)


def _table(one: Page, language: Language) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for name in ("metric", "yours", "what", "should"):
        table.add_column(say(f"guide.head_{name}", language), overflow="fold", min_width=10 if name != "yours" else 14)
    for row in one.rows:
        where = "" if row.line is None else f" · {say('guide.line', language, line=row.line)}"
        table.add_row(
            Text(row.metric, style="cyan"),
            Text.assemble((row.yours, "bold"), (where, "dim"), (f"\n{row.typical}" if row.typical else "", "dim")),
            Text(row.plain),
            Text(row.should),
        )
    return table


def _outcome(found: Outcome, language: Language) -> RenderableType:
    parts: list[RenderableType] = []
    if found.causes:
        parts += [_head("causes", language), *(Text(f"{n}. {text}") for n, text in enumerate(found.causes, 1))]
    if found.told:
        parts += [_head("told", language), *(Text("- " + text) for text in found.told)]
    if found.changes:
        parts.append(_head("changes", language))
        for n, change in enumerate(found.changes, 1):
            lead = change.text.replace("`", "")
            line = say("guide.change_line", language, change=lead, why=change.why) if lead else change.why
            parts.append(Text.assemble(f"{n}. ", (line[: len(lead)], "green"), line[len(lead) :]))
    for name, texts in (("watch", found.watch_next), ("wrong", found.wrong_if), ("also", found.also), ("open", found.open)):
        if texts:
            parts += [_head(name, language), *(Text("- " + text.replace("`", "")) for text in texts)]
    return Group(*parts)


def _head(name: str, language: Language) -> RenderableType:
    return Padding(Text(say(f"guide.head_{name}", language), style="bold"), (1, 0, 0, 0))


def print_lessons(diagnosis: Diagnosis, language: Language, console: Console | None = None) -> None:
    """The first reading: each number with what it is, what good looks like, and this run's."""
    out = console_for(console)
    lessons = teach(diagnosis, language)
    out.print(Text(header(diagnosis.run, language), style="dim"))
    out.print(Text(say("guide.teach_title", language), style="bold"))
    if not lessons:
        out.print(Text(say("guide.teach_none", language)))
    else:
        out.print(Text(say("guide.teach_body", language)))
    for number, lesson in enumerate(lessons, 1):
        out.print(_lesson(number, lesson, language))
    if gone := missing(diagnosis, language):
        out.print()
        out.print(
            Text(say("guide.teach_missing", language, names=say("diagnosis.comma", language).join(gone)).replace("`", ""), style="dim")
        )
    out.print()
    titles = say("diagnosis.comma", language).join(render.title(finding, language) for finding in diagnosis.faults)
    whole = say("guide.teach_faults", language, titles=titles) if titles else verdict(diagnosis, language).plain
    out.print(Text(say("guide.teach_verdict", language, verdict=whole)))


def _lesson(number: int, lesson: Lesson, language: Language) -> RenderableType:
    style = _VERDICT[lesson.verdict]
    mark = f"{_MARK[lesson.verdict]} {say(f'guide.verdict_{lesson.verdict}', language)}"
    parts: list[RenderableType] = ["", Text.assemble((f"{number}. ", "bold"), (lesson.metric, "bold cyan"), "   ", (mark, style))]
    where = "" if lesson.line is None else f" · {say('guide.line', language, line=lesson.line)}"
    lines = [
        Text(lesson.what),
        Text.assemble((say("guide.head_should", language) + ": ", "dim"), lesson.should),
        Text.assemble((say("guide.head_yours", language) + ": ", "dim"), (lesson.yours, "bold"), (where, "dim")),
    ]
    if lesson.typical:
        lines.append(Text(lesson.typical, style="dim"))
    if lesson.comment:
        lines.append(Text(lesson.comment.replace("`", ""), style=style))
    lines += [_word(term) for term in lesson.terms]
    return Group(*parts, Padding(Group(*lines), (0, 0, 0, 3)))


def interactive() -> bool:
    """Whether somebody sits at the terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()
