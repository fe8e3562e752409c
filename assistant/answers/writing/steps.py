"""One step, or two: what moved there, what began there, what the log said there."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from assistant.answers.grounding.context import Context
from assistant.answers.grounding.evidence import code
from assistant.answers.writing.problems import KEY_METRICS, overview, told
from assistant.answers.writing.ranges import figure, steps_in
from assistant.diagnosis import stats
from assistant.diagnosis.finding import Finding
from assistant.diagnosis.naming import metric_card
from assistant.diagnosis.timing import OCCASIONAL
from assistant.run import Series

BEFORE = 20
"""Values before a step that say what is usual there."""
FEW_BEFORE = 5
FAR = 6.0
"""Deviations from the usual at which a value is said to have moved."""
SHOWN = 4
ALWAYS = (
    "score_mean",
    "validation",
    "policy_entropy",
    "response_length_mean",
    "policy_grad_norm",
    "reference_kl",
    "train_loss",
    "time_step",
)
OF_TIME = ("time_", "per_token_", "mfu", "throughput", "seconds", "host_memory")
QUIET_EVENTS = frozenset({"progress", "start", "config-checked", "config-key", "from-scratch", "rebuilt"})


@dataclass(frozen=True, slots=True)
class Moved:
    """A value far from the values before it: ``usual`` is their median, ``far`` the distance in deviations."""

    series: Series
    index: int
    usual: float
    far: float
    of_time: bool


def _only_validation(context: Context, step: int) -> bool:
    """Whether nothing but validation was printed at the step while other steps have training metrics."""
    checked = {one.series.name for one in context.view.validations()}
    here = [
        name for name in context.diagnosis.run.columns if (s := context.view.printed(name)) is not None and s.index_at(step) is not None
    ]
    other = [name for name in context.diagnosis.run.columns if not name.startswith(("val", "eval", "test"))]
    seen = [name for name in here if name not in checked and not name.startswith(("val", "eval", "test", "training/"))]
    return bool(here) and not seen and len(other) > len(here)


def happened(context: Context) -> list[str]:
    """What a step did: the values that left their level, findings that begin there, events; else the main values."""
    step = context.question.steps[0]
    steps = context.view.steps
    asked = context.evidence.count(step, "step asked for").text
    if not len(steps):
        return _no_steps(context)
    if step < steps[0] or step > steps[-1]:
        ends = [context.evidence.count(int(s), "step of the log").text for s in (steps[0], steps[-1])]
        return [context.say("step_outside", step=asked, first=ends[0], last=ends[1])]
    here = step if step in steps else int(steps[np.argmin(np.abs(steps - step))])
    parts = []
    if here != step:
        parts.append(context.say("step_not_printed", step=asked, near=context.evidence.count(here, "nearest step of the log").text))
    named = [found for metric in context.question.metrics if (found := context.series(metric)) is not None]
    if named:
        return [*parts, *_of_metrics(context, named, here)]
    moved = _distinct(sorted(_moved(context, here), key=lambda m: (m.of_time, m.series.name.endswith(("max", "min")), -m.far)))
    near = _onsets(context, here)
    judged = near and context.question.intents & {"normal", "overview", "why"}
    if judged:
        parts += told(context, near[0])[:3]
    if judged and not moved:
        pass
    elif moved:
        rows = [_row(context, one) for one in moved[:SHOWN]]
        shown = context.evidence.count(here, "step looked at").text
        n = context.evidence.count(len(moved), f"metrics far from their level at step {here}").text
        parts.append(context.say("step_moved" if len(moved) > SHOWN else "step_moved_all", step=shown, n=n, rows=context.joined(rows)))
    elif _only_validation(context, here):
        parts.append(context.say("step_validation_only", step=context.evidence.count(here, "step looked at").text))
    elif np.count_nonzero(steps < here) < FEW_BEFORE:
        parts.append(context.say("step_no_before", step=context.evidence.count(here, "step looked at").text))
    else:
        parts.append(context.say("step_quiet", step=context.evidence.count(here, "step looked at").text))
    if names := [
        s.name for m in OCCASIONAL if (s := context.series(m)) is not None and len(s) < 0.8 * len(steps) and s.index_at(here) is not None
    ]:
        parts.append(context.say("step_occasional", names=context.say("comma").join(code(name) for name in names)))
    if near and not (judged and len(near) == 1):
        parts.append(context.say("step_findings", titles=context.joined([context.titled(f) + context.since(f) for f in near[:3]])))
    if events := _events(context, here):
        parts.append(context.say("step_events", events=context.joined(events)))
    parts.append(_values(context, here, {id(one.series) for one in moved[:SHOWN]}))
    if open_ := [
        f
        for f in context.diagnosis.faults
        if f not in near
        and f.first_step is not None
        and f.first_step < here
        and (f.last_step is None or f.last_step >= here)
        and f.severity != "low"
    ]:
        parts.append(context.say("step_during", titles=context.joined([context.titled(f) + context.since(f) for f in open_[:2]])))
    return [part for part in parts if part]


_SPEED = re.compile(r"\b(?:faster|slower|speed)\b|更?(?:快|慢)", re.IGNORECASE)
_SAID = re.compile(r"\b(?:step|iteration|iter)\s*[:=#]?\s*(\d{1,7})\b|第\s*(\d{1,7})\s*步", re.IGNORECASE)


def outside(context: Context) -> str:
    """That a step named in the question is not in the log; "" when all are."""
    steps = context.view.steps
    said = [int(group) for match in _SAID.finditer(context.question.text) for group in match.groups() if group]
    beyond = [step for step in context.question.steps if step in said and len(steps) > 1 and not steps[0] <= step <= steps[-1]]
    if not beyond:
        return ""
    asked = context.evidence.count(beyond[0], "step asked for").text
    ends = [context.evidence.count(int(s), "step of the log").text for s in (steps[0], steps[-1])]
    return context.say("step_outside", step=asked, first=ends[0], last=ends[1])


def _no_steps(context: Context) -> list[str]:
    """A log without metrics of a step: what it does show, else that there is nothing."""
    if not context.diagnosis.findings:
        return [context.say("no_values")]
    asked = [f for f in context.diagnosis.findings if f.id in context.question.findings]
    if asked:
        return told(context, asked[0])
    return overview(context) if context.diagnosis.faults else told(context, context.diagnosis.findings[0])


def _of_metrics(context: Context, named: list[Series], step: int) -> list[str]:
    """The metrics asked for at a step: what they were before, there and after, and the findings that rest on that point."""
    parts = []
    for series in named[:SHOWN]:
        index = series.index_at(step)
        if index is None:
            parts.append(context.say("step_no_value", key=series.name, step=context.evidence.count(step, "step looked at").text))
            continue
        rows = [context.say("value_is", key=series.name, value=context.at(series.point(index)))]
        before = series.values[max(0, index - BEFORE) : index]
        before = before[np.isfinite(before)]
        if len(before) >= 3:
            n = context.evidence.count(len(before), f"values of {series.name} before step {step}")
            usual = context.evidence.derived(
                float(np.median(before)),
                f"median of {len(before)} values of {series.name} before step {step}",
                metric=series.name,
                text=figure(float(np.median(before))),
            )
            rows.append(context.say("step_usual", n=n.text, usual=usual.text))
        if index + 1 < len(series):
            rows.append(context.say("step_after", value=context.at(series.point(index + 1))))
        parts.append(context.glue(rows))
    keys = {series.name for series in named}
    near = _onsets(context, step)
    about = [f for f in context.diagnosis.findings if f in near or any(p.metric in keys and p.step == step for p in f.evidence)]
    if about and "normal" in context.question.intents:
        parts = [*told(context, about[0])[:2], *parts, *(context.evidence.summary(f) for f in about[1:2])]
    else:
        parts += [context.evidence.summary(f) for f in about[:2]]
    if events := _events(context, step):
        parts.append(context.say("step_events", events=context.joined(events)))
    return parts


def two_steps(context: Context) -> list[str]:
    """Two steps side by side: the metrics asked for, else the main ones and those that differ most."""
    question = context.question
    steps = context.view.steps
    if not len(steps):
        return _no_steps(context)
    ends = list(question.steps[:2])
    if len(ends) < 2 and question.window is not None:
        ends = steps_in(question.window, question.steps)
    if len(ends) == 1 and not question.places & {"first"}:  # "compared with step 20": the log's last step
        ends.append(int(steps[-1]))
    if len(ends) < 2:  # "compared with the start"
        ends = [int(steps[0]), *(ends or [int(steps[-1])])]
    first, second = sorted(ends[:2])
    wanted = [s for metric in question.metrics if (s := context.series(metric)) is not None]
    wanted += [s for key in question.extra_keys if (s := context.view.printed(key)) is not None and len(s)]
    if not wanted and _SPEED.search(question.text):
        wanted = [
            s for metric in ("time_step", "seconds_per_step", "throughput", "tokens_per_second_per_gpu") if (s := context.series(metric))
        ]
    named = bool(wanted)
    parts: list[str] = []
    for step in (first, second):
        if step < steps[0] or step > steps[-1]:
            limits = [context.evidence.count(int(s), "step of the log").text for s in (steps[0], steps[-1])]
            parts.append(
                context.say("step_outside", step=context.evidence.count(step, "step asked for").text, first=limits[0], last=limits[1])
            )
    if parts:
        return parts
    rows: list[str] = []
    if not named:
        wanted = _differing(context, first, second)
    for series in wanted:
        a, b = _near(series, first), _near(series, second)
        if a is None or b is None or a == b:
            continue
        change = change_between(context, series, a, b)
        rows.append(context.say("two_row", key=series.name, a=context.at(series.point(a)), b=context.at(series.point(b)), change=change))
    if not rows:
        return [context.say("two_none")]
    texts = [context.evidence.count(step, "step asked for").text for step in (first, second)]
    parts.append(context.say("two_lead", a=texts[0], b=texts[1]) + "\n" + "\n".join(f"- {row}" for row in rows[:8]))
    began = [f for f in context.diagnosis.faults if f.first_step is not None and first < f.first_step <= second]
    if began:
        parts.append(context.say("two_findings", titles=context.joined([context.titled(f) + context.since(f) for f in began[:4]])))
    elif not named:
        parts.append(context.say("two_no_findings"))
    return parts


def _near(series: Series, step: int) -> int | None:
    """Index of the finite value at a step, or of the nearest one within a few steps (validation is not printed at each)."""
    finite = np.flatnonzero(series.finite)
    if not len(finite):
        return None
    at = int(finite[np.argmin(np.abs(series.steps[finite] - step))])
    gap = int(np.median(np.diff(series.steps))) if len(series) > 1 else 0
    return at if abs(int(series.steps[at]) - step) <= max(gap, 1) else None


def _differing(context: Context, first: int, second: int) -> list[Series]:
    """The main metrics, then those whose levels around the two steps differ most for their noise."""
    main = [s for metric in ALWAYS if (s := context.series(metric)) is not None]
    names = {s.name for s in main}
    scored: list[tuple[float, Series]] = []
    for canonical in sorted({name.canonical for name in context.view.names.values() if name.canonical}):
        if canonical.startswith((*OF_TIME, "validation")) or canonical in ("global_step", "epoch"):
            continue
        series = context.view[canonical]
        if series is None or series.name in names or metric_card(canonical) is None:
            continue
        a, b = _near(series, first), _near(series, second)
        if a is None or b is None or series.values[a] == series.values[b] or any(_same(series, other) for other in main):
            continue
        finite = series.values[series.finite]
        noise = stats.mad(np.diff(finite)) if len(finite) > 5 else 0.0
        level = [float(np.median(series.values[max(0, i - 2) : i + 3][series.finite[max(0, i - 2) : i + 3]])) for i in (a, b)]
        far = abs(level[1] - level[0]) / max(noise, 2 * series.resolution(a), 1e-3 * float(np.abs(finite).max()), 1e-12)
        if far > 3:
            scored.append((far, series))
    scored.sort(key=lambda row: -row[0])
    return [*main, *(series for _, series in scored[:3])]


def _same(a: Series, b: Series) -> bool:
    """Whether two metrics are one curve: score and reward without a KL term."""
    return len(a) == len(b) and bool(np.array_equal(a.values, b.values, equal_nan=True))


def change_between(context: Context, series: Series, a: int, b: int) -> str:
    old, new = float(series.values[a]), float(series.values[b])
    gap = new - old
    if gap == 0:
        return context.say("same_value")
    steps = f"{int(series.steps[a])} and {int(series.steps[b])}"
    decimals = max((len(series.text(i).partition(".")[2]) for i in (a, b) if "e" not in series.text(i)), default=3)
    shown = figure(round(abs(gap), min(decimals, 6))) if round(abs(gap), min(decimals, 6)) else figure(abs(gap))
    fact = context.evidence.derived(abs(gap), f"change of {series.name} between steps {steps}", metric=series.name, text=shown)
    word = context.say("up_by" if gap > 0 else "down_by", gap=fact.text)
    if old > 0 and new > 0 and (new / old >= 2 or new / old <= 0.5):
        ratio = new / old if new > old else old / new
        times = context.evidence.derived(ratio, f"ratio of {series.name} between steps {steps}", metric=series.name, text=f"{ratio:.3g}")
        word += context.say("times_more" if new > old else "times_less", times=times.text)
    return word


def _moved(context: Context, step: int) -> list[Moved]:
    out = []
    for canonical in sorted({name.canonical for name in context.view.names.values() if name.canonical}):
        if canonical in ("global_step", "epoch") or canonical.startswith("validation") or metric_card(canonical) is None:
            continue
        series = context.view[canonical]
        index = None if series is None else series.index_at(step)
        if series is None or index is None:
            continue
        before = series.values[max(0, index - BEFORE) : index]
        before = before[np.isfinite(before)]
        if not np.isfinite(series.values[index]):
            if len(before):
                out.append(Moved(series, index, float(np.median(before)), float("inf"), False))
            continue
        if len(before) < FEW_BEFORE:
            continue
        usual = float(np.median(before))
        spread = max(stats.mad(before), 2 * series.resolution(index), 0.02 * abs(usual), 1e-9)
        far = abs(float(series.values[index]) - usual) / spread
        if far > FAR:
            out.append(Moved(series, index, usual, far, canonical.startswith(OF_TIME) or series.name.startswith(("timing", "perf/"))))
    return out


def _distinct(moved: list[Moved]) -> list[Moved]:
    """Without those that repeat another's values under a second name."""
    seen: set[tuple[float, float]] = set()
    out = []
    for one in moved:
        mark = (float(one.series.values[one.index]), one.usual)
        if mark not in seen or mark[0] != mark[0]:
            out.append(one)
        seen.add(mark)
    return out


def _row(context: Context, one: Moved) -> str:
    series = one.series
    at = context.evidence.point(series.point(one.index))
    usual = context.evidence.derived(
        one.usual,
        f"median of up to {BEFORE} values of {series.name} before step {int(series.steps[one.index])}",
        metric=series.name,
        text=figure(one.usual),
    )
    return context.say("moved_row", key=series.name, value=at.text, usual=usual.text)


def _onsets(context: Context, step: int) -> list[Finding]:
    steps = context.view.steps
    reach = max(1, len(steps) // 100) if len(steps) >= 50 else 0
    return [
        f for f in context.diagnosis.findings if f.severity != "info" and f.first_step is not None and abs(f.first_step - step) <= reach
    ]


def _events(context: Context, step: int) -> list[str]:
    """Words of the log printed around the step, each kind once."""
    seen: dict[str, str] = {}
    for event in context.diagnosis.run.events:
        if event.step is not None and event.step in (step - 1, step) and event.kind not in QUIET_EVENTS and event.kind not in seen:
            line = context.evidence.count(event.line, f"line of {event.kind}")
            text = event.text.strip()
            context.evidence.note_numbers(text, "words of the log")
            seen[event.kind] = context.say("event_row", text=code(text[:120]), line=line.text)
    return list(seen.values())[:3]


def _values(context: Context, step: int, shown: set[int]) -> str:
    rows = []
    for metric in KEY_METRICS:
        series = context.series(metric)
        if series is not None and id(series) not in shown and (point := series.at(step)) is not None:
            rows.append(f"`{series.name}` {context.evidence.point(point).text}")
    return context.say("step_values", values=context.joined(rows)) if rows else ""
