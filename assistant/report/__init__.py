"""A report to send to a colleague: one self-contained HTML page, or Markdown. What is quoted of the log is masked unless told otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assistant.messages import Language, say
from assistant.report.content import Talked

if TYPE_CHECKING:
    from assistant.diagnosis import Diagnosis
    from assistant.redaction import Redactor
    from assistant.report.content import Report
    from assistant.report.sides import Sides

__all__ = ["Talked", "html", "markdown"]


def html(
    diagnosis: Diagnosis,
    *,
    name: str = "",
    language: Language = "en",
    talk: Sequence[Talked] = (),
    against: tuple[str, Diagnosis] | None = None,
    earlier: bool = True,
    redactor: Redactor | None = None,
    redact: bool = True,
) -> str:
    """The page. ``name`` is what the user calls the log, ``talk`` the questions asked so far, ``against`` a second run (its name and
    diagnosis) which is the later one where ``earlier`` (this run came first), ``redactor`` one that has marks already."""
    from assistant.report.as_html import page

    report, sides, masked = _made(diagnosis, name, language, talk, against, earlier, redactor, redact)
    return page(report, sides, masked)


def markdown(
    diagnosis: Diagnosis,
    *,
    name: str = "",
    language: Language = "en",
    talk: Sequence[Talked] = (),
    against: tuple[str, Diagnosis] | None = None,
    earlier: bool = True,
    redactor: Redactor | None = None,
    redact: bool = True,
) -> str:
    """The same as Markdown; see `html`."""
    from assistant.report.as_markdown import text

    report, sides, masked = _made(diagnosis, name, language, talk, against, earlier, redactor, redact)
    return text(report, sides, masked)


def _made(
    diagnosis: Diagnosis,
    name: str,
    language: Language,
    talk: Sequence[Talked],
    against: tuple[str, Diagnosis] | None,
    earlier: bool,
    redactor: Redactor | None,
    redact: bool,
) -> tuple[Report, Sides | None, str]:
    from assistant.diagnosis.compare import compare_diagnosed
    from assistant.redaction import Redactor
    from assistant.report.content import report_of
    from assistant.report.sides import sides_of

    if redactor is None:
        redactor = Redactor()
    mask = redactor.mask if redact else str
    sides, other = None, ""
    if against is not None:
        other = against[0]
        own = name or say("report.this_log", language)
        (a, first), (b, later) = ((own, diagnosis), against) if earlier else (against, (own, diagnosis))
        sides = sides_of(compare_diagnosed(first, later), (a, b), language, mask=mask)
    report = report_of(diagnosis, name=name, language=language, talk=talk, other=other, mask=mask)
    return report, sides, _masked(redactor, redact, language)


def _masked(redactor: Redactor, redact: bool, language: Language) -> str:
    if not redact:
        return say("report.not_masked", language)
    if not redactor.found:
        return say("report.masked_none", language)
    kinds = ("、" if language == "zh" else ", ").join(
        f"{say(f'cli.redact_{kind}', language)} {n}" for kind, n in sorted(redactor.found.items())
    )
    return say("report.masked", language, kinds=kinds)
