"""verl's ``file`` logger: one JSON object a line, ``{"step": 5, "data": {"actor/entropy": 0.43, "actor/grad_norm": null}}``."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from assistant.logs.columns import Table
from assistant.run import NO_STEP, Style

_AROUND = b" \t\r>`"
_NEXT_KEY = re.compile(rb",\s*(?=\")")
_STYLE_OF = {float: Style.REPR, int: Style.INT, bool: Style.BOOL, type(None): Style.NULL}


def looks_like(line: bytes) -> bool:
    """Whether a line is an object with ``step`` and ``data``."""
    found = _load(line.strip(_AROUND))
    return isinstance(found, dict) and isinstance(found.get("data"), dict) and "step" in found


def _load(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        try:
            return json.loads(line)  # NaN and Infinity, which plain json writes
        except (ValueError, RecursionError):
            return None


class JsonReader:
    """Takes the log block by block, as the `ConsoleReader` does."""

    def __init__(self) -> None:
        self.table = Table()
        self.line = 1
        self.unread = 0
        self.samples: list[tuple[int, str]] = []
        self.nulls: dict[str, int] = {}
        self.first_null: int | None = None
        self.cut_lines: list[int] = []

    def feed(self, block: bytes, final: bool) -> int:
        lines = block.split(b"\n")
        if lines and not lines[-1]:
            lines.pop()
        for index, line in enumerate(lines):
            if line.strip():
                self._line(line, final and index == len(lines) - 1)
            self.line += 1
        return len(block)

    def _line(self, raw: bytes, last: bool) -> None:
        found = _load(raw.strip(_AROUND))
        if not (isinstance(found, dict) and isinstance(found.get("data"), dict)):
            if b'":' not in raw:
                return  # a question before the log, a fence around it
            found = self._rest_of(raw.strip(_AROUND), last)
            if found is None:
                return
        data = found["data"]
        step = found.get("step")
        keys: list[str] = []
        values: list[float] = []
        styles = bytearray()
        texts: dict[int, str] = {}
        for key, value in data.items():
            style = _STYLE_OF.get(type(value))
            if style is None:
                continue
            if value is None:
                self.nulls[key] = self.nulls.get(key, 0) + 1
                self.first_null = self.first_null or self.line
                value = float("nan")
            elif style == Style.REPR and value and abs(value) < 1e-4 and b"e-0" not in raw:
                style = Style.OTHER
                texts[len(keys)] = orjson.dumps(value).decode()
            elif style == Style.INT and abs(value) >= 2**53:
                style = Style.OTHER
                texts[len(keys)] = str(value)
            keys.append(key)
            values.append(float(value))
            styles.append(style)
        if keys:
            number = int(step) if isinstance(step, (int, float)) and not isinstance(step, bool) else NO_STEP
            self.table.add(number, self.line, self.table.layout(tuple(keys)), values, bytes(styles), texts)

    def _rest_of(self, raw: bytes, last: bool) -> Any:
        """What is whole of an object with which a paste begins or ends in the middle."""
        if last and raw.startswith(b"{"):
            self.cut_lines.append(self.line)
            whole = raw[: max((found.start() for found in _NEXT_KEY.finditer(raw)), default=0)]
            tries = [whole + b"}}", whole + b"}"]
        elif not len(self.table) and (torn := _NEXT_KEY.search(raw)):
            rest = raw[torn.end() :]
            tries = [b'{"data":' + raw, b"{" + rest, b'{"data":{' + rest]
        else:
            tries = []
        for text in tries:
            found = _load(text)
            if isinstance(found, dict) and isinstance(found.get("data"), dict):
                if not last:
                    self.cut_lines.append(self.line)
                return found
        if not last:
            self.unread += 1
            if len(self.samples) < 20:
                self.samples.append((self.line, raw[:200].decode("utf-8", "replace")))
        return None
