"""What a sentence says of levels: when a curve first passed one, in how many steps it is above it, between which two it stayed, and
what it averages over a stretch; recomputed from the log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from assistant.answers.checking.grounds import agrees
from assistant.answers.checking.numerals import Numeral, approximate
from assistant.answers.checking.on_curves import IN_PART, Claims, Verdict, decide, scales
from assistant.answers.grounding.selection import selected
from assistant.answers.understanding.windows import Window, stretches
from assistant.run import FloatArray, Series

_UP = (
    r"\b(?:exceed(?:s|ed)?|cross(?:es|ed)|pass(?:es|ed)|surpass(?:es|ed)|(?:rose|went|goes|rises|climbed|got|jumped|broke|is|was) "
    r"(?:above|over|past|beyond|through))\b|超过了?|突破了?|高于|越过|升破|大于"
)
_DOWN = r"\b(?:fell|falls|dropped|drops|dipped|went|goes|sank|is|was|got) (?:below|under)\b|跌破了?|低于|小于|降破|不足"
_CROSS = re.compile(rf"(?P<first>\bfirst |首次|第一次|最早)?(?:(?P<up>{_UP})|(?P<down>{_DOWN}))\s*[`*]*$", re.IGNORECASE)
_CROSSED = re.compile(r"cross|broke|突破|跌破|越过|升破|降破", re.IGNORECASE)
_SIDE = re.compile(
    r"(?:(?P<up>\b(?:above|over|exceeds?|exceeded|more than|higher than|greater than)\b|高于|超过|大于)"
    r"|(?P<down>\b(?:below|under|less than|lower than|smaller than)\b|低于|小于))\s*[`*]*$",
    re.IGNORECASE,
)
_STATISTIC = re.compile(
    r"(?P<mean>\baverag(?:e|es|ed|ing)\b|\bmean\b|平均值?|均值)|(?P<median>\bmedian\b|中位数|中值)"
    r"|(?P<std>\bstandard deviation\b|\bstd\b|标准差)",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    r"\b(?:over|across|of|for|in|during) (?:the |this )?(?:whole |entire |full |complete )?(?:run|training|log)\b"
    r"|\bthroughout\b|\boverall\b"
    r"|\bon average\b|全程|整个|整体|全部|总体|从头到尾|所有步",
    re.IGNORECASE,
)
_NOT_ALL = re.compile(
    r"\b(?:at the end|now|currently|at the start|initial|batch|per|each|every|rolling|moving)\b|最后|目前|现在|最初|开始|每|批|滑动"
)
_ALWAYS = re.compile(
    r"\b(?:all the time|always|throughout|at (?:all|every) steps?|whole run|entire run|never left)\b|一直|始终|全程|从头到尾", re.I
)
_STAYED = re.compile(
    r"(?:\b(?:stay(?:s|ed)?|remain(?:s|ed)?|kept|keeps|lies|lay|fluctuat(?:es|ed)|oscillat(?:es|ed)|hover(?:s|ed)?|varie[sd]|"
    r"(?P<ends>rang(?:es|ed)))"
    r"\b[^.;]{0,12}?(?:\b(?:between|from|within|in)\b)?|取?值?(?P<ends_zh>范围)是?在?|(?:一直|始终|全程)[^。；]{0,6}在)\s*[`*]*$",
    re.IGNORECASE,
)
_AND = re.compile(r"^[\s`*]*(?:and|to|–|—|-|~|～|到|至|和|与)[\s`*]*$", re.IGNORECASE)


def crossings(c: Claims) -> Iterator[Verdict]:
    """ "first exceeded 0.5 at step 40", "第 12 步低于 0.3"."""
    for level in c.values:
        lead = c.row.plain(max(c.row.start, level.start - 40), level.start)
        m = _CROSS.search(lead) or _SIDE.search(lead)
        if m is None or level.unit not in ("", "%", "s") or c.hypothetical(level.start):
            continue
        start = level.start - (len(lead) - m.start())
        step = c.step_near(start, level.end)
        if step is None or re.search(r"\b(?:never|always|by)\b|从未|始终|一直", c.text, re.IGNORECASE):
            continue
        up = bool(m["up"])
        first = m.re is _CROSS and bool(m["first"])
        crossed = first or bool(_CROSSED.search(m[0]))

        def judge(
            one: Series, up: bool = up, first: bool = first, crossed: bool = crossed, n: Numeral = level, s: Numeral = step
        ) -> str | None:
            index = one.index_at(int(s.value))
            if index is None:
                return ""
            limit = n.value / 100 if n.unit == "%" and np.abs(one.values).max() <= 1.5 else n.value
            beyond = one.values >= limit if up else one.values <= limit
            clear = one.values > limit if up else one.values < limit
            if not beyond[index]:
                return f"{one.text(index)} @ {int(one.steps[index])}"
            earlier = np.flatnonzero(clear[:index])
            if (first and len(earlier)) or (crossed and index > 1 and clear[max(0, index - 3) : index].all()):
                return f"{one.text(int(earlier[0]))} @ {int(one.steps[earlier[0]])}"
            return None

        right = decide(c.subject(start, level.end), judge)
        if right != "":
            yield [step, level], right


def counts(c: Claims) -> Iterator[Verdict]:
    """ "above 0.5 in 30 of 120 steps", "120 步中有 30 步高于 0.5"."""
    for level in c.values:
        lead = c.row.plain(max(c.row.start, level.start - 60), level.start)
        m = _SIDE.search(lead) or _CROSS.search(lead)
        if m is None or level.unit not in ("", "%") or c.hypothetical(level.start):
            continue
        numbers = [n for n in c.row.numbers if n is not level and n.value == int(n.value if np.isfinite(n.value) else 0)]
        behind = next((n for n in numbers if n.start >= level.end and n.start - level.end <= 14), None)
        counted: list[Numeral] = []
        if behind is not None and re.match(r"^[\s`*%]*(?:in|on|at|for|during)\s+(?:about )?[`*]*$", c.row.whole[level.end : behind.start]):
            counted = [behind]
            total = next((n for n in numbers if n.start >= behind.end), None)
            if total is not None and re.match(r"^\s*(?:of|out of|/)\s*(?:the |all )?$", c.row.whole[behind.end : total.start]):
                counted.append(total)
            elif not re.match(r"^\s*(?:of the )?steps?\b", c.row.whole[behind.end : behind.end + 14]):
                continue
        elif found := re.search(r"(\d+)\s?步(?:中|里)(?:面)?有?\s?(\d+)\s?步", c.row.text):
            spans = {c.row.start + found.start(2), c.row.start + found.start(1)}
            counted = sorted((n for n in c.row.numbers if n.start in spans), key=lambda n: -n.start)
        if not counted:
            continue
        up = bool(m["up"])

        def judge(one: Series, up: bool = up, n: Numeral = level, k: Sequence[Numeral] = tuple(counted)) -> str | None:
            limit = n.value / 100 if n.unit == "%" and np.abs(one.values).max() <= 1.5 else n.value
            strict = int(np.count_nonzero(one.values > limit if up else one.values < limit))
            wide = int(np.count_nonzero(one.values >= limit if up else one.values <= limit))
            off = 0.05 * len(one) if approximate(c.row.whole, k[0]) else 0
            if not strict - off <= k[0].value <= wide + off:
                return f"{strict} / {len(one)}"
            return None if len(k) < 2 or k[1].value in (len(one), len(c.grounds.run.steps)) else ""

        right = decide(c.subject(level.start - (len(lead) - m.start()), level.end), judge)
        if right != "":
            yield [*counted, level], right


def statistics(c: Claims) -> Iterator[Verdict]:
    """ "averaged 0.3 over steps 50–59", "最后 10 步的平均值是 0.3"."""
    lowered = c.text.lower()
    for m in _STATISTIC.finditer(c.spoken):
        start, end = c.row.start + m.start(), c.row.start + m.end()
        if c.hypothetical(start):
            continue
        part = stretches(lowered, threshold=False)
        whole = _WHOLE.search(c.text) if part.window is None else None
        if m[0].startswith("平均") and re.match(r"值?(?:约|大约)?(?:为|是|在|约)", c.text[m.end() :]) and not _of_means(c):
            whole = whole or m
        if part.window is None and (_NOT_ALL.search(c.text) or c.steps or not (whole or m.lastgroup != "mean")):
            continue
        inside = {i for i, (a, b) in enumerate(zip(lowered, part.rest, strict=True)) if a != b}
        used = [n for n in c.row.numbers if n.start - c.row.start in inside or n in c.steps]
        free = [n for n in c.values if n not in used and n.unit in ("", "%", "s", "GB") and not n.spelled]
        value = next((n for n in free if 0 <= n.start - end <= 60), None)
        if value is None:
            value = next((n for n in reversed(free) if 0 <= start - n.end <= 12), None)
        if value is None or (len(free) > 1 and part.window is None) or c.row.step_of(value) is not None:
            continue
        name = m.lastgroup or "mean"

        def judge(one: Series, name: str = name, n: Numeral = value, window: Window | None = part.window) -> str | None:
            chosen = selected(one, window)
            if not len(chosen):
                return ""
            values = one.values[chosen]
            truths = [float(_FIGURES[name](values))]
            if name == "std" and len(values) > 1:
                truths.append(float(values.std(ddof=1)))
            near = approximate(c.row.whole, n)
            if any(agrees(n, t * k, loose=near) for t in truths for k in scales(n, one)):
                return None
            told = [f for f in c.grounds.by_metric.get(one.name, ()) if f.kind == "derived" and f.text == n.digits and name in f.formula]
            return "" if told else f"{truths[0]:.4g}"

        right = decide(c.subject(start, end), judge)
        if right != "":
            yield [value, *used], right


def _of_means(c: Claims) -> bool:
    """Whether the metric itself is a mean of each step: "平均" is then part of its name."""
    return any(re.search(r"mean|avg|average", key) for m in c.metrics for key in m.keys)


_FIGURES: dict[str, Callable[[FloatArray], float]] = {
    "mean": lambda v: float(np.mean(v)),
    "median": lambda v: float(np.median(v)),
    "std": lambda v: float(np.std(v)),
}


def stays(c: Claims) -> Iterator[Verdict]:
    """ "stayed between 0.2 and 0.3 all the time", "取值范围是 0.2 到 0.3"."""
    for low, high in pairwise(c.values):
        lead = c.row.plain(max(c.row.start, low.start - 44), low.start)
        m = _STAYED.search(lead)
        if m is None or not _AND.match(c.row.whole[low.end : high.start]) or low.value >= high.value or low.unit != high.unit:
            continue
        if (
            c.hypothetical(low.start)
            or IN_PART.search(c.text.replace("between", "").replace("之间", ""))
            or c.steps
            or low.unit not in ("", "%")
        ):
            continue
        ends, always = bool(m["ends"] or m["ends_zh"]), bool(_ALWAYS.search(c.text))

        def judge(one: Series, ends: bool = ends, always: bool = always, a: Numeral = low, b: Numeral = high) -> str | None:
            scale = 100.0 if a.unit == "%" and np.abs(one.values).max() <= 1.5 else 1.0
            values = one.values * scale
            least, most = float(values.min()), float(values.max())
            spread = most - least
            outside = np.count_nonzero((values < a.value - a.half) | (values > b.value + b.half)) / len(values)
            beyond = max(a.value - a.half - least, most - b.value - b.half, 0.0)
            if outside == 0:
                return None
            wrong = beyond > 0.1 * spread if ends else (outside > 0.02 or beyond > 0.15 * spread) if always else outside > 0.15
            return f"{least:.4g}–{most:.4g}" if wrong else ""

        right = decide(c.subject(low.start - (len(lead) - m.start()), high.end), judge)
        if right is None:
            yield [low, high], None
        elif right:
            yield [(low.start, high.end)], right
