"""What to ask about this run."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.diagnosis import Diagnosis, RunView
from assistant.messages import Language, say
from assistant.web.overview import is_crash

MOST_SUGGESTIONS = 4


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


def next_questions(followups: Sequence[str], before: Sequence[str]) -> list[str]:
    """Follow-ups of the answer, then earlier suggestions that are still open."""
    return list(dict.fromkeys([*followups, *before]))[:MOST_SUGGESTIONS]
