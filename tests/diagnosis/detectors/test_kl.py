"""KL to the old and to the reference policy, and clipping."""

from __future__ import annotations

import pytest

from assistant.diagnosis.render import fixes, summary
from assistant.run import Style
from tests.builders import run_of
from tests.diagnosis.detectors.looking import healthy, look, noise, ramp, unknown, with_

ONE_UPDATE = {"data.train_batch_size": 256, "actor_rollout_ref.actor.ppo_mini_batch_size": 256, "actor_rollout_ref.actor.ppo_epochs": 1}
FOUR_UPDATES = {**ONE_UPDATE, "actor_rollout_ref.actor.ppo_mini_batch_size": 64}


def test_blowup_with_onset_and_the_key_that_acts() -> None:
    kl = [*ramp(30, 0.001, 0.06), *ramp(30, 0.06, 2.4)]
    score = [*ramp(35, 0.3, 0.6), *ramp(25, 0.6, 0.2)]
    run = run_of(with_(healthy(60), actor__kl_loss=kl, critic__score__mean=score), era="0.6")
    finding = look("kl-blowup", run)
    assert finding is not None
    assert finding.variant == "score_falls"
    assert 35 <= (finding.first_step or 0) <= 44
    assert finding.last_step == 60
    assert fixes(finding, run)[0]["key"] == "actor_rollout_ref.actor.kl_loss_coef"


def test_blowup_in_the_reward_names_the_other_key() -> None:
    metrics = {name: values for name, values in healthy(60).items() if name not in ("actor/kl_loss", "actor/kl_coef")}
    run = run_of({**metrics, "critic/kl": [*ramp(30, 0.0, 0.1), *ramp(30, 0.1, 1.8)]}, era="0.2")
    finding = look("kl-blowup", run)
    assert finding is not None
    assert fixes(finding, run)[0]["key"] == "algorithm.kl_ctrl.kl_coef"


@pytest.mark.parametrize("kl", [ramp(60, 0.0, 0.3), noise(60, 0.5, 0.02), [0.05] * 30 + [1.5] + [0.05] * 29])
def test_slow_growth_a_teacher_and_a_single_spike_are_no_blowup(kl: list[float]) -> None:
    assert look("kl-blowup", run_of(with_(healthy(60), actor__kl_loss=kl))) is None


def test_no_kl_in_the_log() -> None:
    assert unknown("kl-blowup", run_of({"actor/entropy": [0.3] * 9})) == "actor_rollout_ref.actor.use_kl_loss=True"


def test_saturated_estimator_and_the_sum_of_0_7() -> None:
    run = run_of({"actor/kl_loss": [0.5, 3.4, 4.0, 5.0, 6.0]}, era="0.6")
    finding = look("kl-estimator-saturated", run)
    assert finding is not None
    assert (finding.severity, finding.first_step, finding.facts["worst"].text) == ("critical", 2, "6.0")
    config = {**ONE_UPDATE, "actor_rollout_ref.actor.ppo_mini_batch_size": 16}
    assert look("kl-estimator-saturated", run_of({"actor/kl_loss": [0.5, 3.4, 4.0, 5.0, 6.0]}, era="0.7", config=config)) is None


def test_negative_kl_stays_or_is_noise() -> None:
    finding = look("kl-negative", run_of({"actor/reward_kl_penalty": noise(20, -0.12, 0.02)}))
    assert finding is not None
    assert finding.first_step == 1
    assert look("kl-negative", run_of({"actor/reward_kl_penalty": noise(20, 0.0, 0.02)})) is None
    assert look("kl-negative", run_of({"actor/reward_kl_penalty": [-0.2] * 20}, config={"algorithm.kl_penalty": "low_var_kl"})) is None
    rollout = look("kl-negative", run_of({"rollout_corr/kl": [-0.2] * 12}))
    assert rollout is not None
    assert rollout.variant == "rollout"


def test_large_step_in_a_series_and_in_one_line() -> None:
    finding = look("policy-step-too-large", run_of(with_(healthy(40), actor__ppo_kl=[1e-4] * 30 + [0.2] * 10)))
    assert finding is not None
    assert (finding.first_step, finding.last_step) == (31, 40)
    assert look("policy-step-too-large", run_of({"actor/ppo_kl": [0.3]})) is not None
    assert look("policy-step-too-large", run_of(with_(healthy(40), actor__ppo_kl=[1e-4] * 39 + [0.2]))) is None


def test_many_updates_come_first_when_there_are_many() -> None:
    config = {**ONE_UPDATE, "actor_rollout_ref.actor.ppo_mini_batch_size": 16}
    finding = look("policy-step-too-large", run_of({"actor/ppo_kl": [0.2] * 10}, config=config))
    assert finding is not None
    assert finding.causes is not None
    assert finding.causes[0] == "many-updates"


def test_bypass_mode_makes_ppo_kl_something_else() -> None:
    run = run_of({"actor/ppo_kl": [0.2] * 10}, config={"algorithm.rollout_correction.bypass_mode": True})
    assert unknown("policy-step-too-large", run) == "algorithm.rollout_correction.bypass_mode=False"


def test_clip_saturation_and_loss_modes_that_clip_by_design() -> None:
    metrics = with_(healthy(40), actor__pg_clipfrac=[0.01] * 20 + [0.45] * 20)
    finding = look("clip-saturation", run_of(metrics))
    assert finding is not None
    assert (finding.first_step, finding.facts["share"].text) == (21, "45%")
    assert look("clip-saturation", run_of(with_(healthy(40), actor__pg_clipfrac=[0.2] * 40))) is None
    assert unknown("clip-saturation", run_of(metrics, config={"actor_rollout_ref.actor.policy_loss.loss_mode": "gspo"})) is not None


def test_dual_clip() -> None:
    finding = look("dual-clip-firing", run_of(with_(healthy(40), actor__pg_clipfrac_lower=[0.0] * 30 + [0.05] * 10)))
    assert finding is not None
    assert finding.first_step == 31
    assert look("dual-clip-firing", run_of(with_(healthy(40), actor__pg_clipfrac_lower=[2e-5] * 40))) is None


def test_zero_kl_with_one_update_a_step() -> None:
    metrics = with_(healthy(30), actor__ppo_kl=[0.0] * 30, actor__pg_clipfrac=[0.0] * 30)
    finding = look("on-policy-zero-kl", run_of(metrics, config=ONE_UPDATE, era="0.6"))
    assert finding is not None
    assert (finding.severity, finding.variant) == ("info", "single_update")
    assert "256" in summary(finding, "zh")
    assert look("on-policy-zero-kl", run_of(metrics, config=FOUR_UPDATES, era="0.6")) is None
    assert look("on-policy-zero-kl", run_of(with_(metrics, actor__grad_norm=[0.0] * 30))) is None


def test_zero_kl_by_rounding() -> None:
    metrics = with_(healthy(30), actor__ppo_kl=[1e-4] * 30, actor__pg_clipfrac=[1e-4] * 30)
    finding = look("on-policy-zero-kl", run_of(metrics, style=Style.FIXED3, config=FOUR_UPDATES))
    assert finding is not None
    assert (finding.variant, finding.facts["updates"].text, finding.facts["kl"].text) == ("rounded_updates", "4", "0.000")
    assert look("on-policy-zero-kl", run_of(metrics)) is None


def test_overconstrained_needs_all_three_signs() -> None:
    held = with_(
        healthy(100), actor__kl_loss=noise(100, 0.001, 1e-5), actor__kl_coef=[0.1] * 100, critic__score__mean=noise(100, 0.3, 0.02)
    )
    assert look("kl-overconstrained", run_of(held)) is not None
    assert look("kl-overconstrained", run_of(with_(held, actor__kl_coef=[0.001] * 100))) is None
    assert look("kl-overconstrained", run_of(with_(held, critic__score__mean=ramp(100, 0.3, 0.6, 0.02)))) is None


def test_kl_at_the_first_step() -> None:
    finding = look("kl-nonzero-at-start", run_of({"actor/kl_loss": [0.8, 0.8, 0.9, 0.9]}))
    assert finding is not None
    assert (finding.first_step, finding.facts["kl"].text) == (1, "0.8")
    assert look("kl-nonzero-at-start", run_of({"actor/kl_loss": [0.0, 0.001, 0.4, 0.9]})) is None
    assert unknown("kl-nonzero-at-start", run_of({"actor/kl_loss": [0.8, 0.8, 0.9]}, start=50)) == "log_start"


def test_healthy_run_is_quiet() -> None:
    run = run_of(healthy(120))
    quiet = ("kl-blowup", "kl-estimator-saturated", "kl-negative", "policy-step-too-large", "clip-saturation", "dual-clip-firing")
    for finding_id in (*quiet, "on-policy-zero-kl", "kl-overconstrained", "kl-nonzero-at-start"):
        assert look(finding_id, run) is None
