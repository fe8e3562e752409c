"""The diagnoses in memory: read once, whatever number of sessions has the log; the least recently used go when they take too much room."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import TYPE_CHECKING

from assistant.sessions.session import size_of

if TYPE_CHECKING:
    from assistant.diagnosis import Diagnosis


class Live:
    """``max_bytes`` covers the runs' data; the newest always stays. Safe for several threads: one reads, the others wait for it."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.n_bytes = 0
        self._kept: OrderedDict[Hashable, tuple[Diagnosis, int]] = OrderedDict()
        self._reading: dict[Hashable, Lock] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def peek(self, key: Hashable) -> Diagnosis | None:
        with self._lock:
            if (kept := self._kept.get(key)) is None:
                return None
            self._kept.move_to_end(key)
            return kept[0]

    def get(self, key: Hashable, load: Callable[[], Diagnosis]) -> Diagnosis:
        """The diagnosis of ``key``, loaded when it is not here; what ``load`` raises is passed on."""
        if (found := self.peek(key)) is not None:
            return found
        with self._lock:
            turn = self._reading.setdefault(key, Lock())
        try:
            with turn:
                if (found := self.peek(key)) is None:
                    found = load()
                    self.put(key, found)
                return found
        finally:
            with self._lock:
                self._reading.pop(key, None)

    def put(self, key: Hashable, diagnosis: Diagnosis) -> None:
        size = size_of(diagnosis.run)
        with self._lock:
            self._drop(key)
            self._kept[key] = (diagnosis, size)
            self.n_bytes += size
            while self.n_bytes > self.max_bytes and len(self._kept) > 1:
                self._drop(next(iter(self._kept)))

    def drop_where(self, gone: Callable[[Hashable], bool]) -> None:
        with self._lock:
            for key in [key for key in self._kept if gone(key)]:
                self._drop(key)

    def _drop(self, key: Hashable) -> None:
        if (kept := self._kept.pop(key, None)) is not None:
            self.n_bytes -= kept[1]
