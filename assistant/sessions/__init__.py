"""Conversations about a log: opening one, and where it is kept between questions."""

from __future__ import annotations

from assistant.sessions.memory import MemoryStore
from assistant.sessions.opening import Cancelled, Unreadable, open_log
from assistant.sessions.session import About, Exchange, Lines, Pending, Session
from assistant.sessions.settings import Settings, UnusableStore, open_store
from assistant.sessions.store import NoSession, SessionStore

__all__ = [
    "About",
    "Cancelled",
    "Exchange",
    "Lines",
    "MemoryStore",
    "NoSession",
    "Pending",
    "Session",
    "SessionStore",
    "Settings",
    "Unreadable",
    "UnusableStore",
    "open_log",
    "open_store",
]
