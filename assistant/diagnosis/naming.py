"""Canonical metric names: what a printed key *is*, whatever the framework and version call it.

The table is the ``metrics:`` part of the cards in ``knowledge/metrics/``. A name entry is a key, or a mapping with ``key``,
``scale`` (the factor that the name carries) and what decides between several meanings of one key: ``unless`` and ``with``
(other keys of the log; one that is there is enough) and ``kind`` (what the log trains: `KINDS`). Validation metrics carry a data
source in the middle and are matched by shape.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from assistant.cards import in_folder

# val-core/<source, may hold slashes>/<variable>/<statistic>; statistics are mean@N, best@N/mean, maj@N/std …
_VALIDATION = re.compile(r"^(val-core|val-aux)/(.*)/([^/]+)/((?:mean|std)@\d+|(?:best|worst|maj|pass)@\d+/(?:mean|std))$")
_EXPORTED_VALIDATION = re.compile(r"^(val-core|val-aux)_(.*)_([^_]+)_((?:mean|std)@\d+|(?:best|worst|maj|pass)@\d+_(?:mean|std))$")
_OLD_VALIDATION = re.compile(r"^(?:val/)?test_score/(.*)$")
_EVALUATION: Mapping[str, re.Pattern[str]] = {
    "sb3": re.compile(r"^(?:(?P<source>eval/)?(?:mean_(?P<variable>reward)|(?<=/)success_rate)|episode_reward)$"),
    "trl": re.compile(r"^(?P<source>eval)[/_](?P<variable>reward)$"),
    "rllib": re.compile(r"^(?P<source>evaluation)/(?:.*/)?episode_(?:reward|return)_mean(?P<variable>)$"),
    "openrlhf": re.compile(r"^(?P<source>eval(?:_.+)?)_(?P<variable>pass1|reward)$"),
    "generic": re.compile(
        r"^(?P<source>eval|val|valid|validation|test)[/_](?:mean_|avg_)?"
        r"(?P<variable>acc|accuracy|reward|score|success|success_rate|f1|em|exact_match|ndcg|recall|mrr)(?:[/_]mean|@\d+)?$"
    ),
}
"""What validation is called by frameworks that print one mean a data set."""

_SAME_EVALUATION: Mapping[tuple[str, str], str] = {("sb3", "episode_reward"): "eval/mean_reward"}
"""(framework, key) → the key under which its tables print the same evaluation."""

FAMILIES: Mapping[str, str] = {
    "unsloth": "trl",
    "ms-swift": "trl",
    "llama-factory": "trl",
    "open-r1": "trl",
    "hf-trainer": "trl",
    "accelerate": "trl",
    "sb2": "sb3",
    "gpt-neox": "megatron",
    "deepspeed-chat": "deepspeed",
    "unknown": "generic",
}
"""Frameworks that print another's keys share its table: whoever trains through the Hugging Face trainer prints what TRL prints."""

KINDS: Mapping[str, tuple[str, ...]] = {
    "preference": ("rewards/margins", "rewards/chosen", "rewards/rejected", "rewards/accuracies", "margin", "Margin", "log_odds_chosen"),
    "rl": (
        "reward",
        "reward_std",
        "reward_mean",
        "mean_reward",
        "frac_reward_zero_std",
        "completions/mean_length",
        "completion_length",
        "clip_ratio/region_mean",
        "objective/kl",
        "objective/scores",
        "rewards",
        "rlhf_reward",
        "scores",
        "Total Rewards μ",
    ),
}
"""What a log trains, by the keys that only such a log prints; neither is "supervised". Policy losses and likelihoods share names."""

_RLLIB_PATH = re.compile(r"^(?:.*/)?(?:learner_stats|learners/[^/]+|env_runners|sampler_results)/")


@dataclass(frozen=True, slots=True)
class Name:
    """``canonical`` is "" for a key that no card knows."""

    canonical: str
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class ValidationKey:
    """``val-core/openai/gsm8k/acc/mean@1`` → source ``openai/gsm8k``, variable ``acc``, statistic ``mean@1``, core."""

    key: str
    source: str
    variable: str
    statistic: str
    core: bool


@dataclass(frozen=True, slots=True)
class _Entry:
    canonical: str
    scale: float
    without: tuple[str, ...]
    together: tuple[str, ...]
    kind: str

    def applies(self, present: set[str], kind: str) -> bool:
        if present.intersection(self.without) or (self.kind and self.kind != kind):
            return False
        return not self.together or bool(present.intersection(self.together))


def _keys(value: str | list[str] | None) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) and value else tuple(value or ())


@cache
def _table(framework: str) -> Mapping[str, tuple[_Entry, ...]]:
    rows: dict[str, tuple[_Entry, ...]] = {}
    for card in in_folder("metrics"):
        for metric in card.front.get("metrics", ()):
            for name in metric.get("names", {}).get(framework, ()):
                name = name if isinstance(name, Mapping) else {"key": name}
                without, together = _keys(name.get("unless")), _keys(name.get("with"))
                entry = _Entry(metric["id"], float(name.get("scale", 1.0)), without, together, name.get("kind", ""))
                rows[name["key"]] = (*rows.get(name["key"], ()), entry)
    return rows


@cache
def _exported(framework: str) -> Mapping[str, str]:
    """Keys as exports write them (``actor_entropy``) → the key, where no other key looks the same."""
    found: dict[str, list[str]] = {}
    for key in _table(framework):
        if "/" in key:
            found.setdefault(key.replace("/", "_"), []).append(key)
    return {flat: keys[0] for flat, keys in found.items() if len(keys) == 1 and flat not in _table(framework)}


@cache
def metric_card(canonical: str) -> str | None:
    """Id of the card that explains a canonical metric."""
    for card in in_folder("metrics"):
        if any(metric["id"] == canonical for metric in card.front.get("metrics", ())):
            return card.id
    return None


@cache
def first_names(framework: str) -> Mapping[str, str]:
    """Canonical metric → the key that this framework prints for it, the newest first in its card."""
    found: dict[str, str] = {}
    for table in tables(framework):
        for key, entries in _table(table).items():
            for entry in entries:
                found.setdefault(entry.canonical, key)
    return found


def family(framework: str) -> str:
    """The framework whose keys this one prints: verl's SFT trainer and its forks print verl's, Unsloth and ms-swift TRL's."""
    return "verl" if framework.partition("-")[0] == "verl" else FAMILIES.get(framework, framework)


def tables(framework: str) -> tuple[str, ...]:
    """Whose names to look up, the first match first: a framework's own, then its family's."""
    return tuple(dict.fromkeys((framework, family(framework))))


def log_kind(names: Iterable[str]) -> str:
    """What a log with these keys trains: "rl", "preference" or "supervised"."""
    present = set(names)
    return next((kind for kind, keys in KINDS.items() if present.intersection(keys)), "supervised")


def _spellings(name: str, framework: str) -> Iterator[str]:
    """A printed key as the tables may have it: trackers put ``train/`` in front, notebooks spaces around slashes, RLlib a path."""
    yield name
    bare = name.replace(" / ", "/")
    if bare != name:
        yield bare
    if framework == "verl":
        return
    if framework == "rllib" and (path := _RLLIB_PATH.match(bare)):
        yield bare[path.end() :]
    if bare.startswith("train/"):
        yield bare[6:]


def resolve(names: Iterable[str], framework: str) -> dict[str, Name]:
    """Each printed key's canonical name. Two keys of one canonical name (an upgrade in mid-log) both keep it."""
    chain = tables(framework)
    home = chain[-1]
    spelled = {name: tuple(_spellings(name, home)) for name in names}
    present = {one for every in spelled.values() for one in every}
    present.update(key for one in tuple(present) for table in chain if (key := _exported(table).get(one)) is not None)
    kind = log_kind(present)
    resolved: dict[str, Name] = {}
    for name, every in spelled.items():
        entry = next((e for table in chain for one in every for e in _entries(table, one) if e.applies(present, kind)), None)
        canonical, scale = (entry.canonical, entry.scale) if entry else ("", 1.0)
        if not canonical and validation_key(name, framework) and _SAME_EVALUATION.get((home, name)) not in present:
            canonical = "validation"
        resolved[name] = Name(canonical, scale)
    return resolved


def _entries(table: str, key: str) -> tuple[_Entry, ...]:
    rows = _table(table)
    return rows.get(key) or rows.get(_exported(table).get(key, ""), ())


_MEASURE = re.compile(r"(?:^|[_/])(acc|accuracy|reward|score|success_rate|f1|em|exact_match|ndcg|recall|mrr)(?:@\d+)?(?:[_/]mean)?$")


def held_out(name: str) -> ValidationKey | None:
    """A measure of quality by its name (``recall@10``), for a column that only the lines of an evaluation have."""
    found = _MEASURE.search(name)
    return ValidationKey(name, name, found[1], "mean@1", core=True) if found else None


def validation_key(name: str, framework: str = "verl") -> ValidationKey | None:
    if found := _VALIDATION.match(name) or _EXPORTED_VALIDATION.match(name):
        return ValidationKey(name, found[2], found[3], found[4], core=found[1] == "val-core")
    if found := _OLD_VALIDATION.match(name):
        return ValidationKey(name, found[1], "reward", "mean@1", core=True)
    pattern = _EVALUATION.get(family(framework))
    if pattern is not None and (found := pattern.match(name)):
        return ValidationKey(name, (found["source"] or "eval").strip("/"), found["variable"] or "reward", "mean@1", core=True)
    return None
