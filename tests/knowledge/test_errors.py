"""Error cards: what the reader and the crash detector rely on."""

from __future__ import annotations

import re

import pytest

from assistant.cards import Card, cards, in_folder

ERRORS = sorted(in_folder("errors"), key=lambda card: card.id)


@pytest.mark.parametrize("card", ERRORS, ids=lambda card: card.id)
def test_front_matter(card: Card) -> None:
    front = card.front
    assert front["kind"] == card.id.partition("/")[2]
    assert isinstance(front["fatal"], bool)
    assert front["fragments"]
    assert set(front["title"]) == set(card.body) == {"en", "zh"}
    assert front["sources"]
    for pattern in (front.get("extract") or {}).values():
        assert re.compile(pattern).groups == 1


@pytest.mark.parametrize("card", ERRORS, ids=lambda card: card.id)
def test_what_a_card_names_of_its_finding_is_there(card: Card) -> None:
    finding = cards().get(f"findings/{card.front['finding']}")
    if not card.front["fatal"] and finding is None:  # a warning whose detector is not written yet
        return
    assert finding is not None
    if card.front["fatal"]:
        assert card.front.get("variant", "default") in finding.front["says"]
    for part in ("causes", "fixes"):
        known = {row["id"] for row in finding.front.get(part) or ()}
        assert set(card.front.get(part) or ()) <= known


def test_fragments_are_long_enough_to_mean_something_and_belong_to_one_card() -> None:
    seen: dict[str, str] = {}
    for card in ERRORS:
        for fragment in card.front["fragments"]:
            assert len(fragment) >= 10, (card.id, fragment)
            assert seen.setdefault(fragment, card.id) == card.id


def test_fragments_do_not_match_ordinary_output() -> None:
    ordinary = "\n".join(
        (
            "INFO 03-14 22:42:08 worker.py:133] SIGTERM handler is not set because current thread is not the main thread.",
            "{'actor_rollout_ref': {'nccl_timeout': 600, 'rollout': {'max_num_batched_tokens': 8192, 'max_model_len': None}}",
            "Saved model to /ckpt/global_step_10/actor/model_world_size_8_rank_0.pt",
            "UserWarning: destroy_process_group() was not called before program exit",
            "WARNING [tokenizer.py:284] (Exception: Repo id must use alphanumeric chars, '-', '_' or '.')",
            "Flash Attention 2.0 only supports torch.float16 and torch.bfloat16 dtypes",
            "step:3 - actor/pg_loss:0.012 - perf/max_memory_allocated_gb:61.2",
            "Unhandled error (suppress with 'RAY_IGNORE_UNHANDLED_ERRORS=1')",
        )
    )
    hits = [(card.id, fragment) for card in ERRORS for fragment in card.front["fragments"] if fragment in ordinary]
    assert hits == []


def test_the_classes_of_the_catalogue_are_covered() -> None:
    findings = {card.front["finding"] for card in ERRORS}
    wanted = "gpu-oom host-oom nccl worker-died engine-init batch-divisibility token-budget prompt-too-long config"
    wanted += " reward-function import-version disk cuda-kernel network checkpoint killed no-usable-groups"
    assert {f"crash-{name}" for name in wanted.split()} <= findings
