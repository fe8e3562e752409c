"""The conversation: suggested questions, an answer as Markdown, and the line that says how its numbers were checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assistant.diagnosis import Diagnosis, RunView
from assistant.messages import Language, say
from assistant.sessions import Session
from assistant.web.markup import closed_bold, escape, without_images
from assistant.web.overview import is_crash

if TYPE_CHECKING:
    from assistant.answers import Answer

MOST_SUGGESTIONS = 4
MOST_FACTS = 12


def reply(session: Session, question: str, language: Language) -> Answer:
    """The answer, in the question's own language; ``language`` is that of the page, for questions that show none."""
    from assistant.answers import answer

    return answer(question, session.diagnosis, language=None if any(c.isalpha() for c in question) else language, history=session.turns)


def markdown(answer: Answer) -> str:
    """What the chat shows: the answer, how its numbers were checked, and where they stand in the log."""
    return f"{closed_bold(without_images(answer.markdown))}\n\n{footer(answer)}{places(answer)}"


def footer(answer: Answer) -> str:
    checked = answer.checked
    kinds = ("run", "derived", "config", "knowledge", "question", "unverified")
    parts = [say(f"web.checked_{kind}", answer.language, n=checked[kind]) for kind in kinds if checked.get(kind)]
    if not parts:
        return ""
    joint = "，" if answer.language == "zh" else ", "
    css = "checked doubtful" if checked.get("unverified") else "checked"
    return f'<p class="{css}">{escape(say("web.checked", answer.language, parts=joint.join(parts)))}</p>'


def places(answer: Answer) -> str:
    """The facts that were printed in the log, with step and line, folded."""
    rows = [row for fact in answer.facts if (row := _place(_plain(fact), answer.language))]
    if not rows:
        return ""
    more = f"<li>+ {len(rows) - MOST_FACTS}</li>" if len(rows) > MOST_FACTS else ""
    return f"<details><summary>{escape(say('web.where', answer.language))}</summary><ul>{''.join(rows[:MOST_FACTS])}{more}</ul></details>"


def _plain(fact: Any) -> dict[str, Any]:
    return fact if isinstance(fact, dict) else {name: getattr(fact, name, None) for name in ("metric", "step", "value", "text", "line")}


def _place(fact: dict[str, Any], language: Language) -> str:
    if fact.get("line") is None or not fact.get("metric"):
        return ""
    step = "" if fact.get("step") is None else f" · {escape(say('web.at_step', language, step=fact['step']))}"
    value = fact.get("text") or fact.get("value")
    line = escape(say("web.line", language, line=fact["line"]))
    return f"<li><code>{escape(fact['metric'])}</code> = {escape(value)}{step} · {line}</li>"


def suggestions(diagnosis: Diagnosis, language: Language) -> list[str]:
    """Questions that fit this run, at most four."""
    view = RunView(diagnosis.run)
    asked: list[str] = []
    faults = diagnosis.faults
    if any(is_crash(finding) for finding in faults):
        asked.append("ask_crash")
    if faults:
        asked.append("ask_change_first")
    asked += [key for key in (_about_pg_loss(view), _about_kl(view)) if key]
    if view.has("time_step"):
        asked.append("ask_time")
    if view.names:
        asked.append("ask_which")
    if not faults:
        asked.insert(0, "ask_summary")
    return [say(f"web.{key}", language) for key in asked[:MOST_SUGGESTIONS]]


def _about_pg_loss(view: RunView) -> str | None:
    loss = view["policy_loss"]
    if loss is None or not loss.finite.any():
        return None
    last = float(loss.values[loss.finite][-1])
    return "ask_positive_pg_loss" if last > 0 else "ask_negative_pg_loss" if last < 0 else None


def _about_kl(view: RunView) -> str | None:
    kl = view["policy_step_kl"]
    return "ask_zero_kl" if kl is not None and len(kl) and bool((kl.values == 0).all()) else None


def next_questions(answer: Answer, before: Sequence[str]) -> list[str]:
    """Follow-ups of the answer, then earlier suggestions that are still open."""
    return list(dict.fromkeys([*answer.followups, *before]))[:MOST_SUGGESTIONS]
