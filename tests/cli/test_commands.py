"""The command line as a user meets it: a real process, its output and its exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

STEPS = "\n".join(
    f"(TaskRunner pid=7) step:{step} - actor/entropy:{max(0.4 - 0.03 * step, 0.004):.3f} - actor/pg_loss:0.012 - actor/grad_norm:0.210"
    f" - actor/ppo_kl:0.000 - actor/pg_clipfrac:0.000 - actor/lr:0.000 - critic/score/mean:{max(0.5 - 0.02 * step, 0.02):.3f}"
    f" - critic/score/max:1.000 - critic/score/min:0.000 - response_length/mean:{200 - 4 * step}.000"
    for step in range(1, 41)
)


def runwhy(*arguments: str, stdin: str | bytes = b"", language: str = "C.UTF-8") -> subprocess.CompletedProcess[bytes]:
    data = stdin.encode() if isinstance(stdin, str) else stdin
    environment = {"LANG": language, "LC_ALL": language, "PATH": "/usr/bin:/bin", "HOME": str(Path.home()), "COLUMNS": "120"}
    command = [sys.executable, "-c", "from assistant.cli import main; main()", *arguments]
    return subprocess.run(command, input=data, capture_output=True, env=environment, timeout=60, check=False)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("log") / "train.log"
    path.write_text(STEPS)
    return str(path)


def test_the_log_alone_is_diagnosed(log: str) -> None:
    plain, named = runwhy(log), runwhy("diagnose", log)
    assert plain.returncode == named.returncode == 0
    assert plain.stdout == named.stdout
    text = plain.stdout.decode()
    assert "verl" in text
    assert "steps 1–40" in text
    assert text.splitlines()[1].startswith("✗")
    assert len(text.splitlines()) <= 50  # a note fits one screen


def test_diagnose_json_is_the_contract(log: str) -> None:
    out = json.loads(runwhy("diagnose", log, "--json").stdout)
    assert set(out) == {"log", "findings", "story", "fine", "unknown"}
    assert out["log"]["framework"] == "verl"
    assert (out["log"]["first_step"], out["log"]["last_step"], out["log"]["n_steps"]) == (1, 40, 40)
    finding = out["findings"][0]
    assert finding["card"] == f"findings/{finding['id']}"
    lines = STEPS.splitlines()
    for found in out["findings"]:
        for point in found["evidence"]:
            assert f"{point['metric']}:{point['text']}" in lines[point["line"] - 1]
            assert f"step:{point['step']} " in lines[point["line"] - 1]


def test_standard_input_and_the_environments_language(log: str) -> None:
    from_stdin = runwhy("-", stdin=STEPS, language="zh_CN.UTF-8").stdout.decode()
    assert "第 1–40 步" in from_stdin
    assert from_stdin == runwhy("diagnose", log, "--lang", "zh").stdout.decode()


def test_ask_answers_in_the_questions_language_with_checked_numbers(log: str) -> None:
    out = json.loads(runwhy("ask", log, "why is my pg_loss positive?", "--json").stdout)
    assert (out["language"], out["mode"], out["model"]) == ("en", "builtin", None)
    assert out["checked"]["unverified"] == 0
    assert out["numbers"]
    assert "metrics/actor.pg_loss" in out["cards"]
    assert json.loads(runwhy("ask", log, "熵为什么下降？", "--json").stdout)["language"] == "zh"


def test_parse_says_what_was_read(log: str) -> None:
    out = json.loads(runwhy("parse", log, "--records", "--json").stdout)
    assert out["log"]["n_records"] == 40
    assert out["metrics"]["actor/entropy"] | {"canonical": "policy_entropy", "n": 40, "n_nonfinite": 0} == out["metrics"]["actor/entropy"]
    assert out["records"][4]["step"] == 5
    assert out["records"][4]["values"]["critic/score/mean"] == 0.4
    assert out["unread_lines"] == 0
    assert b"actor/entropy" in runwhy("parse", log).stdout


def test_explain_finds_a_card_by_any_name() -> None:
    wanted = {"actor/pg_loss": "metrics/actor.pg_loss", "entropy-collapse": "findings/entropy-collapse", "P01": "findings/entropy-collapse"}
    for name, card in wanted.items():
        assert json.loads(runwhy("explain", name, "--json").stdout)["card"] == card
    assert "策略损失" in runwhy("explain", "actor/pg_loss", "--lang", "zh").stdout.decode()


def test_explain_names_neighbours_of_an_unknown_name() -> None:
    result = runwhy("explain", "actor/pg_lose")
    assert result.returncode == 2
    assert b"actor/pg_loss" in result.stderr


@pytest.mark.parametrize(
    "data",
    [b"", b"\x00\x01\x02\xff" * 400, b"Dear diary, today I trained a model.\nIt went well.\n", b"x = 1\n" * 50, b"loss: 3 apples\n"],
    ids=["empty", "binary", "prose", "assignments", "apples"],
)
def test_what_is_no_log_ends_in_one_line_and_exit_code_2(data: bytes) -> None:
    for arguments in (["diagnose", "-"], ["parse", "-", "--json"], ["ask", "-", "why?"]):
        result = runwhy(*arguments, stdin=data)
        assert result.returncode == 2
        assert result.stdout == b""
        assert result.stderr.startswith(b"runwhy: ")
        assert len(result.stderr.splitlines()) == 1


def test_a_missing_file_and_an_empty_folder_are_said(tmp_path: Path) -> None:
    missing, folder = runwhy(str(tmp_path / "nothing.log")), runwhy(str(tmp_path))
    assert missing.returncode == folder.returncode == 2
    assert b"nothing.log" in missing.stderr
    assert len(folder.stderr.splitlines()) == 1


def test_a_crash_without_metrics_is_a_diagnosis() -> None:
    result = runwhy(
        "-", stdin="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB\n"
    )
    assert result.returncode == 0
    assert b"2.00 GiB" in result.stdout


def test_a_terminal_without_unicode_gets_its_note_all_the_same(log: str) -> None:
    code = "from assistant.cli import main; main()"
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(Path.home()), "PYTHONIOENCODING": "ascii", "LANG": "zh_CN.UTF-8"}
    result = subprocess.run([sys.executable, "-c", code, log], capture_output=True, env=environment, timeout=60, check=False)
    assert result.returncode == 0
    assert b"actor/entropy" in result.stdout
    assert b"Traceback" not in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_said_in_one_line(log: str) -> None:
    for extra in ([], ["--json"]):
        with open("/dev/full", "wb") as full:
            command = [sys.executable, "-c", "from assistant.cli import main; main()", "diagnose", log, *extra]
            result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
        assert result.returncode == 1
        assert result.stderr.startswith(b"runwhy: ")
        assert len(result.stderr.splitlines()) == 1


def test_a_reader_that_stops_early_is_no_error(log: str) -> None:
    command = f"{sys.executable} -c 'from assistant.cli import main; main()' parse {log} --records --json | head -c 10"
    result = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, timeout=60, check=False)
    assert result.returncode == 0
    assert result.stderr == b""


def test_no_arguments_shows_help_and_version_is_printed() -> None:
    assert b"diagnose" in runwhy("--help").stdout
    assert runwhy("--version").stdout.startswith(b"runwhy ")


def test_the_core_starts_without_heavy_packages(log: str) -> None:
    code = (
        "import sys; from assistant.cli import main\n"
        f"try: main(['diagnose', {log!r}, '--json'])\n"
        "except SystemExit: pass\n"
        "heavy = {'gradio', 'plotly', 'fastapi', 'openai', 'langchain', 'chromadb', 'pandas'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True).stderr.strip() == b"[]"


CASES = Path(__file__).parents[1] / "cases"


def test_two_logs_side_by_side() -> None:
    a, b = (str(CASES / name / "log.txt") for name in ("d_kl_in_reward_shortens_answers", "f_healthy_first_steps"))
    out = json.loads(runwhy("compare", a, b, "--json").stdout)
    assert {"a", "b", "config", "metrics", "findings", "verdict"} <= set(out)
    assert set(out["findings"]) == {"only_a", "only_b", "both"}
    assert "length-collapse" in [row["id"] for row in out["findings"]["only_a"]]
    assert out["verdict"] == "fixed"
    assert all({"metric", "parts_at", "a", "b"} <= set(row) for row in out["metrics"])
    assert all({"key", "a", "b", "matters"} <= set(row) for row in out["config"])
    for language, word in (("en", "Fixed"), ("zh", "已修复")):
        text = runwhy("compare", a, b, "--lang", language).stdout.decode()
        assert word in text
        assert "response_length/mean" in text


def test_a_log_that_cannot_be_compared_is_named(log: str) -> None:
    failed = runwhy("compare", log, "no-such-file.log")
    assert failed.returncode == 2
    assert b"no-such-file.log" in failed.stderr


def test_the_note_says_what_led_to_what() -> None:
    text = runwhy(str(CASES / "d_kl_in_reward_shortens_answers" / "log.txt")).stdout.decode()
    assert "What led to what: " in text.splitlines()[2]
