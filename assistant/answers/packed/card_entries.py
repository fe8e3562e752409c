"""A knowledge card as evidence: the fields that this question and this version need, under its number K…"""

from __future__ import annotations

import re
from collections.abc import Callable

from assistant.answers.grounding.context import Context
from assistant.answers.grounding.evidence import picked, shortened
from assistant.answers.packed.prompts import labels
from assistant.diagnosis.naming import tables

Write = Callable[[Context], str]


def fits(context: Context, name: str) -> bool:
    """Whether a card that a search brought belongs to this run: not how another framework logs, no crash where nothing crashed."""
    folder, _, rest = name.partition("/")
    run = context.diagnosis.run
    if folder == "frameworks":
        return run.framework == "unknown" or rest in tables(run.framework)
    if folder == "errors" or rest.startswith("crash"):
        return "crash" in context.question.properties or any(event.fatal for event in run.events)
    return True


def card_entry(name: str, full: bool) -> Write:
    def text(context: Context) -> str:
        found, language, words = context.evidence.cite(name), context.language, labels()
        if found is None:
            return ""
        fields = [context.evidence.text_of(found, "short"), context.evidence.text_of(found, "definition") if full else ""]
        notes = [f"{words['this_version']}: {note}" for note in context.evidence.era_notes(found)]
        said = context.question.properties
        extra = [key for key, when in (("zero", "zero"), ("negative", "negative"), ("nan", "nan"), ("absent", "missing")) if when in said]
        if full:
            extra += ["healthy", "advice", "lookalikes", "may_have_read"]
        fields += notes + [context.evidence.text_of(found, key) for key in extra]
        body = found.body.get(language) or found.body.get("en", "")
        if found.folder != "metrics":
            terms = [*context.question.metrics, *re.findall(r"[A-Za-z_]{4,}|[\u3400-\u9fff]{2}", context.question.text)]
            fields.append(shortened(flat(body), 170 if full else 70, language) if full else picked(flat(body), terms, 70, language))
        number_of = f"K{context.evidence.cards.index(name) + 1}"
        kept = [f for f in dict.fromkeys(fields) if f]
        return f"{number_of} {name} – {found.title(language)}: " + " ".join(kept)

    return text


def flat(text: str) -> str:
    """``text`` in one line."""
    return re.sub(r"\s*\n\s*", " ", text).strip()
