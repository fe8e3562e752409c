from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("alembic")

from assistant.answers import answer
from assistant.cli import main
from assistant.sessions import open_log, open_store
from tests.sessions.logs import log_text, turn


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("RUNWHY_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("RUNWHY_STORE", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    one = open_store()
    yield one
    one.close()


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["sessions", *arguments])
    assert (ended.value.code or 0) == code
    said = capsys.readouterr()
    return said.out, said.err


def filled(store: Any, name: str = "a.log", owner: str = "slack:T1:U1") -> str:
    data = log_text()
    session = store.create(open_log(data), name, source=data, owner=owner)
    given = answer("why is the entropy falling?", session.diagnosis)
    store.add_turn(session.id, given.turn, answer=given)
    store.add_turn(session.id, turn("and then?", "That."))
    store.feedback(session.id, 1, False, "not what I asked")
    return str(session.id)


def test_list_and_show(store: Any, capsys: pytest.CaptureFixture[str]) -> None:
    empty, _ = run(capsys, "list")
    assert empty == "No conversation is kept.\n"
    one = filled(store)
    store.create(open_log(log_text(9)), source=log_text(9))
    out, _ = run(capsys, "list")
    assert one[:8] in out
    assert one not in out
    assert "a.log (verl)" in out
    assert "slack:T1:U1" in out
    assert "pasted" in out
    shown, _ = run(capsys, "show", one[:8])
    assert "why is the entropy falling?" in shown
    assert "That." in shown
    assert "Rated bad: not what I asked" in shown
    chinese, _ = run(capsys, "show", one, "--lang", "zh")
    assert "保留至" in chinese
    assert "评价：没有帮助" in chinese
    owned, _ = run(capsys, "list", "--owner", "slack:T1:U1", "--json")
    listed = json.loads(owned)["sessions"]
    assert [row["id"] for row in listed] == [one]
    assert (listed[0]["turns"], listed[0]["runs"], listed[0]["log"]["last_step"]) == (2, 1, 30)


def test_show_json_has_the_evidence(store: Any, capsys: pytest.CaptureFixture[str]) -> None:
    one = filled(store)
    found = json.loads(run(capsys, "show", one[:6], "--json")[0])
    first, second = found["transcript"]
    assert first["facts"][0]["metric"] == "actor/entropy"
    assert first["numbers"]
    assert second["feedback"] == {"good": False, "reason": "not what I asked"}


def test_looking_at_a_conversation_does_not_keep_it_longer(store: Any, capsys: pytest.CaptureFixture[str]) -> None:
    one = filled(store)
    before = store.about(one).expires
    for command in (("list",), ("show", one), ("export", one), ("export",)):
        run(capsys, *command)
    assert store.about(one).expires == before


def test_export(store: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ids = {filled(store, f"{n}.log") for n in range(3)}
    rows = [json.loads(line) for line in run(capsys, "export")[0].splitlines()]
    assert {row["id"] for row in rows} == ids
    assert all(len(row["transcript"]) == 2 for row in rows)
    one = sorted(ids)[0]
    assert [json.loads(line)["id"] for line in run(capsys, "export", one)[0].splitlines()] == [one]
    rated = [json.loads(line) for line in run(capsys, "export", "--feedback")[0].splitlines()]
    assert [(row["question"], row["good"], row["answer"]) for row in rated] == [("and then?", False, "That.")] * 3
    path = tmp_path / "feedback.jsonl"
    out, err = run(capsys, "export", "--feedback", "-o", str(path))
    assert out == ""
    assert "3" in err
    assert len(path.read_text().splitlines()) == 3
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_delete_and_forget(store: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ids = [filled(store, str(n), owner) for n, owner in enumerate(["ann", "ann", "bob", ""])]
    assert "2" in run(capsys, "delete", ids[3][:10], ids[2])[0]
    assert store.get(ids[2]) is store.get(ids[3]) is None
    assert len(list(store.given_feedback())) == 4
    assert json.loads(run(capsys, "forget", "ann", "--json")[0]) == {"forgotten": "ann", "sessions": 2}
    assert store.sessions() == []
    assert len(list(store.given_feedback())) == 2
    assert not list((tmp_path / "data").rglob("*.zst"))
    one = filled(store)
    assert json.loads(run(capsys, "delete", one, "--feedback", "--json")[0]) == {"deleted": [one]}
    assert len(list(store.given_feedback())) == 2
    assert "0" in run(capsys, "forget", "nobody")[0]


def test_one_line_says_what_is_wrong(store: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    one = filled(store)
    for command in (("show", "AAAAAAAAAA"), ("show", one[:5]), ("delete", "x"), ("export", "nothing"), ("forget", "")):
        out, err = run(capsys, *command, code=2)
        assert out == ""
        assert re.fullmatch(r"runwhy: [^\n]+\n", err)
    assert store.get(one)
    monkeypatch.setenv("RUNWHY_STORE", "memory")
    assert "memory" in run(capsys, "list", code=2)[1]
    monkeypatch.setenv("RUNWHY_STORE", "mysql://x")
    assert "RUNWHY_STORE" in run(capsys, "list", "--lang", "zh", code=2)[1]
    monkeypatch.setenv("RUNWHY_KEEP_HOURS", "soon")
    assert "RUNWHY_KEEP_HOURS" in run(capsys, "list", code=2)[1]


def test_what_people_wrote_does_not_steer_the_terminal(store: Any, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J[red]x[/red]"
    one = filled(store, f"{hostile}.log", hostile)
    store.add_turn(one, turn(hostile, hostile))
    store.feedback(one, 2, True, hostile)
    for command in (("list",), ("show", one)):
        out, _ = run(capsys, *command)
        assert "\x07" not in out
        assert "\x1b" not in out
        assert "[red]x" in out


def test_sessions_is_no_log_and_other_commands_stay_light() -> None:
    program = (
        "import sys\nfrom assistant.cli import main\n"
        "try: main(['explain', 'entropy-collapse'])\nexcept SystemExit: pass\n"
        "print([name for name in ('sqlalchemy', 'alembic', 'assistant.sessions') if name in sys.modules], file=sys.stderr)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=dict(os.environ))
    assert said.stderr.strip() == "[]"
