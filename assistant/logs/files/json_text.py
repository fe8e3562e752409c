"""JSON read with the digits of its numbers and the place of its objects, also where the text is cut or says ``NaN``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import orjson

from assistant.logs.files.values import Printed
from assistant.logs.metric_line import _printed_in_full

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
    return found if _printed_in_full(found, text) else _careful(raw)


def _careful(raw: bytes) -> Any:
    try:
        found = _DECODER.decode(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


class Document:
    """A JSON text that is walked from the outside: members and elements come one by one, with their places."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._counted = (0, 1)

    def line(self, place: int) -> int:
        """1-based line of a place; places must be asked for from front to back."""
        last, line = self._counted
        if place < last:
            last, line = 0, 1
        line += self.text.count("\n", last, place)
        self._counted = (place, line)
        return line

    def skip(self, place: int) -> int:
        text, size = self.text, len(self.text)
        while place < size and text[place] in _SPACE:
            place += 1
        return place

    def value(self, place: int) -> tuple[Any, int]:
        """(the value that starts at ``place``, where it ends). Raises CutText."""
        try:
            return _DECODER.raw_decode(self.text, place)
        except (ValueError, RecursionError) as error:
            raise CutText(str(error)) from error

    def elements(self, place: int) -> Iterator[tuple[Any, int, int]]:
        """(element, start, end) of the list that opens at ``place``. Raises CutText where it is cut."""
        place = self.skip(place + 1)
        while place < len(self.text) and self.text[place] != "]":
            value, end = self.value(place)
            yield value, place, end
            place = self._next(end, "]")
        if place >= len(self.text):
            raise CutText("list")

    def members(self, place: int) -> Iterator[tuple[str, int]]:
        """(key, start of its value) of the object that opens at ``place``; send back where the value ended."""
        place = self.skip(place + 1)
        while place < len(self.text) and self.text[place] != "}":
            key, end = self.value(place)
            colon = self.skip(end)
            if not isinstance(key, str) or self.text[colon : colon + 1] != ":":
                raise CutText("key")
            start = self.skip(colon + 1)
            yield key, start
            place = self._next(self.end, "}")
        if place >= len(self.text):
            raise CutText("object")

    end = 0
    """Where the value of the member handed out last ends: set by whoever read it."""

    def _next(self, end: int, closing: str) -> int:
        place = self.skip(end)
        if place < len(self.text) and self.text[place] == ",":
            return self.skip(place + 1)
        if place < len(self.text) and self.text[place] != closing:
            raise CutText("separator")
        return place
