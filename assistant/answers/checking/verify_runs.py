"""Check an answer about several runs: number, metric, step and run together.

Every numeral, direction and verdict belongs to the run that is named nearest: right behind it ("0.2 in the second run"), else before it
in its clause, sentence or the sentences above; else to none, and then it must be right for one of the runs. What is right for another
run than its own is wrong, and the mark says so. A difference, ratio or percentage between two runs is recomputed from the two values
of its sentence, one of each run. The difference words between runs ("higher in B") are no claim on a curve.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import product

from assistant.answers.checking.comparing import changes
from assistant.answers.checking.grounds import Grounds, agrees
from assistant.answers.checking.names import without_active_content
from assistant.answers.checking.numbers import Number
from assistant.answers.checking.numerals import Numeral, numerals
from assistant.answers.checking.phrases import DIFFERENCE
from assistant.answers.checking.scope import sentences
from assistant.answers.checking.verify import Issue, Verified, check_text, filled, finished
from assistant.answers.understanding.run_words import BOTH_RUNS, RunMention, mentions
from assistant.messages import Language

_BEHIND = re.compile(
    r"^[\s`*%]*(?:[A-Za-z/]{1,12})?[\s`*]*(?:[(（]?\s*(?:at\s+)?step\s*\d+[)）]?|[(（]?第\s*\d+\s*步[)）]?)?[\s`*]*(?:in|for|of|with|on|\(|（)\s+?(?:the\s+)?[\s`*]*$|^[\s`*%]*[(（][\s`*]*$",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,，;；]|\b(?:while|whereas|but|and|against|versus|vs)\b|而|但|对比|和|与", re.IGNORECASE)
_COMPARED = re.compile(
    r"\b(?:higher|lower|more|less|longer|shorter|larger|smaller|times|percent|than|difference|gap|ratio)\b|高|低|多|少|倍|差|相比|比",
    re.IGNORECASE,
)


def verify_runs(draft: str, runs: Sequence[tuple[str, Grounds]], language: Language, *, about: Sequence[int] = ()) -> Verified:
    """``draft`` checked against each of ``runs`` (name, grounds); ``about`` are the runs of the question, for a text that names none."""
    by_id = {name: fact for _, grounds in runs for name, fact in grounds.by_id.items()}
    text, cited, problems = filled(without_active_content(draft), by_id)
    names = [name for name, _ in runs]
    found = mentions(text, names)
    blank = _without(text, found, language)
    results = [check_text(blank, cited, grounds, language) for _, grounds in runs]
    placed = _Placed(blank, found, tuple(about) if len(about) == 1 else ())
    numbers: dict[int, Number] = {}
    issues: list[Issue] = list(problems)
    wrong: list[Issue] = []
    for start in sorted({n.start for row, _, _ in results for n in row}):
        each = {run: n for run, (row, _, _) in enumerate(results) for n in row if n.start == start}
        own = placed.runs_at(start, start + len(next(iter(each.values())).text))
        wanted = [run for run in own if run in each] or list(each)
        good = next((each[run] for run in wanted if each[run].status != "unverified"), None)
        numbers[start] = good or each[wanted[0]]
        if good is None:
            issue = next((i for run in wanted for i in results[run][1] if i.start == start and i.kind in _OF_NUMBERS), None)
            elsewhere = next((run for run in each if run not in wanted and each[run].status != "unverified"), None)
            kind = "run" if elsewhere is not None else issue.kind if issue else "number"
            right = names[elsewhere] if elsewhere is not None else issue.right if issue else ""
            wrong.append(Issue(kind, start, start + len(each[wanted[0]].text), each[wanted[0]].text, right))
    for issue in wrong:
        if _between_runs(issue, blank, numbers):
            numbers[issue.start] = Number(issue.text, issue.start, "derived")
        else:
            issues.append(issue)
    for run, (_, rows, _) in enumerate(results):
        for issue in rows:
            if issue.kind in _OF_NUMBERS and any(issue.start == start for start in numbers):
                continue
            own = placed.runs_at(issue.start, issue.end, wide=issue.kind in ("verdict", "broken"))
            if (own and run not in own) or any(_same(issue, other) for other in issues):
                continue
            if issue.kind == "name" or not own:  # a name of either run is known; without a run, wrong for all is wrong
                if not all(any(_same(issue, other) for other in others) for _, others, _ in results):
                    continue
            elif len(own) > 1 and not all(any(_same(issue, other) for other in results[o][1]) for o in own):
                continue
            if issue.kind == "direction" and _COMPARED.search(_sentence(blank, issue.start)) and len({m.run for m in found}) > 1:
                continue
            issues.append(issue)
    return finished(text, list(numbers.values()), issues, max(n for _, _, n in results), cited, language)


_OF_NUMBERS = frozenset({"number", "metric", "step", "line", "version", "setting"})


def _without(text: str, found: Sequence[RunMention], language: Language) -> str:
    """``text`` with "run" for each name of one: the digits in "run2.log" are no numbers, and what is said of it is said of a run."""
    word = "训练" if language == "zh" else "run"
    for one in found:
        text = text[: one.start] + word[: one.end - one.start].ljust(one.end - one.start) + text[one.end :]
    return text


def _same(a: Issue, b: Issue) -> bool:
    return a.start == b.start and a.end == b.end


def _sentence(text: str, position: int) -> str:
    return next((text[a:b] for a, b in sentences(text) if a <= position < b), "")


class _Placed:
    """Which runs a stretch of the text is about."""

    def __init__(self, text: str, found: Sequence[RunMention], default: tuple[int, ...]) -> None:
        self.text, self.found, self.default = text, [m for m in found if m.run >= 0 or m.run == BOTH_RUNS], default
        self.bounds = sentences(text)
        self.starts = [a for a, _ in self.bounds]

    def runs_at(self, start: int, end: int, *, wide: bool = False) -> tuple[int, ...]:
        """Indices of the runs; () when the text names none, and for "both"."""
        index = max(bisect_right(self.starts, start) - 1, 0)
        first, last = self.bounds[index] if self.bounds else (0, len(self.text))
        inside = [m for m in self.found if m.start < last and m.end > first]
        if wide:
            if inside:
                return tuple(dict.fromkeys(m.run for m in inside if m.run >= 0))
        else:
            behind = next((m for m in inside if m.start >= end), None)
            if behind is not None and _BEHIND.match(self.text[end : behind.start]):
                return self._of(behind)
            before = next((m for m in reversed(inside) if m.end <= start), None)
            if before is not None:
                return self._of(before)
            if behind is not None and not _CLAUSE.search(self.text[end : behind.start]):
                return self._of(behind)
        above = next((m for m in reversed(self.found) if m.end <= first), None)
        if above is not None and "\n\n" not in self.text[above.end : first].strip(" "):
            return self._of(above)
        return self.default

    @staticmethod
    def _of(one: RunMention) -> tuple[int, ...]:
        return (one.run,) if one.run >= 0 else ()


def _between_runs(issue: Issue, text: str, numbers: Mapping[int, Number]) -> bool:
    """Whether a number is the difference, ratio or percentage of two proven numbers of its sentence."""
    bounds = next(((a, b) for a, b in sentences(text) if a <= issue.start < b), None)
    if bounds is None:
        return False
    rows = [n for n in numerals(text[bounds[0] : bounds[1]]) if n.unit not in ("%", "x")]
    shown: Numeral | None = next((n for n in numerals(text[bounds[0] : bounds[1]]) if bounds[0] + n.start == issue.start), None)
    if shown is None or not (_COMPARED.search(text[bounds[0] : bounds[1]]) or DIFFERENCE.search(text[bounds[0] : issue.start])):
        return False
    known = [
        n
        for n in rows
        if (one := numbers.get(bounds[0] + n.start)) is not None and one.status in ("run", "derived") and n.start != shown.start
    ]
    return any(
        agrees(shown, sign * value)
        for a, b in product(known, known)
        if a is not b
        for value in changes(a.value, b.value, shown.unit)
        for sign in (1, -1)
    )
