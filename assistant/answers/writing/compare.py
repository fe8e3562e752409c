"""Two metrics side by side: values of one step, how they move, what each is, and what they are often taken for."""

from __future__ import annotations

import re

import numpy as np

from assistant.answers.grounding.context import Context, course, explaining, words_of
from assistant.answers.grounding.evidence import code, picked, shortened
from assistant.answers.writing.about import _may_have_read, absent, terms_of
from assistant.diagnosis import stats
from assistant.diagnosis.facts import number
from assistant.diagnosis.finding import Finding
from assistant.run import Series

SAME_SCALE = (
    frozenset({"score_mean", "reward_mean", "return_mean", "value_mean", "value_prediction_mean", "advantage_mean", "validation"}),
    frozenset({"score_max", "reward_max"}),
    frozenset({"score_min", "reward_min"}),
    frozenset({"gpu_memory_allocated", "gpu_memory_reserved"}),
    frozenset({"critic_gpu_memory_allocated", "critic_gpu_memory_reserved"}),
    frozenset({"response_length_mean", "response_length_max", "response_length_min", "response_length_non_aborted_mean"}),
    frozenset(
        {
            "time_gen",
            "time_update_actor",
            "time_update_critic",
            "time_step",
            "time_old_log_prob",
            "time_ref",
            "time_values",
            "time_adv",
            "time_reward",
        }
    ),
    frozenset({"policy_loss", "policy_total_loss"}),
    frozenset({"train_loss", "val_loss"}),
)
"""Metrics in one unit, whose difference means something."""


def same(context: Context) -> list[str]:
    """Two names of one metric."""
    metric = context.question.metrics[0]
    names = context.joined([code(name) for name in context.question.spellings[:3]])
    there = context.series(metric) is not None
    lead = context.say("same_metric" if there else "same_metric_absent", names=names, key=context.key(metric))
    found = context.evidence.metric_card(metric)
    notes = context.glue(context.evidence.era_notes(found))
    parts = [lead, context.say("label_meaning") + context.evidence.text_of(found, "short")]
    return [*parts, context.say("label_version") + notes if notes else "", course(context, metric) if there else ""]


def compare(context: Context) -> list[str]:
    a, b = context.question.metrics[:2]
    first, second = context.series(a), context.series(b)
    parts: list[str] = []
    if _asks_same(context.question.text):
        parts.append(context.say("not_same", a=context.key(a), b=context.key(b)))
    if first is not None and second is not None:
        parts.append(_side_by_side(context, a, b, first, second))
        parts.append(_moving(context, first, second))
    about, _ = explaining(context, [a, b])
    named = [f for f in about if f.id in context.question.findings] or [f for f in about if _speaks_of_both(context, f, a, b)]
    if named:
        parts.append(context.evidence.summary(named[0]))
    for metric in (a, b):
        if context.series(metric) is None:
            parts.extend(absent(context, metric)[:1])
        found = context.evidence.metric_card(metric)
        if text := context.evidence.text_of(found, "short"):
            parts.append(f"`{context.key(metric)}`{': ' if context.language == 'en' else '：'}{shortened(text, 40, context.language)}")
    terms = [*terms_of(context), *(part for m in (a, b) for part in context.key(m).split("/")[-2:] if len(part) > 3)]
    for metric in (a, b):
        found = context.evidence.metric_card(metric)
        if words_of(parts) > 170:
            break
        if heard := _may_have_read(context, found, terms):
            parts.append(heard)
        elif similar := context.evidence.text_of(found, "lookalikes"):
            parts.append(context.say("label_similar") + picked(similar, terms, 40, context.language))
    return parts


def _asks_same(text: str) -> bool:
    return bool(re.search(r"\bsame\b|identical|equivalent|\bequal|一样|相同|同一个|一回事|等价|就是", text.lower()))


def _speaks_of_both(context: Context, finding: Finding, a: str, b: str) -> bool:
    names = context.view.names
    printed = {point.metric for point in finding.evidence} | {q.metric for q in finding.facts.values() if q.metric}
    canonical = {names[key].canonical for key in printed if key in names}
    return {a, b} <= canonical


def _side_by_side(context: Context, a: str, b: str, first: Series, second: Series) -> str:
    shared = np.intersect1d(first.steps[first.finite], second.steps[second.finite])
    if not len(shared):
        return context.say("never_together")
    wanted = [step for step in context.question.steps if step in shared]
    step = int(wanted[0] if wanted else shared[-1])
    one, two = first.at(step), second.at(step)
    if one is None or two is None:
        return context.say("never_together")
    shown = {"a": first.name, "b": second.name, "va": context.at(one), "vb": context.at(two)}
    texts = [context.evidence.point(point).text for point in (one, two)]
    if not any({a, b} <= group for group in SAME_SCALE):
        return context.say("compare_values", **shown)
    gap = one.value * first.scale - two.value * second.scale
    if gap == 0:
        return context.say("compare_diff", **shown, which=context.say("same_value"))
    decimals = max((len(text.partition(".")[2]) for text in texts if "e" not in text), default=3)
    fact = context.evidence.derived(abs(gap), f"|{first.name} − {second.name}|", text=number(round(abs(gap), min(decimals, 6))))
    return context.say("compare_diff", **shown, which=context.say("a_higher" if gap > 0 else "b_higher", gap=fact.text))


def _moving(context: Context, first: Series, second: Series) -> str:
    steps, here, there = np.intersect1d(first.steps, second.steps, return_indices=True)
    if len(steps) < 10:
        return ""
    r = stats.correlation(first.values[here], second.values[there])
    if not np.isfinite(r):
        return ""
    n = context.evidence.count(len(steps), "steps that print both")
    fact = context.evidence.derived(r, f"Spearman rank correlation of {first.name} and {second.name}", text=f"{r:.2f}")
    how = context.say("independent" if abs(r) < 0.3 else "together" if r > 0 else "opposite")
    return context.glue([context.say("correlated", n=n.text, r=fact.text, how=how), context.say("correlation_note")])
