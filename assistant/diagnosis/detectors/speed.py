"""How fast the run is over time: slowdowns, dips, a slow first step, and MFU numbers that mislead."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis import stats
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import count, derived, percent, printed, quoted
from assistant.diagnosis.finding import Finding, NotChecked, Quantity, Severity
from assistant.diagnosis.lasting import evidence
from assistant.diagnosis.naming import family
from assistant.diagnosis.stats import Interval
from assistant.diagnosis.timing import StepTimes, at_steps, step_number, step_times, work_per_step
from assistant.diagnosis.view import RunView
from assistant.run import FloatArray

_GROWING = ("time_gen", "time_update_actor", "time_update_critic", "time_old_log_prob", "time_ref", "time_reward", "time_adv")


@detector("throughput-drop", also=("progressive-slowdown",))
def throughput_drop(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Steps that take longer than their work explains: suddenly (throughput-drop) or creeping (progressive-slowdown)."""
    times = step_times(view)
    if times is None:
        return NotChecked("timing_s/step")
    work = work_per_step(view, times.steps)
    if work is None:
        return NotChecked("perf/total_num_tokens")
    n = len(times.steps)
    if n < t.min_steps:
        return NotChecked(f"steps>={int(t.min_steps)}")
    start = slice(1, 1 + int(t.reference))
    slow = _slowness(view, times, work, start, t.exponent)
    with np.errstate(all="ignore"):
        found = stats.sustained(slow > t.level, 7, 10)
    if not found:
        return None
    if not found[-1].open or stats.tail(slow) < t.level:
        longest = max(found, key=lambda i: i.end - i.start)
        if longest.end - longest.start + 1 < max(t.min_recovered, n / 10):
            return None
        elsewhere = family(view.run.framework) != "verl"  # there the work of a step is known less well
        if elsewhere and stats.median(slow[longest.start : longest.end + 1]) < t.recovered_elsewhere:
            return None
        return _slower(view, times, work, slow, longest, start, "throughput-drop", "recovered")
    gradual = _gradual(slow)
    at = found[-1]
    if gradual:
        smooth = stats.rolling_median(slow, 10)
        below = np.flatnonzero(smooth < 1 + (t.level - 1) / 2)
        at = Interval(int(below[-1]) + 1 if len(below) else 0, n - 1, True)
    return _slower(view, times, work, slow, at, start, "progressive-slowdown" if gradual else "throughput-drop", None)


def _slowness(view: RunView, times: StepTimes, work: FloatArray, start: slice, exponent: float) -> FloatArray:
    """Net seconds over what the run's own start lets expect for this much work, shape (n,).

    More tokens, a longer longest answer or more turns may take longer (a little more than in proportion: attention, the
    tail of long samples); less work is expected to take no longer than before.
    """
    ratio = np.ones(len(work))
    loads = (work, at_steps(view, "response_length_max", times.steps), at_steps(view, "turns_max", times.steps))
    for load in loads:
        if load is None or not stats.median(load[start]) > 0:
            continue
        ratio = np.fmax(ratio, load / stats.median(load[start]))
    expected = stats.median(times.net[start]) * ratio**exponent
    with np.errstate(all="ignore"):
        return np.where(expected > 0, times.net / expected, np.nan)


def _gradual(slow: FloatArray) -> bool:
    """Whether a line fits the curve about as well as one step up does (absolute error over block medians)."""
    blocks = np.array([stats.median(b) for b in np.array_split(slow, min(len(slow), 100))])
    blocks = blocks[np.isfinite(blocks)]
    x = np.arange(len(blocks), dtype=np.float64)
    slope, base = np.polyfit(x, blocks, 1)
    line = float(np.abs(blocks - base - slope * x).sum())
    jumps = []
    for split in range(2, len(blocks) - 1):
        left, right = blocks[:split], blocks[split:]
        jumps.append(float(np.abs(left - np.median(left)).sum() + np.abs(right - np.median(right)).sum()))
    return slope > 0 and line < 1.25 * min(jumps, default=np.inf)  # a sudden jump has to fit clearly better


def _slower(
    view: RunView, times: StepTimes, work: FloatArray, slow: FloatArray, at: Interval, start: slice, finding: str, variant: str | None
) -> Finding:
    hot = np.arange(max(at.end - 9, at.start), at.end + 1)
    first, last = int(times.steps[start][0]), int(times.steps[start][-1])
    before, now = stats.median(times.net[start]), stats.median(times.net[hot])
    grown = {name: stats.median(times.seconds(name)[hot]) - stats.median(times.seconds(name)[start]) for name in _GROWING}
    most = max(grown, key=lambda name: grown[name])
    if grown[most] < 0.5 * (now - before):
        most = ""
    if variant is None:
        variant = {"time_gen": "generation", "time_update_actor": "update", "": "default"}.get(most, "default")
    factor = stats.median(slow[hot])
    when = f"steps {first}–{last}", f"steps {times.steps[hot[0]]}–{times.steps[hot[-1]]}"
    facts: dict[str, Quantity] = {
        "before": derived(before, f"median seconds per step without validation and checkpoints, {when[0]}"),
        "now": derived(now, f"median seconds per step without validation and checkpoints, {when[1]}"),
        "tokens_before": derived(stats.median(work[start]), f"median tokens per step, {when[0]}"),
        "tokens_now": derived(stats.median(work[hot]), f"median tokens per step, {when[1]}"),
        "factor": derived(factor, f"seconds per step, {when[1]}, over what {when[0]} let expect for this much work"),
        "since": count(int(times.steps[at.start])),
        "until": count(int(times.steps[at.end])),
        "part_before": derived(stats.median(times.seconds(most or "time_gen")[start]), f"median, {when[0]}"),
        "part_now": derived(stats.median(times.seconds(most or "time_gen")[hot]), f"median, {when[1]}"),
    }
    severity: Severity | None = "low" if variant == "recovered" else "high" if factor > 3 else None
    steps = [first, int(times.steps[at.end])]
    points = evidence(view, list(steps), "time_step", "throughput", *((most,) if most else ()))
    return Finding(
        finding, severity, 0.85, step_number(times.steps, at.start), step_number(times.steps, at.end), points[:4], facts, variant
    )


@detector("periodic-dips")
def periodic_dips(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Validation or checkpoints counted inside the step: speed seems to drop at regular intervals."""
    times = step_times(view)
    if times is None or not times.measured:
        return NotChecked("timing_s/step")
    for name, variant in (("time_testing", "validation"), ("time_save_checkpoint", "checkpoint")):
        part = times.part(name)
        if part is None or part.parent != "step":
            continue
        at = np.flatnonzero(part.seconds > 0)
        if len(at) < t.min_times or np.median(part.seconds[at]) < t.share * times.typical:
            continue
        every = int(np.median(np.diff(times.steps[at])))
        facts = {
            "seconds": derived(float(np.median(part.seconds[at])), f"median of {part.name}", metric=part.name),
            "every": count(every, f"median distance of the steps with {part.name}"),
            "usual": derived(times.typical, "median seconds per step without validation and checkpoints"),
            "with": derived(float(np.median(times.total[at])), f"median of timing_s/step at the steps with {part.name}"),
        }
        steps = [step_number(times.steps, int(at[0])), step_number(times.steps, int(at[-1]))]
        return Finding("periodic-dips", None, 0.95, steps[0], steps[1], evidence(view, steps, "time_step", name), facts, variant)
    return None


@detector("first-step-slow")
def first_step_slow(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    times = step_times(view)
    if times is None:
        return _slow_start(view, t)
    if len(times.steps) < t.min_steps:
        return NotChecked(f"steps>={int(t.min_steps)}")
    first, rest = float(times.net[0]), stats.median(times.net[1:11])
    work = work_per_step(view, times.steps)
    more_work = 1.0 if work is None else max(1.0, work[0] / max(stats.median(work[1:11]), 1e-9))
    if not first > t.level * rest * more_work:
        return None
    step = step_number(times.steps, 0)
    facts = {
        "first": derived(first, f"net seconds of step {times.steps[0]}"),
        "rest": derived(rest, f"median net seconds of the next {min(10, len(times.steps) - 1)} steps"),
        "step": count(int(times.steps[0])),
    }
    names = ("time_step",) if view.has("time_step") else ("seconds_per_step", "train_step_seconds", "time_gen")
    return Finding("first-step-slow", None, 0.9, step, step, evidence(view, [step], *names), facts)


def _slow_start(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Where only a rate is printed: the first one far below those that follow."""
    series = view["throughput"] or view["tokens_per_second_total"]
    if series is None or int(series.finite.sum()) < t.min_steps:
        return NotChecked("timing_s/step")
    series = series.take(series.finite)
    rest = stats.median(series.values[1:11])
    if not (int(series.steps[0]) <= max(1, int(np.median(np.diff(series.steps)))) and rest > t.level * series.values[0] > 0):
        return None
    point = series.point(0)
    facts = {
        "metric": quoted(series.name, point.line),
        "first": printed(point),
        "rest": derived(rest, f"median of the next {min(10, len(series) - 1)} values of {series.name}", metric=series.name),
        "step": count(int(series.steps[0])),
    }
    return Finding("first-step-slow", None, 0.8, point.step, point.step, [point, series.point(1)], facts, "rate")


@detector("mfu-unknown", needs=("mfu_actor",))
def mfu_unknown(view: RunView, t: Thresholds) -> Finding | None:
    """MFU that prints as zero in every step although the policy was updated."""
    mfu = view["mfu_actor"]
    assert mfu is not None
    mfu = mfu.take(mfu.finite)
    seconds = view["time_update_actor"]
    zero = np.abs(mfu.values) <= mfu.resolution(0)
    if not zero.all() or (seconds is not None and stats.median(seconds.values) == 0):
        return None
    facts = {"value": printed(mfu.point(-1)), "n": count(len(mfu))}
    return Finding("mfu-unknown", None, 0.9, mfu.point(0).step, mfu.point(-1).step, [mfu.point(-1)], facts)


@detector("mfu-miscalibrated", needs=("mfu_actor",))
def mfu_miscalibrated(view: RunView, t: Thresholds) -> Finding | None:
    """MFU above what any hardware reaches."""
    mfu = view["mfu_actor"]
    assert mfu is not None
    mfu = mfu.take(mfu.finite)
    above = np.flatnonzero(mfu.scaled > t.limit)
    if not len(above):
        return None
    top = int(np.argmax(mfu.scaled))
    facts = {
        "highest": printed(mfu.point(top)),
        "step": count(int(mfu.steps[top])),
        "share": percent(len(above) / len(mfu), f"steps with {mfu.name} above 1"),
    }
    return Finding("mfu-miscalibrated", None, 0.95, mfu.point(int(above[0])).step, mfu.point(int(above[-1])).step, [mfu.point(top)], facts)
