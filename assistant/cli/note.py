"""A diagnosis as a doctor's note that fits one screen, and an answer as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from assistant.cli.sparkline import sparkline
from assistant.diagnosis import RunView, render
from assistant.diagnosis.facts import shown
from assistant.diagnosis.finding import Diagnosis, Finding
from assistant.diagnosis.story import story, told
from assistant.messages import Language, say
from assistant.run import Run

if TYPE_CHECKING:
    from assistant.answers import Answer

COLOUR = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "cyan", "info": "dim"}
SPARK_WIDTH = 24
BRIEF = 3
"""Findings after the first that get their sentence; later ones get their title."""


def console_for(console: Console | None = None) -> Console:
    """The terminal; text that goes into a pipe is laid out 120 columns wide instead of 80."""
    if console is not None:
        return console
    terminal = Console(highlight=False)
    return terminal if terminal.is_terminal else Console(highlight=False, width=terminal.width if terminal.width > 80 else 120)


def print_note(diagnosis: Diagnosis, language: Language, *, full: bool = False, console: Console | None = None) -> None:
    console_for(console).print(note(diagnosis, language, full=full))


def note(diagnosis: Diagnosis, language: Language, *, full: bool = False) -> RenderableType:
    """Header, verdict, the finding to act on first, the others in brief, what is odd but normal, fine, or open.

    ``full`` writes every finding out.
    """
    view = RunView(diagnosis.run)
    parts: list[RenderableType] = [Text(header(diagnosis.run, language), style="dim"), verdict(diagnosis, language)]
    if found := story(diagnosis):
        parts.append(Text(told(found, language)))
    parts.append("")
    faults = list(diagnosis.faults)
    for number, finding in enumerate(faults):
        if number == 0 or full:
            parts += [_finding(finding, view, language), ""]
        elif number <= BRIEF:
            parts += [_brief(finding, diagnosis.run, language)]
        else:
            parts.append(_titles(None, faults[number:], language))
            break
    if len(faults) > 1 and not full:
        parts.append("")
    odd = [finding for finding in diagnosis.findings if finding.severity == "info"]
    if odd and (full or not faults):
        parts += [Text(say("cli.odd_but_normal", language), style="bold"), *(_explained(f, language) for f in odd), ""]
    elif odd:
        parts.append(_titles(say("cli.odd_but_normal", language), odd, language))
    parts.append(_fine(diagnosis, language, full=full))
    if diagnosis.unknown:
        parts.append(_unknown(diagnosis, language, full=full))
    hint = say("cli.next_healthy", language)
    if diagnosis.findings:
        hint = say("cli.next_ask" if full else "cli.next_full", language, name=diagnosis.findings[0].id)
    parts += ["", Text(f"{say('cli.next', language)}: {hint}", style="dim")]
    return Group(*parts)


def header(run: Run, language: Language) -> str:
    """``verl 0.6 · grpo · steps 1–60 of 120 · 133 metrics, 303 lines``."""
    version = run.era if run.era != "unknown" else say("cli.version_unknown", language)
    parts = [f"{run.framework} {version}"]
    if run.algorithm:
        parts.append(run.algorithm)
    if run.first_step is not None:
        steps = say("cli.steps", language, first=run.first_step, last=run.last_step)
        if run.total_steps:
            steps += " " + say("cli.of_total", language, total=run.total_steps)
        parts.append(steps)
    elif not run.n_rows:
        parts.append(say("cli.no_metrics", language))
    parts.append(say("cli.counts", language, metrics=len(run.columns), lines=run.n_lines))
    return " · ".join(parts)


def verdict(diagnosis: Diagnosis, language: Language) -> Text:
    faults = diagnosis.faults
    if not faults:
        n = len(diagnosis.run.steps)
        text = say("cli.healthy", language) if n >= 10 else say("cli.healthy_short", language, n=n)
        return Text("✓ " + text, style="bold green")
    counted = say("cli.one_fault", language) if len(faults) == 1 else say("cli.n_faults", language, n=len(faults))
    start = say("cli.crashed", language) + " · " if faults[0].id.startswith("crash-") else ""
    return Text(f"✗ {start}{counted}", style=f"bold {COLOUR[faults[0].severity or 'medium'].split()[-1]}")


def when(finding: Finding, run: Run, language: Language) -> str:
    """``since step 33``, or the stretch when it has ended, or "" when no step is known."""
    if finding.first_step is None:
        return ""
    last = run.last_step
    if finding.last_step is None or (last is not None and finding.last_step >= last):
        return say("cli.since_step" if finding.first_step != last else "cli.at_step", language, step=finding.first_step)
    if finding.last_step == finding.first_step:
        return say("cli.at_step", language, step=finding.first_step)
    return say("cli.steps_to", language, first=finding.first_step, last=finding.last_step)


def _about(finding: Finding, run: Run, language: Language) -> str:
    about = [say(f"cli.severity_{finding.severity or 'medium'}", language)]
    if since := when(finding, run, language):
        about.append(since)
    return " · ".join(about)


def _headline(finding: Finding, run: Run, language: Language) -> Text:
    title = (render.title(finding, language), COLOUR[finding.severity or "medium"])
    return Text.assemble(title, (f"  {_about(finding, run, language)}", "dim"))


def _indented(*lines: RenderableType) -> Padding:
    return Padding(Group(*lines), (0, 0, 0, 2))


def _finding(finding: Finding, view: RunView, language: Language) -> RenderableType:
    """A finding in full: what is seen, the curves and values that carry it, cause, what to do, what would refute it."""
    run = view.run
    lines: list[RenderableType] = [Text(render.summary(finding, language)), *_evidence(finding, view, language)]
    if causes := render.causes(finding, language):
        lines.append(Text.assemble((say("cli.cause", language) + ": ", "bold"), causes[0]))
    lines += [_fix(fix, language) for fix in render.fixes(finding, run, language)[:2]]
    if excluded := render.rules_out(finding, language):
        lines.append(Text.assemble((say("cli.wrong_if", language) + ": ", "bold"), excluded[0]))
    if finding.follows:
        lines.append(Text(_follows(finding, language), style="dim"))
    return Group(_headline(finding, run, language), _indented(*lines))


def _brief(finding: Finding, run: Run, language: Language) -> RenderableType:
    lines: list[RenderableType] = [Text(render.summary(finding, language))]
    if finding.follows:
        lines.append(Text(_follows(finding, language), style="dim"))
    elif fixes := render.fixes(finding, run, language):
        lines.append(_fix(fixes[0], language, check=False))
    return Group(_headline(finding, run, language), _indented(*lines))


def _follows(finding: Finding, language: Language) -> str:
    names = ", ".join(render.title(Finding(name), language) for name in finding.follows)
    return say("cli.follows", language, names=names)


def _titles(label: str | None, findings: list[Finding], language: Language) -> Text:
    text = Text.assemble((label + ": ", "bold")) if label else Text("+ ")
    for number, finding in enumerate(findings):
        text.append(" · " if number else "").append(render.title(finding, language), style=COLOUR[finding.severity or "medium"])
    return text


def _explained(finding: Finding, language: Language) -> RenderableType:
    title, summary = (render.title(finding, language) + ": ", "dim bold"), (render.summary(finding, language), "dim")
    return _indented(Text.assemble(title, summary))


def _evidence(finding: Finding, view: RunView, language: Language) -> list[RenderableType]:
    """One line a metric: its curve, and the printed values that carry the finding."""
    metrics: dict[str, list[str]] = {}
    for point in finding.evidence:
        step = f" @{point.step}" if point.step is not None else ""
        metrics.setdefault(point.metric, []).append(shown(point) + step)
    lines: list[RenderableType] = []
    for metric, values in list(metrics.items())[:3]:
        series = view.printed(metric) if metric in view.names else None
        curve = f"  {sparkline(series.values, SPARK_WIDTH)}  " if series is not None and len(series) > 2 else "  "
        lines.append(Text.assemble((metric, "cyan"), curve, " → ".join(values)))
    for row in finding.excerpt[:2]:
        where = say("cli.line", language, line=row.line) + "  "
        lines.append(Text.assemble((where, "dim"), (row.text.strip()[:160], "italic")))
    return lines


def _fix(fix: dict[str, Any], language: Language, *, check: bool = True) -> Text:
    text = Text.assemble((say("cli.do", language) + ": ", "bold"))
    if fix["key"]:
        text.append(change(fix), style="green").append(" · " if fix["why"] else "")
    text.append(fix["why"])
    if check and fix["check"]:
        text.append(f" ({say('cli.watch', language)}: {fix['check']})", style="dim")
    return text


def change(fix: dict[str, Any]) -> str:
    """``key: 0.2 → 0.28``, as much of it as is known."""
    if fix["to"] is None:
        return str(fix["key"])
    return f"{fix['key']}: {fix['from']} → {fix['to']}" if fix["from"] is not None else f"{fix['key']} → {fix['to']}"


def _fine(diagnosis: Diagnosis, language: Language, *, full: bool) -> Text:
    names = list(diagnosis.fine)
    shown_names = names if full else names[:5]
    text = Text.assemble((say("cli.fine", language, n=len(names)), "bold"))
    if names:
        text.append(": " + ", ".join(shown_names) + (" …" if len(names) > len(shown_names) else ""), style="dim")
    return text


def _unknown(diagnosis: Diagnosis, language: Language, *, full: bool) -> Text:
    """What a setting would make visible comes first: the reader can do something about it."""
    rows = sorted(diagnosis.unknown, key=lambda u: "=" not in u.needs or u.needs.startswith("steps>="))
    chosen = rows if full else rows[:2]
    text = Text.assemble((say("cli.unknown", language, n=len(rows)), "bold"))
    parts = [
        f"{render.title(Finding(u.finding), language)} ({say('cli.to_tell', language, needs=render.needs(u.needs, language))})"
        for u in chosen
    ]
    text.append(": " + "; ".join(parts) + (" …" if len(rows) > len(chosen) else ""), style="dim")
    return text


def print_answer(answer: Answer, console: Console | None = None) -> None:
    """The answer as Markdown, and the line that says how its numbers were checked."""
    from rich.markdown import Markdown

    console = console_for(console)
    console.print(Markdown(answer.markdown))
    console.print()
    counts = {name: answer.checked.get(name, 0) for name in ("run", "derived", "knowledge", "unverified")}
    console.print(Text(say("cli.answer_footer", answer.language, total=len(answer.numbers), **counts), style="dim"))
    if answer.model and answer.usage:
        used = {name: answer.usage[name] for name in ("calls", "tokens_in", "tokens_out", "seconds")}
        cost = f", {say('cli.answer_cost', answer.language, cost=answer.usage['cost'])}" if "cost" in answer.usage else ""
        console.print(Text(say("cli.answer_by", answer.language, model=answer.model, **used) + cost, style="dim"))
    if answer.followups:
        console.print(Text(say("cli.followups", answer.language) + ": " + " · ".join(answer.followups), style="dim"))
