"""What a row says of a curve: printed values with their steps, and medians for a long one."""

from __future__ import annotations

import math

import pytest

from assistant.diagnosis import RunView
from assistant.guide import rows
from assistant.run import Style
from tests.builders import run_of


def view(values: list[float], **more: object) -> RunView:
    return RunView(run_of({"actor/entropy": values}, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "yours"),
    [
        ([0.5], "0.5 (step 1)"),
        ([0.5, 0.25], "0.5 (step 1) → 0.25 (step 2)"),
        ([0.5, 0.5, 0.5], "0.5 at every step (1–3)"),
        ([0.5, 0.6, 0.5], "0.5 (step 1) → 0.6 (step 2) → 0.5 (step 3)"),
        ([0.5, 0.9, 0.2], "0.5 (step 1) → 0.9 (step 2) → 0.2 (step 3)"),
        ([0.5, 0.52, 0.2], "0.5 (step 1) → 0.2 (step 3)"),  # hardly above its ends: not worth a word
        ([0.5, 0.1, 0.6], "0.5 (step 1) → 0.1 (step 2) → 0.6 (step 3)"),
        ([0.5, 0.4, math.nan, math.nan], "0.5 (step 1) → 0.4 (step 2) → nan (step 3) → nan (step 4)"),
    ],
)
def test_the_telling_values_of_a_curve(values: list[float], yours: str) -> None:
    row = rows.row(view(values), "policy_entropy", "en")
    assert row is not None
    assert row.yours == yours
    assert (row.step, row.line, row.card) == (len(values), len(values), "metrics/actor.entropy")


def test_values_are_quoted_as_printed() -> None:
    row = rows.row(view([0.43123, 0.0312], style=Style.FIXED3), "policy_entropy", "en")
    assert row is not None
    assert row.yours == "0.431 (step 1) → 0.031 (step 2)"


def test_medians_of_both_ends_for_a_long_curve_only() -> None:
    long = rows.row(view([1.0] * 9 + [50.0] + [0.5] * 10 + [0.25] * 9 + [90.0]), "policy_entropy", "en")
    short = rows.row(view([1.0, 0.5] * 9), "policy_entropy", "en")
    assert long is not None
    assert short is not None
    assert long.typical == "usually 1 in the first 10, 0.25 in the last 10"
    assert short.typical == ""


def test_a_metric_that_is_not_printed_has_no_row() -> None:
    assert rows.row(view([1.0]), "explained_variance", "en") is None


def test_of_several_validations_the_one_of_the_finding_is_shown() -> None:
    metrics = {"val-core/a/acc/mean@1": [0.1, 0.2], "val-core/b/acc/best@4/mean": [0.5, 0.4], "val-aux/a/x/mean@1": [1.0, 1.0]}
    made = RunView(run_of(metrics))
    usual = rows.row(made, "validation", "en")
    named = rows.row(made, "validation", "en", shown_by=["val-core/b/acc/best@4/mean"])
    assert usual is not None
    assert named is not None
    assert (usual.metric, named.metric) == ("val-core/a/acc/mean@1", "val-core/b/acc/best@4/mean")


def test_every_metric_of_the_guides_has_plain_words_without_keys() -> None:
    from assistant.guide.loading import guides

    for guide in guides().values():
        for step in guide.steps.values():
            for name in step.metrics:
                for language in ("en", "zh"):
                    assert rows.plain(name, language)
                    assert rows.look(name, language)
                    assert "_" not in rows.plain(name, language)
