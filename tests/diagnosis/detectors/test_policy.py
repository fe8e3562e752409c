"""Entropy: collapse, degeneration, explosion, models that never loaded."""

from __future__ import annotations

import pytest

from assistant.diagnosis import diagnose
from assistant.diagnosis.render import causes, summary
from assistant.run import Style
from tests.builders import run_of
from tests.diagnosis.detectors.looking import healthy, look, noise, ramp, unknown, with_

FALLING = [*ramp(30, 0.4, 0.04), *([0.02] * 50)]


def test_entropy_collapse_needs_a_falling_score() -> None:
    score = [*ramp(30, 0.2, 0.7, 0.01), *ramp(50, 0.7, 0.3, 0.01)]
    finding = look("entropy-collapse", run_of(with_(healthy(80), actor__entropy=FALLING, critic__score__mean=score)))
    assert finding is not None
    assert finding.severity == "high"
    assert finding.variant == "score_falls"
    assert 28 <= (finding.first_step or 0) <= 32
    assert finding.last_step == 80
    assert finding.facts["now"].value == 0.02
    assert finding.facts["score_best"].value > finding.facts["score_now"].value + 0.2


def test_low_entropy_beside_a_rising_score_is_only_explained() -> None:
    run = run_of(with_(healthy(80), actor__entropy=FALLING))
    finding = look("entropy-fall-harmless", run)
    assert finding is not None
    assert finding.severity == "info"
    assert look("entropy-collapse", run) is None


def test_validation_that_falls_is_harm() -> None:
    values: list[float | None] = [None] * 80
    for i, step in enumerate(range(4, 80, 5)):
        values[step] = 0.3 + 0.05 * min(i, 6) - 0.03 * max(i - 6, 0)
    finding = look("entropy-collapse", run_of({**healthy(80), "actor/entropy": FALLING, "val-core/gsm8k/acc/mean@1": values}))
    assert finding is not None
    assert (finding.severity, finding.variant) == ("high", "validation_falls")


@pytest.mark.parametrize("last", [0.146, 0.06])
def test_a_relative_fall_alone_is_no_collapse(last: float) -> None:
    assert look("entropy-collapse", run_of(with_(healthy(80), actor__entropy=ramp(80, 0.42, last)))) is None


def test_samples_alike_after_the_collapse() -> None:
    empty = [2.475] * 50 + [0.0, 2.475] * 15
    run = run_of(with_(healthy(80), actor__entropy=FALLING, critic__advantages__max=empty, critic__advantages__min=[-x for x in empty]))
    finding = look("entropy-collapse", run)
    assert finding is not None
    assert finding.variant == "no_signal"
    assert finding.facts["empty"].text == "50%"


def test_entropy_summed_over_answers_is_not_judged() -> None:
    config = {"actor_rollout_ref.actor.loss_agg_mode": "seq-mean-token-sum"}
    run = run_of(with_(healthy(80), actor__entropy=ramp(80, 300.0, 0.01)), config=config, era="0.6")
    assert unknown("entropy-collapse", run) == "actor_rollout_ref.actor.loss_agg_mode=token-mean"
    assert unknown("weights-not-loaded", run_of({"actor/entropy": [310.0]})) == "actor_rollout_ref.actor.loss_agg_mode=token-mean"


def test_fixed_answer_from_one_printed_step() -> None:
    step = {
        "actor/entropy_loss": [0.001],
        "critic/score/mean": [0.104],
        "critic/score/max": [0.133],
        "critic/score/min": [0.100],
        "response_length/mean": [130.0],
    }
    finding = look("policy-degenerate", run_of(step, start=1049, style=Style.FIXED3))
    assert finding is not None
    assert (finding.severity, finding.variant, finding.first_step) == ("critical", "score", 1049)
    assert "0.104" in summary(finding)


def test_a_solved_task_is_not_degenerate() -> None:
    low = {"actor/entropy": [0.004] * 8, "critic/score/mean": [0.97] * 8, "critic/score/max": [1.0] * 8, "critic/score/min": [0.0] * 8}
    assert look("policy-degenerate", run_of(low, start=400)) is None


def test_little_entropy_per_token_is_much_in_a_long_answer() -> None:
    long = {"actor/entropy": [0.008] * 8, "critic/score/mean": [0.2] * 8, "critic/score/max": [1.0] * 8, "critic/score/min": [0.0] * 8}
    run = run_of(with_(long, response_length__mean=[3000.0] * 8), start=400)
    assert look("policy-degenerate", run) is None
    assert look("policy-degenerate", run_of(with_(long, response_length__mean=[100.0] * 8), start=400)) is not None


def test_very_low_entropy_on_an_unsolved_task_is_said_before_harm() -> None:
    entropy = [*ramp(30, 0.4, 0.02), *([0.006] * 50)]
    run = run_of(with_(healthy(80), actor__entropy=entropy, response_length__mean=[2000.0] * 80))
    finding = look("entropy-collapse", run)
    assert finding is not None
    assert (finding.severity, finding.variant) == ("medium", "hard_floor")


def test_explosion_with_a_falling_score() -> None:
    entropy = [*noise(20, 0.3, 0.01), *ramp(20, 0.3, 3.5), *noise(20, 3.5, 0.05)]
    score = [*ramp(25, 0.3, 0.6, 0.01), *ramp(35, 0.6, 0.02, 0.01)]
    config = {"actor_rollout_ref.actor.entropy_coeff": 0.01, "actor_rollout_ref.actor.optim.lr": 3e-6}
    run = run_of(with_(healthy(60), actor__entropy=entropy, critic__score__mean=score), config=config, era="0.6")
    finding = look("entropy-explosion", run)
    assert finding is not None
    assert (finding.severity, finding.variant) == ("critical", "score_falls")
    assert 22 <= (finding.first_step or 0) <= 36
    assert finding.causes is not None
    assert finding.causes[0] == "entropy-bonus"
    assert finding.fixes is not None
    assert finding.fixes["learning-rate"] == 1e-6


def test_a_steeper_rise_of_entropy_sets_in_no_later_and_stays_before_the_fall_of_the_score() -> None:
    onsets = []
    for slope in (0.6, 1.2, 2.4, 4.8, 9.6):
        rise = [0.3 + max(0, i - 60) / 60 * slope for i in range(120)]
        score = [max(0.05, 0.45 - 0.8 * max(0, i - 60) / 120) for i in range(120)]
        entropy = [a + b for a, b in zip(rise, noise(120, 0.0, 0.01), strict=True)]
        metrics = with_(
            healthy(120), actor__entropy=entropy, critic__score__mean=[a + b for a, b in zip(score, noise(120, 0.0, 0.02), strict=True)]
        )
        faults = diagnose(run_of(metrics, era="0.6"), ["entropy-explosion", "reward-collapse"]).faults
        assert [f.id for f in faults] == ["entropy-explosion", "reward-collapse"]
        onsets.append(faults[0].first_step or 0)
    assert onsets == sorted(onsets, reverse=True)
    assert 60 < onsets[-1] <= onsets[0] < 85


def test_a_later_rise_is_not_dated_back_to_one_that_had_passed() -> None:
    entropy = [*noise(20, 0.3, 0.01), *noise(12, 0.6, 0.01), *noise(40, 0.3, 0.01), *ramp(30, 0.3, 4.0)]
    finding = look("entropy-explosion", run_of(with_(healthy(102), actor__entropy=entropy)))
    assert finding is not None
    assert 72 < (finding.first_step or 0) < 90


def test_explosion_without_a_bonus_does_not_blame_it() -> None:
    entropy = [*noise(20, 0.3, 0.01), *ramp(40, 0.3, 3.5)]
    finding = look(
        "entropy-explosion", run_of(with_(healthy(60), actor__entropy=entropy), config={"actor_rollout_ref.actor.entropy_coeff": 0})
    )
    assert finding is not None
    assert "bonus" not in causes(finding)[0]


def test_more_exploration_with_a_rising_score_is_no_explosion() -> None:
    assert look("entropy-explosion", run_of(with_(healthy(80), actor__entropy=ramp(80, 0.25, 0.65, 0.01)))) is None


def test_shorter_answers_raise_entropy_by_themselves() -> None:
    metrics = with_(
        healthy(60),
        actor__entropy=[*noise(30, 0.24, 0.01), *noise(30, 0.48, 0.01)],
        critic__score__mean=[*noise(30, 0.6, 0.01), *noise(30, 0.3, 0.01)],
    )
    assert look("entropy-explosion", run_of(metrics)) is not None
    assert look("entropy-explosion", run_of(with_(metrics, response_length__mean=[900.0] * 30 + [10.0] * 30))) is None


def test_random_model_from_one_step() -> None:
    finding = look("weights-not-loaded", run_of({"actor/entropy": [9.488], "actor/kl_loss": [0.0001]}, start=9))
    assert finding is not None
    assert (finding.severity, finding.variant) == ("critical", "near_reference")
    assert finding.facts["tokens"].text == "13200"


def test_random_model_in_a_pasted_tail() -> None:
    finding = look("entropy-at-maximum", run_of({"actor/entropy": [9.1, 9.2]}, start=400))
    assert finding is not None
    assert look("weights-not-loaded", run_of({"actor/entropy": [9.1, 9.2]}, start=400)) is None


def test_a_base_model_is_not_random() -> None:
    assert look("weights-not-loaded", run_of({"actor/entropy": [2.4, 2.3, 2.2]})) is None


def test_healthy_run_is_quiet() -> None:
    run = run_of(healthy(120))
    for finding_id in ("entropy-collapse", "policy-degenerate", "entropy-explosion", "weights-not-loaded", "entropy-at-maximum"):
        assert look(finding_id, run) is None
