from __future__ import annotations

import pytest

from assistant.retrieval.lookup import find_card


@pytest.mark.parametrize(
    ("name", "card"),
    [
        ("actor/pg_loss", "metrics/actor.pg_loss"),
        ("PG_LOSS", "metrics/actor.pg_loss"),
        ("策略损失", "metrics/actor.pg_loss"),
        ("policy_entropy", "metrics/actor.entropy"),
        ("metrics/actor.entropy", "metrics/actor.entropy"),
        ("entropy-collapse", "findings/entropy-collapse"),
        ("P01", "findings/entropy-collapse"),
        ("val-core/openai/gsm8k/acc/mean@1", "metrics/validation"),
        ("critic/advantages", "metrics/critic.advantages"),
        ("gpu-oom", "errors/gpu-oom"),
        ("rewards/chosen", "metrics/rewards.preference"),
    ],
)
def test_every_way_to_write_a_name(name: str, card: str) -> None:
    found, close = find_card(name)
    assert found is not None
    assert found.id == card
    assert close == []


@pytest.mark.parametrize(
    ("name", "close"), [("pg_lose", "actor/pg_loss"), ("entropi", "actor/entropy"), ("entropy-colapse", "entropy-collapse")]
)
def test_a_typo_finds_its_neighbour(name: str, close: str) -> None:
    found, names = find_card(name)
    assert found is None
    assert close in names


@pytest.mark.parametrize("name", ["", "qqqqqqqq", "？"])
def test_nothing_close(name: str) -> None:
    assert find_card(name) == (None, [])
