"""What is to be done for somebody, as read from a Slack payload and kept in the session store until it is done."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import orjson

LONG = 10_000
"""Characters from which on a message is kept packed."""

Kind = Literal["message", "command", "shortcut", "modal", "button", "home", "welcome", "reason"]


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file of a message, as Slack names it; everything but ``id`` may be missing (files of other workspaces)."""

    id: str
    name: str = ""
    size: int = 0
    url: str = ""
    mode: str = ""
    mimetype: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """``key`` is the same for every delivery of the same thing. ``thread`` is the message that the talk hangs on, ``ts`` the one to answer.

    ``direct`` is set in a direct message, ``mentioned`` when the bot was named. ``text`` is what was written, Slack's escapes undone.
    ``data`` is what one kind needs beyond that: a button's ``action`` and ``value``, ``response_url``, ``trigger_id``.
    """

    key: str
    kind: Kind
    team: str
    user: str
    channel: str = ""
    ts: str = ""
    thread: str = ""
    text: str = ""
    code: tuple[str, ...] = ()
    files: tuple[FileRef, ...] = ()
    direct: bool = False
    mentioned: bool = False
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def owner(self) -> str:
        return f"slack:{self.team}:{self.user}"

    @property
    def lane(self) -> str:
        """The name by which the store knows the thread."""
        return f"slack:{self.team}:{self.channel}:{self.thread or self.ts}"

    @property
    def queue(self) -> str:
        """Jobs of one queue are done one after the other, by whatever process: those of a thread, those of a direct conversation
        (where a question after a log need not be in its thread). A button, or a command that has no thread yet, waits for nobody."""
        if self.quick or not (self.thread or self.ts):
            return f"alone {self.key}"
        return self.room if self.direct else self.lane

    @property
    def room(self) -> str:
        """Where the last log of a direct conversation is remembered, whatever the thread."""
        return f"slack:{self.team}:{self.channel}:"

    @property
    def addressed(self) -> bool:
        """Said to the bot, not just in a thread of its own: such a message always gets a reply."""
        return self.direct or self.mentioned or self.kind != "message"

    @property
    def quick(self) -> bool:
        """Done in a moment, and somebody waits for it with a finger on the button: not behind a long log."""
        if self.kind == "button":
            return self.data.get("action") not in ("ask", "report")
        return self.kind in ("home", "welcome", "reason") or (self.kind == "command" and not (self.text or self.code))

    def to_json(self) -> dict[str, Any]:
        """As the store keeps it: without what is empty, a long text packed."""
        kept = {name: value for name, value in asdict(self).items() if value}
        if len(self.text) + sum(map(len, self.code)) > LONG:
            packed = orjson.dumps({"text": kept.pop("text", ""), "code": kept.pop("code", ())})
            kept["packed"] = base64.b85encode(zlib.compress(packed)).decode()
        return kept

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Job:
        if "packed" in kept:
            unpacked = orjson.loads(zlib.decompress(base64.b85decode(kept["packed"])))
            kept = {**{name: value for name, value in kept.items() if name != "packed"}, **unpacked}
        files = tuple(FileRef(**row) for row in kept.get("files") or ())
        return cls(**{**kept, "files": files, "code": tuple(kept.get("code") or ()), "data": dict(kept.get("data") or {})})

    def at(self, *, channel: str = "", thread: str = "", ts: str = "") -> Job:
        return replace(self, channel=channel or self.channel, thread=thread, ts=ts)
