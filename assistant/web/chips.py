"""Number chips: a number with where it stands in the log, and whether it was checked.

A chip is a button: hovering, focusing or tapping it shows metric, step, line and status, a click leads to the log line and to the
plot at that step (``static/30-chips.js``). For a screen reader its label says the same.
"""

from __future__ import annotations

import re

from assistant.diagnosis import Quantity
from assistant.messages import Language, say
from assistant.web.markup import escape

STATUSES = ("run", "derived", "config", "knowledge", "question", "unverified")
_END = "\ue001"
_FIRST, _LAST = 0xE100, 0xF8FF
_OWN = re.compile("[\ue000\ue001\ue100-\uf8ff]")
_MARK = re.compile("\ue000([\ue100-\uf8ff])\ue001")


def chip(
    text: str,
    language: Language,
    *,
    status: str = "run",
    metric: str | None = None,
    step: int | None = None,
    line: int | None = None,
    note: str = "",
) -> str:
    """``text`` as a chip, as HTML. ``note`` is a formula, the value as printed, or the card's title; plain text all of them."""
    where = about(language, status=status, metric=metric, step=step, line=line, note=note)
    data = "".join(
        f' data-{name}="{escape(value)}"' for name, value in (("metric", metric), ("step", step), ("line", line)) if value is not None
    )
    return (
        f'<button type="button" class="num num-{status if status in STATUSES else "unverified"}"{data} '
        f'aria-label="{escape(f"{text}: {where}")}" data-about="{escape(where)}">{escape(text)}</button>'
    )


def about(language: Language, *, status: str, metric: str | None, step: int | None, line: int | None, note: str) -> str:
    """``actor/entropy · step 140 · line 4812 · printed in the log``."""
    parts = [metric or ""]
    if step is not None:
        parts.append(say("web.at_step", language, step=step))
    if line is not None:
        parts.append(say("web.line", language, line=line))
    parts += [note, say(f"web.chip_{status if status in STATUSES else 'unverified'}", language)]
    return " · ".join(part for part in parts if part)


def of_quantity(quantity: Quantity, language: Language) -> str:
    """A number of a finding's own sentence."""
    status = "derived" if quantity.kind == "count" else quantity.kind
    return chip(
        quantity.text, language, status=status, metric=quantity.metric, step=quantity.step, line=quantity.line, note=quantity.formula
    )


def line_link(line: int, language: Language, text: str = "") -> str:
    """A line number that leads to that line of the log."""
    words = say("web.to_line", language, line=line)
    return f'<button type="button" class="to-line" data-line="{line}" aria-label="{escape(words)}">{escape(text or line)}</button>'


class Held:
    """Chips on their way through escaping and Markdown: a mark stands for each until the HTML is made.

    The marks are private-use characters; those that a text brings along must be taken out first (`clean`).
    """

    def __init__(self) -> None:
        self._chips: list[str] = []

    @staticmethod
    def clean(text: str) -> str:
        """``text`` without the characters of the marks, every other one at its place."""
        return _OWN.sub("\ufffd", text)

    def put(self, chip_html: str) -> str | None:
        """The mark for a chip; None when there are too many."""
        code = _FIRST + len(self._chips)
        if code > _LAST:
            return None
        self._chips.append(chip_html)
        return f"\ue000{chr(code)}{_END}"

    def fill(self, html: str) -> str:
        return _MARK.sub(lambda m: self._chips[ord(m[1]) - _FIRST] if ord(m[1]) - _FIRST < len(self._chips) else "\ufffd", html)
