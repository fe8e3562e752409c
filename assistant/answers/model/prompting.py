"""From a question to the messages that are sent: rules, the talk so far, the evidence, the question; all in a budget, masked if asked."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from assistant.answers.model.client import Message
from assistant.answers.model.settings import Endpoint
from assistant.answers.names import visible
from assistant.answers.packing import Packed, pack
from assistant.answers.prompts import filled
from assistant.answers.question import Question, Turn
from assistant.answers.tokens import Counter, counter, shortened
from assistant.diagnosis.finding import Diagnosis
from assistant.diagnosis.view import RunView
from assistant.lexicon import MAX_QUESTION
from assistant.messages import Language
from assistant.redaction import Redactor

LANGUAGES = {"en": "English", "zh": "Simplified Chinese (简体中文)"}
SMALL = 3300
"""Prompt tokens below which the short rules are used."""
HISTORY_SHARE = 0.15
ANSWER_KEPT = 220
"""Tokens of an earlier answer that are kept in the talk."""
_MARKS = re.compile(r"</?\s*evidence\b[^>\n]*>?", re.IGNORECASE)
_ROLES = re.compile(r"<\|[^|>\n]{1,40}\|>|\[/?INST\]|<</?SYS>>|</?s>|<(?:start|end)_of_turn>", re.IGNORECASE)


@dataclass(slots=True)
class Prompt:
    """``messages`` are exactly what is sent; ``packed`` is their evidence, unmasked; ``redactor`` (None: no masking) restores a reply."""

    messages: list[Message]
    packed: Packed
    redactor: Redactor | None
    tokens: int
    turns: int

    def restore(self, text: str) -> str:
        return self.redactor.restore(text) if self.redactor else text


def build(
    question: Question,
    diagnosis: Diagnosis,
    view: RunView,
    endpoint: Endpoint,
    *,
    history: Sequence[Turn] = (),
    retrieved: Sequence[str] = (),
    share: float = 1.0,
    tools: bool = False,
) -> Prompt:
    """The messages for ``question`` in at most ``share`` of the endpoint's prompt tokens."""
    count = counter()
    room = int(endpoint.prompt_tokens * share)
    language = LANGUAGES[question.language]
    system = filled("system" if room >= SMALL else "system_small", language=language)
    if tools:
        system += "\n" + filled("tools_rule", limit=_tool_limit())
    asked = shortened(safe(question.text[:MAX_QUESTION]), max(80, room // 6), count)
    mark = hashlib.sha256(f"{diagnosis.run.sha256}{question.text}".encode("utf-8", "replace")).hexdigest()[:8]
    frame = filled("question", mark=mark, evidence="", question=asked, language=language)
    fixed = count(system) + count(frame) + 24
    talk = conversation(history, int(room * HISTORY_SHARE), count)
    left = room - fixed - sum(count(m["content"]) + 4 for m in talk)
    packed = pack(question, diagnosis, view, budget=left, count=count, retrieved=retrieved)
    body = filled("question", mark=mark, evidence=safe(packed.text), question=asked, language=language)
    messages = [{"role": "system", "content": system}, *talk, {"role": "user", "content": body}]
    redactor = Redactor(endpoint.patterns) if endpoint.redacts else None
    if redactor is not None:
        messages = [
            {"role": m["role"], "content": m["content"] if m["role"] == "system" else redactor.mask(m["content"])} for m in messages
        ]
    return Prompt(messages, packed, redactor, sum(count(m["content"]) + 4 for m in messages), len(talk) // 2)


def conversation(history: Sequence[Turn], budget: int, count: Counter) -> list[Message]:
    """The newest turns that fit, oldest first; long answers are shortened. A turn without its answer tells a model nothing."""
    kept: list[Message] = []
    left = budget
    for turn in reversed(history):
        if not turn.answer:
            continue
        pair = [
            {"role": "user", "content": shortened(safe(turn.question), 120, count)},
            {"role": "assistant", "content": shortened(safe(turn.answer), ANSWER_KEPT, count)},
        ]
        cost = sum(count(m["content"]) + 4 for m in pair)
        if cost > left:
            break
        left -= cost
        kept = pair + kept
    return kept


def safe(text: str) -> str:
    """``text`` that can neither close the evidence nor pretend to be another speaker."""
    return _ROLES.sub(" ", _MARKS.sub("(evidence)", visible(text)))


def as_text(prompt: Prompt) -> str:
    """The whole prompt as one text, to be read or pasted into another chat."""
    if len(prompt.messages) == 2:
        return "\n\n".join(m["content"] for m in prompt.messages)
    return "\n\n".join(f"[{m['role']}]\n{m['content']}" for m in prompt.messages)


def _tool_limit() -> int:
    from assistant.answers.model.limits import TOOL_CALLS

    return TOOL_CALLS


def language_name(language: Language) -> str:
    return LANGUAGES[language]
