"""Is the bot set up: tokens of the right kind, accepted by Slack, with the scopes that it needs. Contacts Slack with what is set."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Protocol

from assistant.answers.model.doctor import Check, State
from assistant.messages import Language, say
from assistant.slack.manifest import scopes
from assistant.slack.settings import BadSettings, Settings, configured

SECONDS = 10.0
NAMES = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET")


class _Checking(Protocol):
    def __call__(self, name: str, state: State, detail: str = "", advice: str = "", **values: object) -> Check: ...


def examine(language: Language, environ: Mapping[str, str] | None = None) -> Iterator[Check]:
    """Every check in turn; those that need what has failed are left out. One line when nothing is set up."""
    given = os.environ if environ is None else environ

    def check(name: str, state: State, detail: str = "", advice: str = "", **values: object) -> Check:
        words = say(f"slack.{advice}", language, **values) if advice else ""
        return Check(f"slack-{name}", state, say(f"slack.name_{name}", language), detail, words)

    if not any(given.get(name, "").strip() for name in NAMES):
        yield check("token", "note", say("slack.not_set_up", language))
        return
    if missing := [name for name in ("slack_bolt", "slack_sdk", "markdown_it", "sqlalchemy", "uvicorn") if find_spec(name) is None]:
        yield check("parts", "bad" if set(missing) - {"uvicorn"} else "note", ", ".join(missing), "install_slack")
        if set(missing) - {"uvicorn"}:
            return
    try:
        settings = configured(given)
    except BadSettings as problem:
        yield check("teams", "bad", str(problem))
        return
    yield from _bot_token(settings, check)
    yield from _ways_in(settings, check)


def _bot_token(settings: Settings, check: _Checking) -> Iterator[Check]:
    from slack_sdk.errors import SlackApiError

    from assistant.slack.delivery import client_for, code_of

    token = settings.bot_token
    if not token:
        yield check("token", "bad", "", "no_bot_token")
        return
    if not token.startswith("xoxb-"):
        yield check("token", "bad", "", "wrong_prefix", prefix="xoxb-")
        return
    try:
        answer = client_for(token, settings.api_url, SECONDS).auth_test()
    except SlackApiError as problem:
        yield check("token", "bad", "", "token_refused", error=code_of(problem))
        return
    except OSError as problem:
        yield check("token", "bad", f"{settings.api_url} {type(problem).__name__}", "no_network")
        return
    yield check("token", "ok", f"{answer.get('team')} · @{answer.get('user')}")
    headers = {name.lower(): value for name, value in dict(answer.headers).items()}
    given = {scope.strip() for scope in str(headers.get("x-oauth-scopes") or "").split(",")}
    lacking = [scope for scope in scopes() if scope not in given]
    known, advice = f"{len(scopes()) - len(lacking)}/{len(scopes())}", "missing_scopes" if lacking else ""
    yield check("scopes", "bad" if lacking else "ok", known, advice, scopes=", ".join(lacking))


def _ways_in(settings: Settings, check: _Checking) -> Iterator[Check]:
    from slack_sdk.errors import SlackApiError

    from assistant.slack.delivery import client_for, code_of

    if not settings.app_token and not settings.signing_secret:
        yield check("mode", "bad", "", "no_mode")
    if settings.app_token and not settings.app_token.startswith("xapp-"):
        yield check("app_token", "bad", "", "wrong_prefix", prefix="xapp-")
    elif settings.app_token:
        try:
            client_for(settings.app_token, settings.api_url, SECONDS).apps_connections_open(app_token=settings.app_token)
            yield check("app_token", "ok", "Socket Mode")
        except SlackApiError as problem:
            yield check("app_token", "bad", "", "app_token_refused", error=code_of(problem))
        except OSError as problem:
            yield check("app_token", "bad", type(problem).__name__, "no_network")
    if settings.signing_secret:
        fits = bool(re.fullmatch(r"[0-9a-f]{32}", settings.signing_secret))
        yield check("secret", "ok" if fits else "note", "HTTP", "" if fits else "secret_shape")
