"""The packages of answers build on one another in one direction."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import assistant.answers

FOLDER = Path(assistant.answers.__file__).parent
MAY_USE = {
    "understanding": set(),
    "grounding": {"understanding"},
    "checking": {"understanding", "grounding"},
    "writing": {"understanding", "grounding", "checking"},
    "packed": {"understanding", "grounding", "checking", "writing"},
}


def used(path: Path) -> set[str]:
    """Packages of answers that a module imports from."""
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    names = [node.module or "" for node in tree if isinstance(node, ast.ImportFrom)]
    return {name.split(".")[2] for name in names if name.startswith("assistant.answers.")}


@pytest.mark.parametrize("package", MAY_USE)
def test_a_package_uses_only_what_stands_below_it(package: str) -> None:
    modules = sorted((FOLDER / package).glob("*.py"))
    assert len(modules) > 3
    assert {path.name: sorted(used(path) - MAY_USE[package] - {package}) for path in modules} == {path.name: [] for path in modules}
