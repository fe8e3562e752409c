"""Which language model answers, if any: from the environment, a config file, or the caller. Nothing is contacted here.

A model answers only when one is named (``RUNWHY_MODEL``, or ``model`` in the config file): a key that lies around for another
program sends nobody's log anywhere. ``RUNWHY_MODEL`` may carry a preset (``deepseek:deepseek-chat``, ``ollama:qwen3:8b``), a
LangChain provider (``anthropic:…``), or be a plain name at ``OPENAI_BASE_URL``.
"""

from __future__ import annotations

import ipaddress
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

Lane = Literal["auto", "on", "off"]


@dataclass(frozen=True, slots=True)
class Preset:
    """What is known of a kind of server. ``window`` is what a request and its answer may take together, in tokens."""

    base_url: str
    key_names: tuple[str, ...] = ()
    model: str = ""
    window: int = 8192
    tools: bool = False


PRESETS: Mapping[str, Preset] = {
    "openai": Preset("https://api.openai.com/v1", ("OPENAI_API_KEY",), "", 128_000, True),
    "deepseek": Preset("https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY", "OPENAI_API_KEY"), "deepseek-chat", 64_000, True),
    "qwen": Preset("https://dashscope.aliyuncs.com/compatible-mode/v1", ("DASHSCOPE_API_KEY", "OPENAI_API_KEY"), "qwen-plus", 32_768, True),
    "vllm": Preset("http://localhost:8000/v1", ("VLLM_API_KEY",), "", 32_768),
    "ollama": Preset("http://localhost:11434/v1", (), "", 4096),
    "lmstudio": Preset("http://localhost:1234/v1", (), "", 4096),
    "llamacpp": Preset("http://localhost:8080/v1", ("LLAMA_API_KEY",), "", 4096),
}
ALIASES = {"dashscope": "qwen", "lm-studio": "lmstudio", "llama.cpp": "llamacpp", "llama-cpp": "llamacpp"}
LANGCHAIN_PROVIDERS = frozenset(
    [
        "anthropic", "azure_openai", "azure_ai", "google_genai", "google_vertexai", "bedrock", "bedrock_converse", "cohere", "fireworks",
        "together", "mistralai", "huggingface", "groq", "google_anthropic_vertex", "ibm", "nvidia", "xai", "perplexity", "openrouter",
        "upstage", "litellm",
    ]
)  # fmt: skip
DEFAULT_BUDGET = 6000
"""Tokens that a request may take in all, unless the user allows more."""


class BadSettings(ValueError):
    """The settings cannot be used; the message says which one and why."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model and how to reach it.

    ``window`` and ``budget`` are in tokens (what the server can take, what a request may use), ``timeout`` in seconds for the whole
    of a reply, ``price_in`` and ``price_out`` per million tokens (None: unknown). ``provider`` is set for models that LangChain
    reaches through its own package.
    """

    model: str
    base_url: str = "https://api.openai.com/v1"
    api_key: str = field(default="", repr=False)
    preset: str = "openai"
    provider: str = ""
    window: int = 8192
    budget: int = DEFAULT_BUDGET
    max_output: int = 1200
    timeout: float = 90.0
    retries: int = 2
    tools: Lane = "auto"
    redact: Lane = "auto"
    patterns: tuple[str, ...] = ()
    legacy_max_tokens: bool = True
    price_in: float | None = None
    price_out: float | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    temperature: float | None = 0.2

    @property
    def name(self) -> str:
        return f"{self.provider}:{self.model}" if self.provider else self.model

    @property
    def is_local(self) -> bool:
        """Whether the server is this machine."""
        if self.provider:
            return False
        host = urlsplit(self.base_url).hostname or ""
        if host == "localhost" or host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    @property
    def redacts(self) -> bool:
        return self.redact == "on" or (self.redact == "auto" and not self.is_local)

    @property
    def uses_tools(self) -> bool:
        if self.tools != "auto":
            return self.tools == "on"
        return bool(self.provider) or (PRESETS[self.preset].tools and self.window >= 16_000 and not self.is_local)

    @property
    def output_tokens(self) -> int:
        """Room for the reply: at most a quarter of the window."""
        return max(50, min(self.max_output, self.window // 4))

    @property
    def prompt_tokens(self) -> int:
        """Room for everything that is sent."""
        return max(600, min(self.budget, self.window - self.output_tokens - 100))


def config_file() -> Path:
    """``$RUNWHY_CONFIG``, else ``runwhy/config.toml`` in the user's configuration folder."""
    if named := os.environ.get("RUNWHY_CONFIG"):
        return Path(named)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "runwhy" / "config.toml"


def configured(environ: Mapping[str, str] | None = None, file: Path | None = None) -> Endpoint | None:
    """The endpoint that the user has set up; None when no model is named. Raises BadSettings."""
    environ = os.environ if environ is None else environ
    settings = _from_file(config_file() if file is None else file)
    for key, names in _ENVIRONMENT.items():
        for name in names:
            if value := environ.get(name, "").strip():
                settings[key] = value
                break
    named = str(settings.get("model") or "")
    if not named and not settings.get("preset"):
        return None
    return _endpoint(named, settings, environ)


def from_table(table: Mapping[str, Any], environ: Mapping[str, str]) -> Endpoint:
    """The endpoint of a table with the keys of ``[model]`` in the config file; a key comes from ``api_key_env``. Raises BadSettings."""
    settings = dict(table)
    if "name" in settings:
        settings["model"] = settings.pop("name")
    if odd := sorted(set(settings) - _ALLOWED):
        raise BadSettings(f"there is no setting {odd[0]!r}; there are {', '.join(sorted(_ALLOWED))}")
    return _endpoint(str(settings.get("model") or ""), settings, environ)


_ENVIRONMENT = {
    "model": ("RUNWHY_MODEL",),
    "base_url": ("RUNWHY_BASE_URL",),
    "api_key": ("RUNWHY_API_KEY",),
    "window": ("RUNWHY_WINDOW",),
    "budget": ("RUNWHY_BUDGET",),
    "timeout": ("RUNWHY_TIMEOUT",),
    "tools": ("RUNWHY_TOOLS",),
    "redact": ("RUNWHY_REDACT",),
}
_NUMBERS: Mapping[str, type] = {
    "window": int,
    "budget": int,
    "max_output": int,
    "retries": int,
    "timeout": float,
    "price_in": float,
    "price_out": float,
    "temperature": float,
}
_ALLOWED = frozenset([*_NUMBERS, "model", "preset", "base_url", "api_key", "api_key_env", "tools", "redact", "patterns", "extra_body"])


def _from_file(path: Path) -> dict[str, Any]:
    """The ``[model]`` table of the config file; its ``[redaction]`` patterns, too."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadSettings(f"{path}: {error}") from error
    table = data.get("model", {})
    table = {"model": table} if isinstance(table, str) else dict(table)
    if "name" in table:
        table["model"] = table.pop("name")
    if odd := sorted(set(table) - _ALLOWED):
        raise BadSettings(f"{path}: [model] has no {odd[0]!r}; it knows {', '.join(sorted(_ALLOWED))}")
    if patterns := data.get("redaction", {}).get("patterns"):
        table["patterns"] = patterns
    return table


def _endpoint(named: str, settings: Mapping[str, Any], environ: Mapping[str, str]) -> Endpoint:
    prefix, _, rest = named.partition(":")
    prefix = ALIASES.get(prefix.lower(), prefix.lower())
    preset = ALIASES.get(str(settings.get("preset", "")).lower(), str(settings.get("preset", "")).lower())
    provider = ""
    if prefix in PRESETS and (rest or named.lower() in (prefix, f"{prefix}:") or named.lower() in ALIASES):
        preset, named = prefix, rest
    elif rest and prefix in LANGCHAIN_PROVIDERS:
        provider, named = prefix, rest
    if preset and preset not in PRESETS:
        raise BadSettings(f"there is no preset {preset!r}; there are {', '.join(PRESETS)}")
    known = PRESETS[preset or "openai"]
    base_url = str(settings.get("base_url") or "")
    if not base_url and preset in ("", "openai"):
        base_url = environ.get("OPENAI_BASE_URL", "").strip()
    base_url = (base_url or known.base_url).rstrip("/")
    if not provider and urlsplit(base_url).scheme not in ("http", "https"):
        raise BadSettings(f"base_url must start with http:// or https://, not {base_url!r}")
    key = str(settings.get("api_key") or "")
    if not key and settings.get("api_key_env"):
        key = environ.get(str(settings["api_key_env"]), "")
    key = key or next((environ[name] for name in known.key_names if environ.get(name)), "")
    as_known = base_url == known.base_url or preset not in ("", "openai")
    endpoint = Endpoint(
        model=named or known.model,
        base_url=base_url,
        api_key=key,
        preset=preset or "openai",
        provider=provider,
        window=128_000 if provider else known.window if as_known else 8192,
        legacy_max_tokens=base_url != PRESETS["openai"].base_url,
    )
    values: dict[str, Any] = {}
    for name, kind in _NUMBERS.items():
        if settings.get(name) not in (None, ""):
            try:
                values[name] = kind(settings[name])
            except (TypeError, ValueError):
                raise BadSettings(f"{name} must be a number, not {settings[name]!r}") from None
    for name in ("tools", "redact"):
        if settings.get(name) not in (None, ""):
            values[name] = _lane(name, settings[name])
    if settings.get("patterns"):
        values["patterns"] = tuple(str(p) for p in settings["patterns"])
    if settings.get("extra_body"):
        values["extra_body"] = dict(settings["extra_body"])
    if values.get("window", 4096) < 1500:
        raise BadSettings(f"window is {values['window']} tokens; fewer than 1500 hold no evidence")
    return replace(endpoint, **values)


def _lane(name: str, value: Any) -> Lane:
    if isinstance(value, bool):
        return "on" if value else "off"
    text = str(value).lower()
    text = {"1": "on", "true": "on", "yes": "on", "0": "off", "false": "off", "no": "off"}.get(text, text)
    if text not in ("auto", "on", "off"):
        raise BadSettings(f"{name} must be on, off or auto, not {value!r}")
    return text  # type: ignore[return-value]
