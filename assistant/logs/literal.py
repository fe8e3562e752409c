"""Python literals as logs hold them: printed over many lines, torn by other output, or cut off.

A tolerant reader: what can be understood is kept, each value with the line it stood on; what cannot is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_TOKEN = re.compile(
    r"""(?P<string>[rbuf]?'(?:[^'\\\n]|\\.)*'|[rbuf]?"(?:[^"\\\n]|\\.)*")"""
    r"""|(?P<number>[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|inf|nan)(?![\w.]))"""
    r"""|(?P<word>True|False|None|null|true|false)(?!\w)"""
    r"""|(?P<wrapper>(?:np|numpy)\.\w+\(|[A-Z]\w*\()"""
    r"""|(?P<mark>[\[\](){},:])""",
)
_WORDS = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}


def unquote(token: str) -> str:
    """The text of a string literal."""
    body = token[token.index(token[-1]) + 1 : -1]
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), body) if "\\" in body else body


def scalar(text: str) -> Any:
    """A word of a command line or a config as a value: ``"1e-6"`` → 1e-06, ``"True"`` → True, ``"['a']"`` → ["a"]."""
    text = text.strip()
    if text in _WORDS:
        return _WORDS[text]
    if re.fullmatch(r"[-+]?\d{1,18}", text):
        return int(text)
    if re.fullmatch(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|inf|nan)", text):
        return float(text)
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return unquote(text)
    if text[:1] in "[{" and text:
        inner = text[1:-1] if text[-1:] in "]}" else text[1:]
        if text[0] == "[":
            return [scalar(word) for word in split_list(inner) if word.strip()]
    return text


def split_list(text: str) -> list[str]:
    """``"'a,b', c, [1, 2]"`` split at its own commas."""
    words, depth, quote, start = [], 0, "", 0
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "[{(":
            depth += 1
        elif char in "]})":
            depth -= 1
        elif char == "," and depth == 0:
            words.append(text[start:at])
            start = at + 1
    words.append(text[start:])
    return words


def read_mapping(lines: Sequence[tuple[int, str]]) -> tuple[dict[str, Any], dict[str, int]]:
    """A printed dict, given as (line number, text) pairs, as a flat mapping (``a.b`` → value) and each key's line."""
    flat: dict[str, Any] = {}
    where: dict[str, int] = {}
    tokens = [(found, number) for number, text in lines for found in _TOKEN.finditer(text)]
    _Reader(tokens, flat, where).value("")
    return flat, where


class _Reader:
    def __init__(self, tokens: Sequence[tuple[re.Match[str], int]], flat: dict[str, Any], where: dict[str, int]) -> None:
        self._tokens = tokens
        self._at = 0
        self._flat = flat
        self._where = where

    def _peek(self) -> str:
        return self._tokens[self._at][0][0] if self._at < len(self._tokens) else ""

    def value(self, path: str, depth: int = 0) -> Any:
        """Reads one value; a mapping's leaves go to the flat mapping under ``path``."""
        if self._at >= len(self._tokens):
            return None
        if depth > 60:
            self._at += 1
            return None
        found, line = self._tokens[self._at]
        token = found[0]
        if token == "{":
            self._mapping(path, depth)
            return _MAPPING
        self._at += 1
        if path and path not in self._where:
            self._where[path] = line
        if found["string"]:
            text = unquote(token)
            while self._at < len(self._tokens) and self._tokens[self._at][0]["string"]:  # adjacent literals are one string
                text += unquote(self._tokens[self._at][0][0])
                self._at += 1
            return text
        if found["number"]:
            return scalar(token)
        if found["word"]:
            return _WORDS[token]
        if token in "([" or found["wrapper"]:
            return self._sequence(token, depth)
        return None

    def _sequence(self, opener: str, depth: int) -> Any:
        closer = "]" if opener == "[" else ")"
        items: list[Any] = []
        commas = 0
        while (token := self._peek()) and token != closer:
            if token in "}]":  # torn: the closing bracket is missing
                break
            if token in ",:":
                commas += token == ","
                self._at += 1
                continue
            items.append(self.value("", depth + 1))
        if self._peek() == closer:
            self._at += 1
        if opener != "[" and len(items) == 1 and not commas:
            return items[0]
        return items

    def _mapping(self, path: str, depth: int) -> None:
        self._at += 1
        empty = True
        while (token := self._peek()) and token != "}":
            found = self._tokens[self._at][0]
            self._at += 1
            if not (found["string"] or found["number"] or found["word"]) or self._peek() != ":":
                continue  # not a key: skip what was torn
            name = unquote(token) if found["string"] else token
            self._at += 1
            key = f"{path}.{name}" if path else name
            self._where.pop(key, None)
            value = self.value(key, depth + 1)
            empty = False
            if value is not _MAPPING:
                self._flat[key] = value
        if self._peek() == "}":
            self._at += 1
        if empty and path:
            self._flat[path] = {}


_MAPPING = object()


def open_brackets(text: str) -> int:
    """How many brackets of ``text`` stay open (negative: closed too often); brackets in strings do not count."""
    depth = 0
    for found in _TOKEN.finditer(text):
        token = found[0]
        if found["wrapper"] or (found["mark"] and token in "[{("):
            depth += 1
        elif found["mark"] and token in "]})":
            depth -= 1
    return depth
