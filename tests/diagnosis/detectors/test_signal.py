"""Is there anything to learn from: advantages, groups, their spread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.diagnosis.batch import group_size
from assistant.diagnosis.render import fixes
from assistant.diagnosis.view import RunView
from assistant.run import NO_STEP, Style
from tests.builders import run_of
from tests.diagnosis.detectors.looking import healthy, look, noise, ramp, unknown, with_


def flat(n: int, mean: float, high: float, low: float) -> dict[str, Any]:
    """A run of ``n`` steps without any advantage."""
    return with_(
        healthy(n),
        critic__advantages__max=[0.0] * n,
        critic__advantages__min=[0.0] * n,
        critic__advantages__mean=[0.0] * n,
        critic__score__mean=[mean] * n,
        critic__score__max=[high] * n,
        critic__score__min=[low] * n,
    )


@pytest.mark.parametrize(
    ("mean", "high", "low", "variant", "severity", "first_fix"),
    [
        (1.0, 1.0, 1.0, "all_right", "medium", "algorithm.filter_groups.enable"),
        (0.0, 0.0, 0.0, "all_wrong", "high", None),
        (-1.0, -1.0, -1.0, "all_wrong", "high", None),
        (0.9, 1.0, 0.0, "mixed", "high", "actor_rollout_ref.rollout.temperature"),
    ],
)
@pytest.mark.parametrize("n", [1, 2, 40])
def test_no_signal_and_why(n: int, mean: float, high: float, low: float, variant: str, severity: str, first_fix: str | None) -> None:
    run = run_of(flat(n, mean, high, low), style=Style.FIXED3, start=80)
    finding = look("no-learning-signal", run)
    assert finding is not None
    assert (finding.variant, finding.severity, finding.first_step, finding.last_step) == (variant, severity, 80, 79 + n)
    assert fixes(finding, run)[0]["key"] == first_fix


def test_signal_that_ends() -> None:
    high = [2.475] * 30 + [0.0] * 30
    run = run_of(with_(healthy(60), critic__advantages__max=high, critic__advantages__min=[-x for x in high]))
    finding = look("no-learning-signal", run)
    assert finding is not None
    assert finding.first_step == 31


def test_a_quarter_of_empty_steps_is_no_missing_signal() -> None:
    high = [0.0 if i % 4 == 0 else 1.5 for i in range(60)]
    run = run_of(with_(healthy(60), critic__advantages__max=high, critic__advantages__min=[-x for x in high]))
    assert look("no-learning-signal", run) is None


def test_one_empty_step_of_two_prompts_is_chance() -> None:
    few = look("no-learning-signal", run_of(flat(1, 0.9, 1.0, 0.0), config={"data.train_batch_size": 2}))
    many = look("no-learning-signal", run_of(flat(1, 0.9, 1.0, 0.0), config={"data.train_batch_size": 256}))
    assert few is not None
    assert many is not None
    assert (few.severity, many.severity) == ("low", "high")


def test_summary_without_a_step() -> None:
    run = run_of(flat(1, 0.0, 0.0, 0.0), steps=[NO_STEP])
    finding = look("no-learning-signal", run)
    assert finding is not None
    assert (finding.first_step, finding.facts["step"].text) == (None, "?")


def test_steps_without_advantage_become_frequent() -> None:
    rng = np.random.default_rng(3)
    share = np.linspace(0.0, 0.3, 300)
    high = list(np.where(rng.random(300) < share, 0.0, 1.5))
    run = run_of(with_(healthy(300), critic__advantages__max=high, critic__advantages__min=[-x for x in high]))
    finding = look("shrinking-learning-signal", run)
    assert finding is not None
    assert finding.severity == "medium"
    assert finding.facts["late"].value > finding.facts["early"].value + 0.1


def test_a_steady_share_of_empty_steps_is_not_shrinking() -> None:
    high = [0.0 if i % 6 == 0 else 1.5 for i in range(300)]
    assert (
        look(
            "shrinking-learning-signal",
            run_of(with_(healthy(300), critic__advantages__max=high, critic__advantages__min=[-x for x in high])),
        )
        is None
    )


def test_refilling_takes_more_rounds() -> None:
    finding = look("shrinking-learning-signal", run_of({**healthy(60), "train/num_gen_batches": [1.0] * 30 + ramp(30, 2.0, 6.0)}))
    assert finding is not None
    assert finding.variant == "rounds"
    assert look("shrinking-learning-signal", run_of({**healthy(60), "train/num_gen_batches": [2.0] * 60})) is None


@pytest.mark.parametrize(("none", "everything", "variant"), [(80.0, 10.0, "too_hard"), (10.0, 80.0, "too_easy")])
def test_many_uniform_groups_by_count(none: float, everything: float, variant: str) -> None:
    counts = {"batch/solve_none": [none] * 8, "batch/solve_all": [everything] * 8, "batch/solve_partial": [38.0] * 8}
    finding = look("many-uniform-groups", run_of({**healthy(8), **counts}))
    assert finding is not None
    assert (finding.severity, finding.variant, finding.facts["share"].text) == ("low", variant, "70.3%")
    few = {"batch/solve_none": [20.0] * 8, "batch/solve_all": [10.0] * 8, "batch/solve_partial": [98.0] * 8}
    assert look("many-uniform-groups", run_of({**healthy(8), **few})) is None


def one_answer(n: int) -> dict[str, Any]:
    score = noise(n, 0.1, 0.3)
    return {
        "actor/pg_loss": noise(n, 0.0, 0.01),
        **{f"critic/{name}/mean": score for name in ("score", "advantages")},
        **{f"critic/{name}/max": [x + 0.2 for x in score] for name in ("score", "advantages")},
        **{f"critic/{name}/min": [x - 0.2 for x in score] for name in ("score", "advantages")},
    }


@pytest.mark.parametrize("n", [1, 50])
def test_group_of_one_without_config(n: int) -> None:
    finding = look("group-size-one", run_of(one_answer(n)))
    assert finding is not None
    assert (finding.severity, finding.variant, finding.first_step) == ("high", "default", 1)


def test_group_of_one_with_config() -> None:
    config = {"actor_rollout_ref.rollout.n": 1, "algorithm.adv_estimator": "grpo"}
    finding = look("group-size-one", run_of(one_answer(50), config=config, algorithm="grpo"))
    assert finding is not None
    assert finding.facts["rollout_n"].kind == "config"
    assert look("group-size-one", run_of(one_answer(50), config={**config, "actor_rollout_ref.rollout.n": 8})) is None


def test_group_of_one_with_a_kl_penalty_in_the_reward() -> None:
    metrics = one_answer(30)
    for name in ("mean", "max", "min"):
        metrics[f"critic/rewards/{name}"] = metrics[f"critic/advantages/{name}"]
        metrics[f"critic/score/{name}"] = [value + 0.3 for value in metrics[f"critic/score/{name}"]]
    finding = look("group-size-one", run_of(metrics))
    assert finding is not None
    assert finding.evidence[1].metric == "critic/rewards/mean"


def test_groups_built_elsewhere_contradict_the_config() -> None:
    config = {"actor_rollout_ref.rollout.n": 1, "algorithm.adv_estimator": "grpo"}
    assert look("group-size-one", run_of(healthy(50), config=config, algorithm="grpo")) is None


def test_zero_scores_and_zero_advantages_are_no_group_of_one() -> None:
    assert look("group-size-one", run_of(flat(10, 0.0, 0.0, 0.0))) is None


def test_outliers_of_whitened_advantages() -> None:
    metrics = with_(healthy(30), critic__advantages__max=[2.0] * 15 + [40.0] * 15)
    finding = look("extreme-advantages", run_of(metrics, algorithm="gae", era="0.6"))
    assert finding is not None
    assert (finding.severity, finding.first_step, finding.facts["worst"].text) == ("medium", 16, "40.0")
    assert look("extreme-advantages", run_of(with_(healthy(30), critic__advantages__max=[7.2] * 30), algorithm="gae", era="0.6")) is None
    assert unknown("extreme-advantages", run_of(metrics, algorithm="gae", era="0.1")) == "version_after_0_1"


def test_nothing_moves() -> None:
    stuck = with_(
        healthy(150),
        critic__score__mean=noise(150, 0.3, 0.03, seed=2),
        actor__entropy=noise(150, 0.4, 0.01),
        actor__kl_loss=noise(150, 1e-4, 1e-5),
    )
    assert look("not-learning", run_of(stuck)) is not None
    assert unknown("not-learning", run_of(stuck, start=400)) == "log_start"
    without = {name: values for name, values in stuck.items() if name != "actor/kl_loss"}
    assert unknown("not-learning", run_of(without)) == "actor_rollout_ref.actor.use_kl_loss=True"
    assert look("not-learning", run_of(with_(stuck, critic__score__mean=ramp(150, 0.3, 0.4, 0.03)))) is None
    assert look("not-learning", run_of(with_(stuck, actor__entropy=ramp(150, 0.4, 0.2, 0.01)))) is None
    assert look("not-learning", run_of(with_(stuck, critic__score__mean=noise(150, 0.97, 0.01)))) is None


def test_healthy_run_is_quiet() -> None:
    quiet = (
        "no-learning-signal",
        "shrinking-learning-signal",
        "many-uniform-groups",
        "group-size-one",
        "extreme-advantages",
        "not-learning",
    )
    for finding_id in quiet:
        assert look(finding_id, run_of(healthy(150))) is None


@given(n=st.sampled_from([4, 5, 8, 16, 32]), right=st.data())
@settings(max_examples=40, deadline=None)
def test_group_size_from_the_bound(n: int, right: st.DataObject) -> None:
    """Group-normalised advantages of any reward stay within (n - 1)/√n; one lone success touches it and gives n away."""
    rewards = np.array(right.draw(st.lists(st.floats(-5, 5), min_size=n, max_size=n)))
    lone = np.zeros(n)
    lone[0] = 1.0
    for group in (rewards, lone):
        spread = group.std(ddof=1)
        if spread > 1e-3:
            assert np.abs((group - group.mean()) / (spread + 1e-6)).max() <= (n - 1) / np.sqrt(n) + 1e-3
    high = float(((lone - lone.mean()) / (lone.std(ddof=1) + 1e-6)).max())
    assert (
        group_size(RunView(run_of({"critic/advantages/max": [high, high / 2], "critic/advantages/min": [-0.3, -0.4]}, algorithm="grpo")))
        == n
    )
