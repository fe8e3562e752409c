"""Teach me: a first reading of this run, eight numbers in the order of their importance.

Which they are is data (``knowledge/guides/lessons.yaml``), what they mean is in the metric cards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assistant.diagnosis import render
from assistant.diagnosis.finding import Diagnosis
from assistant.guide import rows, terms
from assistant.guide.loading import meaning_of, raw
from assistant.guide.parts import Lesson, Verdict
from assistant.guide.state import Reading
from assistant.guide.words import summary
from assistant.messages import Language, say

NUMBERS = 8


def teach(diagnosis: Diagnosis, language: Language = "en") -> list[Lesson]:
    """Up to eight lessons, the most important first; fewer when the log prints fewer, none for a log without metrics."""
    reading = Reading(diagnosis)
    shown_by = [point.metric for finding in diagnosis.faults for point in finding.evidence]
    known: set[str] = set()
    told: set[str] = set()
    lessons: list[Lesson] = []
    for entry in _entries(reading):
        if len(lessons) == NUMBERS:
            break
        canonical = next((name for name in entry["metrics"] if reading.logged(name)), None)
        row = rows.row(reading.view, canonical, language, (entry.get("should") or {}).get(language, ""), shown_by) if canonical else None
        if row is None:
            continue
        verdict, comment = _verdict(reading, entry, language)
        comment = "" if comment in told else comment
        told.add(comment)
        names = terms.used([row.plain, row.should, comment], language)
        explained = terms.explained(names, language, known)
        known.update(names)
        lessons.append(
            Lesson(row.metric, row.plain, row.should, row.yours, verdict, row.line, comment, row.step, row.points, explained, row.typical)
        )
    return lessons


def missing(diagnosis: Diagnosis, language: Language = "en") -> list[str]:
    """What of the first eight this log does not print although its framework can, as that calls it."""
    reading = Reading(diagnosis)
    if not reading.kind:
        return []
    wanted = [entry for entry in _entries(reading) if not entry.get("optional")][:NUMBERS]
    gone = [entry["metrics"][0] for entry in wanted if not any(reading.logged(name) for name in entry["metrics"])]
    names = [rows.short_name(reading.view, name, language) for name in gone]
    return [name for name in names if name.startswith("`")]


def _entries(reading: Reading) -> Iterator[Mapping[str, Any]]:
    """The lessons for this kind of training; for a log that shows no kind, everything that it prints of any."""
    data: Mapping[str, list[Mapping[str, Any]]] = raw("lessons")
    if reading.kind in data:
        yield from data[reading.kind]
        return
    seen: set[str] = set()
    for entry in (one for rows_ in data.values() for one in rows_):
        if entry["metrics"][0] not in seen:
            seen.add(entry["metrics"][0])
            yield entry


def _verdict(reading: Reading, entry: Mapping[str, Any], language: Language) -> tuple[Verdict, str]:
    """What the diagnosis says about this number, in a sentence."""
    checks = entry.get("checks", ())
    for name in reading.faults:
        if name in checks:
            meaning = meaning_of(name)
            plain = meaning.plain[language] if meaning else ""
            return "bad", say("guide.teach_bad", language, title=render.title(reading.faults[name], language), plain=plain)
    for name in reading.explained:
        if name in entry.get("info", ()):
            finding = reading.explained[name]
            return "odd", say("guide.teach_bad", language, title=render.title(finding, language), plain=summary(finding, language))
    states = {reading.state(name) for name in checks}
    if "fine" in states and not any(reading.too_short(name) for name in checks):
        return "good", ""
    if "unknown" not in states:
        return "context", ""
    needs = next((found for name in checks if (found := reading.to_see(name, language))), "")
    return "unknown", say("guide.teach_unknown", language, needs=needs) if needs else ""
