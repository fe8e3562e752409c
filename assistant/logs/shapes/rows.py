"""From the numbers found in a line to a row of the table, fast: lines of one log repeat their words and change their digits.

A line is first read the careful way, which finds where each number stands. From that a *pattern* is made that fits every
line with the same words; the next such line costs one match and one conversion a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from assistant.logs.columns import Layout, Table
from assistant.logs.shapes import repeats
from assistant.logs.shapes.printed import NUMBER, Printed, read_printed
from assistant.logs.shapes.repeats import Batch, Repeat
from assistant.run import FIXED_DECIMALS, SCIENTIFIC, SCIENTIFIC_UPPER, Style

DIGITS = b"0123456789.+-e "
_MAX_SKELETONS = 400
_MAX_PATTERNS = 4
"""Of lines that differ in the digits of their keys alone (``count_0``, ``count_1``)."""

_ROUNDED = 12
"""Printers that round keep no more decimals."""

_MAX_LINE = 20_000


class Place(NamedTuple):
    """Where a number stands in a line (its digits only), and whether NumPy or torch wraps it. ``text`` replaces the digits."""

    key: str
    start: int
    end: int
    wrapped: bool = False


class Reading(NamedTuple):
    """The numbers of a line; ``step`` is where its step stands, ``total`` the number of steps that it announces.

    ``loose`` are stretches whose digits are no metrics and change from line to line (a time, a bar, a text between quotes).
    ``cut``: the line ends inside a value (left out).
    """

    places: Sequence[Place]
    step: tuple[int, int] | None = None
    total: int | None = None
    cut: bool = False
    loose: Sequence[tuple[int, int]] = ()


class Row(NamedTuple):
    """A row as `Table.add` takes it; ``step`` is None when the line prints none."""

    step: int | None
    layout: Layout
    values: Sequence[float]
    styles: bytes
    texts: dict[int, str]
    total: int | None = None
    cut: bool = False


@dataclass(slots=True)
class Look:
    """How each number of a pattern is printed, as far as it is known yet."""

    printers: list[Callable[[float], str]]
    styles: bytes


@dataclass(slots=True)
class Pattern:
    """Fits every line with the same words."""

    regex: re.Pattern[str]
    step: int  # group of the step, -1 for none
    layout: Layout
    order: Sequence[int]  # groups of the values
    look: Look
    total: int | None
    rounded: Sequence[tuple[int, int]]  # position, decimals
    parts: Sequence[str | int]  # words between the numbers (patterns), and the groups of the numbers
    repeat: Repeat | None = None

    @property
    def styles(self) -> bytes:
        return self.look.styles


class RowReader:
    """Makes rows of lines for one table. ``find`` is the careful way: it gives None for a line that holds no metrics.

    ``fixed``: the printer rounds (see `read_printed`). ``rounded`` names keys that are rounded before they are printed in
    full, with their decimals (the Hugging Face trainer's ``loss``).
    """

    def __init__(
        self, table: Table, find: Callable[[str], Reading | None], *, fixed: bool = False, rounded: dict[str, int] | None = None
    ) -> None:
        self._table = table
        self._find = find
        self._fixed = fixed
        self._rounded = rounded or {}
        self._patterns: dict[bytes, list[Pattern]] = {}
        self._latest: Pattern | None = None

    def read(self, raw: bytes) -> Row | None:
        text = raw.decode("utf-8", "replace")
        skeleton = raw.translate(None, DIGITS)
        for pattern in self._patterns.get(skeleton, ()):
            if (found := pattern.regex.fullmatch(text)) is not None:
                self._latest = pattern
                return self._quick(pattern, found.groups())
        self._latest = None
        reading = self._find(text)
        if reading is None or not reading.places:
            return None
        row = self.row(text, reading)
        if len(raw) <= _MAX_LINE and not reading.cut:
            self._learn(skeleton, text, reading, row)
        return row

    def learn(self, raw: bytes, reading: Reading) -> Row:
        """Reads a text whose numbers were found elsewhere, so that the next one like it is read by its pattern."""
        text = raw.decode("utf-8", "replace")
        row = self.row(text, reading)
        self._learn(raw.translate(None, DIGITS), text, reading, row)
        return row

    @property
    def latest(self) -> tuple[Layout, bool] | None:
        """The names in the line just read, and whether it prints a step, when its pattern was met before."""
        return (self._latest.layout, self._latest.step >= 0) if self._latest is not None else None

    def known(self, raw: bytes) -> Pattern | None:
        """The pattern of a text that was read or learnt before, for `read_on`."""
        text = raw.decode("utf-8", "replace")
        return next((one for one in self._patterns.get(raw.translate(None, DIGITS), ()) if one.regex.fullmatch(text)), None)

    def read_on(self, block: bytes, at: int, block_lines: int = 1, pattern: Pattern | None = None, not_before: bytes = b"") -> Batch | None:
        """The records from ``at`` (the start of a line) on that are like the one just read, when its pattern was met before.

        ``block_lines``: how many lines a record has; between records of more than one, lines without words are passed over.
        ``not_before``: a pattern for what goes on with the record, and so may not follow one.
        """
        one = pattern or self._latest
        if one is None:
            return None
        if one.repeat is None:
            one.repeat = Repeat(one.parts, one.step, not_before)
        return repeats.read_on(one.repeat, one, lambda digits: self._quick(one, digits), block, at, block_lines)

    def row(self, text: str, reading: Reading) -> Row:
        """The row of a line whose numbers were found (of equal keys the last counts)."""
        by_key: dict[str, Printed] = {}
        for place in reading.places:
            by_key[place.key] = self._printed(place, text[place.start : place.end])
        layout = self._table.layout(tuple(by_key))
        texts = {i: one.text for i, one in enumerate(by_key.values()) if one.text}
        step = _whole(text[slice(*reading.step)]) if reading.step else None
        values = [one.value for one in by_key.values()]
        return Row(step, layout, values, bytes(one.style for one in by_key.values()), texts, reading.total, reading.cut)

    def _printed(self, place: Place, digits: str) -> Printed:
        if place.key in self._rounded and digits[:1] not in "NT":
            value = float(digits)
            style = FIXED_DECIMALS + self._rounded[place.key]
            if value == value and abs(value) != float("inf") and round(value, self._rounded[place.key]) == value:
                return Printed(value, style, "" if f"{value:.{style - FIXED_DECIMALS}f}" == digits else digits)
        return read_printed(digits, self._fixed, place.wrapped)

    def _quick(self, pattern: Pattern, digits: Sequence[str]) -> Row:
        printed = [digits[i] for i in pattern.order]
        values = list(map(float, printed))
        step = int(digits[pattern.step]) if pattern.step >= 0 else None
        styles, texts = pattern.styles, {}
        shown = [show(value) for show, value in zip(pattern.look.printers, values, strict=True)]
        if shown != printed or pattern.rounded:
            odd = {i for i, digits_again in enumerate(shown) if digits_again != printed[i]} | {i for i, _ in pattern.rounded}
            marked = bytearray(styles)
            for i in odd:
                one = self._printed(Place(pattern.layout.keys[i], 0, 0, styles[i] == Style.NUMPY), printed[i])
                marked[i] = one.style
                if one.text:
                    texts[i] = one.text
                elif (FIXED_DECIMALS <= one.style <= FIXED_DECIMALS + _ROUNDED and styles[i] == Style.REPR) or styles[i] == Style.OTHER:
                    # 0.4310 tells that the printer rounds
                    pattern.look.printers[i] = _printer(one.style)
                    pattern.look.styles = pattern.styles[:i] + bytes([one.style]) + pattern.styles[i + 1 :]
            styles = bytes(marked)
        return Row(step, pattern.layout, values, styles, texts, pattern.total)

    def _learn(self, skeleton: bytes, text: str, reading: Reading, row: Row) -> None:
        keys = [place.key for place in reading.places]
        marks = {(place.start, place.end): f"({NUMBER})" for place in reading.places}
        if len(set(keys)) != len(keys) or len(marks) != len(keys):
            return
        if reading.step:
            marks[reading.step] = _STEP
        if any("," in text[a:b] or text[a:b] in _WORDS for a, b in marks):
            return
        pieces = [*((a, b, pattern) for (a, b), pattern in marks.items()), *((a, b, "") for a, b in reading.loose)]
        pieces.sort()
        parts: list[str] = []
        shape: list[str | int] = []
        at = 0
        for start, end, pattern in pieces:
            if start < at:
                return
            parts += [_literal(text[at:start]), pattern or _loose(text[start:end])]
            shape += [parts[-2], sum(isinstance(part, int) for part in shape) if pattern else parts[-1]]
            at = end
        parts.append(_literal(text[at:]))
        shape.append(parts[-1])
        known = self._patterns.setdefault(skeleton, [])
        if len(known) >= _MAX_PATTERNS:
            return
        if len(self._patterns) > _MAX_SKELETONS:
            self._patterns = {skeleton: known}
        groups = sorted(marks)
        rounded = [(i, self._rounded[key]) for i, key in enumerate(row.layout.keys) if key in self._rounded]
        known.append(
            Pattern(
                re.compile("".join(parts)),
                groups.index(reading.step) if reading.step else -1,
                row.layout,
                [groups.index((place.start, place.end)) for place in reading.places],
                Look([repr if row.layout.keys[i] in self._rounded else _printer(style) for i, style in enumerate(row.styles)], row.styles),
                reading.total,
                rounded,
                shape,
            )
        )


_STEP = r"(-?\d{1,18})"
_WORDS = frozenset({"None", "null", "True", "False", "true", "false"})


def _literal(text: str) -> str:
    """A pattern for the words between numbers; the width of their gaps may change."""
    return r"\n".join(_GAP.sub(_any_gap, re.escape(line)) for line in text.split("\n"))


_GAP = re.compile(r"(?:\\?[ \t])+")


def _any_gap(gap: re.Match[str]) -> str:
    return r"[ \t]+" if "\t" in gap[0] else " +"


def _loose(text: str) -> str:
    """A pattern for words whose digits may change too."""
    return re.sub(r"\d+", r"\\d+", _literal(text))


def _whole(digits: str) -> int | None:
    return int(digits) if len(digits) <= 18 else None


def _printer(style: int) -> Callable[[float], str]:
    """What prints a number in a style, as `print_value` does, but made once."""
    if style == Style.INT:
        return "{:.0f}".format
    if style == Style.OTHER:  # each such number is looked at again
        return lambda value: ""
    if style >= SCIENTIFIC:
        return f"{{:.{style % 32}{'E' if style >= SCIENTIFIC_UPPER else 'e'}}}".format
    if style >= FIXED_DECIMALS:
        return f"{{:.{style - FIXED_DECIMALS}f}}".format
    return repr


def come_again(keys: Sequence[str], known: Collection[str]) -> bool:
    """Whether a line repeats most of the names of the record before it: then it is another record, though of the same step."""
    return 2 * sum(1 for key in keys if key in known) > min(len(keys), len(known))
