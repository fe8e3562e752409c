"""Replies that were given before. The key holds everything that a reply depends on."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from assistant.answers.model.settings import Endpoint
from assistant.answers.packed.prompts import version
from assistant.answers.understanding.question import Turn

_SEPARATOR = "\x1f"


def cache_key(*, run_hash: str, question: str, language: str, endpoint: Endpoint, history: Sequence[Turn] = (), extra: str = "") -> str:
    """ "" when the run has no hash: then nothing is kept. ``extra`` is anything else that the evidence depends on (a second run)."""
    if not run_hash:
        return ""
    talk = _SEPARATOR.join(f"{turn.question}{_SEPARATOR}{turn.answer}" for turn in history)
    parts = (
        run_hash,
        question,
        language,
        endpoint.base_url,
        endpoint.name,
        version(),
        f"redacted={endpoint.redacts}",
        _SEPARATOR.join(endpoint.patterns),
        f"{endpoint.prompt_tokens}/{endpoint.output_tokens}/{endpoint.temperature}",
        f"tools={endpoint.uses_tools}",
        talk,
        extra,
    )
    return hashlib.sha256("\x1e".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


class ReplyCache:
    """The newest ``most`` replies; safe for several threads."""

    def __init__(self, most: int = 256) -> None:
        self.most = most
        self._kept: OrderedDict[str, str] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str) -> str | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        return None

    def put(self, key: str, reply: str) -> None:
        if not key:
            return
        with self._lock:
            self._kept[key] = reply
            self._kept.move_to_end(key)
            while len(self._kept) > self.most:
                self._kept.popitem(last=False)
