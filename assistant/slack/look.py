"""The first reply about a log: one line of verdict, the findings with their values, and where to go from there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from assistant.messages import Language, say
from assistant.slack.blocks import Block, actions, button, context, cut, safe, section
from assistant.slack.mrkdwn import escape, inline, quoted, words

if TYPE_CHECKING:
    from assistant.diagnosis import Diagnosis, Finding
    from assistant.run import Run

SHOWN = 3
"""Findings that are told with their values; the others are named."""
SHORT_LOG = 10
MOST_VALUES = 4
EXCERPT = 300
MARK = {"critical": "🔴", "high": "🔴", "medium": "🟠", "low": "🟡", "info": "🔵"}

Masked = Callable[[str], str]


def is_crash(finding: Finding) -> bool:
    return finding.id.startswith("crash-")


def onset(finding: Finding, run: Run, language: Language, *, comma: bool = False) -> str:
    """``since step 33``, ``steps 33–60``; with ``comma`` as the end of a sentence; "" without a step."""
    first, last = finding.first_step, finding.last_step
    if first is None:
        return ""
    key = "after" if is_crash(finding) else "at" if last == first or run.first_step == run.last_step else "since"
    if not comma and key == "since" and last is not None and run.last_step is not None and last < run.last_step:
        return say("slack.stretch", language, first=first, last=last)
    return say(f"slack.{'comma_' if comma else ''}{key}", language, step=first)


def verdict(diagnosis: Diagnosis, language: Language) -> str:
    """The one sentence that a reader takes away, as plain Markdown."""
    from assistant.diagnosis import render

    faults = diagnosis.faults
    if not faults:
        n = len(diagnosis.run.steps)
        return say("slack.verdict_healthy" if n >= SHORT_LOG else "slack.verdict_short", language, n=n)
    first = next((finding for finding in faults if is_crash(finding)), faults[0])
    kind = "crash" if is_crash(first) else "one" if len(faults) == 1 else "many"
    if all(finding.severity == "low" for finding in faults):
        kind = "minor"
    since = onset(first, diagnosis.run, language, comma=True)
    return say(f"slack.verdict_{kind}", language, n=len(faults), title=render.title(first, language), since=since)


def recognised(run: Run, language: Language) -> str:
    """``verl 0.6 · grpo · steps 1–60 of 120 · 133 metrics, 303 lines``."""
    parts = [f"{run.framework} {run.era if run.era != 'unknown' else say('slack.version_unknown', language)}", run.algorithm or ""]
    if run.first_step is not None:
        total = " " + say("slack.of_total", language, total=run.total_steps) if run.total_steps else ""
        parts.append(say("slack.steps", language, first=run.first_step, last=run.last_step) + total)
    elif not run.n_rows:
        parts.append(say("slack.no_metrics", language))
    parts.append(say("slack.counts", language, metrics=len(run.columns), lines=f"{run.n_lines:,}"))
    return " · ".join(part for part in parts if part)


def first_look(diagnosis: Diagnosis, name: str, language: Language, masked: Masked, *, intro: str = "") -> tuple[list[Block], str]:
    """Blocks and their fallback text. ``masked`` hides what is secret in words of the log."""
    from assistant.diagnosis.story import story, told

    faults = list(diagnosis.faults)
    mark = MARK[faults[0].severity or "medium"] if faults else "✅"
    sentence = verdict(diagnosis, language)
    title = words(masked(cut(name or say("slack.pasted_log", language), 120)))
    found: list[Block] = [context(intro)] if intro else []
    found += [section(f"{mark} *{inline(sentence).replace('*', '')}*"), context(f"{title} · {words(recognised(diagnosis.run, language))}")]
    if (chain := story(diagnosis)) is not None:
        found.append(section(inline(masked(told(chain, language)))))
    for number, finding in enumerate(faults[:SHOWN], start=1):
        found.append(section(cut(_finding(finding, number, diagnosis.run, language, masked), 2900)))
    if faults[SHOWN:]:
        found.append(context(_titles("more_findings", faults[SHOWN:], language)))
    odd = [finding for finding in diagnosis.findings if finding.severity == "info"]
    if odd:
        found.append(context(_titles("odd", odd, language)))
    notes = [words(masked(note)) for note in reading_notes(diagnosis.run, language)]
    counts = say("slack.checked_counts", language, fine=len(diagnosis.fine), unknown=len(diagnosis.unknown))
    found.append(context(*notes[:4], counts))
    return safe(found), escape(f"{mark} {render_plain(sentence)}")


def render_plain(markdown: str) -> str:
    return markdown.replace("`", "").replace("**", "")


def _titles(key: str, findings: Sequence[Finding], language: Language) -> str:
    from assistant.diagnosis import render

    return say(f"slack.{key}", language, titles=" · ".join(inline(render.title(finding, language)) for finding in findings))


def _finding(finding: Finding, number: int, run: Run, language: Language, masked: Masked) -> str:
    from assistant.diagnosis import render

    title = inline(render.title(finding, language)).replace("*", "")
    about = " · ".join(
        part for part in (say(f"slack.severity_{finding.severity or 'medium'}", language), onset(finding, run, language)) if part
    )
    lines = [f"*{number}. {title}*" + say("slack.in_brackets", language, text=about), inline(masked(render.summary(finding, language)))]
    if values := _values(finding, language):
        lines.append(_bold("values", values, language))
    for row in finding.excerpt[:2]:
        text = masked(row.text.strip())
        more = " " + say("slack.line_cut", language, n=len(text) - EXCERPT) if len(text) > EXCERPT else ""
        where = say("slack.value_line", language, line=row.line)
        lines.append(say("slack.labelled", language, label=where, text=quoted(text[:EXCERPT]) + more))
    fixes = render.fixes(finding, run, language)
    if not fixes and (causes := render.causes(finding, language)):
        lines.append(_bold("cause", inline(causes[0]), language))
    for fix in fixes[:1]:
        change = quoted(changed(fix)) if fix["key"] else ""
        lines.append(_bold("do", " · ".join(part for part in (change, inline(masked(fix["why"]))) if part), language))
    return "\n".join(lines)


def _bold(key: str, text: str, language: Language) -> str:
    return say("slack.bold_label", language, label=say(f"slack.{key}", language), text=text)


def _values(finding: Finding, language: Language) -> str:
    """Each metric with the printed values that carry the finding, their steps and the line of the last."""
    metrics: dict[str, list[str]] = {}
    last: dict[str, int] = {}
    for point in finding.evidence:
        step = ""
        if point.step is not None:
            step = say("slack.in_brackets", language, text=say("slack.value_step", language, step=point.step))
        metrics.setdefault(point.metric, []).append(escape(point.text) + step)
        last[point.metric] = point.line
    rows = []
    for metric, values in list(metrics.items())[:3]:
        chosen = values if len(values) <= MOST_VALUES else [*values[: MOST_VALUES - 1], "…", values[-1]]
        line = say("slack.value_line", language, line=last[metric])
        rows.append(f"{quoted(metric)} {' → '.join(chosen)}{say('slack.listed', language)}{line}")
    return say("slack.also_listed", language).join(rows)


def changed(fix: dict[str, object]) -> str:
    """``key: 0.2 → 0.28``, as much of it as is known."""
    if fix["to"] is None:
        return str(fix["key"])
    return f"{fix['key']}: {fix['from']} → {fix['to']}" if fix["from"] is not None else f"{fix['key']} → {fix['to']}"


def reading_notes(run: Run, language: Language) -> list[str]:
    """The reader's notes that have a sentence."""
    from assistant.messages import has

    return [
        say(f"logs.note.{note.kind}", language, **{"line": note.line, **note.data}) for note in run.notes if has(f"logs.note.{note.kind}")
    ]


def next_steps(questions: Sequence[str], language: Language, *, guide: bool = True, link: str = "") -> list[Block]:
    """Suggested questions, and the ways on: guide, lesson, report, browser."""
    asked = [button(question, f"ask#{n}", question[:1900]) for n, question in enumerate(questions[:4])]
    ways = []
    if guide:
        ways += [button(say("slack.guide_button", language), "guide", "{}"), button(say("slack.teach_button", language), "teach", language)]
    ways.append(button(say("slack.report_button", language), "report", language))
    if link:
        ways.append(button(say("slack.web_button", language), "web", url=link))
    return [actions(*row) for row in (asked, ways) if row]
