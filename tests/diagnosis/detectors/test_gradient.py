"""Gradients that explode, spike or are missing."""

from __future__ import annotations

from assistant.diagnosis.render import fixes
from assistant.run import Style
from tests.builders import run_of
from tests.diagnosis.detectors.looking import healthy, look, noise, ramp, unknown, with_


def calm(n: int) -> list[float]:
    return [abs(x) for x in noise(n, 0.3, 0.02)]


def test_explosion_onset_and_the_clip_key_of_the_version() -> None:
    metrics = with_(healthy(60), actor__grad_norm=[*calm(40), *([8.0] * 20)])
    run = run_of(metrics, era="0.8")
    finding = look("gradient-explosion", run)
    assert finding is not None
    assert (finding.severity, finding.first_step, finding.last_step) == ("high", 41, 60)
    assert "actor_rollout_ref.actor.optim.clip_grad" in [fix["key"] for fix in fixes(finding, run)]
    old = run_of(metrics, era="0.4")
    found = look("gradient-explosion", old)
    assert found is not None
    assert "actor_rollout_ref.actor.grad_clip" in [fix["key"] for fix in fixes(found, old)]


def test_an_explosion_that_came_back_is_milder() -> None:
    finding = look("gradient-explosion", run_of(with_(healthy(60), actor__grad_norm=[*calm(30), *([9.0] * 5), *calm(25)])))
    assert finding is not None
    assert (finding.severity, finding.variant, finding.last_step) == ("medium", "recovered", 35)


def test_falling_slow_or_merely_large_norms_are_no_explosion() -> None:
    for norm in (ramp(60, 4.0, 0.2), ramp(60, 0.3, 1.5), [abs(x) for x in noise(60, 9.0, 0.5)], [9.8]):
        assert look("gradient-explosion", run_of({"actor/grad_norm": norm})) is None


def test_short_log_needs_a_norm_that_is_large_for_anyone() -> None:
    assert look("gradient-explosion", run_of({"actor/grad_norm": [350.0, 420.0]}, start=80)) is not None
    assert look("gradient-explosion", run_of({"actor/grad_norm": [0.4, 420.0]}, start=80)) is None


def test_isolated_spikes_are_explained() -> None:
    norm = calm(60)
    norm[20], norm[40] = 19.0, 6.0
    run = run_of(with_(healthy(60), actor__grad_norm=norm))
    finding = look("gradient-spike", run)
    assert finding is not None
    assert (finding.severity, finding.variant, finding.facts["n"].value) == ("info", "several", 2)
    assert finding.facts["worst_step"].value == 21
    assert look("gradient-explosion", run) is None


def test_an_explosion_is_not_called_a_spike() -> None:
    assert look("gradient-spike", run_of(with_(healthy(60), actor__grad_norm=[*calm(40), *([8.0] * 20)]))) is None


def test_no_gradient_despite_a_signal() -> None:
    finding = look("no-gradient", run_of(with_(healthy(20), actor__grad_norm=[0.0] * 20)))
    assert finding is not None
    assert (finding.severity, finding.first_step, finding.facts["advantage"].text) == ("high", 1, "2.475")


def test_no_gradient_where_there_is_no_signal_is_another_matter() -> None:
    empty = [0.0, 2.475] * 10
    norm = [0.0, 0.3] * 10
    run = run_of(with_(healthy(20), actor__grad_norm=norm, critic__advantages__max=empty, critic__advantages__min=[-x for x in empty]))
    assert look("no-gradient", run) is None


def test_a_norm_that_prints_as_zero_may_be_small() -> None:
    run = run_of(with_(healthy(20), actor__grad_norm=[0.0002] * 20), style=Style.FIXED3)
    assert look("no-gradient", run) is None
    assert unknown("no-gradient", run) == "policy_grad_norm"


def test_healthy_run_is_quiet() -> None:
    for finding_id in ("gradient-explosion", "gradient-spike", "no-gradient"):
        assert look(finding_id, run_of(healthy(120))) is None
