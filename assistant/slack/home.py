"""The home tab: how it works, and the person's recent runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from assistant.messages import Language, say
from assistant.slack.blocks import Block, actions, button, context, cut, label, section
from assistant.slack.context import THREAD
from assistant.slack.mrkdwn import inline, words

if TYPE_CHECKING:
    from assistant.sessions.session import About

MOST_RUNS = 15


def home_view(runs: Sequence[tuple[About, str]], language: Language, masked: Callable[[str], str]) -> dict[str, Any]:
    """``runs`` are sessions with the link to their thread ("" where there is none), the last used first."""
    found: list[Block] = [section(say("slack.help", language)), {"type": "divider"}]
    found.append({"type": "header", "text": label(say("slack.home_title", language), 150)})
    if not runs:
        found.append(section(say("slack.home_none", language)))
    for about, link in runs[:MOST_RUNS]:
        row = section(_row(about, language, masked))
        if link:
            row["accessory"] = button(say("slack.home_open", language), f"open#{about.id[:20]}", url=link)
        found += [row, context(_findings(about, language))]
    if runs:
        found += [{"type": "divider"}, actions(button(say("slack.home_forget", language), "forget", f"all {language}", style="danger"))]
    return {"type": "home", "blocks": found}


def thread_link(about: About, address: str) -> str:
    """Where the run is talked about: ``https://lab.slack.com/archives/C1/p1700000000000100``; "" when it is not in Slack."""
    place = about.kept.get(THREAD)
    if not isinstance(place, dict) or not address:
        return ""
    return f"{address.rstrip('/')}/archives/{place.get('channel')}/p{str(place.get('ts')).replace('.', '')}"


def _row(about: About, language: Language, masked: Callable[[str], str]) -> str:
    log = about.log
    parts = [f"{log.get('framework')} {log.get('era') if log.get('era') != 'unknown' else ''}".strip(), log.get("algorithm") or ""]
    if log.get("first_step") is not None:
        parts.append(say("slack.steps", language, first=log["first_step"], last=log["last_step"]))
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(about.used))
    return say(
        "slack.home_row",
        language,
        name=words(masked(cut(about.name or say("slack.pasted_log", language), 100))).replace("*", ""),
        when=when,
        log=words(" · ".join(part for part in parts if part)),
    )


def _findings(about: About, language: Language) -> str:
    from assistant.cards import card
    from assistant.diagnosis import Finding, render

    faults = [name for name in about.findings if card(f"findings/{name}").front.get("severity") != "info"]
    if not faults:
        return say("slack.home_clean", language)
    titles = [inline(render.title(Finding(name), language)) for name in faults[:3]]
    return say("slack.home_findings" if len(faults) > 1 else "slack.home_one", language, n=len(faults), titles=" · ".join(titles))
