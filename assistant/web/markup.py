"""Text to HTML. Whatever comes out of a log or a card is escaped first; only then is a little Markdown honoured."""

from __future__ import annotations

import html
import re

_CODE = re.compile(r"`([^`\n]+)`")
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")
_CJK_BOLD = re.compile(r"\*\*([^*\n]+?)([：，。；！？、）」])\*\*(?=\S)")
_ITEM = re.compile(r"^(?:[-*]|\d+\.)\s+")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|~>$:])")


def escape(text: object) -> str:
    """Plain text for HTML content and attribute values."""
    return html.escape(str(text), quote=True)


def inline(text: str) -> str:
    """A sentence with `` `code` `` and ``**bold**``."""
    parts = _CODE.split(escape(text))
    return "".join(f"<code>{part}</code>" if index % 2 else _BOLD.sub(r"<strong>\1</strong>", part) for index, part in enumerate(parts))


def paragraphs(text: str) -> str:
    """Paragraphs, bullet lists and ``###`` headings: what the body of a card uses."""
    return "".join(_block(block) for block in re.split(r"\n\s*\n", text.strip()) if block.strip())


def _block(block: str) -> str:
    lines = block.strip().splitlines()
    if lines[0].startswith("#"):
        rest = "\n".join(lines[1:])
        return f"<h5>{inline(lines[0].lstrip('# '))}</h5>" + (_block(rest) if rest.strip() else "")
    first = next((index for index, line in enumerate(lines) if _ITEM.match(line)), None)
    if first is None:
        return f"<p>{inline(' '.join(line.strip() for line in lines))}</p>"
    items: list[str] = []
    for line in lines[first:]:
        if found := _ITEM.match(line):
            items.append(line[found.end() :])
        else:
            items[-1] += " " + line.strip()
    lead = f"<p>{inline(' '.join(lines[:first]))}</p>" if first else ""
    return lead + "<ul>" + "".join(f"<li>{inline(item)}</li>" for item in items) + "</ul>"


def fold(summary: str, body: str, *, css: str = "", opened: bool = False) -> str:
    """A part that opens on a click or a key; both arguments are HTML."""
    return f'<details class="fold {css}"{" open" if opened else ""}><summary>{summary}</summary><div class="folded">{body}</div></details>'


def as_plain_markdown(text: str) -> str:
    """User text shown through a Markdown renderer: every character stands for itself."""
    return _MARKDOWN.sub(r"\\\1", html.escape(text, quote=False)).replace("\n", "  \n")


def closed_bold(markdown: str) -> str:
    """``**接着看：**结合`` is no bold text to Markdown (punctuation inside, a letter outside): the mark moves out."""
    return _CJK_BOLD.sub(r"**\1**\2", markdown)


def without_images(markdown: str) -> str:
    """An answer fetches nothing: an image becomes its own text."""
    return markdown.replace("![", "!\\[")


def size(n_bytes: float) -> str:
    """``1.9 MB``, as people count (powers of ten)."""
    for unit in ("B", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "B" or n_bytes >= 100 else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} GB"
