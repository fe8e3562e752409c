"""From a question to the messages that are sent: rules, the talk so far, the evidence, the question; all in a budget, masked if asked."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from assistant.answers.checking.names import visible
from assistant.answers.grounding.evidence import code
from assistant.answers.grounding.tokens import Counter, counter, shortened
from assistant.answers.model.client import Message
from assistant.answers.model.settings import Endpoint
from assistant.answers.packed.packing import Packed, pack
from assistant.answers.packed.prompts import filled
from assistant.answers.several import IDS, Talk, pack_between, understood
from assistant.answers.understanding.question import Turn
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
    talk: Talk,
    endpoint: Endpoint,
    *,
    history: Sequence[Turn] = (),
    retrieved: Sequence[str] = (),
    share: float = 1.0,
    tools: bool = False,
) -> Prompt:
    """The messages for the talk's question in at most ``share`` of the endpoint's prompt tokens."""
    count = counter()
    room = int(endpoint.prompt_tokens * share)
    language = LANGUAGES[talk.language]
    system = filled("system" if room >= SMALL else "system_small", language=language)
    if not talk.single:
        named = [talk.names[index] for index in talk.meant.runs]
        system += "\n\n" + filled(
            "runs_rule", n=len(talk.runs), names=", ".join(map(_name, talk.names)), about=" and ".join(map(_name, named))
        )
    if tools:
        system += "\n" + filled("tools_rule", limit=_tool_limit())
    question = talk.question
    asked = shortened(safe(question[:MAX_QUESTION]), max(80, room // 6), count)
    mark = hashlib.sha256(f"{talk.run(0)[1].run.sha256}{question}".encode("utf-8", "replace")).hexdigest()[:8]
    frame = filled("question", mark=mark, evidence="", question=asked, language=language)
    fixed = count(system) + count(frame) + 24
    turns = conversation(history, int(room * HISTORY_SHARE), count)
    left = room - fixed - sum(count(m["content"]) + 4 for m in turns)
    packed = _packed(talk, history, left, count, retrieved)
    body = filled("question", mark=mark, evidence=safe(packed.text), question=asked, language=language)
    messages = [{"role": "system", "content": system}, *turns, {"role": "user", "content": body}]
    redactor = Redactor(endpoint.patterns) if endpoint.redacts else None
    if redactor is not None:
        plain = talk.single  # the rules hold no word of the user, unless they name his runs
        messages = [
            {"role": m["role"], "content": m["content"] if m["role"] == "system" and plain else redactor.mask(m["content"])}
            for m in messages
        ]
    return Prompt(messages, packed, redactor, sum(count(m["content"]) + 4 for m in messages), len(turns) // 2)


def _packed(talk: Talk, history: Sequence[Turn], budget: int, count: Counter, retrieved: Sequence[str]) -> Packed:
    if talk.meant.between:
        return pack_between(talk, history, budget=budget, count=count, retrieved=retrieved)[0]
    index = talk.meant.runs[0]
    name, diagnosis = talk.run(index)
    view = RunView(diagnosis.run)
    asked = understood(talk.meant.rest, diagnosis, view, talk.language, history)
    own = "" if talk.single else name
    return pack(asked, diagnosis, view, budget=budget, count=count, retrieved=retrieved, run=own, first=IDS * index)


def _name(name: str) -> str:
    """A run's name as one word of a rule: no order can hide in a file name."""
    return code(safe(name)[:80])


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
