"""An answer as Slack's blocks: what was asked, the text, how its numbers were checked, what to ask next, was it good."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assistant.messages import Language, say
from assistant.slack.blocks import Block, actions, button, context, cut, fitting, label, safe, section, sections
from assistant.slack.mrkdwn import blocks as parts_of
from assistant.slack.mrkdwn import escape, words

KINDS = ("run", "derived", "config", "knowledge", "question", "unverified")


@dataclass(frozen=True, slots=True)
class Said:
    """An answer as it is kept (`Answer.to_json`); ``index`` is its turn in the session, None when it is in none."""

    kept: Mapping[str, Any]
    question: str
    language: Language
    index: int | None = None

    @property
    def markdown(self) -> str:
        return str(self.kept.get("answer") or "")

    @property
    def followups(self) -> Sequence[str]:
        return tuple(self.kept.get("followups") or ())


def footer(said: Said) -> str:
    """``Numbers checked: 11 from the log, 2 computed from it``; "" when there is none."""
    checked = said.kept.get("checked") or {}
    parts = [say(f"slack.checked_{kind}", said.language, n=checked[kind]) for kind in KINDS if checked.get(kind)]
    joint = "，" if said.language == "zh" else ", "
    told = [say("slack.checked", said.language, parts=joint.join(parts))] if parts else []
    if said.kept.get("model"):
        told.append(say("slack.written_by", said.language, model=said.kept["model"]))
    return escape(" · ".join(told))


def answer_blocks(
    said: Said,
    masked: Callable[[str], str],
    allowed: Callable[[str], bool],
    *,
    asker: str = "",
    questions: Sequence[str] = (),
    body: bool = True,
) -> tuple[list[Block], str, bool]:
    """Blocks, fallback text, and whether some of the answer did not fit (then it belongs into a file).

    ``asker`` is set when the question stands nowhere in the thread (a button): then it is repeated. Without ``body`` only what
    stands below a text that was streamed.
    """
    texts = sections(parts_of(masked(said.markdown), allowed))
    shown, cut_off = fitting(texts)
    found: list[Block] = []
    if asker:
        found.append(context(say("slack.asked_by", said.language, user=asker, question=words(cut(masked(said.question), 500)))))
    if body:
        found += [section(text) for text in shown]
    if cut_off and body:
        found.append(context(f"✂️ {say('slack.cut_here', said.language)}"))
    if line := footer(said):
        found.append(context(line))
    if rows := [button(masked(one), f"ask#{n}", one[:1900]) for n, one in enumerate(questions[:4])]:
        found.append(actions(*rows))
    if said.index is not None and said.index >= 0:
        found.append(feedback_buttons(said.index, said.language))
    return safe(found), cut(texts[0] if texts else escape(said.question), 2500), cut_off


def feedback_buttons(index: int, language: Language) -> Block:
    def side(key: str, good: bool) -> dict[str, Any]:
        return {"text": label(say(f"slack.{key}_button", language)), "value": json.dumps({"turn": index, "good": good, "lang": language})}

    element = {
        "type": "feedback_buttons",
        "action_id": "feedback",
        "positive_button": side("good", True),
        "negative_button": side("bad", False),
    }
    return {"type": "context_actions", "elements": [element]}


def reason_view(job_place: Mapping[str, str], value: str, language: Language) -> dict[str, Any]:
    """The dialogue that asks what was wrong with an answer."""
    return {
        "type": "modal",
        "callback_id": "reason",
        "private_metadata": json.dumps({**job_place, "value": value}),
        "title": label(say("slack.reason_title", language), 24),
        "submit": label(say("slack.reason_send", language), 24),
        "close": label(say("slack.modal_cancel", language), 24),
        "blocks": [
            {
                "type": "input",
                "optional": True,
                "label": label(say("slack.reason_label", language), 100),
                "element": {"type": "plain_text_input", "action_id": "question", "multiline": True, "max_length": 1000},
            }
        ],
    }


def ask_view(place: Mapping[str, str], language: Language) -> dict[str, Any]:
    """The dialogue of ``/runwhy`` alone: a question, the end of a log, files."""

    def field(name: str, key: str, element: dict[str, Any], hint: str = "") -> Block:
        found = {"type": "input", "block_id": name, "optional": True, "label": label(say(key, language), 100), "element": element}
        return found | ({"hint": label(say(hint, language), 150)} if hint else {})

    return {
        "type": "modal",
        "callback_id": "ask",
        "private_metadata": json.dumps(dict(place)),
        "title": label(say("slack.modal_title", language), 24),
        "submit": label(say("slack.modal_send", language), 24),
        "close": label(say("slack.modal_cancel", language), 24),
        "blocks": [
            field("q", "slack.modal_question", {"type": "plain_text_input", "action_id": "question", "max_length": 1000}),
            field(
                "l",
                "slack.modal_log",
                {"type": "plain_text_input", "action_id": "log", "multiline": True, "max_length": 3000},
                "slack.modal_log_hint",
            ),
            field("f", "slack.modal_file", {"type": "file_input", "action_id": "files", "max_files": 5}),
        ],
    }
