"""Feedback as it is kept for evaluation: the question, the answer, what stood behind it, and what was thought of it; redacted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assistant.sessions.session import Exchange
from assistant.sessions.tokens import clean_json

_SHOWN = ("language", "mode", "model", "numbers", "facts", "cards", "findings", "checked")


def feedback_json(exchange: Exchange, *, log: Mapping[str, Any], findings: Sequence[str], at: float) -> dict[str, Any]:
    """One line of the export. The same name gets the same mark in question, answer and reason."""
    from assistant.redaction import Redactor

    mask = Redactor().mask
    answer = {name: exchange.answer[name] for name in _SHOWN if name in exchange.answer}
    for part in ("numbers", "facts"):
        if part in answer:
            answer[part] = [{name: mask(one) if isinstance(one, str) else one for name, one in row.items()} for row in answer[part]]
    row: dict[str, Any] = clean_json(
        {
            "at": at,
            "good": exchange.good,
            "reason": mask(exchange.reason),
            "question": mask(exchange.question),
            "answer": mask(exchange.markdown),
            **answer,
            "run": dict(log),
            "run_findings": list(findings),
        }
    )
    return row
