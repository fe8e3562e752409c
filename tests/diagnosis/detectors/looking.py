"""One detector, one run: the finding, with its sentences rendered in both languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assistant.diagnosis import Finding, diagnose, registered
from assistant.diagnosis.render import causes, finding_json, fixes, rules_out, summary
from assistant.run import Run
from tests.diagnosis.directions import backwards


def detector_of(finding_id: str) -> str:
    """The detector that reports ``finding_id``."""
    return next(name for name, one in registered().items() if finding_id in (name, *one.ids))


def look(finding_id: str, run: Run) -> Finding | None:
    """The finding ``finding_id`` in ``run``, or None. What it says must render, and must show the run's own numbers."""
    diagnosis = diagnose(run, only=[detector_of(finding_id)])
    finding = next((f for f in diagnosis.findings if f.id == finding_id), None)
    if finding is not None:
        for language in ("en", "zh"):
            assert "{" not in summary(finding, language)
            assert all([*causes(finding, language), *rules_out(finding, language)])
            assert all(fix["why"] and fix["check"] for fix in fixes(finding, run, language))
        assert not backwards(finding, run)
        assert summary(finding, "en") != summary(finding, "zh")
        assert finding_json(finding, run)["severity"]
        for point in finding.evidence:
            series = run.series(point.metric)
            assert series is not None
            assert any(p.text == point.text for i in range(len(series)) if (p := series.point(i)).line == point.line)
    return finding


def unknown(finding_id: str, run: Run) -> str | None:
    """What the log would need for ``finding_id`` to be judged; None when it was judged."""
    return next((u.needs for u in diagnose(run, only=[detector_of(finding_id)]).unknown), None)


def noise(n: int, level: float, spread: float, seed: int = 0) -> list[float]:
    """``level`` with normal noise, shape (n,)."""
    return list(level + spread * np.random.default_rng(seed).standard_normal(n))


def ramp(n: int, first: float, last: float, spread: float = 0.0, seed: int = 0) -> list[float]:
    return list(np.linspace(first, last, n) + spread * np.random.default_rng(seed).standard_normal(n))


def with_(base: Mapping[str, Sequence[Any]], **more: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """``base`` with metrics added or replaced; keys in ``more`` write ``/`` as ``__``."""
    return {**base, **{key.replace("__", "/"): value for key, value in more.items()}}


def healthy(n: int = 60, seed: int = 0) -> dict[str, Sequence[Any]]:
    """A GRPO run with eight answers a prompt that learns: every detector has to stay quiet on it."""
    return {
        "actor/entropy": ramp(n, 0.4, 0.25, 0.01, seed),
        "actor/pg_loss": noise(n, -0.003, 0.004, seed + 1),
        "actor/grad_norm": [abs(x) for x in noise(n, 0.2, 0.02, seed + 2)],
        "actor/ppo_kl": noise(n, 0.0, 1e-4, seed + 3),
        "actor/pg_clipfrac": [abs(x) for x in noise(n, 0.002, 5e-4, seed + 4)],
        "actor/pg_clipfrac_lower": [0.0] * n,
        "actor/kl_loss": ramp(n, 0.0, 0.05, 0.001, seed + 5),
        "actor/kl_coef": [0.001] * n,
        "actor/lr": [1e-6] * n,
        "critic/score/mean": ramp(n, 0.3, 0.7, 0.02, seed + 6),
        "critic/score/max": [1.0] * n,
        "critic/score/min": [0.0] * n,
        "critic/advantages/mean": noise(n, 0.003, 0.002, seed + 7),
        "critic/advantages/max": [2.475] * n,
        "critic/advantages/min": [-2.475] * n,
        "response_length/mean": noise(n, 300, 10, seed + 8),
        "response_length/max": [1024.0] * n,
        "response_length/min": [40.0] * n,
    }
