"""Every log format but verl's own, and the choice between them.

Shape first: each text format counts on many lines how many it can read, and the best fit wins. A banner or one odd line
does not decide, and a generic format (names and numbers) wins only where no framework's own does.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import NamedTuple

from assistant.logs.formats.base import GENERIC, FileFormat, Fit, Format, Head, Tried
from assistant.messages import Language, has, say

_NO_FORMATS = frozenset({"base"})
_SURE = 3
"""A framework's own format that reads so many lines, and most of those it tries, leaves no room for generic ones."""

_MUCH = 3
"""A format of a lower rank must read so many times more to be preferred."""


class _Offered(NamedTuple):
    """Told apart once: looking at what an object offers is slow, and every log is looked at by every format."""

    every: tuple[Format | FileFormat, ...]
    text: tuple[Format, ...]
    files: tuple[FileFormat, ...]


@cache
def _offered() -> _Offered:
    """The formats of this package's modules (``FORMATS``) and of the entry points ``runwhy.formats`` (a format, or a list)."""
    found: list[Format | FileFormat] = []
    for module in sorted(info.name for info in iter_modules(__path__) if info.name not in _NO_FORMATS):
        found += getattr(import_module(f"{__name__}.{module}"), "FORMATS", ())
    from importlib.metadata import entry_points

    for entry in entry_points(group="runwhy.formats"):
        loaded = entry.load()
        found += loaded if isinstance(loaded, (list, tuple)) else [loaded]
    text = tuple(one for one in found if isinstance(one, Format))
    return _Offered(tuple(found), text, tuple(one for one in found if isinstance(one, FileFormat)))


def text_formats() -> tuple[Format, ...]:
    return _offered().text


def file_formats() -> tuple[FileFormat, ...]:
    return _offered().files


def names() -> list[str]:
    """What `--format` accepts: the names of the formats, and of the frameworks that they read."""
    return sorted({one.name for one in _offered().every} | {name for one in _offered().every for name in one.frameworks} | {"verl"})


def known_frameworks() -> list[str]:
    """Names of all frameworks that are told apart."""
    return sorted({name for one in _offered().every for name in one.frameworks} | {"verl"})


def by_name(name: str) -> list[Format]:
    """The text formats called ``name``, or that read the framework ``name``; the most specific first."""
    named = [one for one in text_formats() if one.name == name]
    return named or sorted((one for one in text_formats() if name in one.frameworks), key=lambda one: one.rank)


def shape_of(name: str, language: Language) -> str:
    """What the format called ``name`` looks for, in words."""
    if has(f"formats.{name}"):
        return say(f"formats.{name}", language)
    return next((one.shape for one in _offered().every if one.name == name), "")


def claimed(path: Path | None, head: bytes) -> tuple[FileFormat, str] | None:
    """The file format that takes a source, and why."""
    for one in file_formats():
        if why := one.claims(path, head):
            return one, why
    return None


def choose(head: Head, among: Iterable[Format] | None = None) -> tuple[Format | None, list[Tried]]:
    """The text format that fits best (None when none reads anything), and what was tried, best first."""
    tried: list[tuple[Format, Fit]] = []
    for one in sorted(among if among is not None else text_formats(), key=lambda one: one.rank):
        if one.rank >= GENERIC and any(fit.lines >= _SURE and fit.share > 0.5 for _, fit in tried):
            break
        fit = one.score(head)
        if fit.tried:
            tried.append((one, fit))
    tried.sort(key=lambda pair: (-weight(pair[0], pair[1]), pair[0].name))
    best = tried[0][0] if tried and tried[0][1].lines else None
    return best, [Tried(one.name, fit, one is best) for one, fit in tried]


def weight(one: Format, fit: Fit) -> float:
    """What a fit counts: the numbers it reads, less for lower ranks and for a generic format that fails on most lines."""
    return fit.values * (min(1.0, 2 * fit.share) if one.rank >= GENERIC else 1.0) / float(_MUCH**one.rank)


__all__ = [
    "FileFormat",
    "Fit",
    "Format",
    "Head",
    "Tried",
    "by_name",
    "choose",
    "claimed",
    "file_formats",
    "known_frameworks",
    "names",
    "shape_of",
    "text_formats",
]
