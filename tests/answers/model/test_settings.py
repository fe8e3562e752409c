from __future__ import annotations

from pathlib import Path

import pytest

from assistant.answers.model.settings import PRESETS, BadSettings, Endpoint, configured

NOWHERE = Path("/nonexistent/config.toml")


def of(environ: dict[str, str], file: Path = NOWHERE) -> Endpoint:
    found = configured(environ, file)
    assert found is not None
    return found


def test_a_key_alone_sends_nothing() -> None:
    assert configured({"OPENAI_API_KEY": "sk-x", "OPENAI_BASE_URL": "http://localhost:1/v1"}, NOWHERE) is None


@pytest.mark.parametrize("name", PRESETS)
def test_presets(name: str) -> None:
    found = of({"RUNWHY_MODEL": f"{name}:some/model:7b", "OPENAI_API_KEY": "sk-x"})
    assert (found.model, found.base_url, found.preset, found.window) == (
        "some/model:7b",
        PRESETS[name].base_url,
        name,
        PRESETS[name].window,
    )
    assert found.redacts != found.is_local


def test_a_plain_name_goes_to_the_base_url() -> None:
    found = of({"RUNWHY_MODEL": "qwen3:8b", "OPENAI_BASE_URL": "http://gpu1:8000/v1/", "OPENAI_API_KEY": "k"})
    assert (found.model, found.base_url, found.api_key) == ("qwen3:8b", "http://gpu1:8000/v1", "k")
    assert found.redacts, "another machine is remote"
    assert found.legacy_max_tokens


def test_other_providers_go_through_langchain() -> None:
    found = of({"RUNWHY_MODEL": "anthropic:claude-x", "RUNWHY_API_KEY": "k"})
    assert (found.provider, found.model, found.name) == ("anthropic", "claude-x", "anthropic:claude-x")
    assert found.redacts


def test_the_config_file(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        '[model]\nname = "deepseek:deepseek-chat"\napi_key_env = "MY_KEY"\nbudget = 9000\ntools = false\nprice_in = 0.3\nprice_out = 1.2\n'
        '[redaction]\npatterns = ["proj-[0-9]+"]\n'
    )
    found = of({"MY_KEY": "secret"}, path)
    assert (found.model, found.api_key, found.budget, found.tools, found.patterns) == (
        "deepseek-chat",
        "secret",
        9000,
        "off",
        ("proj-[0-9]+",),
    )
    assert of({"MY_KEY": "secret", "RUNWHY_MODEL": "ollama:llama3", "RUNWHY_WINDOW": "8192"}, path).window == 8192, "the environment wins"
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('[model]\nname = "x"\ncolour = 1\n', "colour"),
        ('[model]\nname = "x"\nwindow = "big"\n', "window"),
        ("[model\n", "config.toml"),
        ('[model]\npreset = "abc"\n', "abc"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, word: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(BadSettings, match=word):
        configured({}, path)


def test_wrong_environment() -> None:
    for environ in (
        {"RUNWHY_MODEL": "x", "RUNWHY_TIMEOUT": "soon"},
        {"RUNWHY_MODEL": "x", "OPENAI_BASE_URL": "ftp://x"},
        {"RUNWHY_MODEL": "x", "RUNWHY_TOOLS": "maybe"},
    ):
        with pytest.raises(BadSettings):
            configured(environ, NOWHERE)


@pytest.mark.parametrize(("window", "most"), [(4096, 4096), (8192, 6000), (32_768, 6000), (128_000, 6000)])
def test_a_request_fits_its_window(window: int, most: int) -> None:
    endpoint = Endpoint("m", window=window)
    assert endpoint.prompt_tokens <= most
    assert endpoint.prompt_tokens + endpoint.output_tokens <= window


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.1/v1", True),
        ("http://[::1]:9/v1", True),
        ("http://10.0.0.2/v1", False),
        ("https://api.x.com", False),
    ],
)
def test_only_this_machine_is_local(url: str, local: bool) -> None:
    assert Endpoint("m", base_url=url).is_local is local
