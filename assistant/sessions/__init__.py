"""Conversations about a log: opening one, and where it is kept between questions."""

from __future__ import annotations

from assistant.sessions.opening import Cancelled, Unreadable, open_log
from assistant.sessions.session import Session
from assistant.sessions.store import MemoryStore, SessionStore

__all__ = ["Cancelled", "MemoryStore", "Session", "SessionStore", "Unreadable", "open_log"]
