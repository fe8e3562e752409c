"""Decisions that people ask for: stop or go on, which checkpoint to keep, and how to see that a change has helped."""

from __future__ import annotations

import numpy as np

from assistant.answers.grounding.context import Context, course, ended, fix_lines
from assistant.answers.grounding.evidence import Curve
from assistant.answers.writing.follow_ups import about as told_before
from assistant.answers.writing.outlook import FEW, PROGRESS, SLOWED, direction_of
from assistant.answers.writing.problems import crashed, root, to_do, verdict_on_run
from assistant.answers.writing.values import good_way
from assistant.diagnosis import render
from assistant.diagnosis.finding import Finding
from assistant.diagnosis.naming import metric_card

SAVE = "trainer.save_freq"
OF_TIME = ("time", "slow", "stall", "bound", "throughput", "mfu", "padding", "costly", "long-tail", "first-step")
"""Parts of the names of findings that cost time and spoil nothing."""
FINISHED = "final-validation"


def _curves(context: Context) -> list[tuple[str, Curve]]:
    """What shows progress, the surest first."""
    curves = [(metric, found) for metric in PROGRESS if (found := context.curve(metric)) is not None and found.last is not None]
    if {"score_mean", "reward_mean"} <= {metric for metric, _ in curves}:
        curves = [row for row in curves if row[0] != "reward_mean"]
    return curves


def stop(context: Context) -> list[str]:
    """Whether to stop the run: the verdict first, what it rests on, and what to do then."""
    curves = _curves(context)
    ways = [direction_of(context, metric, found) for metric, found in curves[:2]]
    better = ways[0][0] if ways else 0
    seen = context.say("label_values") + context.glue(text for _, text in ways) if ways else ""
    if crashes := crashed(context):
        lead = crashes[0]
        return [
            context.say("stop_crashed", title=context.titled(lead), since=context.since(lead)),
            context.evidence.summary(lead),
            to_do(context, lead, 1),
        ]
    faults = list(context.diagnosis.faults)
    first = []
    run = context.diagnosis.run
    if context.view.events(FINISHED) and run.last_step is not None:
        first = [context.say("stop_finished", step=context.evidence.count(run.last_step, "last step of the log").text)]
    grave = next((f for f in faults if f.severity in ("critical", "high") and not _of_time(f)), None)
    over = next((f for f in faults if f.id in SLOWED), None)
    if grave is not None:
        key = "stop_fix" if better == 1 and grave.severity != "critical" else "stop_yes"
        lead_text = context.say(key, title=context.titled(grave), since=context.since(grave))
        return [context.glue([*first, lead_text]), context.evidence.summary(grave), seen, to_do(context, root(context, grave), 1)]
    if over is not None:
        lead_text = context.say("stop_done", title=context.titled(over), since=context.since(over))
        return [context.glue([*first, lead_text]), context.evidence.summary(over), seen, *checkpoint(context)[:1]]
    if better == 1:
        lead_text = context.say("stop_no")
    elif ways and curves[0][1].n_finite >= FEW:
        lead_text = context.say("stop_flat")
    else:
        lead_text = context.say("stop_unclear")
    if faults and better != 1:
        lead_text = context.say("stop_no_look", title=context.titled(faults[0]), since=context.since(faults[0]))
    parts = [first[0] if first else lead_text, seen]
    if faults and not context.mentioned(faults[0]):
        parts.append(verdict_on_run(context))
    return parts


def _of_time(finding: Finding) -> bool:
    return any(part in finding.id for part in OF_TIME)


def checkpoint(context: Context) -> list[str]:
    """The point with the best validation (else training score), before the first grave fault begins."""
    curves = [row for row in _curves(context) if row[1].n_finite > 1 and row[0] != "train_loss"]  # its minimum is memorising
    held = [row for row in curves if row[0] in ("validation", "val_loss")]
    if not curves:
        return [context.say("best_none"), verdict_on_run(context) if context.diagnosis.faults else ""]
    metric, found = (held or curves)[0]
    series = found.series
    limit = _onset(context)
    finite = np.flatnonzero(series.finite)
    before = finite[series.steps[finite] < limit.first_step] if limit is not None and limit.first_step is not None else finite
    if not len(before):
        limit, before = None, finite
    values = series.values[before]
    down = good_way(context, found) == "down" or metric == "val_loss"
    at = int(before[int(np.argmin(values) if down else np.argmax(values))])
    point = series.point(at)
    words = {
        "key": series.name,
        "value": context.at(point),
        "step": context.evidence.count(int(series.steps[at]), f"step of the best {series.name}").text,
    }
    if limit is not None and limit.first_step is not None:
        onset = context.evidence.count(limit.first_step, f"onset of {limit.id}").text
        lead = context.say("best_before", onset=onset, title=context.titled(limit), **words)
    else:
        lead = context.say("best_point", **words)
    epoch = context.series("epoch")
    if epoch is not None and (there := epoch.at(int(series.steps[at]))) is not None and there.value >= 0.5:
        lead = context.glue([lead, context.say("best_epoch", value=context.evidence.point(there).text)])
    parts = [lead]
    config = context.diagnosis.run.config
    if SAVE in config:
        parts.append(context.say("best_saved", key=SAVE, n=context.evidence.config(SAVE, config[SAVE]).text))
    parts.append(context.say("best_noise") if held else context.say("best_train_only"))
    parts.append(context.say("label_values") + course(context, metric) if metric_card(metric) else "")
    return parts


def _onset(context: Context) -> Finding | None:
    """The first grave fault that begins after the log's first steps."""
    first = context.diagnosis.run.first_step
    rows = [
        f
        for f in context.diagnosis.faults
        if f.severity in ("critical", "high")
        and f.first_step is not None
        and first is not None
        and f.first_step > first + 1
        and not _of_time(f)
    ]
    return min(rows, key=lambda f: f.first_step or 0, default=None)


def worked(context: Context) -> list[str]:
    """How to see that a change has helped: what the remedies' checks watch, and the values that they had here."""
    lead = told_before(context) or next(iter(context.diagnosis.faults), None)
    if lead is None or lead.severity == "info":
        return [context.say("worked_healthy")]
    cause = root(context, lead)
    fix_lines(context, cause, 2)
    rows = list(
        dict.fromkeys(str(fix["check"]) for fix in render.fixes(cause, context.diagnosis.run, context.language)[:2] if fix["check"])
    )
    context.evidence.cite(f"findings/{cause.id}")
    checks = context.joined(rows)
    parts = [context.say("worked", checks=checks) if checks else ended(context.titled(cause), context)]
    names = context.view.names
    keys = list(dict.fromkeys(names[p.metric].canonical for p in cause.evidence if p.metric in names and names[p.metric].canonical))
    now = [text for metric in keys[:2] if (text := course(context, metric, short=True))]
    if now:
        parts.append(context.say("worked_now") + context.glue(now))
    return [*parts, context.say("worked_compare")]
