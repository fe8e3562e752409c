"""A question without a log: what the cards say of it in general, or nothing."""

from __future__ import annotations

from collections.abc import Callable

from assistant.messages import Language, say
from assistant.slack.blocks import Block, context, fitting, section, sections
from assistant.slack.mrkdwn import blocks as parts_of
from assistant.slack.mrkdwn import escape, inline


def general(question: str, language: Language, allowed: Callable[[str], bool]) -> tuple[list[Block], str] | None:
    """Blocks and fallback text of the card that the question names; None when it names none."""
    from assistant.cards import card, pick

    found = card_of(question)
    if found is None:
        return None
    chosen = card(found)
    parts = [f"*{inline(chosen.title(language)).replace('*', '')}*"]
    if short := pick(chosen.front.get("short"), language):
        parts.append(inline(short, allowed))
    parts += parts_of(chosen.body.get(language) or chosen.body.get("en") or "", allowed)[:6]
    shown, _ = fitting(sections(parts), room=5000)
    return [*(section(text) for text in shown), context(say("slack.no_log_here", language))], escape(chosen.title(language))


def card_of(question: str) -> str | None:
    """The card of the concept, finding or metric that the question names first."""
    from assistant.answers import understand
    from assistant.cards import cards
    from assistant.diagnosis.naming import metric_card

    asked = understand(question)
    named = [*asked.concepts, *(f"findings/{name}" for name in asked.findings), *filter(None, map(metric_card, asked.metrics))]
    return next((name for name in named if name in cards()), None)
