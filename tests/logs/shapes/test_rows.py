"""A line read by a learned pattern gives what the careful way gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assistant.logs.columns import Table
from assistant.logs.formats.megatron import Megatron
from assistant.logs.formats.prime_rl import PrimeRl
from assistant.logs.formats.torchtune import Torchtune
from assistant.logs.shapes.dict_places import find_places
from assistant.logs.shapes.rows import Reading, Row, RowReader
from assistant.run import print_value

NUMBERS = st.one_of(
    st.floats(allow_nan=True).map(repr),
    st.integers(-(2**60), 2**60).map(str),
    st.floats(-1e6, 1e6).map("{:.4f}".format),
    st.floats(-1e6, 1e6).map("{:.6E}".format),
)


def dict_places(text: str) -> Reading | None:
    found = find_places(text)
    return Reading(found.places, cut=found.cut, loose=found.loose) if found.places else None


def plain(row: Row | None) -> object:
    if row is None:
        return None
    shown = [row.texts.get(i) or print_value(value, row.styles[i]) for i, value in enumerate(row.values)]
    return row.step, row.layout.keys, [repr(value) for value in row.values], shown


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=2, max_size=6), st.booleans())
def test_a_learned_pattern_reads_what_the_careful_way_reads(rows: list[tuple[str, str, str]], fixed: bool) -> None:
    warm = RowReader(Table(), dict_places, fixed=fixed, rounded={"loss": 4})
    for number, (loss, kl, count) in enumerate(rows):
        line = f"{{'loss': {loss}, 'kl': {kl}, 'time': '{number}h 1{number}m', 'count_0': {count}}}".encode()
        cold = RowReader(Table(), dict_places, fixed=fixed, rounded={"loss": 4})
        assert plain(warm.read(line)) == plain(cold.read(line))


def test_digits_in_a_name_are_not_taken_for_values() -> None:
    reader = RowReader(Table(), dict_places)
    first = reader.read(b"{'zero_std/count_0': 12, 'lr-pg_0': 1e-06}")
    again = reader.read(b"{'zero_std/count_1': 14, 'lr-pg_1': 2e-06}")
    assert first is not None
    assert again is not None
    assert first.layout.keys == ("zero_std/count_0", "lr-pg_0")
    assert again.layout.keys == ("zero_std/count_1", "lr-pg_1")
    assert list(again.values) == [14.0, 2e-06]


def test_the_width_of_gaps_and_the_time_in_front_may_change() -> None:
    one = Megatron()
    reader = RowReader(Table(), one.find, fixed=True)
    for step in (9, 10, 12345):
        row = reader.read(
            f" [2025-04-13 23:{step % 60:02d}:12] iteration {step:8d}/  100000 | lm loss: 7.39E+00 | grad norm: {step}.231 |".encode()
        )
        assert row is not None
        assert (row.step, row.total, list(row.values)) == (step, 100000, [7.39, step + 0.231])


def test_units_and_signs() -> None:
    torchtune = RowReader(Table(), Torchtune().find)
    for value in ("-1.5", "1.5", "nan", "-inf"):
        row = torchtune.read(f"Step 7 | loss:{value} lr:2e-05 ".encode().rstrip())
        assert row is not None
        assert repr(row.values[0]) == repr(float(value))
    prime = RowReader(Table(), PrimeRl().find, fixed=True)
    row = prime.read(b"12:00:00 SUCCESS Step 3 | 12.50s | Reward 0.5000 | Trainable 16/32 (50.0%) | Truncation 3.1%")
    assert row is not None
    assert dict(zip(row.layout.keys, row.values, strict=True)) == {"Time": 12.5, "Reward": 0.5, "Trainable (%)": 50.0, "Truncation": 3.1}
