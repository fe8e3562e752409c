"""How much one server takes, and who may use it. The defaults suit one machine used by a team."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

Own = Literal["any", "known", "none"]
LOCAL = ("127.0.0.1", "localhost", "::1")
"""Names of this machine that no other one can have."""


class BadWebSettings(ValueError):
    """An environment variable cannot be used; ``name`` says which, ``wanted`` what it should look like."""

    def __init__(self, name: str, wanted: str) -> None:
        super().__init__(f"{name}: {wanted}")
        self.name, self.wanted = name, wanted


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, times in hours. ``at_once`` is how many logs are read at a time (each in a process), ``waiting`` how many may queue.

    ``logins`` are users with their passwords; with ``user_header`` a proxy in front says who it is (only it may reach this server).
    ``own_model``: may visitors name a model's address (`assistant.web.models.Models`)? ``hosts`` are the names that the server answers
    to (`assistant.web.guard.SameOrigin`), none for any.
    """

    paste: int = 20_000_000
    upload: int = 1_000_000_000
    lines: int = 30_000_000
    files: int = 8
    question: int = 4_000
    session_hours: float = 6
    sessions: int = 200
    session_bytes: int = 2 << 30
    at_once: int = field(default_factory=lambda: max(2, min(8, os.cpu_count() or 2)))
    asked_at_once: int = 16
    waiting: int = 256
    threads: int = 40
    logins: Mapping[str, str] = field(default_factory=dict, repr=False)
    user_header: str = ""
    own_model: Own = "any"
    hosts: tuple[str, ...] = ()

    @property
    def opening(self) -> int:
        """Logs on their way at a time: while some are read, the next are received and the last ones kept, so that no reader waits."""
        return 3 * self.at_once

    @property
    def body(self) -> int:
        """Largest request that is not a file: JSON can make a pasted log longer (``\\u001b`` for one byte)."""
        return 4 * self.paste + 1_000_000

    @property
    def hours(self) -> str:
        return f"{self.session_hours:g}"


def configured(environ: Mapping[str, str] = os.environ, *, public: bool = False) -> Limits:
    """From RUNWHY_WEB_AUTH (``user:password``, several with commas), RUNWHY_WEB_USER_HEADER, RUNWHY_WEB_OWN_MODEL (any, known, none),
    RUNWHY_WEB_HOSTS (names with commas), RUNWHY_WEB_UPLOAD_MB, RUNWHY_WEB_PASTE_MB, RUNWHY_WEB_LINES, RUNWHY_WEB_AT_ONCE,
    RUNWHY_KEEP_HOURS. Raises BadWebSettings.

    ``public``: others than this machine reach the server; then visitors may by default name only models at known public addresses.
    Else, and where nobody has to log in, the server answers to this machine's own names only.
    """
    logins: dict[str, str] = {}
    for entry in filter(None, (part.strip() for part in environ.get("RUNWHY_WEB_AUTH", "").split(","))):
        user, found, password = entry.partition(":")
        if not (user and found and password):
            raise BadWebSettings("RUNWHY_WEB_AUTH", "user:password")
        logins[user] = password
    own = environ.get("RUNWHY_WEB_OWN_MODEL", "") or ("known" if public else "any")
    if own not in ("any", "known", "none"):
        raise BadWebSettings("RUNWHY_WEB_OWN_MODEL", "any, known, none")
    user_header = environ.get("RUNWHY_WEB_USER_HEADER", "").strip().lower()
    hosts = tuple(filter(None, (name.strip().lower() for name in environ.get("RUNWHY_WEB_HOSTS", "").split(","))))
    if hosts or not (public or logins or user_header):
        hosts = (*LOCAL, *hosts)
    plain = Limits()
    return Limits(
        paste=int(_number(environ, "RUNWHY_WEB_PASTE_MB", plain.paste / 1e6) * 1e6),
        upload=int(_number(environ, "RUNWHY_WEB_UPLOAD_MB", plain.upload / 1e6) * 1e6),
        lines=int(_number(environ, "RUNWHY_WEB_LINES", plain.lines)),
        at_once=int(_number(environ, "RUNWHY_WEB_AT_ONCE", plain.at_once)),
        session_hours=_number(environ, "RUNWHY_KEEP_HOURS", plain.session_hours),
        logins=logins,
        user_header=user_header,
        own_model=cast(Own, own),
        hosts=hosts,
    )


def _number(environ: Mapping[str, str], name: str, default: float) -> float:
    text = environ.get(name, "")
    try:
        value = float(text) if text else default
    except ValueError:
        value = 0.0
    if not 0 < value < 1e12:
        raise BadWebSettings(name, "> 0")
    return value
