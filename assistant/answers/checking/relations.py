"""What a sentence says of two things side by side, held against the log: two metrics compared, two curves that move together, which
finding came first and where one began, two numbers in the wrong order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from assistant.answers.checking.grounds import Grounds, agrees
from assistant.answers.checking.numerals import Numeral, approximate
from assistant.answers.checking.on_curves import Judgement
from assistant.answers.checking.phrases import HYPOTHETICAL
from assistant.answers.checking.scope import Mention, Sentence
from assistant.answers.checking.whole_log import kind_of_run, of_log
from assistant.diagnosis.finding import Quantity
from assistant.diagnosis.stats import trend
from assistant.run import FloatArray, IntArray, Series

_THAN = re.compile(
    r"^[\s`*]*(?:(?:is|was|are|were|stays?|stayed|remains?|ends?|ended|takes?|took|lies|lay)\b[a-z ]{0,16}?)?"
    r"(?:(?P<up>(?:higher|larger|greater|bigger|longer|more(?: time| expensive)?|slower) than|exceeds?|exceeded|(?:is |was )?above)"
    r"|(?P<down>(?:lower|smaller|less(?: time)?|shorter|faster|cheaper) than|(?:is |was )?below))[\s`*]*(?:that of )?(?:the )?[`*]*$",
    re.IGNORECASE,
)
_THAN_ZH = re.compile(r"^[\s`*]*(?:都|始终|一直|明显|已经?)?(?:(?P<up>高于|大于|超过|多于)|(?P<down>低于|小于|少于))了?[\s`*]*$")
_BI = re.compile(r"^[\s`*]*比[\s`*]*$")
_BI_AFTER = re.compile(r"^[\s`*]*(?:的?值)?(?:更|还|要)?(?:(?P<up>高|大|长|多|耗时|慢|费时)|(?P<down>低|小|短|少|快|省时))")
_TIMES = re.compile(r"^[\s`*]*(?:is|was|takes?|took)?[\s`*]*(?:about |roughly |around )?$", re.IGNORECASE)
_AS = re.compile(
    r"^[\s`*]*(?:times )?as (?:long|much|high|large|many|big)(?: time)? as (?:the |that of )?[`*]*$|^[\s`*]*(?:the |that of "
    r"|larger than )+[`*]*$",
    re.I,
)
_LAST = re.compile(r"\b(?:at the end|in the end|at the last step|last step|now|finally)\b|最后|末步|结束时|目前|现在", re.IGNORECASE)
_PART = re.compile(
    r"\b(?:since|after|before|until|between|at first|initially|first|early|at the start|sometimes|at times|per token|once)\b"
    r"|之后|以后|之前|期间|初期|起初|最初|开始|有时|早期|一度",
    re.IGNORECASE,
)
_OPPOSITE = re.compile(
    r"\bmov(?:e|es|ed|ing) in (?:opposite|different) directions\b|\b(?:inverse|negative)ly (?:related|correlated)\b"
    r"|走势相反|方向相反|此消彼长|负相关"
)
_SAME = re.compile(
    r"\bmov(?:e|es|ed|ing) (?:in the same direction|together)\b|\b(?:rise|rose|fall|fell|go up|went up|go down|went down) together\b"
    r"|\bpositively correlated\b|走势一致|走势相同|同向变化|同步(?:上升|下降|变化)|正相关",
    re.IGNORECASE,
)
_SOONER = re.compile(
    r"^[\s`*]*(?:(?:peak(?:s|ed)|reach\w* its peak) (?:(?P<before>before|earlier than)|(?P<after>after|later than))|"
    r"(?P<bi>比))[\s`*]*(?:the )?[`*]*$",
    re.IGNORECASE,
)
_SOONER_ZH = re.compile(r"^[\s`*]*(?:更)?(?:(?P<before>早)|(?P<after>晚))(?:一些)?(?:达到|到达|出现)?(?:峰值|最高)")
_ARROW = re.compile(r"^[\s`*%]*(?:→|->|⇒|-&gt;)[\s`*]*$")
_FROM = re.compile(r"(?:\bfrom|从|由)\s*(?:about |around |约)?[`*]*$", re.IGNORECASE)
_RANGES = re.compile(r"\b(?:rang|var(?:y|ie)|between|fluctuat|oscillat|anywhere|spread)|范围|波动|区间|介于", re.IGNORECASE)
_TO = re.compile(r"^[\s`*%]*(?:个?\s?[A-Za-z]{1,8}\s|秒|步)?[\s`*]*(?:to|[升降涨跌增变减掉]?[到至成为]了?)\s*[`*]*$", re.IGNORECASE)
_UP_TO = re.compile(
    r"^[\s`*%]*(?:[A-Za-z/]{1,8}\s)?(?:now|today|at the end|at step \d+)?[\s,，(（]*(?P<way>(?:(?P<up>up)|down) (?:(?P<to>to)|from))\s"
    r"(?:about |around )?[`*]*$",
    re.IGNORECASE,
)
_BEGAN = re.compile(
    r"^[\s`*\"”]*[:：,，]?\s*(?:it |this )?(?:(?:has|have) (?:been )?(?:lasted |present |seen )?)?(?:(?:started|starts|start"
    "|began|begins|begin|"
    r"set in|sets in|appears?|appeared|occurs?|occurred|kicks? in|kicked in)\s*)?(?:since|from|at|around|"
    r"自|从|始于|起于|发生[于在]|出现在|开始于)"
    r"\s*(?:about |around |约)?(?:step\s*|第\s?)?[`*]*$",
    re.IGNORECASE,
)
_BEGIN_WORD = re.compile(r"\b(?:since|from|start\w*|beg[aiu]n\w*|set in|sets in)\b|始于|起于|开始|从|自|起", re.IGNORECASE)
_BEFORE = re.compile(r"\b(?P<before>before|earlier than|preced\w+|ahead of|followed by)\b|(?P<before_zh>早于|先于)", re.IGNORECASE)
_PART_OF = re.compile(r"^[\s`*]*(?:[a-z]{1,7}\s)?(?:of|out of|/)\s(?:the )?[`*]*$")


def relation_claims(row: Sentence, grounds: Grounds) -> Judgement:
    """What ``row`` says of pairs, and (`whole_log`) of the whole log: proven numerals and wrong spans."""
    out = Judgement()
    out.wrong += kind_of_run(row, grounds)
    if HYPOTHETICAL.search(row.plain(row.start, row.end)):
        return out
    metrics = [m for m in row.mentions if m.kind == "metric" and m.keys]
    for a, b in pairwise(metrics):
        if not set(a.keys) & set(b.keys):
            _compared(row, grounds, a, b, out)
            _which_first(row, grounds, a, b, out)
    if len(metrics) == 2:
        out.wrong += _together(row, grounds, metrics[0], metrics[1])
    out.wrong += _backwards(row, grounds)
    out.wrong += _upside_down(row)
    out.right |= _shares(row)
    out.wrong += _onsets(row, grounds)
    out.wrong += of_log(row, grounds, out.right)
    return out


def _curves(grounds: Grounds, mention: Mention) -> list[Series]:
    return [s.take(s.finite) for key in mention.keys if (s := grounds.series(key)) is not None and s.finite.any()]


def _both(a: Series, b: Series) -> tuple[IntArray, FloatArray, FloatArray]:
    """Steps that both have, and the two values of each."""
    steps, i, j = np.intersect1d(a.steps, b.steps, return_indices=True)
    return steps, a.values[i], b.values[j]


def _compared(row: Sentence, grounds: Grounds, a: Mention, b: Mention, out: Judgement) -> None:
    """ "`a` is higher than `b` at the last step", "`a` 比 `b` 高", "`a` takes 2.1 times as long as `b`"."""
    gap = row.whole[a.end : b.start]
    behind = row.whole[b.end : min(row.end, b.end + 24)]
    numbers = [n for n in row.numbers if a.end <= n.start < b.start]
    if len(numbers) == 1 and _TIMES.match(row.whole[a.end : numbers[0].start]) and _AS.match(row.whole[numbers[0].end : b.start]):
        _ratio(row, grounds, a, b, numbers[0], out)
        return
    after = [n for n in row.numbers if b.end <= n.start <= b.end + 12]
    if (
        re.fullmatch(r"[\s`*]*(?:的?(?:耗时|值|大小|长度)?)?是[\s`*]*", gap)
        and after
        and re.match(r"^[\s`*]*(?:耗时)?的[\s`*]*$", row.whole[b.end : after[0].start])
    ):
        if after[0].unit == "x":
            _ratio(row, grounds, a, b, after[0], out)
        return
    m = _THAN.match(gap) or _THAN_ZH.match(gap)
    start, end = a.start, b.end
    if m is None and _BI.match(gap):
        m = _BI_AFTER.match(behind)
        end = b.end + (m.end() if m else 0)
    if m is None or re.match(r"^[\s`*]*(?:早|晚|先|后)", behind):
        return
    up = bool(m["up"])
    steps = [n for n in row.numbers if row.is_step(n)]
    plain = row.plain(row.start, row.end)
    if len(steps) > 1 or (not steps and _PART.search(plain)):
        return
    said = []
    for one in _curves(grounds, a):
        for two in _curves(grounds, b):
            at, x, y = _both(one, two)
            if not len(at):
                continue
            if steps:
                keep = at == int(steps[0].value)
                holds = None if not keep.any() else bool((x[keep] > y[keep]).all()) == up and bool((x[keep] != y[keep]).all())
            elif _LAST.search(plain):
                holds = bool(x[-1] > y[-1]) == up and x[-1] != y[-1]
            else:
                opposite = np.mean(x < y if up else x > y)
                holds = False if opposite >= 0.95 else True if np.mean(x > y if up else x < y) >= 0.95 else None
            said.append((holds, f"{one.text(len(one) - 1)}, {two.text(len(two) - 1)}" if not steps else ""))
    if said and all(holds is False for holds, _ in said):
        out.wrong.append((start, end, said[0][1]))
    elif steps and any(holds for holds, _ in said):
        out.right.add(steps[0].start)


def _ratio(row: Sentence, grounds: Grounds, a: Mention, b: Mention, numeral: Numeral, out: Judgement) -> None:
    """The ratio of two metrics: right for the last or for the typical values, wrong when no step has it."""
    near = approximate(row.whole, numeral) or numeral.spelled
    ratios: list[float] = []
    for one in _curves(grounds, a):
        for two in _curves(grounds, b):
            _, x, y = _both(one, two)
            x, y = x[y != 0], y[y != 0]
            if len(x):
                ratios += [float(x[-1] / y[-1]), float(np.median(x) / np.median(y)) if np.median(y) else 0.0, float(x.mean() / y.mean())]
                ratios += [float(v) for v in np.quantile(x / y, [0.05, 0.95])]
    if not ratios:
        return
    if any(agrees(numeral, ratio, loose=near) for ratio in ratios) or (min(ratios) <= numeral.value <= max(ratios)):
        out.right.add(numeral.start)
    elif not min(ratios) * 0.8 <= numeral.value <= max(ratios) * 1.25:
        out.wrong.append((numeral.start, numeral.end, f"{ratios[0]:.3g}"))


def _which_first(row: Sentence, grounds: Grounds, a: Mention, b: Mention, out: Judgement) -> None:
    """ "`a` peaked before `b` did", "`a` 比 `b` 更早达到峰值"."""
    gap = row.whole[a.end : b.start]
    m = _SOONER.match(gap)
    if m is None:
        return
    end = b.end
    if m["bi"]:
        m = _SOONER_ZH.match(row.whole[b.end : min(row.end, b.end + 16)])
        if m is None:
            return
        end = b.end + m.end()
    before = bool(m["before"])
    said = []
    for one in _curves(grounds, a):
        for two in _curves(grounds, b):
            x, y = int(one.steps[one.values.argmax()]), int(two.steps[two.values.argmax()])
            far = abs(x - y) > 0.02 * (one.steps[-1] - one.steps[0])
            said.append(f"{x}, {y}" if far and (x < y) != before else "")
    if said and all(said):
        out.wrong.append((a.start, end, said[0]))


def _together(row: Sentence, grounds: Grounds, a: Mention, b: Mention) -> Iterator[tuple[int, int, str]]:
    """ "`a` and `b` move in opposite directions": held against the trends of both."""
    for pattern, wanted in ((_OPPOSITE, -1), (_SAME, 1)):
        m = pattern.search(row.text)
        if m is None or _PART.search(row.plain(row.start, row.end)):
            continue
        ways = [{_way(s) for s in _curves(grounds, x)} for x in (a, b)]
        if all(len(way) == 1 for way in ways):
            product = ways[0].pop() * ways[1].pop()
            if product == -wanted:
                yield row.start + m.start(), row.start + m.end(), ""


def _way(series: Series) -> int:
    """1 for a curve that clearly rises, -1 for one that falls, else 0."""
    values = series.values
    if len(values) < 8:
        return 0
    found, n = trend(values), max(3, min(10, len(values) // 6))
    moved = float(np.median(values[-n:]) - np.median(values[:n]))
    if abs(moved) < 0.15 * float(np.ptp(values)):
        return 0
    return 1 if found.rising and moved > 0 else -1 if found.falling and moved < 0 else 0


def _backwards(row: Sentence, grounds: Grounds) -> Iterator[tuple[int, int, str]]:
    """ "0.02 → 0.39" and "from 0.02 to 0.39" of a curve that had every 0.39 before its first 0.02."""
    values = [n for n in row.numbers if not row.is_step(n) and not row.is_line(n) and n.unit in ("", "%", "s", "GB")]
    if len(values) < 2 or any(row.is_step(n) for n in row.numbers):
        return
    for a, b in pairwise(values):
        gap = row.whole[a.end : b.start]
        subject = row.subject(a, ("metric", "setting"))
        if (
            subject is None
            or subject.kind != "metric"
            or not (_ARROW.match(gap) or (_FROM.search(row.whole[row.start : a.start]) and _TO.match(gap)))
        ):
            continue
        told = [(f.value, f.formula) for f in grounds.facts_of(subject.keys) if f.kind == "derived" and isinstance(f.value, float)]
        if any((agrees(a, v) and "last" not in how) or (agrees(b, v) and "first" not in how) for v, how in told):
            continue
        if _RANGES.search(row.plain(row.start, a.start)):
            continue
        said = []
        for one in _curves(grounds, subject):
            x = [int(s) for s, v in zip(one.steps, one.values, strict=True) if agrees(a, float(v))]
            y = [int(s) for s, v in zip(one.steps, one.values, strict=True) if agrees(b, float(v))]
            said += [min(x) > max(y)] if x and y else []
        if said and all(said):
            yield a.start, b.end, ""


def _upside_down(row: Sentence) -> Iterator[tuple[int, int, str]]:
    """ "from 0.4 up to 0.02", "869 s, down from 265 s": the two numbers alone say that the word is wrong."""
    values = [n for n in row.numbers if not row.is_step(n) and not row.is_line(n)]
    for a, b in pairwise(values):
        m = _UP_TO.match(row.whole[a.end : b.start])
        if m is None or a.unit != b.unit:
            continue
        later, earlier = (b.value, a.value) if m["to"] else (a.value, b.value)
        if later < earlier if m["up"] else later > earlier:
            yield a.end + m.start("way"), a.end + m.end("way"), ""


def _shares(row: Sentence) -> set[int]:
    """Starts of percentages that are the share of two numbers beside each other: "53%: 460 s of 869 s"."""
    out: set[int] = set()
    for a, b in pairwise([n for n in row.numbers if n.unit not in ("%", "x")]):
        if not _PART_OF.match(row.whole[a.end : b.start]) or not b.value or a.unit != b.unit:
            continue
        out |= {n.start for n in row.numbers if n.unit == "%" and agrees(n, 100 * a.value / b.value)}
    return out


def _onsets(row: Sentence, grounds: Grounds) -> Iterator[tuple[int, int, str]]:
    """ "Length explosion since step 45" and "A came before B": held against the first steps of the findings."""
    first = {f.id: f for f in grounds.evidence.diagnosis.findings if f.first_step is not None}
    named = [m for m in row.mentions if m.kind == "finding" and any(name in first for name in m.names)]
    for m in named:
        step = next((n for n in row.numbers if row.is_step(n) and n.start >= m.end), None)
        if step is None:
            continue
        gap = row.whole[m.end : step.start]
        open_after = row.whole[step.end : step.end + 8]
        if not _BEGAN.match(gap) or not (_BEGIN_WORD.search(gap) or re.match(r"[\s`*]*步?(?:起|开始)", open_after)):
            continue
        if re.match(r"\s?步?\s?(?:–|-|~|至|到|to)\s?\d", row.whole[step.end : step.end + 8]):
            continue
        known = {first[name].first_step for name in m.names if name in first}
        reach = 0.05 * float(grounds.run.last_step or 0) if approximate(row.whole, step) else 1
        stated = {int(q.value) for name in m.names if name in first for key, q in first[name].facts.items() if _is_step(key, q)}
        if all(abs(step.value - k) > reach for k in known if k is not None) and int(step.value) not in stated:
            yield step.start, step.end, str(next(iter(known)))
    if len(named) == 2 and (sooner := _BEFORE.search(row.whole[named[0].end : named[1].start])):
        steps = [{first[name].first_step for name in x.names if name in first} for x in named]
        if not re.search(r"\b(?:not|n't)\b|不|并未", row.text) and all(a > b for a in steps[0] for b in steps[1]):  # type: ignore[operator]
            yield named[0].end + sooner.start(), named[0].end + sooner.end(), ", ".join(str(next(iter(s))) for s in steps)


def _is_step(key: str, quantity: Quantity) -> bool:
    """Whether a fact of a finding is a step at which it may be said to begin."""
    begins = re.search(r"^(?:since|onset|began|(?:start|first|from)_step)$", key)
    return bool(begins) and isinstance(quantity.value, (int, float)) and float(quantity.value).is_integer()
