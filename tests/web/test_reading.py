from __future__ import annotations

import gzip
from pathlib import Path
from threading import Event

import pytest

from assistant.redaction import Redactor
from assistant.sessions import MemoryStore
from assistant.web.limits import Limits
from assistant.web.reading import Attempt, Readings, Refused, read_file, read_files, read_paste
from assistant.web.samples import SAMPLES, sample_text

LIMITS = Limits(paste=150_000, upload=200_000, lines=20_000)


def silent(share: float, words: str) -> None:
    pass


def attempt(language="en", store: MemoryStore | None = None, flag: Event | None = None, progress=silent) -> Attempt:
    return Attempt(language, store if store is not None else MemoryStore(), LIMITS, flag or Event(), progress)


def paste(text: str, language="en", store: MemoryStore | None = None, flag: Event | None = None, progress=silent):
    return read_paste(text, attempt(language, store, flag, progress))


@pytest.mark.parametrize(
    ("text", "english", "chinese"),
    [("  \n", "Paste a log", "请先粘贴"), ("step:1 - a/b:1.0\n" * 10_000, "up to 150 kB can be pasted", "最多可粘贴 150 kB")],
)
def test_what_is_refused_is_said_in_one_sentence(text: str, english: str, chinese: str) -> None:
    with pytest.raises(Refused, match=english):
        paste(text)
    with pytest.raises(Refused, match=chinese):
        paste(text, "zh")


def test_prose_and_binary_files_are_refused(tmp_path: Path) -> None:
    for number, data in enumerate((b"I think the run is fine.\n" * 20, bytes(range(256)) * 40)):
        path = tmp_path / f"{number}.log"
        path.write_bytes(data)
        with pytest.raises(Refused) as refused:
            read_file(path, attempt())
        assert str(refused.value).endswith(".")
        assert not path.exists()


def test_a_file_is_deleted_once_read_and_keeps_its_name(tmp_path: Path) -> None:
    path = tmp_path / "run 7.log.gz"
    path.write_bytes(gzip.compress(sample_text("healthy").encode()))
    store = MemoryStore()
    session = read_file(path, attempt(store=store))
    assert not path.exists()
    assert session.name == "run 7.log.gz"
    assert session.diagnosis.run.n_records == 61
    assert store.lines(session.id, 1, 1).total == session.diagnosis.run.n_lines
    assert store.get(session.id) is session


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"x" * 200_001)
    with pytest.raises(Refused, match="200 kB"):
        read_file(path, attempt())
    assert not path.exists()


def test_progress_is_told_in_bytes() -> None:
    told: list[tuple[float, str]] = []
    paste(sample_text("healthy"), progress=lambda share, words: told.append((share, words)))
    assert told
    assert all(0 <= share < 1 for share, _ in told)
    assert "121 kB" in told[0][1]


def test_a_cancelled_reading_keeps_nothing() -> None:
    store, flag = MemoryStore(), Event()
    flag.set()
    with pytest.raises(Refused, match="cancelled"):
        paste(sample_text("healthy"), store=store, flag=flag)
    assert len(store) == 0


def test_a_tab_reads_one_log_at_a_time() -> None:
    readings = Readings()
    first = readings.start("tab")
    second = readings.start("tab")
    assert first.is_set()
    assert not second.is_set()
    readings.done("tab", first)
    readings.cancel("tab")
    assert second.is_set()
    readings.done("tab", second)
    readings.cancel("tab")
    assert len(readings) == 0


@pytest.mark.parametrize("key", SAMPLES)
def test_samples_are_short_and_readable(key: str) -> None:
    text = sample_text(key)
    assert len(text.encode()) <= 130_000
    assert paste(text).diagnosis.run.framework == "verl"
    assert Redactor().mask(text) == text


def test_too_many_lines_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"step:1 - actor/entropy:0.5\n" + b"x\n" * 20_000)
    with pytest.raises(Refused, match="20,001 lines"):
        read_file(path, attempt())


def test_the_first_of_several_files_is_opened_and_the_others_kept_with_it(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.log", "b.log", "c.txt")]
    for path, text in zip(paths, (sample_text("floor"), sample_text("collapse"), "Dear all, hello.\n"), strict=True):
        path.write_text(text, encoding="utf-8")
    store = MemoryStore()
    session = read_files(paths, attempt(store=store))
    assert (session.name, [name for name, _ in session.others]) == ("a.log", ["b.log"])
    assert session.kept["left_out"][0][0] == "c.txt"
    assert not any(path.exists() for path in paths)
    with pytest.raises(Refused, match="9 files"):
        read_files([tmp_path / str(n) for n in range(9)], attempt())


def test_the_samples_show_what_they_are_named_for() -> None:
    found = {key: [f.id for f in paste(sample_text(key)).diagnosis.faults] for key in SAMPLES}
    assert found["collapse"][0] == "policy-degenerate"
    assert found["floor"][0] == "reward-flat-floor"
    assert "crash-gpu-oom" in found["crash"]
    assert found["healthy"] == []


def test_odd_bytes_are_read_or_refused_in_a_sentence() -> None:
    step = "step:1 - actor/entropy:0.5 - critic/score/mean:0.1\n"
    with pytest.raises(Refused):
        paste("x" * 140_000)
    assert paste(step + "\x00" * 1000 + "\n" + step.replace("1", "2", 1)).diagnosis.run.n_records == 2
    assert paste(step + "y" * 140_000 + "\n" + step.replace("1", "2", 1)).diagnosis.run.n_records == 2


def test_an_archive_holds_no_way_out_and_no_bomb(tmp_path: Path) -> None:
    import io
    import tarfile

    secret = tmp_path / "secret.log"
    secret.write_text(sample_text("crash"), encoding="utf-8")
    path = tmp_path / "runs.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in ("a.log", "../up.log", "/tmp/runwhy-up.log"):
            data = sample_text("floor").encode()
            row = tarfile.TarInfo(name)
            row.size = len(data)
            archive.addfile(row, io.BytesIO(data))
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            row = tarfile.TarInfo(f"link-{kind!r}.log")
            row.type, row.linkname = kind, str(secret)
            archive.addfile(row)
    store = MemoryStore()
    try:
        session = read_file(path, attempt(store=store))
    except Refused:
        pass
    else:
        assert all("crash" not in found.id for found in session.diagnosis.findings)
    assert not (tmp_path.parent / "up.log").exists()
    assert not Path("/tmp/runwhy-up.log").exists()
