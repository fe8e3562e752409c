from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.logs.files.json_parts import parts_of
from assistant.logs.files.json_text import line_object
from assistant.logs.files.values import Printed

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("line", "text"),
    [(b'{"a": 0.50}', "0.50"), (b'{"a":1E-5}', "1E-5"), (b'{"a": 1e400}', "1e400"), (b'{"a": -0}', "-0"), (b'{"a": 0.00001}', "0.00001")],
)
def test_digits_that_python_would_not_print_are_kept(line: bytes, text: str) -> None:
    found = line_object(line)
    assert isinstance(found["a"], Printed)
    assert found["a"].text == text


def test_nan_is_read_though_json_has_none() -> None:
    found = line_object(b'{"a": NaN, "b": -Infinity, "c": 1e-06}')
    assert found["a"] != found["a"]
    assert found["b"] == float("-inf")
    assert found["c"] == 1e-06


@pytest.mark.parametrize("line", [b"", b"[1, 2]", b'{"a": 1', b"nan", b"{" * 3000, b'{"a": ' + b"[" * 5000])
def test_what_is_no_object(line: bytes) -> None:
    assert line_object(line) is None


@given(st.dictionaries(st.text(max_size=6), VALUES, max_size=6))
def test_lines_are_read_as_the_plain_parser_reads_them(found: dict[str, object]) -> None:
    line = json.dumps(found)
    assert json.dumps(line_object(line.encode())) == json.dumps(json.loads(line))


def test_records_carry_the_line_where_they_begin() -> None:
    parts = parts_of('{\n "a": 1,\n "log_history": [\n  {"loss": 0.5},\n\n  {\n   "loss": 0.25\n  }\n ]\n}')
    assert parts.records == {"log_history": [({"loss": 0.5}, 4), ({"loss": 0.25}, 6)]}
    assert parts.singles == {"": ({"a": 1}, 1)}
    assert not parts.cut


def test_a_cut_text_gives_what_stands_before_the_cut() -> None:
    parts = parts_of('{"log_history": [{"loss": 0.5},\n{"loss": 0.25},\n{"los')
    assert [record for record, _ in parts.records["log_history"]] == [{"loss": 0.5}, {"loss": 0.25}]
    assert parts.cut == 3


def test_texts_one_after_another() -> None:
    parts = parts_of('{\n"step": 1\n}\n{\n"step": 2\n}\n')
    assert parts.records[""] == [({"step": 1}, 1), ({"step": 2}, 4)]


@given(VALUES.filter(lambda value: isinstance(value, (list, dict))), st.integers(0, 80), st.sampled_from([None, 1]))
def test_walking_never_fails(value: object, cut: int, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    whole = parts_of(text)
    assert not whole.cut
    parts_of(text[:cut])
    parts_of(text[cut:])
