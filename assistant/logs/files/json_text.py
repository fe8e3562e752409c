"""JSON read with the digits of its numbers and the place of its objects, also where the text is cut or says ``NaN``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import orjson

from assistant.logs.files.values import Printed
from assistant.logs.metric_line import printed_in_full

_SPACE = " \t\n\r"


class CutText(ValueError):
    """The text ends before its brackets close, or goes on with something that is no JSON."""


def _number(text: str) -> float:
    value = float(text)
    if repr(value) == text:
        return value
    printed = Printed(value)
    printed.text = text
    return printed


def _integer(text: str) -> int | float:
    return int(text) if text != "-0" and len(text) < 400 else _number(text)


_DECODER = json.JSONDecoder(parse_float=_number, parse_int=_integer)


def line_object(raw: bytes) -> Any:
    """The object on one line, numbers with their digits (`Printed` where needed); None when the line is no JSON object."""
    try:
        found = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _careful(raw)
    if not isinstance(found, dict):
        return None
    text = raw.strip()
    if b'": ' in text:
        text = text.replace(b'": ', b'":').replace(b', "', b',"')
    return found if printed_in_full(found, text) else _careful(raw)


def _careful(raw: bytes) -> Any:
    try:
        found = _DECODER.decode(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


class Document:
    """A JSON text walked by a cursor (``at``): members and elements are come to one by one, and may be walked in turn."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._counted = (0, 1)
        self.skip()

    def __bool__(self) -> bool:
        """Whether something is left."""
        return self.at < len(self.text)

    @property
    def next(self) -> str:
        """The character at the cursor ("" at the end)."""
        return self.text[self.at : self.at + 1]

    @property
    def line(self) -> int:
        """1-based line of the cursor."""
        last, line = self._counted
        line += self.text.count("\n", last, self.at)
        self._counted = (self.at, line)
        return line

    def skip(self) -> None:
        """Over white space."""
        text, size, at = self.text, len(self.text), self.at
        while at < size and text[at] in _SPACE:
            at += 1
        self.at = at

    def value(self) -> Any:
        """The whole value at the cursor. Raises CutText."""
        try:
            value, self.at = _DECODER.raw_decode(self.text, self.at)
        except (ValueError, RecursionError) as error:
            raise CutText(str(error)) from error
        return value

    def elements(self) -> Iterator[None]:
        """Stops at each element of the list at the cursor, which must be read before the next. Raises CutText."""
        self.at += 1
        self.skip()
        while self.next != "]":
            yield
            self._separator("]")
        self.at += 1

    def members(self) -> Iterator[str]:
        """Each key of the object at the cursor, which then stands at its value: that must be read before the next."""
        self.at += 1
        self.skip()
        while self.next != "}":
            key = self.value()
            self.skip()
            if not isinstance(key, str) or self.next != ":":
                raise CutText("key")
            self.at += 1
            self.skip()
            yield key
            self._separator("}")
        self.at += 1

    def _separator(self, closing: str) -> None:
        self.skip()
        if self.next == ",":
            self.at += 1
            self.skip()
        elif self.next != closing:
            raise CutText("separator")
