"""The knowledge base as data: Markdown cards with YAML front matter, read once and kept.

A card's id is its path below ``knowledge/`` without the ending (``findings/entropy-collapse``). Front matter carries what
the program needs (names, thresholds, fixes), the body has a ``## en`` and a ``## zh`` part for people.

Parsing a few hundred YAML headers takes longer than diagnosing a log, so the parsed cards are cached in the user's cache
folder under a key made of every card's name, size and modification time. An unwritable cache folder only costs time.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from assistant.messages import Language

STRUCTURED = frozenset({"metrics", "findings", "errors", "config", "frameworks"})
"""Folders whose cards the program reads beyond their text."""


class CardError(ValueError):
    """A card cannot be read; the message names the file and says what to change."""


@dataclass(frozen=True, slots=True)
class Card:
    """``front`` is the YAML front matter, ``body`` the Markdown of each language."""

    id: str
    front: Mapping[str, Any]
    body: Mapping[str, str]

    @property
    def folder(self) -> str:
        return self.id.partition("/")[0]

    def title(self, language: Language) -> str:
        return pick(self.front.get("title"), language) or self.id.partition("/")[2]


def pick(text: Any, language: Language) -> str:
    """The ``language`` side of ``{"en": …, "zh": …}``; a plain string serves both; "" for nothing."""
    if isinstance(text, Mapping):
        return str(text.get(language) or text.get("en") or "")
    return "" if text is None else str(text)


def knowledge_folder() -> Path:
    """Where the cards are: ``$RUNWHY_KNOWLEDGE``, inside the installed package, or beside it in a checkout."""
    if named := os.environ.get("RUNWHY_KNOWLEDGE"):
        return Path(named)
    return _shipped_folder()


@cache
def _shipped_folder() -> Path:
    package = Path(__file__).resolve().parent
    inside = package / "knowledge"
    return inside if inside.is_dir() else package.parent / "knowledge"


_ADDED: ContextVar[str] = ContextVar("added card folders", default="")


@contextmanager
def with_cards_of(folders: Sequence[str]) -> Iterator[None]:
    """Cards of these folders count as the user's own, too, for what is done inside (a team's own cards)."""
    token = _ADDED.set(os.pathsep.join(folders))
    try:
        yield
    finally:
        _ADDED.reset(token)


def users_folders() -> str:
    """The folders of the user's own cards, separated as in ``$PATH``: ``$RUNWHY_CARDS`` and those of `with_cards_of`."""
    return os.pathsep.join(filter(None, (os.environ.get("RUNWHY_CARDS", ""), _ADDED.get())))


def cards(folder: Path | None = None) -> Mapping[str, Card]:
    """Every card by id: those of ``folder``, or of this installation and the user's own (``$RUNWHY_CARDS``).

    Raises CardError for a file that is not a card; one of the user's is left out instead, see ``left_out``.
    """
    return _cards(folder, users_folders() if folder is None else "")


@cache
def _cards(folder: Path | None, users: str) -> Mapping[str, Card]:
    if folder is None:
        own = cards(knowledge_folder())
        return {**own, **{card.id: card for card in _users_cards(users)[0] if card.id not in own}}
    files = sorted(path for path in folder.glob("*/*.md") if path.name != "README.md")
    stamp = "\n".join(f"{p.relative_to(folder)} {(s := p.stat()).st_size} {s.st_mtime_ns}" for p in files)
    cached = _cache_file(stamp)
    try:
        rows = orjson.loads(cached.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        rows = [_read(path, folder) for path in files]
        _store(cached, orjson.dumps(rows))
    return {row[0]: Card(*row) for row in rows}


def left_out() -> list[str]:
    """What is wrong with each of the user's own cards that is not used, one line each."""
    own = cards(knowledge_folder())
    twice = [f"{card.id}: a built-in card has this id; rename the file" for card in _users_cards(users_folders())[0] if card.id in own]
    return [*_users_cards(users_folders())[1], *twice]


def card(card_id: str) -> Card:
    """The card ``card_id``; raises KeyError when there is none."""
    return cards()[card_id]


def in_folder(folder: str) -> Iterator[Card]:
    return (c for c in cards().values() if c.folder == folder)


def parse_card(text: str, card_id: str) -> Card:
    """A card from its file's text. Raises CardError when the front matter is missing or is not YAML."""
    import yaml

    found = re.match(r"---\r?\n(.*?)\r?\n---\r?\n?(.*)", text, re.DOTALL)
    if not found:
        raise CardError(f"{card_id}: no front matter; start the file with a line '---', YAML, and a line '---'")
    try:
        front = yaml.load(found[1], Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise CardError(f"{card_id}: front matter is not YAML: {error}") from error
    if not isinstance(front, dict):
        raise CardError(f"{card_id}: front matter must be a mapping")
    if odd := _odd_key(front):
        raise CardError(f"{card_id}: the key {odd} is not text to YAML (yes, no, on, off and numbers are not); put it in quotes")
    parts = re.split(r"^## (en|zh)\s*$", found[2], flags=re.MULTILINE)
    body = {parts[i]: parts[i + 1].strip() for i in range(1, len(parts) - 1, 2)} or {"en": found[2].strip()}
    return Card(card_id, front, body)


def _odd_key(value: Any) -> str | None:
    """The first mapping key at any depth that YAML did not read as text; None when there is none."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            found = repr(key) if not isinstance(key, str) else _odd_key(inner)
            if found is not None:
                return found
    elif isinstance(value, list):
        return next((found for inner in value if (found := _odd_key(inner)) is not None), None)
    return None


def _read(path: Path, folder: Path) -> list[Any]:
    parsed = parse_card(path.read_text(encoding="utf-8"), path.relative_to(folder).with_suffix("").as_posix())
    return [parsed.id, parsed.front, parsed.body]


@cache
def _users_cards(folders: str) -> tuple[list[Card], list[str]]:
    """The cards of the folders (separated as in ``$PATH``), and what is wrong with the others.

    A file right in such a folder, or in a subfolder that is none of ours, is a free text: a title and a body are enough.
    """
    found: dict[str, Card] = {}
    wrong: list[str] = []
    for folder in filter(None, folders.split(os.pathsep)):
        root = Path(folder).expanduser()
        if not root.is_dir():
            wrong.append(f"{folder}: there is no such folder")
            continue
        for path in sorted([*root.glob("*.md"), *root.glob("*/*.md")]):
            inside = path.relative_to(root).with_suffix("").as_posix()
            card_id = inside if "/" in inside else f"own/{inside}"
            try:
                card = parse_card(path.read_text(encoding="utf-8"), card_id)
                if problem := _unusable(card):
                    raise CardError(f"{card_id}: {problem}")
                found.setdefault(card_id, card)
            except (CardError, OSError, UnicodeDecodeError) as error:
                wrong.append(str(error) if isinstance(error, CardError) else f"{path.name}: {error}")
    return list(found.values()), wrong


def _unusable(card: Card) -> str:
    """What would make the program stumble over a card that nothing has validated; "" for nothing."""
    front = card.front
    if not (pick(front.get("title"), "en") or pick(front.get("title"), "zh")):
        return "it needs a title"
    if not any(card.body.values()):
        return "it has no text"
    if card.folder in STRUCTURED:
        return f"cards in {card.folder}/ are read by the program; put a text of your own into another folder, such as runbook/"
    odd = [name for name in ("aliases", "questions", "related", "short", "fixes") if not _plain(front.get(name), name)]
    return f"{odd[0]} is not of the form that the other cards have" if odd else ""


def _plain(value: Any, name: str) -> bool:
    if value is None:
        return True
    if name == "fixes":
        return isinstance(value, list) and all(isinstance(row, Mapping) for row in value)
    if name == "related":
        return isinstance(value, list) and all(isinstance(row, str) for row in value)
    if isinstance(value, Mapping):
        return all(_plain(side, name) and not isinstance(side, Mapping) for side in value.values())
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(row, str) for row in value))


def cache_folder() -> Path:
    """Where this user's derived files are kept; everything in it can be deleted."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "runwhy"


def _cache_file(stamp: str) -> Path:
    return cache_folder() / f"cards-{hashlib.sha256(stamp.encode()).hexdigest()[:24]}.json"


def _store(path: Path, data: bytes) -> None:
    """Write through a temporary name, so that two processes never read half a file; old caches are swept."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_bytes(data)
        temporary.replace(path)
        for old in path.parent.glob("cards-*.json"):
            if old != path:
                old.unlink(missing_ok=True)
    except OSError:
        pass
