from __future__ import annotations

import pytest

from assistant.answers.model.settings import BadSettings, Endpoint
from assistant.web.limits import BadWebSettings, configured
from assistant.web.models import MOST, Models, NotAllowed, endpoint_from

SERVER = Endpoint("big", "https://models.example/v1", "server-key")


def test_each_session_has_a_choice_of_its_own() -> None:
    models = Models(SERVER)
    assert models.endpoint("a") is SERVER
    models.choose("a", "builtin")
    models.choose("b", "own", Endpoint("mine", "http://localhost:1/v1", "my-key"))
    assert models.endpoint("a") is None
    assert models.endpoint("b") is not None
    assert models.endpoint("c") is SERVER
    models.forget("b")
    assert models.endpoint("b") is SERVER
    assert Models(None).endpoint("x") is None


def test_old_choices_make_room() -> None:
    models = Models(None)
    for n in range(MOST + 10):
        models.choose(str(n), "own", SERVER)
    assert models.endpoint("0") is None
    assert models.endpoint(str(MOST + 9)) is SERVER


def test_a_visitor_never_gets_a_key_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-server")
    monkeypatch.setenv("RUNWHY_MODEL", "ollama:other")
    made = endpoint_from("openai", "gpt-x", "", "", "any")
    assert (made.model, made.api_key, made.base_url) == ("gpt-x", "", "https://api.openai.com/v1")
    assert endpoint_from("", "m", "http://gpu:8000/v1", "k", "any").base_url == "http://gpu:8000/v1"


@pytest.mark.parametrize(
    ("preset", "address"), [("", "http://169.254.169.254/latest"), ("vllm", ""), ("ollama", ""), ("openai", "http://api.openai.com/v1")]
)
def test_a_public_server_calls_no_address_that_a_visitor_names(preset: str, address: str) -> None:
    with pytest.raises(NotAllowed):
        endpoint_from(preset, "m", address, "k", "known")
    with pytest.raises(NotAllowed):
        endpoint_from("openai", "m", "", "k", "none")
    assert endpoint_from("deepseek", "", "", "k", "known").model == "deepseek-chat"


def test_entries_that_cannot_be_used_are_told() -> None:
    with pytest.raises(BadSettings):
        endpoint_from("", "m", "ftp://x", "", "any")
    with pytest.raises(BadSettings):
        endpoint_from("", "", "", "", "any")


def test_limits_come_from_the_environment() -> None:
    limits = configured({"RUNWHY_WEB_AUTH": "ann:a:b, bob:c", "RUNWHY_WEB_UPLOAD_MB": "5", "RUNWHY_KEEP_HOURS": "48"})
    assert limits.logins == {"ann": "a:b", "bob": "c"}
    assert (limits.upload, limits.hours, limits.own_model) == (5_000_000, "48", "any")
    assert configured({}, public=True).own_model == "known"
    assert "a:b" not in repr(limits)


@pytest.mark.parametrize(
    "bad", [{"RUNWHY_WEB_AUTH": "ann"}, {"RUNWHY_WEB_UPLOAD_MB": "many"}, {"RUNWHY_WEB_LINES": "-1"}, {"RUNWHY_WEB_OWN_MODEL": "maybe"}]
)
def test_a_setting_that_cannot_be_used_is_named(bad: dict[str, str]) -> None:
    with pytest.raises(BadWebSettings) as told:
        configured(bad)
    assert told.value.name == next(iter(bad))
