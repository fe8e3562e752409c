"""NaN and Inf: in the weights, in one update, or only in a statistic."""

from __future__ import annotations

from math import inf, nan

from assistant.diagnosis.render import causes
from assistant.run import Event, Style
from tests.builders import run_of
from tests.diagnosis.detectors.looking import healthy, look, unknown, with_


def test_nan_from_a_step_on() -> None:
    broken = [nan] * 10
    metrics = healthy(40)
    for name in ("actor/entropy", "actor/pg_loss", "actor/grad_norm", "actor/kl_loss"):
        metrics[name] = [*metrics[name][:30], *broken]
    finding = look("non-finite", run_of(metrics))
    assert finding is not None
    assert (finding.severity, finding.variant, finding.first_step, finding.last_step) == ("critical", "default", 31, 40)
    assert finding.facts["n_metrics"].value == 4
    assert {point.text for point in finding.evidence} == {"nan"}


def test_nan_from_the_first_line() -> None:
    finding = look(
        "non-finite", run_of({"actor/pg_loss": [nan], "actor/entropy_loss": [nan], "actor/lr": [0.0]}, start=3663, style=Style.FIXED3)
    )
    assert finding is not None
    assert (finding.variant, finding.first_step) == ("from_start", 3663)


def test_only_the_critic_at_step_one_is_a_batch_size() -> None:
    step = {
        "actor/pg_loss": [-0.013],
        "actor/grad_norm": [9.8],
        "critic/vf_loss": [nan],
        "critic/grad_norm": [nan],
        "critic/vpred_mean": [nan],
    }
    finding = look("non-finite", run_of(step))
    assert finding is not None
    assert (finding.severity, finding.variant) == ("critical", "critic")
    assert "micro-batch" in causes(finding)[0]


def test_one_infinite_norm_did_no_harm() -> None:
    norm = [0.3] * 40
    norm[20] = inf
    run = run_of(with_(healthy(40), actor__grad_norm=norm))
    finding = look("non-finite", run)
    assert finding is not None
    assert (finding.severity, finding.variant, finding.first_step) == ("low", "isolated_norm", 21)
    assert look("skipped-updates", run) is None


def test_skipped_again_and_again() -> None:
    norm = [0.3] * 40
    for i in (20, 24, 27, 33):
        norm[i] = inf
    finding = look("skipped-updates", run_of(with_(healthy(40), actor__grad_norm=norm)))
    assert finding is not None
    assert (finding.severity, finding.first_step, finding.facts["n"].value) == ("critical", 21, 4)


def test_skipped_by_the_warnings() -> None:
    text = "WARN: rank 0 grad_norm is not finite: nan"
    events = [Event("warning", line, text, step=line) for line in (12, 20, 31)]
    finding = look("skipped-updates", run_of(healthy(40), events=events))
    assert finding is not None
    assert (finding.variant, finding.first_step, finding.facts["line"].value) == ("warned", 12, 12)
    assert look("skipped-updates", run_of(healthy(40), events=events[:1])) is None


def test_a_statistic_over_nothing() -> None:
    metrics = {**healthy(20), "training/rollout_probs_diff_mean": [nan] * 20}
    finding = look("metric-nan-only", run_of(metrics))
    assert finding is not None
    assert (finding.severity, finding.first_step) == ("low", 1)
    assert look("non-finite", run_of(metrics)) is None


def test_a_statistic_beside_broken_weights_is_not_blamed() -> None:
    metrics = {**healthy(20), "training/rollout_probs_diff_mean": [nan] * 20}
    metrics["actor/pg_loss"] = [nan] * 20
    assert look("metric-nan-only", run_of(metrics)) is None


def test_one_gap_in_a_statistic_is_nothing() -> None:
    assert look("metric-nan-only", run_of({**healthy(20), "training/rollout_probs_diff_mean": [0.003] * 10 + [nan] + [0.003] * 9})) is None


def test_null_counts_only_when_it_lasts() -> None:
    missing = run_of({"actor/pg_loss": [0.01] * 10, "actor/grad_norm": [0.3] * 10})
    column = missing.columns["actor/grad_norm"]
    column.values[4] = nan
    column.styles[4] = Style.NULL
    assert look("non-finite", missing) is None
    column.values[6:] = nan
    column.styles[6:] = Style.NULL
    finding = look("non-finite", missing)
    assert finding is not None
    assert finding.first_step == 7


def test_nothing_to_judge() -> None:
    assert unknown("non-finite", run_of({"perf/throughput": [1.0]})) == "policy_loss"
    assert look("non-finite", run_of(healthy(40))) is None
