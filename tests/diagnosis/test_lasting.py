"""Since when something holds, in runs of any length."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assistant.diagnosis.lasting import certainty, evidence, holds
from assistant.diagnosis.view import RunView
from tests.builders import run_of


def mask(text: str) -> np.ndarray:
    return np.array([c == "x" for c in text])


def test_short_runs_must_hold_throughout() -> None:
    assert holds(mask("x")) is not None
    assert holds(mask("xxxx")) is not None
    assert holds(mask("xx.x")) is None
    assert holds(mask("")) is None


def test_the_open_stretch_wins_over_a_longer_old_one() -> None:
    found = holds(mask("xxxxxxxx" + "." * 10 + "xxxx"))
    assert found is not None
    assert (found.start, found.end, found.open) == (18, 21, True)


def test_a_stretch_that_ended_counts_only_when_it_is_a_fifth_of_the_run() -> None:
    assert holds(mask("xxxxxx" + "." * 60)) is None
    found = holds(mask("." * 20 + "x" * 30 + "." * 50))
    assert found is not None
    assert (found.start, found.end, found.open) == (20, 49, False)


@given(st.lists(st.booleans(), max_size=60))
def test_what_is_reported_begins_and_ends_with_a_hit(hits: list[bool]) -> None:
    found = holds(np.array(hits, dtype=bool))
    if found is not None:
        assert hits[found.start]
        assert hits[found.end]


def test_evidence_skips_what_was_not_printed() -> None:
    view = RunView(run_of({"timing_s/step": [1.0, None, 3.0], "timing_s/gen": [None, 2.0, 2.0]}))
    assert [(p.metric, p.step) for p in evidence(view, [1, 3], "time_step", "time_gen", "time_ref")] == [
        ("timing_s/step", 1),
        ("timing_s/step", 3),
        ("timing_s/gen", 3),
    ]


def test_more_steps_give_more_certainty() -> None:
    assert certainty(1) < certainty(5) < certainty(10) == certainty(1000)
