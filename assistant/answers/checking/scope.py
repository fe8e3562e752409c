"""Sentences of a text and what they speak of: metrics, settings, findings, and which step a value belongs to."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from assistant.answers.checking.numerals import Numeral
from assistant.answers.grounding.evidence import Evidence
from assistant.lexicon import MAX_QUESTION, Lexicon, Target, base, find, of_run
from assistant.run import Run

_SENTENCE_END = re.compile(r"[.!?](?=[\s*`\"')\]]|$)|[。！？；;]|\n+")
_CLAUSE_END = re.compile(r"[,，、](?!\d)|[:：](?=\s)|\s(?:while|whereas|but|although|because|so|and then)\s|(?:但|而|同时|因为|所以|此时)")
_STEP_WORD = r"(?:(?<![\w/.])(?:steps?(?:\s?\()?|iterations?|iters?)|第|步[（(](?=\d+\s?[–-])|(?<![\w])@)"
_STEP_BEFORE = re.compile(
    rf"{_STEP_WORD}[\s`*=:#]*(?:\d[\d,]*\s?步?\s*(?:–|—|-|~|～|to|and|&|,|、|至|到|和|through|until|→|"
    rf"/)\s*(?:and\s*)?(?:steps?\s*|第\s?)?)*$",
    re.IGNORECASE,
)
_STEP_AFTER = re.compile(
    r"[\s`*]*(?:步)?[\s`*]*(?:\(|（|,|，|\[)?\s*(?:(?:at|in|on|by|around|near)\s+(?:around\s+|"
    r"about\s+)?|在|@\s?)?(?:\b(?:steps?|iterations?|iters?)\s*[=:#]?\s*|第\s?|@\s?)[`*]*(\d[\d,]*)",
    re.IGNORECASE,
)
_AT_STEP = re.compile(
    r"(?:(?:\b(?:at|in|on|by|around|for)\s+(?:about\s+|around\s+)?|^[\s*`>-]*)(?:steps?|iterations?)\s*[`*]*(\d[\d,]*)[`*]*|"
    r"(?:(?:在|到|至|于|截至|^|[，,。；])[\s*`>-]*第\s?[`*]*(\d+)[`*]*\s?步|第\s?[`*]*(\d+)[`*]*\s?步的))(?![\s`*]*(?:to|–|"
    r"-|~|至|到|起|之后|以后|以来|开始|"
    r"后))",
    re.IGNORECASE,
)
_CONSOLE = re.compile(r"(?:^|[\s`*])step\s?[:=]\s?(\d[\d,]*)\s*(?:[-,;|]\s|\s)", re.IGNORECASE)
"""A line as a console prints it: ``step:40 - actor/entropy:0.3``."""
_FOR_METRIC_AT = re.compile(
    r"\s+(?:for|of|in)\s+(?:the\s+)?[`*]*[A-Za-z_][\w./@() -]{1,50}?[`*]*\s+(?:at|in|on|@)\s*step\s*[`*]*(\d[\d,]*)(?!\s?(?:–|-|to\b))",
    re.IGNORECASE,
)
_LINE_BEFORE = re.compile(r"(?:\blines?|第)\s*[`*]*(?:\d[\d,]*\s*(?:–|-|to|and|至|到)\s*)?$", re.IGNORECASE)
_FROM = re.compile(r"(?:\bfrom|从|由|自)\s*(?:about\s+|around\s+|约|大约)?[`*~≈]*$", re.IGNORECASE)
_OF = re.compile(r"^[\s`*%]*(?:nats?(?:/token)?|tokens?|seconds?|s)?[\s`*]*(?:for|of|in|on|as)\s+(?:the\s+)?[`*]*$", re.IGNORECASE)
_OPEN = re.compile(r"^[\s`*]*[(（\[][`*\s]*$")

_CLOSED = re.compile(r"^[\s`*]*步?[\s`*]*(?:[.,;:，。；：、)）\]]|$)")
_TO_ITS_STEP = re.compile(r"^[\s`*%]*(?:[A-Za-z/]{1,12}|个\s?token)?[\s`*]*[(（\[]?[\s`*]*$")
_ONWARD = re.compile(r"\d\s?步?\s*(?:→|\bto|到|至)\s*[`*]*$")
_VALUE_AT = re.compile(r"\d[\d.,]*(?:e[-+]?\d+)?[\s`*%]*(?:[A-Za-z]{1,8}\s*)?(?:\bat|\bin|\bon|\bby|@|[(（])?\s*$")


@dataclass(frozen=True, slots=True)
class Mention:
    """``keys`` are the printed keys that a metric's name can mean here; ``literal`` when the key itself is written."""

    start: int
    end: int
    kind: str  # metric, setting, finding
    names: tuple[str, ...]
    keys: tuple[str, ...] = ()
    literal: bool = False
    also: tuple[str, ...] = ()
    """Settings that a metric's name stands for as well (the learning rate)."""


@dataclass
class Sentence:
    """``text[start:end]`` of the whole; ``mentions`` and positions are those of the whole text."""

    whole: str
    start: int
    end: int
    mentions: Sequence[Mention] = ()
    numbers: list[Numeral] = field(default_factory=list)

    @cached_property
    def text(self) -> str:
        return self.whole[self.start : self.end]

    def clause(self, position: int) -> tuple[int, int]:
        """Bounds of the clause around ``position``."""
        start, end = self.start, self.end
        for m in _CLAUSE_END.finditer(self.text):
            if self.start + m.end() <= position:
                start = self.start + m.end()
            elif self.start + m.start() >= position:
                end = self.start + m.start()
                break
        return start, end

    def plain(self, start: int, end: int) -> str:
        """The text between two positions with the names of metrics and settings blanked: "mean" in a key is no word."""
        out = self.whole[start:end]
        for m in self.mentions:
            if m.kind != "finding" and m.start < end and m.end > start:
                a, b = max(m.start, start) - start, min(m.end, end) - start
                out = out[:a] + "_" * (b - a) + out[b:]
        return re.sub(r"`[^`]*`", lambda m: "_" * len(m[0]), out)

    def subject(self, numeral: Numeral, kinds: tuple[str, ...] = ("metric", "setting")) -> Mention | None:
        """What a number is a value of: the thing named right after it ("0.03 for `actor/entropy`"), else last before it, else after."""
        rows = [m for m in self.mentions if m.kind in kinds]
        after = next((m for m in rows if m.start >= numeral.end), None)
        if after is not None:
            between = self.whole[numeral.end : after.start]
            if _OF.match(between) or _OPEN.match(between):
                return after
        before = next((m for m in reversed(rows) if m.end <= numeral.start), None)
        if before is None and after is not None:
            between = self.whole[numeral.end : after.start]
            return after if len(between) <= 24 and not any(numeral.end <= n.start < after.start for n in self.numbers) else None
        return before

    def step_of(self, numeral: Numeral) -> int | None:
        """The step that a value is said to be of."""
        if (m := _STEP_AFTER.match(self.whole, numeral.end, min(self.end + 1, numeral.end + 60))) and self._belongs(m):
            following = self.whole[m.end() : m.end() + 20]
            if following.lstrip("`* ").startswith("行"):
                return None
            following = self.whole[m.end() : m.end() + 40]
            if not re.match(
                r"\s?步?\s?(?:–|-|~|to\b|至|到)\s*(?:steps?\s*|第\s?)?[`*]*\d+(?![\d.,]*\d|[%e])"
                r"(?![\s`*]*(?:\(|（|at\b|in step|on step|@))",
                following,
            ):
                return int(m[1].replace(",", ""))
            return None
        if _FROM.search(self.whole[max(self.start, numeral.start - 16) : numeral.start]):
            return None
        if m := _FOR_METRIC_AT.match(self.whole, numeral.end, min(self.end + 1, numeral.end + 90)):
            return int(m[1].replace(",", ""))
        lead = self.whole[self.start : numeral.start]
        placed = list(_AT_STEP.finditer(lead))
        if not placed:
            printed = _CONSOLE.search(lead)
            return int(printed[1].replace(",", "")) if printed and re.search(r"[:=]\s?[`*]*$", lead) else None
        found = placed[-1]
        if self._taken(self.start + found.start()):
            return None
        between = [n for n in self.numbers if self.start + found.end() <= n.start < numeral.start and not self.is_step(n)]
        if between and not (len(between) == 1 and _FROM.search(self.whole[max(self.start, between[0].start - 16) : between[0].start])):
            return None
        crossed = re.search(r"[,，;]\s?(?:and|but|while|whereas|then|而|但|之后|随后)", lead[found.end() :])
        return None if crossed else int(next(group for group in found.groups() if group).replace(",", ""))

    def _belongs(self, after: re.Match[str]) -> bool:
        """Whether a step behind a value is the value's own: not that of a next clause (", at step 70 it reached 3")."""
        comma = re.match(r"[\s`*]*(?:步)?[\s`*]*[,，]", after[0])
        return not comma or bool(_CLOSED.match(self.whole[after.end() : after.end() + 20]))

    def _taken(self, position: int) -> bool:
        """Whether the step named at ``position`` is that of the value right before it ("5.69 at step 70 and now 2.15")."""
        return any(
            n.end <= position and _TO_ITS_STEP.match(self.whole[n.end : position]) and not self.is_step(n) and not self.is_line(n)
            for n in self.numbers
        )

    def is_step(self, numeral: Numeral) -> bool:
        if numeral.unit not in ("", "step") or not math.isfinite(numeral.value) or numeral.value != int(numeral.value):
            return False
        lead = self.whole[max(self.start, numeral.start - 60) : numeral.start]
        found = _STEP_BEFORE.search(lead)
        if not found or (_ONWARD.search(found[0]) and _VALUE_AT.search(lead[: found.start()])):
            return False  # "from 945 at step 1 to 1237": a value, not a step
        if lead.rstrip(" `*").endswith("第") or re.search(r"第[^，。,]*$", lead):
            return bool(
                re.match(
                    r"[\s`*]*(?:步|(?:–|—|-|~|～|至|到|和|、|,|/)\s*(?:第\s?)?\d[\d,]*(?:\s*[–、,至到和-]\s*\d+)*\s*步)",
                    self.whole[numeral.end : numeral.end + 40],
                )
            )
        return True

    def is_line(self, numeral: Numeral) -> bool:
        lead = self.whole[max(self.start, numeral.start - 30) : numeral.start]
        if not _LINE_BEFORE.search(lead):
            return False
        return "line" in lead.lower() or bool(
            re.match(r"[\s`*]*行|\s*(?:–|-|至|到)\s*\d+\s*行", self.whole[numeral.end : numeral.end + 12])
        )


def same_length(text: str) -> str:
    """``text`` with compatibility forms folded, every character at its place."""
    out = []
    for char in text:
        folded = unicodedata.normalize("NFKC", char)
        out.append(
            folded if len(folded) == 1 and len(folded.casefold()) == 1 else char if len(char.casefold()) == 1 and len(folded) == 1 else " "
        )
    return "".join(out)


def sentences(text: str) -> list[tuple[int, int]]:
    """Character ranges of the sentences of ``text``."""
    bounds, start = [], 0
    for m in _SENTENCE_END.finditer(text):
        bounds.append((start, m.end()))
        start = m.end()
    if start < len(text):
        bounds.append((start, len(text)))
    return [(a, b) for a, b in bounds if text[a:b].strip()]


def scoped(text: str, numbers: Sequence[Numeral], evidence: Evidence) -> list[Sentence]:
    """The sentences of ``text`` with their mentions and numbers."""
    folded, names = same_length(text), _Names(evidence)
    out = []
    for start, end in sentences(text):
        mentions = names.mentions(folded, start, min(end, start + MAX_QUESTION))
        out.append(Sentence(text, start, end, mentions, [n for n in numbers if start <= n.start < end]))
    return out


_NO_NAMES = frozenset({"its", "step", "steps", "iteration", "iterations", "high", "low"})
"""Words that are no names in prose unless a key of the log is written so ("its" for it/s)."""
_LAST: list[tuple[Run, Lexicon]] = []


def _own_names(run: Run) -> Lexicon:
    """The run's own names, kept for the run that was looked at last."""
    if not _LAST or _LAST[0][0] is not run:
        _LAST[:] = [(run, of_run(run))]
    return _LAST[0][1]


class _Names:
    """What words mean in the text about one run."""

    def __init__(self, evidence: Evidence) -> None:
        diagnosis = evidence.diagnosis
        self.lexicons = [base(diagnosis.run.framework), _own_names(diagnosis.run)]
        self.columns = diagnosis.run.columns
        self.by_canonical: dict[str, list[str]] = {}
        for key, name in evidence.view.names.items():
            self.by_canonical.setdefault(_stem(name.canonical), []).append(key)
        self.leading = {f.id: [point.metric for point in f.evidence[:1]] for f in diagnosis.findings}

    def mentions(self, text: str, start: int, end: int) -> list[Mention]:
        found: list[Mention] = []
        for one in find(text[start:end], self.lexicons):
            first, last = start + one.first_char, start + one.last_char
            written = text[first:last]
            if written.lower() in _NO_NAMES and not _literal(text, first, last, self.columns):
                continue
            targets = [t for t in one.targets if t.weight >= one.targets[0].weight - 0.6]
            if metrics := [t for t in targets if t.kind in ("metric", "key")]:
                literal = _literal(text, first, last, self.columns)
                keys = [literal, *self._longer(literal)] if literal else [key for t in metrics for key in self._keys(t)]
                if literal in ("", written) and (held := self._held_out(text[max(start, first - 14) : first], written)) is not None:
                    keys = held
                shaped = bool(literal) or "/" in written or "_" in written
                also = tuple(t.id for t in one.targets if t.kind == "setting")
                found.append(Mention(first, last, "metric", tuple(t.id for t in metrics), tuple(dict.fromkeys(keys)), shaped, also))
            elif settings := tuple(t.id for t in targets if t.kind == "setting"):
                found.append(Mention(first, last, "setting", settings, (written,), "." in written or "_" in written))
            elif findings := tuple(t.id for t in targets if t.kind == "finding"):
                keys = [key for name in findings for key in self.leading.get(name, ())]
                found.append(Mention(first, last, "finding", findings, tuple(dict.fromkeys(keys))))
        return found

    def _held_out(self, lead: str, written: str) -> list[str] | None:
        """Keys of "evaluation loss": those of the held-out data, whatever the word alone means; None without such a word."""
        if not re.search(r"(?:\b(?:eval|evaluation|validation|val|test|held-out)|验证集?|评测|评估|测试集?)\s?的?$", lead, re.IGNORECASE):
            return None
        word = re.sub(r"\W+", "_", written.strip().lower())
        return [key for key in self.columns if re.match(r"(?:eval|val|test)", key) and word in key.lower()]

    def _longer(self, literal: str) -> list[str]:
        """Keys that a key without a section may be short for: ``learning_rate`` for ``train/learning_rate``."""
        return [] if "/" in literal else [key for key in self.columns if key.endswith("/" + literal)]

    def _keys(self, target: Target) -> Sequence[str]:
        """Printed keys that a metric's name can mean: mean, maximum and minimum of one quantity alike."""
        return [target.key] if target.kind == "key" else self.by_canonical.get(_stem(target.id), ())


def _literal(text: str, first: int, last: int, columns: Container[str]) -> str:
    """The printed key that stands around ``text[first:last]``; "" when the words are no key."""
    a, b = first, last
    while a > 0 and ((text[a - 1].isalnum() and text[a - 1].isascii()) or text[a - 1] in "_/.@-"):
        a -= 1
    while b < len(text) and ((text[b].isalnum() and text[b].isascii()) or text[b] in "_/.@-()"):
        b += 1
    word = text[a:b].strip("-.")
    for candidate in (word, word.rstrip(").-"), word.rstrip(".-")):
        if candidate in columns:
            return candidate
    return ""


def _stem(canonical: str) -> str:
    stem = canonical
    for ending in ("_mean", "_max", "_min"):
        stem = stem.removesuffix(ending)
    return "score" if stem == "reward" else stem
