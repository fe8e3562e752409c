"""Whether the advice of a finding keeps its direction, for the helpers that look at every finding of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assistant.cards import card
from assistant.diagnosis.finding import Finding
from assistant.diagnosis.fix_values import is_number
from assistant.diagnosis.render import fixes
from assistant.run import Run


def backwards(finding: Finding, run: Run) -> list[str]:
    """Fixes of ``finding`` that set a number without saying in which direction, or against it."""
    rows = {row["why"]["en"]: row for row in card(f"findings/{finding.id}").front.get("fixes") or ()}
    known = [(rows[fix["why"]], fix) for fix in fixes(finding, run) if fix["why"] in rows]  # the words of another framework differ
    return [f"{finding.id}: {fix['key']} {fix['from']} → {fix['to']}" for row, fix in known if not _kept(row, fix)]


def _kept(row: Mapping[str, Any], fix: Mapping[str, Any]) -> bool:
    if not fix["key"] or not is_number(fix["to"]):
        return True
    if row.get("moves") == "up":
        return not is_number(fix["from"]) or fix["to"] > fix["from"]
    if row.get("moves") == "down":
        return not is_number(fix["from"]) or fix["to"] < fix["from"] or fix["from"] in row.get("unlimited", ())
    return bool(row.get("moves") == "set")
