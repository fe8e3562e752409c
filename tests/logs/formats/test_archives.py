from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from assistant.logs import read
from assistant.logs.formats import archives
from tests.counting import calls
from tests.logs.files import writers as w

LOG = "".join(f"step:{i} - actor/entropy:0.{400 + i} - actor/lr:0.000 - critic/score/mean:0.100\n" for i in range(1, 9)).encode()
EVENTS = w.event_file([(i, "actor/lr", 1e-6) for i in range(1, 9)])


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def tarred(files: dict[str, bytes], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


FILES = {"run/output.log": LOG, "run/tb/events.out.tfevents.1700000000.host": EVENTS, "run/model.safetensors": b"\x00" * 100}
PACKED = {
    "zip": zipped(FILES),
    "tar": tarred(FILES),
    "tar.gz": tarred(FILES, "w:gz"),
    "tar.zst": zstandard.ZstdCompressor().compress(tarred(FILES)),
}


@pytest.mark.parametrize("kind", PACKED)
@pytest.mark.parametrize("as_bytes", [False, True])
def test_a_packed_folder_is_read_as_the_folder(tmp_path: Path, kind: str, as_bytes: bool) -> None:
    path = tmp_path / f"run.{kind}"
    path.write_bytes(PACKED[kind])
    run = read(PACKED[kind] if as_bytes else path)
    assert sorted(run.format.split("+")) == ["tensorboard", "verl-console"]
    assert run.n_records == 8
    rate = run.series("actor/lr")
    assert rate is not None
    assert rate.values[0] == pytest.approx(1e-6)
    assert run.n_bytes == len(PACKED[kind])
    assert run.notes == []
    assert [one.format for one in run.tried] == ["archive"]


def test_a_single_packed_log_is_that_log() -> None:
    run = read(zipped({"logs/train.log": LOG}))
    assert (run.format, run.n_lines) == ("verl-console", 8)


@pytest.mark.parametrize("name", ["../../evil.log", "/tmp/evil.log", "a/../../../evil.log", "C:\\evil.log", "..\\..\\evil.log"])
def test_no_member_gets_out_of_the_folder(tmp_path: Path, name: str) -> None:
    out = archives.Unpacked(tmp_path / "in")
    archives.unpack_zip(io.BytesIO(zipped({name: LOG})), out)
    archives.unpack_tar(io.BytesIO(tarred({name: LOG + b"x"})), out)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written
    assert all(path.is_relative_to(tmp_path / "in") for path in written)
    assert not Path("/tmp/evil.log").exists()


def test_links_in_a_tar_are_passed_over(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        link = tarfile.TarInfo("train.log")
        link.type = tarfile.SYMTYPE
        link.linkname = "/etc/passwd"
        archive.addfile(link)
    run = read(out.getvalue())
    assert [note.kind for note in run.notes] == ["empty-folder"]


def test_a_bomb_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_BYTES", 1 << 20)
    bomb = zipped({"a.log": LOG, "b.log": b"0" * (3 << 20)})
    run = read(bomb)
    assert run.n_records == 8
    assert ("archive-left-out", {"n": 1}) in [(note.kind, dict(note.data)) for note in run.notes]


def test_a_size_that_the_archive_lies_about_does_not_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(archives, "MAX_BYTES", 1 << 20)
    out = archives.Unpacked(tmp_path)
    out.take("a.log", 10, lambda: io.BytesIO(b"x" * (5 << 20)))
    assert (tmp_path / "a.log").stat().st_size <= 1 << 20
    assert out.left_out == 1


def test_a_locked_member_is_told() -> None:
    data = bytearray(zipped({"a.log": LOG}))
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(magic) + offset] |= 1
    run = read(bytes(data))
    assert "archive-left-out" in [note.kind for note in run.notes]


def test_a_member_that_claims_to_be_endless_takes_no_work() -> None:
    info = tarfile.TarInfo("weights.bin")
    info.size = 2**60
    begun = tarred({"a.log": LOG})[: 512 * (2 + len(LOG) // 512)]
    endless = begun + info.tobuf(tarfile.GNU_FORMAT) + b"x" * 600
    run = read(endless)
    assert calls(lambda: read(endless)) < 2 * calls(lambda: read(begun))
    assert run.n_records == 8
    assert "cut-archive" in [note.kind for note in run.notes]


@pytest.mark.parametrize("kind", PACKED)
@given(cut=st.integers(0, 3000), damage=st.binary(max_size=6))
def test_cut_and_damaged_archives_never_raise(kind: str, cut: int, damage: bytes) -> None:
    data = PACKED[kind]
    read(data[:cut])
    place = cut % len(data)
    read(data[:place] + damage + data[place + len(damage) :])


def test_an_archive_in_an_archive_is_read_and_one_in_that_is_left_out() -> None:
    inner = zipped({"run/train.log": LOG})
    for packed in (inner, tarred({"run/train.log": LOG})):
        name = "artifact.zip" if packed is inner else "artifact.tar.gz"
        run = read(zipped({name: packed}))
        assert (run.format, run.n_records, run.notes) == ("verl-console", 8, [])
    deeper = read(zipped({"a.zip": zipped({"b.zip": inner}), "train.log": LOG}))
    assert deeper.n_records == 8
    assert [(note.kind, dict(note.data)) for note in deeper.notes] == [("archive-left-out", {"n": 1})]


def test_a_bomb_in_an_archive_in_an_archive_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_BYTES", 1 << 20)
    run = read(zipped({"inner.zip": zipped({"b.log": b"0" * (3 << 20)}), "train.log": LOG}))
    assert run.n_records == 8
    assert "archive-left-out" in [note.kind for note in run.notes]
    assert read(zipped({"not.zip": b"no archive", "train.log": LOG})).n_records == 8
