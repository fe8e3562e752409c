"""Which finding answers a question about a metric: not one that calls positive what the question calls negative."""

from __future__ import annotations

from dataclasses import replace

from assistant.answers.grounding.context import OF_CRITIC, Context, stem
from assistant.cards import card
from assistant.diagnosis.finding import Finding
from assistant.diagnosis.naming import metric_card

_SIGNS = frozenset({"positive", "negative", "zero"})
_ANSWERS = {
    "positive-pg-loss": {"positive"},
    "negative-loss": {"negative"},
    "on-policy-zero-kl": {"zero", "low", "flat"},
    "zero-loss-by-design": {"zero", "low", "flat"},
    "kl-clamped-at-zero": {"zero", "low"},
    "learning-rate-rounded": {"zero", "low", "flat"},
    "learning-rate-zero": {"zero", "low"},
    "mfu-unknown": {"zero", "low"},
    "mfu-miscalibrated": {"high"},
    "gradient-spike": {"high", "rising"},
    "first-step-slow": {"slow", "high"},
    "periodic-dips": {"falling", "rising", "low", "slow", "high"},
    "entropy-fall-harmless": {"falling", "low"},
    "length-growth-healthy": {"rising", "high"},
    "critic-early-negative-ev": {"negative", "low"},
    "explained-variance-artefact": {"negative", "low", "high"},
    "preference-rewards-negative": {"negative", "falling"},
    "validation-above-train": {"high", "low"},
    "validation-noisy": {"falling", "rising", "high", "low"},
    "score-not-validation": {"high"},
    "no-critic-by-design": {"missing"},
    "metric-missing": {"missing"},
    "critic-warmup": {"missing", "zero"},
}
"""What is said of a metric that a finding of severity ``info`` explains; of other such findings nothing is known."""


def related(context: Context, metric: str) -> Finding | None:
    """A fault whose card and the metric's card name each other, when the question asks for a judgement."""
    mine = metric_card(metric)
    if mine is None or not context.question.intents & {"normal", "why", "change"} or context.series(metric) is None:
        return None
    said = context.question.properties
    listed = set(card(mine).front.get("related") or ())
    for finding in context.diagnosis.faults:
        related = card(f"findings/{finding.id}").front.get("related") or ()
        if (
            f"findings/{finding.id}" in listed
            and mine in related
            and finding.severity in ("critical", "high", "medium")
            and not said & {"nan", "missing"}
        ):
            return finding
    return None


_SLOW = ("progressive-slowdown", "length-explosion", "throughput-drop", "length-growth-healthy", "truncation")
"""What makes a step longer, the surest first."""


def slowed_by(context: Context, metric: str) -> Finding | None:
    """What made the steps longer, when the question asks why a time has grown and the log shows it."""
    said = context.question.properties
    if not metric.startswith(("time_step", "seconds_per_step", "time_gen", "time_update_actor")) or "why" not in context.question.intents:
        return None
    if said and not said & {"rising", "slow", "high"}:
        return None
    by_id = {f.id: f for f in context.diagnosis.findings}
    return next((by_id[name] for name in _SLOW if name in by_id), None)


def contrary(context: Context, finding: Finding) -> bool:
    """Whether a finding says "positive" of what the question calls negative."""
    told = set(finding.id.split("-")) & _SIGNS
    said = context.question.properties & _SIGNS
    return bool(told and said and not told & said)


def answers(context: Context, finding: Finding) -> bool:
    """Whether "odd, but normal" is an answer to what the question says of the metric."""
    said = context.question.properties
    if finding.id == "no-critic-by-design" and not set(context.question.metrics) & OF_CRITIC:
        return False
    if finding.id in context.question.findings:
        return not contrary(context, finding)
    return not said or finding.id not in _ANSWERS or bool(said & _ANSWERS[finding.id])


def meant_by(context: Context, main: str, leading: Finding) -> str:
    """The sibling of the metric (score for reward, mean for maximum) that the finding is about, when the question gave no key: "the
    reward" is whichever of the two fell."""
    names = context.view.names
    evidence = [names[p.metric].canonical for p in leading.evidence if p.metric in names]
    if leading.severity == "info" or main in evidence or context.question.key_of(main) is not None:
        return ""
    return next((m for m in evidence if stem(m) == stem(main) and context.series(m) is not None), "")


def show_its_validation(context: Context, main: str, leading: Finding | None) -> None:
    """Of several validation curves the one that the finding is about is shown: no other's values stand beside it."""
    if main != "validation" or leading is None or context.question.key_of(main):
        return
    names = context.view.names
    key = next((p.metric for p in leading.evidence if p.metric in names and names[p.metric].canonical == "validation"), None)
    if key is not None:
        context.question = replace(context.question, keys=(*context.question.keys, ("validation", key)))
        context.curves.pop("validation", None)
