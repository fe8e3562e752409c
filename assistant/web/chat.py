"""What to ask about this run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assistant.diagnosis import Diagnosis, RunView
from assistant.messages import Language, say
from assistant.web.overview import is_crash

MOST_SUGGESTIONS = 4


def suggestions(diagnosis: Diagnosis, language: Language) -> list[str]:
    """Questions that fit this run, at most four."""
    view = RunView(diagnosis.run)
    asked: list[tuple[str, str]] = []
    faults = diagnosis.faults
    if any(is_crash(finding) for finding in faults):
        asked.append(("ask_crash", ""))
    if faults:
        asked.append(("ask_change_first", ""))
    asked += [found for found in (_about_pg_loss(view), _about_kl(view)) if found]
    if view.has("time_step"):
        asked.append(("ask_time", ""))
    if view.names:
        asked.append(("ask_which", ""))
    if not faults:
        asked.insert(0, ("ask_summary", ""))
    return [say(f"web.{key}", language, metric=metric) for key, metric in asked[:MOST_SUGGESTIONS]]


def _about_pg_loss(view: RunView) -> tuple[str, str] | None:
    loss = view["policy_loss"]
    if loss is None or not loss.finite.any():
        return None
    last = float(loss.values[loss.finite][-1])
    key = "ask_positive_pg_loss" if last > 0 else "ask_negative_pg_loss" if last < 0 else ""
    return (key, _short(loss.name)) if key else None


def _about_kl(view: RunView) -> tuple[str, str] | None:
    kl = view["policy_step_kl"]
    return ("ask_zero_kl", _short(kl.name)) if kl is not None and len(kl) and bool((kl.values == 0).all()) else None


def _short(name: str) -> str:
    """``actor/pg_loss`` as people say it."""
    return name.rsplit("/", 1)[-1]


def next_questions(followups: Sequence[str], before: Sequence[str], asked: Iterable[str] = ()) -> list[str]:
    """Follow-ups of the answer, then earlier suggestions that are still open. What was ``asked`` before is not suggested again, nor
    what says the same with a word more ("What should I change?", "What should I change first?")."""
    done = {_plain(question) for question in asked}
    fresh: dict[str, str] = {}
    for question in (*followups, *before):
        plain = _plain(question)
        if plain not in done and not any(plain.startswith(known) or known.startswith(plain) for known in fresh):
            fresh[plain] = question
    return list(fresh.values())[:MOST_SUGGESTIONS]


def _plain(question: str) -> str:
    return question.strip().rstrip("?？.。!！").casefold()
