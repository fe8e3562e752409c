"""A position of a walk as a page in one language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from assistant.cards import card, pick
from assistant.diagnosis import render
from assistant.diagnosis.finding import Diagnosis, Finding
from assistant.diagnosis.naming import family, metric_card
from assistant.guide import rows as rowing
from assistant.guide import terms
from assistant.guide.loading import DEEPER, ELSEWHERE, END, NEXT, ON, START, THIS, URGENT, WALK, Step, guides, meaning_of
from assistant.guide.outcome import outcome_of
from assistant.guide.parts import Outcome, Page, Row
from assistant.guide.state import Reading
from assistant.guide.walk import Position, Skipped, by_default, default, offered, positions, target, urgent
from assistant.guide.words import safe, summary
from assistant.messages import Language, say
from assistant.run import SourceLine

MOST_QUOTES = 3
MOST_UNKNOWN = 2
QUOTE = 300
"""Characters of a quoted line; more is cut with an ellipsis."""


def pages(diagnosis: Diagnosis, guide_id: str, choices: Sequence[str], language: Language = "en") -> Iterator[Page]:
    """Every page up to the present one; words that an earlier page explained are not explained again."""
    reading = Reading(diagnosis)
    known: set[str] = set()
    for n, place in enumerate(positions(reading, guide_id, choices)):
        yield _page(reading, place, tuple(choices[:n]), known, language)


def _page(reading: Reading, place: Position, taken: tuple[str, ...], known: set[str], language: Language) -> Page:
    if place.guide == START:
        page, texts = _start(reading, language)
    elif place.done:
        page, texts = _last(reading, place, language)
    else:
        page, texts = _step(reading, place, language)
    names = terms.used(texts, language)
    explained = terms.explained(names, language, known)
    known.update(names)
    here = len(taken) + 1
    about = here if place.done else here + sum(1 for _ in by_default(reading, place))
    return replace(page, terms=explained, progress=(here, about), choices=taken, guide=place.guide, step=place.step)


def _start(reading: Reading, language: Language) -> tuple[Page, list[str]]:
    first = next(iter(reading.faults.values()), None)
    shows = say("guide.start_quiet", language) if first is None else say("guide.start_log", language, title=render.title(first, language))
    body = say("guide.start_body", language) + "\n\n" + shows
    options = [(guide.id, guide.title[language]) for guide in guides().values()]
    page = Page(
        say("guide.start_title", language),
        body,
        question=say("guide.start_question", language),
        options=options,
        default=default(reading, Position(START, START)),
    )
    return page, [body, *(label for _, label in options)]


def _step(reading: Reading, place: Position, language: Language) -> tuple[Page, list[str]]:
    guide = guides()[place.guide]
    step = guide.steps[place.step]
    state = "none" if step.choices else reading.state_of(step)
    rows = _rows(reading, step, language)
    read = step.read if family(reading.diagnosis.run.framework) in ("verl", "generic") else {}
    parts = [step.explain.get(language, ""), *_seen(reading, place, step, bool(rows), language), read.get(language, "")]
    if place.step == guide.first:
        parts.insert(0, say("guide.from_other", language) if place.jumps else guide.intro[language])
    body = "\n\n".join(part for part in parts if part)
    question = step.ask.get(language) or say(
        "guide.question_found" if state == "found" and not step.look else "guide.question_on", language
    )
    options = [(name, _label(reading, place, name, language)) for name in offered(reading, place)]
    page = Page(
        step.title[language],
        body,
        rows=rows,
        question=question,
        options=options,
        default=default(reading, place),
        by_log=not step.choices or any(reading.said(choice) for choice in step.choices),
        state=state,
        notes=tuple(_skipped(reading, one, language) for one in place.skipped),
        quotes=_quotes([reading.faults[name] for name in reading.found_in(step) if name not in _looked_at(place)]),
    )
    return page, [
        step.title[language],
        body,
        *(f"{row.plain}\n{row.should}" for row in rows),
        *(label for _, label in options),
        *page.notes,
    ]


def _last(reading: Reading, place: Position, language: Language) -> tuple[Page, list[str]]:
    found = outcome_of(reading, place, language)
    parts = [
        f"**{found.title}.** {found.meaning}" if language == "en" else f"**{found.title}。** {found.meaning}",
        found.summary,
        found.first,
    ]
    if found.findings and not (place.taken or place.noted):
        parts.insert(0, say("guide.not_what_you_said", language))
    body = "\n\n".join(part for part in parts if part)
    more = urgent(reading, place)
    page = Page(
        say("guide.result", language),
        body,
        options=[(URGENT, _label(reading, place, URGENT, language))] if more else [],
        done=True,
        outcome=found,
        state="found" if found.findings else "fine",
        notes=tuple(_skipped(reading, one, language) for one in place.skipped),
        quotes=[line for line in _quotes([reading.faults[name] for name in found.findings[:1]]) if line.text.strip()[:40] not in body],
    )
    return page, [body, *_texts(found)]


def _texts(found: Outcome) -> list[str]:
    return [
        *found.causes,
        *(f"{one.why}\n{one.check}" for one in found.changes),
        *found.watch_next,
        *found.told,
        *found.open,
        *found.wrong_if,
    ]


def _rows(reading: Reading, step: Step, language: Language) -> tuple[Row, ...]:
    """The step's metrics, first those that carry what was found here."""
    here = [point.metric for name in reading.found_in(step) for point in reading.faults[name].evidence]
    carrying = [reading.view.names[name].canonical for name in here if name in reading.view.names]
    shown_by = [*here, *(point.metric for finding in reading.faults.values() for point in finding.evidence)]
    names = [name for name in dict.fromkeys((*carrying, *step.metrics)) if name in step.metrics or rowing.plain_words(name)]
    found = (rowing.row(reading.view, name, language, shown_by=shown_by) for name in names)
    return tuple(one for one in found if one is not None)[: rowing.MOST]


def _seen(reading: Reading, place: Position, step: Step, numbers: bool, language: Language) -> Iterator[str]:
    """What the diagnosis says here, and what follows from it."""
    if step.choices:
        said = next((found for choice in step.choices if (found := reading.said(choice)) is not None), None)
        if said is None:
            yield say("guide.ask_note", language)
        else:
            yield say("guide.log_says", language, text=safe(said[0]), line=said[1])
        return
    state = reading.state_of(step)
    aim = target(reading, place)
    shown_before = _looked_at(place)
    for name in reading.found_in(step):
        finding, meaning = reading.faults[name], meaning_of(name)
        if name in shown_before and meaning is not None:
            yield say("guide.found_again", language, title=render.title(finding, language), plain=meaning.plain[language])
            continue
        yield say("guide.found_one", language, title=render.title(finding, language), summary=summary(finding, language))
        if meaning is not None:
            yield say("guide.in_plain_words", language, plain=meaning.plain[language])
    if state == "found":
        yield step.found.get(language, "")
        if aim is not None and aim not in step.checks and not step.look:
            yield say("guide.not_the_first", language)
        return
    if place.step == guides()[place.guide].first and place.guide != WALK:
        yield _not_seen(reading, place, aim, state, numbers, language)
        if aim is None and state in ("fine", "none"):
            yield guides()[place.guide].not_seen.get(language, "")
    for name in dict.fromkeys((*step.checks, *step.info)):
        if name in reading.explained:
            one = reading.explained[name]
            yield say("guide.explained", language, title=render.title(one, language), summary=summary(one, language))
    first = place.step == guides()[place.guide].first and place.guide != WALK
    if first and aim is not None:
        return
    if state == "fine":
        partly = any(reading.state(name) == "unknown" for name in step.checks)
        general = "" if first else say("guide.fine_partly" if partly else "guide.fine", language)
        yield general if partly else step.fine.get(language) or general
    elif state == "unknown":
        yield say("guide.cannot_tell", language)
    yield from _to_tell(reading, step, language)


def _looked_at(place: Position) -> frozenset[str]:
    """Findings that the first page of this guide has already shown with their values."""
    guide = guides()[place.guide]
    first = guide.steps[guide.first]
    return frozenset(first.checks) if first.look and place.step != guide.first else frozenset()


def _not_seen(reading: Reading, place: Position, aim: str | None, state: str, numbers: bool, language: Language) -> str:
    if not numbers and state not in ("fine",):
        return say("guide.no_numbers", language)
    if aim is not None:
        return guides()[place.guide].further.get(language) or say("guide.not_seen_further", language)
    top = next(iter(reading.faults.values()), None)
    if top is None:
        return say("guide.not_seen_quiet", language) if numbers else ""
    return say("guide.not_seen_other", language, title=render.title(top, language))


def _to_tell(reading: Reading, step: Step, language: Language) -> Iterator[str]:
    """For findings that could not be judged: which setting would show them, or, when nothing could be judged here, which metric."""
    said: set[str] = set()
    lone = reading.state_of(step) == "unknown"
    for name in step.checks:
        needs = reading.to_see(name, language) if reading.state(name) == "unknown" else ""
        if needs and needs not in said and len(said) < MOST_UNKNOWN and (lone or reading.settable(name)):
            said.add(needs)
            yield say("guide.to_tell", language, title=render.title(Finding(name), language), needs=needs)


def _skipped(reading: Reading, skipped: Skipped, language: Language) -> str:
    step = guides()[skipped.guide].steps[skipped.step]
    needs = next((found for name in step.checks if reading.settable(name) and (found := reading.to_see(name, language))), "")
    how = say("guide.to_log", language, needs=needs) if needs else ""
    names = say("diagnosis.comma", language).join(rowing.short_name(reading.view, name, language) for name in step.needs[:2])
    if skipped.why == "not_logged" and not how:
        how = _absent(reading, step, language)
    return say(f"guide.skipped_{skipped.why}", language, title=step.title[language], metrics=names, how=how).strip()


def _absent(reading: Reading, step: Step, language: Language) -> str:
    """When verl leaves the metric out, from its card; other frameworks have other reasons."""
    if not reading.diagnosis.run.framework.startswith("verl"):
        return ""
    found = metric_card(step.needs[0]) if step.needs else None
    return pick(card(found).front.get("absent"), language) if found else ""


def _quotes(findings: Sequence[Finding]) -> tuple[SourceLine, ...]:
    """The lines of the log that carry these findings."""
    lines = [line for finding in findings for line in finding.excerpt][:MOST_QUOTES]
    return tuple(SourceLine(one.line, one.text if len(one.text) <= QUOTE else one.text[:QUOTE] + " …") for one in lines)


def _label(reading: Reading, place: Position, name: str, language: Language) -> str:
    if name == URGENT:
        return say("guide.urgent", language, title=render.title(reading.faults[urgent(reading, place) or ""], language))
    step = guides()[place.guide].steps[place.step]
    for choice in step.choices:
        if choice.id == name:
            return choice.label[language]
    first = place.step == guides()[place.guide].first
    if name == ELSEWHERE:
        top = next(iter(reading.faults.values()), None)
        if top is None:
            return say("guide.elsewhere_healthy", language)
        return say("guide.elsewhere", language, title=render.title(top, language))
    last = step.after(reading.state_of(step)) == END
    keys = {
        THIS: "this_ask" if step.then else "this",
        ON: "on_last" if last else "on",
        DEEPER: "deeper",
        NEXT: "next_last" if last else "next_anyway" if first and ELSEWHERE in offered(reading, place) else "next",
    }
    return say(f"guide.{keys[name]}", language)
