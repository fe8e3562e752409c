"""``runwhy report``, as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from assistant.cli import main
from assistant.messages import say

SAMPLES = Path(__file__).resolve().parents[2] / "assistant" / "web" / "samples"
LOG = str(SAMPLES / "collapse.log")


def ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = 0
    try:
        main(["report", *arguments])
    except SystemExit as end:
        code = int(end.code or 0)
    said = capsys.readouterr()
    return code, said.out, said.err


def test_markdown_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ran(capsys, LOG)
    assert (code, err) == (0, "")
    assert out.startswith("# Training diagnosis: collapse.log\n")
    assert say("report.findings") in out


@pytest.mark.parametrize(("name", "start"), [("r.html", "<!doctype html>"), ("r.MD", "# 训练诊断：collapse.log")])
def test_a_file_by_its_ending(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, start: str) -> None:
    file = tmp_path / name
    code, out, err = ran(capsys, LOG, "-o", str(file), "--lang", "zh")
    assert (code, out) == (0, "")
    assert str(file) in err
    assert file.read_text(encoding="utf-8").startswith(start)


def test_against_a_second_run(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ran(capsys, LOG, "--against", str(SAMPLES / "healthy.log"))
    assert code == 0
    assert say("report.compare", name="healthy.log") in out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ran(capsys, LOG, "--json")
    assert code == 0
    made = json.loads(out)
    assert (made["format"], made["language"]) == ("markdown", "en")
    assert made["report"].startswith("# ")


@pytest.mark.parametrize("arguments", [("-o", "r.pdf"), ("-o", "/no/such/folder/r.md"), ("--against", "/no/such/log")])
def test_what_cannot_be_done_is_one_line(capsys: pytest.CaptureFixture[str], arguments: tuple[str, str]) -> None:
    code, out, err = ran(capsys, LOG, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("runwhy: ")
    assert err.count("\n") == 1


def test_masking_can_be_turned_off(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "ann.lee@lab.example.org.log"
    log.write_bytes(Path(LOG).read_bytes())
    assert "ann.lee" not in ran(capsys, str(log))[1]
    assert "ann.lee" in ran(capsys, str(log), "--no-redact")[1]
