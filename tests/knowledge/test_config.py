"""Config cards against what the releases of verl really set, and against the settings that other cards name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assistant.cards import Card, cards, in_folder
from assistant.config_cards import UNLISTED, card_of, default, keys, names, spelling, spellings
from assistant.diagnosis.render import by_era
from assistant.diagnosis.view import era_matches
from assistant.logs.era import VERSIONS

RELEASES: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("verl_defaults.json").read_text())
"""Version → setting → default, for every spelling that a card knows."""
CONFIG = sorted(in_folder("config"), key=lambda card: card.id)


def plain(value: Any) -> Any:
    """Numbers that are equal compare equal, and truth values do not equal numbers."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


@pytest.mark.parametrize("card", CONFIG, ids=lambda card: card.id.partition("/")[2])
def test_defaults_are_those_of_every_release(card: Card) -> None:
    wrong = []
    for version, actual in RELEASES.items():
        for key in keys(card):
            said, spelled = default(key, version), spelling(key, version)
            if spelled not in actual:
                if said is not UNLISTED:
                    wrong.append(f"{version} does not list {spelled}; the card says {said!r}")
            elif said is UNLISTED or plain(said) != plain(actual[spelled]):
                wrong.append(f"{version} sets {spelled} to {actual[spelled]!r}; the card says {'nothing' if said is UNLISTED else said!r}")
    assert wrong == []


def test_older_spellings_are_those_of_the_releases() -> None:
    stray = [
        f"{card.id}: {old}"
        for card in CONFIG
        for key in keys(card)
        for old in names(card, key).values()
        if "reward_kwargs" not in old and not any(old in actual and spelling(key, version) == old for version, actual in RELEASES.items())
    ]
    assert stray == []


def settings_of(card: Card) -> Iterator[str]:
    """Settings that a finding's fixes change, or that it needs to be logged."""
    for fix in card.front.get("fixes") or ():
        key = fix.get("key") if isinstance(fix, dict) else None
        yield from (one for one in (key.values() if isinstance(key, dict) else (key,)) if one)
    needs = str(card.front.get("needs") or "")
    if "=" in needs:
        yield needs.partition("=")[0]


def test_every_setting_that_a_card_proposes_has_a_card() -> None:
    named = [(card.id, key) for card in cards().values() if card.folder in ("findings", "errors") for key in settings_of(card)]
    assert len(named) > 200
    assert sorted({(card, key) for card, key in named if card_of(key) is None}) == []


RECIPES = ("algorithm.filter_groups.",)
"""Settings that a recipe beside the trainer read long before the trainer's configuration listed them."""


@pytest.mark.parametrize("era", ["0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9"])
def test_fixes_for_a_version_name_settings_that_it_lists(era: str) -> None:
    listed = {key for version, actual in RELEASES.items() if era_matches(version, era) for key in actual}
    somewhere = {key for actual in RELEASES.values() for key in actual}
    wrong = [
        (card.id, key)
        for card in in_folder("findings")
        for fix in card.front.get("fixes") or ()
        if (key := by_era(fix.get("key"), era)) and key.lstrip("+") in somewhere - listed and not key.startswith(RECIPES)
    ]
    assert wrong == []


def _by_version(value: Any) -> Iterator[str]:
    """Version conditions at any depth of a fix."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if re.match(r"[<>=]*\d", key):
                yield key
            yield from _by_version(inner)


def test_every_version_condition_of_a_fix_can_be_met() -> None:
    """The reader tells "0.7", never "0.7.1": a condition that only a release can meet would never hold."""
    conditions = [(card.id, one) for card in in_folder("findings") for fix in card.front.get("fixes") or () for one in _by_version(fix)]
    assert len(conditions) > 100
    assert [(card, one) for card, one in conditions if not any(era_matches(era, one) for era in VERSIONS)] == []
    assert [(card, one) for card, one in conditions if re.search(r"\d\.\d+\.\d", one)] == []


@pytest.mark.parametrize(
    ("finding", "fix", "keys"),
    [
        ("crash-prompt-too-long", "truncate", {"0.6": "data.truncation", "0.7": None, "0.9": None}),
        ("crash-gpu-oom", "reward-micro", {"0.6": "reward_model.micro_batch_size_per_gpu", "0.7": None}),
        ("crash-gpu-oom", "ref-offload", {"0.1": "actor_rollout_ref.ref.fsdp_config.param_offload", "0.6": None}),
        ("sequence-imbalance", "balance", {"0.8": "trainer.balance_batch", "0.9": None}),
        ("crash-nccl", "timeout-longer", {"0.7": "actor_rollout_ref.nccl_timeout", "0.8": None}),
        ("kv-preemption", "concurrency", {"0.5": None, "0.6": "actor_rollout_ref.rollout.max_num_seqs"}),
        ("crash-gpu-oom", "values-micro", {"0.7": "critic.forward_micro_batch_size_per_gpu", "0.8": None}),
        ("learning-rate-zero", "min-lr", {"0.3": None, "0.4": "actor_rollout_ref.actor.optim.min_lr_ratio"}),
        (
            "rollout-mismatch",
            "router-replay",
            {
                "0.6": None,
                "0.7": "actor_rollout_ref.actor.router_replay.mode",
                "0.8": "actor_rollout_ref.actor.megatron.router_replay.mode",
            },
        ),
    ],
)
def test_fixes_that_some_versions_ignore(finding: str, fix: str, keys: dict[str, str | None]) -> None:
    row = next(row for row in cards()[f"findings/{finding}"].front["fixes"] if row["id"] == fix)
    assert {era: by_era(row["key"], era) for era in keys} == keys


def test_the_plus_of_a_kl_estimator_is_proposed_only_where_it_works() -> None:
    row = next(row for row in cards()["findings/kl-estimator-saturated"].front["fixes"] if row["id"] == "kl-type")
    assert [by_era(row["to"], era) for era in ("0.6", "0.7", "0.8")] == ["mse", "mse", "low_var_kl+"]


def test_a_spelling_belongs_to_one_card() -> None:
    owners: dict[str, str] = {}
    twice = [name for card in CONFIG for name in spellings(card) if owners.setdefault(name, card.id) != card.id]
    assert twice == []


def test_cards_are_named_after_their_first_setting() -> None:
    assert [card.id for card in CONFIG if card.id != f"config/{keys(card)[0]}"] == []


def test_safe_ranges_say_where_they_come_from() -> None:
    """A range ("low to high") is marked as experience, or as the documentation's or a paper's."""
    marks = re.compile(r"heuristic|documentation|paper|recipe|DAPO|example", re.IGNORECASE)
    ranges = {card.id: safe for card in CONFIG if re.search(r"\d to \d", safe := card.front["safe"]["en"])}
    assert [card for card, safe in ranges.items() if not marks.search(safe)] == []
