"""Logs in their folder: any line quickly, nothing half written, names that lead nowhere."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.logs.stream import Source
from assistant.sessions import frames
from assistant.sessions.frames import Damaged, Index
from assistant.sessions.logs import LogFolder, TooLarge, safe_name
from tests.sessions.logs import PACKED

TEXT = st.one_of(
    st.binary(max_size=400),
    st.lists(st.binary(max_size=30), max_size=40).map(b"\n".join),
    st.text(alphabet="ab \n\r中é\u00a0", max_size=300).map(str.encode),
)


@pytest.fixture
def small_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame holds 16 bytes, a call 50 lines and 300 bytes, a line 40."""
    for name, value in (("FRAME", 16), ("MOST_LINES", 50), ("MOST_BYTES", 300), ("LONGEST", 40)):
        monkeypatch.setattr(frames, name, value)


@pytest.mark.usefixtures("small_frames")
@settings(max_examples=300, deadline=None)
@given(data=TEXT, first=st.integers(-2, 45), span=st.integers(0, 60))
def test_any_stretch_of_lines_is_found(tmp_path_factory: pytest.TempPathFactory, data: bytes, first: int, span: int) -> None:
    path = tmp_path_factory.getbasetemp() / "frames.zst"
    with path.open("wb") as file:
        written = frames.write(iter([data[:7], data[7:]]), file)
    index = Index.from_bytes(written.index.to_bytes())
    whole = data.split(b"\n")
    if whole[-1] == b"":
        whole.pop()
    assert index.total == len(whole)
    assert b"".join(frames.unpacked(path, index)) == data
    found = frames.lines(path, index, first, first + span)
    wanted = range(max(first, 1), min(first + span, len(whole)) + 1)
    numbers = [line.line for line in found]
    assert numbers == list(wanted)[: len(numbers)]
    for line in found:
        assert line.text == frames.shown(whole[line.line - 1][:40])
    left_out = len(numbers) < len(wanted) or any(len(whole[number - 1]) > 40 for number in numbers)
    assert found.cut == left_out
    assert len(found) <= 50
    assert bool(found) == bool(wanted)


@pytest.mark.usefixtures("small_frames")
@settings(max_examples=200, deadline=None)
@given(data=TEXT, words=st.sampled_from(["a", "AB", "中", "é", "b\r", "ab a"]), first=st.integers(1, 20), limit=st.integers(1, 8))
def test_every_line_with_the_words_is_found(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, words: str, first: int, limit: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "search.zst"
    with path.open("wb") as file:
        index = frames.write(iter([data]), file).index
    lines = data.split(b"\n")
    expected = [
        n for n, line in enumerate(lines, 1) if n >= first and words.lower() in line.decode("utf-8", "replace").lower()
    ]  # fmt: skip
    found, more = frames.search(path, index, words, first, limit)
    assert found == expected[:limit]
    assert more == (len(expected) > limit)


def test_a_line_of_a_large_log_is_found_without_unpacking_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = LogFolder(tmp_path / "logs")
    data = b"".join(b"step:%d - actor/entropy:0.4 - note:%d\n" % (n, n * 7919 % 100_003) for n in range(1, 400_001))
    stored = folder.put(data, n_lines=400_000)
    assert stored.n_stored < len(data) / 2
    frames_read = 0
    unpacked = frames.unpacked

    def counted(*arguments: Any) -> Iterator[bytes]:
        nonlocal frames_read
        for frame in unpacked(*arguments):
            frames_read += 1
            yield frame

    monkeypatch.setattr(frames, "unpacked", counted)
    for first in (1, 200_000, 399_990):
        found = folder.lines(stored.sha256, first, first + 10)
        assert (found[0].line, found.total) == (first, 400_000)
        assert found[0].text.startswith(f"step:{first} -")
    assert frames_read <= 6  # of 15
    for first in range(1, 400_000, 20_000):
        folder.lines(stored.sha256, first, first + 100)
    assert frames_read <= 46
    assert folder.search(stored.sha256, "STEP:399999 ")[0] == [399_999]


def test_the_same_log_is_one_file_whatever_its_name(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "logs")
    path = tmp_path / "x.log"
    path.write_bytes(b"step:1 - a/b:1.0\n" * 1000)
    first, second = folder.put(path), folder.put(path.read_bytes())
    assert first.sha256 == second.sha256
    assert (first.kind, second.kind) == ("file", "bytes")
    assert len(list((tmp_path / "logs").glob("*/*.zst"))) == 1
    assert list((tmp_path / "logs").glob("new-*")) == []
    folder.remove(first.sha256)
    folder.remove(first.sha256)
    assert [path for path in (tmp_path / "logs").rglob("*") if path.is_file()] == []
    with pytest.raises(Damaged):
        folder.lines(first.sha256, 1, 2)


def test_too_large_a_log_is_not_kept(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "logs", largest=1000)
    with pytest.raises(TooLarge):
        folder.put(b"x" * 1001)
    assert folder.put(b"x" * 1000)
    assert not list((tmp_path / "logs").glob("new-*"))


def test_only_the_owner_can_read_what_is_kept(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        folder = LogFolder(tmp_path / "a" / "b" / "logs")
        folder.put(b"\x1f\x8b broken")
        folder.put(b"text\n")
    finally:
        os.umask(old)
    for place, folders, files in os.walk(tmp_path / "a"):
        assert stat.S_IMODE(os.stat(place).st_mode) == 0o700, folders
        for name in files:
            assert stat.S_IMODE((Path(place) / name).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "..", ".", "", "a/../..", "C:\\x\\..\\con", "a\x00b", "\n", ".ssh", "x" * 5000, "线.log"]
)
def test_a_name_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    safe = safe_name(name)
    assert (tmp_path / safe).resolve().parent == tmp_path.resolve()
    assert 0 < len(safe) <= 120
    assert not safe.startswith(".")
    folder = LogFolder(tmp_path / "logs")
    stored = folder.put(b"text\n")
    with folder.opened(stored.sha256, "file", name) as path:
        assert isinstance(path, Path)
        assert path.read_bytes() == b"text\n"
    assert not path.exists()
    with pytest.raises(ValueError, match="hash"):
        folder.lines(name, 1, 2)


@pytest.mark.parametrize("name", ["events.out.tfevents.17.host", "run.wandb", "trainer_state.json", "a b (1).csv", "log.txt.gz"])
def test_names_by_which_formats_are_told_stay(name: str) -> None:
    assert safe_name(name) == name
    assert safe_name("x" * 500 + name).endswith(name)


def test_bytes_that_are_no_text_have_no_lines(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "logs")
    for data in (os.urandom(5000), b"\x00" * 100, b"SQLite format 3\x00" + bytes(4000)):
        assert folder.lines(folder.put(data).sha256, 1, 10).total == 0
    assert folder.lines(folder.put(b"").sha256, 1, 10).total == 0


@settings(max_examples=60, deadline=None)
@given(data=TEXT)
def test_lines_are_counted_as_the_readers_count_them(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = LogFolder(tmp_path_factory.getbasetemp() / "counted")
    stored = folder.put(data)
    stream = Source(data)
    text = b"".join(block for block, _ in stream.blocks())
    found = folder.lines(stored.sha256, 1, 5000)
    if stream.binary or b"\x00" in text or b"\x00" in data:
        return
    lines = text.split(b"\n")
    assert [line.text for line in found] == [
        line.decode("utf-8", "replace").rstrip("\r") for line in (lines[:-1] if lines[-1] == b"" else lines)
    ]


def test_a_process_that_dies_while_writing_leaves_no_half_log(tmp_path: Path) -> None:
    """Killed at many moments; whatever is under a final name is whole, the rest is cleared away."""
    place = tmp_path / "logs"
    program = (
        "import sys; from pathlib import Path; from assistant.sessions.logs import LogFolder\n"
        f"folder = LogFolder(Path({str(place)!r}))\nprint('ready', flush=True)\n"
        "n = 0\nwhile True:\n    n += 1; folder.put(b'%d ' % n * 200_000)\n"
    )
    for wait in (0.0, 0.02, 0.05, 0.1):
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(wait)
        child.kill()
        child.wait()
        child.stdout.close()
    folder = LogFolder(place)
    hashes = {sha256 for sha256, _ in folder.hashes() if folder.has(sha256)}
    for sha256 in hashes:
        with folder.opened(sha256, "bytes") as data:
            assert isinstance(data, bytes)
            assert data.startswith(b"%d " % int(data[:10].split()[0]))
        assert folder.lines(sha256, 1, 1).total == 1
    folder.remove_leftovers(time.time() + 1)
    assert list(place.glob("new-*")) == []


@settings(max_examples=60, deadline=None)
@given(
    shape=st.sampled_from(["gz", "zst", "zip", "tar.gz", "utf16"]), at=st.integers(0, 10_000), what=st.binary(max_size=6), cut=st.booleans()
)
def test_a_damaged_archive_is_kept_as_it_is(tmp_path_factory: pytest.TempPathFactory, shape: str, at: int, what: bytes, cut: bool) -> None:
    """Whatever is broken in it, putting it does not fail, and it comes back byte for byte."""
    whole = PACKED[shape]
    at %= len(whole)
    data = whole[:at] if cut else whole[:at] + what + whole[at + len(what) :]
    folder = LogFolder(tmp_path_factory.getbasetemp() / "damaged")
    stored = folder.put(data, n_lines=25)
    with folder.opened(stored.sha256, "bytes") as back:
        assert back == data
    assert folder.lines(stored.sha256, 1, 100).total >= 0
