"""The value model: useless or only young, off scale, clipped, diverging, slow."""

from __future__ import annotations

import numpy as np
import pytest

from assistant.diagnosis import diagnose
from assistant.run import Style
from tests.builders import run_of
from tests.diagnosis.detectors.outcomes import findings, unknown

rng = np.random.default_rng(7)


def _returns(n: int, mean: float = 0.5) -> dict[str, list[float]]:
    return {
        "critic/score/min": [0.0] * n,
        "critic/score/max": [1.0] * n,
        "critic/returns/mean": [mean] * n,
        "critic/returns/min": [-0.05] * n,
        "critic/returns/max": [1.0] * n,
    }


def test_a_critic_that_stays_below_a_constant_is_useless_since_its_fall() -> None:
    variance = [-2.0 + 0.05 * i for i in range(50)] + [0.4] * 50 + [-0.2] * 40
    run = run_of({"critic/vf_explained_var": variance, **_returns(140)})
    found = findings(run, "critic-useless")
    assert set(found) == {"critic-useless"}
    assert found["critic-useless"].first_step == 101
    assert found["critic-useless"].severity == "high"
    assert found["critic-useless"].facts["median"].value == pytest.approx(-0.2)


def test_a_healthy_critic_dips_below_zero_now_and_then() -> None:
    variance = [0.3, 0.2, -0.05, 0.25, 0.1] * 40
    assert not findings(run_of({"critic/vf_explained_var": variance, **_returns(200)}), "critic-useless")


def test_one_negative_value_in_the_first_step_is_explained_not_alarmed() -> None:
    run = run_of({"critic/vf_explained_var": [-72.348], **_returns(1)}, style=Style.FIXED3)
    found = findings(run, "critic-useless")
    assert set(found) == {"critic-early-negative-ev"}
    assert found["critic-early-negative-ev"].severity == "info"
    assert found["critic-early-negative-ev"].facts["first"].text == "-72.348"


def test_a_paste_from_late_in_training_can_show_a_useless_critic() -> None:
    run = run_of({"critic/vf_explained_var": [-0.4, -0.3, -0.5, -0.2], **_returns(4)}, start=600)
    assert set(findings(run, "critic-useless")) == {"critic-useless"}


@pytest.mark.parametrize(("value", "hit"), [(-0.35, True), (-0.1, False)])
def test_one_late_step_is_a_hint(value: float, hit: bool) -> None:
    found = findings(run_of({"critic/vf_explained_var": [value], **_returns(1)}, start=900), "critic-useless")
    assert bool(found) is hit
    assert not hit or found["critic-useless"].confidence == 0.5


def test_equal_returns_make_the_number_an_artefact() -> None:
    metrics = {"critic/vf_explained_var": [0.1, 0.2, -95.6, 0.1], **_returns(4)}
    metrics["critic/score/max"] = [1.0, 1.0, 0.0, 1.0]
    metrics["critic/returns/max"] = [1.0, 1.0, -0.02, 1.0]
    found = findings(run_of(metrics, start=383, era="0.2"), "critic-useless")
    assert set(found) == {"explained-variance-artefact"}
    assert found["explained-variance-artefact"].first_step == 385


def test_hugely_negative_with_wide_returns_is_no_artefact() -> None:
    found = findings(run_of({"critic/vf_explained_var": [-95.6] * 12, **_returns(12)}, start=300), "critic-useless")
    assert set(found) == {"critic-useless"}


def test_values_that_stay_away_from_the_returns_are_off_scale() -> None:
    run = run_of({"critic/values/mean": [0.5] * 40 + [4.0] * 60, **_returns(100)})
    found = findings(run, "value-scale-mismatch")
    assert found["value-scale-mismatch"].first_step == 41
    assert found["value-scale-mismatch"].facts["gap"].value == pytest.approx(3.5)


def test_values_that_swing_around_the_returns_are_noise() -> None:
    swinging = [0.5 + 0.9 * (-1) ** i for i in range(100)]
    assert not findings(run_of({"critic/values/mean": swinging, **_returns(100)}), "value-scale-mismatch")


def test_a_fresh_value_head_may_start_anywhere() -> None:
    assert not findings(run_of({"critic/values/mean": [-2.05], **_returns(1)}), "value-scale-mismatch")


def test_value_clipping_counts_after_the_first_steps() -> None:
    early = [0.4] * 40 + [0.0] * 80
    late = [0.4] * 40 + [0.0] * 40 + [0.45] * 40
    assert not findings(run_of({"critic/vf_clipfrac": early}), "value-clip-saturation")
    assert findings(run_of({"critic/vf_clipfrac": late}), "value-clip-saturation")["value-clip-saturation"].first_step == 81


def test_value_loss_that_grows_alone_diverges() -> None:
    loss = [14.0 / (i + 1) for i in range(30)] + [0.08] * 40 + [0.08 * 1.08**i for i in range(60)]
    found = findings(run_of({"critic/vf_loss": loss, **_returns(130)}, era="0.5"), "value-loss-divergence")
    assert 85 < found["value-loss-divergence"].first_step < 110


def test_value_loss_that_follows_wider_returns_is_benign() -> None:
    loss = [0.08] * 60 + [0.08 * 1.08**i for i in range(60)]
    metrics = {"critic/vf_loss": loss, **_returns(120)}
    metrics["critic/returns/max"] = [1.0] * 60 + [1.08 ** (i / 2) for i in range(60)]
    assert not findings(run_of(metrics, era="0.5"), "value-loss-divergence")


def test_value_loss_that_recovers_from_an_early_low_is_benign() -> None:
    """At first no answer is right and the returns do not vary: the loss has an early low that is no level to return to."""
    loss = [10.0, 4.0, 0.7] + [0.01] * 12 + [0.1] * 60
    assert not findings(run_of({"critic/vf_loss": loss, **_returns(75)}, era="0.5"), "value-loss-divergence")


def test_critic_gradients_explode_against_their_own_level() -> None:
    norm = [950.0 / (i + 1) for i in range(60)] + list(rng.uniform(8, 12, 60)) + [300.0] * 20
    found = findings(run_of({"critic/grad_norm": norm}), "critic-gradient-explosion")
    assert found["critic-gradient-explosion"].first_step == 121


def test_spikes_and_the_first_steps_are_no_explosion() -> None:
    norm = [950.0 / (i + 1) for i in range(60)] + [10.0] * 80
    norm[100] = norm[120] = 400.0
    assert not findings(run_of({"critic/grad_norm": norm}), "critic-gradient-explosion")


def test_critic_that_takes_most_of_the_step() -> None:
    times = {"timing_s/update_critic": [50.0] * 5, "timing_s/values": [10.0] * 5, "timing_s/step": [120.0] * 5}
    slow = run_of({**times, "timing_s/update_actor": [20.0] * 5, "timing_s/old_log_prob": [8.0] * 5})
    fair = run_of({**times, "timing_s/update_actor": [48.0] * 5, "timing_s/old_log_prob": [8.0] * 5})
    assert findings(slow, "critic-dominates-time")["critic-dominates-time"].facts["factor"].value == pytest.approx(60 / 28)
    assert not findings(fair, "critic-dominates-time")


def test_without_critic_metrics_nothing_is_claimed() -> None:
    score = {"critic/score/mean": [0.5] * 20}
    assert unknown(run_of({**score, "critic/vf_loss": [0.1] * 20}), "critic-useless")
    assert "critic-useless" not in diagnose(run_of(score)).fine


def test_on_a_solved_task_there_is_nothing_left_to_explain() -> None:
    metrics = {"critic/vf_explained_var": [-0.2] * 80, **_returns(80), "critic/score/mean": [0.97] * 80}
    assert not findings(run_of(metrics, start=200), "critic-useless")
