"""Setting the bot up as docs/slack.md says, and what doctor says when something is not right."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from assistant.messages.slack import TEXT
from assistant.slack.doctor import examine
from assistant.slack.manifest import manifest, scopes
from assistant.slack.settings import BadSettings, configured
from tests.slack.conftest import Space, log_of
from tests.slack.driver import BotProcess, environment
from tests.slack.server import APP_TOKEN, BOT_TOKEN, SCOPES, SlackServer

DOCS = Path(__file__).parent.parent.parent / "docs" / "slack.md"
GOOD_SECRET = "0123456789abcdef" * 2


def runwhy(*arguments: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from assistant.cli import main; main()", *arguments]
    return subprocess.run(command, env=dict(env), capture_output=True, text=True, timeout=180, check=False)


def bare(**more: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("SLACK_", "RUNWHY_"))} | {"LANG": "C.UTF-8", **more}


def test_the_guide_holds(tmp_path: Path) -> None:
    """Each command of the ten steps, in order, with the tokens of a workspace that runs here."""
    guide = DOCS.read_text(encoding="utf-8").split("## Over HTTP")[0]
    assert re.findall(r"^(\d+)\.", guide, re.MULTILINE) == [str(n) for n in range(1, 11)]
    with SlackServer() as slack:
        env = environment(slack, tmp_path)
        del env["SLACK_SIGNING_SECRET"]
        printed = runwhy("slack", "--manifest", env=bare())  # step 2, before any token is there
        assert printed.returncode == 0
        made = json.loads(printed.stdout)
        assert made["settings"]["socket_mode_enabled"] is True
        assert ",".join(made["oauth_config"]["scopes"]["bot"]) == SCOPES
        checked = runwhy("doctor", env=env)  # step 6
        assert checked.returncode == 0, checked.stdout
        assert "lab · @runwhy" in checked.stdout
        running = BotProcess("socket", env)  # step 7
        try:
            assert "runwhy is in lab as @runwhy" in running.log
            space = Space(slack, running)
            asked = space.write("what is wrong?", files=[slack.add_file("train.log", log_of("m"))])  # step 8
            space.replies(asked, 2)
            space.write("and since when?", thread=asked.ts, mention=False)  # step 9
            space.replies(asked, 3)
            space.write("forget this", thread=asked.ts, mention=False)  # step 10
            space.click(space.replies(asked, 4)[3], "Yes, delete")
            space.wait(lambda: "Done" in space.replies(asked, 4)[3].shown)
        finally:
            assert running.stop() == 0


def test_the_guide_names_every_setting() -> None:
    text = DOCS.read_text(encoding="utf-8")
    source = (Path(__file__).parent.parent.parent / "assistant" / "slack" / "settings.py").read_text(encoding="utf-8")
    for name in re.findall(r'"((?:RUNWHY|SLACK)_\w+)"', source):
        assert f"`{name}`" in text or name in text, name


def test_manifest_for_http_carries_the_address_everywhere() -> None:
    made = manifest("https://bot.example.org/")
    address = "https://bot.example.org/slack/events"
    assert made["settings"]["event_subscriptions"]["request_url"] == address
    assert made["settings"]["interactivity"]["request_url"] == address
    assert made["features"]["slash_commands"][0]["url"] == address
    assert made["settings"]["socket_mode_enabled"] is False
    assert manifest()["settings"]["socket_mode_enabled"] is True


def test_manifest_keeps_within_slacks_limits() -> None:
    made = manifest()
    shown = made["display_information"]
    assert len(shown["name"]) <= 35
    assert len(shown["description"]) <= 140
    assert 174 <= len(shown["long_description"]) <= 4000
    (shortcut,) = made["features"]["shortcuts"]
    assert len(shortcut["name"]) <= 24
    assert len(shortcut["description"]) <= 150


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({}, "SLACK_BOT_TOKEN is not set"),
        ({"SLACK_BOT_TOKEN": BOT_TOKEN}, "SLACK_APP_TOKEN is not set"),
        ({"SLACK_BOT_TOKEN": BOT_TOKEN, "RUNWHY_SLACK_WORKERS": "many"}, "RUNWHY_SLACK_WORKERS must be a number"),
        ({"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN, "RUNWHY_SLACK_API": "http://127.0.0.1:1/"}, "could not be reached"),
    ],
)
def test_start_without_what_it_needs_is_one_clear_line(tmp_path: Path, env: dict[str, str], said: str) -> None:
    done = runwhy("slack", env=bare(RUNWHY_DATA=str(tmp_path), **env))
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert BOT_TOKEN not in done.stderr + done.stdout


def test_refused_tokens_are_one_clear_line(tmp_path: Path) -> None:
    with SlackServer() as slack:
        for name, said in (("SLACK_BOT_TOKEN", "does not accept the token: invalid_auth"), ("SLACK_APP_TOKEN", "does not accept it")):
            done = runwhy("slack", env=environment(slack, tmp_path) | {name: "xoxb-wrong"})
            assert done.returncode == 2
            assert said in done.stderr
            assert "xoxb-wrong" not in done.stderr + done.stdout


def doctor(env: dict[str, str]) -> dict[str, tuple[str, str, str]]:
    return {check.id: (check.state, check.detail, check.advice) for check in examine("en", env)}


def test_doctor_without_slack_is_one_line() -> None:
    assert doctor({}) == {"slack-token": ("note", "not set up (docs/slack.md)", "")}


def test_doctor_names_missing_scopes() -> None:
    with SlackServer(scopes="app_mentions:read,chat:write") as slack:
        found = doctor({"SLACK_BOT_TOKEN": BOT_TOKEN, "RUNWHY_SLACK_API": slack.url})
    assert found["slack-token"][0] == "ok"
    state, detail, advice = found["slack-scopes"]
    assert (state, detail) == ("bad", f"2/{len(scopes())}")
    assert "files:read" in advice
    assert "reinstall" in advice
    assert found["slack-mode"][0] == "bad"


@pytest.mark.parametrize(
    ("env", "name", "said"),
    [
        ({"SLACK_BOT_TOKEN": APP_TOKEN}, "slack-token", "should start with xoxb-"),
        ({"SLACK_BOT_TOKEN": "xoxb-wrong"}, "slack-token", "invalid_auth"),
        ({"SLACK_SIGNING_SECRET": GOOD_SECRET}, "slack-token", "SLACK_BOT_TOKEN is not set"),
        ({"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": BOT_TOKEN}, "slack-app_token", "should start with xapp-"),
        ({"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": "xapp-wrong"}, "slack-app_token", "connections:write"),
        ({"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_SIGNING_SECRET": "short"}, "slack-secret", "32 characters"),
    ],
)
def test_doctor_says_what_to_change(env: dict[str, str], name: str, said: str) -> None:
    with SlackServer() as slack:
        state, _, advice = doctor({**env, "RUNWHY_SLACK_API": slack.url})[name]
    assert state != "ok"
    assert said in advice
    assert BOT_TOKEN not in advice


def test_doctor_when_slack_is_not_reached() -> None:
    state, _, advice = doctor({"SLACK_BOT_TOKEN": BOT_TOKEN, "RUNWHY_SLACK_API": "http://127.0.0.1:1/"})["slack-token"]
    assert state == "bad"
    assert "HTTPS_PROXY" in advice


@pytest.mark.parametrize(
    "env",
    [{"RUNWHY_SLACK_USER_LIMIT": "often"}, {"RUNWHY_SLACK_LEASE": "0"}, {"RUNWHY_SLACK_API": "slack.com"}, {"RUNWHY_SLACK_MAX_MB": "nan"}],
)
def test_bad_settings_name_the_setting(env: dict[str, str]) -> None:
    with pytest.raises(BadSettings, match=next(iter(env))):
        configured(env)


def test_tokens_are_in_no_repr() -> None:
    assert BOT_TOKEN not in repr(configured({"SLACK_BOT_TOKEN": BOT_TOKEN}))


def test_both_languages_say_the_same_things() -> None:
    for key, (english, chinese) in TEXT.items():
        assert set(re.findall(r"\{(\w+)\}", english)) == set(re.findall(r"\{(\w+)\}", chinese)), key
        assert english
        assert chinese
