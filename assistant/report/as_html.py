"""A report as one HTML page that needs nothing else: styles and drawings are inside, nothing is fetched, nothing runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.charts import Panels, caption, svg
from assistant.charts.palette import DARK
from assistant.messages import Language, say
from assistant.report.checked import checked_line
from assistant.report.content import Change, Item, Report
from assistant.report.sides import Curve, Sides
from assistant.web.markup import closed_bold, escape, inline

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

WIDTH = 660
"""Of a drawing, in points: its letters come out about as large as those of the page."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def page(report: Report, sides: Sides | None, masked: str) -> str:
    """The whole page. ``masked`` is the sentence on what was masked."""
    language = report.language
    parts = [("findings", _findings(report))]
    if report.main:
        parts.append(("main", chart(report.main, language)))
    if report.odd:
        parts.append(("odd", "".join(_item(item, None, language) for item in report.odd)))
    if sides is not None:
        parts.append(("compare", two_sides(sides)))
    if report.times:
        parts.append(("time", _time(report)))
    if report.talk:
        parts.append(("talk", _talk(report)))
    if report.fine:
        parts.append(("fine", f'<ul class="names">{_items(report.fine)}</ul>'))
    if report.unknown:
        parts.append(("unknown", _unknown(report)))
    parts.append(("about", _about(report, masked)))
    headed = [(name, _heading(name, report, sides), body) for name, body in parts]
    links = " · ".join(f'<a href="#{name}">{escape(title)}</a>' for name, title, _ in headed)
    body = "".join(f'<section id="{name}"><h2>{escape(title)}</h2>{body}</section>' for name, title, body in headed)
    return (
        f'<!doctype html>\n<html lang="{"zh-CN" if language == "zh" else "en"}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(report.title)}</title>\n<style>\n{styles()}\n</style>\n</head>\n<body>\n<main>"
        f'<header class="tone-{report.tone}"><p class="of">{escape(report.title)}</p><h1>{inline(report.verdict)}</h1>'
        f"{''.join(f'<p class=lead>{inline(line)}</p>' for line in report.lead)}{_facts(report.facts)}"
        f'<nav aria-label="{escape(say("report.contents", language))}">{links}</nav></header>'
        f"{body}</main>\n</body>\n</html>\n"
    )


@cache
def styles() -> str:
    own = (Path(__file__).parent / "report.css").read_text(encoding="utf-8").strip()
    dark = "; ".join(f"--c{light[1:]}: {colour}" for light, colour in DARK.items())
    return f"{own}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"


def _heading(name: str, report: Report, sides: Sides | None) -> str:
    counted = {"fine": len(report.fine), "unknown": sum(len(names) for _, names in report.unknown)}
    return say(f"report.{name}", report.language, n=counted.get(name, 0), name=report.other if sides else "")


def _facts(rows: Iterable[tuple[str, str]]) -> str:
    return '<dl class="facts">' + "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in rows) + "</dl>"


def _findings(report: Report) -> str:
    if not report.faults:
        return f"<p>{escape(say('report.no_findings', report.language))}</p>"
    several = len(report.faults) > 1
    return "".join(_item(item, at if several else None, report.language) for at, item in enumerate(report.faults, 1))


def _item(item: Item, at: int | None, language: Language) -> str:
    count = f"{at}. " if at is not None else ""
    level = f'<span class="level">{escape(item.level)}</span>'
    parts = [
        f'<h3>{count}{inline(item.title)}</h3><p class="quiet">{" · ".join([level, *map(escape, item.about)])}</p>',
        f"<p>{inline(item.summary)}</p>",
        f'<p class="quiet">{escape(item.follows)}</p>' if item.follows else "",
        chart(item.panels, language),
        _values(item, language),
        _excerpt(item, language),
    ]
    if item.causes:
        parts.append(f"<h4>{escape(say('web.cause', language))}</h4><p>{inline(item.causes[0])}</p>")
    if item.changes:
        steps = "".join(f"<li>{_change(change, language)}</li>" for change in item.changes)
        parts.append(f"<h4>{escape(say('web.fix', language))}</h4><ol>{steps}</ol>")
    if item.overrides:
        parts.append(f'<p class="quiet">{escape(say("web.as_overrides", language))}</p><pre>{escape(chr(10).join(item.overrides))}</pre>')
    if item.causes[1:]:
        parts.append(f"<h4>{escape(say('web.other_causes', language))}</h4><ol>{_items(item.causes[1:])}</ol>")
    if item.rules_out:
        parts.append(f"<h4>{escape(say('web.rules_out', language))}</h4><ul>{_items(item.rules_out)}</ul>")
    return f'<article class="item sev-{item.severity}">{"".join(parts)}</article>'


def chart(panels: Panels, language: Language) -> str:
    """The drawing with its caption; "" where there is nothing to draw."""
    if not panels:
        return ""
    return f"<figure>{svg(panels, language, width=WIDTH)}<figcaption>{escape(caption(panels, language))}</figcaption></figure>"


def _values(item: Item, language: Language) -> str:
    if not item.values:
        return ""
    heads = [say(f"web.column_{key}", language) for key in ("metric", "step", "value", "line")]
    rows = [
        (f"<code>{breakable(v.metric)}</code>", "" if v.step is None else str(v.step), f"<b>{escape(v.text)}</b>", str(v.line))
        for v in item.values
    ]
    return table(heads, rows, numbers=(1, 2, 3), title=say("web.evidence", language))


def _excerpt(item: Item, language: Language) -> str:
    if not item.excerpt:
        return ""
    rows = "".join(
        f"<li><b>{escape(say('web.line', language, line=line))}</b> <samp>{escape(text)}</samp>"
        + (f" <i>… {escape(say('web.excerpt_cut', language, n=cut))}</i>" if cut else "")
        + "</li>"
        for line, text, cut in item.excerpt
    )
    return f'<p class="quiet">{escape(say("web.excerpt", language))}</p><ul class="excerpt">{rows}</ul>'


def _change(change: Change, language: Language) -> str:
    parts = []
    if change.key:
        start = f' <span class="quiet">{escape(change.start)} ({escape(change.origin)})</span>' if change.start else ""
        arrow = "→" if start else escape(say("web.set_to", language))
        to = f" {arrow} <b>{escape(change.to)}</b>" if change.to else ""
        parts.append(f"<code>{breakable(change.key, '.')}</code>{start}{to}")
    if change.why:
        parts.append(inline(change.why))
    if change.check:
        parts.append(f'<span class="quiet">{inline(say("web.check", language, text=change.check))}</span>')
    return "<br>".join(parts)


def _time(report: Report) -> str:
    language = report.language
    heads = [say(f"report.column_{key}", language) for key in ("part", "seconds", "share", "steps")]
    names = [f'<span class="inner">{breakable(row.name)}</span>' if row.inner else breakable(row.name) for row in report.times]
    rows = [(name, row.seconds, row.share, str(row.n)) for name, row in zip(names, report.times, strict=True)]
    return chart(report.time_panels, language) + table(heads, rows, numbers=(1, 2, 3))


def _talk(report: Report) -> str:
    return "".join(
        f'<article class="talk"><h3>{escape(one.question)}</h3>{answer_html(one.markdown)}'
        f'<p class="quiet">{escape(checked_line(one.checked, report.language))}</p></article>'
        for one in report.talk
    )


def _unknown(report: Report) -> str:
    language = report.language
    rows = [("<br>".join(map(escape, names)), _need(need)) for need, names in report.unknown]
    heads = [say("report.column_finding", language), say("report.column_needs", language)]
    return f"<p>{escape(say('report.unknown_lead', language))}</p>" + table(heads, rows)


def _need(need: str) -> str:
    return f"<code>{breakable(need, '.')}</code>" if "=" in need and " " not in need else inline(need)


def _about(report: Report, masked: str) -> str:
    from assistant import __version__

    said = list(report.read)
    unread = "".join(f"<li><b>{line}</b> <samp>{escape(text)}</samp></li>" for line, text in report.unread)
    sha = f'<p class="quiet sha">{escape(say("report.sha", report.language, sha=report.sha256))}</p>' if report.sha256 else ""
    made = escape(say("report.made", report.language, version=__version__))
    excerpt = f'<ul class="excerpt">{unread}</ul>' if unread else ""
    return f'<ul>{"".join(f"<li>{escape(line)}</li>" for line in said)}</ul>{excerpt}<p class="quiet">{made} {escape(masked)}</p>{sha}'


# Two runs


Told = Callable[[Curve, str], str]
"""A curve's last value in run "a" or "b", as HTML."""


def two_sides(sides: Sides, *, drawing: str | None = None, told: Told | None = None) -> str:
    """The comparison. ``drawing`` is HTML in place of the drawing, where a page draws it itself; ``told`` writes the curves' values."""
    language = sides.language
    names = "".join(
        f'<div><dt><b class="run run-{letter}">{letter.upper()}</b> {escape(say(f"report.run_{letter}", language))}</dt>'
        f"<dd>{escape(name)}</dd></div>"
        for letter, name in zip("ab", sides.names, strict=True)
    )
    parts = [f'<p class="verdict {sides.tone}">{escape(sides.verdict)}</p><dl class="facts">{names}</dl>']
    parts.append(_part("before_after", _before_after(sides), language))
    reasons = f"<ol>{_items(reason.text for reason in sides.reasons)}</ol>" if sides.reasons else f"<p>{escape(sides.unexplained)}</p>"
    parts.append(_part("likely", reasons, language))
    parts.append(chart(sides.panels, language) if drawing is None else drawing)
    parts.append(_part("curves", _curves(sides, told or _told), language))
    parts.append(_part("settings", _settings(sides), language))
    return "".join(parts)


def _part(name: str, body: str, language: Language) -> str:
    return f'<section class="side-part side-{name.replace("_", "-")}"><h3>{escape(say(f"report.{name}", language))}</h3>{body}</section>'


def _before_after(sides: Sides) -> str:
    language = sides.language
    if not sides.findings:
        return f"<p>{escape(say('report.none_in_both', language))}</p>"
    rows = [
        (
            f'<span class="kind kind-{one.kind}">{escape(one.where)}</span>',
            f'<span class="sev-{one.severity}">{inline(one.title)}</span>',
            escape(one.a),
            escape(one.b),
        )
        for one in sides.findings
    ]
    return table(["", say("report.column_found", language), "A", "B"], rows)


def _told(curve: Curve, run: str) -> str:
    return escape(curve.a if run == "a" else curve.b)


def _curves(sides: Sides, told: Told) -> str:
    language = sides.language
    lead = f'<p class="quiet">{escape(sides.curves_lead)} {escape(sides.curves_more)}</p>'
    if not sides.curves:
        return lead
    heads = [say("web.column_metric", language), say("report.from_step", language), "A", "B", "", say("compare.column_setting", language)]
    rows = [
        (
            f"<code>{breakable(one.metric)}</code>",
            escape(one.since),
            told(one, "a"),
            told(one, "b"),
            escape(one.better),
            "<br>".join(f"<code>{breakable(key, '.')}</code>" for key in one.explained_by),
        )
        for one in sides.curves
    ]
    explained = any(one.explained_by for one in sides.curves)
    return lead + table(heads if explained else heads[:-1], rows if explained else [row[:-1] for row in rows], numbers=(1, 2, 3))


def _settings(sides: Sides) -> str:
    language = sides.language
    if sides.no_settings:
        return f"<p>{escape(sides.no_settings)}</p>"
    heads = [say("report.setting", language), "A", "B", say("report.acts_on", language)]
    rows = [(f"<code>{breakable(one.key, '.')}</code>", escape(one.a), escape(one.b), inline(one.acts_on)) for one in sides.settings]
    other = f'<p class="quiet">{escape(sides.other_settings)}</p>' if sides.other_settings else ""
    return (table(heads, rows) if rows else "") + other


# Pieces


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = (), title: str = "") -> str:
    """``heads`` are plain text, cells HTML; the columns in ``numbers`` stand to the right."""
    css = [' class="n"' if at in numbers else "" for at in range(len(heads))]
    head = "".join(f'<th scope="col"{c}>{escape(h)}</th>' if h else f"<td{c}></td>" for h, c in zip(heads, css, strict=True))
    body = "".join("<tr>" + "".join(f"<td{c}>{cell}</td>" for cell, c in zip(row, css, strict=True)) + "</tr>" for row in rows)
    top = f"<caption>{escape(title)}</caption>" if title else ""
    return f'<div class="scroll" tabindex="0"><table>{top}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def breakable(name: str, after: str = "/") -> str:
    """A key that may break after a slash (or dot), and nowhere else."""
    return escape(name).replace(after, f"{after}<wbr>")


def _items(texts: Iterable[str]) -> str:
    return "".join(f"<li>{inline(text)}</li>" for text in texts)


def answer_html(markdown: str) -> str:
    """An answer's Markdown as HTML: no HTML of its own, no links, no pictures; headings below those of the report."""
    rendered: str = _parser().render(closed_bold(markdown))
    rendered = rendered.replace("<table>", '<div class="scroll"><table>').replace("</table>", "</table></div>")
    return re.sub(r"<(/?)h[1-6]>", r"<\1h4>", rendered)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    kept_out = ["image", "link", "autolink", "reference", "html_inline", "html_block"]
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(kept_out)
