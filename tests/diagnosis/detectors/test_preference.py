"""DPO and its relatives: nothing learned, memorised, both answers pushed down; and what only looks odd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from assistant.diagnosis import Finding
from assistant.run import Run
from tests.builders import run_of
from tests.diagnosis.detectors.looking import look, noise, ramp

PREFERENCE = ("preference-no-signal", "preference-saturated", "preference-degenerate")


def dpo(n: int = 80, seed: int = 0, **more: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """A usual run: the margin grows and flattens, pairs are told apart better, the chosen side hardly moves."""
    rng = np.random.default_rng(seed)
    grown = 1 - np.exp(-3 * np.linspace(0, 1, n))
    margin = 1.5 * grown * (1 + 0.1 * rng.standard_normal(n))
    margin[0] = 0.0
    found = {
        "loss": list(np.log1p(np.exp(-margin)) + 0.03 * np.abs(rng.standard_normal(n))),
        "grad_norm": [abs(x) for x in noise(n, 3.0, 0.5, seed)],
        "learning_rate": ramp(n, 5e-7, 5e-9),
        "rewards/chosen": list(-0.1 * grown + 0.02 * rng.standard_normal(n)),
        "rewards/rejected": list(-0.1 * grown - margin),
        "rewards/margins": list(margin),
        "rewards/accuracies": list(np.clip(0.5 + 0.3 * grown + 0.05 * rng.standard_normal(n), 0, 1)),
        "logps/chosen": noise(n, -200, 12, seed + 1),
        "logps/rejected": noise(n, -230, 12, seed + 2),
    }
    return {**found, **{key.replace("__", "/"): value for key, value in more.items()}}


def trl(metrics: dict[str, Sequence[Any]], **more: Any) -> Run:
    return run_of(metrics, framework="trl", **more)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [1, 4, 30, 80, 400])
def test_a_usual_run_is_quiet(n: int, seed: int) -> None:
    for name in PREFERENCE:
        assert look(name, trl(dpo(n, seed))) is None


def test_margins_of_exactly_zero() -> None:
    zero = [0.0] * 4
    run = trl({"loss": [0.6932] * 4, "rewards/chosen": zero, "rewards/rejected": zero, "rewards/margins": zero, "rewards/accuracies": zero})
    found = look("preference-no-signal", run)
    assert found is not None
    assert (found.severity, found.first_step, found.last_step, found.variant) == ("high", 1, 4, "exact_loss")
    assert found.facts["loss"].text == "0.6932"
    assert found.causes == ["same-weights", "frozen", "same-pairs"]


def test_the_first_line_is_zero_in_every_run() -> None:
    run = trl({"loss": [0.6931, 0.6925], "rewards/chosen": [0.0, 0.001], "rewards/margins": [0.0, 0.0012]})
    assert look("preference-no-signal", run) is None
    assert look("preference-no-signal", trl({"loss": [0.6931], "rewards/chosen": [0.0], "rewards/margins": [0.0]})) is None


def test_noise_about_ln_2_for_long() -> None:
    n = 60
    flat = dpo(n, loss=noise(n, 0.6931, 0.001, 3), rewards__margins=noise(n, 0.0, 0.004, 4), rewards__chosen=noise(n, 0.0, 0.003, 5))
    found = look("preference-no-signal", trl(flat))
    assert found is not None
    assert found.variant == "default"
    short = {key: list(values[:8]) for key, values in flat.items()}
    assert look("preference-no-signal", trl(short)) is None  # too early: small margins are how it begins


def test_memorised_pairs() -> None:
    n = 60
    margin = [*ramp(20, 0.0, 12.0), *noise(40, 14, 0.5)]
    run = trl(dpo(n, loss=[*ramp(20, 0.69, 0.001), *[0.0004] * 40], rewards__margins=margin, rewards__accuracies=[1.0] * n))
    found = look("preference-saturated", run)
    assert found is not None
    assert found.severity == "medium"
    assert found.variant == "accuracy"
    assert found.first_step is not None
    assert 18 <= found.first_step <= 22


def test_wild_steps_point_to_the_learning_rate() -> None:
    run = trl(
        {
            "loss": [1.15, 2.11, 0.0076, 0.0, 0.0001, 0.0036],
            "rewards/margins": [0.1, -1.0, 9.0, 13.0, 21.0, 23.0],
            "rewards/accuracies": [0.5, 0.5, 1.0, 1.0, 1.0, 1.0],
        }
    )
    found = look("preference-saturated", run)
    assert found is not None
    assert found.variant == "accuracy_wild"
    assert found.facts["worst"].text == "2.11"
    assert found.causes is not None
    assert found.causes[0] == "rate"


def test_an_easy_task_is_no_memorising() -> None:
    n = 60
    margin = [*ramp(20, 0.0, 12.0), *noise(40, 14, 0.5)]
    held_out = [None if i % 10 else 1.0 for i in range(n)]
    metrics = dpo(n, loss=[*ramp(20, 0.69, 0.001), *[0.0004] * 40], rewards__margins=margin, rewards__accuracies=[1.0] * n)
    assert look("preference-saturated", trl({**metrics, "eval_rewards/accuracies": held_out})) is None


def sinking(n: int = 100) -> Finding | None:
    chosen = ramp(n, 0.0, -8.0, 0.1)
    margin = ramp(n, 0.0, 6.0, 0.1)
    return look(
        "preference-degenerate",
        trl(
            dpo(
                n,
                rewards__chosen=chosen,
                rewards__rejected=[a - b for a, b in zip(chosen, margin, strict=True)],
                rewards__margins=margin,
                logps__chosen=ramp(n, -200, -280, 8),
            )
        ),
    )


def test_both_answers_pushed_down() -> None:
    found = sinking()
    assert found is not None
    assert found.severity == "high"
    assert found.first_step is not None
    assert 35 <= found.first_step <= 65


def test_batches_of_other_lengths_are_no_fall() -> None:
    n = 100
    run = trl(dpo(n, logps__chosen=[*noise(50, -150, 10), *noise(50, -260, 10, 1)]))
    assert look("preference-degenerate", run) is None  # the implicit reward, with the reference taken off, stays


def test_negative_rewards_are_explained() -> None:
    found = look("preference-rewards-negative", trl(dpo(60, rewards__chosen=ramp(60, 0, -0.3), rewards__rejected=ramp(60, 0, -2.8))))
    assert found is not None
    assert found.severity == "info"
    assert found.facts["chosen"].text.startswith("-0.3")
    assert look("preference-rewards-negative", trl(dpo(60, rewards__chosen=ramp(60, 0, 0.3)))) is None


def test_a_clamped_kl_is_explained() -> None:
    kto = {
        "loss": [0.5] * 8,
        "kl": [0.0, 0.2, 0.0, 0.0, 1.2, 0.0, 0.3, 0.0],
        "rewards/chosen": ramp(8, 0.0, 0.4),
        "rewards/rejected": ramp(8, 0.0, -0.4),
    }
    found = look("kl-clamped-at-zero", trl(kto))
    assert found is not None
    assert (found.severity, found.facts["n"].text, found.facts["total"].text) == ("info", "5", "8")
    assert look("kl-clamped-at-zero", trl({**kto, "kl": [0.1] * 8})) is None
    assert look("kl-clamped-at-zero", trl({"reward": [0.5] * 8, "kl": [0.0] * 8})) is None  # GRPO: another kl
