"""Parts of a reward that are logged on their own."""

from __future__ import annotations

import numpy as np

from tests.builders import run_of
from tests.diagnosis.detectors.outcomes import findings, unknown


def test_a_part_that_is_never_earned() -> None:
    metrics = {"reward_extra_info/format": [0.0] * 12, "reward_extra_info/accuracy": [0.4] * 12, "critic/rewards/mean": [0.0] * 12}
    found = findings(run_of(metrics), "reward-component-dead")["reward-component-dead"]
    assert [point.metric for point in found.evidence] == ["reward_extra_info/format"]


def test_parts_that_are_earned_and_logs_without_parts() -> None:
    assert not findings(run_of({"rewards/format/mean": [0.0] * 11 + [0.5], "rewards/acc/mean": [0.4] * 12}), "reward-component-dead")
    assert unknown(run_of({"critic/rewards/mean": [0.0] * 12, "critic/score/mean": [0.0] * 12}), "reward-component-dead")


def test_format_up_accuracy_down() -> None:
    up, down = list(np.linspace(0.2, 0.95, 30)), list(np.linspace(0.5, 0.2, 30))
    found = findings(run_of({"rewards/format/mean": up, "rewards/accuracy/mean": down}), "format-accuracy-split")
    assert set(found) == {"format-accuracy-split"}
    assert not findings(run_of({"rewards/format/mean": up, "rewards/accuracy/mean": up}), "format-accuracy-split")
