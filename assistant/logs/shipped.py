"""What the way of a log has put around its lines: prefixes of containers, schedulers and quotes, indentation, full-width signs,
line breaks at a screen's edge. Formats whose records take several lines are only read without them.

Lines stay where they are: as many come out as went in, so that a line number means the line of the log as given.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import unescape
from typing import NamedTuple

from assistant.logs.choice import VERL_LINE
from assistant.logs.prefix import strip_colours

_HEAD = 192 << 10
_LINES = 3000
_SHARE = 0.7
_FEW = 3
_LAYERS = 4
_MORE = 1.5
_NARROWEST = 60
_BEGINNING = 14
_DIGITS = re.compile(r"\d+")
_DAY = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)"
_MONTH = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"

# One way each; the group, if any, is who printed the line.
_WAYS = tuple(
    re.compile(pattern)
    for pattern in (
        rb"> ?",  # quoted in an issue or a mail
        _DAY + rb" (?:std(?:out|err) [FP] )?",  # docker, Kubernetes, containerd
        _MONTH + rb" [ \d]\d \d\d:\d\d:\d\d (?P<who>[\w.\-]{1,64} [\w.\-@/]{1,64})(?:\[\d+\])?: ",  # journald, syslog
        rb" *(?P<who>\d{1,5}): ",  # srun --label
        rb"(?P<who>[A-Za-z][\w.\-]{0,60}-\d{1,4}) +\| ",  # docker compose
        rb"\[(?P<who>pod/[\w.\-/]{1,120})\] ",  # kubectl logs --prefix
        rb"\[\d+,(?P<who>\d+)\]<std(?:out|err)>: ?",  # mpirun --tag-output
        rb"(?P<who>[A-Za-z][\w.\-]{0,60}\d): ",  # pdsh, parallel-ssh
        rb"(?P<who>\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}): ",
        rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[,.]\d{3,6}\t(?:INFO|ERROR|WARNING)\t",  # hosted training jobs
    )
)
_PROCESS = tuple(
    re.compile(pattern)
    for pattern in (
        rb"(?P<who>\[(?:default|rank) ?\d+\]):[ ]?",  # torchrun --tee, PyTorch
        rb"(?P<who>\[(?:default|rank) ?\d+\]) ",
        rb"(?:\x1b\[\d+m)?(?P<who>\([^()\n]{0,80}\bpid=\d+[^()\n]{0,60}\))(?:\x1b\[0m)? ",  # Ray
        rb" *\d+\t",  # cat -n
        rb"\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?\] ",
        rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[,.]\d{3,6} (?:- |\| )(?:[\w.]+ (?:- |\| ))?(?:INFO|DEBUG|WARNING|ERROR) *(?:- |\| )"
        rb"(?:[\w.:<>]+(?::\d+)? - )?",
    )
)
"""These may be the log's own, or name the process that speaks: taken off only where it cannot be read otherwise."""

_SIGNS = str.maketrans("：，｛｝［］｜＝－．％（）＂“”＇‘’", ":,{}[]|=-.%()" + 3 * '"' + 3 * "'")
_OTHER_SIGN = re.compile(
    rb"\xef(?:\xbc[\x80-\xbf]|\xbd[\x80-\xbf])|\xe2\x80[\x98\x99\x9c\x9d]|&(?:lt|gt|amp|quot|#39|#x27|nbsp);|\x1b\[|\[0m"
)
_CODE_END = re.compile(rb"\[(?:\d{1,2}(?:;\d{1,3})*)?m[ \t\r]*$", re.MULTILINE)
"""The end of a colour whose ESC byte is lost."""

_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|#39|#x27|nbsp);")
_WIDE_COLON = re.compile(r"：(?=\S)")


class Read(NamedTuple):
    """What was read from a text: numbers (steps that are printed among them) and records, and whether as a known framework's."""

    numbers: int
    records: int
    known: bool = False

    def fuller_than(self, other: Read) -> bool:
        """More numbers, and not because the records of each process, or each piece of a record, count on their own."""
        if self.numbers <= other.numbers:
            return self.numbers == other.numbers and self.known > other.known
        return not other.records or self.records <= _MORE * other.records or self.numbers * other.records > other.numbers * self.records


@dataclass(frozen=True, slots=True)
class Unship:
    """What to take off: prefixes one after another, and whether signs become what a program printed."""

    prefixes: tuple[re.Pattern[bytes], ...] = ()
    signs: bool = False

    def __call__(self, block: bytes) -> bytes:
        for prefix in self.prefixes:
            block = prefix.sub(b"", block)
        return _plain_signs(block) if self.signs else block


def unshipped(block: bytes, final: bool, measure: Callable[[bytes], Read]) -> tuple[bytes, Unship | None]:
    """The first block of a log without what its way has put around its lines, and what does the same to the blocks after it.

    ``final``: the block is the whole log. ``measure`` tells what is read from a text; it is asked only when there
    is something to take off and no telling by itself whether that is right.
    """

    def numbers(text: bytes) -> Read:
        return measure(text[: text.rfind(b"\n", 0, _HEAD) + 1 or _HEAD] if len(text) > _HEAD else text)

    plain, prefixes = _without_prefixes(block, numbers)
    signs = False
    if VERL_LINE.search(plain, 0, _HEAD):  # verl's reader knows processes, colours and broken lines by itself
        return plain, Unship(tuple(prefixes)) if prefixes else None
    if _OTHER_SIGN.search(plain, 0, _HEAD):
        changed = _plain_signs(plain)
        signs = numbers(changed).numbers > numbers(plain).numbers
        plain = changed if signs else plain
    joined = _unbroken(plain) if final and len(plain) <= _HEAD else None
    if joined is not None and numbers(joined).fuller_than(numbers(plain)):
        plain = joined
    return plain, Unship(tuple(prefixes), signs) if prefixes or signs else None


def _without_prefixes(block: bytes, numbers: Callable[[bytes], Read]) -> tuple[bytes, list[re.Pattern[bytes]]]:
    """One layer after another; those of which it is not sure stay where nothing more can be read without them."""
    taken: list[re.Pattern[bytes]] = []
    tried: list[re.Pattern[bytes]] = []  # layers above, not yet known to be worth it
    plain = below = block
    known: Read | None = None
    for _ in range(_LAYERS):
        found = _common(below, _WAYS) or (None if VERL_LINE.search(below, 0, _HEAD) else _common(below, _PROCESS) or _indent(below))
        if found is None:
            break
        way, sources, sure = found
        if sure and not tried:
            taken.append(_whole(way, None))
            plain = below = taken[-1].sub(b"", plain)
            continue
        known = known or numbers(plain)
        tries = [_whole(way, who) for who in sources[:3]]
        texts = [one.sub(b"", below) for one in tries]
        counts = [numbers(text) for text in texts]
        best = max(range(len(counts)), key=lambda i: counts[i].numbers)
        tried.append(tries[best])
        below = texts[best]
        if counts[best].fuller_than(known):
            taken += tried
            tried, plain, known = [], below, counts[best]
    return plain, taken


def _head_lines(block: bytes) -> list[bytes]:
    return [line for line in block[:_HEAD].split(b"\n")[:_LINES] if line.strip()]


def _common(block: bytes, ways: tuple[re.Pattern[bytes], ...]) -> tuple[re.Pattern[bytes], list[bytes | None], bool] | None:
    """The way that most lines came, those who printed them (the most talkative first), and whether it needs no trial."""
    lines = _head_lines(block)
    for way in ways:
        if not any(way.match(line) for line in lines[:: max(1, len(lines) // 7)]):
            continue
        hits = [hit for line in lines if (hit := way.match(line))]
        if len(hits) < max(1, _SHARE * len(lines)):
            continue
        trusted = ways is _WAYS and len(lines) >= _FEW
        if "who" not in way.groupindex:
            return way, [None], trusted
        sources: list[bytes | None] = [who for who, _ in Counter(hit["who"] for hit in hits).most_common()]
        alone = len(sources) == 1
        counted = way.pattern.startswith(rb" *(?P<who>\d") and not alone
        if counted and len(sources) > 0.5 * len(hits):  # numbered lines, or steps: no labels
            continue
        return way, sources, alone and trusted and b"A-Za-z][" not in way.pattern
    return None


def _indent(block: bytes) -> tuple[re.Pattern[bytes], list[bytes | None], bool] | None:
    lines = _head_lines(block)
    if len(lines) < _FEW:
        return None
    width = Counter(len(line) - len(line.lstrip(b" ")) for line in lines)
    indented = [n for n in width if n]
    least = min(indented, default=0)
    if not least or width[0] > (1 - _SHARE) * len(lines):
        return None
    return re.compile(b" {%d}" % least), [None], False


def _whole(way: re.Pattern[bytes], who: bytes | None) -> re.Pattern[bytes]:
    """The way at the start of any line, of one source only when ``who`` is given."""
    pattern = way.pattern
    if who is not None:
        start = pattern.index(b"(?P<who>")
        depth, at = 0, start
        while True:  # the end of the group
            byte = pattern[at : at + 1]
            if byte == b"\\":
                at += 2
                continue
            if byte == b"[":
                at = pattern.index(b"]", at + 2)
            depth += (byte == b"(") - (byte == b")")
            at += 1
            if depth == 0:
                break
        pattern = pattern[:start] + b"(?P<who>" + re.escape(who) + b")" + pattern[at:]
    return re.compile(b"^" + pattern, re.MULTILINE)


def _plain_signs(block: bytes) -> bytes:
    """Without colours, and without the signs that input methods, word processors and web pages put for those of a program."""
    text = _CODE_END.sub(b"", strip_colours(block)).decode("utf-8", "surrogateescape")
    text = _ENTITY.sub(lambda found: unescape(found[0]), text)
    return _WIDE_COLON.sub(": ", text).translate(_SIGNS).encode("utf-8", "surrogateescape")


def _unbroken(block: bytes) -> bytes | None:
    """The text with lines that were broken at one width put together, empty lines below them; None when none were."""
    lines = block.decode("utf-8", "surrogateescape").split("\n")
    widths = [len(line.rstrip("\r")) for line in lines]
    widest = max(widths)
    full = widths.count(widest)
    if widest < _NARROWEST or (full < 2 and sum(1 for width in widths if width) > 3):
        return None
    return "\n".join(_joined(lines, widths, widest)).encode("utf-8", "surrogateescape")


def _joined(lines: list[str], widths: list[int], widest: int) -> Iterator[str]:
    at = 0
    while at < len(lines):
        stop = at
        while stop + 1 < len(lines) and widths[stop] == widest and widths[stop + 1] and not _alike(lines[at], lines[stop + 1]):
            stop += 1
        yield "".join(line.rstrip("\r") for line in lines[at : stop + 1]) if stop > at else lines[at]
        yield from [""] * (stop - at)
        at = stop + 1


def _alike(first: str, second: str) -> bool:
    """Whether two lines begin with the same words, numbers aside: records one below the other."""
    return _DIGITS.sub("0", first)[:_BEGINNING] == _DIGITS.sub("0", second)[:_BEGINNING]
