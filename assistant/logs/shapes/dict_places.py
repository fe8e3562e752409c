"""Where the numbers of a printed dict stand: Python's repr or JSON, with quoted numbers, NumPy and torch wrappers, a torn
start or end. Nothing is evaluated; what is no number is passed over."""

from __future__ import annotations

import re

from assistant.logs.shapes.printed import NUMBER
from assistant.logs.shapes.rows import Place

_KEY = re.compile(r"""\s*,?\s*(?:(?P<quote>['"])(?P<key>(?:(?!(?P=quote))[^\\\n]|\\.)*)(?P=quote)|(?P<number>-?\d+))\s*:\s*""")
_NUMBER = re.compile(rf"(?:{NUMBER}|-Infinity|None|null|True|False|true|false)(?![\w.])")
_QUOTED = re.compile(r"""'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)\"""")
_WRAPPER = re.compile(r"(?:(?:np|numpy|torch|jnp)\.)?(?:float\d*|int\d*|bool_?|tensor|array|Array)\(\s*")
_BRACKETS = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|[\[\](){}]""")
_RATIO = re.compile(r"(\d{1,12})/(\d{1,12})")
_NEXT_KEY = re.compile(r"""[,{]\s*(?=['"])""")
_RATIO_STEPS = frozenset({"global_step/max_steps", "step", "steps", "iteration"})
MAX_DEPTH = 12


class Found:
    """What a dict holds: ``places`` (keys of inner dicts joined by ``/``; ``n_words`` of them None, True or False), its other
    texts, a ``ratio`` such as ``5/100`` that tells the step."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.texts: dict[str, str] = {}
        self.loose: list[tuple[int, int]] = []
        self.ratio: tuple[int, int] | None = None
        self.total: int | None = None
        self.closed = False
        self.cut = False
        self.skipped_keys: list[str] = []
        self.n_words = 0
        self.nested = False


def find_places(text: str) -> Found:
    """Reads ``text`` from its first key on, until its brackets close or it ends."""
    found = Found()
    path: list[str] = []
    at = _start(text)
    depth = 1
    while at < len(text):
        key = _KEY.match(text, at)
        if key is None:
            rest = re.compile(r"\s*,?\s*").match(text, at)
            at = rest.end() if rest else at
            if text[at : at + 1] == "}":
                depth -= 1
                at += 1
                if path:
                    path.pop()
                if depth <= 0:
                    found.closed = True
                    break
                continue
            again = _NEXT_KEY.search(text, at)
            if again is None:
                found.cut = at < len(text)
                break
            at = again.end()  # torn: go on at the next key
            continue
        name = key["key"] if key["key"] is not None else key["number"]
        at = key.end()
        if text[at : at + 1] == "{":
            if len(path) >= MAX_DEPTH:
                break
            path.append(name)
            found.nested = True
            depth += 1
            at += 1
            continue
        full = "/".join([*path, name])
        at = _value(text, at, full, found)
        if at < 0:
            found.cut = True
            break
    else:
        found.cut = found.cut or not found.closed
    return found


def _start(text: str) -> int:
    brace = text.find("{")
    first = _KEY.search(text)
    return brace + 1 if brace >= 0 and (first is None or brace <= first.start()) else (first.start() if first else len(text))


def _value(text: str, at: int, key: str, found: Found) -> int:
    """Reads one value; returns where it ends, -1 when the text ends first."""
    if quoted := _QUOTED.match(text, at):
        return _string(quoted, key, found)
    if text[at : at + 1] in ("'", '"', ""):
        return -1
    wrapper = _WRAPPER.match(text, at)
    start = wrapper.end() if wrapper else at
    bracketed = text[start : start + 1] == "["
    if number := _NUMBER.match(text, start + bracketed):
        end = _past(text, at) if wrapper or bracketed else number.end()
        if end < 0 or (end >= len(text) and not (wrapper or bracketed)):
            return -1  # the number may go on
        found.n_words += number[0][0] in "NTFtf" and number[0] != "NaN"
        alone = not bracketed or re.match(r"\s*\]", text[number.end() : number.end() + 4])
        if alone:
            found.places.append(Place(key, number.start(), number.end(), wrapper is not None))
            if wrapper and end > number.end() + 1:
                found.loose.append((number.end(), end))
        else:
            found.skipped_keys.append(key)
        return end
    found.skipped_keys.append(key)
    if text[start : start + 1] in ("[", "(") or wrapper:
        return _past(text, at)
    stop = re.compile(r"[,}\n]").search(text, at)
    return stop.start() if stop else -1


def _string(quoted: re.Match[str], key: str, found: Found) -> int:
    content = quoted[1] if quoted[1] is not None else quoted[2]
    start = quoted.start() + 1
    if content and _NUMBER.fullmatch(content) and content not in ("None", "null"):
        found.places.append(Place(key, start, start + len(content)))
        return quoted.end()
    ratio = _RATIO.fullmatch(content)
    if ratio and key in _RATIO_STEPS:
        found.ratio = (start, start + len(ratio[1]))
        found.total = int(ratio[2])
    else:
        found.texts[key] = content
        found.loose.append((quoted.start(), quoted.end()))
    return quoted.end()


def _past(text: str, at: int) -> int:
    """Where the brackets that open at (or soon after) ``at`` close; -1 when they do not."""
    depth = 0
    for bracket in _BRACKETS.finditer(text, at):
        if bracket[0] in "([{":
            depth += 1
        elif bracket[0] in ")]}":
            depth -= 1
            if depth <= 0:
                return bracket.end() if depth == 0 else bracket.start()
    return -1
