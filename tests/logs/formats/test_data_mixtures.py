"""Whatever stands in a file: nothing raises, and no step or value is reported that is not in the text."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.logs import read
from assistant.run import NO_STEP

ROWS = [{"step": i, "loss": 0.5 / i, "kl": 0.01 * i, "reward": -1.25} for i in range(1, 9)]
CSV = ["step,loss,kl,reward", *(f"{r['step']},{r['loss']},{r['kl']:.3f},{'' if r['step'] % 2 else r['reward']}" for r in ROWS)]
LINES = [json.dumps(row) for row in ROWS]
NESTED = [json.dumps({"step": row["step"], "metrics": {"a": {"b": row["loss"]}}}) for row in ROWS]
DOCUMENT = json.dumps({"log_history": ROWS, "max_steps": 77}, indent=1).split("\n")
COLUMNS = json.dumps({"step": [1, 2, 3], "loss": [0.5, 0.25, 0.125]}, indent=1).split("\n")
SWIFT = [json.dumps({"loss": 0.5, "global_step/max_steps": f"{i}/91", "epoch": 0.1}) for i in range(1, 5)]
VERL = [f"step:{i} - actor/entropy:0.4{i}0 - actor/lr:0.000" for i in range(1, 9)]
DICTS = [f"{{'loss': {0.1 * i:.4f}, 'grad_norm': 1.5, 'learning_rate': 1e-06, 'epoch': 0.{i}}}" for i in range(1, 9)]
WORDS = ["", "Traceback (most recent call last):", "hello, world", "100%|██████████| 8/8 [00:01<00:00]", "{", "]", '"', "step,loss"]
ALL = [CSV, LINES, NESTED, DOCUMENT, COLUMNS, SWIFT, VERL, DICTS, WORDS]

PIECE = st.sampled_from(ALL).flatmap(lambda lines: st.tuples(st.just(lines), st.integers(0, len(lines)), st.integers(0, len(lines))))


@settings(max_examples=250, deadline=None)
@given(st.lists(PIECE, min_size=1, max_size=5), st.booleans(), st.integers(0, 2500), st.sampled_from(["", "csv", "json", "json-lines"]))
def test_mixtures(pieces: list[tuple[list[str], int, int]], interleaved: bool, cut: int, forced: str) -> None:
    parts = [lines[min(a, b) :] if a > b else lines[a : b + 1] for lines, a, b in pieces]
    if interleaved:
        longest = max(map(len, parts))
        lines = [part[place] for place in range(longest) for part in parts if place < len(part)]
    else:
        lines = [line for part in parts for line in part]
    text = "\n".join(lines)
    text = text[: len(text) - cut % 40]
    run = read(text.encode(), format=forced or None)
    if run.format not in ("csv", "json", "json-lines"):
        return
    source = text.split("\n")
    numbered = any(note.kind == "numbered-records" for note in run.notes)
    for name, column in run.columns.items():
        series = run.series(name)
        assert series is not None
        for index in range(len(column.rows)):
            point = series.point(index)
            assert 1 <= point.line <= len(source)
            assert point.text in text or point.text in ("nan", "inf", "-inf", "null"), (name, point)
            assert numbered or point.step is None or point.step == NO_STEP or str(point.step) in text, (name, point)
