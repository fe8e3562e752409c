"""How much a person and a team may ask: so many questions in a sliding stretch of time, per process."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

MOST_NAMES = 10_000


class RateLimit:
    """``count`` uses in ``seconds`` for each name. Safe for use from several threads."""

    def __init__(self, count: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.count, self.seconds, self._clock = count, seconds, clock
        self._uses: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, name: str) -> float:
        """0 when ``name`` may go on (which counts as a use), else the seconds until it may."""
        now = self._clock()
        with self._lock:
            uses = self._uses.setdefault(name, deque())
            self._uses.move_to_end(name)
            while len(self._uses) > MOST_NAMES:
                self._uses.popitem(last=False)
            while uses and uses[0] <= now - self.seconds:
                uses.popleft()
            if len(uses) >= self.count:
                return uses[0] + self.seconds - now
            uses.append(now)
            return 0.0
