"""What a sentence says of a whole curve or of one place in it, held against every printed value: "never below 0.1", "always 0.4",
"did not change", "back to its start", "becomes negative", "the third highest value at step 66"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np

from assistant.answers.checking.numerals import Numeral
from assistant.answers.checking.scope import Mention, Sentence
from assistant.diagnosis.stats import trend
from assistant.run import FloatArray, Series

_UNREAL = re.compile(
    r"\b(?:if|should|would|could|can|cannot|may|might|will|must|when(?:ever)?|unless|usually|normally|typically|generally|often|expect\w*|"
    r"until|watch|check|whether|make sure|try|so that|means?|healthy|in general|than usual|yet|after|since|before|between|from step|then|"
    r"later|last|latest|recent\w*|first|early|late|almost|nearly|close to|near|about)\b|如果|若|应|会|可能|可以|能否|是否|通常|一般|正常|"
    r"期望|直到|观察|确认|避免|防止|当|建议|需要|之后|以后|以来|起|之前|最近|近期|初期|后期|前期|几乎|接近|约",
    re.IGNORECASE,
)
_ALWAYS = (
    r"\b(?:always|throughout|all the time|at (?:all|every) steps?|in (?:all|every) steps?|the whole (?:run|time)"
    r"|constantly)\b|始终|一直|全程|每一?步都|从头到尾"
)
_NEVER = r"\b(?:never|at no (?:step|point|time))\b|从未|从不|从没有?|没有一步"
_ABOVE = r"\b(?:above|over|past|exceed\w*|more than|higher than|greater than|larger than)\b|高于|大于|超过"
_BELOW = r"\b(?:below|under|less than|lower than|smaller than)\b|低于|小于"
_BOUND = re.compile(
    rf"(?P<quant>(?P<always>{_ALWAYS})|(?P<never>{_NEVER}))[^.;。；]{{0,40}}?(?:(?P<above>{_ABOVE})|(?P<below>{_BELOW}))\s*[`*]*$",
    re.IGNORECASE,
)
_SIDE = re.compile(rf"(?:(?P<above>{_ABOVE})|(?P<below>{_BELOW}))\s*[`*]*$", re.IGNORECASE)
_ALWAYS_AFTER = re.compile(rf"^[\s`*)%]*(?:{_ALWAYS})", re.IGNORECASE)
_CONSTANT = re.compile(
    r"\b(?:is|was|stays?|stayed|at|remains?|remained|constant at)\s*(?:exactly |precisely |always )?[`*]*$|[为是在]\s*[`*]*$", re.IGNORECASE
)
_ALWAYS_IS = re.compile(
    rf"(?:{_ALWAYS})\s*(?:都)?(?:是|为|等于|正好是|恰好是|正好为|保持在"
    rf"|(?:was|is|stays?|stayed|remained) (?:exactly )?(?:at )?|at )\s*[`*]*$",
    re.IGNORECASE,
)
_NEVER_REACHED = re.compile(rf"(?:{_NEVER})[^.;。；]{{0,20}}?(?:\breach(?:es|ed)?|\bgot to|\bhit|达到|到过?|触及)\s*[`*]*$", re.IGNORECASE)
_STILL = re.compile(
    r"\b(?:(?:did|does|do|has|have)(?: not|n't) chang(?:e|ed)|never chang(?:es|ed)|(?:shows?|showed|saw|with) no change"
    r"|(?:ha[sd] )?(?:hardly|barely) (?:changed|moved)|unchanged)\b(?! (?:much|a lot|direction))"
    r"|几乎(?:没变|不变|没有变化)|没有(?:任何)?变化|没有变(?!成)|无变化|一直不变|始终不变|从未变化|毫无变化",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"\b(?:back (?:to|at)|recovered to|returned to|returns to) (?:its|the) (?:initial|starting|original|first) (?:level|value|point)\b"
    r"|(?:回到|恢复到)了?(?:最初|初始|开始|起始|起点)时?的?(?:水平|值|位置)?",
    re.IGNORECASE,
)
_NOT_MOVED = re.compile(
    r"(?:\bnever\b|\b(?:did|does|has|have)(?: not|n't)\b|从未|从不|并?没有|并?未)\s*(?:\bever\b\s*)?"
    r"(?:(?P<up>\b(?:rises?|rose|risen|increase[sd]?|grows?|grown|climb(?:s|ed)?|go(?:es|ne)? up)\b|上升|升高|上涨|增长|增加|变大)"
    r"|(?P<down>\b(?:falls?|fell|fallen|decrease[sd]?|drops?|dropped|declines?|declined|go(?:es|ne)? down)\b|下降|下跌|减少|变小|降低))"
    r"(?=[\s`*]*(?:[.,;!?。，；！？]|$|at all|over the (?:whole )?run|in this run))",
    re.IGNORECASE,
)
_HIGHER = re.compile(
    r"\b(?:end(?:s|ed)(?: up)?|finish(?:es|ed)|is now|at the end(?: is| was)?)\b[^.;]{0,12}?\b(?P<up>higher|above"
    r"|larger)\b[^.;]{0,20}?\b(?:start|began|begin\w*|first)\b"
    r"|\b(?:end(?:s|ed)(?: up)?|finish(?:es|ed)|is now|at the end(?: is| was)?)\b[^.;]{0,12}?\b(?P<down>lower|below"
    r"|smaller)\b[^.;]{0,20}?\b(?:start|began|begin\w*|first)\b"
    r"|\bat the end (?P<up2>exceeds) its (?:start|beginning|initial|first)|最后?[^。；]{0,6}比(?:开始|最初|起初|初始)时?的?值?(?:更|还|要)?"
    r"(?:(?P<up3>高|大|长)|(?P<down3>低|小|短))",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(
    r"\b(?:becomes?|became|turn(?:s|ed)|goes|went|is|was|gets?|got) negative\b(?! (?:log|advantage|sample|reward))|(?:变|转"
    r"|成)(?:成|为)?了?负(?!载|责|面|担)|为负(?!载|责)",
    re.IGNORECASE,
)
_TO_ZERO = re.compile(
    r"\b(?:becomes?|became|reach(?:es|ed)|hits?|falls? to|fell to|drops? to|dropped to|goes to|went to) (?:exactly )?zero\b"
    r"|(?:降|掉|跌|变)(?:到|成|为)了?(?:零|0(?![.\d]))",
    re.IGNORECASE,
)
_EXTREME_AT = re.compile(
    r"\b(?:at its|is|was|reach\w* its) (?:(?P<high>highest|maximum|peak|largest|longest)|(?P<low>lowest|minimum|smallest"
    r"|shortest))(?: (?:value|level"
    r"|point))?,? (?:(?:at|in) the (?:(?P<end>end|(?:last|final|latest) (?:step|value|evaluation|validation))|(?P<start>start"
    r"|beginning|first step))|(?P<now>now))"
    r"|(?:在|到)?(?:(?P<end_zh>最后一步|最后|末尾|结束时)|(?P<start_zh>一开始|开始时|第一步))时?的?(?:达到|是|为)?(?:(?P<high_zh>最高|最大)|(?P<low_zh>最低|最小))",
    re.IGNORECASE,
)
_EVER_NOW = re.compile(r"\bnever been (?:(?P<up>higher|larger|greater|better)|(?P<down>lower|smaller|worse))\b", re.IGNORECASE)
_RANKS = {"second": 2, "third": 3, "fourth": 4, "fifth": 5, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5, "二": 2, "三": 3, "四": 4, "五": 5}
_RANK = re.compile(
    r"\b(?P<rank>second|third|fourth|fifth|2nd|3rd|4th|5th)[\s-](?:(?P<high>highest|largest)|(?P<low>lowest|smallest))\b"
    r"|第(?P<rank_zh>[二三四五])(?:(?P<high_zh>高|大)|(?P<low_zh>低|小))",
    re.IGNORECASE,
)

Found = tuple[int, int, str]
"""Start and end of what is wrong, and what is right."""


def wrong_universals(sentence: Sentence, printed: Callable[[str], Series | None]) -> Iterator[Found]:
    """Each such claim of ``sentence`` that the values contradict clearly. Conditions, advice and parts of a run are left alone."""
    metrics = [m for m in sentence.mentions if m.kind == "metric" and m.keys]
    if not metrics:
        return
    for numeral in sentence.numbers:
        subject = sentence.subject(numeral, ("metric",))
        if subject is not None and not sentence.is_step(numeral) and not sentence.is_line(numeral) and numeral.unit == "":
            yield from _bounds(sentence, numeral, _all(subject, printed))
    for pattern, judge in (
        (_STILL, _moved_clearly),
        (_BACK, _moved_clearly),
        (_NOT_MOVED, _moved_after_all),
        (_HIGHER, _other_way),
        (_NEGATIVE, _positive),
        (_TO_ZERO, _never_zero),
        (_EXTREME_AT, _elsewhere),
        (_EVER_NOW, _was_beyond),
    ):
        for m in pattern.finditer(sentence.text):
            start, end = sentence.start + m.start(), sentence.start + m.end()
            subject = _nearest(metrics, start, end)
            if subject is None or _open(sentence, start, m[0]):
                continue
            rows = _all(subject, printed)
            if pattern is _TO_ZERO and len(steps := [n for n in sentence.numbers if sentence.is_step(n)]) == 1:
                rights = [_not_zero_at(series, int(steps[0].value)) for series in rows]
                if rights and all(rights):
                    yield start, end, rights[0]
                continue
            rights = [judge(series.values[series.finite], m) for series in rows if np.count_nonzero(series.finite) > 3]
            if rights and all(rights):
                yield start, end, str(rights[0])
    yield from _ranks(sentence, metrics, printed)


def _all(subject: Mention, printed: Callable[[str], Series | None]) -> list[Series]:
    return [series for key in subject.keys if (series := printed(key)) is not None and series.finite.any()]


def _nearest(metrics: list[Mention], start: int, end: int) -> Mention | None:
    before = [m for m in metrics if m.end <= start and start - m.end <= 60]
    after = [m for m in metrics if m.start >= end and m.start - end <= 20]
    inside = [m for m in metrics if start <= m.start and m.end <= end]
    return before[-1] if before else inside[0] if inside else after[0] if after else None


def _open(sentence: Sentence, start: int, claim: str) -> bool:
    """Whether the clause is a condition, advice or about a part of the run."""
    first, last = sentence.clause(start)
    return bool(_UNREAL.search(sentence.plain(first, last).replace(claim, " ")))


def holding_bounds(sentence: Sentence, printed: Callable[[str], Series | None]) -> set[int]:
    """Starts of the numerals that every printed value keeps to, as the sentence says ("always above 300")."""
    out = set()
    for numeral in sentence.numbers:
        subject = sentence.subject(numeral, ("metric",))
        if subject is not None and numeral.unit == "" and _bound(sentence, numeral, _all(subject, printed)) == "":
            out.add(numeral.start)
    return out


def _bounds(sentence: Sentence, numeral: Numeral, rows: list[Series]) -> Iterator[Found]:
    if right := _bound(sentence, numeral, rows):
        yield numeral.start, numeral.end, right


def _bound(sentence: Sentence, numeral: Numeral, rows: list[Series]) -> str | None:
    """The true range when a bound is said of all values and is broken; "" when it holds; None when none is said."""
    lead = sentence.plain(max(sentence.start, numeral.start - 70), numeral.start)
    following = sentence.whole[numeral.end : min(sentence.end, numeral.end + 40)]
    said, side = _BOUND.search(lead), _SIDE.search(lead)
    after = _ALWAYS_AFTER.match(following)
    first, last = sentence.clause(numeral.start)
    constant, unreached = _ALWAYS_IS.search(lead), _NEVER_REACHED.search(lead)
    if not rows or not (said or after or constant or unreached) or _UNREAL.search(sentence.plain(first, last)):
        return None
    values = np.concatenate([series.values[series.finite] for series in rows])
    low, high = float(values.min()), float(values.max())
    slack = numeral.half + 1e-9
    if unreached and not said:
        wrong = all(series.values[series.finite][0] < numeral.value for series in rows) and high > numeral.value + slack
        wrong = wrong or (all(series.values[series.finite][0] > numeral.value for series in rows) and low < numeral.value - slack)
    elif said and said["never"]:
        wrong = high > numeral.value + slack if said["above"] else low < numeral.value - slack
    elif said or (after and side):
        above = said["above"] if said else side["above"] if side else None
        wrong = low < numeral.value - slack if above else high > numeral.value + slack
    elif constant or _CONSTANT.search(lead):
        wrong = max(abs(low - numeral.value), abs(high - numeral.value)) > max(slack, 0.1 * abs(numeral.value))
    else:
        return None
    return f"{low:.4g}–{high:.4g}" if wrong else ""


def _moved_clearly(values: FloatArray, found: re.Match[str]) -> str:
    start, end = _ends(values)
    course = trend(values)
    return f"{start:.4g} → {end:.4g}" if abs(end - start) > 0.3 * max(abs(start), abs(end)) and (course.rising or course.falling) else ""


def _moved_after_all(values: FloatArray, found: re.Match[str]) -> str:
    start, end = _ends(values)
    course, far = trend(values), abs(end - start) > 0.2 * max(abs(start), abs(end))
    wrong = far and (course.rising and end > start if found["up"] else course.falling and end < start)
    return f"{start:.4g} → {end:.4g}" if wrong else ""


def _other_way(values: FloatArray, found: re.Match[str]) -> str:
    start, end = float(values[0]), float(values[-1])
    up = found["up"] or found["up2"] or found["up3"]
    middle = _ends(values)
    wrong = (end < start and middle[1] < middle[0]) if up else (end > start and middle[1] > middle[0])
    return f"{start:.4g} → {end:.4g}" if wrong else ""


def _positive(values: FloatArray, found: re.Match[str]) -> str:
    return f"≥ {float(values.min()):.4g}" if values.min() >= 0 else ""


def _never_zero(values: FloatArray, found: re.Match[str]) -> str:
    least = float(np.abs(values).min())
    return f"≥ {least:.4g}" if least > 0.02 * float(np.abs(values).max()) and not (values.min() < 0 < values.max()) else ""


def _not_zero_at(series: Series, step: int) -> str:
    index = series.index_at(step)
    value = None if index is None else float(series.values[index])
    top = float(np.abs(series.values[series.finite]).max())
    return f"{value:.4g}" if value is not None and abs(value) > 0.02 * top else ""


def _elsewhere(values: FloatArray, found: re.Match[str]) -> str:
    high = bool(found["high"] or found["high_zh"])
    at_start = bool(found["start"] or found["start_zh"])
    best = float(values.max() if high else values.min())
    here = float(values[0] if at_start else values[-1])
    return f"{best:.4g}" if abs(best - here) > 0.1 * float(values.max() - values.min()) else ""


def _was_beyond(values: FloatArray, found: re.Match[str]) -> str:
    best, here = float(values.max() if found["up"] else values.min()), float(values[-1])
    return f"{best:.4g}" if abs(best - here) > 0.1 * float(values.max() - values.min()) else ""


def _ends(values: FloatArray) -> tuple[float, float]:
    n = max(1, min(10, len(values) // 4))
    return float(np.median(values[:n])), float(np.median(values[-n:]))


def _ranks(sentence: Sentence, metrics: list[Mention], printed: Callable[[str], Series | None]) -> Iterator[Found]:
    """ "the third highest value at step 66": counted."""
    steps = [n for n in sentence.numbers if sentence.is_step(n)]
    for m in _RANK.finditer(sentence.text):
        rank = _RANKS[(m["rank"] or m["rank_zh"]).lower()]
        high = bool(m["high"] or m["high_zh"])
        if len(steps) != 1 or len(metrics) != 1:
            continue
        rights = []
        for series in _all(metrics[0], printed):
            index = series.index_at(int(steps[0].value))
            if index is None:
                continue
            values = series.values[series.finite]
            beyond = np.count_nonzero(values > series.values[index] if high else values < series.values[index])
            rights.append("" if beyond == rank - 1 else f"#{int(beyond) + 1}")
        if rights and all(rights):
            yield sentence.start + m.start(), sentence.start + m.end(), rights[0]
