"""What was understood of a log, for people and as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from assistant.diagnosis.facts import number
from assistant.diagnosis.naming import resolve
from assistant.diagnosis.render import algorithm_evidence, era_evidence, log_json, metric_title
from assistant.messages import Language, has, say
from assistant.run import Run, Series, json_value

ROWS = 60
EVENTS = 20


def parse_json(run: Run, language: Language, *, records: bool = False) -> dict[str, Any]:
    """The object that ``runwhy parse --json`` prints."""
    names = resolve(run.columns, run.framework)
    out: dict[str, Any] = {
        "log": log_json(run),
        "metrics": {
            name: {"canonical": names[name].canonical or None, **_summary(series)}
            for name in run.columns
            if (series := run.series(name)) is not None
        },
        "config": run.config,
        "events": [{"kind": e.kind, "line": e.line, "text": e.text, "step": e.step, "fatal": e.fatal} for e in run.events],
        "unread_lines": run.unread_lines,
        "notes": [note_text(n.kind, n.line, n.data, language) for n in run.notes],
        "why": why(run, language),
    }
    if records:
        out["records"] = list(run.records())
    return out


def _summary(series: Series) -> dict[str, Any]:
    values = series.values[series.finite]
    return {
        "n": len(series),
        "first": json_value(float(series.values[0]), int(series.styles[0])),
        "last": json_value(float(series.values[-1]), int(series.styles[-1])),
        "min": float(values.min()) if len(values) else None,
        "max": float(values.max()) if len(values) else None,
        "n_nonfinite": series.n_nonfinite,
    }


def why(run: Run, language: Language) -> str:
    """On what the framework, version and algorithm rest."""
    parts = [*era_evidence(run, language), algorithm_evidence(run, language)]
    return "; ".join(part for part in parts if part)


def note_text(kind: str, line: int | None, data: Any, language: Language) -> str:
    key = f"logs.note.{kind}"
    return say(key, language, **{**data, "line": line}) if has(key) else kind


def print_parse(run: Run, language: Language, *, records: bool = False, console: Console | None = None) -> None:
    """A readable summary: what it is, why, the metrics, settings, events, and what was not read."""
    from assistant.cli.note import header

    console = console or Console(highlight=False)
    _label(console, say("cli.parse_read", language), header(run, language))
    if reason := why(run, language):
        _label(console, say("cli.parse_why", language), reason)
    counted = say("cli.parse_records", language, records=run.n_records, rows=run.n_rows, metrics=len(run.columns))
    _label(console, say("cli.parse_metrics", language), counted)
    if run.columns:
        console.print(_table(run, language))
    if derived := _derived(run):
        _label(console, say("cli.parse_derived", language), "; ".join(derived))
    if run.config:
        some = ", ".join(f"{key}={value}" for key, value in list(run.config.items())[:8])
        _label(console, say("cli.parse_config", language, n=len(run.config)), some + (" …" if len(run.config) > 8 else ""))
    if run.events:
        _label(console, say("cli.parse_events", language, n=len(run.events)), "")
        for event in run.events[:EVENTS]:
            where = say("cli.line", language, line=event.line)
            console.print(Text(f"  {where}  {event.kind}  {event.text[:140]}", style="red" if event.fatal else ""))
        if len(run.events) > EVENTS:
            console.print(Text(f"  … +{len(run.events) - EVENTS}", style="dim"))
    if run.notes:
        _label(console, say("cli.parse_notes", language), "")
        for one in run.notes:
            console.print(Text("  " + note_text(one.kind, one.line, one.data, language)))
    if run.unread_lines:
        console.print(Text(say("cli.parse_unread", language, n=run.unread_lines), style="yellow"))
        for line, text in run.unread_samples[:5]:
            console.print(Text(f"  {say('cli.line', language, line=line)}  {text[:140]}", style="dim"))
    else:
        console.print(Text(say("cli.parse_all_read", language), style="dim"))
    if records:
        for record in run.records():
            console.print(Text(f"{record['step']}  " + "  ".join(f"{k}={v}" for k, v in record["values"].items())))


def _label(console: Console, label: str, text: str) -> None:
    console.print(Text.assemble((label + ": ", "bold"), text))


def _table(run: Run, language: Language) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="bold dim")
    for column in ("metric", "meaning"):
        table.add_column(say(f"cli.column_{column}", language), overflow="fold", style="cyan" if column == "metric" else "")
    for column in ("first", "last", "min", "max", "n", "nonfinite"):
        table.add_column(say(f"cli.column_{column}", language), justify="right", no_wrap=True)
    names = resolve(run.columns, run.framework)
    shown = list(run.columns)[:ROWS]
    for name in shown:
        series = run.series(name)
        if series is None:
            continue
        values = series.values[series.finite]
        low, high = (number(float(np.min(values))), number(float(np.max(values)))) if len(values) else ("", "")
        meaning = metric_title(names[name].canonical, language) if names[name].canonical else ""
        bad = str(series.n_nonfinite) if series.n_nonfinite else ""
        table.add_row(name, meaning, _short(series, 0), _short(series, -1), low, high, str(len(series)), bad)
    if len(run.columns) > ROWS:
        table.add_row(f"… +{len(run.columns) - ROWS}", "", "", "", "", "", "", "")
    return table


def _short(series: Series, index: int) -> str:
    text = series.text(index)
    return text if len(text) <= 10 else number(float(series.values[index]))


def _derived(run: Run) -> list[str]:
    try:
        from assistant.derived import derived_quantities
    except ImportError:
        return []
    from assistant.diagnosis.view import RunView

    return [f"{name} ≈ {number(q.value)} ({q.formula})" for name, q in derived_quantities(RunView(run)).items()]
