"""Answers in a language model's words. Everything heavy is imported at first use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assistant.answers.model.settings import BadSettings, Endpoint, configured
from assistant.messages import Language

if TYPE_CHECKING:
    from assistant.answers.model.prompting import Prompt
    from assistant.answers.understanding.question import Turn
    from assistant.diagnosis.finding import Diagnosis

__all__ = ["BadSettings", "Endpoint", "configured", "prompt_to_copy"]


def prompt_to_copy(
    question: str,
    diagnosis: Diagnosis,
    *,
    others: Sequence[tuple[str, Diagnosis]] = (),
    name: str = "",
    language: Language | None = None,
    history: Sequence[Turn] = (),
    endpoint: Endpoint | None = None,
) -> Prompt:
    """The prompt for ``question``: ``messages`` is what would be sent to ``endpoint``; ``prompting.as_text`` makes one text of it.

    ``others`` and ``name`` are as in `assistant.answers.answer`. Without an endpoint it is meant for a chat that the user has elsewhere:
    eight thousand tokens of room, everything masked.
    """
    from assistant.answers.model.answering import prepare
    from assistant.answers.several import talk_about

    talk = talk_about(question, diagnosis, others, name, history, language)
    return prepare(talk, endpoint or Endpoint(model="", redact="on", tools="off"), history=history)
