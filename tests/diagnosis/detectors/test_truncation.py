"""Answers cut off at the limit, and answers only counted as cut."""

from __future__ import annotations

import numpy as np
import pytest

from assistant.run import Style
from tests.builders import run_of
from tests.diagnosis.detectors.outcomes import findings, unknown


def test_truncation_since_it_passed_the_watch_level() -> None:
    clip = list(np.concatenate([np.full(50, 0.01), np.linspace(0.01, 0.4, 50)]))
    found = findings(run_of({"response_length/clip_ratio": clip, "response_length/max": [4096] * 100}, era="0.6"), "truncation")
    assert found["truncation"].severity == "high"
    assert 58 <= found["truncation"].first_step <= 66
    assert found["truncation"].facts["limit"].value == 4096


def test_truncation_that_went_away_is_no_finding() -> None:
    clip = list(np.linspace(0.6, 0.03, 60))
    assert not findings(run_of({"response_length/clip_ratio": clip}, era="0.6"), "truncation")


@pytest.mark.parametrize(("clip", "hit"), [(0.9, True), (0.19, False), (0.0, False)])
def test_one_step_shows_truncation_only_when_it_is_large(clip: float, hit: bool) -> None:
    run = run_of({"response_length/clip_ratio": [clip]}, style=Style.FIXED3, era="0.4")
    assert bool(findings(run, "truncation")) is hit


def test_in_the_v1_trainer_the_longest_answer_always_counts() -> None:
    """There a batch is padded to its own longest answer; only a maximum at the limit means that answers were cut."""
    config = {"data.max_response_length": 2048}
    lengths = {"response_length/clip_ratio": [0.25] * 12, "response_length/max": [900 + i for i in range(12)]}
    assert not findings(run_of(lengths, era="0.9", config=config), "truncation")
    lengths["response_length/max"] = [2048] * 12
    assert findings(run_of(lengths, era="0.9", config=config), "truncation")["truncation"].facts["limit"].kind == "config"


def test_without_a_clip_ratio_the_mean_near_the_limit_says_it() -> None:
    config = {"data.max_response_length": 256}
    full = run_of({"response_length/mean": [255.0] * 12, "response_length/max": [256] * 12}, era="0.1", config=config)
    assert findings(full, "truncation")["truncation"].variant == "near_limit"
    fine = run_of({"response_length/mean": [180.0] * 12, "response_length/max": [256] * 12}, era="0.1", config=config)
    assert not findings(fine, "truncation")
    assert unknown(run_of({"response_length/mean": [180.0]}), "truncation")


def test_a_clip_ratio_that_the_mean_contradicts() -> None:
    odd = {"response_length/clip_ratio": [1.0], "response_length/mean": [300.0], "response_length/max": [512.0]}
    assert findings(run_of(odd), "eos-not-recognised")["eos-not-recognised"].facts["least"].value == 512
    odd["response_length/mean"] = [505.0]
    assert not findings(run_of(odd), "eos-not-recognised")
