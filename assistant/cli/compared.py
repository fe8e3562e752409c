"""Two runs side by side, as JSON and on one screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assistant.cli.note import COLOUR, console_for, header
from assistant.diagnosis import render
from assistant.diagnosis.compare import Comparison, ConfigDifference, Parting
from assistant.diagnosis.facts import number
from assistant.diagnosis.finding import Finding
from assistant.messages import Language, say

SHOWN = 12
"""Curves and settings that the screen shows; the JSON has them all."""

_VERDICTS = {"fixed": "bold green", "both-healthy": "bold green", "improved": "green", "too-early": "yellow"}


def comparison_json(found: Comparison, language: Language = "en") -> dict[str, Any]:
    """The object that ``runwhy compare --json`` prints."""
    return {
        "a": {"log": render.log_json(found.a.run)},
        "b": {"log": render.log_json(found.b.run)},
        "shared_steps": found.shared_steps,
        "config": [{"key": one.key, "a": one.a, "b": one.b, "matters": one.matters, "acts_on": list(one.acts_on)} for one in found.config],
        "metrics": [
            {
                "metric": one.metric,
                "canonical": one.canonical,
                "parts_at": one.parts_at,
                "a": one.a,
                "b": one.b,
                "size": round(one.size, 2) if one.size < 1e6 else None,
                "explained_by": list(one.explained_by),
                "better": one.better,
            }
            for one in found.metrics
        ],
        "findings": {
            "only_a": [_finding_json(finding, language) for finding in found.only_a],
            "only_b": [_finding_json(finding, language) for finding in found.only_b],
            "both": [{**_finding_json(one, language), "a_step": one.first_step, "b_step": other.first_step} for one, other in found.both],
        },
        "verdict": found.verdict,
        "summary": say(f"compare.verdict_{found.verdict}", language),
    }


def _finding_json(finding: Finding, language: Language) -> dict[str, Any]:
    return {"id": finding.id, "severity": finding.severity, "title": render.title(finding, language), "first_step": finding.first_step}


def print_comparison(found: Comparison, language: Language, console: Console | None = None) -> None:
    """Verdict, findings of each, settings that differ, curves that part."""
    out = console_for(console)
    for letter, diagnosis in (("A", found.a), ("B", found.b)):
        out.print(Text(say("compare.run", language, letter=letter, header=header(diagnosis.run, language)), style="dim"))
    out.print(Text(say(f"compare.verdict_{found.verdict}", language), style=_VERDICTS.get(found.verdict, "bold red")))
    if reason := _likely(found, language):
        out.print(Text(reason))
    out.print()
    _print_findings(out, found, language)
    _print_settings(out, found.config, language)
    _print_curves(out, found, language)


def _likely(found: Comparison, language: Language) -> str:
    """The setting that most likely made the difference: the first one that acts on a curve which parts."""
    by_key = {one.key: one for one in found.config}
    for parting in found.metrics:
        if parting.explained_by:
            setting = by_key[parting.explained_by[0]]
            key = "compare.likely" if parting.parts_at is not None else "compare.likely_ends"
            values = {"a": _value(setting.a, language), "b": _value(setting.b, language)}
            return say(key, language, key=setting.key, metric=parting.metric, step=parting.parts_at, **values)
    return ""


def _print_findings(out: Console, found: Comparison, language: Language) -> None:
    rows: list[tuple[str, Finding, str]] = [(say("compare.only", language, letter="A"), f, _since(f, language)) for f in found.only_a]
    rows += [(say("compare.only", language, letter="B"), f, _since(f, language)) for f in found.only_b]
    rows += [(say("compare.both", language), other, f"{_since(one, language)} → {_since(other, language)}") for one, other in found.both]
    if not rows:
        return
    out.print(Text(say("compare.findings", language), style="bold"))
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for where, finding, since in rows:
        table.add_row(
            Text(where, style="dim"), Text(render.title(finding, language), style=COLOUR[finding.severity or "medium"]), Text(since)
        )
    out.print(Padding(table, (0, 0, 1, 2)))


def _since(finding: Finding, language: Language) -> str:
    return "–" if finding.first_step is None else say("compare.since", language, step=finding.first_step)


def _print_settings(out: Console, settings: Sequence[ConfigDifference], language: Language) -> None:
    if not settings:
        out.print(Text(say("compare.no_config", language), style="dim"))
        return
    out.print(Text(say("compare.config", language), style="bold"))
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    known = [one for one in settings if one.matters]
    for one in known[:SHOWN]:
        acts = say("compare.acts_on", language, names=", ".join(one.acts_on[:3])) if one.acts_on else ""
        change = f"{_value(one.a, language)} → {_value(one.b, language)}"
        table.add_row(Text(one.key, style="cyan"), Text(change, style="green"), Text(acts, style="dim"))
    out.print(Padding(table, (0, 0, 0, 2)))
    rest = [one.key for one in (*known[SHOWN:], *(s for s in settings if not s.matters))]
    if rest:
        names = ", ".join(rest[:5]) + (" …" if len(rest) > 5 else "")
        out.print(Padding(Text(say("compare.other_config", language, n=len(rest), names=names), style="dim"), (0, 0, 0, 2)))
    out.print()


def _value(value: Any, language: Language) -> str:
    return say("compare.unset", language) if value is None else str(value)


def _print_curves(out: Console, found: Comparison, language: Language) -> None:
    if not found.metrics:
        out.print(Text(say("compare.no_metrics", language, shared=found.shared_steps), style="dim"))
        return
    out.print(Text(say("compare.metrics", language, n=len(found.metrics), shared=found.shared_steps), style="bold"))
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in (
        say("compare.column_metric", language),
        say("compare.column_from", language),
        "A",
        "B",
        "",
        say("compare.column_setting", language),
    ):
        table.add_column(name)
    for one in found.metrics[:SHOWN]:
        table.add_row(*_curve(one, language))
    out.print(Padding(table, (0, 0, 0, 2)))


def _curve(one: Parting, language: Language) -> list[Text]:
    step = say("compare.ends", language) if one.parts_at is None else str(one.parts_at)
    better = say("compare.better", language, letter=one.better.upper()) if one.better else ""
    return [
        Text(one.metric, style="cyan"),
        Text(step),
        Text(number(one.a)),
        Text(number(one.b)),
        Text(better, style="dim"),
        Text(", ".join(one.explained_by[:2]), style="dim"),
    ]
