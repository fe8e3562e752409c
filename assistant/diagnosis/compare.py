"""Two runs side by side: which settings differ and matter, where their curves part, and whether what was wrong is gone.

``a`` is the earlier run, ``b`` the later one ("did my fix work?"). Curves are compared step by step against the scatter of both,
so that noise is not a difference; a curve that both runs print with other steps is compared by where it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from assistant import config_cards
from assistant.cards import in_folder
from assistant.diagnosis import diagnose
from assistant.diagnosis.detector import registered
from assistant.diagnosis.finding import SEVERITIES, Diagnosis, Finding
from assistant.diagnosis.score import finite_part, step_noise, window_of
from assistant.diagnosis.settings import settings
from assistant.diagnosis.stats import median, rolling_median, sustained, tail
from assistant.diagnosis.view import RunView
from assistant.run import NO_STEP, FloatArray, Run, Series

Verdict = Literal["fixed", "improved", "not-fixed", "worse", "new-problem", "both-healthy", "too-early"]

SIGMA = 4.0
"""Standard errors of a smoothed difference beyond which two curves are apart."""
LEAST = 0.05
"""… and the share of the curve's own range (or size) that a difference must have to be worth a word."""
SHARED = 10
"""Steps that both runs must have to be compared step by step."""

NOT_SETTINGS = (
    "trainer.project_name", "trainer.experiment_name", "trainer.logger", "trainer.default_", "trainer.save_freq", "trainer.max_actor_ckpt",
    "trainer.max_critic_ckpt", "trainer.log_val_generations", "trainer.rollout_data_dir", "trainer.validation_data_dir", "trainer.resume",
    "trainer.del_local_ckpt", "trainer.default_hdfs_dir", "trainer.wandb", "global_profiler", "ray_init", "ray_kwargs", "transfer_queue",
)  # fmt: skip
"""Names, places, logging, checkpoints: they differ between any two runs and change nothing in them."""
_PLACES = ("_dir", "_path", "path", "_file", "_files", "_name", "hdfs_dir", "target", "_target_", "trace", "profile")
_WHAT_IS_TRAINED = ("model.path", "train_files", "val_files", "custom_reward_function.path", "custom_reward_function.name", "adv_estimator")

FIRST = ("score_mean", "reward_mean", "policy_entropy", "response_length_mean", "response_clip_ratio", "reference_kl", "policy_grad_norm")
"""Metrics that say most about a run, in this order."""


@dataclass(frozen=True, slots=True)
class ConfigDifference:
    """``a`` and ``b`` are the values (None: not set). ``matters``: a card links the setting to metrics or findings. ``acts_on`` are those
    canonical metrics that part between the runs."""

    key: str
    a: Any
    b: Any
    matters: bool
    acts_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parting:
    """A metric that goes apart. ``parts_at`` is the first step from which it stays apart (None: the runs share too few steps),
    ``a`` and ``b`` the medians of the last shared values, ``size`` the gap in standard errors. ``explained_by`` are differing
    settings that act on it, ``better`` the run whose value is better where the metric has a good direction."""

    metric: str
    canonical: str
    parts_at: int | None
    a: float
    b: float
    size: float
    explained_by: tuple[str, ...] = ()
    better: Literal["a", "b"] | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Findings are those above ``info``; ``both`` holds the same finding as seen in each run."""

    a: Diagnosis
    b: Diagnosis
    config: Sequence[ConfigDifference]
    metrics: Sequence[Parting]
    only_a: Sequence[Finding]
    only_b: Sequence[Finding]
    both: Sequence[tuple[Finding, Finding]]
    shared_steps: int
    verdict: Verdict


def compare(a: Run, b: Run) -> Comparison:
    """Compare two runs, ``a`` the earlier and ``b`` the later one."""
    return compare_diagnosed(diagnose(a), diagnose(b))


def compare_diagnosed(first: Diagnosis, second: Diagnosis) -> Comparison:
    """``compare`` of two runs that have been diagnosed."""
    a, b = first.run, second.run
    views = RunView(a), RunView(b)
    differences = config_differences(a, b)
    partings = _partings(*views)
    apart = {one.canonical for one in partings}
    linked = {one.key: tuple(sorted(acts_on(one.key) & apart)) for one in differences}
    config = [ConfigDifference(one.key, one.a, one.b, one.matters, linked[one.key]) for one in differences]
    metrics = [
        Parting(p.metric, p.canonical, p.parts_at, p.a, p.b, p.size, tuple(k for k in linked if p.canonical in linked[k]), p.better)
        for p in partings
    ]
    of_b = {finding.id: finding for finding in second.faults}
    of_a = {finding.id: finding for finding in first.faults}
    return Comparison(
        first,
        second,
        sorted(config, key=lambda one: (not one.acts_on, not one.matters, -len(one.acts_on), one.key)),
        sorted(metrics, key=_telling),
        [finding for finding in first.faults if finding.id not in of_b],
        [finding for finding in second.faults if finding.id not in of_a],
        [(finding, of_b[finding.id]) for finding in first.faults if finding.id in of_b],
        len(np.intersect1d(views[0].steps, views[1].steps)),
        verdict(first, second),
    )


def _telling(one: Parting) -> tuple[bool, int, float, float]:
    """Explained by a setting first, then what says most about a run, then what parts first, then the widest gap."""
    rank = FIRST.index(one.canonical) if one.canonical in FIRST else len(FIRST) - (one.canonical == "validation")
    return not one.explained_by, rank, one.parts_at if one.parts_at is not None else np.inf, -one.size


# Settings


def config_differences(a: Run, b: Run) -> list[ConfigDifference]:
    """Settings whose values differ, by their newest spelling, those that matter first.

    A setting that one log does not show has the default of its version, if a card knows it; a log without any configuration is
    compared by what its metrics print.
    """
    left, right = _settings(a), _settings(b)
    found = []
    for key in sorted({*left, *right}):
        one, other = _value(key, left, a), _value(key, right, b)
        if one is _UNKNOWN or other is _UNKNOWN or _same(one, other) or not _is_setting(key):
            continue
        matters = bool(acts_on(key)) or config_cards.card_of(key) is not None or key.endswith(_WHAT_IS_TRAINED)
        found.append(ConfigDifference(key, one, other, matters))
    return sorted(found, key=lambda one: (not one.matters, one.key))


_UNKNOWN = object()


def _settings(run: Run) -> dict[str, Any]:
    newest: dict[str, Any] = {}
    for key, value in settings(run).items():
        card = config_cards.card_of(key)
        newest[config_cards.spellings(card)[key.lstrip("+~")] if card else key.lstrip("+~")] = value
    return newest


def _value(key: str, known: dict[str, Any], run: Run) -> Any:
    if key in known:
        return known[key]
    default = config_cards.default(key, run.era) if run.config else config_cards.UNLISTED
    return _UNKNOWN if default is config_cards.UNLISTED or (isinstance(default, str) and default.startswith("${")) else default


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return bool(np.isclose(a, b, rtol=1e-6, atol=0.0))
    return bool(a == b) or (a in (None, "null", "None", "") and b in (None, "null", "None", ""))


def _is_setting(key: str) -> bool:
    return key.endswith(_WHAT_IS_TRAINED) or not (key.startswith(NOT_SETTINGS) or key.rpartition(".")[2].endswith(_PLACES))


@cache
def acts_on(key: str) -> frozenset[str]:
    """Canonical metrics that a setting moves: those its own card shows, and those of the findings that it is a remedy for."""
    card = config_cards.card_of(key)
    own = set(card.front.get("shows") or ()) if card else set()
    return frozenset(
        own | {name for finding in _remedies().get(key, ()) for name in registered()[finding].needs if finding in registered()}
    )


@cache
def _remedies() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for card in in_folder("findings"):
        finding = card.id.partition("/")[2]
        for row in card.front.get("fixes") or ():
            spelled = row.get("key")
            for key in spelled.values() if isinstance(spelled, dict) else [spelled]:
                if key and finding in registered():
                    found.setdefault(str(key), []).append(finding)
    return found


# Metrics


def _partings(a: RunView, b: RunView) -> list[Parting]:
    found = []
    for canonical, metric, one, other in _pairs(a, b):
        if (parting := _apart(canonical, metric, one, other)) is not None:
            found.append(parting)
    return found


def _pairs(a: RunView, b: RunView) -> Iterable[tuple[str, str, Series, Series]]:
    """Metrics that both runs print: by canonical name, validation curves by the printed one."""
    mine, other = ({n.canonical for n in view.names.values()} - {"", "validation"} for view in (a, b))
    for canonical in sorted(mine & other):
        one, two = a[canonical], b[canonical]
        if one is not None and two is not None and canonical not in ("step", "epoch"):
            yield canonical, two.name, one, two
    curves = {v.key.key: v.series for v in b.validations()}
    for validation in a.validations():
        if validation.key.key in curves and validation.key.statistic.startswith("mean@"):
            yield "validation", validation.key.key, validation.series, curves[validation.key.key]


def _apart(canonical: str, metric: str, a: Series, b: Series) -> Parting | None:
    a, b = finite_part(a), finite_part(b)
    steps = np.intersect1d(a.steps, b.steps)
    steps = steps[steps != NO_STEP]
    if len(steps) < SHARED:
        return _ends_apart(canonical, metric, a, b)
    x, y = a.scaled[np.isin(a.steps, steps)], b.scaled[np.isin(b.steps, steps)]
    n, window = len(steps), window_of(len(steps))
    noise = _scatter(x, y, a, b)
    gap = rolling_median(x - y, window)
    error = noise * 1.25 / np.sqrt(window)
    wide = np.abs(gap) > np.maximum(SIGMA * error, LEAST * _extent(x, y))
    k = max(3, round(0.7 * min(n, 10)))
    spells = sustained(wide, k, min(n, 10))
    if not spells or not spells[-1].open:
        return None
    last = min(10, n)
    size = float(abs(median((x - y)[-last:])) / error) if error > 0 else np.inf
    return Parting(
        metric, canonical, int(steps[spells[-1].start]), tail(x, last), tail(y, last), size, (), _better(canonical, tail(x), tail(y))
    )


def _ends_apart(canonical: str, metric: str, a: Series, b: Series) -> Parting | None:
    """Runs that share few steps: only where they end is compared."""
    x, y = a.scaled[-10:], b.scaled[-10:]
    if len(x) < 3 or len(y) < 3:
        return None
    error = _scatter(a.scaled, b.scaled, a, b) * 1.25 * np.sqrt(1 / len(x) + 1 / len(y))
    gap = abs(median(x) - median(y))
    if gap <= max(SIGMA * error, LEAST * _extent(x, y)):
        return None
    size = float(gap / error) if error > 0 else np.inf
    return Parting(metric, canonical, None, median(x), median(y), size, (), _better(canonical, median(x), median(y)))


def _scatter(x: FloatArray, y: FloatArray, a: Series, b: Series) -> float:
    """σ of one difference: what neighbouring values scatter by, at least what printing rounds away."""
    rounding = max(a.resolution(-1) * a.scale, b.resolution(-1) * b.scale)
    return float(max(np.hypot(step_noise(x), step_noise(y)), rounding))


def _extent(x: FloatArray, y: FloatArray) -> float:
    both = np.concatenate([x, y])
    low, high = np.percentile(both, [5, 95])
    return float(max(high - low, np.median(np.abs(both))))


@cache
def _directions() -> dict[str, str]:
    found = {metric["id"]: str(metric.get("good")) for card in in_folder("metrics") for metric in card.front.get("metrics", ())}
    return {**found, "validation": "up"}


def _better(canonical: str, a: float, b: float) -> Literal["a", "b"] | None:
    good = _directions().get(canonical)
    if good not in ("up", "down") or a == b:
        return None
    return "b" if (b > a) == (good == "up") else "a"


# Findings


def verdict(a: Diagnosis, b: Diagnosis) -> Verdict:
    """Whether what was wrong in ``a`` is gone in ``b``; findings that are only worth a look (``low``) count for nothing.

    A fault that ``b`` is too short to show counts as open: then it is too early to tell.
    """
    before, after = ({f.id: f for f in d.faults if f.severity != "low"} for d in (a, b))
    new = [f for name, f in after.items() if name not in before]
    gone = [f for name, f in before.items() if name not in after]
    if not before and not after:
        return "both-healthy"
    if gone and not new and all(_not_yet(f, b) for f in gone) and len(gone) == len(before):
        return "too-early"
    if not after:
        return "fixed"
    if not before or min(map(_grade, after.values())) < min(map(_grade, before.values())):
        return "worse"
    if len(gone) == len(before):
        return "new-problem"
    weights = [sum(_WEIGHT[f.severity or "medium"] for f in faults.values()) for faults in (before, after)]
    return "improved" if weights[1] < weights[0] else "worse" if weights[1] > weights[0] else "not-fixed"


_WEIGHT = {"critical": 8, "high": 4, "medium": 2, "low": 0, "info": 0}


def _grade(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity or "medium")


def _not_yet(finding: Finding, later: Diagnosis) -> bool:
    """The later run ends before it could have shown the fault."""
    last = later.run.last_step
    if finding.first_step is None or last is None:
        return False
    return last < finding.first_step + 10
