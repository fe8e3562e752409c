"""What somebody typed: prose and code apart, Slack's escapes undone; and which of it is a log, which a question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assistant.slack.mrkdwn import unescape

_FENCE = re.compile(r"```\n?(.*?)(?:```|\Z)", re.DOTALL)
_MARKUP = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")
_METRIC = re.compile(r"[\w/.@%()+-]+['\"]?\s*[:=]\s*(?:np\.\w+\()?[-+]?(?:\d|nan\b|inf\b|null\b)", re.IGNORECASE)
_LOGGED = re.compile(
    r"^\s*(?:\(\w[^)]*(?:pid|rank|ip)=|\[?(?:rank\d|\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d)|Traceback|File \"|"
    r"\[?(?:INFO|WARN(?:ING)?|ERROR|DEBUG)\b|"
    r"[{\[\x1b]|\w*(?:Error|Exception)\b:|\d+%\||\|)|\bstep[:=]\s*\d|\S+=\S+\s+\S+=\S+",
)
LEAST_PROSE = 2


def plain_text(text: str, bot_user: str) -> tuple[str, list[str]]:
    """Prose and code blocks of a message's ``text`` (mrkdwn, escaped)."""
    code = [tidied(unescape(_unlinked(found, bot_user))) for found in _FENCE.findall(text)]
    prose = unescape(_unlinked(_FENCE.sub("\n", text), bot_user))
    return tidied(prose), [one for one in code if one]


def _unlinked(text: str, bot_user: str) -> str:
    """``<http://a|a>`` → ``http://a``; the bot's own name is dropped, other people's stay ids."""

    def word(found: re.Match[str]) -> str:
        sign, inner, label = found[1], found[2], found[3]
        if sign == "@":
            return "" if inner == bot_user else f"@{inner}"
        if sign == "#":
            return f"#{label or inner}"
        if sign == "!":
            return f"@{label or inner}"
        if inner.startswith("mailto:"):
            return label or inner[7:]
        # Slack makes links of what only looks like one (``trainer.py``): then the label is what was typed
        return label if label and inner.removeprefix("http://").rstrip("/") == label else inner

    return _MARKUP.sub(word, text)


def tidied(text: str) -> str:
    return text.replace("\u00a0", " ").replace("\u200b", "").strip("\n").strip()


def rich_text(blocks: Iterable[Mapping[str, Any]], bot_user: str) -> tuple[str, list[str]]:
    """The same of a message's ``rich_text`` blocks, where nothing is escaped."""
    prose: list[str] = []
    code: list[str] = []
    for block in blocks:
        if block.get("type") != "rich_text":
            continue
        for element in block.get("elements") or ():
            _element(element, bot_user, prose, code)
    return tidied("".join(prose)), [one for one in map(tidied, code) if one]


def _element(element: Mapping[str, Any], bot_user: str, prose: list[str], code: list[str]) -> None:
    inner: Sequence[Mapping[str, Any]] = element.get("elements") or ()
    match element.get("type"):
        case "rich_text_preformatted":
            code.append("".join(_piece(one, bot_user) for one in inner))
        case "rich_text_list":
            for item in inner:
                prose.append("- ")
                _element(item, bot_user, prose, code)
                prose.append("\n")
        case _:
            prose.append("".join(_piece(one, bot_user) for one in inner))
            if element.get("type") == "rich_text_quote":
                prose.append("\n")


def _piece(piece: Mapping[str, Any], bot_user: str) -> str:
    match piece.get("type"):
        case "text":
            return str(piece.get("text") or "")
        case "link":
            return str(piece.get("text") or piece.get("url") or "")
        case "user":
            return "" if piece.get("user_id") == bot_user else f"@{piece.get('user_id')}"
        case "emoji":
            return f":{piece.get('name')}:"
        case "broadcast":
            return f"@{piece.get('range')}"
        case _:
            return ""


def divided(prose: str, code: Sequence[str]) -> tuple[str, str]:
    """``(log, question)``: code is a log when it holds more than a setting or two; otherwise lines that look logged are.

    Prose before and after a pasted log is the question. Without anything logged all of it is.
    """
    logged = [one for one in code if len(one.split("\n")) > 1 or len(_METRIC.findall(one)) > LEAST_PROSE or _LOGGED.search(one)]
    asides = [one for one in code if one not in logged]
    lines = prose.split("\n")
    marked = [index for index, line in enumerate(lines) if is_logged(line)]
    if logged:
        return "\n".join(logged), _joined(prose, asides)
    if not marked or (len(marked) == 1 and len(lines[marked[0]]) < 120 and lines[marked[0]].rstrip().endswith(("?", "？"))):
        return "", _joined(prose, asides)
    first, last = marked[0], marked[-1]
    before, after = lines[:first], lines[last + 1 :]
    while before and not _is_prose(before[-1]) and before[-1].strip():  # a dump's own opening line
        first, before = first - 1, before[:-1]
    return "\n".join(lines[first : last + 1]), _joined("\n".join([*before, *after]), asides)


def is_logged(line: str) -> bool:
    return bool(_LOGGED.search(line)) or len(_METRIC.findall(line)) >= 2


def _is_prose(line: str) -> bool:
    return (
        line.rstrip().endswith(("?", "？", ".", "。", ":", "：", "!", "！"))
        or len(line.split()) > 3
        or bool(re.search(r"[\u4e00-\u9fff]", line))
    )


def _joined(prose: str, code: Sequence[str]) -> str:
    text = " ".join([re.sub(r"\s+", " ", prose).strip(), *code]).strip()
    return text if re.search(r"\w", text) else ""


_FORGET = re.compile(
    r"(?:please\s+)?(?:forget|delete|remove|erase)\s+"
    r"(?P<what>this|it|that|everything|all|me|my (?:data|logs?)|this (?:log|run|conversation|thread))"
    r"(?:\s+please)?"
    r"|(?:请)?(?:把)?(?P<zh>这个|这份日志|这些|我的数据|全部|所有|一切|我)?(?:都)?(?:忘掉|忘记|忘了|删除|删掉|清除)"
    r"(?P<zh2>吧|它|这个|这份日志|全部|所有|一切|我的数据|我)?(?:吧|了)?",
    re.IGNORECASE,
)


def forget_request(text: str) -> str:
    """ "one" when the person wants this conversation forgotten, "all" for everything of theirs, "" otherwise."""
    found = _FORGET.fullmatch(text.strip().strip(".!。！ "))
    if not found:
        return ""
    what = (found["what"] or "") + (found["zh"] or "") + (found["zh2"] or "")
    everything = what.lower() in ("everything", "all", "me", "my data", "my logs") or any(
        word in what for word in ("我的数据", "全部", "所有", "一切", "我")
    )
    return "all" if everything else "one"


_HELP = re.compile(r"(?:help|usage|hi|hello|hey|\?|帮助|你好|怎么用|使用说明|用法)\W*", re.IGNORECASE)


def help_request(text: str) -> bool:
    return not text.strip() or bool(_HELP.fullmatch(text.strip()))
