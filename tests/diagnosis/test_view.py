"""A run as detectors see it."""

import pytest

from assistant.diagnosis.view import RunView, era_matches
from assistant.run import Style
from tests.builders import run_of


def test_metrics_answer_to_their_canonical_name_in_every_version() -> None:
    assert RunView(run_of({"actor/entropy": [0.4]}))["policy_entropy"] is not None
    assert RunView(run_of({"actor/entropy_loss": [0.4]}))["policy_entropy"] is not None


def test_entropy_loss_is_another_metric_beside_entropy() -> None:
    view = RunView(run_of({"actor/entropy": [0.4], "actor/entropy_loss": [0.3]}))
    entropy, update = view["policy_entropy"], view["policy_entropy_update"]
    assert entropy is not None
    assert update is not None
    assert (entropy.values[0], update.values[0]) == (0.4, 0.3)


def test_a_name_may_carry_a_scale() -> None:
    lr = RunView(run_of({"actor/lr(1e-4)": [0.01]}))["policy_lr"]
    assert lr is not None
    assert lr.scaled[0] == pytest.approx(1e-6)
    assert lr.values[0] == 0.01


def test_a_renamed_metric_is_one_curve() -> None:
    entropy = RunView(run_of({"critic/kl": [0.1, 0.2, None, None], "actor/reward_kl_penalty": [None, None, 0.3, 0.4]}))["reward_kl"]
    assert entropy is not None
    assert entropy.values.tolist() == [0.1, 0.2, 0.3, 0.4]


def test_a_resumed_log_is_one_curve_and_the_later_print_wins() -> None:
    view = RunView(run_of({"actor/entropy": [0.5, 0.4, 0.3, 0.31, 0.2]}, steps=[1, 2, 3, 3, 4]))
    entropy = view["policy_entropy"]
    assert entropy is not None
    assert entropy.steps.tolist() == [1, 2, 3, 4]
    assert entropy.values.tolist() == [0.5, 0.4, 0.31, 0.2]


def test_two_runs_in_one_log_are_not_mixed() -> None:
    first, second = [0.5] * 6, [0.9] * 8
    view = RunView(run_of({"actor/entropy": first + second}, steps=[*range(1, 7), *range(1, 9)]))
    entropy = view["policy_entropy"]
    assert entropy is not None
    assert len(view.attempts) == 2
    assert entropy.values.tolist() == second


def test_a_stump_after_a_long_run_is_not_what_is_looked_at() -> None:
    view = RunView(run_of({"actor/entropy": [0.5] * 40 + [0.9] * 2}, steps=[*range(1, 41), 1, 2]))
    entropy = view["policy_entropy"]
    assert entropy is not None
    assert len(entropy) == 40


def test_updates_per_step_come_from_the_config() -> None:
    config = {"data.train_batch_size": 1024, "actor_rollout_ref.actor.ppo_mini_batch_size": 256, "actor_rollout_ref.actor.ppo_epochs": 2}
    assert RunView(run_of({"a": [1.0]}, config=config)).updates_per_step == 8
    assert RunView(run_of({"a": [1.0]})).updates_per_step is None
    small = {"data.train_batch_size": 2, "actor_rollout_ref.actor.ppo_mini_batch_size": 256}
    assert RunView(run_of({"a": [1.0]}, config=small)).updates_per_step == 1


def test_validation_metrics_are_taken_apart_from_the_right() -> None:
    view = RunView(run_of({"val-core/openai/gsm8k/acc/mean@1": [0.5], "val-aux/openai/gsm8k/reward/best@4/mean": [0.7]}))
    main, other = view.validations()
    assert (main.key.source, main.key.variable, main.key.statistic, main.key.core) == ("openai/gsm8k", "acc", "mean@1", True)
    assert (other.key.variable, other.key.statistic) == ("reward", "best@4/mean")
    assert len(list(view.validations(core=True))) == 1


def test_together_cuts_to_shared_steps() -> None:
    view = RunView(run_of({"critic/score/mean": [1.0, None, 3.0], "critic/score/max": [None, 5.0, 6.0]}))
    pair = view.together("score_mean", "score_max")
    assert pair is not None
    assert [s.values.tolist() for s in pair] == [[3.0], [6.0]]
    assert view.together("score_mean", "policy_loss") is None


def test_three_decimals_are_recognised() -> None:
    assert RunView(run_of({"a": [1.0]}, style=Style.FIXED3)).three_decimals
    assert not RunView(run_of({"a": [1.0]})).three_decimals


@pytest.mark.parametrize(
    ("era", "condition", "holds"),
    [
        ("0.6", ">=0.6", True),
        ("0.10", ">=0.9", True),
        ("0.3", "<0.4", True),
        ("0.7", ">=0.7,<0.8", True),
        ("0.8", ">=0.7,<0.8", False),
        ("0.6", "0.6", True),
        ("0.6", "<=0.5", False),
    ],
)
def test_era_conditions(era: str, condition: str, holds: bool) -> None:
    assert era_matches(era, condition) is holds
