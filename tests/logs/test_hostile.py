"""Whatever the bytes are: a run comes back, for work that grows with their number, and says what it was."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from assistant.logs import UnreadableLog, read, read_text, stream
from assistant.messages import has, say
from benchmarks.reading import HOSTILE
from tests.counting import calls

LOG = "".join(f"(TaskRunner pid=7) step:{i} - actor/entropy:{i / 100!r} - actor/kl:0.00{i}\n" for i in range(1, 60))


@given(st.binary(max_size=3000))
def test_any_bytes_give_a_run(data: bytes) -> None:
    run = read(data)
    assert run.n_bytes == len(data)
    for note in run.notes:
        assert has(f"logs.note.{note.kind}")
        for language in ("en", "zh"):
            assert say(f"logs.note.{note.kind}", language, **{"line": note.line, **note.data})


FRAGMENTS = st.sampled_from(
    [
        "step:1 - ", "actor/kl:0.5", " - ", "\n", "\r", "(TaskRunner pid=7) ", "[prompt] ", "[score] 1",
        "{'actor_rollout_ref': {'actor': {", "'a': 1,", "}}", "Traceback (most recent call last):\n",
        '  File "/a.py", line 3, in update_actor\n', "ValueError: x\n", "Training Progress: 3%| | 1/9 [00:01<00:02, 1.0s/it]",
        '("Initial validation metrics: {', "'val/x': 0.5}\")", "overrides: ['a.b=1'", "\x00", "np.float64(", "nan",
        "wandb: Run summary:\n", "wandb: a/b 1\n", "data.train_batch_size=5 \\\n", "\x1b[36m", "step:2 - val/x:1 -",
    ]
)  # fmt: skip


@given(st.lists(FRAGMENTS, max_size=40))
def test_any_mixture_of_log_fragments_gives_a_run(pieces: list[str]) -> None:
    text = "".join(pieces)
    run = read_text(text)
    if "\n" in text or text.count("\r") < 3:
        assert run.n_lines == text.count("\n") + bool(text and not text.endswith("\n"))
    assert (run.row_lines >= 1).all()
    assert (run.row_lines <= run.n_lines).all()
    for column in run.columns.values():
        assert (column.rows[1:] > column.rows[:-1]).all()
    list(run.records())


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "empty"),
        (b" \n\n\t\n", "empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x02\x01" * 40, "binary"),
        (b"Hello, my training does not work.\nWhat should I do?\n", "prose"),
        (b"Unsloth: Will smartly offload gradients to save VRAM!\n" * 4, "other-framework"),
        (b"(TaskRunner pid=7) Total training steps: 435\n", "no-metrics"),
    ],
)
def test_an_input_without_metrics_says_what_it_is(data: bytes, kind: str) -> None:
    run = read(data)
    assert [note.kind for note in run.notes] == [kind]
    assert run.n_rows == 0


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(LOG.encode()),
        gzip.compress(LOG[:1000].encode()) + gzip.compress(LOG[1000:].encode()),
        zstandard.compress(LOG.encode()),
        b"\xef\xbb\xbf" + LOG.encode(),
        LOG.encode("utf-16"),
        LOG.encode("utf-16-le"),
        LOG.encode("utf-16-be"),
        LOG.replace("\n", "\r\n").encode(),
        LOG.replace("\n", "\r").encode(),
        LOG.replace("step", "\x00step").encode(),
    ],
    ids=["gzip", "gzip twice", "zstd", "bom", "utf-16", "utf-16-le", "utf-16-be", "crlf", "cr", "nul"],
)
def test_packed_and_encoded_logs_read_the_same(data: bytes) -> None:
    plain, run = read(LOG.encode()), read(data)
    assert list(run.records()) == list(plain.records())
    assert run.n_bytes == len(data)


@pytest.mark.parametrize("packed", [gzip.compress(LOG.encode() * 50), zstandard.compress(LOG.encode() * 50)], ids=["gzip", "zstd"])
def test_a_cut_archive_gives_what_it_holds_and_says_so(packed: bytes) -> None:
    run = read(packed[: len(packed) // 2])
    assert "cut-archive" in [note.kind for note in run.notes]


def test_the_hash_is_of_the_bytes_as_given(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    import hashlib

    monkeypatch.setattr(stream, "BLOCK", 64 << 10)
    data = LOG.encode() * 100
    path = tmp_path / "log.txt"
    path.write_bytes(data)
    seen: list[int] = []
    run = read(path, progress=seen.append)
    assert run.sha256 == hashlib.sha256(data).hexdigest() == read(io.BytesIO(data)).sha256
    assert seen[-1] == run.n_bytes == len(data)
    assert len(seen) > 4  # blocks: they are hashed beside the reading


@pytest.mark.parametrize("name", HOSTILE)
def test_very_long_lines_take_work_that_grows_with_their_length(name: str) -> None:
    """Seconds are in `benchmarks.reading`."""
    once, twice = HOSTILE[name](30_000), HOSTILE[name](60_000)
    run = read_text(twice)
    assert run.n_bytes == len(twice)
    assert calls(lambda: read_text(twice)) < 2.2 * calls(lambda: read_text(once)) + 5000


def test_a_missing_file_and_an_empty_folder_are_told_apart(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UnreadableLog, match="missing"):
        read(tmp_path / "none.log")
    assert [note.kind for note in read(tmp_path).notes] == ["empty-folder"]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_packed_log_that_swells_beyond_measure_is_not_unpacked_to_its_end(
    pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "_BOMB_BYTES", 1 << 20)
    metrics = b"step:1 - actor/entropy:0.431 - critic/score/mean:0.250\n"
    run = read(pack(metrics + b"0" * (16 << 20)))
    assert run.n_records == 1
    assert "cut-archive" in [note.kind for note in run.notes]
    kept = read(pack(metrics * 10_000))
    assert (kept.n_lines, [note.kind for note in kept.notes if note.kind == "cut-archive"]) == (10_000, [])
