"""Slack's blocks, built so that Slack takes them: every text within its limit, and what had to be left out said by the caller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assistant.slack.mrkdwn import plain

Block = dict[str, Any]

SECTION = 2900
"""Characters of one section, below Slack's 3000."""
MESSAGE = 11_000
"""Characters of all blocks of a message, below the 13 200 at which Slack fails."""
MOST_BLOCKS = 45
BUTTON = 75
FALLBACK = 3000
"""Characters of the text that stands in for blocks in notifications."""


def mrkdwn(text: str) -> dict[str, Any]:
    """A text object in which Slack makes nothing alive by itself."""
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def section(text: str) -> Block:
    return {"type": "section", "text": mrkdwn(text)}


def context(*texts: str) -> Block:
    return {"type": "context", "elements": [mrkdwn(cut(text, 2000)) for text in texts if text][:10]}


def label(text: str, most: int = BUTTON) -> dict[str, Any]:
    return {"type": "plain_text", "text": cut(plain(text), most) or "…", "emoji": False}


def button(text: str, action: str, value: str = "", *, style: str = "", url: str = "") -> Block:
    """``action`` must be unique in its row: add ``#n`` to the action's name."""
    found: Block = {"type": "button", "text": label(text), "action_id": action}
    return found | ({"value": value} if value else {}) | ({"style": style} if style else {}) | ({"url": url} if url else {})


def actions(*buttons: Block) -> Block:
    return {"type": "actions", "elements": list(buttons)}


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def sections(parts: Sequence[str], most: int = SECTION) -> list[str]:
    """Pieces of mrkdwn, none longer than ``most``: parts joined where they fit, cut at lines, words or (a last resort) anywhere."""
    found: list[str] = []
    for part in parts:
        for piece in pieces(part, most):
            if found and len(found[-1]) + len(piece) + 2 <= most:
                found[-1] += "\n\n" + piece
            else:
                found.append(piece)
    return found


def pieces(text: str, most: int = SECTION) -> list[str]:
    """``text`` in pieces of at most ``most`` characters; a code block that is cut is closed and opened again."""
    if len(text) <= most:
        return [text] if text.strip() else []
    found: list[str] = []
    open_code = False
    while text:
        if open_code:
            text = "```\n" + text
        if len(text) <= most:
            found.append(text)
            break
        room = most - 4
        at = _break_before(text, room)
        piece, text = text[:at], text[at:].lstrip("\n") if text[at : at + 1] == "\n" else text[at:]
        open_code = piece.count("```") % 2 == 1
        found.append(piece + "\n```" if open_code else piece)
    return [one for one in found if one.strip("`\n ")]


def _break_before(text: str, room: int) -> int:
    for mark in ("\n\n", "\n", "。", ". ", " "):
        at = text.rfind(mark, room // 3, room)
        if at > 0:
            return at + (len(mark) if mark in ("。", ". ", " ") else 0)
    at = room
    amp = text.rfind("&", at - 6, at)  # not inside &amp;
    return amp if amp > 0 and ";" in text[amp : amp + 6] and text.index(";", amp) >= at else at


def fitting(texts: Sequence[str], room: int = MESSAGE, most: int = MOST_BLOCKS - 10) -> tuple[list[str], bool]:
    """As many of the sections as a message takes, and whether some were left out."""
    shown: list[str] = []
    for text in texts:
        if len(shown) == most or sum(map(len, shown)) + len(text) > room:
            return shown, True
        shown.append(text)
    return shown, False


def safe(blocks: Sequence[Block]) -> list[Block]:
    """The blocks without empty ones, and never more than Slack takes."""
    kept = [block for block in blocks if block.get("elements", True) and (block["type"] != "section" or block["text"]["text"].strip())]
    return kept[:MOST_BLOCKS]
