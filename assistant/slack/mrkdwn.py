"""Markdown as Slack shows it: its own ``mrkdwn``, from a real parser, with nothing live that a log could have smuggled in.

Slack's rules: ``&``, ``<`` and ``>`` are escaped, whatever stands between ``<`` and ``>`` is alive (mentions, links), bold is one
star, and a star only counts beside a space. Links are live only when ``allowed`` says so; every other address stands in code.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

ZERO_WIDTH = "\u200b"
_ADDRESS = re.compile(
    r"(?:\b(?:https?|ftp|file|mailto|slack|tel|javascript|data):(?://)?|\bwww\.)"
    r"[^\s<>`\"'，。；！？、（）]*[^\s<>`\"'，。；！？、（）).,;:!?\]}]",
    re.IGNORECASE,
)
_IN_CODE_OR_ADDRESS = re.compile(rf"`[^`]*`|{_ADDRESS.pattern}", re.IGNORECASE)
_CALL = re.compile(r"@(?=(?:here|channel|everyone)\b)", re.IGNORECASE)
_INVISIBLE = re.compile(r"[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")


def nothing(_: str) -> bool:
    return False


def escape(text: str) -> str:
    """``text`` as it is, whatever it holds: no mention, no link, no direction marks."""
    text = _INVISIBLE.sub("", text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _CALL.sub("@" + ZERO_WIDTH, text)


def unescape(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def plain(text: str) -> str:
    """For ``plain_text`` objects, which take text as it is: one line, no invisible characters, no ``:emoji:``."""
    return _CALL.sub("@" + ZERO_WIDTH, _INVISIBLE.sub("", " ".join(text.split())))


def quoted(text: str) -> str:
    """``text`` in code, addresses and all."""
    return "`" + escape(" ".join(text.split())).replace("`", "'") + "`" if text.strip() else ""


def words(text: str) -> str:
    """Prose that is no Markdown, escaped; addresses in it stand in code, so that Slack does not turn them into links."""
    parts, last = [], 0
    for found in _ADDRESS.finditer(text):
        parts += [escape(text[last : found.start()]), quoted(found[0])]
        last = found.end()
    return "".join([*parts, escape(text[last:])])


def to_mrkdwn(markdown: str, allowed: Callable[[str], bool] = nothing) -> str:
    return "\n\n".join(blocks(markdown, allowed))


def blocks(markdown: str, allowed: Callable[[str], bool] = nothing) -> list[str]:
    """Each top-level block (paragraph, list, table …) as mrkdwn."""
    tokens = _parser().parse(markdown)
    found, start = [], 0
    while start < len(tokens):
        end = _closing(tokens, start)
        if text := _block(tokens[start : end + 1], allowed).strip("\n"):
            found.append(text)
        start = end + 1
    return found


def inline(markdown: str, allowed: Callable[[str], bool] = nothing) -> str:
    """One line of Markdown (a card's sentence) as mrkdwn."""
    return " ".join(_inline(token.children or (), allowed) for token in _parser().parseInline(markdown))


def live_markdown(markdown: str) -> str:
    """Markdown for Slack's streaming calls, which take Markdown itself: nothing in it stays alive but its formatting."""
    parts = re.split(r"(```.*?(?:```|\Z)|`[^`\n]*`)", _INVISIBLE.sub("", markdown), flags=re.DOTALL)
    return "".join(_tame(part, code=bool(index % 2)) for index, part in enumerate(parts))


def _tame(text: str, *, code: bool) -> str:
    text = re.sub(r"<(?=[!@#a-zA-Z/])", "<" + ZERO_WIDTH, _CALL.sub("@" + ZERO_WIDTH, text))
    if code:
        return text
    text = text.replace("`", "'")  # one that closes nothing: code spans are the other parts
    text = re.sub(r"!?\[([^\]\n]*)\]\(([^)\s]*)[^)]*\)", r"\1 (`\2`)", text)
    return re.sub(
        rf"`[^`]*`|{_ADDRESS.pattern}", lambda found: found[0] if found[0][0] == "`" else f"`{found[0]}`", text, flags=re.IGNORECASE
    )


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _closing(tokens: Sequence[Token], start: int) -> int:
    """Index of the token that ends the block that starts at ``start``."""
    depth = 0
    for index in range(start, len(tokens)):
        depth += tokens[index].nesting
        if depth <= 0:
            return index
    return len(tokens) - 1


def _block(tokens: Sequence[Token], allowed: Callable[[str], bool]) -> str:
    first = tokens[0]
    match first.type:
        case "heading_open":
            return f"*{_inline(tokens[1].children or (), allowed).replace('*', '')}*"
        case "paragraph_open":
            return _inline(tokens[1].children or (), allowed)
        case "fence" | "code_block":
            return code_block(first.content)
        case "hr":
            return "———"
        case "table_open":
            return _table(tokens)
        case "blockquote_open":
            inner = "\n".join(_children(tokens[1:-1], allowed))
            return "\n".join(f"> {line}" for line in inner.split("\n"))
        case "bullet_list_open" | "ordered_list_open":
            return _list(tokens, allowed)
        case "inline":
            return _inline(first.children or (), allowed)
        case _:
            return escape(first.content)


def code_block(text: str) -> str:
    return "```\n" + escape(text.rstrip("\n")).replace("```", "'''") + "\n```"


def _children(tokens: Sequence[Token], allowed: Callable[[str], bool]) -> list[str]:
    found, start = [], 0
    while start < len(tokens):
        end = _closing(tokens, start)
        found.append(_block(tokens[start : end + 1], allowed))
        start = end + 1
    return found


def _list(tokens: Sequence[Token], allowed: Callable[[str], bool]) -> str:
    ordered = tokens[0].type == "ordered_list_open"
    number = int(tokens[0].attrGet("start") or 1)
    lines, start, inner = [], 0, tokens[1:-1]
    while start < len(inner):
        end = _closing(inner, start)
        mark = f"{number}. " if ordered else "• "
        body = "\n".join(_children(inner[start + 1 : end], allowed)).split("\n")
        lines.append(mark + body[0])
        lines += ["    " + line for line in body[1:]]
        number, start = number + 1, end + 1
    return "\n".join(lines)


def _table(tokens: Sequence[Token]) -> str:
    """A table in fixed-width letters."""
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(_text(token.children or ()))
    widths = [max(map(_width, column)) for column in zip(*rows, strict=False)]
    lines = ["  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=False)).rstrip() for row in rows]
    if len(lines) > 1:
        lines.insert(1, "  ".join("-" * width for width in widths))
    return code_block("\n".join(lines))


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _text(children: Sequence[Token]) -> str:
    return "".join(" " if child.type in ("softbreak", "hardbreak") else child.content for child in children)


_STYLES = {"strong_open": "*", "strong_close": "*", "em_open": "_", "em_close": "_", "s_open": "~", "s_close": "~"}


def _inline(children: Sequence[Token], allowed: Callable[[str], bool]) -> str:
    out: list[str] = []
    address: str | None = None
    label: list[str] = []
    for index, child in enumerate(children):
        match child.type:
            case "text":
                piece = words(child.content)
            case "code_inline":
                piece = quoted(child.content) or ""
            case "softbreak" | "hardbreak":
                piece = "\n"
            case "image":
                piece = words(child.content)
            case "link_open":
                address, label = str(child.attrGet("href") or ""), []
                continue
            case "link_close":
                piece, address = _link(address or "", "".join(label), allowed), None
            case kind if kind in _STYLES:
                piece = _edge(_STYLES[kind], kind.endswith("_open"), children, index)
            case _:
                piece = escape(child.content)
        (out if address is None else label).append(piece)
    return "".join(out)


def _edge(mark: str, opens: bool, children: Sequence[Token], index: int) -> str:
    """A formatting mark; beside a letter (Chinese has no spaces) Slack needs something that is no letter between them."""
    beside = children[index - 1 if opens else index + 1].content if (index > 0 if opens else index + 1 < len(children)) else ""
    letter = beside[-1:] if opens else beside[:1]
    gap = ZERO_WIDTH if letter and (letter.isalnum() or ord(letter) > 127) else ""
    return gap + mark if opens else mark + gap


def _link(address: str, label: str, allowed: Callable[[str], bool]) -> str:
    if allowed(address):
        return f"<{escape(address).replace('|', '%7C')}|{label.replace('`', '') or escape(address)}>"
    return label if unescape(label).strip("`") == address else f"{label} ({quoted(address)})"
