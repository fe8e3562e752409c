"""Numbers in sentences: few digits, and never more than was printed."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.diagnosis.facts import printed
from assistant.run import Point
from tests.real import diagnosis_of_file

LOGS = sorted((Path(__file__).parents[3] / "shared" / "cases" / "verl").glob("*/log.txt"))
NUMBER = re.compile(r"[-+\d.,eE%\s]*(?:nan|inf)?")
"""What a fact that is no word consists of."""


def shown(text: str) -> str:
    return printed(Point("a", 1, float(text), text, 3)).text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("40.85542946122587", "40.86"),
        ("0.000", "0.000"),
        ("0.031", "0.031"),
        ("-1.234e-05", "-1.23e-05"),
        ("1024.000", "1024"),
        ("-0.00012345678", "-0.000123"),
        ("1e-06", "1e-06"),
        ("nan", "nan"),
        ("-inf", "-inf"),
        ("3.2e+19", "3.2e+19"),
        ("12345678901234.5", "1.235e+13"),
    ],
)
def test_long_expansions_are_shortened_and_short_ones_kept(text: str, kept: str) -> None:
    assert shown(text) == kept


@given(st.floats(min_value=-1e30, max_value=1e30).filter(lambda value: value == 0 or abs(value) > 1e-30))
def test_any_printed_value_stays_short_and_close(value: float) -> None:
    for text in (repr(value), f"{value:.3f}"):
        said = shown(text)
        assert len(said) <= 10  # a minus sign, four digits, a point and an exponent
        assert math.isclose(float(said), float(text), rel_tol=6e-3, abs_tol=1e-12)


@pytest.mark.skipif(not LOGS, reason="the labelled logs are not here")
@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.parent.name)
def test_no_sentence_of_a_real_log_quotes_a_long_number(log: Path) -> None:
    facts = [(f.id, name, fact) for f in diagnosis_of_file(log).findings for name, fact in f.facts.items()]
    facts = [(finding, name, fact) for finding, name, fact in facts if fact.kind in ("run", "derived")]
    assert [(finding, name, fact.text) for finding, name, fact in facts if len(fact.text) > 9 and NUMBER.fullmatch(fact.text)] == []
