"""Is it learning, is the critic, will the memory last, does gradient clipping act: judgements from several curves at once."""

from __future__ import annotations

import re

import numpy as np

from assistant.answers.grounding.context import BUDGET, OF_CRITIC, Context, course, trend_words, words_of
from assistant.answers.grounding.evidence import Curve, code, plain_value
from assistant.answers.grounding.shape import shape_of
from assistant.answers.writing.about import not_here
from assistant.answers.writing.problems import reasons_of, root, to_do
from assistant.answers.writing.ranges import figure
from assistant.answers.writing.verdict import premise
from assistant.config_cards import UNLISTED, default
from assistant.derived import Derived
from assistant.diagnosis import stats
from assistant.diagnosis.detector import registered
from assistant.diagnosis.finding import Finding

PROGRESS = ("score_mean", "reward_mean", "validation", "train_loss", "val_loss", "preference_accuracy")
"""What shows that something is learned, first the surest; of losses less is more."""
LOSSES = frozenset({"train_loss", "val_loss", "value_loss", "preference_loss"})
FEW = 10
STOPPED = (
    "reward-flat-floor",
    "no-learning-signal",
    "not-learning",
    "learning-rate-zero",
    "policy-frozen",
    "reward-collapse",
    "non-finite",
    "all-aborted",
)
"""Findings that answer "is it learning?" with no by themselves."""
SLOWED = ("reward-plateau", "reward-saturated", "overfitting", "reward-hacking", "shrinking-learning-signal")
MEMORY = ("gpu_memory_allocated", "gpu_memory_reserved", "host_memory_used")
MEMORY_FINDINGS = ("crash-gpu-oom", "crash-host-oom", "gpu-memory-leak", "host-memory-growth", "gpu-fragmentation")
GRAD_CLIP = ("actor_rollout_ref.actor.grad_clip", "actor_rollout_ref.actor.optim.clip_grad")


def learning(context: Context) -> list[str]:
    """Yes, no or not to be told, from the score and validation; the finding that explains a no."""
    curves = [(metric, found) for metric in PROGRESS if (found := context.curve(metric)) is not None and found.last is not None]
    curves.sort(key=lambda row: row[0] not in context.question.metrics)
    if {"score_mean", "reward_mean"} <= {m for m, _ in curves}:
        curves = [(m, c) for m, c in curves if m != "reward_mean"]
    by_id = {f.id: f for f in context.diagnosis.findings if f.severity != "info"}
    stop = next((by_id[name] for name in STOPPED if name in by_id), None)
    slow = next((by_id[name] for name in SLOWED if name in by_id), None)
    if not curves:
        lead = context.say("learning_none")
        return [lead, *(_because(context, stop) if stop else [])]
    metric, main = curves[0]
    parts: list[str] = []
    better, how = direction_of(context, metric, main)
    if stop is not None:
        parts.append(context.say("learning_no", title=context.titled(stop), since=context.since(stop)))
        parts.append(context.evidence.summary(stop))
    elif main.n_finite < FEW:
        n = context.evidence.count(main.n_finite, f"finite values of {main.series.name}")
        parts.append(context.say("learning_short" if main.n_finite > 1 else "learning_once", n=n.text))
    else:
        key = {1: "learning_yes", -1: "learning_worse", 0: "learning_flat"}[better]
        if better == 1 and slow is not None:
            key = "learning_yes_until"
        parts.append(context.say(key, title=context.titled(slow) if slow else "", since=context.since(slow) if slow else ""))
    parts.append(context.say("label_values") + context.glue([how, *(direction_of(context, m, c)[1] for m, c in curves[1:3])]))
    if stop is None and slow is not None:
        parts.append(context.evidence.summary(slow))
    if (cause := stop or slow) is not None:
        if reasons := reasons_of(context, cause):
            parts.append(context.say("label_why") + reasons)
        if words_of(parts) < BUDGET:
            parts.append(to_do(context, root(context, cause), 1))
    parts += _also_asked(context)
    if words_of(parts) < BUDGET and (moved := _policy_moves(context)):
        parts.append(moved)
    names = context.view.names
    keys = {found.series.name for _, found in curves[:3]}
    others = [
        f
        for f in by_id.values()
        if f.severity in ("critical", "high", "medium")
        and not context.mentioned(f)
        and any(p.metric in keys for p in f.evidence if p.metric in names)
    ]
    if others and words_of(parts) < BUDGET:
        parts.append(context.say("also_named", titles=context.joined([context.titled(f) + context.since(f) for f in others[:2]])))
    return parts


def _also_asked(context: Context) -> list[str]:
    """The other metrics that the question names: whether what it takes for granted of them is so, and their course."""
    rows = []
    said = context.question.text.lower()
    for metric in [m for m in context.question.metrics if m not in PROGRESS][:3]:
        if context.series(metric) is not None:
            checked = (
                premise(context, metric) if len(context.question.metrics) < 3 else ""
            )  # of many metrics it is unclear what is said of which
            rows.append(context.glue([checked, course(context, metric, short=True)]))
        elif re.search(rf"\b{re.escape(context.key(metric).rpartition('/')[2])}\b", said):
            rows.append(not_here(context, metric))
    return rows


def _because(context: Context, finding: Finding) -> list[str]:
    return [
        context.glue([context.say("fault", title=context.titled(finding), since=context.since(finding)), context.evidence.summary(finding)])
    ]


def direction_of(context: Context, metric: str, found: Curve) -> tuple[int, str]:
    """1 better, -1 worse, 0 neither; and the curve in a sentence with its medians."""
    key, shape = found.series.name, shape_of(found)
    if found.n_finite < FEW:
        return 0, course(context, metric)
    net = shape.end - shape.start
    noise = stats.mad(found.series.values[found.series.finite][-min(50, found.n_finite) :])
    clear = found.direction.rising or found.direction.falling or abs(net) > 2 * noise
    sign = 0 if not clear or (shape.kind == "none" and abs(net) <= 2 * noise) else int(np.sign(net))
    start = context.evidence.derived(shape.start, f"median of the first {shape.k} finite {key}", metric=key, text=figure(shape.start))
    end = context.evidence.derived(shape.end, f"median of the last {shape.k} finite {key}", metric=key, text=figure(shape.end))
    k = context.evidence.count(shape.k, f"values of {key} in each median")
    text = context.say("learning_row", key=key, start=start.text, end=end.text, k=k.text, trend=trend_words(context, found))
    return sign * (-1 if metric in LOSSES else 1), text


def _policy_moves(context: Context) -> str:
    """Whether the policy moves at all: its distance from the reference model."""
    found = context.curve("reference_kl") or context.curve("reward_kl")
    if found is None or found.last is None or found.first is None or not found.moves:
        return ""
    return context.say(
        "policy_moves", key=found.series.name, first=context.at(found.point(found.first)), last=context.at(found.point(found.last))
    )


def critic_learning(context: Context) -> list[str]:
    if not any(context.series(metric) is not None for metric in OF_CRITIC):
        by_design = next((f for f in context.diagnosis.findings if f.id == "no-critic-by-design"), None)
        text = context.evidence.summary(by_design) if by_design else ""
        return [context.glue([context.say("no_critic"), text])]
    about = [f for f in context.diagnosis.findings if f.severity != "info" and _of_critic(context, f)]
    parts = []
    explained, loss = context.curve("explained_variance"), context.curve("value_loss")
    if about:
        parts += [context.say("fault", title=context.titled(about[0]), since=context.since(about[0])), context.evidence.summary(about[0])]
    elif explained is not None and explained.n_finite >= FEW:
        end = shape_of(explained).end
        parts.append(context.say("critic_yes" if end > 0.3 else "critic_weak" if end > 0 else "critic_no", key=explained.series.name))
    else:
        n = max((c.n_finite for c in (explained, loss) if c is not None), default=0)
        key = "learning_once" if n == 1 else "critic_short" if n < FEW else "critic_unjudged"
        parts.append(context.say(key, n=context.evidence.count(n, "values of the critic").text))
    parts += [not_here(context, metric) for metric in context.question.metrics if metric in OF_CRITIC and context.series(metric) is None]
    rows = []
    for metric in ("explained_variance", "value_loss", "critic_grad_norm", "value_clip_fraction"):
        found = context.curve(metric)
        if found is not None and found.last is not None:
            rows.append(
                direction_of(context, metric, found)[1]
                if found.n_finite >= FEW and metric != "value_clip_fraction"
                else course(context, metric, short=True)
            )
    parts.append(context.say("label_values") + context.glue(rows))
    if about:
        parts.append(to_do(context, about[0], 1))
    card = context.evidence.metric_card("explained_variance" if explained is not None else "value_loss")
    if healthy := context.evidence.text_of(card, "healthy"):
        parts.append(context.say("label_healthy") + healthy)
    return parts


def _of_critic(context: Context, finding: Finding) -> bool:
    names = context.view.names
    canonical = [names[p.metric].canonical for p in finding.evidence[:1] if p.metric in names]
    one = registered().get(finding.id)
    return bool(set(canonical) & OF_CRITIC) or bool(one and one.needs and one.needs[0] in OF_CRITIC)


# Memory


def memory(context: Context) -> list[str]:
    """What the log prints of memory, GPU and host; which parts of it no metric covers."""
    rows = [course(context, metric) for metric in (*MEMORY, "critic_gpu_memory_allocated") if context.curve(metric) is not None]
    if not rows:
        return [context.say("memory_none")]
    parts = [context.glue(rows), context.say("memory_note")]
    about = [f for f in context.diagnosis.findings if f.id in MEMORY_FINDINGS and f.severity != "info"]
    return [*parts, *(context.evidence.summary(f) for f in about[:1])]


def oom(context: Context) -> list[str]:
    """Whether memory runs out: it did, it grows, or it stands still; a promise is not possible."""
    faults = {f.id: f for f in context.diagnosis.findings if f.severity != "info"}
    hit = [faults[name] for name in MEMORY_FINDINGS if name in faults]
    parts: list[str] = []
    if hit:
        crash = hit[0].id.startswith("crash")
        parts.append(context.say("oom_did" if crash else "oom_grows", title=context.titled(hit[0]), since=context.since(hit[0])))
        parts.append(context.evidence.summary(hit[0]))
    curves = [found for metric in MEMORY if (found := context.curve(metric)) is not None and found.last is not None]
    if not curves:
        return [*parts, *([] if hit else [context.say("oom_no_metrics")]), *([to_do(context, hit[0], 2)] if hit else [])]
    about = {point.metric for finding in hit[:1] for point in finding.evidence}
    curves.sort(key=lambda found: found.series.name not in about)
    rows = [_level(context, found) for found in curves]
    if not hit:
        rising = [found for found in curves if _rises(found)]
        few = max(found.n_finite for found in curves) < FEW
        lead = "oom_short" if few else "oom_rising" if rising else "oom_flat"
        parts.append(context.say(lead, keys=context.say("comma").join(code(found.series.name) for found in rising)))
    parts.append(context.say("label_values") + context.glue(rows))
    parts.append(context.say("oom_when" if hit and hit[0].id == "host-memory-growth" else "oom_note"))
    if hit:
        parts.append(to_do(context, hit[0], 2))
    return parts


def _rises(found: Curve) -> bool:
    """Whether the second half of the run still takes more: a peak counter that rose at the beginning only does not."""
    values = found.series.values[found.series.finite]
    half = values[len(values) // 2 :]
    if len(half) < 5:
        return False
    gained = float(np.median(half[-5:]) - np.median(half[:5]))
    return stats.trend(half).rising and gained > max(0.01 * abs(float(np.median(half))), 0.1)


def _level(context: Context, found: Curve) -> str:
    assert found.first is not None
    assert found.last is not None
    assert found.highest is not None
    series = found.series
    first, last = context.at(found.point(found.first)), context.at(found.point(found.last))
    if not found.moves:
        return context.say("single", key=series.name, last=last)
    text = context.say("memory_row", key=series.name, first=first, last=last, high=context.at(found.point(found.highest)))
    if _rises(found):
        slope = Derived(100 * stats.trend(series.values).slope / max(1.0, float(np.median(np.diff(series.steps)))), "", ())
        fact = context.evidence.derived(
            slope.value, f"Theil–Sen slope of {series.name} × 100 steps", metric=series.name, text=figure(float(f"{slope.value:.2g}"))
        )
        hundred = context.evidence.count(100, "steps of the slope")
        text += context.say("memory_slope", slope=fact.text, n=hundred.text)
    return text


# Gradient clipping


def grad_clip(context: Context) -> list[str]:
    """The printed norm is taken before clipping: whether the limit acts is how often it is exceeded."""
    run = context.diagnosis.run
    found = context.curve("policy_grad_norm")
    key = next((k for k in GRAD_CLIP if k in run.config), "")
    limit: float | None = None
    if key:
        limit = context.view.number(key)
        if limit is None:
            return [context.say("clip_off", key=key, value=code(plain_value(run.config[key])))]
        shown = context.evidence.config(key, run.config[key]).text
        lead = context.say("clip_set", key=key, value=shown)
    else:
        key = GRAD_CLIP[0]
        value = default(key, run.era) if run.era != "unknown" else UNLISTED
        if isinstance(value, (int, float)):
            context.evidence.cite(f"config/{key}")
            limit = float(value)
            lead = context.say(
                "clip_default",
                key=key,
                value=context.evidence.derived(limit, f"default of {key}", metric=key, text=plain_value(value)).text,
            )
        else:
            lead = context.say("setting_absent", key=key, config="")
    if found is None or found.last is None:
        return [context.glue([lead, context.say("absent", key=context.key("policy_grad_norm"))])]
    if limit is None:
        return [lead, course(context, "policy_grad_norm"), context.say("clip_note")]
    values = found.series.values[found.series.finite]
    k = context.evidence.count(int((values > limit).sum()), f"values of {found.series.name} above the limit")
    n = context.evidence.count(len(values), f"finite values of {found.series.name}")
    share = float((values > limit).mean())
    acts = context.say(
        "clip_always" if share > 0.9 else "clip_often" if share > 0.1 else "clip_rare" if share > 0 else "clip_never",
        key=found.series.name,
        k=k.text,
        n=n.text,
    )
    return [context.glue([lead, acts]), context.say("label_values") + course(context, "policy_grad_norm"), context.say("clip_note")]
