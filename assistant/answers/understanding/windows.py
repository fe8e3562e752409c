"""Stretches, statistics and thresholds in a question: "mean of the last 10 steps", "between step 10 and 20", "above 0.9"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Statistic = Literal["", "mean", "median", "sum", "std"]
FEW = 5
"""Steps meant by "the last few steps"."""
RECENT = 10
"""Steps meant by "recently"."""

_WORDS = {
    "one": 1,
    "two": 2,
    "couple": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "few": FEW,
    "several": FEW,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "twelve": 12,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "hundred": 100,
    "thousand": 1000,
}
_HAN_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"两": 2, "几": FEW}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000}

_N = r"(?:(?:a|the)\s+)?(\d{1,7}|" + "|".join(_WORDS) + r")(?:\s+of)?"
_ZH_N = r"(\d{1,7}|[零一二两三四五六七八九十百千几]+)"
_UNIT = (
    r"(?:training\s+|logged\s+)?(?:steps?|iterations?|iters?|values?|points?|updates?|validations?|evals?|evaluations?|prints?|records?|"
    r"rounds?|epochs?)"
)
_LAST = r"(?:last|latest|final|past|previous|most recent|recent|closing)"
_FIRST = r"(?:first|initial|opening|earliest)"
_ZH_UNIT = r"\s*(?:个)?\s*(?:步|次|轮|step|iter(?:ation)?)s?"

_LAST_N = re.compile(
    rf"\b{_LAST}\s+{_N}(?:\s+{_UNIT}\b|(?=(?:\s+[a-z_/]+){{1,3}}\s+{_UNIT}\b)|(?=\s*(?:$|[?.,!;])))|\b{_N}\s+{_LAST}\s+{_UNIT}\b"
    rf"|(?:最近|最后|最末|最新|末尾|末|近|过去|后|后面)(?:的|这)?\s*{_ZH_N}{_ZH_UNIT}"
)
_FIRST_N = re.compile(
    rf"\b{_FIRST}\s+{_N}(?:\s+{_UNIT}\b|(?=(?:\s+[a-z_/]+){{1,3}}\s+{_UNIT}\b)|(?=\s*(?:$|[?.,!;])))|\b{_N}\s+{_FIRST}\s+{_UNIT}\b"
    rf"|(?<!以)(?<!之)(?:最初|开头|开始|最开始|前面|头|前)(?:的)?\s*{_ZH_N}{_ZH_UNIT}"
)
_TO = r"\s*(?:-|–|—|~|～|\.\.+|to|and|till?|until|through|thru|到|至|和|与)\s*"
_RANGE = re.compile(
    rf"\b(?:between|from)\s+(?:the\s+)?(?:steps?|iterations?|iters?)\s*(\d{{1,7}}){_TO}(?:the\s+)?(?:steps?|iterations?|"
    rf"iters?)?\s*(\d{{1,7}})(?![\d.]*\d)"
    rf"|\b(?:between|from)\s+(\d{{1,7}}){_TO}(?:steps?\s*)?(\d{{1,7}})\s*(?:steps?|iterations?|iters?)\b"
    rf"|\b(?:steps?|iterations?|iters?)\s*(\d{{1,7}})\s*(?:-|–|—|~|～|\.\.+|to|till?|until|through|thru)\s*(?:steps?|iterations?|"
    rf"iters?)?\s*(\d{{1,7}})(?![\d.]*\d)"
    r"|第?\s*(\d{1,7})\s*步?\s*(?:到|至|-|–|—|~|～)\s*第?\s*(\d{1,7})\s*步"
)
_BETWEEN_ZH = re.compile(r"第?\s*(\d{1,7})\s*步?\s*(?:和|与|跟)\s*第?\s*(\d{1,7})\s*步\s*(?:之间|中间)")
_SINCE = re.compile(
    r"\b(?:after|since|from|beyond|past|starting (?:at|from))\s+(?:the\s+)?(?:step|iteration|iter)\s*(\d{1,7})(?!\d)|"
    r"第?\s*(\d{1,7})\s*步\s*(?:之后|以后|往后|开始|以来|起|后(?![续面边]))"
)
_UNTIL = re.compile(
    r"\b(?:before|until|till|up to|prior to)\s+(?:the\s+)?(?:step|iteration|iter)\s*(\d{1,7})(?!\d)|第?\s*(\d{1,7})\s*步\s*(?:之前|以前|"
    r"前(?!后))"
)
_PART = re.compile(
    r"\b(first|second|last|latter)\s+(half|third|quarter)\b|\b(last|first)\s+(\d{1,2})\s*%|(前半|后半)(?:段|程|期|部分)?|(?:最)?(前|"
    r"后)\s*(\d{1,2})\s*%"
)
_RECENT = re.compile(r"\b(recent(ly)?|lately)\b|最近|近期|近来")

_MEAN = re.compile(r"(?<![/_@])\b(averages?d?|averaging|avg|mean(?= of| over| for| value| in the| across| during))\b|平均|均值")
_MEAN_WITH_WINDOW = re.compile(r"(?<![/_@.])\bmean\b(?!s?\?)")
_MEDIAN = re.compile(r"(?<![/_])\bmedian\b|中位数|中值")
_SUM = re.compile(
    r"(?<![/_])\b(sum(?:med)?|in total|total up|altogether|cumulative(?:ly)?|add(?:s|ed)? up)\b|总共|总和|一共|合计|累计|加起来"
)
_STD = re.compile(
    r"(?<![/_])\b(std|standard deviation|variance|volatil\w*|spread|how (?:noisy|stable|volatile))\b|标准差|方差|波动(?:有)?(?:多大|"
    r"多少|程度|率|幅度)"
)

_NUMBER = r"([-−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?![\d.]*\d)\s*(%|k\b)?(?!\s*(?:步|steps?\b|iter|张|个|卡|gpus?\b))"
_ABOVE = re.compile(
    rf"(?:\b(?:exceed(?:s|ed|ing)?|above|over|greater than|higher than|larger than|more than|bigger than|longer than|pass(?:es|ed)?|"
    rf"surpass(?:es|ed)?|"
    rf"cross(?:es|ed)?|reach(?:es|ed)?|hit(?:s)?|(?:get|got|go|went|rise|rose|climb(?:ed)?|jump(?:ed)?) (?:up )?(?:to|above|over|past)|"
    rf"up to|at least)|"
    rf"[>≥]=?|超过|超出|高于|大于|多于|达到|到达|突破|涨到|升到|长到|冲到|不低于|到了?|上)\s*(?:过|了)?\s*{_NUMBER}"
    rf"|{_NUMBER}\s*(?:以上|or (?:more|higher|above))"
)
_BELOW = re.compile(
    rf"(?:\b(?:below|under|less than|lower than|smaller than|shorter than|(?:fall|fell|falls|drop|drops|dropped|go|goes|went|down|sink|"
    rf"sank|shrink|shrank|decrease|decreased) (?:down )?(?:to|below|under)|at most)|"
    rf"[<≤]=?|低于|小于|少于|短于|跌破|跌到|降到|掉到|降至|跌至|不到|不足|下)\s*(?:过|了)?\s*{_NUMBER}"
    rf"|{_NUMBER}\s*(?:以下|or (?:less|lower|below))"
)
_REACH = re.compile(r"reach|hit|at least|up to|到|达到|到达|涨到|升到|长到|冲到|以上|不低于|≥|>=")


@dataclass(frozen=True, slots=True)
class Window:
    """The last or first ``n`` values, the steps ``low`` … ``high`` (None: open), or the first or last ``share`` of the steps."""

    kind: Literal["last", "first", "range", "part"]
    n: int = 0
    low: int | None = None
    high: int | None = None
    share: float = 0.0
    asked: bool = True
    """False when the question said "recently" and no number."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """``value`` as written (``percent`` when with a % sign); ``reach`` when equality counts."""

    value: float
    above: bool
    percent: bool = False
    reach: bool = False


@dataclass(frozen=True, slots=True)
class Stretch:
    """What a question says of stretches; ``rest`` is its text with those words blanked, every character at its place."""

    window: Window | None
    statistic: Statistic
    threshold: Threshold | None
    rest: str
    statistic_at: tuple[tuple[int, int], ...] = ()
    """Where the words of the statistic stand."""


def stretches(lowered: str, *, threshold: bool) -> Stretch:
    """Window, statistic and (where ``threshold`` asks for it) limit in a lower-case question."""
    rest, limit = lowered, None
    if threshold and (found := _threshold(lowered)):
        limit, span = found
        rest = _blanked(rest, span)
    window, spans = _window(rest)
    for span in spans:
        rest = _blanked(rest, span)
    statistic, at = _statistic(rest, window is not None)
    if window is None and statistic and _RECENT.search(rest):
        window = Window("last", n=RECENT, asked=False)
    return Stretch(window, statistic, limit, rest, at)


def _window(text: str) -> tuple[Window | None, list[tuple[int, int]]]:
    if (m := _BETWEEN_ZH.search(text)) or (m := _RANGE.search(text)):
        low, high = (int(g) for g in m.groups() if g)
        return Window("range", low=min(low, high), high=max(low, high)), [m.span()]
    since, until = _SINCE.search(text), _UNTIL.search(text)
    if since or until:
        begin = _first_number(since) if since else None
        end = _first_number(until) - 1 if until else None
        return Window("range", low=begin, high=end), [m.span() for m in (since, until) if m]
    for kind, pattern in (("last", _LAST_N), ("first", _FIRST_N)):
        m = pattern.search(text)
        if m and (n := _count(next(g for g in m.groups() if g))):
            return Window(kind, n=n), [m.span()]  # type: ignore[arg-type]
    if m := _PART.search(text):
        return _part(m), [m.span()]
    return None, []


def _first_number(m: re.Match[str]) -> int:
    return int(next(g for g in m.groups() if g))


def _part(m: re.Match[str]) -> Window:
    side, size, end, percent, half, zh_side, zh_percent = m.groups()
    if half:
        return Window("part", share=-0.5 if half == "后半" else 0.5)
    if zh_side:
        return Window("part", share=int(zh_percent) / 100 * (-1 if zh_side == "后" else 1))
    if end:
        return Window("part", share=int(percent) / 100 * (-1 if end == "last" else 1))
    share = {"half": 1 / 2, "third": 1 / 3, "quarter": 1 / 4}[size]
    return Window("part", share=share if side == "first" else -share)


def _statistic(text: str, windowed: bool) -> tuple[Statistic, tuple[tuple[int, int], ...]]:
    patterns: tuple[tuple[Statistic, re.Pattern[str]], ...] = (("median", _MEDIAN), ("std", _STD), ("sum", _SUM), ("mean", _MEAN))
    for name, pattern in (*patterns, *((("mean", _MEAN_WITH_WINDOW),) if windowed else ())):
        if found := tuple(m.span() for m in pattern.finditer(text)):
            return name, found
    return "", ()


def _threshold(text: str) -> tuple[Threshold, tuple[int, int]] | None:
    for pattern, above in ((_BELOW, False), (_ABOVE, True)):
        if m := pattern.search(text):
            number, unit = (m[1], m[2]) if m[1] else (m[3], m[4])
            value = float(number.replace("−", "-")) * (1000 if unit == "k" else 1)
            return Threshold(value, above, unit == "%", bool(_REACH.search(m[0]))), m.span()
    return None


def _count(word: str) -> int:
    if word.isdigit():
        return int(word)
    return _WORDS[word] if word in _WORDS else han_number(word)


def han_number(text: str) -> int:
    """Value of a Chinese numeral up to 9999 (二十五 → 25)."""
    total, digit = 0, 0
    for char in text:
        if char in _HAN_UNITS:
            total += (digit or 1) * _HAN_UNITS[char]
            digit = 0
        else:
            digit = _HAN_DIGITS.get(char, 0)
    return total + digit


def _blanked(text: str, span: tuple[int, int]) -> str:
    return text[: span[0]] + " " * (span[1] - span[0]) + text[span[1] :]
