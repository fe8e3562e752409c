"""Guided troubleshooting: decision trees whose every step is checked against the run. One engine for web, terminal and Slack.

The state of a walk is ``(guide_id, choices)`` and nothing else. ``page(diagnosis, "start", [])`` asks what is seen; its options are
the ids of the guides: ``page(d, "start", ["slow", …])`` and ``page(d, "slow", […])`` are the same walk. A walk ends (``done``) in an
`Outcome` made of the diagnosis' own findings; nothing is found here that `assistant.diagnosis` has not found.
"""

from __future__ import annotations

from collections.abc import Sequence

from assistant.diagnosis.finding import Diagnosis
from assistant.guide.loading import START, guides
from assistant.guide.parts import Change, Lesson, Outcome, Page, Row, Term
from assistant.guide.rendering import pages
from assistant.guide.teaching import missing, teach
from assistant.messages import Language

__all__ = ["START", "Change", "Lesson", "Outcome", "Page", "Row", "Term", "default_walk", "missing", "page", "pages", "symptoms", "teach"]


def symptoms(language: Language = "en") -> list[tuple[str, str]]:
    """(guide id, what one sees), in the order in which they are offered."""
    return [(guide.id, guide.title[language]) for guide in guides().values()]


def page(diagnosis: Diagnosis, guide_id: str = START, choices: Sequence[str] = (), language: Language = "en") -> Page:
    """The page that these choices lead to. Raises KeyError for a guide that does not exist.

    A choice that its page does not offer (an old link, a re-read log) ends the way there: ``page.choices`` are those that were followed.
    """
    *_, last = pages(diagnosis, guide_id, choices, language)
    return last


def default_walk(diagnosis: Diagnosis, guide_id: str = START, choices: Sequence[str] = (), language: Language = "en") -> list[Page]:
    """Every page from the first to the last, with the default wherever ``choices`` say nothing."""
    from assistant.guide.state import Reading
    from assistant.guide.walk import by_default, default, positions

    reading = Reading(diagnosis)
    *_, place = positions(reading, guide_id, choices)
    followed = list(page(diagnosis, guide_id, choices, language).choices)
    while not place.done:
        followed.append(default(reading, place))
        place = next(by_default(reading, place))
    return list(pages(diagnosis, guide_id, followed, language))
