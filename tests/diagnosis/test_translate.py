"""Advice in the words and settings of the framework whose log it is."""

from __future__ import annotations

import pytest

from assistant.cards import cards
from assistant.diagnosis import RunView, diagnose
from assistant.diagnosis.finding import Finding
from assistant.diagnosis.render import causes, fixes, rules_out, summary
from assistant.diagnosis.translate import ELSEWHERE, of_trainer, own_fix, own_needs, own_settings, settings_of, words
from tests.builders import run_of

GRPO = {"reward": [0.1] * 30, "completions/mean_length": [200.0] * 30, "entropy": [0.4] * 30, "kl": [0.001] * 30}
SB3 = {"train/approx_kl": [0.3] * 30, "train/clip_fraction": [0.5] * 30, "rollout/ep_rew_mean": [1.0] * 30, "time/fps": [100.0] * 30}


def test_metrics_get_the_names_that_the_log_prints() -> None:
    said = words(RunView(run_of(GRPO, framework="trl")))
    assert said is not None
    assert said("critic/score/mean falls, actor/entropy with it") == "reward falls, entropy with it"
    assert said("actor/grad_norm") == "grad_norm"  # not in this log: what TRL calls it
    assert said("xactor/entropy actor/entropy_x") == "xactor/entropy actor/entropy_x"
    assert words(RunView(run_of({"actor/entropy": [1.0]}))) is None


def test_sentences_about_what_is_not_there_are_left_out() -> None:
    said = words(RunView(run_of(GRPO, framework="trl")))
    assert said is not None
    text = "Lower actor_rollout_ref.actor.optim.lr. Needs algorithm.use_kl_in_reward=True. Then watch critic/score/mean."
    assert said.advice(text) == "Lower learning_rate. Then watch reward."
    assert said.advice("调小 actor_rollout_ref.actor.optim.lr。需要 algorithm.use_kl_in_reward=True。") == "调小 learning_rate。"
    assert said.advice("更大的 beta 让策略更靠近参考模型。") == "更大的 beta 让策略更靠近参考模型。"
    assert said.foreign("critic/advantages/max above 0")
    assert said.advice("critic/advantages/max above 0") == "critic/advantages/max above 0"  # else nothing would be left


def test_what_only_verl_does_rules_nothing_out_elsewhere() -> None:
    big = {**SB3, "train/approx_kl": [0.3] * 30}
    step = {f.id: f for f in diagnose(run_of(big, framework="sb3", steps=[2048 * i for i in range(1, 31)])).findings}[
        "policy-step-too-large"
    ]
    assert not any("bypass_mode" in text for text in rules_out(step))
    own = {f.id: f for f in diagnose(run_of({"actor/ppo_kl": [0.3] * 30, "actor/grad_norm": [1.0] * 30})).findings}["policy-step-too-large"]
    assert any("bypass_mode" in text for text in rules_out(own))


@pytest.mark.parametrize(
    ("framework", "key", "own"),
    [
        ("trl", "actor_rollout_ref.rollout.n", "num_generations"),
        ("ms-swift", "data.max_response_length", "max_completion_length"),
        ("ms-swift", "algorithm.filter_groups.enable", "dynamic_sample"),
        ("unsloth", "actor_rollout_ref.actor.kl_loss_coef", "beta"),
        ("llama-factory", "beta", "pref_beta"),
        ("sb3", "actor_rollout_ref.actor.ppo_epochs", "n_epochs"),
        ("rllib", "actor_rollout_ref.actor.optim.lr", "lr"),
        ("skyrl", "actor_rollout_ref.actor.clip_ratio_high", "trainer.algorithm.eps_clip_high"),
        ("verl", "actor_rollout_ref.rollout.n", "actor_rollout_ref.rollout.n"),
        ("unknown", "actor_rollout_ref.rollout.n", "actor_rollout_ref.rollout.n"),
    ],
)
def test_settings_get_their_own_names(framework: str, key: str, own: str) -> None:
    fix = own_fix({"id": "x", "key": key, "default": 1, "to": 8}, key, framework)
    assert fix is not None
    assert fix["key"] == own


def test_what_cannot_be_set_is_not_advised() -> None:
    assert own_fix({"id": "x", "key": "algorithm.filter_groups.enable"}, "algorithm.filter_groups.enable", "trl") is None
    assert own_fix({"id": "x"}, None, "trl") == {"id": "x"}
    assert own_fix({"id": "x", "only": ["sb3"], "key": "target_kl"}, "target_kl", "trl") is None
    assert own_fix({"id": "x", "only": ["verl"]}, None, "mlx") is None
    assert own_fix({"id": "x", "frameworks": {"trl": None}}, None, "unsloth") is None
    said = own_fix({"id": "x", "key": "a.b", "default": 1, "frameworks": {"trl": {"key": "own", "to": 2}}}, "a.b", "trl")
    assert said is not None
    assert (said["key"], said["default"], said["to"]) == ("own", None, 2)


def test_a_default_of_verl_is_not_shown_for_another_framework() -> None:
    run = run_of(SB3, framework="sb3")
    finding = next(f for f in diagnose(run).findings if f.id == "policy-step-too-large")
    rows = {row["key"]: row for row in fixes(finding, run)}
    assert rows["n_epochs"]["from"] == 10
    assert rows["learning_rate"]["from"] is None
    assert rows["target_kl"]["to"] == 0.03
    assert not [key for key in rows if key and key.startswith("actor_rollout_ref")]


def test_findings_speak_the_framework() -> None:
    run = run_of({**GRPO, "entropy": [0.8] * 5 + [0.001] * 25, "reward": [0.9] * 10 + [0.1] * 20}, framework="trl")
    for finding in diagnose(run).findings:
        for language in ("en", "zh"):
            text = " ".join([summary(finding, language), *causes(finding, language)])
            assert "actor_rollout_ref" not in text
            assert "critic/score" not in text


def test_own_settings_exist_and_differ() -> None:
    for name in (card.id.partition("/")[2] for card in cards().values() if card.folder == "frameworks"):
        settings = own_settings(name)
        assert all(row.get("key") != key or name == "verl" for key, row in settings.items())


def test_verl_keeps_its_words() -> None:
    run = run_of({"actor/ppo_kl": [0.3] * 30, "actor/pg_clipfrac": [0.5] * 30})
    finding = next(f for f in diagnose(run).findings if f.id == "policy-step-too-large")
    assert isinstance(finding, Finding)
    assert finding.words is None
    assert any(row["key"] == "actor_rollout_ref.actor.optim.lr" for row in fixes(finding, run))


@pytest.mark.parametrize(
    ("needs", "framework", "own"),
    [
        ("actor_rollout_ref.actor.use_kl_loss=True", "trl", "beta=0.04"),
        ("actor_rollout_ref.actor.use_kl_loss=True", "verl", "actor_rollout_ref.actor.use_kl_loss=True"),
        ("actor_rollout_ref.rollout.calculate_log_probs=True", "trl", ELSEWHERE),
        ("trainer.test_freq=10", "trl", "eval_steps=10"),
        ("timing_s/step", "trl", "step_time"),
        ("timing_s/step", "sb3", "time_step"),
        ("val-aux/<source>/<reward part>/mean@N", "sb3", ELSEWHERE),
        ("policy_entropy", "trl", "policy_entropy"),
        ("steps>=10", "trl", "steps>=10"),
    ],
)
def test_what_a_check_needs_is_told_as_this_framework_calls_it(needs: str, framework: str, own: str) -> None:
    assert own_needs(needs, framework) == own


def test_settings_of_a_policy_are_not_asked_of_a_run_without_one() -> None:
    assert own_needs("actor_rollout_ref.actor.use_kl_loss=True", "trl", "supervised") == ELSEWHERE
    assert own_needs("trainer.test_freq=10", "trl", "supervised") == "eval_steps=10"
    sft = diagnose(run_of({"loss": [1.0 - 0.01 * n for n in range(30)], "grad_norm": [1.0] * 30}, framework="hf-trainer"))
    assert not {row.needs for row in sft.unknown if "actor_rollout_ref" in row.needs or "beta" in row.needs}


def test_a_trainer_that_differs_from_its_framework_is_advised_in_its_own_settings() -> None:
    """TRL's PPOTrainer has ``num_ppo_epochs`` and ``cliprange``, no ``num_iterations`` or ``num_generations`` (0.15.2)."""
    grpo = run_of({"loss": [0.1] * 3}, framework="trl")
    ppo = run_of({"objective/kl": [1.0] * 3, "policy/approxkl_avg": [0.1] * 3, "val/clipfrac_avg": [0.1] * 3}, framework="trl")
    names = {
        "actor_rollout_ref.actor.ppo_epochs": ("num_iterations", "num_ppo_epochs"),
        "actor_rollout_ref.actor.clip_ratio": ("epsilon", "cliprange"),
        "data.max_response_length": ("max_completion_length", "response_length"),
        "actor_rollout_ref.rollout.n": ("num_generations", None),
        "actor_rollout_ref.actor.optim.lr": ("learning_rate", "learning_rate"),
    }
    for key, (usual, own) in names.items():
        assert settings_of(grpo)[key]["key"] == usual
        assert settings_of(ppo)[key]["key"] == own
        fix = own_fix({"id": "x", "key": key}, key, "trl", of_trainer(ppo))
        assert (fix or {}).get("key") == own
