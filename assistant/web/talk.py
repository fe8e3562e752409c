"""A question and its answer as HTML: numbers as chips, how they were checked, the evidence, and what can be done with it.

Answers are Markdown of our own making in which anything of a log may stand: HTML, links and images in it are shown as text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from assistant.cards import cards
from assistant.messages import Language, say
from assistant.sessions.session import Exchange
from assistant.web.chips import Held, chip, line_link
from assistant.web.markup import closed_bold, escape

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

    from assistant.answers import Answer

COUNTED = ("run", "derived", "config", "knowledge", "question", "unverified")
_LIST_NUMBER = re.compile(r"[.)](?:\s|$)")


@dataclass(frozen=True, slots=True)
class Shown:
    """An answer as the page shows it: the object of ``runwhy ask --json``, with its place in the talk when it has one."""

    question: str
    answer: Mapping[str, Any]
    index: int | None = None
    good: bool | None = None
    reason: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    plot: str = ""
    """HTML of the plot that the question asked for (`assistant.web.asked_plot`)."""

    @property
    def language(self) -> Language:
        return "zh" if self.answer.get("language") == "zh" else "en"


def of_answer(question: str, answer: Answer, index: int | None, plot: str = "") -> Shown:
    numbers = [{"text": n.text, "start": n.start, "status": n.status, "fact": n.fact} for n in answer.numbers]
    return Shown(question, {**answer.to_json(), "numbers": numbers}, index, usage=answer.usage, plot=plot)


def of_exchange(kept: Exchange, language: Language, plot: str = "") -> Shown:
    """One of the store's; ``language`` is for exchanges of which only the words were kept."""
    answer = dict(kept.answer) or {"answer": kept.markdown, "language": language}
    return Shown(kept.question, answer, kept.index, kept.good, kept.reason, plot=plot)


def turn(shown: Shown) -> str:
    """The whole exchange."""
    language, answer = shown.language, shown.answer
    parts = [
        asked(shown.question),
        shown.plot,
        f'<div class="answer" lang="{"zh-CN" if language == "zh" else "en"}">{words(shown)}</div>',
        written_by(shown),
        footer(answer.get("checked") or {}, language),
        evidence(shown),
        tools(shown) if shown.index is not None else "",
    ]
    place = "" if shown.index is None else f' data-turn="{shown.index}"'
    return f'<article class="turn"{place}>{"".join(parts)}</article>'


def growing(question: str, markdown: str, language: Language) -> str:
    """An answer that is still being written: whole sentences so far."""
    body = rendered(markdown) if markdown else ""
    waiting = f'<p class="waiting"><span class="dots" aria-hidden="true"></span>{escape(say("web.writing", language))}</p>'
    return f'<article class="turn growing">{asked(question)}<div class="answer">{body}</div>{waiting}</article>'


def told(question: str, sentence: str) -> str:
    """A question that got a sentence of the page instead of an answer."""
    return f'<article class="turn">{asked(question)}<p class="problem">{escape(sentence)}</p></article>'


def asked(question: str) -> str:
    return f'<p class="asked">{escape(question).replace(chr(10), "<br>")}</p>' if question else ""


# Words


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "breaks": False}).enable("table").disable(["link", "image", "autolink", "html_inline"])


def rendered(markdown: str) -> str:
    html: str = _markdown().render(closed_bold(markdown))
    return html


def words(shown: Shown) -> str:
    """The answer's Markdown as HTML, each of its numbers a chip."""
    markdown = Held.clean(str(shown.answer.get("answer") or ""))
    held = Held()
    facts = {str(fact.get("id")): fact for fact in shown.answer.get("facts") or ()}
    titles = _titles(shown.answer.get("cards") or (), shown.language)
    out, at = [], 0
    for number, start in placed(markdown, shown.answer.get("numbers") or ()):
        if start < at or _begins_list(markdown, start, start + len(number["text"])):
            continue
        mark = held.put(_chip(number, facts, titles, shown.language))
        if mark is None:
            break
        out += [markdown[at:start], mark]
        at = start + len(number["text"])
    out.append(markdown[at:])
    return held.fill(rendered("".join(out)))


def placed(markdown: str, numbers: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], int]]:
    """Each number with where it stands; those that cannot be found are left out."""
    found: list[tuple[Mapping[str, Any], int]] = []
    at = 0
    for number in numbers:
        text, start = str(number["text"]), number.get("start")
        if not isinstance(start, int) or start < at or markdown[start : start + len(text)] != text:
            match = re.compile(rf"(?<![\w.]){re.escape(text)}(?!\w)").search(markdown, at)
            if match is None:
                continue
            start = match.start()
        found.append((number, start))
        at = start + len(text)
    return found


def _begins_list(markdown: str, start: int, end: int) -> bool:
    """``1.`` at the start of a line is no number."""
    before = markdown[markdown.rfind("\n", 0, start) + 1 : start]
    return not before.strip(" >") and bool(_LIST_NUMBER.match(markdown, end))


def _chip(number: Mapping[str, Any], facts: Mapping[str, Mapping[str, Any]], titles: Mapping[str, str], language: Language) -> str:
    source = str(number.get("fact") or "")
    fact = facts.get(source)
    if fact is None:
        return chip(str(number["text"]), language, status=str(number["status"]), note=titles.get(source, ""))
    return chip(
        str(number["text"]), language, status=str(number["status"]), metric=fact.get("metric"), step=fact.get("step"),
        line=fact.get("line"), note=str(fact.get("formula") or ""),
    )  # fmt: skip


def _titles(card_ids: Sequence[str], language: Language) -> dict[str, str]:
    """``K1`` → the first card's title."""
    known = cards()
    return {f"K{at}": known[name].title(language) for at, name in enumerate(card_ids, 1) if name in known}


# Around the words


def written_by(shown: Shown) -> str:
    """Which model wrote, and what it took."""
    model, usage, language = shown.answer.get("model"), shown.usage, shown.language
    if not model:
        return ""
    parts = [say("web.by_model", language, model=model)]
    if usage:
        parts.append(say("web.usage", language, **{name: usage.get(name, 0) for name in ("calls", "tokens_in", "tokens_out", "seconds")}))
        if "cost" in usage:
            parts.append(say("cli.answer_cost", language, cost=usage["cost"]))
    return f'<p class="by">{escape(" · ".join(parts))}</p>'


def footer(checked: Mapping[str, int], language: Language) -> str:
    parts = [say(f"web.checked_{kind}", language, n=checked[kind]) for kind in COUNTED if checked.get(kind)]
    if not parts:
        return ""
    joint = "，" if language == "zh" else ", "
    css = "checked doubtful" if checked.get("unverified") else "checked"
    return f'<p class="{css}">{escape(say("web.checked", language, parts=joint.join(parts)))}</p>'


def evidence(shown: Shown) -> str:
    """Every fact and card behind the answer, folded."""
    language = shown.language
    rows = "".join(_fact_row(fact, language) for fact in shown.answer.get("facts") or ())
    titles = _titles(shown.answer.get("cards") or (), language)
    if not rows and not titles:
        return ""
    parts = []
    if rows:
        heads = "".join(f"<th>{escape(say(f'web.column_{key}', language))}</th>" for key in ("what", "value", "step", "line"))
        parts.append(f'<div class="scroll"><table class="evidence"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>')
    if titles:
        items = "".join(f"<li>{escape(title)}</li>" for title in dict.fromkeys(titles.values()))
        parts.append(f'<p class="label">{escape(say("web.cards_used", language))}</p><ul class="sources">{items}</ul>')
    summary = escape(say("web.show_evidence", language))
    return f'<details class="fold behind"><summary>{summary}</summary><div class="folded">{"".join(parts)}</div></details>'


def _fact_row(fact: Mapping[str, Any], language: Language) -> str:
    metric, formula = fact.get("metric"), str(fact.get("formula") or "")
    named = f"<code>{escape(metric)}</code>" if metric else ""
    how = f' <span class="formula">{escape(formula)}</span>' if formula else ""
    if not named and not how:  # a step or a count that a sentence of a finding names
        kind = str(fact.get("kind") or "run")
        words = say(f"web.chip_{kind}" if kind in COUNTED else "web.chip_run", language)
        how = f'<span class="formula">{escape(words)}</span>'
    step, line = fact.get("step"), fact.get("line")
    value = chip(
        str(fact.get("text") or fact.get("value")), language, status=str(fact.get("kind") or "run"), metric=metric, step=step, line=line,
        note=formula,
    )  # fmt: skip
    return (
        f'<tr><td>{named}{how}</td><td class="value">{value}</td><td>{"" if step is None else escape(step)}</td>'
        f"<td>{line_link(line, language) if isinstance(line, int) and line > 0 else ''}</td></tr>"
    )


def tools(shown: Shown) -> str:
    """Copy, take to another chat, and say whether it helped."""
    language = shown.language

    def button(action: str, pressed: bool | None = None) -> str:
        state = "" if pressed is None else f' aria-pressed="{"true" if pressed else "false"}"'
        return f'<button type="button" data-do="{action}"{state}>{escape(say(f"web.do_{action}", language))}</button>'

    data = {
        "copy": shown.answer.get("answer") or "",
        "question": shown.question,
        "copied": say("web.copied", language),
        "thanks": say("web.thanks", language),
        "failed": say("web.not_reached", language),
    }
    attributes = "".join(f' data-{name}="{escape(value)}"' for name, value in data.items())
    reason = (
        f'<form class="reason" hidden><label>{escape(say("web.reason", language))} '
        f'<input name="reason" maxlength="500" autocomplete="off" value="{escape(shown.reason)}"></label>'
        f'<button type="submit">{escape(say("web.reason_send", language))}</button></form>'
    )
    return (
        f'<div class="tools"{attributes}>'
        f"{button('copy')}{button('prompt')}{button('good', shown.good is True)}{button('bad', shown.good is False)}"
        f'<span class="said" role="status"></span>{reason}</div>'
    )


def suggestions(questions: Sequence[str], language: Language) -> str:
    """Questions to ask next; a click asks."""
    if not questions:
        return ""
    items = "".join(f'<li><button type="button" class="chip" data-ask>{escape(question)}</button></li>' for question in questions)
    return f'<ul class="suggested" aria-label="{escape(say("web.suggested", language))}">{items}</ul>'
