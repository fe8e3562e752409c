"""The shared data: printed precision, columns, records."""

import numpy as np
import pytest

from assistant.run import FIXED_DECIMALS, NO_STEP, SCIENTIFIC, SCIENTIFIC_UPPER, Column, Run, Series, Style, json_value, print_value
from tests.builders import run_of


def test_a_value_prints_as_the_log_printed_it() -> None:
    assert print_value(0.0, Style.FIXED3) == "0.000"
    assert print_value(-0.0, Style.FIXED3) == "-0.000"
    assert print_value(1e-06, Style.REPR) == "1e-06"
    assert print_value(5.0, Style.INT) == "5"
    assert print_value(1.0, Style.BOOL) == "True"
    assert print_value(float("nan"), Style.NUMPY) == "nan"


def test_three_decimals_hide_what_is_below_half_of_the_last() -> None:
    series = run_of({"actor/lr": [1e-6]}, style=Style.FIXED3).series("actor/lr")
    assert series is not None
    assert series.text(0) == "0.000"
    assert series.resolution(0) == 0.0005


def test_records_merge_the_rows_of_one_step_and_keep_non_finite_values() -> None:
    run = Run(
        row_steps=np.array([1, 1, 2]),
        row_lines=np.array([10, 11, 12]),
        row_records=np.array([0, 0, 1]),
        columns={
            "a": Column(np.array([0, 2], np.int32), np.array([0.5, np.nan]), np.array([Style.REPR] * 2, np.uint8)),
            "b": Column(np.array([1], np.int32), np.array([-np.inf]), np.array([Style.REPR], np.uint8)),
        },
    )
    assert list(run.records()) == [
        {"step": 1, "line": 10, "values": {"a": 0.5, "b": "-inf"}},
        {"step": 2, "line": 12, "values": {"a": "nan"}},
    ]
    assert (run.n_records, run.first_step, run.last_step) == (2, 1, 2)


def test_a_row_without_a_step_is_a_record_without_one() -> None:
    run = run_of({"a": [0.5]}, steps=[NO_STEP])
    assert next(iter(run.records()))["step"] is None
    series = run.series("a")
    assert series is not None
    assert series.point(0).step is None
    assert run.first_step is None


def test_series_take_keeps_texts_with_their_values() -> None:
    run = run_of({"a": [1.0, 2.0, 3.0]})
    column = run.columns["a"]
    run.columns["a"] = Column(column.rows, column.values, column.styles, {2: "3.0e0"})
    series = run.series("a")
    assert series is not None
    taken = series.take(np.array([False, True, True]))
    assert [taken.text(i) for i in range(2)] == ["2.0", "3.0e0"]
    assert taken.point(-1).text == "3.0e0"


@pytest.mark.parametrize(
    ("value", "style", "expected"),
    [(float("inf"), Style.REPR, "inf"), (2.0, Style.INT, 2), (1.0, Style.BOOL, True), (float("nan"), Style.NULL, None)],
)
def test_json_value(value: float, style: Style, expected: object) -> None:
    found = json_value(value, style)
    assert found == expected
    assert type(found) is type(expected)


def test_a_fixed_number_of_decimals_prints_back_and_knows_its_resolution() -> None:
    style = FIXED_DECIMALS + 6
    assert print_value(0.5, style) == "0.500000"
    run = run_of({"a": [0.5]})
    run.columns["a"] = Column(np.array([0], np.int32), np.array([0.5]), np.array([style], np.uint8))
    series = run.series("a")
    assert series is not None
    assert (series.text(0), series.resolution(0)) == ("0.500000", pytest.approx(5e-7))


@pytest.mark.parametrize(
    ("style", "value", "text", "resolution"),
    [
        (SCIENTIFIC + 2, 11100.0, "1.11e+04", 50.0),
        (SCIENTIFIC + 4, 0.0, "0.0000e+00", 0.00005),
        (SCIENTIFIC_UPPER + 6, -7.399415, "-7.399415E+00", 5e-7),
        (SCIENTIFIC_UPPER + 6, float("nan"), "nan", 5e-7),
    ],
)
def test_numbers_with_an_exponent_say_how_exact_they_are(style: int, value: float, text: str, resolution: float) -> None:
    series = Series("x", np.ones(1, np.int64), np.array([value]), np.ones(1, np.int64), np.array([style], np.uint8))
    assert series.text(0).lower() == text.lower()
    assert series.resolution(0) == pytest.approx(resolution)
