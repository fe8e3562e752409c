"""The app manifest: what Slack is told of the bot (scopes, events, commands), for Socket Mode or for HTTP."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from assistant.slack.http import PATH


def manifest(url: str = "") -> dict[str, Any]:
    """The manifest; with the bot's public ``url`` for HTTP, without one for Socket Mode."""
    found: dict[str, Any] = json.loads(files("assistant.slack").joinpath("manifest.json").read_text(encoding="utf-8"))
    if url:
        address = url.rstrip("/") + PATH if not url.endswith(PATH) else url
        settings = found["settings"]
        settings["socket_mode_enabled"] = False
        settings["event_subscriptions"] = {"request_url": address, **settings["event_subscriptions"]}
        settings["interactivity"]["request_url"] = address
        found["features"]["slash_commands"][0]["url"] = address
    return found


def scopes() -> tuple[str, ...]:
    """The bot's scopes."""
    return tuple(manifest()["oauth_config"]["scopes"]["bot"])


def as_text(url: str = "") -> str:
    return json.dumps(manifest(url), indent=2, ensure_ascii=False)
