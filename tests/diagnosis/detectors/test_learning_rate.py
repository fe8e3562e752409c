"""The learning rate: rounded away, really zero, or too high."""

from __future__ import annotations

from assistant.run import FIXED_DECIMALS, NO_STEP, SCIENTIFIC, Style
from tests.builders import run_of
from tests.diagnosis.detectors.looking import healthy, look, noise, unknown, with_

LR = "actor_rollout_ref.actor.optim.lr"


def test_three_decimals_hide_the_rate() -> None:
    finding = look("learning-rate-rounded", run_of({"actor/lr": [1e-6]}, style=Style.FIXED3, config={LR: 1e-6}))
    assert finding is not None
    assert (finding.severity, finding.variant, finding.facts["shown"].text) == ("info", "configured", "0.000")
    assert finding.facts["rate"].value == 1e-6


def test_four_decimals_hide_the_rate_but_an_exponent_does_not() -> None:
    four, exponent = FIXED_DECIMALS + 4, SCIENTIFIC + 3
    finding = look("learning-rate-rounded", run_of({"actor/lr": [0.0] * 6}, style=four))
    assert finding is not None
    assert (finding.variant, finding.facts["shown"].text) == ("decimals", "0.0000")
    assert look("learning-rate-zero", run_of({"actor/lr": [0.0] * 6}, style=exponent)) is not None
    assert look("learning-rate-rounded", run_of({"actor/lr": [0.0] * 6}, style=exponent)) is None
    assert unknown("learning-rate-zero", run_of({"actor/lr": [0.0] * 6}, style=four)) == "policy_lr"


def test_a_rate_in_full_or_in_units_of_its_name_is_not_rounded() -> None:
    assert look("learning-rate-rounded", run_of({"actor/lr": [1e-6]})) is None
    assert look("learning-rate-rounded", run_of({"actor/lr": [0.0]})) is None
    assert look("learning-rate-rounded", run_of({"actor/lr(1e-4)": [0.01]}, style=Style.FIXED3)) is None


def test_zero_in_a_summary_without_steps_is_rounded() -> None:
    finding = look("learning-rate-rounded", run_of({"actor/lr": [0.0]}, steps=[NO_STEP]))
    assert finding is not None
    assert (finding.variant, finding.first_step) == ("summary", None)


def test_really_zero_throughout() -> None:
    finding = look("learning-rate-zero", run_of({"actor/lr": [0.0] * 5}))
    assert finding is not None
    assert (finding.severity, finding.variant, finding.first_step, finding.facts["n"].value) == ("high", "always", 1, 5)


def test_schedule_that_ended_early() -> None:
    finding = look("learning-rate-zero", run_of({"actor/lr": [1e-6] * 10 + [0.0] * 6}))
    assert finding is not None
    assert (finding.variant, finding.first_step, finding.facts["before"].text) == ("ended", 11, "1e-06")


def test_zero_of_a_warmup_or_of_the_last_step_is_normal() -> None:
    assert look("learning-rate-zero", run_of({"actor/lr": [0.0, 1e-7, 2e-7]})) is None
    assert look("learning-rate-zero", run_of({"actor/lr": [1e-6] * 10 + [0.0]})) is None
    assert look("learning-rate-zero", run_of({"actor/lr": [0.0]})) is None


def test_printed_zero_cannot_tell() -> None:
    run = run_of({"actor/lr": [1e-6] * 8}, style=Style.FIXED3)
    assert look("learning-rate-zero", run) is None
    assert unknown("learning-rate-zero", run) == "policy_lr"


def test_too_high_needs_two_signs_early() -> None:
    hot = with_(healthy(40), actor__ppo_kl=[1e-4] * 4 + [0.3] * 36, actor__pg_clipfrac=[0.01] * 4 + [0.5] * 36, actor__lr=[3e-5] * 40)
    finding = look("learning-rate-too-high", run_of(hot))
    assert finding is not None
    assert (finding.severity, finding.first_step, finding.facts["n"].value) == ("high", 5, 2)
    assert finding.fixes is not None
    assert finding.fixes["learning-rate"] == 1e-5
    assert look("learning-rate-too-high", run_of(with_(hot, actor__pg_clipfrac=[0.01] * 40))) is None
    late = with_(hot, actor__ppo_kl=[1e-4] * 30 + [0.3] * 10, actor__pg_clipfrac=[0.01] * 30 + [0.5] * 10)
    assert look("learning-rate-too-high", run_of(late)) is None
    assert unknown("learning-rate-too-high", run_of(hot, start=300)) == "log_start"


def test_healthy_run_is_quiet() -> None:
    for finding_id in ("learning-rate-rounded", "learning-rate-zero", "learning-rate-too-high"):
        assert look(finding_id, run_of(with_(healthy(60), actor__grad_norm=[abs(x) for x in noise(60, 0.3, 0.05)]))) is None
