"""A bounded pool that does jobs once each: claimed in the shared store for a while, the lease renewed as long as the work goes on.

Jobs of one queue (a thread) are done in the order in which they came, also when they came to several processes; quick ones (a button)
have a worker of their own. What a dead process left open is taken up by the sweep.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING

from assistant.slack.jobs import Job

if TYPE_CHECKING:
    from assistant.sessions import SessionStore
    from assistant.sessions.session import Pending

log = logging.getLogger("runwhy.slack")
HOLD, LONGEST_HOLD = 0.08, 3.0
"""Seconds that work waits for the next delivery of a burst, and at most altogether."""
BEHIND = 0.25
"""Seconds until a talk whose last message another process still works on is looked at again."""
FRESH = 5.0
"""Seconds in which a new question is left to the process that took it in (never longer than a lease)."""


class Task:
    """One claimed job: ``mine`` renews the claim and says whether it still holds.

    ``late`` says that it waited here so long that another process may have held it meanwhile, and died.
    """

    def __init__(self, store: SessionStore, pending: Pending, job: Job, worker: str, lease: float, *, late: bool = False) -> None:
        self.store, self.pending, self.job, self.worker, self.lease, self.late = store, pending, job, worker, lease, late
        self.stopping = threading.Event()
        """Set when the claim is lost, or the process ends: nobody waits for this work any more."""

    @property
    def begun(self) -> bool:
        """Somebody began this before."""
        return self.pending.attempts > 0 or self.pending.turn_index is not None

    @property
    def again(self) -> bool:
        """Some of it may have been shown."""
        return self.begun or self.late

    def mine(self) -> bool:
        return self.store.claim(self.pending.id, self.worker, self.lease)


class Pool:
    """``do`` gets each task in a thread of its own; what it raises is its own business to tell the user, here it only is logged."""

    def __init__(
        self, store: SessionStore, do: Callable[[Task], None], *, workers: int = 2, lease: float = 45.0, sweep: float = 2.0
    ) -> None:
        self.store, self._do, self.lease, self.sweep_seconds = store, do, lease, sweep
        self.name = uuid.uuid4().hex[:12]
        self._lanes: dict[str, deque[tuple[Pending, Job]]] = {}
        self._ready: SimpleQueue[str | None] = SimpleQueue()
        self._quick: SimpleQueue[str | None] = SimpleQueue()
        self._behind: list[str] = []
        self._known: set[str] = set()
        self._active: dict[str, Task] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._held_until = 0.0
        work = [self._ready] * workers + [self._quick]
        self._threads = [threading.Thread(target=self._work, args=(queue,), name=f"slack-{n}", daemon=True) for n, queue in enumerate(work)]
        self._threads += [
            threading.Thread(target=loop, name=name, daemon=True)
            for loop, name in ((self._sweep, "sweep"), (self._renew, "lease"), (self._wake, "behind"))
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, grace: float = 10.0) -> None:
        """Take up nothing new, give the running work ``grace`` seconds; what is left is open for the next process."""
        self._stopped.set()
        for _ in self._threads:
            self._ready.put(None)
            self._quick.put(None)
        end = time.monotonic() + grace
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        with self._lock:
            for task in self._active.values():
                task.stopping.set()

    def submit(self, pending: Pending) -> None:
        job = Job.from_json(pending.data["slack"])
        lane = job.queue
        with self._lock:
            if pending.id in self._known or self._stopped.is_set():
                return
            self._known.add(pending.id)
            waiting = self._lanes.get(lane)
            if waiting is not None:
                waiting.append((pending, job))
                return
            self._lanes[lane] = deque([(pending, job)])
        (self._quick if job.quick else self._ready).put(lane)

    def hold(self) -> None:
        """Something is being taken in: begin nothing new for a moment, so that acknowledgements are quick in a burst, too."""
        self._held_until = time.monotonic() + HOLD

    @property
    def waiting(self) -> int:
        with self._lock:
            return sum(map(len, self._lanes.values()))

    def _work(self, queue: SimpleQueue[str | None]) -> None:
        while (lane := queue.get()) is not None and not self._stopped.is_set():
            with self._lock:
                rows = self._lanes[lane] = deque(sorted(self._lanes[lane], key=lambda row: row[0].asked))
                pending, job = rows[0]
            try:
                if self._is_behind(pending, job):
                    with self._lock:
                        self._behind.append(lane)
                    continue
                self._one(pending, job)
            except Exception as problem:
                log.error("job failed: id=%s kind=%s error=%s", pending.id, job.kind, type(problem).__name__)
            with self._lock:
                self._known.discard(pending.id)
                rows = self._lanes[lane]
                rows.popleft()
                if not rows:
                    del self._lanes[lane]
                    continue
            queue.put(lane)

    def _is_behind(self, pending: Pending, job: Job) -> bool:
        """Whether an earlier message of the talk is not answered yet; one whose process died is when its lease has run out."""
        return pending.turn_index is None and not job.quick and self.store.ahead(job.queue, pending.asked)

    def _wake(self) -> None:
        while not self._stopped.wait(BEHIND):
            with self._lock:
                lanes, self._behind = self._behind, []
            for lane in lanes:
                self._ready.put(lane)

    def _one(self, pending: Pending, job: Job) -> None:
        end = time.monotonic() + LONGEST_HOLD
        while not job.quick and time.monotonic() < min(self._held_until, end):
            time.sleep(HOLD / 4)
        worker = f"{self.name}-{threading.get_ident()}"
        if not self.store.claim(pending.id, worker, self.lease):
            return
        task = Task(self.store, pending, job, worker, self.lease, late=time.time() - pending.asked > self.lease)
        with self._lock:
            self._active[pending.id] = task
        try:
            self._do(task)
        finally:
            with self._lock:
                self._active.pop(pending.id, None)

    def _renew(self) -> None:
        while not self._stopped.wait(self.lease / 3) or self._active:
            with self._lock:
                tasks = list(self._active.values())
            for task in tasks:
                try:
                    if not task.mine():
                        task.stopping.set()
                except Exception as problem:
                    log.warning("lease not renewed: id=%s error=%s", task.pending.id, type(problem).__name__)
            if self._stopped.is_set():
                time.sleep(0.2)

    def _sweep(self) -> None:
        while not self._stopped.wait(self.sweep_seconds):
            try:
                self.take_up()
            except Exception as problem:
                log.warning("sweep failed: error=%s", type(problem).__name__)

    def take_up(self) -> int:
        """Submit what nobody holds; returns how many."""
        now, found, fresh = time.time(), 0, min(FRESH, self.lease)
        for pending in self.store.open_questions(limit=200):
            young = pending.attempts == 0 and pending.turn_index is None and now - pending.asked < fresh
            if "slack" in pending.data and not young:
                self.submit(pending)
                found += 1
        return found

    def drained(self, seconds: float) -> bool:
        """Wait until nothing is left to do here (tests, shutting down)."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not self.waiting:
                return True
            time.sleep(0.02)
        return False
