"""How much one server takes. The defaults suit one machine used by a team."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, times in hours. ``at_once`` is how many logs are read at a time, ``waiting`` how many may queue."""

    paste: int = 20_000_000
    upload: int = 1_000_000_000
    question: int = 4_000
    session_hours: int = 6
    sessions: int = 200
    session_bytes: int = 2 << 30
    at_once: int = 2
    waiting: int = 64
    threads: int = 16

    @property
    def body(self) -> int:
        """Largest request that is not a file: JSON can make a pasted log longer (``\\u001b`` for one byte)."""
        return 4 * self.paste + 1_000_000
