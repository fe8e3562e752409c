"""The last page: what is wrong, why, what to change, and how to see that it worked. All of it comes from the diagnosis and the cards."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from assistant.cards import card
from assistant.diagnosis import render
from assistant.diagnosis.facts import shown
from assistant.diagnosis.finding import Finding
from assistant.diagnosis.naming import family
from assistant.diagnosis.story import story, told
from assistant.guide.loading import guides, meaning_of
from assistant.guide.parts import Change, Outcome
from assistant.guide.state import Reading
from assistant.guide.walk import Position, answer_of
from assistant.guide.words import safe, summary
from assistant.messages import Language, say
from assistant.run import Point

ENOUGH = 10
"""Steps below which "nothing wrong" is not yet much of a statement."""
MOST_CHANGES, MOST_CAUSES, MOST_OPEN = 4, 4, 3


def outcome_of(reading: Reading, place: Position, language: Language) -> Outcome:
    """Where the walk at ``place`` (its last position) ends."""
    chosen = [*place.taken, *place.noted]
    if not chosen and not reading.faults:
        return _nothing(reading, place, language)
    named = chosen or list(reading.faults)[:1]
    finding = reading.faults[named[0]]
    meaning = meaning_of(finding.id)
    changes = _changes(reading, finding, language)
    return Outcome(
        kind="found",
        findings=tuple(dict.fromkeys(named)),
        title=render.title(finding, language),
        meaning=meaning.plain[language] if meaning else "",
        summary=summary(finding, language),
        causes=tuple(_causes(place, finding, language)[:MOST_CAUSES]),
        changes=tuple(changes[:MOST_CHANGES]),
        watch_next=tuple(_watch(reading, finding, changes, language)),
        told=tuple(_told(place, language)),
        also=tuple(render.title(reading.faults[name], language) for name in reading.faults if name not in named[:1]),
        first=_first(reading, finding, language),
        wrong_if=tuple(_wrong_if(reading, finding, language)),
        open=tuple(_open(reading, language, guides()[place.guide].checks)),
    )


def _nothing(reading: Reading, place: Position, language: Language) -> Outcome:
    n = len(reading.diagnosis.run.steps)
    kind = "healthy" if n >= ENOUGH else "short"
    return Outcome(
        kind=kind,  # type: ignore[arg-type]
        findings=(),
        title=say(f"guide.{kind}_title", language),
        meaning=say(f"guide.{kind}_meaning", language, n=n),
        summary=say("guide.checked", language, n=len(reading.fine)),
        causes=(),
        changes=(),
        watch_next=(say("guide.healthy_watch", language),) if kind == "healthy" else (say("guide.short_watch", language, enough=ENOUGH),),
        told=tuple(_told(place, language)),
        open=tuple(_open(reading, language)),
    )


def _causes(place: Position, finding: Finding, language: Language) -> list[str]:
    """Causes as the diagnosis orders them; those that the person's answers point to come first."""
    names = (
        list(finding.causes)
        if finding.causes is not None
        else [row["id"] for row in card(f"findings/{finding.id}").front.get("causes") or ()]
    )
    texts = dict(zip(names, render.causes(finding, language), strict=True))
    preferred: list[str] = []
    for guide, step, choice in place.answers:
        preferred += [name for name in answer_of(guides()[guide].steps[step], choice).causes.get(finding.id, ()) if name in texts]
    return [texts[name] for name in dict.fromkeys((*preferred, *names))]


def _changes(reading: Reading, finding: Finding, language: Language) -> list[Change]:
    return [_change(fix, language) for fix in render.fixes(finding, reading.diagnosis.run, language)]


def _change(fix: dict[str, Any], language: Language) -> Change:
    key, start, to = fix["key"], fix["from"], fix["to"]
    if key is None:
        text = ""
    elif to is None:
        text = say("guide.change_key", language, key=key)
    elif start is None:
        text = say("guide.change_to", language, key=key, to=to)
    else:
        text = say("guide.change_from", language, key=key, start=start, to=to)
    return Change(text, _sentence(fix["why"]), fix["check"], key, start, to)


def _sentence(text: str) -> str:
    """With a capital letter, unless it begins with a key."""
    word = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if word.isascii() and word.isalpha() and word.islower() else text


def _wrong_if(reading: Reading, finding: Finding, language: Language) -> list[str]:
    """What would show that the finding is wrong; what holds for verl alone is left out elsewhere."""
    own = family(reading.diagnosis.run.framework) in ("verl", "generic")
    return [text for text in render.rules_out(finding, language) if own or "verl" not in text]


def _watch(reading: Reading, finding: Finding, changes: Sequence[Change], language: Language) -> list[str]:
    """How to see in the next steps that it worked: where it stands today, when to look again, and what each change should show."""
    meaning = meaning_of(finding.id)
    again = meaning.again if meaning else 20
    crash = finding.id.startswith("crash-") or finding.id == "hang"
    last = reading.diagnosis.run.last_step
    parts: list[str] = []
    if crash:
        parts.append(say("guide.watch_crash", language))
    elif (point := _latest(reading, finding)) is not None:
        now = say(
            "guide.watch_now_step" if point.step is not None else "guide.watch_now",
            language,
            metric=safe(point.metric),
            value=shown(point),
            step=point.step,
        )
        parts.append(now + say("guide.watch_again", language, n=again))
    elif last is not None:
        parts.append(say("guide.watch_again", language, n=again).strip())
    parts += [say("guide.watch_after", language, n=n, check=one.check) for n, one in enumerate(changes[:MOST_CHANGES], 1) if one.check]
    if not crash:
        parts.append(say("guide.watch_compare", language))
    return list(dict.fromkeys(parts))


def _latest(reading: Reading, finding: Finding) -> Point | None:
    """The last printed value of the metric that carries the finding most."""
    if not finding.evidence:
        return None
    metric = finding.evidence[0].metric
    series = reading.view.printed(metric) if metric in reading.view.names else None
    return series.point(-1) if series is not None and len(series) else finding.evidence[-1]


def _told(place: Position, language: Language) -> list[str]:
    found = []
    for guide, step, choice in place.answers:
        answer = answer_of(guides()[guide].steps[step], choice)
        if answer.says:
            found.append(say("guide.you_said", language, label=answer.label[language], follows=answer.says[language]))
    return found


def _first(reading: Reading, finding: Finding, language: Language) -> str:
    """What came before this finding, or is more urgent: a walk never hides that there is something to mend first."""
    chain = story(reading.diagnosis)
    roots = [name for name in finding.follows if name in reading.faults]
    if roots and chain is not None and finding.id in {one.id for one in (*chain.chain, *chain.also)}:
        return told(chain, language)
    top = next(iter(reading.faults.values()))
    if top.id != finding.id:
        return say("guide.more_urgent", language, title=render.title(top, language))
    return ""


def _open(reading: Reading, language: Language, about: Collection[str] | None = None) -> list[str]:
    """What this log cannot tell and a setting would show; only of the findings ``about``, when they are given."""
    names = [one.finding for one in reading.diagnosis.unknown if (about is None or one.finding in about) and reading.settable(one.finding)]
    told = [(render.title(Finding(name), language), needs) for name in names if (needs := reading.to_see(name, language))]
    return [say("guide.open", language, title=title, needs=needs) for title, needs in told[:MOST_OPEN]]
