"""Which of several runs a text speaks of: by name, file, first/second, previous, other, both; English and Chinese.

The runs stand in the order in which they came into the talk: the first is the earlier one, the last the newest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath

_THING = r"(?:runs?|logs?|trainings?|experiments?|attempts?|jobs?|one)"
_ENGLISH = ("first", "second", "third", "fourth", "fifth")
_SHORT = ("1st", "2nd", "3rd", "4th", "5th")
_CHINESE = "一二三四五"
_NOT_A_RUN = r"(?!\s*(?:步|个?值|个?问题|个?原因|个?指标|个?发现|个?epoch|轮|点|次?更新|行))"
_OF_WHOLE = (
    r"(?=\s*(?:is|was|has|had|does|did|looks?|went|goes|gets?|got|starts?|ends?|behaves?|'s|’s|worse|better|and|or|vs|than|[?.,;:!)]|$))"
)
PREVIOUS = re.compile(
    rf"\b(?:previous|earlier|old(?:er)?|original|baseline|prior) {_THING}\b|\b(?:the )?baseline\b"
    r"|(?:上|前)一?(?:次|个|份|版|组)(?:训练|运行|日志|实验|run)?|(?:之前|原来|旧)的?(?:那|这)?(?:次|个|份|版)(?:训练|运行|日志|实验|run)?|基线",
    re.IGNORECASE,
)
LATEST = re.compile(
    rf"\b(?:new(?:er|est)?|latest|later|fixed|changed) {_THING}\b"
    r"|(?:新|最新|后来)的?(?:那|这)?(?:次|个|份|版)(?:训练|运行|日志|实验|run)?|后一(?:次|个|份)(?:训练|运行|日志|实验|run)?|改(?:动|过|完)?(?:之?后)的?(?:那|这)(?:次|个)",
    re.IGNORECASE,
)
OTHER = re.compile(
    rf"\bthe other (?:{_THING})\b|\bthe other\b(?=\s*[?.!,]|\s*$)|\bother (?:run|log)\b"
    r"|另(?:外)?(?:的)?(?:一|那)(?:次|个|份|组|边)(?:训练|运行|日志|实验|run)?|对照组?",
    re.IGNORECASE,
)
BOTH = re.compile(
    rf"\b(?:in|for|of|on|across) both\b(?! (?:actor|critic|metrics|curves|losses))|\bboth {_THING}\b|\b(?:the )?(?:two|three) {_THING}\b"
    rf"|\b(?:each|either|all) (?:run|log)s?\b|\bbetween (?:the )?(?:runs|logs|two)\b|\bside by side\b"
    r"|[两二三](?:次|个|份|组|边)(?:训练|运行|日志|实验|run)|两(?:次|边|份)|两者|二者",
    re.IGNORECASE,
)
DIFFERENCE = re.compile(
    r"\bdiffer\w*\b|\bcompar\w+|\bversus\b|\bvs\b|\bwhat (?:has |was |is )?changed\b"
    r"|\bwhich (?:run |one |log )?(?:is|was|looks?|did|does) (?:the )?better\b"
    r"|\bwhich (?:run|one|log)\b|区别|不同|差别|差异|差在|对比|比较|相比|哪(?:个|次|份|一?边).{0,4}(?:更)?好|谁更好",
    re.IGNORECASE,
)
FIXED = re.compile(
    r"\b(?:did|does|do|has|have|was|is) (?:my|the|this|that|our) (?:last |latest )?"
    r"(?:fix|change|tweak|new settings?|changes|adjustment)\w*\b.{0,24}"
    r"\b(?:work|help|fix|solve|do (?:anything|something)|effective|matter|worth)|\b(?:fix|change|tweak)(?:es|s)? (?:work|help)(?:ed|s)?\b"
    r"|\bis it fixed\b|\bdid (?:it|that|this) (?:work|help)\b|\bany better(?: now)?\b"
    r"|\bbetter (?:now|than before)\b|\bworse (?:now|than before)\b"
    r"|(?:改(?:动|了|完|过)?|修(?:复|改|好)?|调(?:整|了)?|优化).{0,8}(?:有用|有效|起作用|见效|管用|有没有用|有没有效|成功|生效)|修(?:好|复)了?(?:吗|没)"
    r"|(?:变好|变差|好转|改善|好一?点|更好|更差)了?(?:吗|没|么)|比(?:之前|上次|原来).{0,6}(?:好|差)",
    re.IGNORECASE,
)


DECIDES = re.compile(
    r"\bwhat (?:should|can|could|do|must) (?:i|we) (?:change|fix|do|try|tune|adjust|set)\b|\bshould (?:i|we)\b|\bhow (?:do|can|"
    r"should) (?:i|we) fix\b"
    r"|\bwhat (?:to|next)\b|\bhow long\b|\bwhich (?:checkpoint|ckpt)\b"
    r"|(?:先|该|要|应该)?(?:改|调)(?:什么|哪)|怎么(?:办|改|调|修)|要不要|该不该|下一步|哪个 ?(?:checkpoint|ckpt|检查点)|还要(?:跑|训)?多久",
    re.IGNORECASE,
)
"""What is to be done: asked of one run, not of a comparison."""


@dataclass(frozen=True, slots=True)
class RunMention:
    """``run`` is the index of the run that ``text[start:end]`` names; -1 for "the other one", -2 for both."""

    start: int
    end: int
    run: int


OTHER_ONE, BOTH_RUNS = -1, -2


def spellings(name: str) -> list[str]:
    """What a run is called: its name, its file, the file without its endings, and the folder that it lies in."""
    path = PurePath(name.replace("\\", "/"))
    stem = re.sub(r"(?:\.(?:log|txt|out|jsonl?|csv|gz|zst))+$", "", path.name, flags=re.IGNORECASE)
    return [form for form in dict.fromkeys((name, path.name, stem, path.parent.name)) if len(form) >= 3]


@cache
def _patterns(names: tuple[str, ...]) -> tuple[tuple[int, re.Pattern[str]], ...]:
    rows: list[tuple[int, re.Pattern[str]]] = []
    for index, name in enumerate(names):
        forms = sorted((re.escape(form) for form in spellings(name)), key=len, reverse=True)
        shared = {form for form in forms if any(form in map(re.escape, spellings(o)) for i, o in enumerate(names) if i != index)}
        if own := [form for form in forms if form not in shared]:
            rows.append((index, re.compile(rf"(?<![\w./-])`?(?:{'|'.join(own)})`?(?![\w/-])", re.IGNORECASE)))
        if index >= len(_ENGLISH):
            continue
        order, short, hanzi, letter, n = _ENGLISH[index], _SHORT[index], _CHINESE[index], "ABCDE"[index], index + 1
        rows.append(
            (
                index,
                re.compile(
                    rf"\b(?:{order}|{short}) {_THING}\b|\bthe {order}\b{_OF_WHOLE}"
                    rf"|(?<![A-Za-z])(?:[Rr]un|[Ll]og|运行|训练|日志|实验) ?(?:{letter}|#?{n})(?![\w.])"
                    rf"|(?<![A-Za-z0-9]){letter} ?(?:组|这次|那次)"
                    rf"|第 ?(?:{hanzi}|{n}) ?(?:次|个|份|组)(?:训练|运行|日志|实验|run)?{_NOT_A_RUN}"
                ),
            )
        )
    last = len(names) - 1
    return (*rows, (max(last - 1, 0), PREVIOUS), (last, LATEST), (OTHER_ONE, OTHER), (BOTH_RUNS, BOTH))


def mentions(text: str, names: Sequence[str]) -> list[RunMention]:
    """Every run named in ``text``, in its order; the longest where they overlap."""
    found = [RunMention(m.start(), m.end(), run) for run, pattern in _patterns(tuple(names)) for m in pattern.finditer(text)]
    kept: list[RunMention] = []
    for one in sorted(found, key=lambda m: (m.start - m.end, m.start)):
        if all(one.end <= other.start or one.start >= other.end for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda m: m.start)


@dataclass(frozen=True, slots=True)
class Meant:
    """``runs`` are the indices that a question is about, one or two; ``fix`` when it asks whether a change helped; ``rest`` is the
    question without the names of runs."""

    runs: tuple[int, ...]
    rest: str
    fix: bool = False
    subject: int | None = None
    """The run of the two that is said to be worse or better, where one is named."""

    @property
    def between(self) -> bool:
        return len(self.runs) > 1


def meant_runs(question: str, names: Sequence[str], history: Sequence[str] = ()) -> Meant:
    """The runs that ``question`` is about. ``history`` are the earlier questions: one that names no run stays with theirs."""
    last: tuple[int, ...] = (0,)
    if len(names) < 2:
        return Meant(last, question)
    for earlier in history[-20:]:
        last = _meant(earlier, names, last).runs
    return _meant(question, names, last)


def _meant(question: str, names: Sequence[str], last: tuple[int, ...]) -> Meant:
    found = mentions(question, names)
    rest = question
    for one in found:
        rest = rest[: one.start] + " " * (one.end - one.start) + rest[one.end :]
    rest = re.sub(r"\b(?:in|for|of|on|from|than|with|between|of)\s{2,}(?=[\s?.,!]|and\b|$)", lambda m: " " * len(m[0]), rest)
    rest = re.sub(r"\s{2,}", " ", rest)
    fix = bool(FIXED.search(rest))
    named = list(dict.fromkeys(one.run for one in found if one.run >= 0))
    newest = (len(names) - 2, len(names) - 1)
    if len(named) >= 2:
        return Meant((min(named[:2]), max(named[:2])), rest, fix)
    worse = bool(re.search(r"\b(?:worse|better|slower|faster|longer|shorter|higher|lower)\b|更?差|更好|更慢|更快|更高|更低", rest.lower()))
    if any(one.run == BOTH_RUNS for one in found) or fix or DIFFERENCE.search(question) or (named and worse):
        pair = newest if not named or named[0] in newest else tuple(sorted((named[0], newest[1])))
        if not found and not fix and _of_one_run(rest):
            return Meant(last, rest)
        return Meant(pair, rest, fix, named[0] if len(named) == 1 else None)
    if named:
        return Meant((named[0],), rest)
    if any(one.run == OTHER_ONE for one in found):
        before = last[0] if len(last) == 1 else newest[0]
        return Meant((newest[1] if before != newest[1] else newest[0],), rest)
    if len(last) > 1 and DECIDES.search(rest):
        return Meant((last[-1],), rest)  # of two runs compared it is the later one that something can still be done about
    return Meant(last, rest)


def _of_one_run(rest: str) -> bool:
    """Whether a comparison is one within a run: of two steps, or of two metrics by their keys."""
    return len(re.findall(r"\bstep\s*\d+|第\s*\d+\s*步", rest)) >= 2 or len(re.findall(r"[a-z_]+/[a-z_/]+", rest)) >= 2
