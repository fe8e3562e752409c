"""The detectors of critic, reward, length, validation and data on runs of any kind: no error, no false alarm, no delay."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from assistant.diagnosis import RunView, registered
from assistant.diagnosis.detector import Detector
from assistant.run import NO_STEP, Run, Style
from tests.builders import run_of
from tests.counting import calls
from tests.diagnosis.detectors.outcomes import findings

FAMILIES = {"critic", "reward", "reward_floor", "length", "truncation", "validation", "validation_above", "components", "data"}
NAMES = [
    *(f"critic/{group}/{part}" for group in ("score", "rewards", "advantages", "returns", "values") for part in ("mean", "max", "min")),
    *("critic/vf_explained_var", "critic/vf_loss", "critic/vf_clipfrac", "critic/grad_norm", "actor/reward_kl_penalty_coeff"),
    *("response_length/mean", "response_length/max", "response_length/min", "response_length/clip_ratio", "response/aborted_ratio"),
    *("prompt_length/clip_ratio", "prompt_length/max", "num_turns/mean", "num_turns/max", "num_turns/min"),
    *("timing_s/gen", "timing_s/step", "timing_s/update_critic", "timing_s/update_actor", "train/loss", "val/loss"),
    *("val-core/a/b/acc/mean@1", "val-core/c/reward/mean@4", "val/test_score/d", "rewards/format/mean", "rewards/accuracy/mean"),
]


def mine() -> list[Detector]:
    return [one for one in registered().values() if one.function.__module__.rpartition(".")[2] in FAMILIES]


def _ids() -> list[str]:
    return [one.id for one in mine()]


ODD = [0.0, 1.0, -1.0, 0.5, float("nan"), float("inf"), -float("inf")]
NUMBERS = st.one_of(st.none(), st.sampled_from(ODD), st.floats(-1e6, 1e6))


@settings(
    max_examples=40, phases=(Phase.explicit, Phase.reuse, Phase.generate), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(st.data())
def test_no_run_breaks_a_detector(data: st.DataObject) -> None:
    n = data.draw(st.sampled_from([1, 2, 7, 30, 60]))
    names = data.draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=12, unique=True))
    base = {name: data.draw(st.lists(NUMBERS, min_size=1, max_size=6)) for name in names}
    metrics = {name: [values[i % len(values)] for i in range(n)] for name, values in base.items()}
    style = data.draw(st.sampled_from([Style.REPR, Style.FIXED3]))
    run = run_of(
        metrics,
        start=data.draw(st.sampled_from([0, 1, 700])),
        style=style,
        era=data.draw(st.sampled_from(["unknown", "0.1", "0.6", "0.9"])),
    )
    if n == 1 and data.draw(st.booleans()):
        run.row_steps, run.segments = np.array([NO_STEP]), []
    found = findings(run, *_ids())
    assert set(found) <= {name for one in mine() for name in (one.id, *one.ids)}
    for finding in found.values():
        assert finding.first_step is None or abs(finding.first_step) < 10**6


def _learning(n: int, seed: int) -> Run:
    """A PPO run that learns, its noise partly carried over from step to step, with validation every eighth of the run."""
    rng = np.random.default_rng(seed)

    def noise(scale: float, carry: float = 0.5) -> np.ndarray:
        fresh = rng.normal(0, scale, n)
        for i in range(1, n):
            fresh[i] += carry * (fresh[i - 1] - fresh[i])
        return fresh

    score = np.linspace(0.3, 0.7, n) + noise(0.03)
    gap = max(n // 8, 2)
    value_lag = 6.0 * np.exp(-np.arange(n) / 8.0)
    metrics = {
        "critic/score/mean": score,
        "critic/score/max": np.ones(n),
        "critic/score/min": np.zeros(n),
        "critic/rewards/mean": score - 0.03,
        "critic/rewards/max": np.ones(n),
        "critic/rewards/min": -0.05 - np.abs(rng.standard_t(2, n)) * 0.02,
        "critic/returns/mean": score,
        "critic/returns/max": np.ones(n),
        "critic/returns/min": np.full(n, -0.05),
        "critic/values/mean": score - value_lag + noise(0.15),
        "critic/vf_loss": 14 * np.exp(-np.arange(n) / 4.0) + 0.1 * np.exp(noise(0.2)),
        "critic/vf_clipfrac": np.where(np.arange(n) < 30, 0.4, 0.02),
        "critic/vf_explained_var": 0.4 - value_lag + noise(0.1),
        "critic/grad_norm": 900 * np.exp(-np.arange(n) / 5.0) + 10 * np.exp(noise(0.5)),
        "response_length/mean": 300 * np.exp(noise(0.05)),
        "response_length/max": np.full(n, 1024.0),
        "response_length/min": np.full(n, 20.0),
        "response_length/clip_ratio": np.abs(noise(0.01)),
        "prompt_length/clip_ratio": np.zeros(n),
        "timing_s/gen": np.full(n, 40.0),
        "timing_s/step": np.full(n, 100.0),
        "timing_s/update_actor": np.full(n, 25.0),
        "timing_s/update_critic": np.full(n, 24.0),
    }
    printed = {name: [float(x) for x in values] for name, values in metrics.items()}
    validation = [float(score[i]) - 0.05 + float(rng.normal(0, 0.01)) if i % gap == gap - 1 else None for i in range(n)]
    return run_of({**printed, "val-core/openai/gsm8k/acc/mean@1": validation}, style=Style.FIXED3, era="0.4")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [3, 40, 150, 1000])
def test_a_run_that_learns_gets_no_finding(n: int, seed: int) -> None:
    found = {name for name, one in findings(_learning(n, seed), *_ids()).items() if one.severity != "info"}
    assert not found


def test_the_values_of_ten_thousand_steps_are_not_looked_at_one_by_one() -> None:
    """Milliseconds of each detector are in `benchmarks.diagnosis`."""

    def all_of_mine(view: RunView) -> None:
        for one in mine():
            if all(view.has(name) for name in one.needs):
                one.function(view, one.thresholds())

    long = _learning(10_000, 0)
    all_of_mine(RunView(_learning(100, 0)))
    assert calls(lambda: all_of_mine(RunView(long))) < 10 * 10_000 < sum(len(column.values) for column in long.columns.values()) / 2
