"""A diagnosis as a doctor's note that fits one screen, and an answer as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from assistant.cli.sparkline import sparkline
from assistant.diagnosis import RunView, render
from assistant.diagnosis.finding import Diagnosis, Finding
from assistant.messages import Language, say
from assistant.run import Run

if TYPE_CHECKING:
    from assistant.answers import Answer

COLOUR = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "cyan", "info": "dim"}
SHOWN_IN_FULL = 3
SPARK_WIDTH = 24


def print_note(diagnosis: Diagnosis, language: Language, console: Console | None = None) -> None:
    (console or Console(highlight=False)).print(note(diagnosis, language))


def note(diagnosis: Diagnosis, language: Language) -> RenderableType:
    """Header, verdict, the first findings in full, the rest in a line each, what is fine and what cannot be told."""
    view = RunView(diagnosis.run)
    parts: list[RenderableType] = [Text(header(diagnosis.run, language), style="dim"), "", verdict(diagnosis, language), ""]
    for number, finding in enumerate(diagnosis.faults):
        if number < SHOWN_IN_FULL:
            parts += [_finding(finding, view, language, first=number == 0), ""]
        else:
            parts.append(_one_line(finding, language))
    if len(diagnosis.faults) > SHOWN_IN_FULL:
        parts.append("")
    odd = [finding for finding in diagnosis.findings if finding.severity == "info"]
    if odd:
        parts.append(Text(say("cli.odd_but_normal", language), style="bold"))
        parts += [
            Padding(Text.assemble((render.title(f, language) + ": ", "dim bold"), (render.summary(f, language), "dim")), (0, 0, 0, 2))
            for f in odd
        ]
        parts.append("")
    parts.append(_names(say("cli.fine", language, n=len(diagnosis.fine)), list(diagnosis.fine), language))
    if diagnosis.unknown:
        needs = sorted({render.needs(u.needs, language) for u in diagnosis.unknown})
        label = say("cli.unknown", language, n=len(diagnosis.unknown))
        parts.append(
            _names(label, [u.finding for u in diagnosis.unknown], language, tail=say("cli.to_tell", language, needs=", ".join(needs[:3])))
        )
    if diagnosis.findings:
        parts += ["", Text(f"{say('cli.next', language)}: {say('cli.next_ask', language, name=diagnosis.findings[0].id)}", style="dim")]
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
    start = "" if not faults[0].id.startswith("crash-") else say("cli.crashed", language) + " · "
    return Text(f"✗ {start}{counted}", style=f"bold {COLOUR[faults[0].severity or 'medium'].split()[-1]}")


def when(finding: Finding, diagnosis_last: int | None, language: Language) -> str:
    """``since step 33``, or the stretch when it has ended, or "" when no step is known."""
    if finding.first_step is None:
        return ""
    if finding.last_step == finding.first_step:
        return say("cli.at_step", language, step=finding.first_step)
    if finding.last_step is None or diagnosis_last is None or finding.last_step >= diagnosis_last:
        return say("cli.since_step", language, step=finding.first_step)
    return say("cli.steps_to", language, first=finding.first_step, last=finding.last_step)


def _finding(finding: Finding, view: RunView, language: Language, *, first: bool) -> RenderableType:
    run = view.run
    severity = finding.severity or "medium"
    about = [say(f"cli.severity_{severity}", language)]
    if since := when(finding, run.last_step, language):
        about.append(since)
    about.append(say("cli.confidence", language, value=f"{finding.confidence:.1f}"))
    lines: list[RenderableType] = [
        Text.assemble((f"{render.title(finding, language)}", COLOUR[severity]), (f"  {' · '.join(about)}", "dim")),
        Text(render.summary(finding, language)),
    ]
    lines += _evidence(finding, view, language)
    causes, fixes = render.causes(finding, language), render.fixes(finding, run, language)
    if causes:
        lines.append(Text.assemble((say("cli.cause", language) + ": ", "bold"), causes[0]))
    for fix in fixes[: 2 if first else 1]:
        lines.append(_fix(fix, language))
    if first and (excluded := render.rules_out(finding, language)):
        lines.append(Text.assemble((say("cli.wrong_if", language) + ": ", "bold"), excluded[0]))
    if finding.follows:
        names = ", ".join(render.title(f, language) for f in _by_id(finding.follows))
        lines.append(Text(say("cli.follows", language, names=names), style="dim"))
    head, *rest = lines
    return Group(head, Padding(Group(*rest), (0, 0, 0, 2)))


def _by_id(ids: Any) -> list[Finding]:
    return [Finding(name) for name in ids]


def _evidence(finding: Finding, view: RunView, language: Language) -> list[RenderableType]:
    """One line a metric: curve, and the printed values that carry the finding."""
    metrics: dict[str, list[str]] = {}
    for point in finding.evidence:
        metrics.setdefault(point.metric, []).append(f"{point.text} @{point.step}" if point.step is not None else point.text)
    lines: list[RenderableType] = []
    for metric, shown in list(metrics.items())[:3]:
        series = view.printed(metric) if metric in view.names else None
        curve = sparkline(series.values, SPARK_WIDTH) if series is not None and len(series) > 2 else ""
        lines.append(Text.assemble((metric, "cyan"), f"  {curve}  " if curve else "  ", " → ".join(shown)))
    for excerpt in getattr(finding, "excerpt", ())[:2]:
        lines.append(Text.assemble((say("cli.line", language, line=excerpt.number) + "  ", "dim"), (excerpt.text[:160], "italic")))
    return lines


def _fix(fix: dict[str, Any], language: Language) -> Text:
    text = Text.assemble((say("cli.do", language) + ": ", "bold"))
    if fix["key"]:
        change = (
            f"{fix['key']}" + (f": {fix['from']}" if fix["from"] is not None else "") + (f" → {fix['to']}" if fix["to"] is not None else "")
        )
        text.append(change, style="green").append(" · " if fix["why"] else "")
    text.append(fix["why"])
    if fix["check"]:
        text.append(f" ({say('cli.watch', language)}: {fix['check']})", style="dim")
    return text


def _one_line(finding: Finding, language: Language) -> Text:
    severity = finding.severity or "medium"
    since = when(finding, None, language)
    return Text.assemble(
        ("· ", "dim"), (render.title(finding, language), COLOUR[severity]), (f"  {since}  ", "dim"), render.summary(finding, language)
    )


def _names(label: str, names: list[str], language: Language, tail: str = "") -> Text:
    shown = ", ".join(names[:6]) + (" …" if len(names) > 6 else "")
    return Text.assemble((label, "bold"), (f": {shown}" if shown else "", "dim"), (f" — {tail}" if tail else "", "dim"))


def print_answer(answer: Answer, console: Console | None = None) -> None:
    """The answer as Markdown, and the line that says how its numbers were checked."""
    from rich.markdown import Markdown

    console = console or Console(highlight=False)
    console.print(Markdown(answer.markdown))
    total = len(answer.numbers)
    console.print()
    console.print(Text(say("cli.answer_footer", answer.language, total=total, **_counts(answer)), style="dim"))
    if answer.followups:
        console.print(Text(say("cli.followups", answer.language) + ": " + " · ".join(escape(f) for f in answer.followups), style="dim"))


def _counts(answer: Answer) -> dict[str, int]:
    checked = answer.checked
    return {name: checked.get(name, 0) for name in ("run", "derived", "knowledge", "unverified")}
