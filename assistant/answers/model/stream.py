"""Run a blocking reply in a thread of its own, so that it can be cancelled and has a deadline whatever the connection does."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from assistant.answers.model.faults import ModelFault, of_error

TICK = 0.1
"""Seconds between two looks at the cancel flag."""


def watched(
    start: Callable[[], Iterable[Any]],
    *,
    seconds: float,
    cancelled: Callable[[], bool] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Any]:
    """What ``start()`` yields. Raises ModelFault: ``cancelled``, ``timeout`` after ``seconds``, or what its error means."""
    waiting: queue.Queue[tuple[str, Any]] = queue.Queue()
    stop = threading.Event()

    def work() -> None:
        items: Any = None
        try:
            items = start()
            for item in items:
                if stop.is_set():
                    break
                waiting.put(("item", item))
            waiting.put(("end", None))
        except BaseException as error:
            waiting.put(("error", error))
        finally:
            close = getattr(items, "close", None)
            if close is not None and stop.is_set():
                close()

    threading.Thread(target=work, name="runwhy-model", daemon=True).start()
    end = clock() + seconds
    try:
        while True:
            if cancelled is not None and cancelled():
                raise ModelFault("cancelled")
            left = end - clock()
            if left <= 0:
                raise ModelFault("timeout", f"no complete reply within {seconds:.0f} s")
            try:
                kind, value = waiting.get(timeout=min(TICK, left))
            except queue.Empty:
                continue
            if kind == "item":
                yield value
            elif kind == "error":
                raise of_error(value) from value
            else:
                return
    finally:
        stop.set()


def pause(seconds: float, cancelled: Callable[[], bool] | None = None) -> None:
    """Wait; raises ModelFault when cancelled meanwhile."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if cancelled is not None and cancelled():
            raise ModelFault("cancelled")
        time.sleep(min(TICK, left))
