"""Many lines (or blocks of lines) with the same words, one below the other, read at once.

Read one by one, most of the time goes into what surrounds each line. Here the lines are matched one after the other, and
each column of numbers is converted, and checked for how it is printed, as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import NamedTuple, Protocol

import orjson

from assistant.logs.columns import Layout
from assistant.logs.shapes.printed import NUMBER
from assistant.run import FIXED_DECIMALS, SCIENTIFIC, SCIENTIFIC_UPPER, Style

MOST = 512
"""Records read at once."""

_TIRED = 64
"""After so many vain tries a pattern is no longer tried: its lines do not stand one below the other."""

_STRICT = 4
"""After so many, numbers may be printed in any way."""

_MAX_GAPS = 3
_EXACT = 15
"""A number of so many digits is given back by printing it in the same way."""

_END = rb"[ \t]*\r?\n"
_NO_WORDS = re.compile(rb"[^A-Za-z0-9|\n]*\n")


class Batch(NamedTuple):
    """Records that were read at once.

    ``stop``: where the line after them begins, ``n_lines`` further down; ``lines``: how many lines further down each record
    begins; ``last``: where the last one begins. ``texts``: of some records, the digits by position (as in `Row`).
    """

    stop: int
    last: int
    n_lines: int
    lines: list[int]
    layout: Layout
    steps: list[int] | None
    values: list[tuple[float, ...]]
    styles: list[bytes]
    texts: dict[int, dict[int, str]]
    total: int | None


class Shown(Protocol):
    """A row read alone: how its numbers are printed."""

    @property
    def styles(self) -> bytes: ...

    @property
    def texts(self) -> dict[int, str]: ...


class Printing(Protocol):
    """How the numbers of a pattern are printed; may change while it is used."""

    layout: Layout
    order: Sequence[int]
    total: int | None
    rounded: Sequence[tuple[int, int]]

    @property
    def styles(self) -> bytes: ...


class Repeat:
    """The pattern over bytes for one record. ``parts``: words (patterns) and numbers (their groups), ``step`` its group or -1;
    ``not_before``: what may not stand after it."""

    def __init__(self, parts: Sequence[str | int], step: int, not_before: bytes = b"") -> None:
        self.parts = parts
        self.step = step
        self._end = _END + (b"(?!" + not_before + b")" if not_before else b"")
        self.strict = True
        self.vain = 0
        self._made: dict[tuple[bytes, bool], re.Pattern[bytes] | None] = {}

    def regex(self, printing: Printing) -> re.Pattern[bytes] | None:
        """None when the numbers are printed in a way that only a careful look tells."""
        key = (printing.styles, self.strict)
        if key not in self._made:
            self._made[key] = self._make(printing)
        return self._made[key]

    def _make(self, printing: Printing) -> re.Pattern[bytes] | None:
        rounded = {i for i, _ in printing.rounded}
        style_of = {group: Style.REPR if i in rounded else printing.styles[i] for i, group in enumerate(printing.order)}
        if any(style in (Style.OTHER, Style.NULL, Style.BOOL) for style in style_of.values()):
            return None
        made = []
        for part in self.parts:
            if isinstance(part, str):
                made.append(part)
            elif part == self.step:
                # a longer one may be no step; its digits are told from its value alone
                made.append(r"(0|-?[1-9]\d{0,11}+)" if part in style_of else r"(-?\d{1,12}+)")
            else:
                made.append(f"({_strict(style_of[part]) if self.strict else NUMBER})")
        return re.compile("".join(made).encode() + self._end)


def _strict(style: int) -> str:
    """A pattern for numbers that are given back exactly when printed in a style (of `Style.REPR`: that may be)."""
    if style == Style.INT:
        return r"0|-?[1-9]\d{0,14}"
    if style >= SCIENTIFIC:
        decimals = style % 32
        if decimals < _EXACT:
            e = "E" if style >= SCIENTIFIC_UPPER else "e"
            return rf"-?(?:[1-9]\.\d{{{decimals}}}{e}(?!-00)[-+]\d\d|0\.0{{{decimals}}}{e}\+00)"
    elif style >= FIXED_DECIMALS:
        decimals = style - FIXED_DECIMALS
        if decimals < _EXACT:
            return rf"-?(?:0|[1-9]\d{{0,{_EXACT - 1 - decimals}}})\.\d{{{decimals}}}"
    return r"-?\d++\.\d++(?:e[-+]\d\d)?|-?\de[-+]\d\d"


def read_on(
    one: Repeat, printing: Printing, alone: Callable[[Sequence[str]], Shown], block: bytes, at: int, block_lines: int
) -> Batch | None:
    """The records from ``at`` on; ``alone`` reads the digits of one that is printed in another way than those before."""
    if one.vain > _TIRED:
        return None
    regex = one.regex(printing)
    if regex is None:
        return None
    groups: list[tuple[bytes, ...]] = []
    ends: list[int] = []
    starts: list[int] = []
    lines: list[int] = []
    below = 0
    match, pos = regex.match, at
    while len(groups) < MOST:
        found = match(block, pos)
        if found is None:
            if block_lines == 1:
                break
            after, n = pos, 0
            while found is None and n < _MAX_GAPS and (gap := _NO_WORDS.match(block, after)) is not None:
                after, n = gap.end(), n + 1
                found = match(block, after)
            if found is None:
                break
            below += n
        groups.append(found.groups())
        starts.append(found.start())
        lines.append(below)
        below += block_lines
        pos = found.end()
        ends.append(pos)
    if not groups:
        one.vain += 1
        one.strict = one.strict and one.vain < _STRICT
        return None
    one.vain = 0
    styles, n_read, texts, values = _columns(one, printing, alone, groups)
    steps = [int(row[one.step]) for row in groups[:n_read]] if one.step >= 0 else None
    return Batch(
        ends[n_read - 1],
        starts[n_read - 1],
        lines[n_read - 1] + block_lines,
        lines[:n_read],
        printing.layout,
        steps,
        values[:n_read],
        styles,
        texts,
        printing.total,
    )


def _columns(
    one: Repeat, printing: Printing, alone: Callable[[Sequence[str]], Shown], groups: list[tuple[bytes, ...]]
) -> tuple[list[bytes], int, dict[int, dict[int, str]], list[tuple[float, ...]]]:
    """Styles, how many records they hold for, texts and values. When the way of printing changes, the records end there."""
    columns = list(zip(*groups, strict=True))
    before = printing.styles
    numbers = [list(map(float, columns[group])) for group in printing.order]
    rounded = dict(printing.rounded)
    odd: set[int] = set()
    styles = list(repeat(before, len(groups)))
    texts: dict[int, dict[int, str]] = {}
    for i, group in enumerate(printing.order):
        if i in rounded:
            odd.update(_rounded(i, rounded[i], columns[group], numbers[i], styles, texts))
        else:
            odd.update(_odd(before[i], columns[group], numbers[i], one.strict))
    values = list(zip(*numbers, strict=True))
    for row in sorted(odd):
        shown = alone([digits.decode() for digits in groups[row]])
        styles[row] = shown.styles
        texts.pop(row, None)
        if shown.texts:
            texts[row] = shown.texts
        if printing.styles != before:
            return styles[: row + 1], row + 1, {at: found for at, found in texts.items() if at <= row}, values
    return styles, len(groups), texts, values


def _rounded(
    at: int, decimals: int, digits: Sequence[bytes], values: list[float], styles: list[bytes], texts: dict[int, dict[int, str]]
) -> list[int]:
    """Numbers that were rounded before they were printed in full: notes their styles and texts, returns the odd rows."""
    odd = []
    form = b"%%.%df" % decimals
    made: dict[tuple[bytes, int], bytes] = {}
    for row, (value, text) in enumerate(zip(values, digits, strict=True)):
        if round(value, decimals) == value:
            style = FIXED_DECIMALS + decimals
            if form % value != text:
                texts.setdefault(row, {})[at] = text.decode()
        else:
            style = int(Style.REPR)
            if repr(value).encode() != text:
                odd.append(row)
        key = (styles[row], style)
        if key not in made:
            made[key] = styles[row][:at] + bytes([style]) + styles[row][at + 1 :]
        styles[row] = made[key]
    return odd


def _odd(style: int, digits: Sequence[bytes], values: list[float], strict: bool) -> Sequence[int]:
    """The rows whose digits are not what printing the number in the style would give."""
    if style in (Style.REPR, Style.NUMPY):
        if orjson.dumps(values) == b"[" + b",".join(digits) + b"]" and b"0.0000" not in b"".join(digits):
            return ()
        shown = [repr(value).encode() for value in values]
    elif style == Style.INT:
        if strict:
            return ()
        shown = [b"%.0f" % value for value in values]
    elif style >= FIXED_DECIMALS:
        if strict and (style % 32 if style >= SCIENTIFIC else style - FIXED_DECIMALS) < _EXACT:
            return ()
        if style >= SCIENTIFIC:
            form = b"%%.%d%s" % (style % 32, b"E" if style >= SCIENTIFIC_UPPER else b"e")
        else:
            form = b"%%.%df" % (style - FIXED_DECIMALS)
        shown = list(map(form.__mod__, values))
    else:
        return range(len(values))
    return [row for row, (a, b) in enumerate(zip(shown, digits, strict=True)) if a != b]
