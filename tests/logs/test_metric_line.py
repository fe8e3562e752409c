"""The grammar of one line: what is generated in each style comes back exactly."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assistant.logs import read
from assistant.logs.columns import Table
from assistant.logs.metric_line import LineReader
from assistant.logs.metric_part import End, parse_part
from assistant.run import FIXED_DECIMALS, Style

KEYS = st.lists(
    st.one_of(
        st.sampled_from(["actor/lr(1e-4)", "val-core/openai/gsm8k/acc/mean@1", "train/total_tokens(B)", "actor/pg_loss", "perf/mfu/actor"]),
        st.from_regex(r"[a-z][a-z_0-9]{0,8}/[a-z0-9@_.\-]{0,7}[a-z0-9@]", fullmatch=True),
    ),
    min_size=1,
    max_size=12,
    unique=True,
)
NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-1e3, 1e3),
    st.sampled_from([0.0, -0.0, 1e-06, 5.000000000000001e-07, 1.5e-05, 1e16, 1e22, 5e-324]),
)
PRINTERS: dict[str, Callable[[float], str]] = {
    "three decimals": lambda v: f"{v:.3f}",
    "in full": repr,
    "numpy": lambda v: f"np.float64({v!r})",
    "six decimals": lambda v: f"{v:.6f}",
    "scientific": lambda v: f"{v:.4e}",
}
PREFIXES = st.sampled_from(
    [
        "",
        "(TaskRunner pid=11) ",
        "\x1b[36m(TaskRunner pid=11, ip=10.1.2.3)\x1b[0m ",
        "[36m(main_task pid=3)[0m ",
        "(TaskRunnerV1 pid=1) Training Progress:   1%|▏         | 1/105 [01:00<1:44:00, 60.0s/it](TaskRunnerV1 pid=1) ",
        "Training Progress:   1%|▏         | 1/105 [01:00<1:44:00, 60.0s/it]",
        "(TaskRunner pid=11) \rTraining Progress: 3%|▎ | 13/435 [12:02<6:28:10, 55.19s/it]\r",
        "2025-03-10T12:00:01.123Z (TaskRunner pid=9) ",
    ]
)
ENDS = st.sampled_from(
    ["\n", "\r\n", " \n", "\x1b[0m\n", " [repeated 7x across cluster]\n", "\x1b[32m [repeated 2x across cluster]\x1b[0m\n"]
)


@given(PREFIXES, ENDS, KEYS, st.lists(NUMBERS, min_size=12, max_size=12), st.sampled_from(sorted(PRINTERS)), st.integers(0, 10**6))
def test_a_line_of_any_style_comes_back_exactly(
    prefix: str, end: str, keys: list[str], numbers: list[float], printer: str, step: int
) -> None:
    texts = [PRINTERS[printer](number) for number in numbers[: len(keys)]]
    line = f"{prefix}step:{step} - " + " - ".join(f"{key}:{text}" for key, text in zip(keys, texts, strict=True)) + end
    run = read(f"(WorkerDict pid=3) noise\n{line}tail\n".encode())
    assert list(run.row_steps) == [step]
    assert list(run.row_lines) == [2]
    assert list(run.columns) == keys
    for key, text in zip(keys, texts, strict=True):
        series = run.series(key)
        assert series is not None
        bare = text.removeprefix("np.float64(").removesuffix(")")
        assert series.text(0) == bare
        assert series.values[0] == float(bare) or (math.isnan(series.values[0]) and bare == "nan")


@given(
    st.lists(
        st.sampled_from(["3", "0", "-7", "True", "False", "12345678901234567890", "0.5", "1e-06", "nan", "-inf"]), min_size=1, max_size=9
    )
)
def test_whole_numbers_and_truth_values_keep_their_look(texts: list[str]) -> None:
    body = "step:4 - " + " - ".join(f"a/k{i}:{text}" for i, text in enumerate(texts))
    run = read(body.encode() + b"\n")
    for i, text in enumerate(texts):
        series = run.series(f"a/k{i}")
        assert series is not None
        assert series.text(0) == text


@given(KEYS, st.lists(st.floats(-10, 10), min_size=12, max_size=12))
def test_the_quick_way_and_the_careful_way_agree(keys: list[str], numbers: list[float]) -> None:
    assume(all(n == 0 or abs(n) > 1e-300 for n in numbers))
    body = ("step:7 - " + " - ".join(f"{key}:{number!r}" for key, number in zip(keys, numbers, strict=False))).encode()
    reader = LineReader(Table())
    quick, careful = reader._quick(body), reader._careful(body, End.WHOLE)
    assert careful is not None
    if quick is not None:
        assert quick.layout is careful.layout
        assert list(quick.values) == list(careful.values)
        assert not careful.texts
        if len(keys) > 2:
            three = Style.FIXED3 in quick.styles or Style.FIXED3 in careful.styles
            assert three or quick.styles == careful.styles


@pytest.mark.parametrize(
    ("text", "style", "again"),
    [
        ("np.int32(2)", Style.INT, "2"),
        ("np.bool_(True)", Style.BOOL, "True"),
        ("np.True_", Style.BOOL, "True"),
        ("np.float32(0.1)", Style.NUMPY, "0.1"),
        ("0.500000", FIXED_DECIMALS + 6, "0.500000"),
        ("NaN", Style.OTHER, "NaN"),
        ("1E-6", Style.OTHER, "1E-6"),
        ("-0", Style.OTHER, "-0"),
        ("5.", Style.OTHER, "5."),
    ],
)
def test_odd_numbers(text: str, style: int, again: str) -> None:
    run = read(f"step:1 - a/b:{text} - a/c:0.25 - a/d:0.1234\n".encode())
    series = run.series("a/b")
    assert series is not None
    assert (series.styles[0], series.text(0)) == (style, again)


def test_a_key_may_hold_colons_dashes_and_spaces() -> None:
    run = read(b"step:1 - val/test_score/gsm8k - hard:0.5 - a/http://x:80/y:2 - train/two words:3\n")
    assert {name: column.values[0] for name, column in run.columns.items()} == {
        "val/test_score/gsm8k - hard": 0.5,
        "a/http://x:80/y": 2.0,
        "train/two words": 3.0,
    }


def test_of_a_key_printed_twice_in_one_line_the_last_counts() -> None:
    run = read(b"step:1 - a/b:1 - a/c:5 - a/b:2\n")
    assert run.columns["a/b"].values.tolist() == [2.0]


def test_the_value_stands_behind_the_last_colon() -> None:
    part = parse_part(b"critic/lr(1e-4):0.010")
    assert part is not None
    assert (part.key, part.text) == (b"critic/lr(1e-4)", b"0.010")
    assert parse_part(b"no number:here") is None


def test_one_row_with_three_decimals_by_chance_does_not_make_a_rounding_log() -> None:
    full = "".join(f"step:{i} - a/b:{i / 7!r} - a/c:{i / 3!r} - a/d:{i / 11!r}\n" for i in range(1, 9))
    run = read((full + "step:9 - val/x:0.125\n").encode())
    series = run.series("val/x")
    assert series is not None
    assert series.resolution(0) == 0.0
