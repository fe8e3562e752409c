"""Guided troubleshooting: one page of a walk at a time (`assistant.guide`). Where each session stands is a list of choices, kept here."""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import gradio as gr

from assistant.diagnosis.facts import shown
from assistant.guide import START, Outcome, Page, Term, page
from assistant.messages import Language, say
from assistant.web import texts
from assistant.web.chips import Held, chip, line_link
from assistant.web.markup import escape, fold, inline, paragraphs
from assistant.web.overview import Mask
from assistant.web.panel import PRIVATE, Panel, ended, html

if TYPE_CHECKING:
    from assistant.web.page import Page as WebPage

log = logging.getLogger(__name__)

MOST_WALKS = 5000
"""Walks that are remembered; the one that was not looked at for longest goes first."""
BACK, AGAIN = "<back>", "<again>"


class GuidePanel(Panel):
    name = "guide"

    def __init__(self) -> None:
        self._walks: OrderedDict[str, list[str]] = OrderedDict()

    def build(self) -> None:
        self.body = html("", elem_id="guide")
        self.go = gr.Button(visible="hidden", elem_id="guide-go")

    def wire(self, page: WebPage) -> None:
        self.page = page
        page.on_view(self.name, self.show, [self.body])
        page.on_open(lambda session_id, language: "", [self.body])
        depth, choice = (gr.Textbox(visible="hidden", label=name) for name in ("depth", "choice"))
        chosen = self.go.click(
            self.choose, [depth, choice, page.session, page.language], [self.body],
            js="(...given) => runwhy.guided(...given)", show_progress="hidden", **PRIVATE,
        )  # fmt: skip
        ended(chosen, "() => runwhy.guideShown()")

    def show(self, session_id: str, language: Language) -> str:
        session = self.page.store.get(session_id) if session_id else None
        if session is None:
            return texts.gone(language, self.page.limits)
        choices = self._walks.get(session_id, [])
        try:
            one = page(session.diagnosis, START, choices, language)
        except Exception:  # a broken guide must not take the page with it
            log.exception("the guide failed")
            return texts.problem(say("web.answer_failed", language))
        if list(one.choices) != choices:  # the log was read anew, as something else
            self._remember(session_id, list(one.choices))
        return texts.of(session_id, language, guide_html(one, language, lambda text: self.page.logs.mask(session_id, text)))

    def choose(self, depth: str, choice: str, session_id: str, language: Language) -> str:
        """The page after an option, one page back, or the first. A click on a page that is no longer there (``depth``) does nothing."""
        if self.page.store.about(session_id) is not None:
            choices = self._walks.get(session_id, [])
            if choice == AGAIN:
                self._remember(session_id, [])
            elif depth == str(len(choices)):
                self._remember(session_id, choices[:-1] if choice == BACK else [*choices, choice[:80]])
        return self.show(session_id, language)

    def _remember(self, session_id: str, choices: list[str]) -> None:
        self._walks[session_id] = choices
        self._walks.move_to_end(session_id)
        while len(self._walks) > MOST_WALKS:
            self._walks.popitem(last=False)


def guide_html(one: Page, language: Language, mask: Mask = str) -> str:
    """One page of a walk; ``mask`` is for what may quote the log."""
    n, about = one.progress
    where = escape(say("guide.progress", language, n=n, about=about))
    parts = [
        f'<p class="guide-where"><progress value="{n}" max="{about}" aria-label="{where}"></progress> {where}</p>',
        f'<h2 class="part" tabindex="-1" id="guide-title">{escape(one.title)}</h2>',
    ]
    if one.notes:
        parts.append(f'<ul class="guide-notes">{"".join(f"<li>{inline(mask(note))}</li>" for note in one.notes)}</ul>')
    parts.append(f'<div class="guide-body">{paragraphs(mask(one.body_markdown))}</div>')
    parts += [table(one.rows, language)] if one.rows else []
    parts += [
        f'<p class="guide-quote">{line_link(line.line, language, say("guide.line", language, line=line.line))} '
        f"<samp>{escape(mask(line.text.strip()))}</samp></p>"
        for line in one.quotes
    ]
    if one.outcome is not None:
        parts.append(outcome_html(one.outcome, language, mask))
    parts.append(_options(one, language))
    parts += [terms_html(one.terms, language)] if one.terms else []
    return (
        f'<section class="guide guide-{one.state}" data-depth="{len(one.choices)}" aria-labelledby="guide-title">{"".join(parts)}</section>'
    )


def _options(one: Page, language: Language) -> str:
    rows = []
    hint = escape(say("guide.suggested" if one.by_log else "guide.if_unsure", language))
    for name, label in one.options:
        default = name == one.default and len(one.options) > 1
        note = f' <span class="guide-hint">{hint}</span>' if default else ""
        css = "guide-choice suggested-choice" if default else "guide-choice only-choice" if len(one.options) == 1 else "guide-choice"
        rows.append(f'<button type="button" class="{css}" data-guide="{escape(name)}">{escape(label)}{note}</button>')
    asked = one.question if len(rows) > 1 and one.question != one.title else ""
    question = f'<p class="guide-question" id="guide-question">{escape(asked)}</p>' if asked else ""
    named = "question" if question else "title"
    group = f'{question}<div class="guide-choices" role="group" aria-labelledby="guide-{named}">{"".join(rows)}</div>'
    moves = ""
    if one.choices:
        back, again = escape(say("guide.back", language)), escape(say("guide.start_over", language))
        moves = (
            f'<p class="guide-moves"><button type="button" data-guide="{escape(BACK)}">← {back}</button> '
            f'<button type="button" data-guide="{escape(AGAIN)}">{again}</button></p>'
        )
    if one.outcome is not None:  # the walk ends here, the work does not
        ways = " ".join(
            f'<button type="button" data-show="{name}">{escape(say(f"guide.go_{name}", language))}</button>'
            for name in ("compare", "findings")
        )
        moves = f'<p class="guide-moves">{ways}</p>{moves}'
    return (group if rows else "") + moves


def table(rows: Any, language: Language) -> str:
    """Metric, this run's values as chips, what it is, what it should look like."""
    heads = "".join(f"<th scope='col'>{escape(say(f'guide.head_{key}', language))}</th>" for key in ("metric", "yours", "what", "should"))
    body = "".join(
        f"<tr><th scope='row'>{metric_name(row.metric)}</th><td>{values(row.yours, row.points, language)}{usual(row.typical)}</td>"
        f"<td>{escape(row.plain)}</td><td>{escape(row.should)}</td></tr>"
        for row in rows
    )
    return f'<div class="scroll" tabindex="0"><table class="guide-rows"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def metric_name(name: str) -> str:
    """A key that may be broken after a slash or an underscore and nowhere else."""
    return "<code>" + re.sub("([/_])", r"\1<wbr>", escape(name)) + "</code>"


def usual(typical: str) -> str:
    """The medians of a row, below its values."""
    return f'<div class="guide-usual">{escape(typical)}</div>' if typical else ""


def values(yours: str, points: Any, language: Language) -> str:
    """``yours`` with each printed value in it as a chip."""
    held, text, at = Held(), Held.clean(yours), 0
    if len(points) > 1 and text.count(shown(points[-1])) < sum(shown(point) == shown(points[-1]) for point in points):
        points = points[-1:]  # the same value throughout is said once: it leads to the latest
    for point in points:
        found = text.find(shown(point), at)
        if found < 0:
            continue
        made = held.put(chip(shown(point), language, metric=point.metric, step=point.step, line=point.line, note=_printed(point)))
        if made is None:
            break
        text = text[:found] + made + text[found + len(shown(point)) :]
        at = found + len(made)
    return held.fill(escape(text))


def _printed(point: Any) -> str:
    return "" if shown(point) == point.text else str(point.text)


def outcome_html(found: Outcome, language: Language, mask: Mask = str) -> str:
    """Causes, changes, how to see that it worked, and what else there is."""
    parts = []
    if found.causes:
        parts.append(_list("causes", [inline(mask(text)) for text in found.causes], language, ordered=True))
    if found.told:
        parts.append(_list("told", [inline(text) for text in found.told], language))
    if found.changes:
        rows = [
            f"<b>{inline(one.text)}</b>{'。' if language == 'zh' else '. '}{inline(one.why)}" if one.text else inline(one.why)
            for one in found.changes
        ]
        parts.append(_list("changes", rows, language, ordered=True))
    for name, rows_ in (("watch", found.watch_next), ("wrong", found.wrong_if), ("also", found.also), ("open", found.open)):
        if rows_:
            parts.append(_list(name, [inline(mask(text)) for text in rows_], language))
    return f'<div class="guide-outcome">{"".join(parts)}</div>'


def _list(name: str, rows: list[str], language: Language, *, ordered: bool = False) -> str:
    tag = "ol" if ordered else "ul"
    return f"<h3>{escape(say(f'guide.head_{name}', language))}</h3><{tag}>{''.join(f'<li>{row}</li>' for row in rows)}</{tag}>"


def terms_html(terms: Any, language: Language) -> str:
    """Words explained; those with a concept card open to it."""
    rows = "".join(f"<dt>{escape(term.word)}</dt><dd>{escape(term.meaning)}{_more(term, language)}</dd>" for term in terms)
    return f'<div class="guide-terms"><h3>{escape(say("guide.head_words", language))}</h3><dl>{rows}</dl></div>'


def _more(term: Term, language: Language) -> str:
    from assistant.cards import cards

    found = cards().get(term.card or "")
    if found is None:
        return ""
    return fold(escape(say("guide.more", language, title=found.title(language))), paragraphs(found.body.get(language, "")))
