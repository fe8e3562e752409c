"""Which reader takes a log: verl's own first, another format's where it fits better, decided on the first block that says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from assistant.logs import formats, verl_jsonl
from assistant.logs.formats.base import GENERIC, BlockReader, Fit, Format, Head, Tried
from assistant.logs.text import TextReader
from assistant.logs.verl_console import ConsoleReader
from assistant.logs.verl_jsonl import JsonReader

VERL_LINE = re.compile(rb"step:\s?-?\d{1,18} - [\w/@.()\-]+:(?:np\.\w+\()?[-\dnif]")
_VERL_REST = re.compile(
    rb"(?:^|^- | - )(?:actor|critic|perf|timing_s|timing_per_token_ms|response_length|prompt_length|global_seqlen)/[\w/]+:[-\dnif]",
    re.MULTILINE,
)
"""In a line without its head, as a paste may begin or be broken."""

_ENOUGH = 5
"""So many metric lines of verl settle it."""

_FEW = 10
VERL = "verl-console"


class OtherReader:
    """A format's reader beside the reader of words: both get every block."""

    def __init__(self, chosen: Format, text: TextReader | None, line: int, framework: str = "") -> None:
        self.format = chosen
        self.framework = framework
        """The framework that the user named, or ""."""
        self.reader: BlockReader = chosen.reader()
        self.reader.line = line
        self.text = text
        self._text_line = line

    @property
    def table(self) -> Any:
        return self.reader.table

    def feed(self, block: bytes, final: bool) -> int:
        done = self.reader.feed(block, final)
        if self.text is not None:
            self._text_line = self.text.scan(block, 0, done, self._text_line)
        return done


AnyReader = ConsoleReader | JsonReader | OtherReader


class Choice:
    """Picks the reader at the first block, and again at later ones as long as nothing was found.

    ``tried`` says how far each format got. ``named``: the format, or framework, that the user named.
    """

    def __init__(self, name: str, named: str | None) -> None:
        self.tried: Sequence[Tried] = ()
        self._name = name
        self._named = named

    def first(self, block: bytes, final: bool) -> AnyReader:
        if self._named and (own := formats.by_name(self._named)):
            return self._named_reader(own, block, final)
        if _verl_json(block):
            self.tried = [Tried("verl-jsonl", Fit(1, 1, 1, "objects with step and data"), True)]
            return JsonReader()
        console = ConsoleReader()
        if self._named:
            self.tried = [Tried(VERL, _verl_fit(block), True)]
            return console
        return self._other(block, final, console) or console

    def later(self, block: bytes, final: bool, reader: AnyReader, line: int) -> AnyReader:
        """Nothing was found up to this block: perhaps another format begins here."""
        if self._named or not isinstance(reader, ConsoleReader):
            return reader
        return self._other(block, final, reader, line) or reader

    def _named_reader(self, own: Sequence[Format], block: bytes, final: bool) -> OtherReader:
        best, tried = formats.choose(Head(block, name=self._name, final=final), own)
        chosen = best or own[0]
        self.tried = [Tried(one.format, one.fit, one.format == chosen.name) for one in tried]
        framework = self._named if self._named in chosen.frameworks and self._named != chosen.name else ""
        return OtherReader(chosen, TextReader() if chosen.console else None, 1, framework or "")

    def _other(self, block: bytes, final: bool, console: ConsoleReader, line: int = 1) -> OtherReader | None:
        verl = _verl_fit(block)
        if verl.lines >= _ENOUGH:
            self.tried = [Tried(VERL, verl, True)]
            return None
        best, tried = formats.choose(Head(block, name=self._name, final=final))
        fit = tried[0].fit if best and tried else Fit()
        rest = best is not None and best.rank == GENERIC and _VERL_REST.search(block) is not None
        if best is None or rest or (verl.lines and formats.weight(best, fit) < _FEW * verl.values):
            unchosen = [Tried(one.format, one.fit) for one in tried]
            self.tried = (
                [Tried(VERL, verl, True), *unchosen] if verl.lines or rest or not unchosen else [*unchosen, Tried(VERL, verl, True)]
            )
            return None
        self.tried = [*tried, Tried(VERL, verl)] if verl.tried else tried
        return OtherReader(best, console.text if best.console else None, line)


def _verl_json(block: bytes) -> bool:
    """Whether objects with ``step`` and ``data`` stand in a block; words or half a line may come first, but no console lines."""
    at = block.find(b'"step"')
    for _ in range(_ENOUGH):
        if at < 0 or b'"data"' not in block:
            return False
        start = block.rfind(b"\n", 0, at) + 1
        end = block.find(b"\n", at)
        if verl_jsonl.looks_like(block[start : end if end >= 0 else len(block)]):
            return not block[:start].strip() or not _verl_fit(block[:start]).lines
        at = block.find(b'"step"', end) if end >= 0 else -1
    return False


def _verl_fit(block: bytes) -> Fit:
    lines = values = 0
    for found in VERL_LINE.finditer(block):
        end = block.find(b"\n", found.start())
        lines += 1
        values += block.count(b" - ", found.start(), end if end >= 0 else len(block))
        if lines >= _ENOUGH:
            break
    return Fit(lines, lines, values, "step:N - name:value lines")
