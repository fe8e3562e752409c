"""GPU and host memory: how close to the limit, and whether it keeps growing."""

from __future__ import annotations

import re

import numpy as np

from assistant.diagnosis import stats
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import count, derived, percent, printed
from assistant.diagnosis.finding import Finding, NotChecked
from assistant.diagnosis.score import known
from assistant.diagnosis.view import RunView
from assistant.run import Event, FloatArray, IntArray

_CAPACITY = re.compile(r"total capacity of ([\d.]+) (GiB|MiB)|; ([\d.]+) (GiB|MiB) total capacity")
_UNUSED = re.compile(r"([\d.]+) (GiB|MiB) is reserved by PyTorch but unallocated")


@detector("gpu-memory-near-limit", needs=("gpu_memory_reserved",))
def gpu_memory_near_limit(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """The reserved peak close to the size of the device, where the log gives that size away."""
    device = device_memory(view)
    if device is None:
        return NotChecked("device_memory")
    size, event = device
    reserved = view["gpu_memory_reserved"]
    assert reserved is not None
    shares = reserved.values / size
    with np.errstate(all="ignore"):
        near = np.flatnonzero(shares > t.share)
    if not len(near) or np.nanmax(shares) > 1.0:
        return None  # more than the device holds: pools of a sleeping engine are counted too, so the figure says nothing
    allocated = view["gpu_memory_allocated"]
    facts = {
        "reserved": printed(reserved.point(-1)),
        "size": derived(size, f"line {event.line}: capacity of the device in GiB"),
        "share": percent(float(shares[-1]), f"{reserved.name} / capacity of the device"),
    }
    points = [reserved.point(int(near[0])), reserved.point(-1), *([allocated.point(-1)] if allocated is not None else [])]
    return Finding("gpu-memory-near-limit", None, 0.8, int(reserved.steps[near[0]]), int(reserved.steps[-1]), points, facts)


def device_memory(view: RunView) -> tuple[float, Event] | None:
    """Size of a GPU in GiB and the event that states it (PyTorch's out-of-memory message does)."""
    for event in view.run.events:
        if found := _CAPACITY.search(_message(event)):
            number, unit = (found[1], found[2]) if found[1] else (found[3], found[4])
            return float(number) / (1024 if unit == "MiB" else 1), event
    return None


@detector("gpu-memory-leak", needs=("gpu_memory_allocated",), min_points=40)
def gpu_memory_leak(view: RunView, t: Thresholds) -> Finding | None:
    """A peak that keeps rising in every quarter of the run while the sequences stay as long as they were."""
    series = view["gpu_memory_allocated"]
    assert series is not None
    series = series.take(series.finite)
    peaks = np.maximum.accumulate(series.values)
    marks = np.linspace(0, len(peaks) - 1, 5).astype(np.int64)
    gains = np.diff(peaks[marks])[1:]
    enough = max(t.gain, t.share * float(peaks[0]) / 3)
    if not (gains >= enough).all() or _longer(view, series.steps[marks[1:]], t.longer, float(peaks[-1] / peaks[marks[1]]) - 1):
        return None
    start, end = int(marks[1]), len(peaks) - 1
    per_step = (peaks[end] - peaks[start]) / max(int(series.steps[end] - series.steps[start]), 1)
    facts = {
        "start": printed(series.point(start)),
        "now": printed(series.point(end)),
        "start_step": count(int(series.steps[start])),
        "now_step": count(int(series.steps[end])),
        "per_100": derived(100 * per_step, f"GiB per 100 steps of {series.name}, steps {series.steps[start]}–{series.steps[end]}"),
    }
    points = [series.point(start), series.point(end)]
    return Finding("gpu-memory-leak", None, 0.75, int(series.steps[start]), int(series.steps[end]), points, facts)


def _longer(view: RunView, marks: IntArray, limit: float, growth: float) -> bool:
    """Whether batches or answers grew as the peak did, from mark to mark (steps): then it needs no leak.

    Memory grows at most in proportion to the tokens held. One record answer somewhere explains one rise, not a rise in every part.
    """
    for name in ("seqlen_balanced_max", "response_length_max", "total_tokens"):
        series = known(view, name)
        if series is None:
            continue
        largest = np.maximum.accumulate(series.values)[np.maximum(np.searchsorted(series.steps, marks, side="right") - 1, 0)]
        rises = largest[1:] > (1 + limit) * largest[:-1]
        longer = float(largest[-1] / largest[0]) - 1
        if longer > max(limit, growth) or (rises.all() and longer > growth / 2):
            return True
    return False


@detector("gpu-fragmentation", needs=("gpu_memory_reserved", "gpu_memory_allocated"))
def gpu_fragmentation(view: RunView, t: Thresholds) -> Finding | None:
    """Much more memory reserved than allocated: harmless slack, unless the GPU ran out of memory with it."""
    both = view.together("gpu_memory_reserved", "gpu_memory_allocated")
    if both is None:
        return None
    reserved, allocated = both
    gap = float(reserved.values[-1] - allocated.values[-1])
    oom = next((e for e in view.events("gpu-oom") if (found := _UNUSED.search(_message(e))) and _gib(found) > t.unused), None)
    if not gap > t.share * reserved.values[-1]:
        return None
    facts = {
        "reserved": printed(reserved.point(-1)),
        "allocated": printed(allocated.point(-1)),
        "gap": derived(gap, f"{reserved.name} − {allocated.name}"),
        "share": percent(gap / float(reserved.values[-1]), f"({reserved.name} − {allocated.name}) / {reserved.name}"),
    }
    step = reserved.point(-1).step
    points = [reserved.point(-1), allocated.point(-1)]
    if oom is None:
        return Finding("gpu-fragmentation", "info", 0.6, step, step, points, facts, "slack")
    return Finding("gpu-fragmentation", "medium", 0.75, step, step, points, facts)


def _message(event: Event) -> str:
    return str(event.data.get("message", event.text))


def _gib(found: re.Match[str]) -> float:
    return float(found[1]) / (1024 if found[2] == "MiB" else 1)


@detector("host-memory-growth", needs=("host_memory_used",), min_points=30)
def host_memory_growth(view: RunView, t: Thresholds) -> Finding | None:
    """Memory of the node that keeps rising through the whole run, beyond the caches of the start."""
    series = view["host_memory_used"]
    assert series is not None
    series = series.take(series.finite)
    n = len(series)
    skipped = min(max(n // 10, 3), int(t.settling))
    values = series.values[skipped:]
    levels = _quarters(values)
    gains = np.diff(levels)
    growth = float(levels[-1] - levels[0])
    floor = stats.baseline(values)
    slope = stats.trend(values)
    steady = (gains > t.steady * growth / 3).all() and gains[-1] > t.lasting * growth / 3
    share = t.share if n >= t.long else t.share_short
    if not (slope.rising and steady and growth > t.gain and growth > share * levels[0]):
        return None
    now = stats.tail(series.values)
    steps = int(series.steps[-1] - series.steps[skipped])
    facts = {
        "start": printed(series.point(skipped)),
        "now": printed(series.point(-1)),
        "start_step": count(int(series.steps[skipped])),
        "now_step": count(int(series.steps[-1])),
        "per_100": derived(100 * (now - floor) / max(steps, 1), f"GiB per 100 steps of {series.name}, from medians of 10 steps"),
    }
    points = [series.point(skipped), series.point(n // 2), series.point(-1)]
    return Finding("host-memory-growth", None, 0.85, int(series.steps[skipped]), int(series.steps[-1]), points, facts)


def _quarters(values: FloatArray) -> FloatArray:
    """Median of each quarter of the curve, shape (4,)."""
    return np.array([np.median(part) for part in np.array_split(values, 4)])
