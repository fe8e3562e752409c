"""How much of a run a detector must have seen before its silence means that something is fine.

A fault that shows in a single step (a NaN, a rejected setting) is judged by one. A level of now takes a few steps, as the first one
is often odd. Everything that develops takes at least `LASTING` logged steps: below that the answer is "not known yet".
"""

from __future__ import annotations

from assistant.diagnosis.detector import Detector

PRESENT, LASTING = 3, 10

AT_ONCE = frozenset(
    (
        "all-aborted",
        "crash-worker-died",
        "data-filtered",
        "double-kl",
        "episode-stats-missing",
        "gpu-memory-near-limit",
        "group-size-one",
        "hang",
        "kl-nonzero-at-start",
        "log-contradicts-config",
        "log-incomplete",
        "log-restarted",
        "log-version-change",
        "metric-missing",
        "metric-nan-only",
        "no-validation",
        "non-finite",
        "policy-frozen",
        "reward-errors",
        "sampling-config-mismatch",
        "score-not-validation",
        "setting-ignored",
        "skipped-updates",
        "too-early-to-tell",
        "validation-above-train",
        "validation-noisy",
        "weights-not-loaded",
    )
)
"""Detectors that need no history: settings, words of the log, values that no healthy step has."""

NOW = frozenset(
    (
        "aborted-generations",
        "critic-dominates-time",
        "eos-not-recognised",
        "extreme-advantages",
        "generation-bound",
        "gpu-fragmentation",
        "kv-preemption",
        "learning-rate-zero",
        "logprob-heavy",
        "long-tail",
        "no-gradient",
        "no-learning-signal",
        "padding-waste",
        "prompt-truncated",
        "reward-slow",
        "sequence-imbalance",
        "straggler",
        "tool-latency",
        "truncation",
        "turns-saturated",
        "update-bound",
        "validation-costly",
        "weight-sync-heavy",
    )
)
"""Detectors that look at the present level of something."""


def enough(one: Detector) -> int:
    """Logged steps from which on no finding means "fine"."""
    if one.id in AT_ONCE:
        return 1
    return max(one.min_points, PRESENT if one.id in NOW else LASTING)
