"""A page of guided troubleshooting, and the first reading of a run, as Slack's blocks. The buttons carry the whole state of the walk."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from assistant.messages import Language, say
from assistant.slack.blocks import BUTTON, Block, actions, button, context, cut, fitting, safe, section, sections
from assistant.slack.mrkdwn import blocks as parts_of
from assistant.slack.mrkdwn import escape, inline, quoted, words

if TYPE_CHECKING:
    from assistant.guide import Lesson, Outcome, Page, Row

MOST_STATE = 1900
MARK = {"good": "✅", "bad": "🔴", "odd": "🔵", "unknown": "❔", "context": "▫️"}
Masked = Callable[[str], str]


def state(guide: str, choices: Sequence[str], language: Language) -> str:
    return json.dumps({"g": guide, "c": list(choices), "l": language}, separators=(",", ":"))


def read_state(value: str) -> tuple[str, list[str], Language | None]:
    """Guide, choices and language of a button; the beginning for one that carries nothing."""
    try:
        kept = json.loads(value or "{}")
    except ValueError:
        kept = {}
    language = kept.get("l") if kept.get("l") in ("en", "zh") else None
    return str(kept.get("g") or "start"), [str(one) for one in kept.get("c") or ()], language


def page_blocks(page: Page, guide: str, language: Language, masked: Masked) -> tuple[list[Block], str]:
    """The page, its options as buttons (what the log supports stands out), and the way back."""
    at, total = page.progress
    head = f"*{inline(masked(page.title)).replace('*', '')}*"
    found: list[Block] = []
    if not page.done:
        found.append(context(say("slack.guide_progress", language, n=at, total=max(at, total))))
    texts = [head, *parts_of(masked(page.body_markdown)), *(_row(row, language, masked) for row in page.rows)]
    texts += [
        f"{say('slack.value_line', language, line=quote.line)}: {quoted(cut(masked(quote.text.strip()), 300))}" for quote in page.quotes[:4]
    ]
    if page.outcome is not None:
        texts += _outcome(page.outcome, language, masked)
    shown, cut_off = fitting(sections(texts))
    found += [section(text) for text in shown]
    if cut_off:
        found.append(context("✂️"))
    found += [context(inline(masked(note))) for note in page.notes[:5]]
    if page.terms:
        found.append(context(*(f"*{escape(term.word)}*: {inline(term.meaning)}" for term in page.terms[:6])))
    if page.question and page.options:
        found.append(section(f"*{inline(page.question)}*" + _long_labels(page)))
    choices = list(page.choices)
    rows = []
    for number, (option, text) in enumerate(page.options):
        value = state(guide, [*choices, option], language)
        shown_text = f"{number + 1}. {text}" if _numbered(page) else text
        rows.append(button(masked(shown_text), f"guide#{number}", value, style="primary" if option == page.default else ""))
    found += [actions(*rows[at : at + 5]) for at in range(0, len(rows), 5)]
    if choices:
        found.append(actions(button(f"← {say('slack.back_button', language)}", "guide#back", state(guide, choices[:-1], language))))
    if page.done:
        found.append(context(say("slack.guide_end", language)))
    return safe(found), escape(page.title)


def _numbered(page: Page) -> bool:
    return any(len(text) > BUTTON for _, text in page.options)


def _long_labels(page: Page) -> str:
    """The options in full, when a button cannot hold them."""
    if not _numbered(page):
        return ""
    return "\n" + _listed([text for _, text in page.options])


def _row(row: Row, language: Language, masked: Masked) -> str:
    where = f" ({say('slack.value_line', language, line=row.line)})" if row.line is not None and str(row.line) not in row.yours else ""
    lines = [
        f"{quoted(row.metric)} {inline(row.plain)}".strip(),
        f"{say('slack.guide_yours', language)}: {inline(masked(row.yours))}{where}",
    ]
    if row.should:
        lines.append(_labelled("guide_should", inline(row.should), language))
    return "\n".join(f"{'•' if number == 0 else '   '} {line}" for number, line in enumerate(lines))


def _where(line: int | None, told: str, language: Language) -> str:
    """`` (line 42)``, where the words do not say it already."""
    if line is None or str(line) in told:
        return ""
    return say("slack.in_brackets", language, text=say("slack.value_line", language, line=line))


def _labelled(key: str, text: str, language: Language) -> str:
    return say("slack.labelled", language, label=say(f"slack.{key}", language), text=text)


def _listed(texts: Sequence[str]) -> str:
    return "\n".join(f"{number}. {inline(text)}" for number, text in enumerate(texts, start=1))


def _outcome(found: Outcome, language: Language, masked: Masked) -> list[str]:
    """What the page's own text does not say of an ending. Text that stands in the body already is left out by the caller's data."""
    parts: list[str] = []
    if found.title and found.summary:
        parts += [f"*{inline(masked(found.title))}*", inline(masked(found.summary))]
    if found.meaning:
        parts.append(inline(masked(found.meaning)))
    parts += [inline(masked(text)) for text in found.told]
    if found.causes:
        parts.append(
            f"*{say('slack.cause', language)}*\n" + "\n".join(f"{n}. {inline(text)}" for n, text in enumerate(found.causes, start=1))
        )
    for change in found.changes:
        heading = quoted(change.text) if change.key else inline(masked(change.text))
        why = f"\n   {inline(change.why)}" if change.why and change.why not in change.text else ""
        parts.append(say("slack.bold_label", language, label=say("slack.do", language), text=heading + why))
    if found.watch_next:
        parts.append(f"*{say('slack.watch', language)}*\n" + "\n".join(f"• {inline(masked(text))}" for text in found.watch_next))
    if found.first:
        parts.append(inline(masked(found.first)))
    parts += [inline(masked(text)) for text in [*found.also, *found.open][:6]]
    return parts


def lesson_blocks(lessons: Sequence[Lesson], language: Language, masked: Masked) -> tuple[list[Block], str]:
    title = say("slack.teach_title", language)
    texts = [f"*{escape(title)}*"]
    for number, lesson in enumerate(lessons, start=1):
        yours = _labelled("guide_yours", inline(masked(lesson.yours)) + _where(lesson.line, lesson.yours, language), language)
        lines = [
            f"{MARK[lesson.verdict]} *{number}.* {quoted(lesson.metric)} {inline(lesson.what)}",
            f"{yours} · {say(f'slack.verdict_{lesson.verdict}', language)}",
            _labelled("guide_should", inline(lesson.should), language) if lesson.should else "",
            inline(masked(lesson.comment)) if lesson.comment else "",
        ]
        texts.append("\n".join(line for line in lines if line))
    shown, _ = fitting(sections(texts))
    return safe([section(text) for text in shown]), words(title)
