"""What a report says, before it is HTML or Markdown. Whatever comes out of the log has gone through ``mask``; cards are trusted text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assistant.charts import Panels, panels_of, renamed, times_of
from assistant.charts.selection import drawable
from assistant.diagnosis import Diagnosis, Finding, RunView, render
from assistant.diagnosis.facts import number
from assistant.diagnosis.settings import observed
from assistant.diagnosis.story import story, told
from assistant.diagnosis.timing import Row, step_times
from assistant.messages import Language, say
from assistant.run import Run
from assistant.web.overview import counts, notes, tone, verdict, when

Mask = Callable[[str], str]
POINTS = 600
"""Values of one curve that are drawn in a report: it stays small enough to send."""
MAIN = (
    ("score_mean", "reward_mean", "train_loss", "preference_loss"),
    ("policy_entropy",),
    ("response_length_mean",),
    ("policy_total_loss", "value_loss"),
    ("policy_grad_norm",),
)
"""What says most about a run; of each row the first that this framework prints."""
MOST_MAIN = 5
EXCERPT = 600
"""Characters of a log line that are quoted."""


@dataclass(frozen=True, slots=True)
class Talked:
    """One question of the talk. ``markdown`` is the answer as shown, ``checked`` counts its numbers by what they were matched to."""

    question: str
    markdown: str
    checked: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Value:
    """A printed value; ``text`` are its digits."""

    metric: str
    step: int | None
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to do. ``key`` is a setting ("" for a step that is none), ``start`` and ``to`` its values ("" where not known)."""

    key: str
    start: str
    origin: str
    to: str
    why: str
    check: str


@dataclass(frozen=True, slots=True)
class Item:
    """A finding in words. Texts of cards may hold `` `code` `` and ``**bold**``; ``summary`` too."""

    id: str
    title: str
    severity: str
    level: str
    about: tuple[str, ...]
    summary: str
    follows: str
    values: tuple[Value, ...]
    excerpt: tuple[tuple[int, str, int], ...]
    """Line, text, characters left out."""
    causes: tuple[str, ...]
    changes: tuple[Change, ...]
    overrides: tuple[str, ...]
    rules_out: tuple[str, ...]
    panels: Panels


@dataclass(frozen=True, slots=True)
class TimeRow:
    """A part of the step: seconds in a step that has it, share of all time (None outside the step), steps that have it."""

    name: str
    seconds: str
    share: str
    n: int
    inner: bool


@dataclass(frozen=True, slots=True)
class Report:
    title: str
    name: str
    tone: str
    verdict: str
    lead: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    faults: tuple[Item, ...]
    odd: tuple[Item, ...]
    main: Panels
    """The curves that say most about a run, where no finding has any."""
    times: tuple[TimeRow, ...]
    time_panels: Panels
    talk: tuple[Talked, ...]
    fine: tuple[str, ...]
    unknown: tuple[tuple[str, tuple[str, ...]], ...]
    """What is needed, and the possible faults that need it."""
    read: tuple[str, ...]
    unread: tuple[tuple[int, str], ...]
    sha256: str
    other: str
    curves: Mapping[str, str]
    language: Language


def report_of(
    diagnosis: Diagnosis,
    *,
    name: str = "",
    language: Language = "en",
    talk: Sequence[Talked] = (),
    other: str = "",
    mask: Mask = str,
) -> Report:
    """``other`` is what the run that this one is compared with is called."""
    run, view = diagnosis.run, RunView(diagnosis.run)
    shown = mask(name) or say("web.pasted_log", language)
    lead = [counts(diagnosis, language)] if diagnosis.healthy else []
    if found := story(diagnosis):
        lead.append(told(found, language))
    faults = tuple(_item(finding, view, language, mask) for finding in diagnosis.faults)
    main = Panels() if any(item.panels for item in faults) else _main(view)
    drawn = {point.metric for finding in diagnosis.faults for point in finding.evidence} | set(main.names)
    return Report(
        title=say("report.title", language, name=shown),
        name=shown,
        tone=tone(diagnosis).removeprefix("tone-"),
        verdict=verdict(diagnosis, language),
        lead=tuple(lead),
        facts=tuple(_facts(run, language, mask)),
        faults=faults,
        odd=tuple(_item(finding, view, language, mask) for finding in diagnosis.findings if finding.severity == "info"),
        main=renamed(main, mask),
        times=tuple(_times(view, language, mask)),
        time_panels=renamed(times_of(view, most=120), mask),
        talk=tuple(Talked(mask(one.question), mask(one.markdown), one.checked) for one in talk),
        fine=tuple(render.title(Finding(fine), language) for fine in diagnosis.fine),
        unknown=tuple(_unknown(diagnosis, language)),
        read=tuple(_read(run, language, mask)),
        unread=tuple((line, mask(text)[:EXCERPT]) for line, text in run.unread_samples[:5]),
        sha256=run.sha256,
        other=mask(other) or say("web.pasted_log", language),
        curves={mask(name): curve for name in sorted(drawn) if (curve := _curve(view, name, language))},
        language=language,
    )


def _main(view: RunView) -> Panels:
    """Score, validation, entropy, length and the like: what this framework prints of them."""
    rows = ([series.name for name in row if (series := view[name]) is not None] for row in MAIN)
    known = [names[0] for names in rows if names]
    held_out = next((v.key.key for v in view.validations() if drawable(view, v.key.key) is not None), None)
    names = [*known[:1], *([held_out] if held_out else []), *known[1:]]
    return panels_of([name for name in names if drawable(view, name) is not None][:MOST_MAIN], view, most=POINTS)


def _facts(run: Run, language: Language, mask: Mask) -> list[tuple[str, str]]:
    version = run.era if run.era != "unknown" else say("web.version_unknown", language)
    if run.first_step is None:
        steps = say("web.steps_none", language)
    elif run.total_steps:
        steps = say("web.steps_of", language, first=run.first_step, last=run.last_step, total=run.total_steps)
    else:
        steps = say("web.steps_range", language, first=run.first_step, last=run.last_step)
    rows = {"framework": f"{mask(run.framework)} {mask(version)}", "algorithm": mask(run.algorithm or say("web.not_recognised", language))}
    rows |= {"steps": steps, "metrics": f"{len(run.columns):,}", "settings": f"{len(run.config):,}", "lines": f"{run.n_lines:,}"}
    return [(say(f"web.{key}", language), value) for key, value in rows.items()]


def _item(finding: Finding, view: RunView, language: Language, mask: Mask) -> Item:
    run, level = view.run, finding.severity or "medium"
    sure = "high" if finding.confidence >= 0.8 else "medium" if finding.confidence >= 0.55 else "low"
    about = [when(finding, run, language), "" if level == "info" else say(f"web.confidence_{sure}", language)]
    names = ("、" if language == "zh" else ", ").join(render.title(Finding(one), language) for one in finding.follows)
    changes = [_change(fix, run, language, mask) for fix in render.fixes(finding, run, language) if not _set_already(fix, run)]
    return Item(
        id=finding.id,
        title=render.title(finding, language),
        severity=level,
        level=say(f"web.severity_{level}", language),
        about=tuple(part for part in about if part),
        summary=mask(render.summary(finding, language)),
        follows=say("web.follows", language, names=names) if names else "",
        values=tuple(Value(mask(p.metric), p.step, p.text, p.line) for p in finding.evidence),
        excerpt=tuple((row.line, (text := mask(row.text))[:EXCERPT], max(len(text) - EXCERPT, 0)) for row in finding.excerpt),
        causes=tuple(render.causes(finding, language)),
        changes=tuple(changes),
        overrides=tuple(f"{one.key}={one.to}" for one in changes if one.key and _assignable(one.to)),
        rules_out=tuple(render.rules_out(finding, language)),
        panels=Panels() if level == "info" else renamed(panels_of(finding, view, most=POINTS), mask),
    )


def _set_already(fix: dict[str, Any], run: Run) -> bool:
    return fix["key"] in run.config and fix["from"] == fix["to"]


def _change(fix: dict[str, Any], run: Run, language: Language, mask: Mask) -> Change:
    key = fix["key"] or ""
    start = "" if fix["from"] is None else mask(setting(fix["from"]))
    origin = say("web.in_log" if key and observed(run, key) is not None else "web.by_default", language) if start else ""
    return Change(key, start, origin, "" if fix["to"] is None else setting(fix["to"]), fix["why"] or "", fix["check"] or "")


def setting(value: Any) -> str:
    """A setting as Hydra writes it."""
    return "null" if value is None else str(value)


def _assignable(text: str) -> bool:
    """A number or a truth value, which can be written after ``=`` as it is."""
    return text in ("True", "False") or text.replace(".", "").replace("-", "").replace("e", "").replace("+", "").isdigit()


def _times(view: RunView, language: Language, mask: Mask) -> list[TimeRow]:
    found = step_times(view)
    return [] if found is None else [_time_row(row, language, mask) for row in found.table()]


def _time_row(row: Row, language: Language, mask: Mask) -> TimeRow:
    name = say("report.rest", language) if row.canonical == "residual" else mask(row.name)
    if row.parent == "outside":
        name = say("report.outside", language, name=name)
    elif row.parent != "step":
        name = say("report.inner", language, name=name)
    share = "" if row.parent == "outside" else f"{100 * row.share:.1f}%"
    return TimeRow(name, number(row.seconds), share, row.n, row.parent in ("gen", "adv"))


def _unknown(diagnosis: Diagnosis, language: Language) -> list[tuple[str, tuple[str, ...]]]:
    by_need: dict[str, list[str]] = {}
    for one in diagnosis.unknown:
        by_need.setdefault(render.needs(one.needs, language), []).append(render.title(Finding(one.finding), language))
    return [(need, tuple(names)) for need, names in by_need.items()]


def _read(run: Run, language: Language, mask: Mask) -> list[str]:
    """Why this version and estimator, the reader's notes, and whether every metric line was read."""
    said = []
    if run.era_evidence:
        said.append(f"{say('web.why_version', language)}: {mask('; '.join(render.era_evidence(run, language)))}")
    if run.algorithm_evidence:
        said.append(f"{say('web.why_algorithm', language)}: {mask(render.algorithm_evidence(run, language))}")
    said += [mask(note) for note in notes(run, language)]
    if run.unread_lines:
        said.append(say("web.not_read", language, n=run.unread_lines))
    elif run.n_rows:
        said.append(say("web.all_read", language))
    return said


def _curve(view: RunView, name: str, language: Language) -> str:
    """The curve in one line of text, for readers without pictures; "" where there is none."""
    from assistant.cli.sparkline import sparkline

    series = view.printed(name)
    if series is None or len(series) < 2 or not series.finite.any():
        return ""
    kept = np.flatnonzero(series.finite)
    values = series.values[kept]
    low, high, last = (series.text(int(kept[i])) for i in (values.argmin(), values.argmax(), len(values) - 1))
    return f"{sparkline(series.values, 24)} {say('report.range', language, low=low, high=high, last=last)}"
