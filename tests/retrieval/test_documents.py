from __future__ import annotations

import pytest

from assistant.cards import Card, card, cards, in_folder
from assistant.retrieval.documents import covers, document, own_keys, own_names
from assistant.retrieval.lookup import find_card


def test_a_metric_card_covers_its_keys_and_the_findings_it_explains() -> None:
    covered = covers(card("metrics/actor.ppo_kl"), cards())
    assert {"actor/ppo_kl", "policy_step_kl", "on-policy-zero-kl"} <= set(covered)


def test_a_finding_covers_its_metric_and_the_settings_it_changes() -> None:
    covered = covers(card("findings/entropy-collapse"), cards())
    assert covered[0] == "entropy-collapse"
    assert {"actor/entropy", "actor_rollout_ref.actor.clip_ratio_high", "actor_rollout_ref.actor.clip_ratio"} <= set(covered)


def test_an_error_covers_its_finding() -> None:
    assert "crash-nccl" in covers(card("errors/nccl-timeout"), cards())


def test_a_metric_covers_what_other_frameworks_call_it() -> None:
    assert "completions/clipped_ratio" in covers(card("metrics/response_length.clip_ratio"), cards())


def test_a_dead_link_is_not_covered() -> None:
    lonely = Card("findings/x", {"title": "X", "related": ["metrics/none"]}, {"en": "text"})
    assert covers(lonely, {"findings/x": lonely}) == ["x", "X"]


@pytest.mark.parametrize("folder", ["findings", "errors"])
def test_each_has_questions_in_both_languages(folder: str) -> None:
    bare = [c.id for c in in_folder(folder) if not all((c.front.get("questions") or {}).get(side) for side in ("en", "zh"))]
    assert bare == []


def test_passages_are_the_short_texts_once_each() -> None:
    passages = document(card("findings/entropy-collapse")).passages
    assert "Policy entropy collapsed" in passages
    assert "策略熵坍缩" in passages
    assert len(set(passages)) == len(passages)
    assert not any("{" in passage for passage in passages)


def test_keys_of_a_card_lead_back_to_it() -> None:
    """A plain word (``loss``, ``ent_coef``) that several cards call theirs leads to one of them."""
    owners: dict[str, set[str]] = {}
    for one in cards().values():
        for name in [*own_keys(one), *own_names(one)]:
            owners.setdefault(name.lower(), set()).add(one.id)
    keys = {key for metric_card in in_folder("metrics") for key in own_keys(metric_card)}
    lost = {key: owners[key.lower()] for key in keys if (found := find_card(key)[0]) is None or found.id not in owners[key.lower()]}
    assert lost == {}
