"""Logs are read in processes of their own: one person's large log does not hold up everybody else's questions.

A worker reads one log at a time and tells how far it is; to cancel a reading its process is ended and another one started.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import multiprocessing
import queue
import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assistant.diagnosis import Diagnosis

log = logging.getLogger(__name__)

LOOK_EVERY = 0.1
"""Seconds between two looks at whether a reading was cancelled."""
_CONTEXT = multiprocessing.get_context("spawn")


class WorkerEnded(RuntimeError):
    """The process ended in the middle of a reading (out of memory, most likely)."""


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    pipe: Connection

    def end(self) -> None:
        self.pipe.close()
        self.process.terminate()
        self.process.join(5)


class Workers:
    """``count`` processes. `read` may be called from any thread and waits for a free one."""

    def __init__(self, count: int) -> None:
        self._free: queue.Queue[_Worker] = queue.Queue()
        for _ in range(count):
            self._free.put(self._start())
        self.count = count

    @staticmethod
    def _start() -> _Worker:
        here, there = _CONTEXT.Pipe()
        process = _CONTEXT.Process(target=_serve, args=(there,), name="runwhy-reader", daemon=True)
        process.start()
        there.close()
        return _Worker(process, here)

    def read(
        self, source: bytes | Path, *, name: str = "", progress: Callable[[int], None] | None = None, cancelled: Event | None = None
    ) -> Diagnosis:
        """As `assistant.sessions.open_log`, with its errors. Raises Cancelled when ``cancelled`` is set, WorkerEnded."""
        from assistant.sessions import Cancelled

        worker = self._wait(cancelled)
        try:
            if not worker.process.is_alive():
                worker = self._start()
            worker.pipe.send((source, name))
            while True:
                if cancelled is not None and cancelled.is_set():
                    raise Cancelled
                if not worker.pipe.poll(LOOK_EVERY):
                    continue
                kind, value = worker.pipe.recv()
                if kind == "progress":
                    if progress is not None:
                        progress(value)
                elif kind == "error":
                    raise value
                else:
                    found: Diagnosis = value
                    return found
        except (EOFError, BrokenPipeError, ConnectionResetError) as gone:
            worker.end()
            worker = self._start()
            raise WorkerEnded("a reading process ended") from gone
        except Cancelled:
            worker.end()
            worker = self._start()
            raise
        finally:
            self._free.put(worker)

    def _wait(self, cancelled: Event | None) -> _Worker:
        """A worker that has nothing to do. Raises Cancelled."""
        from assistant.sessions import Cancelled

        while True:
            with contextlib.suppress(queue.Empty):
                return self._free.get(timeout=LOOK_EVERY)
            if cancelled is not None and cancelled.is_set():
                raise Cancelled

    def close(self) -> None:
        while True:
            with contextlib.suppress(queue.Empty):
                self._free.get_nowait().end()
                continue
            return


def _serve(pipe: Connection) -> None:
    """A worker's life: until the other end of the pipe is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from assistant.sessions import open_log
    from assistant.web.samples import SAMPLES, sample_text

    for key in SAMPLES:  # warm: the first log is read as quickly as the others
        open_log(sample_text(key).encode())
    gc.collect()
    gc.freeze()  # what is loaded now stays: no later collection looks through it again
    while True:
        try:
            source, name = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            answer: tuple[str, Any] = ("done", open_log(source, name=name, progress=lambda done: pipe.send(("progress", done))))
        except Exception as problem:
            answer = ("error", problem)
        try:
            pipe.send(answer)
        except (BrokenPipeError, OSError):
            return
        except Exception as problem:  # something in the answer cannot be sent
            log.exception("an answer could not be sent")
            pipe.send(("error", RuntimeError(str(problem))))
