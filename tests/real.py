"""Logs that many tests look at, read and diagnosed once in a process. Whoever changes a run reads it himself."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from assistant.diagnosis import Diagnosis, diagnose
from assistant.logs import read
from assistant.run import Run


def run_of_file(path: Path) -> Run:
    return _run(path.resolve())


def diagnosis_of_file(path: Path) -> Diagnosis:
    return _diagnosis(path.resolve())


@cache
def _run(path: Path) -> Run:
    return read(path)


@cache
def _diagnosis(path: Path) -> Diagnosis:
    return diagnose(_run(path))
