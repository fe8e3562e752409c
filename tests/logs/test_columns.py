"""The table of numbers: order, shared row numbers, styles, records and segments."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assistant.logs.columns import CHUNK, Table, records, segments
from assistant.run import NO_STEP, Run, Style


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=60), st.integers(1, 80))
def test_rows_of_changing_layouts_come_back_in_order(rows: list[tuple[int, bool]], repeat: int) -> None:
    layouts = [("a/x", "a/y"), ("a/y", "a/x", "a/z"), ("a/z",), ("a/x", "a/w", "a/q")]
    table = Table()
    want: dict[str, list[tuple[int, float, int, str | None]]] = {}
    for row, (number, with_text) in enumerate(rows * repeat):
        keys = layouts[number]
        values = [float(row * 10 + i) for i in range(len(keys))]
        styles = bytes([Style.OTHER if with_text else Style.REPR]) * len(keys)
        texts = {i: f"t{row}.{i}" for i in range(len(keys))} if with_text else None
        table.add(row, row + 1, table.layout(keys), values, styles, texts)
        for i, key in enumerate(keys):
            want.setdefault(key, []).append((row, values[i], styles[i], texts[i] if texts else None))
    found = table.finish()
    assert set(found["columns"]) == set(want)
    for key, column in found["columns"].items():
        have = [
            (int(r), float(v), int(s), column.texts.get(i))
            for i, (r, v, s) in enumerate(zip(column.rows, column.values, column.styles, strict=True))
        ]
        assert have == want[key]


def test_metrics_that_are_always_printed_together_share_their_row_numbers() -> None:
    table = Table()
    layout = table.layout(("a/x", "a/y"))
    for i in range(3 * CHUNK + 5):
        table.add(i, i + 1, layout, [float(i), -float(i)], bytes([Style.FIXED3, Style.FIXED3]))
    columns = table.finish()["columns"]
    assert columns["a/x"].rows is columns["a/y"].rows
    assert columns["a/x"].styles.strides == (0,)  # one byte, however long the run is
    assert columns["a/y"].values[-1] == -(3.0 * CHUNK + 4)


def test_consecutive_rows_of_a_step_are_one_record_and_stepless_rows_are_not() -> None:
    assert records(np.array([1, 1, 2, 1, NO_STEP, NO_STEP])).tolist() == [0, 0, 1, 2, 3, 4]
    assert records(np.zeros(0, np.int64)).tolist() == []


def test_segments_begin_where_steps_fall() -> None:
    steps = np.array([NO_STEP, 1, 2, 3, 3, 2, 3, 4, 1])
    lines = np.arange(1, 10)
    found = segments(steps, lines, np.zeros(9, np.int64), [{"a/x"}])
    assert [(s.first_row, s.last_row, s.first_step, s.last_step, s.first_line) for s in found] == [
        (1, 4, 1, 3, 2),
        (5, 7, 2, 4, 6),
        (8, 8, 1, 1, 9),
    ]


def test_rows_of_a_block_are_one_record_and_a_repeated_step_with_the_same_names_is_another() -> None:
    table = Table()
    a, b = table.layout(("a",)), table.layout(("b",))
    table.add(NO_STEP, 1, a, [1.0], bytes([Style.REPR]))
    table.add(NO_STEP, 2, b, [2.0], bytes([Style.REPR]), same_record=True)
    table.add(5, 3, a, [3.0], bytes([Style.REPR]))
    table.add(5, 4, b, [4.0], bytes([Style.REPR]))
    table.add(5, 5, a, [5.0], bytes([Style.REPR]), new_record=True)
    run = Run(**table.finish())
    assert [record["values"] for record in run.records()] == [{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 4.0}, {"a": 5.0}]
