"""verl's ``file`` logger: one JSON object a line, ``{"step": 5, "data": {"actor/entropy": 0.43, "actor/grad_norm": null}}``."""

from __future__ import annotations

import json
from typing import Any

import orjson

from assistant.logs.columns import Table
from assistant.run import NO_STEP, Style

_STYLE_OF = {float: Style.REPR, int: Style.INT, bool: Style.BOOL, type(None): Style.NULL}


def looks_like(line: bytes) -> bool:
    """Whether a line is an object with ``step`` and ``data``."""
    found = _load(line)
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
        found = _load(raw)
        data = found.get("data") if isinstance(found, dict) else None
        if not isinstance(data, dict):
            if last:
                self.cut_lines.append(self.line)
            else:
                self.unread += 1
                if len(self.samples) < 20:
                    self.samples.append((self.line, raw[:200].decode("utf-8", "replace")))
            return
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
