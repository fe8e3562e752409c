"""What Slack refuses: limits of texts and blocks, and what in a text is alive (mentions, links)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

LIMITS = {"header": 150, "section": 3000, "field": 2000, "context": 3000, "button": 75, "value": 2000, "markdown": 12_000, "alt": 2000}
TOTAL = 13_200
LIVE = re.compile(r"<(?:!|@[UW]|#C|https?:|mailto:|tel:)[^>]*>")
CODE = re.compile(r"```.*?(?:```|\Z)|`[^`]*`", re.DOTALL)
BARE = re.compile(r"(?<![`\w])(?:https?://|www\.)\S+")


class Refused(Exception):
    """Slack's error code, with its detail."""

    def __init__(self, error: str, detail: str = "") -> None:
        super().__init__(f"{error}: {detail}")
        self.error, self.detail = error, detail


def check_message(text: str | None, blocks: Sequence[dict[str, Any]], *, most: int = 50) -> None:
    if not text and not blocks:
        raise Refused("no_text")
    if len(text or "") > 40_000:
        raise Refused("msg_too_long")
    if len(blocks) > most:
        raise Refused("invalid_blocks", f"no more than {most} items allowed, there are {len(blocks)}")
    ids = [block["block_id"] for block in blocks if "block_id" in block]
    if len(ids) != len(set(ids)):
        raise Refused("invalid_blocks", "block_id must be unique")
    for block in blocks:
        _check_block(block)
    if sum(len(block.get("text", "")) for block in blocks if block["type"] == "markdown") > LIMITS["markdown"]:
        raise Refused("msg_too_long", "markdown blocks together")
    if (total := sum(map(len, texts(blocks)))) > TOTAL:
        raise Refused("msg_blocks_too_long", str(total))


def _check_block(block: dict[str, Any]) -> None:
    match block.get("type"):
        case "header":
            _text(block["text"], LIMITS["header"], "plain_text")
        case "section":
            if "text" in block:
                _text(block["text"], LIMITS["section"])
            for field in _between(block.get("fields"), 10):
                _text(field, LIMITS["field"])
            if "text" not in block and "fields" not in block:
                raise Refused("invalid_blocks", "section without text")
            if "accessory" in block:
                _element(block["accessory"])
        case "context":
            for element in _between(block["elements"], 10, least=1):
                if element["type"] != "image":
                    _text(element, LIMITS["context"])
        case "actions":
            elements = _between(block["elements"], 25, least=1)
            ids = [element.get("action_id") for element in elements]
            if len(ids) != len(set(ids)):
                raise Refused("invalid_blocks", "action_id must be unique within a block")
            for element in elements:
                _element(element)
        case "context_actions":
            for element in _between(block["elements"], 5, least=1):
                if element["type"] != "feedback_buttons":
                    raise Refused("invalid_blocks", "context_actions element")
                for side in ("positive_button", "negative_button"):
                    _text(element[side]["text"], LIMITS["button"], "plain_text")
                    _most(element[side]["value"], LIMITS["value"])
        case "markdown":
            _most(block["text"], LIMITS["markdown"])
        case "image":
            _most(block["alt_text"], LIMITS["alt"], least=1)
            if not ("image_url" in block or "slack_file" in block):
                raise Refused("invalid_blocks", "image without a source")
        case "input":
            _text(block["label"], 2000, "plain_text")
            element = block["element"]
            if element["type"] == "plain_text_input" and not 0 < element.get("max_length", 3000) <= 3000:
                raise Refused("invalid_arguments", "max_length")
        case "divider":
            pass
        case other:
            raise Refused("invalid_blocks", f"unsupported type: {other}")


def _element(element: dict[str, Any]) -> None:
    if element["type"] == "button":
        _text(element["text"], LIMITS["button"], "plain_text")
        _most(element.get("value", ""), LIMITS["value"])
        _most(element.get("url", ""), 3000)
        if element.get("style") not in (None, "primary", "danger"):
            raise Refused("invalid_blocks", "style")
        if "confirm" in element:
            confirm = element["confirm"]
            _text(confirm["title"], 100, "plain_text")
            _text(confirm["text"], 300)
            _text(confirm["confirm"], 30, "plain_text")
            _text(confirm["deny"], 30, "plain_text")
    elif element["type"] == "static_select":
        options = _between(element["options"], 100, least=1)
        for option in options:
            _text(option["text"], 75, "plain_text")
            _most(option["value"], 150)
    else:
        raise Refused("invalid_blocks", f"unsupported element: {element['type']}")
    _most(element.get("action_id", "x"), 255, least=1)


def _text(text: dict[str, Any], most: int, kind: str = "") -> None:
    if text.get("type") not in ("plain_text", "mrkdwn") or (kind and text["type"] != kind):
        raise Refused("invalid_blocks", f"text type {text.get('type')}")
    _most(text["text"], most, least=1)


def _most(text: str, most: int, least: int = 0) -> None:
    if not least <= len(text) <= most:
        raise Refused("invalid_blocks", f"must be between {least} and {most} characters, has {len(text)}")


def _between(rows: Any, most: int, least: int = 0) -> list[dict[str, Any]]:
    rows = list(rows or ())
    if not least <= len(rows) <= most:
        raise Refused("invalid_blocks", f"between {least} and {most} items, there are {len(rows)}")
    return rows


def texts(blocks: Any) -> Iterator[str]:
    """Every text of the blocks, buttons' labels included, in order."""
    if isinstance(blocks, list):
        for block in blocks:
            yield from texts(block)
    elif isinstance(blocks, dict):
        if isinstance(blocks.get("text"), str):
            yield blocks["text"]
        for name, value in blocks.items():
            if isinstance(value, (dict, list)) and name != "confirm":
                yield from texts(value)


def alive(text: str | None, blocks: Any) -> list[str]:
    """Mentions and links that a reader could click, or that call people; bare addresses count where Slack would link them."""
    found = LIVE.findall(text or "")

    def walk(value: Any) -> None:
        if isinstance(value, list):
            for one in value:
                walk(one)
        elif isinstance(value, dict):
            if value.get("type") == "mrkdwn" and isinstance(value.get("text"), str):
                found.extend(LIVE.findall(value["text"]))
                if not value.get("verbatim"):
                    found.extend(BARE.findall(value["text"]))
            elif value.get("type") == "markdown" and isinstance(value.get("text"), str):
                found.extend([*LIVE.findall(value["text"]), *BARE.findall(CODE.sub("", value["text"]))])
            for inner in value.values():
                walk(inner)

    walk(blocks)
    return found
