"""Numerals in a text, however they are written: ``-0.03``, ``1.2e-4``, ``1.2 × 10⁻⁴``, ``１２０``, ``1,234``, ``1.2k``, ``48 %``,
``百分之三十``, ``三成``, ``3×``, ``两倍``, ``half``, ``forty-two``.

Left out on purpose: digits inside names (``gsm8k``, ``mean@1``, ``fp16``), list marks at the start of a line, ordinals, and small
number words that only count things in prose ("two causes", ``三个原因``).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if chr(code) not in "，：；（）！？"} | {ord("−"): ord("-")}
_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")

_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?![\d,])|\d+)(?:\.\d+)?|\.\d+"
_TIMES_TEN = r"\s?[×x*·]\s?10\s?(?:(?:\^|\*\*)\s?[{(]?\s?[-+]?\d+[})]?|[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
_POWER = r"10\s?(?:(?:\^|\*\*)\s?[{(]?\s?[-+]?\d+[})]?|[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
_SUFFIX = (
    r"\s?(?:percentage points?|percent|per cent|个百分点|%|pp\b)"
    r"|-?\s?(?:fold\b|times\b(?!\s+(?:per|a|in)\b)|倍)|\s?×(?!\s?\d)|x(?![A-Za-z0-9])"
    r"|\s?(?:亿|万|千(?!步))|[kKM](?![A-Za-z0-9])|B(?![A-Za-z0-9])"
    r"|\s?(?:ms|min(?:utes?)?|s(?:ec(?:onds?)?)?|h(?:ours?|rs?)?)(?![A-Za-z0-9_])|\s?(?:毫秒|秒|分钟|小时)"
    r"|\s?(?:[GMKT]i?B)(?![A-Za-z0-9])"
)
_NUMERAL = re.compile(
    rf"(?P<sign>[-+])?(?:(?P<power>{_POWER})|(?P<digits>{_DIGITS})(?P<exp>[eE][-+]?\d+|{_TIMES_TEN})?)(?P<suffix>{_SUFFIX})?"
)
_V_VERSION = re.compile(r"(?<![\w.])v(\d+\.\d+(?:\.\d+)*(?:\.post\d+|rc\d+)?)(?![\w.]*\d)", re.IGNORECASE)
_FACTOR = re.compile(
    r"\bfactor of (?:about |around |roughly |~|≈)?(?P<digits>\d[\d,]*(?:\.\d+)?)(?P<exp>e[-+]?\d+)?(?![\w×%])(?!\.\d)", re.IGNORECASE
)
_NAN = re.compile(r"(?<![\w.])[-+]?(?:nan|inf)(?!\w)", re.IGNORECASE)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b")
_LIST_MARK = re.compile(
    r"^[ \t>*-]*(?:\*\*)?\(?\d{1,2}(?:[.)、．]|\uff0e)(?=\s|\D)|^[ \t>*#-]*(?:\*\*)?(?:step|步骤)\s?\d{1,2}\s?[:：.、]",
    re.IGNORECASE | re.MULTILINE,
)
_INLINE_MARK = re.compile(r"(?:^|[:：。.;；!?！？)）]\s*)(?:\*\*)?[(（]?(?P<mark>\d{1,2})(?:[.)、．]|\uff09)(?=\s|[^\d\s])", re.MULTILINE)
_ORDINAL_ZH = re.compile(r"第\s?$")

_ONES = {
    w: i
    for i, w in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}
_TENS = {w: 10 * (i + 2) for i, w in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"])}
_WORD = "|".join([*_ONES, *_TENS, "hundred", "thousand", "million"])
_EN_WORDS = re.compile(
    rf"\b(?:an?\s+(?=hundred|"
    rf"thousand))?(?:{_WORD})(?:(?:[\s-]+(?:and\s+)?)(?:{_WORD}))*\b(?P<suffix>\s?(?:percent(?:age points?)?|%|-?fold|"
    rf"times|hours?|minutes?|seconds?)\b)?",
    re.IGNORECASE,
)
_ZH_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_ZH = "零〇一二两三四五六七八九十百千万亿"
_ZH_PERCENT = re.compile(rf"百分之\s?(?:(?P<digits>\d+(?:\.\d+)?)|(?P<words>[{_ZH}点]+))")
_ZH_TENTHS = re.compile(rf"(?:(?P<digits>\d)|(?P<words>[{_ZH[1:]}]))成(?!为|功|本|员|长|立|熟|分|了|对|都)")
_ZH_WORDS = re.compile(
    rf"(?P<words>[{_ZH}](?:[{_ZH}]|点(?=[{_ZH}]))*)\s?(?P<unit>倍|步(?!骤)|个百分点|分钟|小时|秒|[张块](?=显?卡|\s?GPU))"
)
_MULTIPLES = re.compile(
    r"\b(?P<two>twice|doubl(?:es?|ed|ing))\b|\b(?P<three>thrice|tripl(?:es?|ed|ing))\b|\b(?P<half>half|halv(?:es?|ed|ing))\b"
    r"|(?P<two_zh>翻(?:了)?(?:一)?[倍番])|(?P<half_zh>一半|减半)|\b(?P<ten>order of magnitude)\b|(?P<ten_zh>(?:一|1)\s?个数量级)",
    re.IGNORECASE,
)
_MULTIPLE_VALUES = {"two": 2.0, "three": 3.0, "half": 0.5, "two_zh": 2.0, "half_zh": 0.5, "ten": 10.0, "ten_zh": 10.0}
_FRACTIONS = re.compile(
    r"(?P<sign>[¼½¾⅓⅔])"
    r"|\b(?P<n>an?|one|two|three|four|five|seven|nine)[\s-](?P<d>thirds?|quarters?|fifths?|sixths?|eighths?|tenths?)\b"
    r"(?=(?: (?:of|in|into)\b|[\s`*]*[.,;)]|$))"
    r"|\b(?P<of>one|two|three|four|five|six|seven|eight|nine)\s+out\s+of\s+(?P<whole>two|three|four|five|six|eight|ten|twenty)\b"
    r"|(?P<d_zh>[二三四五六七八九十千万])分之(?P<n_zh>[一二三四五六七八九])",
    re.IGNORECASE,
)
_SIGNS = {"¼": 0.25, "½": 0.5, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3}
_PARTS = {"third": 3, "quarter": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}
_FOLD = re.compile(r"\b(?P<word>two|three|four|five|six|seven|eight|nine|ten|twenty|hundred|thousand)-?fold\b", re.IGNORECASE)
_ZERO_POINT = re.compile(
    r"零点(?P<zh>[零一二三四五六七八九]+)|\bzero point (?P<en>(?:(?:zero|one|two|three|four|five|six|seven|eight|nine)\s?)+)", re.IGNORECASE
)
_NTH_STEP = re.compile(r"\b(?P<n>\d{2,})(?:st|nd|rd|th)(?=\s+(?:step|iteration)\b)", re.IGNORECASE)
_MINUS = re.compile(r"(?:\bminus\s+|负\s?|\bnegative\s+(?=0\.))$", re.IGNORECASE)
_APPROXIMATE = re.compile(
    r"(?:about|around|roughly|approximately|nearly|almost|some|over|under|more than|less than|close to|≈|~|～|约|大约|大概|"
    r"近|接近|将近|超过|左右)\s?[`*]*$",
    re.IGNORECASE,
)
_NOT_HALF = re.compile(
    r"(?:first|second|last|latter|other|前|后)\s?-?$|^\s?(?:of\b.{0,12}(?:run|training|steps)|precision|a unit)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number at ``text[start:end]``. ``value`` is in ``unit`` ("" plain, "%", "x" for a multiple, "s" seconds, "GB", "step");
    ``half`` is half a unit of its last digit shown. ``spelled`` numbers are words."""

    text: str
    start: int
    end: int
    value: float
    half: float
    unit: str = ""
    spelled: bool = False
    version: bool = False

    @property
    def digits(self) -> str:
        """The digits as written, without unit and thousands' marks."""
        found = re.match(r"[-+−]?[\d.,]+(?:[eE][-+]?\d+)?", self.text)
        return found[0].replace(",", "").replace("−", "-") if found else self.text


def numerals(text: str) -> list[Numeral]:
    """Every numeral of ``text`` in order."""
    plain = text.translate(_FULL_WIDTH)
    marks = [(m.start(), m.end()) for m in _LIST_MARK.finditer(plain)] + _inline_marks(plain)
    found: list[Numeral] = []
    taken = list(marks)

    def free(start: int, end: int) -> bool:
        return all(end <= a or start >= b for a, b in taken)

    def keep(one: Numeral) -> None:
        if free(one.start, one.end):
            taken.append((one.start, one.end))
            found.append(one)

    for m in _ZH_PERCENT.finditer(plain):
        value, half = _number(m["digits"]) if m["digits"] else (_chinese(m["words"]), 0.5)
        keep(Numeral(text[m.start() : m.end()], m.start(), m.end(), value, half, "%", spelled=True))
    for m in _ZH_TENTHS.finditer(plain):
        value = 10 * (float(m["digits"]) if m["digits"] else _chinese(m["words"]))
        keep(Numeral(text[m.start() : m.end()], m.start(), m.end(), value, 5.0, "%", spelled=True))
    for m in _FRACTIONS.finditer(plain):
        value, unit = _fraction(m)
        keep(Numeral(text[m.start() : m.end()], m.start(), m.end(), value, 0.1 * value, unit, spelled=True))
    for m in _FOLD.finditer(plain):
        value = _english(m["word"])
        keep(Numeral(text[m.start() : m.end()], m.start(), m.end(), value, 0.12 * value, "x", spelled=True))
    for m in _ZERO_POINT.finditer(plain):
        digits = "".join(str(_ZH_DIGITS[c]) for c in m["zh"]) if m["zh"] else "".join(str(_ONES[w]) for w in m["en"].lower().split())
        keep(Numeral(text[m.start() : m.end()], m.start(), m.end(), float(f"0.{digits}"), 0.5 * 10.0 ** -len(digits), spelled=True))
    for m in _NTH_STEP.finditer(plain):
        keep(Numeral(text[m.start() : m.end()], m.start(), m.end(), float(m["n"]), 0.5, "step", spelled=True))
    for m in _MULTIPLES.finditer(plain):
        name = m.lastgroup or ""
        if name.startswith("half") and (
            _NOT_HALF.search(plain[max(0, m.start() - 9) : m.start()]) or _NOT_HALF.match(plain[m.end() : m.end() + 30])
        ):
            continue
        value = _MULTIPLE_VALUES[name]
        keep(Numeral(text[m.start() : m.end()], m.start(), m.end(), value, 0.12 * value if value < 10 else 5.0, "x", spelled=True))
    for m in _V_VERSION.finditer(plain):
        keep(Numeral(text[m.start(1) : m.end(1)], m.start(1), m.end(1), math.nan, 0.0, version=True))
    for m in _FACTOR.finditer(plain):
        value, half = _number(m["digits"])
        power = 10.0 ** _power(m["exp"] or "0")
        keep(Numeral(text[m.start("digits") : m.end()], m.start("digits"), m.end(), value * power, half * power, "x"))
    for m in _NUMERAL.finditer(plain):
        if (one := _digits(text, plain, m)) is not None:
            keep(one)
    for m in _NAN.finditer(plain):
        keep(
            Numeral(
                text[m.start() : m.end()],
                m.start(),
                m.end(),
                math.nan if "nan" in m[0].lower() else math.copysign(math.inf, -1 if m[0][0] == "-" else 1),
                0.0,
            )
        )
    for m in _ZH_WORDS.finditer(plain):
        value = _chinese(m["words"])
        unit = {"倍": "x", "步": "step", "个百分点": "%", "分钟": "s", "小时": "s", "秒": "s"}.get(m["unit"], "")
        scale = {"分钟": 60.0, "小时": 3600.0}.get(m["unit"], 1.0)
        if unit == "step" and value > 10 and plain[max(0, m.start() - 2) : m.start()].rstrip().endswith("第"):
            keep(Numeral(text[m.start() : m.end("words")], m.start(), m.end("words"), value, 0.5, "step", spelled=True))
        elif (
            not (unit == "step" and value <= 3)
            and not plain[max(0, m.start() - 1) : m.start()].endswith(("第", "进", "下", "每", "几", "数"))
        ) or unit == "x":
            end = m.end() if unit not in ("step", "") else m.end("words")
            keep(Numeral(text[m.start() : end], m.start(), end, value * scale, 0.5 * scale, unit, spelled=True))
    for m in _EN_WORDS.finditer(plain):
        value = _english(m[0])
        suffix = (m["suffix"] or "").strip().lower()
        seconds = {"h": 3600.0, "m": 60.0, "s": 1.0}.get(suffix[:1], 0.0)
        unit = "%" if suffix.startswith(("percent", "%")) else "s" if seconds else "x" if suffix else ""
        if seconds:
            value *= seconds
            keep(Numeral(text[m.start() : m.end()], m.start(), m.end(), value, 0.5 * seconds, "s", spelled=True))
            continue
        if unit or value > 10:
            keep(Numeral(text[m.start() : m.end()], m.start(), m.end(), value, 0.5, unit, spelled=True))
    return sorted(found, key=lambda one: one.start)


def _inline_marks(text: str) -> list[tuple[int, int]]:
    """Marks of a list inside a line ("1. Roll back. 2. Print a few answers."): 1, 2 and on in their order, at least two."""
    out: list[tuple[int, int]] = []
    run: list[tuple[int, int]] = []
    for m in _INLINE_MARK.finditer(text):
        number = int(m["mark"])
        if number == len(run) + 1 and (not run or "\n" not in text[run[-1][1] : m.start("mark")]):
            run.append(m.span("mark"))
            continue
        out += run if len(run) > 1 else []
        run = [m.span("mark")] if number == 1 else []
    return out + (run if len(run) > 1 else [])


def approximate(text: str, numeral: Numeral) -> bool:
    """Whether the words before say that the number is rounded (``about``, ``约``)."""
    return bool(_APPROXIMATE.search(text[max(0, numeral.start - 16) : numeral.start])) or text[
        numeral.end : numeral.end + 3
    ].strip().startswith("左右")


def _fraction(found: re.Match[str]) -> tuple[float, str]:
    """Value and unit of a fraction: a share in percent; 万分之三 is the plain 0.0003."""
    if found["sign"]:
        return 100 * _SIGNS[found["sign"]], "%"
    if found["d_zh"]:
        part = {"千": 1000.0, "万": 10000.0}.get(found["d_zh"]) or _chinese(found["d_zh"])
        return (_chinese(found["n_zh"]) / part, "") if part >= 1000 else (100 * _chinese(found["n_zh"]) / part, "%")
    if found["of"]:
        return 100 * _english(found["of"]) / _english(found["whole"]), "%"
    n = 1.0 if found["n"].lower() in ("a", "an") else _english(found["n"])
    return 100 * n / _PARTS[found["d"].lower().rstrip("s")], "%"


def _digits(text: str, plain: str, m: re.Match[str]) -> Numeral | None:
    start, end = m.start(), m.end()
    before = plain[start - 1] if start else ""
    earlier = plain[start - 2] if start > 1 else ""
    sign = m["sign"] or ""
    if sign and ((before.isalnum() and before.isascii()) or (before in ").%]" and before)):
        start, sign, before, earlier = start + 1, "", sign, before  # a range or a hyphen, no sign
    if before and ((before.isascii() and before.isalpha()) or before == "_"):
        return None
    if before == "." and earlier.isalnum():
        return None  # a later part of a version or of a name
    if before in ("@", "/") and ((earlier.isascii() and earlier.isalpha()) or earlier == "_"):
        return None
    if before == "-" and re.search(r"[A-Z][A-Za-z0-9.]*-$", plain[max(0, start - 24) : start]):
        return None  # GPT-4, Qwen2.5-7B
    digits = m["digits"]
    after = plain[end : end + 1]
    if digits is not None and m["exp"] is None and not m["suffix"] and re.match(r"\.\d", plain[end : end + 2]):
        version = re.match(r"(?:\.\d+)+(?:\.post\d+|rc\d+)?", plain[end:])
        end += version.end() if version else 0
        return Numeral(text[start:end], start, end, math.nan, 0.0, version=True)
    if _ORDINAL.match(plain, end) and digits and digits.isdigit():
        return None
    if after and ((after.isascii() and after.isalpha()) or after == "_") and not m["suffix"]:
        return None  # 2D, 7x8
    if digits is not None:
        value, half = _number(digits)
        if m["exp"]:
            power = _power(m["exp"])
            value, half = value * 10.0**power, half * 10.0**power
    else:
        power = _power(m["power"][2:])
        value, half = 10.0**power, 0.5 * 10.0**power
    if not sign and (minus := _MINUS.search(plain[max(0, start - 10) : start])):
        sign, start = "-", start - len(minus[0])
    unit, scale = _unit((m["suffix"] or "").strip().lstrip("-"))
    value, half = value * scale, half * scale
    return Numeral(text[start:end], start, end, -value if sign == "-" else value, half, unit)


def _number(digits: str) -> tuple[float, float]:
    digits = digits.replace(",", "")
    decimals = len(digits.partition(".")[2])
    return float(digits), 0.5 * 10.0**-decimals


def _power(text: str) -> int:
    inner = re.sub(r"^\s?[×x*·]\s?10", "", text).translate(_SUPERSCRIPT)
    found = re.search(r"[-+]?\d+", inner.replace("**", "^"))
    return max(-_FAR, min(_FAR, int(found[0]))) if found else 0


_FAR = 280
"""Powers of ten beyond this are taken as this: no metric is there, and the number must not get lost."""

_UNITS: dict[str, tuple[str, float]] = {
    "k": ("", 1e3), "K": ("", 1e3), "M": ("", 1e6), "B": ("", 1e9), "千": ("", 1e3), "万": ("", 1e4), "亿": ("", 1e8),
    "ms": ("s", 1e-3), "毫秒": ("s", 1e-3), "秒": ("s", 1.0), "分钟": ("s", 60.0), "小时": ("s", 3600.0),
    "KB": ("GB", 1e-6), "KiB": ("GB", 1e-6), "MB": ("GB", 1e-3), "MiB": ("GB", 1 / 1024), "GB": ("GB", 1.0), "GiB": ("GB", 1.0),
    "TB": ("GB", 1e3), "TiB": ("GB", 1024.0),
}  # fmt: skip


def _unit(suffix: str) -> tuple[str, float]:
    if not suffix:
        return "", 1.0
    if suffix in _UNITS:
        return _UNITS[suffix]
    lowered = suffix.lower()
    if lowered.startswith(("%", "percent", "per cent", "pp", "个百分点")):
        return "%", 1.0
    if lowered in ("×", "x", "倍", "times", "fold"):
        return "x", 1.0
    return "s", 60.0 if lowered.startswith("min") else 3600.0 if lowered.startswith("h") else 1.0


def _chinese(words: str) -> float:
    whole, _, decimals = words.partition("点")
    total, section, digit = 0.0, 0.0, 0.0
    if all(c in _ZH_DIGITS for c in whole) and len(whole) > 1:  # 一二零: digits one after another
        total = float("".join(str(_ZH_DIGITS[c]) for c in whole))
    else:
        for c in whole:
            if c in _ZH_DIGITS:
                digit = _ZH_DIGITS[c]
            elif c in "十百千":
                section += (digit or 1) * {"十": 10, "百": 100, "千": 1000}[c]
                digit = 0
            else:
                total = (total + section + digit) * (1e4 if c == "万" else 1e8)
                section = digit = 0
        total += section + digit
    for place, c in enumerate(decimals, 1):
        total += _ZH_DIGITS.get(c, 0) * 10.0**-place
    return total


def spelled_count(word: str) -> float:
    """A small count written in digits or words: ``12``, ``twelve``, ``十二``."""
    if word.isdigit():
        return float(word)
    return _chinese(word) if word[0] in _ZH else _english(word)


def _english(words: str) -> float:
    total, current = 0.0, 0.0
    for word in re.findall(r"[a-z]+", words.lower()):
        if word in _ONES:
            current += _ONES[word]
        elif word in _TENS:
            current += _TENS[word]
        elif word == "hundred":
            current = (current or 1) * 100
        elif word in ("thousand", "million"):
            total += (current or 1) * (1e3 if word == "thousand" else 1e6)
            current = 0
    return total + current
