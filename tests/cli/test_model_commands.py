from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from assistant.cli.commands import app
from tests.answers.model.server import Act, serving

STEPS = "\n".join(
    f"step:{i} - actor/entropy:{0.5 * 0.97**i:.3f} - critic/score/mean:{0.2 + i * 0.002:.3f} - actor/grad_norm:0.5 - "
    f"response_length/mean:{300 + i}.0"
    for i in range(1, 61)
)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    for name in ("RUNWHY_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "RUNWHY_TOOLS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RUNWHY_CONFIG", str(tmp_path / "none.toml"))
    path = tmp_path / "run.log"
    path.write_text(f"loaded from /home/alice/model by alice@corp.example.net\n{STEPS}\n")
    return str(path)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_ask_with_a_model(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Act("Entropy is low but nothing breaks; look at `actor/entropy` together with the score.")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("RUNWHY_MODEL", "test-model")
        given = json.loads(run("ask", log, "Is entropy ok?", "--json"))
        assert (given["mode"], given["model"]) == ("model", "test-model")
        assert json.loads(run("ask", log, "Is entropy ok?", "--json", "--no-llm"))["mode"] == "builtin"
        assert len(server.requests) == 1
        assert "test-model" in run("ask", log, "Is entropy ok now?")


def test_show_prompt_sends_nothing(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = run("ask", log, "Is entropy ok?", "--show-prompt")
    assert "actor/entropy" in text
    assert text.rstrip().endswith("Answer it in English.")
    with serving(Act("x")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("RUNWHY_MODEL", "test-model")
        shown = json.loads(run("ask", log, "熵正常吗？", "--show-prompt", "--json"))
        assert server.requests == []
    assert shown["tokens"] <= 6000
    assert [m["role"] for m in shown["messages"]] == ["system", "user"]


def test_redact(log: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["redact", log, "--pattern", "score", "--lang", "en"])
    assert result.exit_code == 0
    assert "alice" not in result.stdout
    assert "/home/[USER_1]/model by [EMAIL_1]" in result.stdout
    assert "critic/[CUSTOM_1]/mean" in result.stdout
    assert result.stdout.count("\n") == Path(log).read_text().count("\n")
    assert json.loads(run("redact", log, "--json"))["masked"] == {"EMAIL": 1, "USER": 1}
    assert CliRunner().invoke(app, ["redact", str(tmp_path / "no.log")]).exit_code == 2
    assert CliRunner().invoke(app, ["redact", log, "--pattern", "("]).exit_code == 2


def test_doctor_without_a_model(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = json.loads(run("doctor", "--json", "--lang", "en"))
    assert found["ok"]
    settings = next(check for check in found["checks"] if check["id"] == "settings")
    assert "RUNWHY_MODEL" in settings["advice"]
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-x")
    assert "DEEPSEEK_API_KEY" in run("doctor", "--lang", "en").replace("\n", " ")


def test_doctor_on_a_good_server(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    script = [Act("ready to go"), Act('{"ok": true}'), Act(tools=[("answer", {"number": 7})])]
    with serving(*script, window=32_000) as server:
        monkeypatch.setenv("RUNWHY_MODEL", "test-model")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        found = {check["id"]: check["state"] for check in json.loads(run("doctor", "--json"))["checks"]}
    assert {name: found[name] for name in ("reachable", "model", "window", "chat", "json", "tools")} == dict.fromkeys(
        ("reachable", "model", "window", "chat", "json", "tools"), "ok"
    )


@pytest.mark.parametrize(
    ("acts", "options", "model", "bad"),
    [
        ([Act("hi")], {"key": "right"}, "test-model", "key"),
        ([Act("hi")], {}, "another", "model"),
        ([Act("hi")], {"window": 1000}, "test-model", "window"),
        ([Act(status=500)], {}, "test-model", "chat"),
        ([Act("")], {}, "test-model", "chat"),
    ],
)
def test_doctor_says_what_is_wrong(
    log: str, monkeypatch: pytest.MonkeyPatch, acts: list[Act], options: dict[str, object], model: str, bad: str
) -> None:
    with serving(*acts, **options) as server:
        monkeypatch.setenv("RUNWHY_MODEL", model)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        result = CliRunner().invoke(app, ["doctor", "--json", "--lang", "zh"])
    assert result.exit_code == 1
    found = {check["id"]: check for check in json.loads(result.stdout)["checks"]}
    assert found[bad]["state"] == "bad"
    assert found[bad]["advice"]


def test_bad_settings_end_in_one_line(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNWHY_MODEL", "x")
    monkeypatch.setenv("RUNWHY_TIMEOUT", "soon")
    result = CliRunner().invoke(app, ["ask", log, "why?"])
    assert result.exit_code == 2
    assert "timeout" in result.stderr


def test_without_a_model_nothing_heavy_is_loaded(log: str) -> None:
    import subprocess
    import sys

    code = (
        "import sys; from assistant.cli import main\n"
        "try: main(['ask', sys.argv[1], 'is entropy ok?', '--json'])\n"
        "except SystemExit: pass\n"
        "heavy = {'langchain', 'langchain_core', 'langchain_openai', 'openai', 'tiktoken', 'httpx', 'gradio', 'chromadb'}\n"
        "print('LOADED', sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, log], capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout)["mode"] == "builtin"
    assert "LOADED []" in done.stderr
