"""The log itself: what it leaves out, where it starts again, and when there is too little of it."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis.batch import numbered, seen_from_start, step_gap
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import count, printed, quoted
from assistant.diagnosis.failure import failure
from assistant.diagnosis.finding import Finding, NotChecked, Quantity
from assistant.diagnosis.naming import family, first_names, resolve
from assistant.diagnosis.view import RunView
from assistant.run import Segment, Series


@detector("log-incomplete")
def log_incomplete(view: RunView, t: Thresholds) -> Finding | None:
    found = failure(view)
    if found is not None:
        if found.finding == "crash-worker-died" and found.variant == "no_inner":
            return _info("log-incomplete", "no_cause", {"line": count(found.line)}, confidence=0.8)
        return None
    run = view.run
    total, last = run.total_steps, run.last_step
    if total and not view.events("final-validation"):
        goal = total - 1 if run.era == "0.1" else total
        if last is None:
            return _info("log-incomplete", "before_training", {"total": count(total)})
        if last < goal:
            return _info("log-incomplete", "default", {"last": count(last), "total": count(total)}, first_step=last)
    if _starts_late(view):
        first = int(view.steps[0])
        return _info("log-incomplete", "starts_late", {"first": count(first)}, first_step=first)
    for note in run.notes:
        if note.kind == "cut-line" and note.line is not None:
            return _info("log-incomplete", "cut", {"line": count(note.line)})
    unreadable = {"empty", "binary", "prose"}.intersection(note.kind for note in run.notes)
    if not run.n_rows and run.n_lines and not unreadable:
        return _info("log-incomplete", "no_steps", {})
    return None


def _starts_late(view: RunView) -> bool:
    """The first step is well above the start, and above the distance at which this log prints steps."""
    steps = view.steps
    if not len(steps) or view.events("resume"):
        return False
    gap = int(np.median(np.diff(steps))) if len(steps) > 1 else 1
    return int(steps[0]) > max(gap, 1)


@detector("log-restarted")
def log_restarted(view: RunView, t: Thresholds) -> Finding | None:
    segments = view.run.segments
    if len(segments) < 2 or view.attempt is None:
        return None
    if len(view.attempts) > 1:
        group = view.attempts[view.attempt]
        facts = {
            "attempts": count(len(view.attempts)),
            "line": count(group[0].first_line),
            "first": count(group[0].first_step),
            "last": count(max(segment.last_step for segment in group)),
        }
        return _info("log-restarted", "default", facts, first_step=group[0].first_step)
    resumed = segments[-1]
    return _info("log-restarted", "resumed", _resumed(resumed), first_step=resumed.first_step)


def _resumed(segment: Segment) -> dict[str, Quantity]:
    return {"from": count(segment.first_step), "line": count(segment.first_line)}


@detector("log-version-change")
def log_version_change(view: RunView, t: Thresholds) -> Finding | None:
    """A metric that goes on under another name: the old name's last line stands before the new name's first.

    Each name is looked up by itself: beside its successor an old name may mean something else.
    """
    seen: dict[str, str] = {}
    changes: list[tuple[int, str, str]] = []
    columns = view.run.columns
    in_order = sorted((name for name in columns if len(columns[name].rows)), key=lambda name: (int(columns[name].rows[0]), name))
    for name in in_order:
        column = columns[name]
        canonical = resolve((name,), view.run.framework)[name].canonical
        if not canonical or canonical == "validation":
            continue
        old = seen.get(canonical)
        if old is not None and view.run.columns[old].rows[-1] < column.rows[0] and not _headless(view, old, name):
            changes.append((int(column.rows[0]), old, name))
        seen[canonical] = name
    if not changes:
        return None
    row, old, new = min(changes)
    line, step = int(view.run.row_lines[row]), int(view.run.row_steps[row])
    facts = {"line": count(line), "old": quoted(old, line), "new": quoted(new, line)}
    point = view.run.series(new)
    evidence = [point.point(0)] if point is not None else []
    return Finding("log-version-change", confidence=0.7, first_step=step, evidence=evidence, facts=facts)


def _headless(view: RunView, old: str, new: str) -> bool:
    """Whether the old name is the new one without its section: the log begins in the middle of a table, below the section's line."""
    records = view.run.row_records
    return new.endswith("/" + old) and int(records[view.run.columns[old].rows[-1]]) == int(records[0])


@detector("metric-missing")
def metric_missing(view: RunView, t: Thresholds) -> Finding | None:
    """Only what this kind of log prints at each step and without which nothing can be said about learning."""
    if view.n_steps < t.steps or view.has("score_mean") or view.has("reward_mean"):
        return None
    if view.run.framework == "verl":
        told = any(name.startswith("val") for name in view.run.columns)
        if told or not (view.has("policy_loss") or view.has("time_step")):
            return None
        return _info("metric-missing", "default", {"n": count(view.n_steps)}, confidence=0.7)
    if (found := _loss_missing(view)) is not None:
        return found
    home = family(view.run.framework)
    shown = next((s for name in _OF_RL.get(home, ()) if (s := view[name]) is not None and len(s)), None)
    if shown is None:
        return None
    facts = {
        "n": count(view.n_steps),
        "metric": quoted(shown.name, shown.point(-1).line),
        "wanted": quoted(first_names(view.run.framework).get("score_mean", "reward"), shown.point(-1).line),
    }
    return _info("metric-missing", "other", facts, confidence=0.7)


_OF_RL = {
    "sb3": ("policy_step_kl", "explained_variance", "value_loss", "td_loss", "q_critic_loss"),
    "cleanrl": ("policy_step_kl", "value_loss", "td_loss"),
    "slime": ("response_length_mean", "policy_loss", "time_gen"),
    "openrlhf": ("policy_loss", "policy_step_kl"),
    "areal": ("policy_loss",),
    "roll": ("policy_loss",),
    "skyrl": ("policy_loss", "policy_entropy"),
    "trlx": (),
}
"""Metrics that show that such a trainer is at work; its reward should then be there as well."""


def _loss_missing(view: RunView) -> Finding | None:
    """Megatron's line without the loss that the lines before it have."""
    loss, rate = view["train_loss"], view["train_lr"]
    if family(view.run.framework) != "megatron" or loss is None or rate is None:
        return None
    gone = rate.steps[(rate.steps > int(loss.steps[0])) & ~np.isin(rate.steps, loss.steps)]
    if not len(gone):
        return None
    step = int(gone[0])
    facts = {"metric": quoted(loss.name, loss.point(-1).line), "step": count(step), "n": count(len(gone))}
    return _info("metric-missing", "loss", facts, confidence=0.7, first_step=step)


@detector("too-early-to-tell")
def too_early_to_tell(view: RunView, t: Thresholds) -> Finding | None:
    steps = view.steps
    if not len(steps) or not view.n_steps or failure(view) is not None:
        return None
    last = int(steps[-1])
    if view.run.total_steps is not None and last >= view.run.total_steps:
        return None
    if view.n_steps <= t.steps:
        if not _just_begun(view, t):
            return None
        variant = "one" if view.n_steps == 1 else "default"
        return _info("too-early-to-tell", variant, {"n": count(view.n_steps), "last": count(last)}, confidence=0.8, first_step=last)
    warmup = _warmup(view)
    if warmup and last * (view.updates_per_step or 1.0) < warmup:
        return _info("too-early-to-tell", "warmup", {"last": count(last), "warmup": count(warmup)}, first_step=last)
    return None


def _just_begun(view: RunView, t: Thresholds) -> bool:
    """The log ends within the first few steps, or lines, of its run."""
    first, last, gap = int(view.steps[0]), int(view.steps[-1]), step_gap(view)
    if numbered(view) and not seen_from_start(view):
        return False
    if gap > 1 and last > t.far and (view.run.total_steps is None or last > t.part * view.run.total_steps):
        return False  # a few lines may be a whole run
    return first <= t.first * gap and last <= (t.first + t.steps) * gap


def _warmup(view: RunView) -> int | None:
    """Optimiser updates over which the actor's learning rate rises: from the config, else from what the trainer printed."""
    configured = view.number("actor_rollout_ref.actor.optim.lr_warmup_steps")
    if configured and configured > 0:
        return int(configured)
    values = [event.data.get("warmup") for event in view.events("optimizer-steps")]
    known = [int(value) for value in values if isinstance(value, int) and value > 0]
    return known[0] if known else None


@detector("no-validation")
def no_validation(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    run = view.run
    if run.framework != "verl":
        return None
    if any(name.startswith("val") for name in run.columns) or view.events("final-validation", "initial-validation", "validation-end"):
        return None
    if view.n_steps < t.steps:
        return NotChecked(f"steps>={t.steps:g}")
    frequency = view.number("trainer.test_freq")
    facts = {"n": count(view.n_steps)}
    last = int(view.steps[-1])
    if frequency is not None and frequency > 0 and frequency > last - int(view.steps[0]):
        return NotChecked(f"steps>={frequency:g}")
    if (frequency is not None and frequency > 0) or view.has("time_testing"):
        return NotChecked("validation")  # it validates: the lines or keys that say so were left out of this log
    score = view["score_mean"]
    evidence = [score.point(-1)] if score is not None else []
    off = frequency is not None and frequency <= 0
    if off and frequency is not None:
        facts["test_freq"] = Quantity(
            frequency, f"{frequency:g}", "config", "trainer.test_freq", line=run.config_lines.get("trainer.test_freq")
        )
    return Finding(
        "no-validation",
        confidence=0.8 if off else 0.6,
        first_step=int(view.steps[0]),
        last_step=last,
        evidence=evidence,
        facts=facts,
        variant="off" if off else "default",
        causes=("off",) if off else None,
    )


@detector("score-not-validation")
def score_not_validation(view: RunView, t: Thresholds) -> Finding | None:
    score = view["score_mean"]
    if score is None:
        return None
    latest: tuple[int, Series] | None = None
    for validation in view.validations(core=True):
        series = validation.series
        shared = np.intersect1d(score.steps[score.finite], series.steps[series.finite])
        if len(shared) and (latest is None or int(shared[-1]) > latest[0]):
            latest = int(shared[-1]), series
    if latest is None:
        return None
    step, series = latest
    here, there = score.at(step), series.at(step)
    if here is None or there is None or abs(here.value - there.value) < t.gap:
        return None
    facts = {"score": printed(here), "validation": printed(there), "key": quoted(series.name, there.line), "step": count(step)}
    return Finding("score-not-validation", confidence=0.5, first_step=step, last_step=step, evidence=[here, there], facts=facts)


def _info(finding: str, variant: str, facts: dict[str, Quantity], *, confidence: float = 0.7, first_step: int | None = None) -> Finding:
    return Finding(finding, confidence=confidence, first_step=first_step, last_step=first_step, facts=facts, variant=variant)
