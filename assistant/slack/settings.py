"""How the bot is set up: tokens and limits from the environment, what a team brings of its own from a file.

The teams' file (``RUNWHY_TEAMS``, TOML) holds keys by the name of their environment variable, never themselves::

    [T0123ABC]                          # a workspace's id, or "default" for all the others
    model = "vllm:qwen3-32b"            # any setting of the [model] table of runwhy's config file
    base_url = "http://gpu-7:8000/v1"
    api_key_env = "TEAM_A_KEY"
    cards = ["/srv/team-a/cards"]
    bot_token_env = "TEAM_A_BOT_TOKEN"  # when the bot is in several workspaces
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from assistant.answers.model.settings import Endpoint

SLACK_API = "https://slack.com/api/"
FILE_HOSTS = ("files.slack.com", "files-origin.slack.com", "files.slack-gov.com")
DEFAULT = "default"


class BadSettings(ValueError):
    """A setting cannot be used; the message says which and what to do."""


@dataclass(frozen=True, slots=True)
class Team:
    """What a workspace brings of its own. ``endpoint`` None: answers are built in."""

    endpoint: Endpoint | None = None
    cards: tuple[str, ...] = ()
    bot_token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """``lease`` is how long a dead process keeps others from its questions, in seconds; ``user_limit`` and ``team_limit`` are
    (questions, seconds); ``max_file`` is in bytes. ``web_url`` is where people reach the web chat, "" without one."""

    bot_token: str = field(default="", repr=False)
    app_token: str = field(default="", repr=False)
    signing_secret: str = field(default="", repr=False)
    api_url: str = SLACK_API
    file_hosts: tuple[str, ...] = FILE_HOSTS
    web_url: str = ""
    max_file: int = 200 << 20
    workers: int = 2
    lease: float = 45.0
    timeout: float = 30.0
    user_limit: tuple[int, float] = (30, 600.0)
    team_limit: tuple[int, float] = (600, 600.0)
    share_hours: float = 72.0
    teams: Mapping[str, Team] = field(default_factory=dict)

    def team(self, team_id: str) -> Team:
        return self.teams.get(team_id) or self.teams.get(DEFAULT) or Team()

    @property
    def secret_words(self) -> tuple[str, ...]:
        """What must never be written anywhere."""
        tokens = (self.bot_token, self.app_token, self.signing_secret, *(team.bot_token for team in self.teams.values()))
        return tuple(token for token in tokens if token)


def configured(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of the environment. Raises BadSettings."""
    given = os.environ if environ is None else environ

    def text(name: str) -> str:
        return given.get(name, "").strip()

    api_url = text("RUNWHY_SLACK_API") or SLACK_API
    if urlsplit(api_url).scheme not in ("http", "https"):
        raise BadSettings(f"RUNWHY_SLACK_API must start with http:// or https://, not {api_url!r}")
    hosts = tuple(host.strip().lower() for host in text("RUNWHY_SLACK_FILE_HOSTS").split(",") if host.strip())
    default = Settings()
    return Settings(
        bot_token=text("SLACK_BOT_TOKEN"),
        app_token=text("SLACK_APP_TOKEN"),
        signing_secret=text("SLACK_SIGNING_SECRET"),
        api_url=api_url.rstrip("/") + "/",
        file_hosts=hosts or FILE_HOSTS,
        web_url=text("RUNWHY_WEB_URL").rstrip("/"),
        max_file=int(_number(text("RUNWHY_SLACK_MAX_MB"), "RUNWHY_SLACK_MAX_MB", default.max_file / (1 << 20)) * (1 << 20)),
        workers=int(_number(text("RUNWHY_SLACK_WORKERS"), "RUNWHY_SLACK_WORKERS", default.workers, least=1)),
        lease=_number(text("RUNWHY_SLACK_LEASE"), "RUNWHY_SLACK_LEASE", default.lease, least=1),
        timeout=_number(text("RUNWHY_SLACK_TIMEOUT"), "RUNWHY_SLACK_TIMEOUT", default.timeout, least=1),
        user_limit=_rate(text("RUNWHY_SLACK_USER_LIMIT"), "RUNWHY_SLACK_USER_LIMIT", default.user_limit),
        team_limit=_rate(text("RUNWHY_SLACK_TEAM_LIMIT"), "RUNWHY_SLACK_TEAM_LIMIT", default.team_limit),
        teams=teams(text("RUNWHY_TEAMS"), given),
    )


def _number(text: str, name: str, default: float, least: float = 0) -> float:
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        raise BadSettings(f"{name} must be a number, not {text!r}") from None
    if not value >= least:
        raise BadSettings(f"{name} must be at least {least:g}, not {text}")
    return value


def _rate(text: str, name: str, default: tuple[int, float]) -> tuple[int, float]:
    """``30/600``: so many questions in so many seconds."""
    if not text:
        return default
    count, _, seconds = text.partition("/")
    try:
        found = int(count), float(seconds or 60)
    except ValueError:
        raise BadSettings(f"{name} must be like 30/600 (questions / seconds), not {text!r}") from None
    if found[0] < 1 or not found[1] > 0:
        raise BadSettings(f"{name} must be like 30/600 (questions / seconds), not {text!r}")
    return found


def teams(file: str, environ: Mapping[str, str]) -> dict[str, Team]:
    """The teams of the file, and under "default" what holds for every other workspace: the endpoint that the environment names."""
    from assistant.answers.model.settings import BadSettings as BadModel
    from assistant.answers.model.settings import configured as model_of_environment

    found: dict[str, Team] = {}
    try:
        found[DEFAULT] = Team(_masking(model_of_environment(environ)))
        if file:
            data = tomllib.loads(Path(file).expanduser().read_text(encoding="utf-8"))
            found |= {name: _team(name, table, environ) for name, table in data.items()}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise BadSettings(f"RUNWHY_TEAMS: {file}: {problem}") from problem
    except BadModel as problem:
        raise BadSettings(str(problem)) from problem
    return found


def _team(name: str, table: Any, environ: Mapping[str, str]) -> Team:
    from assistant.answers.model.settings import from_table

    if not isinstance(table, dict):
        raise BadSettings(f"RUNWHY_TEAMS: {name} must be a table: [{name}]")
    table = dict(table)
    if table.get("api_key"):
        raise BadSettings(f"RUNWHY_TEAMS: [{name}] holds a key; put it into an environment variable and name that in api_key_env")
    cards = table.pop("cards", [])
    cards = [cards] if isinstance(cards, str) else cards
    missing = [folder for folder in cards if not Path(folder).expanduser().is_dir()]
    if missing:
        raise BadSettings(f"RUNWHY_TEAMS: [{name}] cards: there is no folder {missing[0]}")
    token = environ.get(str(table.pop("bot_token_env", "")), "")
    endpoint = from_table(table, environ) if table.get("model") or table.get("preset") else None
    return Team(_masking(endpoint), tuple(cards), token)


def _masking(endpoint: Endpoint | None) -> Endpoint | None:
    """In Slack nobody has looked at the log first: everything that goes to a model elsewhere is masked, whatever else is set."""
    return replace(endpoint, redact="on") if endpoint is not None and not endpoint.is_local else endpoint
