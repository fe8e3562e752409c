"""Reads training logs: `read` for files, streams and bytes, `read_text` for a paste. The result is a `Run`."""

from __future__ import annotations

from assistant.logs.reader import read, read_text
from assistant.logs.stream import UnreadableLog

__all__ = ["UnreadableLog", "read", "read_text"]
