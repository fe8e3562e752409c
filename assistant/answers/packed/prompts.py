"""The words that a model is told: the files in ``prompts/``."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path


def prompts_folder() -> Path:
    """``$RUNWHY_PROMPTS``, inside the installed package, or beside it in a checkout."""
    if named := os.environ.get("RUNWHY_PROMPTS"):
        return Path(named)
    package = Path(__file__).resolve().parents[2]
    inside = package / "prompts"
    return inside if inside.is_dir() else package.parent / "prompts"


@cache
def prompt(name: str) -> str:
    """The text of ``prompts/<name>.md``."""
    return (prompts_folder() / f"{name}.md").read_text(encoding="utf-8").strip("\n")


def filled(name: str, **values: object) -> str:
    """The prompt with ``{field}`` filled; ``{{E7}}`` and other braces stay as they are."""
    return re.sub(r"(?<!\{)\{(\w+)\}(?!\})", lambda m: str(values[m[1]]) if m[1] in values else m[0], prompt(name))


@cache
def labels() -> Mapping[str, str]:
    """The words between facts: ``key: text`` lines of ``prompts/evidence.md``."""
    return {m[1]: m[2] for m in re.finditer(r"^(\w+): (.+)$", prompt("evidence"), re.MULTILINE)}


@cache
def tool_descriptions() -> Mapping[str, str]:
    return {m[1]: m[2].strip() for m in re.finditer(r"^## (\w+)\n(.*?)(?=^## |\Z)", prompt("tools") + "\n", re.MULTILINE | re.DOTALL)}


@cache
def version() -> str:
    """Changes with any word of any prompt."""
    digest = hashlib.sha256()
    for path in sorted(prompts_folder().glob("*.md")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
