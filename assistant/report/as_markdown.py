"""A report as Markdown for GitHub and Feishu: headings, tables and code; curves as one line of block characters, since neither shows
pictures that are inside the text. Log text stands in code only, where no mention, link or HTML takes effect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from assistant.answers.checking.names import visible, without_active_content
from assistant.messages import Language, say
from assistant.report.checked import checked_line
from assistant.report.content import Change, Item, Report
from assistant.report.sides import Sides
from assistant.web.markup import closed_bold


def text(report: Report, sides: Sides | None, masked: str) -> str:
    """The whole report. ``masked`` is the sentence on what was masked."""
    language = report.language
    blocks = [f"# {plain(report.title)}", f"**{plain(report.verdict, cards=True)}**", *(plain(line, cards=True) for line in report.lead)]
    blocks.append(table([key for key, _ in report.facts], [[plain(value) for _, value in report.facts]]))
    blocks.append(_heading("findings", language))
    if not report.faults:
        blocks.append(say("report.no_findings", language))
    for at, item in enumerate(report.faults, 1):
        blocks += _item(item, at if len(report.faults) > 1 else None, report)
    if report.main:
        shown = [(name, report.curves[name]) for name in report.main.names if name in report.curves]
        blocks += [_heading("main", language), _list(f"{code(name)} {code(curve)}" for name, curve in shown)]
    if report.odd:
        blocks.append(_heading("odd", language))
        for item in report.odd:
            blocks += _item(item, None, report)
    if sides is not None:
        blocks += [_heading("compare", language, name=plain(report.other)), *two_sides(sides)]
    if report.times:
        blocks += [_heading("time", language), _times(report)]
    if report.talk:
        blocks.append(_heading("talk", language))
        for one in report.talk:
            blocks += [f"### {plain(one.question)}", _answer(one.markdown), f"*{checked_line(one.checked, language)}*"]
    if report.fine:
        blocks += [_heading("fine", language, n=len(report.fine)), _list(plain(name, cards=True) for name in report.fine)]
    if report.unknown:
        n = sum(len(names) for _, names in report.unknown)
        heads = [say("report.column_finding", language), say("report.column_needs", language)]
        rows = [["<br>".join(plain(name, cards=True) for name in names), _need(need)] for need, names in report.unknown]
        blocks += [_heading("unknown", language, n=n), say("report.unknown_lead", language), table(heads, rows)]
    blocks += [_heading("about", language), *_about(report, masked)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _heading(key: str, language: Language, /, **values: object) -> str:
    return f"## {say(f'report.{key}', language, **values)}"


def _item(item: Item, at: int | None, report: Report) -> list[str]:
    language = report.language
    number = f"{at}. " if at is not None else ""
    about = " · ".join([f"**{item.level}**", *item.about])
    blocks = [f"### {number}{plain(item.title, cards=True)}", about, plain(item.summary, cards=True)]
    if item.follows:
        blocks.append(f"*{plain(item.follows)}*")
    if item.values:
        heads = [say(f"web.column_{key}", language) for key in ("metric", "step", "value", "line")]
        blocks.append(
            table(heads, [[code(v.metric), "" if v.step is None else str(v.step), code(v.text), str(v.line)] for v in item.values])
        )
        curves = [(name, report.curves[name]) for name in dict.fromkeys(v.metric for v in item.values) if name in report.curves]
        if curves and item.severity != "info":
            blocks.append(_list(f"{code(name)} {code(curve)}" for name, curve in curves))
    if item.excerpt:
        blocks.append(say("web.excerpt", language) + ("：" if language == "zh" else ":"))
        lines = [
            f"{line}: {shown}" + (f" … ({say('web.excerpt_cut', language, n=cut)})" if cut else "") for line, shown, cut in item.excerpt
        ]
        blocks.append(fence("\n".join(lines)))
    if item.causes:
        blocks += [f"**{say('web.cause', language)}**", plain(item.causes[0], cards=True)]
    if item.changes:
        blocks += [f"**{say('web.fix', language)}**", _list((_change(change, language) for change in item.changes), numbered=True)]
    if item.overrides:
        blocks.append(fence("\n".join(item.overrides)))
    if item.causes[1:]:
        blocks += [f"**{say('web.other_causes', language)}**", _list((plain(c, cards=True) for c in item.causes[1:]), numbered=True)]
    if item.rules_out:
        blocks += [f"**{say('web.rules_out', language)}**", _list(plain(one, cards=True) for one in item.rules_out)]
    return blocks


def _change(change: Change, language: Language) -> str:
    parts = []
    if change.key:
        start = f" {code(change.start)} ({change.origin})" if change.start else ""
        arrow = "→" if start else say("web.set_to", language)
        parts.append(code(change.key) + start + (f" {arrow} **{code(change.to)}**" if change.to else ""))
    if change.why:
        parts.append(plain(change.why, cards=True))
    if change.check:
        parts.append(f"*{plain(say('web.check', language, text=change.check), cards=True)}*")
    return "<br>".join(parts)


def _times(report: Report) -> str:
    heads = [say(f"report.column_{key}", report.language) for key in ("part", "seconds", "share", "steps")]
    return table(heads, [[("↳ " if row.inner else "") + plain(row.name), row.seconds, row.share, str(row.n)] for row in report.times])


def _about(report: Report, masked: str) -> list[str]:
    from assistant import __version__

    language = report.language
    blocks = [_list(plain(line) for line in report.read)]
    if report.unread:
        blocks.append(fence("\n".join(f"{line}: {shown}" for line, shown in report.unread)))
    blocks.append(f"{say('report.made', language, version=__version__)} {plain(masked)}")
    if report.sha256:
        blocks.append(say("report.sha", language, sha=code(report.sha256)))
    return blocks


def two_sides(sides: Sides) -> list[str]:
    """The comparison as blocks of Markdown."""
    language = sides.language
    called = [(letter, say(f"report.run_{letter.lower()}", language)) for letter in "AB"]
    names = [f"**{letter}** ({which}): {code(name)}" for (letter, which), name in zip(called, sides.names, strict=True)]
    blocks = [f"**{sides.verdict}**", _list(names), f"### {say('report.before_after', language)}"]
    if sides.findings:
        rows = [[one.where, plain(one.title, cards=True), one.a, one.b] for one in sides.findings]
        blocks.append(table(["", say("report.column_found", language), "A", "B"], rows))
    else:
        blocks.append(say("report.none_in_both", language))
    blocks.append(f"### {say('report.likely', language)}")
    blocks.append(_list((plain(one.text, cards=True) for one in sides.reasons), numbered=True) if sides.reasons else sides.unexplained)
    blocks += [f"### {say('report.curves', language)}", f"{sides.curves_lead} {sides.curves_more}".strip()]
    if sides.curves:
        heads = [
            say("web.column_metric", language),
            say("report.from_step", language),
            "A",
            "B",
            "",
            say("compare.column_setting", language),
        ]
        rows = [[code(c.metric), c.since, c.a, c.b, c.better, " ".join(map(code, c.explained_by))] for c in sides.curves]
        n = len(heads) if any(c.explained_by for c in sides.curves) else len(heads) - 1
        blocks.append(table(heads[:n], [row[:n] for row in rows]))
    blocks.append(f"### {say('report.settings', language)}")
    if sides.settings:
        heads = [say("report.setting", language), "A", "B", say("report.acts_on", language)]
        blocks.append(table(heads, [[code(one.key), code(one.a), code(one.b), plain(one.acts_on, cards=True)] for one in sides.settings]))
    blocks += [plain(sides.no_settings), plain(sides.other_settings)]
    return blocks


# Pieces

_ACTIVE = re.compile(r"([\\*_{}\[\]()#+\-!|~$@])")
_SPANS = re.compile(r"(`[^`\n]+`|\*\*[^*\n]+\*\*)")


def plain(words: str, *, cards: bool = False) -> str:
    """Words in which nothing takes effect; with ``cards`` their `` `code` `` and ``**bold**`` are honoured. One line."""
    words = " ".join(visible(words).split())
    if not cards:
        return _inert(words)
    parts = _SPANS.split(words)
    return "".join(_span(part) if index % 2 else _inert(part) for index, part in enumerate(parts))


def _span(part: str) -> str:
    return code(part[1:-1]) if part.startswith("`") else f"**{_inert(part[2:-2])}**"


def _inert(words: str) -> str:
    """Backslashes where a renderer would see more than a character; HTML as text. An underscore inside a word stays."""
    words = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("`", "\\`")
    words = re.sub(r"([\\*{}\[\]|~$#!])", r"\\\1", words.replace("\\`", "\x00")).replace("\x00", "\\`")
    words = re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", words)
    words = re.sub(r"@(?=\w)", "@\u200b", words)
    words = re.sub(r"(?i)\b(https?|ftp|www)(?=[:.])", "\\1\u200b", words)
    return re.sub(r"^(\s*)([-+]|\d+[.)])(?=\s)", r"\1\\\2", words)


def code(words: str) -> str:
    """A code span, whatever back-ticks are in it."""
    words = " ".join(visible(words).split()) or " "
    longest = max((len(run) for run in re.findall(r"`+", words)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{ticks}{pad}{words}{pad}{ticks}"


def fence(words: str) -> str:
    """A block of code, whatever is in it."""
    words = visible(words)
    longest = max((len(run) for run in re.findall(r"`+", words)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}text\n{words}\n{ticks}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are Markdown already (a bar in one would end it); empty heads stay empty."""
    cells = [[re.sub(r"(?<!\\)\|", r"\\|", cell) or " " for cell in row] for row in (heads, *rows)]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    return "\n".join([lines[0], "|" + " --- |" * len(heads), *lines[1:]])


def _list(items: Iterable[str], *, numbered: bool = False) -> str:
    return "\n".join(f"{at}. {item}" if numbered else f"- {item}" for at, item in enumerate(items, 1))


def _need(need: str) -> str:
    return code(need) if "=" in need and " " not in need else plain(need, cards=True)


def _answer(markdown: str) -> str:
    """An answer as a quotation, its headings in bold, nothing in it fetched or linked."""
    words = re.sub(r"^#{1,6} +(.+)$", r"**\1**", without_active_content(closed_bold(markdown)), flags=re.MULTILINE)
    words = re.sub(r"@(?=\w)", "@\u200b", words)
    return "\n".join(f"> {line}".rstrip() for line in words.strip().splitlines())
