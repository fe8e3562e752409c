from __future__ import annotations

import pytest

from assistant.cards import Card, card, cards
from assistant.retrieval.fusion import Setting, fit, fuse, weighed
from tests.builders import run_of


def test_first_everywhere_scores_one_and_order_counts() -> None:
    scores = fuse({"alias": ["a", "b"], "bm25": ["a"], "dense": ["a", "c"], "finding": []})
    assert scores["a"] == pytest.approx(1.0)
    assert scores["a"] > scores["b"] > scores["c"] > 0


def test_no_ranking_has_no_score() -> None:
    assert fuse({"alias": [], "bm25": []}) == {}


def test_a_card_of_another_framework_goes_down_unless_named() -> None:
    scores = {"metrics/actor.entropy": 0.5, "findings/entropy-collapse": 0.45}
    assert weighed(scores, cards(), Setting())[0][0] == "metrics/actor.entropy"
    assert weighed(scores, cards(), Setting(framework="megatron"))[0][0] == "findings/entropy-collapse"
    assert weighed(scores, cards(), Setting(framework="megatron"), {"metrics/actor.entropy"})[0][0] == "metrics/actor.entropy"


def test_what_the_run_prints_comes_first_and_the_critic_last_without_one() -> None:
    run = run_of({"actor/entropy": [0.4, 0.3]}, framework="verl", algorithm="grpo")
    setting = Setting.of(run)
    assert fit(card("metrics/actor.entropy"), setting) > 1.0
    assert fit(card("findings/critic-useless"), setting) < 1.0
    assert fit(card("findings/critic-useless"), Setting(algorithm="gae")) == 1.0


def test_a_setting_that_this_version_lacks_goes_down() -> None:
    old = Card("config/x", {"names": {"<0.5": "a.b"}}, {})
    assert fit(old, Setting(era="0.4")) == 1.0
    assert fit(old, Setting(era="0.6")) < 1.0
    assert fit(old, Setting()) == 1.0
