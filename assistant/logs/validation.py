"""``Initial validation metrics: {…}``: verl pretty-prints the text of a dict, as string literals over many lines."""

from __future__ import annotations

import re

from assistant.logs.events import MAX_TEXT
from assistant.logs.literal import read_mapping
from assistant.run import Event

_START = re.compile(r"""\(?["']?(?P<which>Initial|Final) validation metrics: \{""")
_CONTINUES = re.compile(r"""\s*["']""")
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"?|\'((?:[^\'\\]|\\.)*)\'?')
_MAX_LINES = 5000


class ValidationText:
    """Collects the lines of one printed validation result, of one process."""

    def __init__(self, process: str, line: int, text: str, step: int | None) -> None:
        found = _START.match(text)
        assert found is not None
        self.process = process
        self._line = line
        self._step = step
        self._which = found["which"]
        self._quote = text.lstrip("(")[:1]
        self._lines = [text]
        self.done = self._ends(text)

    @staticmethod
    def starts(text: str) -> bool:
        return _START.match(text) is not None

    def feed(self, text: str) -> bool:
        """Takes a line that goes on with the text; False for another line, after which the text is over (bars aside)."""
        if _CONTINUES.match(text):
            self._lines.append(text)
            self.done = self._ends(text) or len(self._lines) > _MAX_LINES
            return True
        if text.startswith("Training Progress:"):
            return False
        self.done = True
        return False

    @staticmethod
    def _ends(text: str) -> bool:
        return text.rstrip().rstrip(")").rstrip("\"'").endswith("}")

    def event(self) -> Event:
        """``initial-validation`` or ``final-validation``, with the numbers in ``data["values"]``."""
        joined = "".join(self._inside(text) for text in self._lines).partition("metrics: ")[2]
        values, _ = read_mapping([(self._line, joined)])
        numbers = {key: value for key, value in values.items() if isinstance(value, (int, float))}
        kind = f"{self._which.lower()}-validation"
        return Event(kind, self._line, self._lines[0].strip()[:MAX_TEXT], self._step, self.process, False, {"values": numbers})

    def _inside(self, text: str) -> str:
        """The text of a line's string literals; a line that is not quoted, as it is."""
        if self._quote not in ("'", '"'):
            return text
        return "".join(found[1] if found[1] is not None else found[2] for found in _LITERAL.finditer(text))
