"""Metric lines that copy and paste broke over several lines: which line goes on with which, and where that is in doubt."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from assistant.logs.metric_line import STEP
from assistant.logs.metric_part import (
    NOT_IN_KEYS,
    UNFINISHED,
    Part,
    common_decimals,
    glued_part,
    in_full,
    mostly_three_decimals,
    number,
    parse_part,
)
from assistant.logs.prefix import CODE_AT_END, RAY, before_metrics, split_process, strip_colours, strip_end
from assistant.run import Style

_MAX_WRAPS = 200
_LONGEST = 20000
NARROWEST = 40
"""No terminal breaks lines earlier."""

ORPHAN = re.compile(rb" - [A-Za-z][\w@.()\-]*/[\w/@.()\-]+(?<!\.py):(?:np\.\w+\()?-?(?:\d+\.?\d*(?:e-?\d+)?|nan|inf)\)?(?= - |\s*(?:\n|$))")
"""A metric inside a line: where no metric line was read, something is missing before it."""

OPENING = re.compile(rb"(?:- )?[\w/@.()\-]*:?(?:np\.\w+\()?-?(?:\d+\.?\d*(?:e-?\d+)?|nan|inf)\)?(?= - |\s*$)")
"""The first line of a paste that begins inside a metric line."""

FRAGMENT = re.compile(rb"[\w/@.()\-]*[/_.\d][\w/@.()\-:]* ?-?[ \t\r]*\n")
"""A line that may be the last piece of a metric's name or number."""

IN_NAMES = b"_/.-=@"
_NUMBER_ENDS = b"0123456789.)e+-m \r\t"
_DIGITS = re.compile(rb"[\d.]+(?:e[-+]?\d*)?\)?|e?[-+]?\d+\)?|\)")
_GOES_ON = re.compile(rb"[\d.eE+\-]*\)?")
_DIGIT_LINE = re.compile(rb"[\d.]+(?:e[-+]?\d+)?\)?\s*$|e[-+]?\d+\s*$")
_HEAD_AT_END = re.compile(rb"(?:s|st|ste|step|step:|step:\s?-?\d{1,18}|step:\s?-?\d{1,18} -)$")
_PLAIN = (Style.REPR, Style.INT, Style.NUMPY, Style.BOOL)
_BRACKET = re.compile(rb"\(-?[\d.]|\(nan|\(-?inf")
_TAG_AT_END = re.compile(RAY + rb"\s*$")
_NAME_END = re.compile(rb"[\w/@.()\-]*[/_.\-@]$")


def inside_name(block: bytes, hit: int) -> bool:
    """Whether ``step:`` at ``hit`` is the end of a longer name (``training/global_step:5``) or of a word."""
    if hit == 0:
        return False
    before = block[hit - 1]
    if before in IN_NAMES:
        return True
    if before >= 0x80 or not chr(before).isalnum():
        return False
    return chr(before).isdigit() or CODE_AT_END.search(block, max(0, hit - 16), hit) is None


def next_step(body: bytes, start: int = 5) -> int:
    """Where in a metric line the next one begins, when several are glued together; 0 for nowhere."""
    at = body.find(b"step:", start)
    while at > 0:
        head = STEP.match(body, at)
        if head and body[head.end() : head.end() + 3] == b" - ":
            if body[at - 1] in b" \r\t" or (body[at - 1] in b"mKAGHJ" and CODE_AT_END.search(body, max(0, at - 16), at)):
                return at
            if body[at - 1] not in IN_NAMES and (b":" in body[body.rfind(b" - ", 0, at) + 3 : at] or _same_key(body, head.end())):
                return at
        at = body.find(b"step:", at + 5)
    return 0


def _same_key(body: bytes, end: int) -> bool:
    """Whether the first key behind a head that ends at ``end`` is the first key of the line, which thus begins again."""
    key = body[end + 3 : body.find(b":", end) + 1]
    first = body.find(b" - ") + 3
    return len(key) > 3 and body[first : first + len(key)] == key


def may_continue(block: bytes, start: int, body: bytes) -> bool:
    """A first, quick look at the line that begins at ``start``: False when it is the next metric line, or other words."""
    stop = block.find(b"\n", start)
    stop = len(block) if stop < 0 else stop
    at = block.find(b"step:", start, min(stop, start + 200))
    if at >= 0 and body[-1:] not in (b"_", b"/", b"-", b".") and (at == start or block[at - 1] not in IN_NAMES):
        head = STEP.match(block, at, min(stop, at + 40))
        if head and block[head.end() : head.end() + 3] == b" - " and (at == start or before_metrics(block[start:at])[0]):
            return False
    if not body or body[-1] not in b"0123456789)" or block.find(b" - ", start, stop) >= 0:
        return True
    return stop > start and (block[stop - 1] in _NUMBER_ENDS or body.find(b":", body.rfind(b" - ") + 1) < 0)


def holds_head(text: bytes) -> bool:
    """Whether a metric line begins somewhere in a line."""
    at = text.find(b"step:")
    while at >= 0:
        head = STEP.match(text, at)
        if head and text[head.end() : head.end() + 3] == b" - " and not inside_name(text, at):
            return True
        at = text.find(b"step:", at + 5)
    return False


def next_is_metrics(block: bytes, start: int) -> bool:
    """Whether a metric line begins at ``start``, perhaps after a prefix."""
    return start < len(block) and not may_continue(block, start, b"")


def width_of(line: bytes) -> int:
    """Columns that a line takes on a screen."""
    plain = strip_colours(line)
    return len(plain) if plain.isascii() else len(plain.decode("utf-8", "replace"))


def bare(line: bytes, prefix: bytes, process: str) -> bytes | None:
    """A line without the prefix that each piece of a broken line may carry again; None when another process printed it."""
    plain = strip_colours(line.rstrip(b"\r\n"))
    if prefix and plain.startswith(prefix):
        return plain[len(prefix) :]
    tag, rest = split_process(plain)
    return rest if not tag or tag == process else None


class Joined(NamedTuple):
    """A metric line put together: where its last piece ends (-1: the next block is needed to know), whether its last
    number may go on in a line that was not taken, and where in its last piece the next metric line begins (0: nowhere)."""

    body: bytes
    end: int
    doubt: bool = False
    next_at: int = 0


class Joiner:
    """Puts broken lines together, and remembers the widths at which lines are broken."""

    def __init__(self) -> None:
        self.widest = 0
        """Of the metric lines so far, in bytes: a shorter line was not broken at the edge of a screen."""
        self._widths: set[int] = set()

    def join(self, block: bytes, start: int, hit: int, end: int, body: bytes, process: str, final: bool) -> Joined:
        """The line ``block[start:end]``, whose metrics ``body`` begin at ``hit``, with the lines that go on with it."""
        wraps = 0
        widest = width = width_of(block[start:end])
        doubt = False
        next_at = 0
        prefix = strip_colours(block[start:hit])
        head = STEP.match(body)
        step = int(head[1]) if head else None
        row: bytes | None = None

        def full() -> bool:
            return width in self._widths or (width == widest and (wraps > 0 or width_of(row or b"") == width))

        while wraps < _MAX_WRAPS and end + 1 < len(block) and not next_at:
            stop = block.find(b"\n", end + 1, end + _LONGEST)
            stop = len(block) if stop < 0 else stop
            row = bare(block[end + 1 : min(stop, end + _LONGEST)], prefix, process)
            longer = None if row is None else joined(body, row, step, full)
            if longer is None or row is None:
                doubt = row is not None and width >= max(NARROWEST, self.widest) and may_go_on(body, row)
                break
            if at := next_step(longer, max(len(body) - 24, 5)):
                next_at = max(0, block.find(longer[at : at + 12], end + 1, stop))
                longer = longer[:at].rstrip()
                if not next_at:  # its head is broken as well: what follows is told as unread
                    body = longer
                    break
            if wraps:
                self._widths.add(widest)
            width = width_of(row)
            widest = max(widest, width)
            body, end, wraps = longer, stop, wraps + 1
        if wraps and not final and end + 1 >= len(block):
            return Joined(body, -1)
        if wraps > 1:
            self._widths.add(widest)
        return Joined(body, end, doubt, next_at)


def joined(body: bytes, rest: bytes, step: int | None, full: Callable[[], bool]) -> bytes | None:
    """``body`` with the line ``rest`` (without its prefix) when that goes on with it, else None.

    ``full``: the line before was broken at full width, so that its last number may go on. Where the rest of a line holds
    the next metric line as well, that is kept at the end.
    """
    rest = strip_end(rest).strip()
    if not rest or (rest[0] in b"([{\"'<|#`" and not _BRACKET.match(rest)):
        return None
    rest, after = _before_head(body, rest, step)
    if not rest:
        return None
    start = body.rfind(b" - ")
    tail = body[start + 3 :] if start >= 0 else body
    anew = rest.startswith(b"- ") or rest == b"-"
    if body.endswith(b" -") or anew:
        last = parse_part(tail.removesuffix(b" -"))
        pieces = rest.removeprefix(b"- ").split(b" - ")
        if last is None or body.endswith(b" -") == anew:
            return None
        good = rest == b"-" or _good(pieces, len(pieces) > 1 or len(rest) >= NARROWEST // 2 or full())
        return body + b" " + rest + after if good else None
    more = rest.endswith(b" -")
    pieces = rest.removesuffix(b" -").split(b" - ")
    if len(pieces) == 1 and not after and not more:
        return body + rest if _last_piece(body, tail, rest, full) else None
    whole = parse_part(tail) is not None
    if whole and not _GOES_ON.fullmatch(pieces[0]):
        return None
    pieces[0] = tail + pieces[0]
    return body + rest + after if _good(pieces, True) and _as_printed(pieces[0], tail, body) else None


def may_go_on(body: bytes, rest: bytes) -> bool:
    """Whether the last number of ``body`` could go on in the line ``rest``, which was not taken for its continuation."""
    return _DIGIT_LINE.match(rest.strip()) is not None and body[-1:] in b"0123456789."


def _before_head(body: bytes, rest: bytes, step: int | None) -> tuple[bytes, bytes]:
    """What of a line stands before the next metric line, and from that on; the whole line when none begins in it."""
    at = rest.find(b"step:")
    while at >= 0:
        head = STEP.match(rest, at)
        if head and rest[head.end() : head.end() + 3] == b" - " and not (at and rest[at - 1] in IN_NAMES):
            if at == 0:
                if not _goes_on_with_step(body, step, int(head[1]), rest[head.end() :]):
                    return b"", rest
            elif _ends_in_value(body, lead := _TAG_AT_END.sub(b"", rest[:at])):
                return lead, rest[len(lead) :]
            elif before_metrics(rest[:at])[0]:
                return b"", rest
            elif not inside_name(rest, at):
                return rest[:at], rest[at:]
        at = rest.find(b"step:", at + 5)
    return rest, b""


def _goes_on_with_step(body: bytes, step: int | None, number: int, rest: bytes) -> bool:
    """Whether a line ``step:5 - …`` is no metric line but goes on with one broken after ``training/global_``."""
    tail = body[body.rfind(b" - ") + 3 :]
    first = body.find(b" - ") + 3
    again = rest[3 : rest.find(b":") + 1] == body[first : body.find(b":", first) + 1]
    return _NAME_END.match(tail) is not None and (number == step or tail.endswith(b"global_")) and not again


def _ends_in_value(body: bytes, rest: bytes) -> bool:
    if b" - " in rest:
        return parse_part(rest[rest.rfind(b" - ") + 3 :]) is not None
    return parse_part(body[body.rfind(b" - ") + 3 :] + rest) is not None


def _good(pieces: list[bytes], several: bool) -> bool:
    """Whether all pieces are parts; the last may be unfinished, or have other output glued to it."""
    for piece in pieces[:-1]:
        if not _is_part(piece):
            return False
    last = pieces[-1].removesuffix(b" -")
    if _is_part(last):
        return True
    if several and UNFINISHED.fullmatch(last) and not NOT_IN_KEYS.search(last) and not last[:1].isdigit():
        return True
    found = glued_part(last, ())
    return found is not None and b"/" in found.key


def _is_part(piece: bytes) -> bool:
    part = parse_part(piece)
    if part is None or NOT_IN_KEYS.search(part.key) or part.key[:1].isdigit():
        return False
    return b":" not in part.key or b"://" in part.key


def _as_printed(piece: bytes, tail: bytes, body: bytes) -> bool:
    """Whether a part put together is a whole one, and its number one that a program prints like this."""
    part = parse_part(piece)
    if part is None:
        return glued_part(piece, ()) is not None
    if b":" not in tail or tail.endswith(b":"):
        return True
    style = number(part, False)[1]
    others = _parts(body)
    return style in _PLAIN or (style != Style.OTHER and (common_decimals(others) > 0 or not in_full(others)))


def _parts(body: bytes) -> list[Part]:
    """The whole parts of a line but its head and its last piece."""
    return [part for piece in body.split(b" - ")[1:-1] if (part := parse_part(piece)) is not None]


def _last_piece(body: bytes, tail: bytes, rest: bytes, full: Callable[[], bool]) -> bool:
    """Whether a line without `` - `` goes on with an unfinished part, or with the digits of its number."""
    last = parse_part(tail)
    if last is None:
        if NOT_IN_KEYS.search(tail) or not UNFINISHED.fullmatch(tail):
            return False
        if _is_part(tail + rest):
            return True
        found = glued_part(tail + rest, ())
        if found is not None and len(found.key) + 1 + len(found.text) > len(tail):
            return True
        return b"/" in rest and not NOT_IN_KEYS.search(rest) and UNFINISHED.fullmatch(tail + rest) is not None and full()
    if last.wrapped or not _DIGITS.fullmatch(rest):
        return False
    longer = parse_part(tail + rest)
    if longer is None:
        return False
    parts = _parts(body)
    if len(parts) > 2 and mostly_three_decimals(parts):
        return number(last, True)[1] != Style.FIXED3 and number(longer, True)[1] == Style.FIXED3
    return _as_printed(tail + rest, tail, body) and (number(last, False)[1] == Style.OTHER or full())


def ends_in_head(block: bytes) -> bool:
    """Whether a log ends with a metric line of which there is nothing but ``step:5``."""
    line = block[max(block.rfind(b"\n") + 1, len(block) - 400) :].rstrip(b" ")
    found = re.search(rb"step:\s?\d*(?: -)?$", line)
    return found is not None and not inside_name(line, found.start()) and before_metrics(line[: found.start()])[0]


def broken_head(block: bytes, start: int, row: int) -> tuple[int, int, int] | None:
    """A metric line whose ``step:N`` itself was broken, before the line that begins at ``row``.

    Where the line with the first half of the head begins, the head itself, and where that line ends; None when there is none.
    """
    for _ in range(3):
        end = row - 1
        if end <= start:
            return None
        begin = block.rfind(b"\n", start, end) + 1 or start
        line = strip_end(block[begin:end])
        found = _HEAD_AT_END.search(line)
        if found and not inside_name(line, found.start()):
            tag, _ = split_process(strip_colours(line))
            stop = block.find(b"\n", row)
            rest = bare(block[row : stop if stop >= 0 else len(block)], b"", tag)
            gap = b" " if found[0].endswith(b" -") or (rest or b"").lstrip().startswith(b"- ") else b""
            whole = found[0] + gap + (rest or b"").strip()
            head = STEP.match(whole)
            if head and whole[head.end() : head.end() + 3] == b" - " and before_metrics(line[: found.start()])[0]:
                return begin, begin + found.start(), end
        row = begin
    return None
