"""The log as the page shows it: lines with every secret masked (`assistant.redaction`), and a search through them."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from assistant.redaction import Redactor
from assistant.sessions import SessionStore

MOST_LINES = 400
"""Lines a request gives."""
CUT = 2000
"""Characters of a line that are shown until somebody asks for all of it."""
KEY_LINES = 80
"""A private key stands on fewer lines than this: so many are looked at before the first one that is shown."""
LOOK_LINES, MOST_HITS = 5000, 50
_BEGIN, _END = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"), re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")
_CODES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[()][A-Z0-9])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]")
KEY_LINE = "[SECRET]"
MOST_SESSIONS = 200


@dataclass(slots=True)
class _Mask:
    """One session's marks: the same word has the same mark wherever it is shown."""

    redactor: Redactor = field(default_factory=Redactor)
    lock: Lock = field(default_factory=Lock)


class MaskedLogs:
    def __init__(self, store: SessionStore) -> None:
        self.store = store
        self._masks: OrderedDict[str, _Mask] = OrderedDict()
        self._lock = Lock()

    def mask(self, session_id: str, text: str) -> str:
        """One piece of text with the session's marks."""
        mask = self._of(session_id)
        with mask.lock:
            return mask.redactor.mask(text)

    def lines(self, session_id: str, first: int, last: int, *, run: int = 0, whole: bool = False) -> dict[str, Any]:
        """``{"total", "lines": [[number, text, characters left out], …]}``: lines ``first`` to ``last`` (1-based), at most `MOST_LINES`.

        ``whole``: long lines are given in full (as far as the store does).
        """
        first = max(1, first)
        last = min(last, first + MOST_LINES - 1)
        before = max(1, first - KEY_LINES)
        found = self.store.lines(session_id, before, last, run=run)
        rows: list[list[Any]] = []
        in_key = False
        mask = self._of(session_id)
        with mask.lock:
            for row in found:
                if row.line < first:
                    in_key = _leaves_key_open(row.text, in_key)
                    continue
                text, in_key = _masked(row.text, in_key, mask.redactor)
                kept = text if whole or len(text) <= CUT else text[:CUT]
                rows.append([row.line, kept, len(text) - len(kept)])
        return {"total": found.total, "lines": rows}

    def search(self, session_id: str, words: str, first: int, *, run: int = 0) -> dict[str, Any]:
        """Lines from ``first`` on that hold ``words`` (any case), masked: ``{"hits": [[number, text], …], "next", "total"}``.

        ``next`` is the line to go on from, None when the end was reached.
        """
        total = self.store.lines(session_id, 1, 1, run=run).total
        if not words.strip():
            return {"hits": [], "next": None, "total": total}
        numbers, more = self.store.search(session_id, words, first=max(1, first), limit=MOST_HITS, run=run)
        wanted = words.casefold()
        hits: list[list[Any]] = []
        mask = self._of(session_id)
        for number in numbers:
            for row in self.store.lines(session_id, number, number, run=run):
                with mask.lock:
                    text = mask.redactor.mask(plain(row.text))
                if wanted in text.casefold():  # what is masked cannot be asked for piece by piece
                    hits.append([number, _around(text, wanted)])
        return {"hits": hits, "next": numbers[-1] + 1 if more and numbers else None, "total": total}

    def summary(self, session_id: str, most: int = 20_000, room: int = 6_000_000) -> dict[str, Any]:
        """What is masked in the first ``most`` lines, or the first ``room`` characters.

        ``{"lines", "total", "kinds": {kind: count}, "marks": [[mark, word, line], …]}``; ``lines`` is how many were looked at.
        """
        redactor = Redactor()
        seen: dict[str, int] = {}
        at, total, in_key = 1, 0, False
        while at <= most and room > 0:
            found = self.store.lines(session_id, at, min(at + LOOK_LINES - 1, most))
            total = found.total
            if not len(found):
                break
            for row in found:
                before = len(redactor.marks)
                room -= len(row.text)
                if room <= 0:
                    break
                _, in_key = _masked(row.text, in_key, redactor)
                at = row.line + 1
                if len(redactor.marks) > before:
                    for word in list(redactor.marks)[before:]:
                        seen[word] = row.line
        marks = [[mark, word, seen.get(word, 0)] for word, mark in redactor.marks.items()]
        return {"lines": min(at - 1, total), "total": total, "kinds": dict(redactor.found), "marks": marks}

    def forget(self, session_id: str) -> None:
        with self._lock:
            self._masks.pop(session_id, None)

    def _of(self, session_id: str) -> _Mask:
        with self._lock:
            mask = self._masks.setdefault(session_id, _Mask())
            self._masks.move_to_end(session_id)
            while len(self._masks) > MOST_SESSIONS:
                self._masks.popitem(last=False)
            return mask


def plain(text: str) -> str:
    """A line without colour codes and other controls; of a progress bar that redraws itself the last state."""
    text = _CODES.sub("", text)
    if "\r" in text:
        text = next((part for part in reversed(text.split("\r")) if part.strip()), "")
    return _CONTROLS.sub("\ufffd", text)


def _masked(text: str, in_key: bool, redactor: Redactor) -> tuple[str, bool]:
    """The line as shown, and whether it leaves a private key open."""
    text = plain(text)
    return KEY_LINE if in_key else redactor.mask(text), _leaves_key_open(text, in_key)


def _leaves_key_open(text: str, in_key: bool) -> bool:
    if in_key:
        return _END.search(text) is None
    opens = _BEGIN.search(text)
    return bool(opens and not _END.search(text, opens.end()))


def _around(text: str, wanted: str, most: int = 300) -> str:
    """The part of a long line in which ``wanted`` stands."""
    if len(text) <= most:
        return text
    at = max(0, text.casefold().find(wanted) - 80)
    return ("… " if at else "") + text[at : at + most] + (" …" if at + most < len(text) else "")
