"""What the policy loss says, and what it does not."""

from __future__ import annotations

import pytest

from assistant.diagnosis.render import causes, summary
from assistant.run import Style
from tests.builders import run_of
from tests.diagnosis.detectors.looking import healthy, look, noise, ramp, unknown, with_

SIZES = {"perf/total_num_tokens": [512_000.0] * 40, "prompt_length/mean": [200.0] * 40}  # 1024 answers of 300 tokens


def test_positive_loss_by_longer_bad_answers() -> None:
    metrics = with_(healthy(40), actor__pg_loss=noise(40, 0.02, 0.002), critic__advantages__mean=noise(40, -0.03, 0.002))
    finding = look("positive-pg-loss", run_of(metrics, algorithm="grpo"))
    assert finding is not None
    assert (finding.severity, finding.variant) == ("info", "length")
    assert finding.facts["share"].text == "100%"
    assert "longer" in causes(finding)[0]


def test_positive_loss_within_noise() -> None:
    metrics = {**with_(healthy(40), actor__pg_loss=noise(40, 0.01, 0.002), critic__advantages__mean=[0.0] * 40), **SIZES}
    finding = look("positive-pg-loss", run_of(metrics, algorithm="gae"))
    assert finding is not None
    assert finding.variant == "noise"
    assert finding.facts["noise"].value == pytest.approx(2 / 32, rel=0.05)


def test_positive_loss_beyond_noise_with_clipping() -> None:
    metrics = {
        **with_(healthy(40), actor__pg_loss=[0.2] * 40, actor__pg_clipfrac=[0.05] * 40, critic__advantages__mean=[0.0] * 40),
        **SIZES,
    }
    finding = look("positive-pg-loss", run_of(metrics, algorithm="gae"))
    assert finding is not None
    assert (finding.variant, list(finding.causes or ())) == ("clip", ["clip-pessimism"])


def test_positive_loss_of_a_broken_run_points_elsewhere() -> None:
    metrics = with_(
        healthy(60),
        actor__pg_loss=[0.2] * 60,
        actor__kl_loss=ramp(60, 0.0, 4.0),
        critic__score__mean=[*ramp(30, 0.3, 0.6, 0.01), *ramp(30, 0.6, 0.1, 0.01)],
    )
    finding = look("positive-pg-loss", run_of(metrics))
    assert finding is not None
    assert (finding.severity, finding.variant) == ("info", "harm")


def test_one_step_and_its_printed_value() -> None:
    step = {"actor/pg_loss": [0.001], "critic/advantages/mean": [-0.016], "critic/advantages/max": [1.789]}
    finding = look("positive-pg-loss", run_of(step, style=Style.FIXED3, algorithm="grpo"))
    assert finding is not None
    assert finding.variant == "one_step_length"
    assert "0.001" in summary(finding)


def test_mostly_negative_loss_is_not_mentioned() -> None:
    assert look("positive-pg-loss", run_of(with_(healthy(40), actor__pg_loss=noise(40, -0.01, 0.003)))) is None


def test_outlier_that_lasts() -> None:
    metrics = with_(healthy(60), actor__pg_loss=[*noise(50, 0.0, 0.01), *([1.5] * 10)])
    finding = look("pg-loss-outlier", run_of(metrics))
    assert finding is not None
    assert (finding.severity, finding.first_step, finding.facts["worst"].text) == ("medium", 51, "1.5")


def test_a_single_jump_that_came_back_is_only_explained() -> None:
    finding = look("pg-loss-outlier", run_of(with_(healthy(60), actor__pg_loss=[*noise(50, 0.0, 0.01), 1.5, *noise(9, 0.0, 0.01)])))
    assert finding is not None
    assert (finding.severity, finding.variant, finding.first_step) == ("info", "jump", 51)


def test_size_that_mean_advantage_mode_or_version_explains() -> None:
    large = with_(healthy(40), actor__pg_loss=[-0.6] * 40)
    assert look("pg-loss-outlier", run_of(large)) is not None
    assert look("pg-loss-outlier", run_of(with_(large, critic__advantages__mean=[0.6] * 40))) is None
    assert unknown("pg-loss-outlier", run_of(large, config={"actor_rollout_ref.actor.loss_agg_mode": "seq-mean-token-sum"})) is not None
    four = {"data.train_batch_size": 256, "actor_rollout_ref.actor.ppo_mini_batch_size": 64}
    assert look("pg-loss-outlier", run_of(large, config=four, era="0.7")) is None


def test_zero_loss_while_gradients_flow() -> None:
    finding = look("zero-loss-by-design", run_of(with_(healthy(20), actor__pg_loss=[4e-10] * 20), algorithm="grpo"))
    assert finding is not None
    assert (finding.severity, finding.variant, finding.facts["high"].text) == ("info", "default", "2.475")


def test_zero_loss_is_not_by_design_without_advantages_or_gradient() -> None:
    nothing = with_(healthy(20), actor__pg_loss=[0.0] * 20, critic__advantages__max=[0.0] * 20, critic__advantages__min=[0.0] * 20)
    assert look("zero-loss-by-design", run_of(nothing)) is None
    assert look("zero-loss-by-design", run_of(with_(healthy(20), actor__pg_loss=[0.0] * 20, actor__grad_norm=[0.0] * 20))) is None
    assert look("zero-loss-by-design", run_of(healthy(20))) is None
