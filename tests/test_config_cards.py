"""Settings by version: their card, their spelling, their default."""

from __future__ import annotations

from assistant.config_cards import UNLISTED, card_of, default, keys, spelling, spellings


def test_what_a_key_is_called_and_set_to_by_version() -> None:
    moved = "critic.fsdp.param_offload"
    assert (spelling(moved, "0.7.1"), spelling(moved, "0.8.0")) == ("critic.model.fsdp_config.param_offload", moved)
    assert spelling("critic.model.fsdp_config.param_offload", "0.9") == moved
    assert [default("actor_rollout_ref.actor.entropy_coeff", era) for era in ("0.3", "0.4")] == [0.001, 0]
    assert default("+actor_rollout_ref.rollout.calculate_log_probs", "0.9") is True
    assert default("actor_rollout_ref.rollout.calculate_log_probs", "0.2") is UNLISTED
    assert default("algorithm.rollout_correction.rollout_is_threshold", "0.6") is UNLISTED  # 0.6.0 and 0.6.1 differ
    assert default("actor_rollout_ref.rollout.calculate_log_probs", "0.4") is False
    assert (card_of("no.such.key"), default("no.such.key", "0.9"), spelling("no.such.key", "0.9")) == (None, UNLISTED, "no.such.key")


def test_a_reference_to_another_setting_stays_one() -> None:
    assert default("critic.ppo_epochs", "0.3") == "${actor_rollout_ref.actor.ppo_epochs}"


def test_a_family_knows_its_members_and_their_older_names() -> None:
    card = card_of("actor_rollout_ref.actor.optim.warmup_style")
    assert card is not None
    newest = "actor_rollout_ref.actor.optim.lr_scheduler_type"
    assert (keys(card)[0], spellings(card)["actor_rollout_ref.actor.optim.warmup_style"]) == (newest, newest)
    assert spelling(newest, "0.5.0") == "actor_rollout_ref.actor.optim.warmup_style"
    assert [default("actor_rollout_ref.actor.optim.min_lr_ratio", era) for era in ("0.3", "0.9")] == [None, 0.0]
