"""Parts of a reward that are logged on their own: one that is never earned, or one that crowds out another."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np

from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import count, percent, printed
from assistant.diagnosis.finding import Finding, NotChecked
from assistant.diagnosis.naming import family
from assistant.diagnosis.score import finite_part, step_at, window_of
from assistant.diagnosis.stats import baseline, tail, trend
from assistant.diagnosis.view import RunView
from assistant.run import Series

_COMPONENT = re.compile(r"^(?:train/)?(?:rewards?|reward_extra_info|reward_components?) ?/ ?([^/]+)(?:/mean)?$")
_PREFERENCE = {"chosen", "rejected", "margins", "accuracies"}
_NEEDED = "val-aux/<source>/<reward part>/mean@N"
_STATISTICS = {"mean", "max", "min", "std", "total", "sum"}
_FORMAT = re.compile(r"format|tag|structure", re.IGNORECASE)
_ACCURACY = re.compile(r"acc|correct|answer|solve|success|exact|pass", re.IGNORECASE)


def parts_of_reward(view: RunView) -> dict[str, Series]:
    """Parts of the reward that are logged on their own, by printed name."""
    found = {}
    for name in view.run.columns:
        match = _COMPONENT.match(name)
        if match and match[1] not in _STATISTICS | _PREFERENCE and (series := view.printed(name)) is not None and series.finite.any():
            found[name] = finite_part(series)
    return found or _summands(view)


def _summands(view: RunView) -> dict[str, Series]:
    """Columns that no card knows and that add up to the mean reward, step by step: they can be nothing else than its parts."""
    total = view["score_mean"]
    if total is None or family(view.run.framework) != "generic" or len(total) < 3:
        return {}
    names = [name for name, meaning in view.names.items() if not meaning.canonical and name.endswith("_mean")]
    found = {name: s for name in names if (s := view.printed(name)) is not None and np.array_equal(s.steps, total.steps)}
    for chosen in (list(pair) for size in (2, 3, 4) for pair in combinations(sorted(found), size) if len(found) <= 12):
        if np.allclose(np.sum([found[name].values for name in chosen], axis=0), total.values, rtol=1e-3, atol=2e-6):
            return {name: found[name] for name in chosen}
    return {}


@detector("reward-component-dead")
def reward_component_dead(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    parts = {name: s for name, s in parts_of_reward(view).items() if len(s) >= t.least_points}
    if len(parts) < 2:
        return NotChecked(_NEEDED)
    dead = [s for s in parts.values() if not s.values.any()]
    if not dead or len(dead) == len(parts):
        return None
    series = dead[0]
    facts = {"n": count(len(series)), "dead": count(len(dead)), "parts": count(len(parts)), "step": count(int(series.steps[-1]))}
    evidence = [s.point(-1) for s in dead[:3]]
    return Finding(
        "reward-component-dead",
        confidence=0.7,
        first_step=step_at(series, 0),
        last_step=step_at(series, -1),
        evidence=evidence,
        facts=facts,
    )


@detector("format-accuracy-split")
def format_accuracy_split(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """The format part of the reward rises while the accuracy part falls."""
    parts = list(parts_of_reward(view).values())
    parts += [finite_part(one.series) for one in view.validations() if one.key.statistic.startswith("mean@")]
    formats = [s for s in parts if _FORMAT.search(s.name.rpartition("/")[0] or s.name) and len(s) >= t.least_points]
    answers = [s for s in parts if _ACCURACY.search(s.name) and not _FORMAT.search(s.name) and len(s) >= t.least_points]
    if not formats or not answers:
        return NotChecked(_NEEDED)
    for one in formats:
        for other in answers:
            up, down = trend(one.scaled), trend(other.scaled)
            width = window_of(len(other))
            lost = baseline(other.scaled, width) - tail(other.scaled, width)
            gained = tail(one.scaled, window_of(len(one))) - baseline(one.scaled, window_of(len(one)))
            if not (up.rising and down.falling and lost > t.lost and gained > t.gained):
                continue
            facts = {
                "format_then": printed(one.point(0)),
                "format_now": printed(one.point(-1)),
                "answer_then": printed(other.point(0)),
                "answer_now": printed(other.point(-1)),
                "lost": percent(lost, f"fall of {other.name}", metric=other.name),
            }
            return Finding(
                "format-accuracy-split",
                confidence=0.7,
                first_step=step_at(other, 0),
                last_step=step_at(other, -1),
                evidence=[one.point(0), one.point(-1), other.point(0), other.point(-1)],
                facts=facts,
            )
    return None
