"""Words that say where a curve went, checked against the curve: "rose", 下降, "stable"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assistant.answers.checking.numerals import Numeral
from assistant.answers.checking.scope import Mention, Sentence
from assistant.diagnosis.stats import trend
from assistant.run import FloatArray, Series

_UP = (
    r"\b(?:rose|rises|rising|risen|increases?|increased|increasing|climb(?:s|ed|ing)?|grew|grows?|growing|grown|(?:went|"
    r"goes|going|gone|moved|moves|trend(?:s|ed|ing)?) up(?:wards?)?"
    r"|soar(?:s|ed|ing)?|surg(?:es|ed|ing)|improv(?:es|ed|ing))\b"
    r"|上升|升高|上涨|增长|增加|变大|变长|攀升|走高|涨[到至](?!了?最高)|升[到至](?!了?最高)|增至|飙升|越来越[大高长多]"
    r"|\b(?:gets?|got|getting|grow|grows|become|becomes|became) (?:longer|larger|higher|bigger)\b"
)
_DOWN = (
    r"\b(?:fell|falls|falling|fallen|decreases?|decreased|decreasing|drop(?:s|ped|ping)?|declin(?:es?|ed|ing)|shrank|"
    r"shrinks?|shrinking|shrunk|(?:went|goes|going|gone|moved|moves|trend(?:s|ed|ing)?) down(?:wards?)?"
    r"|decay(?:s|ed|ing)?|collapsed|plunge[ds]?|plummet(?:s|ed)?|sank)\b"
    r"|下降|下跌|跌[到至](?!了?最低)|降[到至](?!了?最低)|减少|下滑|走低|变小|缩短|掉[到至](?!了?最低)|降低到|降低了|越来越[小低短少]"
    r"|\b(?:gets?|got|getting|become|becomes|became) (?:shorter|smaller|lower)\b"
)
_FLAT = (
    r"\b(?:(?:stay(?:s|ed)?|remain(?:s|ed)?|is|was|are|were|held|keeps?|kept) (?:[a-z]+ly )?(?:flat|stable|constant|steady|"
    r"unchanged))\b|保持(?:平稳|稳定|不变)|基本不变|(?:一直|始终)(?:平稳|稳定|不变|持平)"
)
_WORDS = re.compile(rf"(?P<up>{_UP})|(?P<down>{_DOWN})|(?P<flat>{_FLAT})", re.IGNORECASE)
_NO_CLAIM = re.compile(
    r"\b(?:if|should|would|could|can|may|might|will|must|when(?:ever)?|unless|usually|normally|typically|generally|often|"
    r"tends?|expect\w*|until|so that|watch|check|see whether|whether|"
    r"make sure|to (?:see|keep|stop|prevent|avoid)|instead of|rather than|not?|never|n't|without|means?|stop\w*|healthy|"
    r"in general|let|try|cause[sd]? (?:a|by))\b|n't\b|"
    r"如果|若|应该|应当|应|会|可能|可以|能否|是否|通常|一般|正常|往往|期望|直到|观察|看看|确认|避免|防止|不再|没有|未|并未|"
    r"不|停止|健康|当.{0,12}时|建议|需要|才|导致|使|让",
    re.IGNORECASE,
)
_PART = re.compile(
    r"\b(?:since|after|before|until|between|from step|by step|at step|then|later|again|recover\w*|temporar\w*|briefly|"
    r"spik\w*|initially|at first|first|early|late|last|latest|recent\w*|"
    r"lately|now|mid\w*|at times|sometimes|peak\w*)\b|之后|以后|以来|起|之前|再|随后|最近|近期|初期|起初|后期|前期|中期|"
    r"期间|回升|回落|一度|暂时|先|最后",
    re.IGNORECASE,
)
_FROM_TO = re.compile(
    r"(?:\bfrom|从|由)\s*(?:about |around |an? (?:initial|starting) |its (?:initial|first|starting) |约)?"
    r"(?:第\s?\d+\s?步(?:时|处)?的?\s*|(?:最初|一?开始|起初|初始)(?:时)?的?\s*)?[`*~≈]*$",
    re.IGNORECASE,
)
_SINCE = re.compile(r"(?:\b(?:since|after|from) step\s*|(?:自|从|在)?第\s?)(\d+)(?:\s?步\s?(?:起|之后|以后|以来|开始|后))?", re.IGNORECASE)
_BETWEEN = re.compile(r"(?:steps?\s*|第\s?)(\d+)\s?步?\s?(?:–|-|~|to|and|至|到|和)\s?(?:step\s*|第\s?)?(\d+)", re.IGNORECASE)


_HABIT = (
    r"(?:rises|increases?|climbs|grows?|falls|decreases?|drops|declines|shrinks?|decays?|soars|surges|improves|(?:goes|moves|"
    r"trends) (?:up|down)(?:wards?)?)"
)
_HERE = re.compile(
    r"\b(?:from \S*\d|steadily|throughout|over (?:the|this) (?:whole |entire )?(?:run|training)|in this (?:run|log)|overall|"
    r"monoton\w*|continuously|all the time|here)\b",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    r"\b(?:throughout|steadily|all the time|over the (?:whole |entire )?(?:run|training))\b|全程|一路|始终|一直|从头到尾", re.I
)
_ADVICE = re.compile(r"[\s*`>-]*(?:then\b|watch\b|check\b|next\b|look\b|然后|接下来|之后)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Claim:
    """A direction word and what it is said of. ``right`` is what the curve did: up, down or flat."""

    start: int
    end: int
    text: str
    said: str
    right: str
    key: str


def wrong_directions(sentence: Sentence, printed: dict[str, Series | None], ratios: set[int]) -> list[Claim]:
    """Direction words of ``sentence`` that the values or the curve contradict clearly.

    ``printed`` gives the series of a key; ``ratios`` are starts of numerals that are changes, not levels ("by 93 %").
    """
    out: list[Claim] = []
    for m in _WORDS.finditer(sentence.text):
        start, end = sentence.start + m.start(), sentence.start + m.end()
        said = m.lastgroup or ""
        first, last = sentence.clause(start)
        around = sentence.plain(first, last)
        if re.fullmatch(_HABIT, m[0], re.IGNORECASE) and not _HERE.search(sentence.whole[end:last]):
            continue
        metric = _subject(sentence, start, end)
        if metric is None or not metric.keys or _NO_CLAIM.search(around) or _ADVICE.match(sentence.text) or _imperative(sentence, start):
            continue
        moved = _from_to(sentence, end, ratios)
        if moved is not None:
            right = "up" if moved > 0 else "down" if moved < 0 else "flat"
            if said != right:
                out.append(Claim(start, end, m[0], said, right, metric.keys[0]))
            continue
        rights = [
            (_course(series, around, said), key) for key in metric.keys if (series := printed.get(key)) is not None and len(series) > 3
        ]
        if rights and all(right is not None for right, _ in rights):
            out.append(Claim(start, end, m[0], said, str(rights[0][0]), rights[0][1]))
    return out


def _subject(sentence: Sentence, start: int, end: int) -> Mention | None:
    """The metric that a verb belongs to: last before it, else first after it when it comes at the head ("下降的是 X")."""
    before = [m for m in sentence.mentions if m.kind in ("metric", "setting") and m.end <= start]
    if before:
        gap = sentence.whole[before[-1].end : start]
        if before[-1].kind == "setting" or len(gap) > 90:
            return None
        return before[-1]
    after = next((m for m in sentence.mentions if m.kind in ("metric", "setting") and m.start >= end), None)
    return after if after is not None and after.kind == "metric" and after.start - end <= 20 else None


def _imperative(sentence: Sentence, start: int) -> bool:
    """ "Increase `x`": advice, no claim."""
    lead = sentence.whole[sentence.start : start].strip(" *-`>0123456789.)")
    return not lead or bool(re.search(r"(?:\bto|\bby|\band|先|把|将|适当|请|或)\s*$", lead, re.IGNORECASE))


def _from_to(sentence: Sentence, end: int, ratios: set[int]) -> float | None:
    """Change between the two levels of "… from A to B" after a verb; None when they are not given."""
    following = [
        n for n in sentence.numbers if n.start >= end and n.start not in ratios and n.unit not in ("%", "x") and not sentence.is_step(n)
    ]
    if len(following) < 2 or not _FROM_TO.search(sentence.whole[max(sentence.start, following[0].start - 24) : following[0].start]):
        before = [n for n in sentence.numbers if n.end <= end and n.unit not in ("%", "x") and not sentence.is_step(n)]
        if before and following and _FROM_TO.search(sentence.whole[max(sentence.start, before[-1].start - 24) : before[-1].start]):
            return following[0].value - before[-1].value
        return None
    return following[1].value - following[0].value


def _course(series: Series, around: str, said: str) -> str | None:
    """What the curve did instead of what was said; None when the words can be right."""
    span = _BETWEEN.search(around)
    since = None if span else _SINCE.search(around)
    if span or since:
        low = int(span[1]) if span else int(since[1])  # type: ignore[index]
        high = int(span[2]) if span else int(series.steps[-1])
        keep = (series.steps >= low) & (series.steps <= high)
        series = series.take(keep)
    elif _PART.search(around):
        return None
    values = series.values[series.finite]
    if len(values) < 4:
        return None
    found = trend(values)
    n = max(1, min(10, len(values) // 4))
    start, end = float(np.median(values[:n])), float(np.median(values[-n:]))
    spread = float(np.median(np.abs(np.diff(values)))) + 1e-12
    moved = end - start
    if said != "flat" and abs(moved) > 0.5 * float(np.ptp(values)) and (moved > 0) != (said == "up"):
        return "up" if moved > 0 else "down"  # a jump to another level, which a rank test may not call a trend
    whole = said != "flat" and _WHOLE.search(around) and np.sign(values[-1] - values[0]) == (-1 if said == "up" else 1)
    if whole and abs(float(values[-1] - values[0])) > 0.3 * float(np.ptp(values)) and not (found.rising if said == "up" else found.falling):
        return "down" if said == "up" else "up"
    if said == "up":
        return "down" if found.falling and moved < 0 else "flat" if not found.rising and abs(moved) <= spread and _narrow(values) else None
    if said == "down":
        return "up" if found.rising and moved > 0 else "flat" if not found.falling and abs(moved) <= spread and _narrow(values) else None
    large = abs(moved) > 0.3 * max(abs(start), abs(end))
    return ("up" if moved > 0 else "down") if large and (found.rising or found.falling) else None


def _narrow(values: FloatArray) -> bool:
    """Whether a curve hardly leaves its level: "rose" of it is wrong, not only generous."""
    level = float(np.median(np.abs(values)))
    return float(values.max() - values.min()) <= 0.05 * level


def settled(numbers: Sequence[Numeral]) -> set[int]:
    return {n.start for n in numbers if n.unit in ("%", "x")}
