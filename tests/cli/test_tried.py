"""`runwhy parse --explain` and `--format`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_commands import runwhy

TRL = "".join(f"{{'loss': 0.{i}, 'grad_norm': 0.5, 'reward': 0.25, 'reward_std': 0.1, 'epoch': 0.1}}\n" for i in range(1, 9))


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "train.log"
    path.write_text(TRL + "Step 3 | loss: 0.5, lr: 0.25, mem: 0.125\n")
    return str(path)


def test_explain_says_which_formats_were_tried_and_how_far_each_got(log: str) -> None:
    for language, title in (("en", "Formats that were tried"), ("zh", "尝试过的格式")):
        text = runwhy("parse", log, "--explain", "--lang", language).stdout.decode()
        assert title in text
        assert "dict" in text
        assert "8/8" in text
    out = json.loads(runwhy("parse", log, "--explain", "--json").stdout)
    assert (out["format"], out["tried"][0]["format"], out["tried"][0]["chosen"]) == ("dict", "dict", True)
    assert (out["tried"][0]["lines"], out["tried"][0]["tried"]) == (8, 8)


def test_a_named_format_is_used_whatever_the_log_looks_like(log: str) -> None:
    out = json.loads(runwhy("parse", log, "--format", "unsloth", "--json").stdout)
    assert (out["log"]["framework"], out["log"]["n_records"]) == ("unsloth", 8)
    other = runwhy("parse", log, "--format", "sb3")
    assert other.returncode == 2


def test_a_format_that_does_not_exist_is_answered_with_those_that_do(log: str) -> None:
    failed = runwhy("diagnose", log, "--format", "csw")
    assert failed.returncode == 2
    assert b"csw" in failed.stderr
    assert b"csv" in failed.stderr
    assert b"deepspeed-chat" in failed.stderr
