"""``runwhy report``: a file to send to a colleague."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from assistant.cli.commands import InFormat, InLanguage, Json, Log, _guarded, app, language_of, print_json
from assistant.cli.loading import Unreadable, load
from assistant.messages import Language, say

ENDINGS = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown"}

Output = Annotated[str | None, typer.Option("--output", "-o", metavar="FILE", help="FILE.html or FILE.md; default: Markdown here.")]
Against = Annotated[str | None, typer.Option(metavar="OTHER", help="A later run's log to compare with.")]
Redact = Annotated[bool, typer.Option(help="Mask keys, names and addresses in what is quoted of the log.")]


@app.command()
@_guarded
def report(
    log: Log,
    output: Output = None,
    against: Against = None,
    redact: Redact = True,
    format: InFormat = None,
    as_json: Json = False,
    lang: InLanguage = None,
) -> None:
    """A report to send to a colleague: one HTML file that needs nothing else, or Markdown."""
    language = language_of(lang)
    kind = kind_of(output, language)
    text = written(log, against, kind, language, redact=redact, format=format)
    if as_json:
        print_json(as_json_object(text, kind, language))
    if output is not None or not as_json:
        give(text, output, language)


def kind_of(output: str | None, language: Language) -> str:
    """``html`` or ``markdown``, by the file's ending; Markdown on the screen. Raises Unreadable for another ending."""
    if output is None or output == "-":
        return "markdown"
    path = Path(output)
    if path.suffix.lower() not in ENDINGS:
        raise Unreadable(say("report.odd_ending", language, name=path.name or output))
    return ENDINGS[path.suffix.lower()]


def written(log: str, against: str | None, kind: str, language: Language, *, redact: bool = True, format: str | None = None) -> str:
    """The report on ``log``, compared with the run ``against`` (the later one) if there is one."""
    from assistant import report as reports
    from assistant.cli.redacted import redactor_for
    from assistant.diagnosis import diagnose

    diagnosis = diagnose(load(log, language, format))
    other = (_name(against), diagnose(load(against, language))) if against is not None else None
    make = reports.html if kind == "html" else reports.markdown
    try:
        return make(diagnosis, name=_name(log), language=language, against=other, redactor=redactor_for(()), redact=redact)
    except ModuleNotFoundError as problem:
        if problem.name != "matplotlib":
            raise
        raise Unreadable(say("report.needs_matplotlib", language)) from problem


def _name(source: str) -> str:
    return "" if source == "-" else Path(source).name


def give(text: str, output: str | None, language: Language) -> None:
    """Write the file, or print. Raises Unreadable when the file cannot be written."""
    if output is None or output == "-":
        sys.stdout.write(text)
        return
    data = text.encode("utf-8")
    try:
        Path(output).write_bytes(data)
    except OSError as problem:
        raise Unreadable(say("report.cannot_write", language, path=output, reason=problem.strerror or problem)) from problem
    print(say("report.written", language, path=output, size=_size(len(data))), file=sys.stderr)


def as_json_object(text: str, kind: str, language: Language) -> dict[str, Any]:
    return {"format": kind, "language": language, "report": text}


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1000:.0f} kB" if n_bytes >= 1000 else f"{n_bytes} B"
