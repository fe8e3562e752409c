"""The eight numbers of a first reading: which, in which order, and what is said of each."""

from __future__ import annotations

from assistant.diagnosis import diagnose
from assistant.guide import missing, teach
from tests.builders import run_of

CURVES = {
    "critic/score/mean": [0.2 + 0.01 * i for i in range(40)],
    "response_length/mean": [200.0] * 40,
    "actor/entropy": [0.5 - 0.002 * i for i in range(40)],
    "actor/grad_norm": [0.3] * 40,
}


def test_a_healthy_number_is_good_and_a_short_log_cannot_tell() -> None:
    long = {lesson.metric: lesson for lesson in teach(diagnose(run_of(CURVES)))}
    short = {lesson.metric: lesson for lesson in teach(diagnose(run_of({name: values[:4] for name, values in CURVES.items()})))}
    assert long["actor/entropy"].verdict == "good"
    assert short["actor/entropy"].verdict == "unknown"
    assert "logged steps" in short["actor/entropy"].comment


def test_a_broken_number_says_what_is_wrong_in_plain_words() -> None:
    diagnosis = diagnose(run_of(CURVES | {"critic/score/mean": [0.0] * 40, "critic/score/max": [0.0] * 40, "critic/score/min": [0.0] * 40}))
    first = teach(diagnosis)[0]
    assert "reward-flat-floor" in {finding.id for finding in diagnosis.faults}
    assert (first.metric, first.verdict) == ("critic/score/mean", "bad")
    assert "Every answer gets the lowest mark" in first.comment
    assert "每个回答都拿最低分" in teach(diagnosis, "zh")[0].comment


def test_the_order_and_what_is_missing() -> None:
    diagnosis = diagnose(run_of(CURVES))
    assert [lesson.metric for lesson in teach(diagnosis)] == list(CURVES)
    assert "`response_length/clip_ratio`" in missing(diagnosis)
    assert not any("grad_norm" in name for name in missing(diagnosis))


def test_a_log_without_metrics_teaches_nothing() -> None:
    diagnosis = diagnose(run_of({}))
    assert (teach(diagnosis), missing(diagnosis)) == ([], [])
