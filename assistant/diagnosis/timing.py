"""Where the time of a step goes.

Timers nest, and how they nest depends on the version: validation was inside ``timing_s/step`` up to verl 0.5 and is outside
since 0.6, checkpoints were outside only from 0.6.0 to 0.7.0. Forks move them again, so the log itself decides when it can:
a timer is inside the step if the step's own length has room for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assistant.diagnosis import stats
from assistant.diagnosis.view import RunView
from assistant.run import NO_STEP, FloatArray, IntArray, Series

Parent = Literal["step", "gen", "adv", "outside"]

PARTS = (
    "time_gen",
    "time_gen_max",
    "time_reward",
    "time_old_log_prob",
    "time_ref",
    "time_values",
    "time_adv",
    "time_update_critic",
    "time_update_actor",
    "time_update_weights",
)
"""Timers that follow one another inside a step, in every version that has them."""

OCCASIONAL = ("time_testing", "time_save_checkpoint")
"""Timers of steps that also validate or save; inside the step or after it, by version."""

ENGINE_PARTS = ("time_generate_sequences", "time_reshard")
"""Timers inside ``time_gen`` (synchronous rollouts): the engine's own work, and loading the weights into it."""

_INSIDE = {"time_testing": ("<0.6",), "time_save_checkpoint": ("<0.6", ">=0.7.1")}
_OTHER_TIMER = re.compile(r"^timing(?:_s)?/([^/]+)$")
_NOT_A_PART = {"step", "start_profile", "stop_profile"}


@dataclass(frozen=True, slots=True)
class Part:
    """One timer. ``canonical`` is "" for a timer that only this fork has; ``seconds`` has shape (n,), 0 where absent."""

    name: str
    canonical: str
    parent: Parent
    seconds: FloatArray


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: mean seconds per step that has it, and share of all the time of the steps (0–1).

    ``parent`` is "step" for parts that add up with the rest, "gen" or "adv" for parts of those timers, "outside" for work between
    steps (its share is relative to the steps' time and does not belong to the sum). ``n`` counts the steps that have it.
    """

    name: str
    canonical: str
    parent: Parent
    seconds: float
    share: float
    n: int


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Step times in seconds, shape (n,) each. ``net`` is ``total`` without validation and checkpoints inside the step.

    ``measured`` is False when the log has no timer for the whole step: then ``total`` is the sum of the parts.
    """

    steps: IntArray
    total: FloatArray
    net: FloatArray
    parts: tuple[Part, ...]
    measured: bool

    def part(self, canonical: str) -> Part | None:
        return next((p for p in self.parts if p.canonical == canonical), None)

    def seconds(self, *canonical: str) -> FloatArray:
        """Seconds per step spent in these parts together, shape (n,); 0 for what was not logged."""
        found = [p.seconds for p in self.parts if p.canonical in canonical]
        return np.sum(found, axis=0) if found else np.zeros(len(self.steps))

    def share(self, *canonical: str) -> FloatArray:
        """Their share of each step's net time, shape (n,); NaN where the step has no time."""
        with np.errstate(all="ignore"):
            return np.where(self.net > 0, self.seconds(*canonical) / self.net, np.nan)

    @property
    def residual(self) -> FloatArray:
        """Net seconds that no part accounts for, shape (n,); about 0 when the total is the sum of the parts."""
        inside = [p.seconds for p in self.parts if p.parent == "step" and p.canonical not in OCCASIONAL]
        rest: FloatArray = self.net - np.sum(inside, axis=0) if inside else self.net
        return rest

    @property
    def typical(self) -> float:
        """Median net seconds per step."""
        return stats.median(self.net)

    def table(self) -> list[Row]:
        """Parts of the step, largest first, each followed by its own parts; then the rest, then work outside the step."""
        whole = float(np.nansum(self.total))
        if whole <= 0:
            return []

        def row(part: Part) -> Row:
            n = int(np.count_nonzero(part.seconds > 0))
            spent = float(part.seconds.sum())
            return Row(part.name, part.canonical, part.parent, spent / n if n else 0.0, spent / whole, n)

        rows = sorted((row(p) for p in self.parts), key=lambda r: -r.share)
        out: list[Row] = []
        for one in rows:
            if one.parent == "step":
                out.append(one)
                out.extend(r for r in rows if one.canonical == f"time_{r.parent}")
        rest = float(np.nansum(self.residual))
        if self.measured:
            out.append(Row("", "residual", "step", rest / len(self.steps), rest / whole, len(self.steps)))
        return out + [r for r in rows if r.parent == "outside"]


def step_times(view: RunView) -> StepTimes | None:
    """The timers of the run's steps; None when the log has none."""
    cached: StepTimes | None
    if (cached := getattr(view, "_step_times", None)) is None:
        cached = _step_times(view)
        view._step_times = cached  # type: ignore[attr-defined]
    return cached


def _step_times(view: RunView) -> StepTimes | None:
    whole = view["time_step"] or view["seconds_per_step"] or view["train_step_seconds"]
    known = [(name, series) for name in PARTS if (series := view[name]) is not None]
    if whole is not None:
        steps = whole.steps
        total = _aligned(whole, steps, missing=np.nan)
        steps, total = steps[np.isfinite(total)], total[np.isfinite(total)]
    else:
        counts = [series for _, series in known if len(series)]
        if not counts:
            return None
        steps = max(counts, key=len).steps
        total = np.sum([_aligned(series, steps) for _, series in known], axis=0)
    if not len(steps):
        return None
    parts = [Part(s.name, name, "step", _aligned(s, steps)) for name, s in known]
    parts += [Part(s.name, name, "gen", _aligned(s, steps)) for name in ENGINE_PARTS if (s := view[name]) is not None]
    occasional = [Part(s.name, name, "outside", _aligned(s, steps)) for name in OCCASIONAL if (s := view[name]) is not None]
    if whole is None:
        return StepTimes(steps, total, total, (*parts, *occasional), False)
    spent = np.sum([p.seconds for p in parts if p.parent == "step"], axis=0) if parts else np.zeros(len(steps))
    placed = [Part(p.name, p.canonical, _place(p, total - spent, total, view), p.seconds) for p in occasional]
    nested = [p.seconds for p in placed if p.parent == "step"]
    net = np.maximum(total - np.sum(nested, axis=0), 0.0) if nested else total
    parts = _inside_adv(parts, net - spent, net)
    spent = np.sum([p.seconds for p in parts if p.parent == "step"], axis=0) if parts else spent
    parts += _fork_timers(view, steps, net - spent, net)
    return StepTimes(steps, total, net, (*parts, *placed), True)


def _place(part: Part, room: FloatArray, total: FloatArray, view: RunView) -> Parent:
    """Whether an occasional timer is inside the step: by the room the step has for it, else by version."""
    at = part.seconds > np.maximum(0.02 * total, 0.5)
    if at.any():
        filled = float(np.median(room[at] / part.seconds[at]))
        if filled < 0.5:
            return "outside"
        usual = stats.median(room[~at]) if (~at).any() else 0.0
        if float(np.median((room[at] - usual) / part.seconds[at])) > 0.9:
            return "step"
    inside = any(view.era_is(condition) for condition in _INSIDE[part.canonical])
    return "step" if inside else "outside"


def _inside_adv(parts: list[Part], room: FloatArray, net: FloatArray) -> list[Part]:
    """rLLM runs the log-probability passes inside ``adv``: seen where the parts add up to more than the step."""
    adv = next((p for p in parts if p.canonical == "time_adv"), None)
    inner = [p for p in parts if p.canonical in ("time_old_log_prob", "time_ref", "time_values", "time_reward")]
    slack = 0.02 * float(np.median(net))
    if adv is None or not inner or float(np.median(room)) > -slack:
        return parts
    if float(np.median(adv.seconds - np.sum([p.seconds for p in inner], axis=0))) < -slack:
        return parts
    return [Part(p.name, p.canonical, "adv", p.seconds) if any(p is i for i in inner) else p for p in parts]


def _fork_timers(view: RunView, steps: IntArray, room: FloatArray, net: FloatArray) -> list[Part]:
    """Timers that no card knows (``timing_s/get_batch``), largest first, as long as the step has room for them."""
    found: list[Part] = []
    for name, meaning in view.names.items():
        match = _OTHER_TIMER.match(name)
        if meaning.canonical or not match or match[1] in _NOT_A_PART:
            continue
        series = view.printed(name)
        if series is not None and len(series):
            found.append(Part(name, "", "step", _aligned(series, steps)))
    kept: list[Part] = []
    for part in sorted(found, key=lambda p: -float(p.seconds.sum())):
        at = part.seconds > 0
        if at.any() and float(np.median(room[at] - part.seconds[at])) >= -0.02 * float(np.median(net[at])):
            room = room - part.seconds
            kept.append(part)
    return kept


def _aligned(series: Series, steps: IntArray, missing: float = 0.0) -> FloatArray:
    """Values of ``series`` at ``steps`` (rising), ``missing`` where it has none or no finite one. Shape (n,)."""
    if len(series) == len(steps) and (series.steps == steps).all():
        values = series.scaled.copy()
    else:
        values = np.full(len(steps), missing)
        shared, here, there = np.intersect1d(steps, series.steps, return_indices=True)
        if len(shared):
            values[here] = series.scaled[there]
    values[~np.isfinite(values)] = missing
    return values


def at_steps(view: RunView, canonical: str, steps: IntArray) -> FloatArray | None:
    """A metric at ``steps``, NaN where it was not logged; None when it never was. Shape (n,)."""
    series = view[canonical]
    return None if series is None else _aligned(series, steps, missing=np.nan)


def work_per_step(view: RunView, steps: IntArray) -> FloatArray | None:
    """What each step had to process, in tokens (any constant factor), shape (n,); None when the log does not say."""
    for name in ("total_tokens", "seqlen_mean", "seqlen_balanced_max"):
        if (values := at_steps(view, name, steps)) is not None and np.isfinite(values).any():
            return values
    if (passed := view["train_tokens_total"]) is not None and len(passed) > 2:  # all tokens so far
        gained, apart = np.diff(passed.scaled, prepend=np.nan), np.diff(passed.steps, prepend=passed.steps[0] - 1)
        per_step = {int(s): g / d for s, g, d in zip(passed.steps, gained, apart, strict=True) if g > 0 and d > 0}
        values = np.array([per_step.get(int(s), np.nan) for s in steps])
        if np.isfinite(values).any():
            return values
    answers, prompts = at_steps(view, "response_length_mean", steps), at_steps(view, "prompt_length_mean", steps)
    return None if answers is None else answers + (0.0 if prompts is None else prompts)


def step_number(steps: Sequence[int] | IntArray, index: int) -> int | None:
    """The step at ``index``; None for a row that printed none."""
    step = int(steps[index])
    return None if step == NO_STEP else step
