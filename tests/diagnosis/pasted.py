"""What is found in a text as it was pasted."""

from __future__ import annotations

from assistant.diagnosis import Diagnosis, diagnose
from assistant.logs import read_text


def faults(text: str) -> list[str]:
    """Ids of the findings above ``info``, the one to act on first."""
    return [finding.id for finding in diagnose(read_text(text)).faults]


def told(text: str) -> list[tuple[str, str]]:
    """The same with their variants."""
    return variants(diagnose(read_text(text)))


def variants(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    return [(finding.id, finding.variant) for finding in diagnosis.faults]
