"""A loss below zero is explained where it is clear, and left alone where it is noise."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.diagnosis.render import summary
from assistant.run import Run
from tests.builders import run_of
from tests.diagnosis.detectors.outcomes import findings


def look(metrics: dict[str, Any], **more: Any) -> Any:
    return findings(run_of(metrics, **more), "negative-loss").get("negative-loss")


def test_an_entropy_bonus_makes_the_full_loss_negative() -> None:
    key = "actor_rollout_ref.actor.entropy_coeff"
    found = look({"actor/loss": [-0.05] * 6, "actor/pg_loss": [0.001] * 6}, config={key: 0.1}, era="0.8")
    assert found.variant == "entropy"
    assert (found.facts["coefficient"].value, found.facts["coefficient"].metric) == (0.1, key)
    assert summary(found).startswith("actor/loss is negative in 100% of 6 steps (-0.05 at step 6) because an entropy bonus")
    assert found.severity == "info"


def test_longer_answers_that_score_better() -> None:
    metrics = {
        "actor/pg_loss": [-0.03, -0.02, -0.04, -0.03, -0.03],
        "critic/advantages/mean": [0.03, 0.02, 0.04, 0.03, 0.03],
        "critic/score/mean": [0.5] * 5,
    }
    found = look(metrics, config={"algorithm.adv_estimator": "grpo"})
    assert (found.variant, found.facts["advantage"].value, found.last_step) == ("length", 0.03, 5)
    assert [point.metric for point in found.evidence] == ["actor/pg_loss", "critic/advantages/mean"]


def test_other_negative_losses_are_explained_in_general() -> None:
    found = look({"actor/pg_loss": [-0.4]}, config={"algorithm.adv_estimator": "gae"})
    assert (found.variant, found.facts["n"].value) == ("default", 1)


@pytest.mark.parametrize(
    "loss",
    [
        [-0.004] * 20,  # too small to look odd
        [-0.02, 0.02] * 10,  # either sign
        [-0.02] * 4,  # too few for so small a value
        [float("nan")] * 5,
        [0.3] * 5,
    ],
)
def test_nothing_to_explain(loss: list[float]) -> None:
    assert look({"actor/pg_loss": loss}) is None


def test_a_log_without_a_policy_loss() -> None:
    assert findings(Run(), "negative-loss") == {}
    assert look({"train/loss": [-0.5] * 5}) is None
