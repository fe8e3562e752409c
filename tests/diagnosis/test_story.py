"""Causes before symptoms: the graph in the cards, and the chain told from a run's findings."""

from __future__ import annotations

from graphlib import TopologicalSorter

import pytest

from assistant.cards import in_folder
from assistant.diagnosis.finding import Diagnosis, Finding
from assistant.diagnosis.order import in_order
from assistant.diagnosis.story import story, story_json, told
from assistant.run import Run


def diagnosis(*findings: Finding) -> Diagnosis:
    return Diagnosis(Run(), in_order(findings), [], [])


def graph() -> dict[str, list[str]]:
    return {card.id.partition("/")[2]: list(card.front.get("follows_from") or ()) for card in in_folder("findings")}


def test_what_can_follow_from_what_has_no_circle() -> None:
    list(TopologicalSorter(graph()).static_order())  # raises CycleError and names the circle


@pytest.mark.parametrize(
    ("cause", "effect"),
    [
        ("non-finite", "reward-collapse"),
        ("rollout-mismatch", "gradient-explosion"),
        ("gradient-explosion", "entropy-explosion"),
        ("gradient-explosion", "entropy-collapse"),
        ("truncation", "reward-flat-floor"),
        ("reward-kl-gap", "length-collapse"),
        ("length-collapse", "reward-collapse"),
        ("length-explosion", "truncation"),
        ("gpu-memory-leak", "crash-gpu-oom"),
        ("length-explosion", "crash-gpu-oom"),
        ("host-memory-growth", "crash-host-oom"),
        ("host-memory-growth", "progressive-slowdown"),
        ("reward-slow", "crash-nccl"),
        ("weights-not-loaded", "weights-not-synced"),
        ("group-size-one", "not-learning"),
    ],
)
def test_known_orders_are_in_the_cards(cause: str, effect: str) -> None:
    assert cause in graph()[effect]


def test_the_chain_runs_from_the_cause_over_what_followed() -> None:
    found = story(
        diagnosis(
            Finding("reward-collapse", "critical", first_step=40, last_step=90),
            Finding("reward-kl-gap", "high", first_step=1, last_step=90),
            Finding("length-collapse", "high", first_step=30, last_step=90),
            Finding("gradient-explosion", "high", first_step=35, last_step=90),
            Finding("logprob-heavy", "low", first_step=1, last_step=90),
        )
    )
    assert found is not None
    assert [f.id for f in found.chain] == ["reward-kl-gap", "length-collapse", "gradient-explosion", "reward-collapse"]
    assert found.act
    rows = {row["id"]: row for row in story_json(found)}
    assert rows["reward-kl-gap"]["follows"] == []
    assert rows["length-collapse"] == {"id": "length-collapse", "step": 30, "follows": ["reward-kl-gap"]}
    assert rows["reward-collapse"]["follows"] == ["gradient-explosion"]  # the nearest cause only
    assert "logprob-heavy" not in rows
    english, chinese = told(found, "en"), told(found, "zh")
    assert english.index("step 1)") < english.index("step 30)") < english.index("step 40)")
    assert "第 30 步" in chinese


def test_a_cause_that_comes_after_is_none() -> None:
    late = diagnosis(Finding("reward-collapse", "critical", first_step=10), Finding("non-finite", "critical", first_step=60))
    assert story(late) is None
    assert story_json(None) == []


def test_findings_that_have_nothing_to_do_with_each_other_make_no_story() -> None:
    assert story(diagnosis(Finding("truncation", "high", first_step=1), Finding("no-validation", "low", first_step=1))) is None


def test_an_onset_within_the_slack_before_its_cause_is_told_as_the_same_time() -> None:
    found = story(diagnosis(Finding("length-collapse", "high", first_step=36), Finding("reward-collapse", "critical", first_step=33)))
    assert found is not None
    assert "about then" in told(found)
    assert "33" not in told(found)


def test_a_crash_stays_first_and_the_story_says_what_led_to_it() -> None:
    of = diagnosis(
        Finding("crash-gpu-oom", "critical", first_step=80, last_step=80),
        Finding("gpu-memory-leak", "high", first_step=20, last_step=80),
    )
    assert of.findings[0].id == "crash-gpu-oom"
    found = story(of)
    assert found is not None
    assert [f.id for f in found.chain] == ["gpu-memory-leak", "crash-gpu-oom"]
    assert found.act


def test_what_was_long_over_did_not_cause_the_crash() -> None:
    of = diagnosis(
        Finding("crash-gpu-oom", "critical", first_step=500, last_step=500),
        Finding("length-explosion", "high", first_step=20, last_step=100),
    )
    assert story(of) is None
