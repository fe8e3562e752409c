"""``runwhy slack``: the bot, over a socket or over HTTP; or the manifest from which its app is made."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from assistant.cli.loading import Unreadable
from assistant.messages import Language, say

if TYPE_CHECKING:
    from assistant.slack.serve import Running


def print_manifest(url: str) -> None:
    from assistant.slack.manifest import as_text

    print(as_text(url))


def run(language: Language, *, socket: bool, http: bool, host: str, port: int) -> None:
    """Serve until interrupted: over a socket, unless HTTP is asked for (or only a signing secret is set). Raises Unreadable."""
    from assistant.sessions import UnusableStore, open_store
    from assistant.slack.settings import BadSettings, configured

    if find_spec("slack_bolt") is None or find_spec("markdown_it") is None:
        raise Unreadable(say("slack.needs_slack", language))
    if socket and http:
        raise Unreadable(say("slack.one_mode", language))
    try:
        settings = configured()
    except BadSettings as problem:
        raise Unreadable(str(problem)) from problem
    http = http or (not socket and not settings.app_token and bool(settings.signing_secret))
    if not settings.bot_token and not any(team.bot_token for team in settings.teams.values()):
        raise Unreadable(say("slack.no_bot_token", language))
    if http and find_spec("uvicorn") is None:
        raise Unreadable(say("slack.needs_http", language))
    if http and not settings.signing_secret:
        raise Unreadable(say("slack.no_secret", language))
    if not http and not settings.app_token:
        raise Unreadable(say("slack.no_app_token", language))
    from assistant.slack.serve import NotStarted, log_to_stderr, over_http, over_socket

    log_to_stderr()
    try:
        store = open_store()
    except UnusableStore as problem:
        raise Unreadable(problem.sentence(language)) from problem

    def started(running: Running) -> None:
        names = {"team": running.identity.team or "Slack", "user": running.identity.user or running.identity.bot_user_id}
        print(say("slack.started_http" if http else "slack.started_socket", language, host=host, port=running.port, **names), flush=True)

    try:
        if http:
            over_http(settings, store, host, port, started)
        else:
            over_socket(settings, store, started)
    except NotStarted as problem:
        raise Unreadable(say(f"slack.{problem.key}", language, **problem.values)) from problem
