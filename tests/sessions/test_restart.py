"""After a restart a session is as it was: what was found, what was asked, every line."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.answers import answer
from assistant.logs.stream import Source
from assistant.sessions import Unreadable, open_log
from tests.sessions.conftest import Kind
from tests.sessions.logs import PACKED, PLAIN, log_text, opened, shown, tarred, turn, zipped

SHARED = Path(__file__).resolve().parents[3] / "shared"
REAL = sorted(p for p in SHARED.glob("samples/*") if p.name != "INDEX.md")[::3] + sorted(
    p for p in SHARED.glob("cases/*/*/*") if p.is_file() and p.name != "case.json" and p.suffix != ".md"
)[::9]  # fmt: skip


def test_everything_of_a_session_is_there_again(lasting: Kind) -> None:
    store = lasting.open()
    session = opened(store, name="a.log", owner="ann", language="zh")
    second = log_text(15)
    store.add_run(session.id, open_log(second), "b.log", source=second)
    given = answer("why is the entropy falling?", session.diagnosis)
    store.add_turn(session.id, given.turn, answer=given)
    store.feedback(session.id, 0, False, "no")
    store.keep(session.id, "guide", ["a"])
    store.bind("slack:1", session.id)
    token = store.share(session.id)
    pending = store.ask(session.id, "and now?", key="Ev1", data={"ts": "1"})
    assert store.claim(pending.id, "gone", lease_seconds=5)
    before = store.get(session.id)
    store.close()

    lasting.clock.now += 6
    again = lasting.open()
    after = again.get(session.id)
    assert shown(after) == shown(before)
    assert [(name, d.run.sha256) for name, d in after.others] == [(name, d.run.sha256) for name, d in before.others]
    assert (after.turns, after.name, after.owner, after.language, after.kept) == (before.turns, "a.log", "ann", "zh", {"guide": ["a"]})
    assert again.transcript(session.id)[0].to_json()["feedback"] == {"good": False, "reason": "no"}
    assert again.lines(session.id, 30, 30)[0].text == log_text().decode().split("\n")[29]
    assert again.bound("slack:1") == session.id
    assert again.by_token(token).id == session.id
    assert [(one.question, one.attempts, one.data) for one in again.open_questions()] == [("and now?", 1, {"ts": "1"})]
    assert again.ask(session.id, "and now?", key="Ev1") is None
    assert again.add_turn(session.id, turn("third")) == 1
    assert [row["good"] for row in again.given_feedback()] == [False]


def test_what_the_user_said_a_log_is_holds_after_a_restart(sqlite: Kind) -> None:
    store = sqlite.open()
    session = opened(store)
    assert store.reread(session.id, era="0.4") is not None
    other = store.create(open_log(log_text(9), era="0.3"), source=log_text(9), era="0.3")
    again = sqlite.open()
    assert again.get(session.id).diagnosis.run.era == "0.4"
    assert again.get(other.id).diagnosis.run.era == "0.3"


def test_a_session_without_its_source_ends_with_the_process(lasting: Kind) -> None:
    store = lasting.open()
    session = store.create(open_log(log_text()))
    assert store.get(session.id)
    again = lasting.open()
    assert again.get(session.id) is None
    assert again.about(session.id).n_runs == 1  # it can still be listed and removed
    again.remove(session.id)
    assert store.get(session.id) is None


def test_a_damaged_or_missing_log_is_told_apart_from_an_error(sqlite: Kind, caplog: pytest.LogCaptureFixture) -> None:
    store = sqlite.open()
    damaged, missing = opened(store, log_text(21)), opened(store, log_text(22))
    for session, data in ((damaged, b"\x28\xb5\x2f\xfd" + b"\x00" * 200), (missing, None)):
        path = next(store.logs.folder.glob(f"*/{session.diagnosis.run.sha256}.zst"))
        path.unlink() if data is None else path.write_bytes(data)
    again = sqlite.open()
    assert again.get(damaged.id) is again.get(missing.id) is None
    assert again.lines(damaged.id, 1, 9).total == 0
    assert again.lines(missing.id, 1, 9).total == 0
    assert again.search(missing.id, "step") == ([], False)
    assert again.reread(missing.id, era="0.6") is None
    assert "cannot be read again" in caplog.text
    for session, steps in ((missing, 22), (damaged, 21)):  # putting the same log again heals it
        repaired = opened(again, log_text(steps))
        assert shown(again.get(session.id)) == shown(repaired)


# Whatever was given


@pytest.mark.skipif(not REAL, reason="the real logs are not here")
@pytest.mark.parametrize("path", REAL, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_real_logs_are_read_again_the_same(sqlite: Kind, path: Path) -> None:
    store = sqlite.open()
    try:
        diagnosis = open_log(path)
    except Unreadable:
        return  # nothing to keep
    first = store.create(diagnosis, path.name, source=path)
    again = sqlite.open()
    assert shown(again.get(first.id)) == shown(first)
    run = first.diagnosis.run
    if path.is_file() and not path.name.endswith((".tfevents", ".0")):
        text = b"".join(block for block, _ in Source(path).blocks()).decode("utf-8", "replace").split("\n")
        total = again.lines(first.id, 1, 1).total
        assert total == run.n_lines
        for finding in first.diagnosis.findings:
            for point in finding.evidence[:5]:
                found = again.lines(first.id, point.line, point.line)
                assert found[0].text == text[point.line - 1].rstrip("\r")[: len(found[0].text)]
                assert point.text in found[0].text or found.cut
        for word in finding_lines(first):
            assert again.lines(first.id, word.line, word.line)[0].line == word.line


def finding_lines(session: object) -> list:
    return [line for finding in session.diagnosis.findings for line in finding.excerpt][:5]  # type: ignore[attr-defined]


RECORDS = b"".join(b'{"step": %d, "train/loss": %.3f, "train/reward": %.3f}\n' % (n, 1 / n, n / 30) for n in range(1, 26))
GIVEN = {
    "a.log.gz": PACKED["gz"],
    "a.log.zst": PACKED["zst"],
    "utf16.log": PACKED["utf16"],
    "utf16be.log": PLAIN.decode().encode("utf-16-be"),
    "bom.log": b"\xef\xbb\xbf" + PLAIN,
    "cr.log": PLAIN.replace(b"\n", b"\r"),
    "crlf.log": PLAIN.replace(b"\n", b"\r\n"),
    "one.zip": PACKED["zip"],
    "run.tar.gz": PACKED["tar.gz"],
}


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("as_file", [False, True], ids=["bytes", "file"])
def test_packed_logs_are_read_again_and_have_lines(sqlite: Kind, tmp_path: Path, name: str, as_file: bool) -> None:
    store = sqlite.open()
    path = tmp_path / name
    path.write_bytes(GIVEN[name])
    source = path if as_file else GIVEN[name]
    session = store.create(open_log(source, name=name), name, source=source)
    path.unlink()
    again = sqlite.open()
    assert shown(again.get(session.id)) == shown(session)
    assert [line.text for line in again.lines(session.id, 1, 100)] == PLAIN.decode().rstrip("\n").split("\n")
    assert again.lines(session.id, 1, 1).total == 25
    for finding in session.diagnosis.findings:
        for point in finding.evidence:
            assert point.text in again.lines(session.id, point.line, point.line)[0].text


@pytest.mark.parametrize("shape", ["zip", "tar", "folder"])
def test_runs_of_several_files_have_the_lines_that_the_evidence_names(sqlite: Kind, tmp_path: Path, shape: str) -> None:
    crash = (
        b"Traceback (most recent call last):\n"
        b'  File "a.py", line 3, in f\n'
        b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB.\n"
    )
    files = {"run1/metrics.jsonl": RECORDS, "run1/train.log": PLAIN + crash, "run1/README.md": b"# nothing"}
    source: Path | bytes
    if shape == "folder":
        source = tmp_path / "given"
        for name, data in files.items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes(data)
        (source / "run1" / "link.log").symlink_to("/etc/hostname")
    else:
        source = zipped(files) if shape == "zip" else tarred(files)
    store = sqlite.open()
    session = store.create(open_log(source), "run1", source=source)
    run = session.diagnosis.run
    again = sqlite.open()
    assert shown(again.get(session.id)) == shown(session)
    assert len(run.parts) == 2
    assert again.lines(session.id, 1, 1).total == sum(part.n_lines for part in run.parts)
    for name, column in run.columns.items():
        value = float(column.values[-1])
        line = int(run.row_lines[column.rows[-1]])
        assert f"{value:g}"[:4] in again.lines(session.id, line, line)[0].text, name
    oom = next(event for event in run.events if event.kind == "gpu-oom")
    assert "OutOfMemory" in again.lines(session.id, oom.line, oom.line)[0].text
    assert "hostname" not in "".join(line.text for line in again.lines(session.id, 1, 5000))


def test_a_tracker_s_database_is_read_again_and_has_no_lines(sqlite: Kind, tmp_path: Path) -> None:
    event_file = SHARED / "samples" / "tensorboard_1.tfevents"
    if not event_file.exists():
        pytest.skip("the real logs are not here")
    store = sqlite.open()
    path = tmp_path / "events.out.tfevents.1700000000.host"
    path.write_bytes(event_file.read_bytes())
    session = store.create(open_log(path), path.name, source=path)
    again = sqlite.open()
    assert shown(again.get(session.id)) == shown(session)
    assert again.lines(session.id, 1, 10).total == 0
