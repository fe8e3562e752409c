"""Prompts cut at their limit, data filtered out."""

from __future__ import annotations

import pytest

from assistant.run import Event
from tests.builders import run_of
from tests.diagnosis.detectors.outcomes import findings, unknown


def test_prompts_at_the_limit_were_cut() -> None:
    run = run_of({"prompt_length/clip_ratio": [0.15] * 20}, era="0.6", config={"data.truncation": "left"})
    assert findings(run, "prompt-truncated")["prompt-truncated"].first_step == 1
    assert not findings(run_of({"prompt_length/clip_ratio": [0.005] * 20}, era="0.6"), "prompt-truncated")


@pytest.mark.parametrize("config", [{"data.truncation": "error"}, {"data.filter_overlong_prompts": True}])
def test_prompts_cannot_be_cut_when_the_settings_forbid_it(config: dict[str, object]) -> None:
    assert not findings(run_of({"prompt_length/clip_ratio": [0.15] * 20}, era="0.6", config=config), "prompt-truncated")


def test_in_the_v1_trainer_the_longest_prompt_always_counts() -> None:
    metrics = {"prompt_length/clip_ratio": [0.2] * 20, "prompt_length/max": [300] * 20}
    assert not findings(run_of(metrics, era="0.9", config={"data.max_prompt_length": 512}), "prompt-truncated")
    assert findings(run_of(metrics, era="0.9", config={"data.max_prompt_length": 300}), "prompt-truncated")


def test_what_cuts_a_prompt_depends_on_the_version() -> None:
    """Up to 0.6 data.truncation decides, 0.7 never cuts, from 0.8 on text prompts are cut whatever is set."""
    metrics = {"prompt_length/clip_ratio": [0.2] * 20, "prompt_length/max": [300] * 20}
    for setting, eras in (("error", {"0.8", "0.9"}), ("left", {"0.5", "0.6", "0.8", "0.9"})):
        config = {"data.truncation": setting, "data.max_prompt_length": 300}
        cut = {era for era in ("0.5", "0.6", "0.7", "0.8", "0.9") if findings(run_of(metrics, era=era, config=config), "prompt-truncated")}
        assert cut == eras


def test_in_the_v1_trainer_only_steps_that_reach_the_limit_count() -> None:
    config = {"data.max_prompt_length": 300}
    seldom = {"prompt_length/clip_ratio": [0.2] * 20, "prompt_length/max": [300, *[250] * 19]}
    assert not findings(run_of(seldom, era="0.9", config=config), "prompt-truncated")
    lately = {"prompt_length/clip_ratio": [0.2] * 20, "prompt_length/max": [250] * 10 + [300] * 10}
    assert findings(run_of(lately, era="0.9", config=config), "prompt-truncated")["prompt-truncated"].first_step == 11


def _sizes(*pairs: tuple[str, int]) -> list[Event]:
    return [
        Event("dataset-filtered" if text.startswith("filter") else "dataset-size", line, f"{text} dataset len: {size}".strip())
        for line, (text, size) in enumerate(pairs, 1)
    ]


def test_much_of_the_data_was_dropped() -> None:
    events = _sizes(("original", 7473), ("filter", 2000), ("original", 1319), ("filter", 1319))
    found = findings(run_of({"critic/score/mean": [0.5]}, events=events), "data-filtered")["data-filtered"]
    assert (found.facts["before"].value, found.facts["after"].value, found.severity) == (7473, 2000, "high")


def test_a_filter_line_that_also_reads_as_a_size() -> None:
    events = _sizes(("original", 7473), ("filter", 2000))
    twice = [*events[:1], Event("dataset-size", 2, "filter dataset len: 2000"), events[1]]
    assert findings(run_of({"critic/score/mean": [0.5]}, events=twice), "data-filtered")


def test_little_dropped_or_nothing_printed() -> None:
    events = _sizes(("", 72123), ("filter", 71890))
    assert not findings(run_of({"critic/score/mean": [0.5]}, events=events), "data-filtered")
    assert unknown(run_of({"critic/score/mean": [0.5]}), "data-filtered")
