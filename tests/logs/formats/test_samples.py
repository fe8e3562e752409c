"""The contract of a text format: its own sample lines are recognised, and read back exactly."""

from __future__ import annotations

import io

import pytest

from assistant.logs import read, read_text
from assistant.logs.formats import file_formats, shape_of, text_formats
from assistant.logs.formats.base import Format, Head, Sample
from assistant.messages import has

SAMPLES = [(one, sample) for one in text_formats() for sample in one.samples]
IDS = [f"{one.name}-{number}" for number, (one, _) in enumerate(SAMPLES)]
ASIDE = frozenset({"json-lines", "csv", "json", "tensorboard-download"})
"""Formats of files: tested on their own."""

CONSOLE = [pair for pair in zip(SAMPLES, IDS, strict=True) if pair[0][0].name not in ASIDE]


@pytest.mark.parametrize(("one", "sample"), [pair for pair, _ in CONSOLE], ids=[name for _, name in CONSOLE])
def test_a_sample_is_recognised_and_read_back(one: Format, sample: Sample) -> None:
    run = read_text(sample.text)
    assert (run.format, run.framework) == (one.name, sample.framework)
    records = list(run.records())
    assert len(records) == len(sample.records)
    for have, want in zip(records, sample.records, strict=True):
        assert have["step"] == want["step"]
        for key, value in want["values"].items():
            assert have["values"].get(key, "missing") == value, key


@pytest.mark.parametrize(("one", "sample"), [pair for pair, _ in CONSOLE], ids=[name for _, name in CONSOLE])
def test_a_sample_reads_the_same_from_a_stream_with_other_lines_around(one: Format, sample: Sample) -> None:
    noise = "Loading checkpoint shards: 100%|##########| 4/4 [00:05<00:00, 1.3s/it]\nINFO 08-01 12:00:00 engine ready, see page 3\n"
    text = noise + sample.text + noise
    alone, inside = read_text(sample.text), read(io.BytesIO(text.encode()))
    assert inside.format == one.name
    assert inside.n_lines == text.count("\n")
    values = [record["values"] for record in inside.records()]
    assert values == [record["values"] for record in alone.records()]
    assert [r["line"] for r in inside.records()] == [r["line"] + 2 for r in alone.records()]


@pytest.mark.parametrize("one", text_formats(), ids=lambda one: one.name)
def test_other_text_scores_nothing(one: Format) -> None:
    prose = b"My run does not learn. I use 8 GPUs, a batch of 512 and a learning rate of 1e-6; why is that? Thanks in advance!\n"
    code = b'print(f"global_step={step}, episodic_return={ret}")\nfor step in range(100): loss = model(x)\n'
    for text in (b"", prose, code, b"\x00\xff" * 50, b"{" * 200, b"|" * 200):
        assert one.score(Head(text)).lines == 0


def test_every_format_is_told_in_both_languages() -> None:
    for one in (*text_formats(), *file_formats()):
        assert has(f"formats.{one.name}"), one.name
        assert shape_of(one.name, "en") != shape_of(one.name, "zh"), one.name
