"""Which model answers in which session. What a visitor enters (a key, too) lives in this process's memory only.

The server may have a model of its own (`assistant.answers.model.settings.configured`); a visitor may choose it, none, or one of
their own, if the server allows that.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from assistant.web.limits import Own

if TYPE_CHECKING:
    from assistant.answers.model.settings import Endpoint

Kind = Literal["server", "builtin", "own"]
MOST = 2000
"""Sessions whose choice is remembered; the least recently used goes first."""
NO_FILE = Path("/nonexistent/runwhy.toml")
KNOWN = ("openai", "deepseek", "qwen")
"""Presets at public addresses, which may be chosen even where the server must not be made to call any address."""


class NotAllowed(ValueError):
    """This server does not let its visitors use this address."""


@dataclass(frozen=True, slots=True)
class Choice:
    kind: Kind
    endpoint: Endpoint | None = None


class Models:
    """``own``: may visitors name any endpoint, one at a known public address, or none? (Who names one makes this server call it.)"""

    def __init__(self, server: Endpoint | None, own: Own = "any") -> None:
        self.server, self.own = server, own
        self._chosen: OrderedDict[str, Choice] = OrderedDict()
        self._lock = Lock()

    def choice(self, session_id: str) -> Choice:
        with self._lock:
            found = self._chosen.get(session_id)
            if found is not None:
                self._chosen.move_to_end(session_id)
                return found
        return Choice("server", self.server) if self.server else Choice("builtin")

    def endpoint(self, session_id: str) -> Endpoint | None:
        """None: the built-in writer answers."""
        return self.choice(session_id).endpoint

    def choose(self, session_id: str, kind: Kind, endpoint: Endpoint | None = None) -> None:
        with self._lock:
            self._chosen[session_id] = Choice(kind, self.server if kind == "server" else endpoint if kind == "own" else None)
            self._chosen.move_to_end(session_id)
            while len(self._chosen) > MOST:
                self._chosen.popitem(last=False)

    def forget(self, session_id: str) -> None:
        with self._lock:
            self._chosen.pop(session_id, None)

    def carry(self, old: str, new: str) -> None:
        """The next log of the same tab is asked about with the same model."""
        with self._lock:
            if (found := self._chosen.get(old)) is not None:
                self._chosen[new] = found


def endpoint_from(preset: str, model: str, base_url: str, key: str, own: Own) -> Endpoint:
    """The endpoint of a visitor's entries. Raises BadSettings, or NotAllowed. No key of the server's environment is ever used."""
    from assistant.answers.model.settings import PRESETS, BadSettings, configured

    environ: Mapping[str, str] = {
        "RUNWHY_MODEL": f"{preset}:{model}" if preset in PRESETS else model,
        "RUNWHY_BASE_URL": base_url,
        "RUNWHY_API_KEY": key,
    }
    if own == "none":
        raise NotAllowed
    endpoint = configured(environ, NO_FILE)
    if endpoint is None or endpoint.provider:
        raise BadSettings("model")
    hosts = {urlsplit(PRESETS[name].base_url).hostname for name in KNOWN}
    if own == "known" and (urlsplit(endpoint.base_url).hostname not in hosts or urlsplit(endpoint.base_url).scheme != "https"):
        raise NotAllowed
    return endpoint
