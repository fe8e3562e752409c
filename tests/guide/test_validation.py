"""The guides of this installation are well formed; each fault that a guide can have is found, and named with the guide."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from assistant.guide.loading import END, guide_of, guides
from assistant.guide.validation import guide_problems, problems

TEXT = {"en": "A text.", "zh": "一段话。"}


def small() -> dict[str, Any]:
    """A guide with a look, a step that decides, a question, and an end."""
    return {
        "order": 1,
        "title": TEXT,
        "intro": TEXT,
        "findings": {"entropy-collapse": {"again": 10, **TEXT}},
        "steps": [
            {"id": "seen", "look": True, "title": TEXT, "explain": TEXT, "metrics": ["policy_entropy"], "checks": ["entropy-collapse"]},
            {"id": "why", "title": TEXT, "explain": TEXT, "checks": ["entropy-collapse"], "then": "asked", "next": "end"},
            {
                "id": "asked",
                "title": TEXT,
                "explain": TEXT,
                "ask": TEXT,
                "choices": [
                    {"id": "a", "goto": "end", **TEXT, "causes": {"entropy-collapse": ["no-pressure"]}},
                    {"id": "b", "goto": "end", **TEXT},
                ],
            },
        ],
    }


def test_every_guide_is_well_formed() -> None:
    assert problems() == []


def test_every_path_of_every_guide_ends() -> None:
    """Independent of the validator: all paths are walked, whatever is chosen."""

    def ends(guide: Any, step: str, seen: tuple[str, ...]) -> bool:
        return step == END or (step not in seen and all(ends(guide, target, (*seen, step)) for target in guide.steps[step].targets))

    assert all(ends(guide, guide.first, ()) for guide in guides().values())


def test_the_small_guide_has_no_fault() -> None:
    assert list(guide_problems(guide_of("g", small()))) == []


def step(guide: dict[str, Any], n: int, **change: Any) -> None:
    guide["steps"][n] |= change


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda g: step(g, 1, next="why"), "g: a path does not end: why → why"),
        (lambda g: step(g, 1, next="seen"), "g: a path does not end: seen → why → seen"),
        (lambda g: step(g, 1, next="gone"), "g: steps lead to steps that do not exist: ['gone']"),
        (lambda g: step(g, 1, then=None), "g: no path leads to ['asked']"),
        (lambda g: step(g, 0, metrics=["no_such"]), "g/seen: there is no metric no_such"),
        (lambda g: step(g, 0, metrics=["moe_max_violation"]), "g/seen: the card of moe_max_violation needs 'plain' and 'look'"),
        (lambda g: step(g, 1, checks=["no-such"]), "g/why: there is no finding no-such"),
        (lambda g: step(g, 1, checks=["entropy-explosion"]), "g/seen: no later step decides about ['entropy-collapse']"),
        (lambda g: step(g, 1, checks=["entropy-explosion"]), "g: no step decides about ['entropy-collapse']"),
        (lambda g: step(g, 1, info=["truncation"]), "g/why: truncation is a fault: it belongs into 'checks'"),
        (lambda g: g["findings"].update({"no-such": TEXT}), "g: there is no finding no-such"),
        (lambda g: g["steps"][2]["choices"][0].update(id="next"), "g/asked: choices need ids of their own: ['next', 'b']"),
        (lambda g: g["steps"][2]["choices"][0].update(id="b"), "g/asked: choices need ids of their own: ['b', 'b']"),
        (
            lambda g: g["steps"][2]["choices"][0].update(causes={"entropy-collapse": ["x"]}),
            "g/asked: a: findings/entropy-collapse has no cause ['x']",
        ),
    ],
)
def test_each_fault_of_a_tree_is_named(spoil: Callable[[dict[str, Any]], None], message: str) -> None:
    guide = copy.deepcopy(small())
    spoil(guide)
    assert f"guides/{message}" in list(guide_problems(guide_of("g", guide)))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda g: g.update(title={"en": "Only English"}), "guides/g: title.zh: Field required"),
        (lambda g: g["steps"][0].update(explain={"en": "9 of 10", "zh": "十个里的 9 个"}), None),
        (lambda g: g["steps"][0].update(explain={"en": "above 0.3", "zh": "高于 0.2"}), "numbers differ"),
        (lambda g: g["steps"][0].update(explain={"en": "", "zh": ""}), "guides/g: steps.0.explain.en"),
        (lambda g: g["steps"][1].update(checks=[]), "a step either checks findings or asks with choices"),
        (lambda g: g["steps"][2].pop("ask"), "'ask' and 'choices' belong together"),
        (lambda g: g["steps"][0].update(kinds=["video"]), "guides/g: steps.0.kinds.0"),
        (lambda g: g["steps"][0].update(colour="red"), "guides/g: steps.0.colour: Extra inputs are not permitted"),
    ],
)
def test_each_fault_of_a_file_is_named(tmp_path: Path, spoil: Callable[[dict[str, Any]], None], message: str | None) -> None:
    guide = copy.deepcopy(small())
    spoil(guide)
    (tmp_path / "g.yaml").write_text(yaml.safe_dump(guide, allow_unicode=True), encoding="utf-8")
    found = [one for one in problems(tmp_path) if "guides/g" in one]
    assert found == [] if message is None else any(message in one for one in found)


def test_a_broken_file_and_a_folder_without_a_walk_are_named(tmp_path: Path) -> None:
    (tmp_path / "g.yaml").write_text("a: [", encoding="utf-8")
    found = problems(tmp_path)
    assert any(one.startswith("guides/g: is not YAML") for one in found)
    assert "guides: there must be one called walk-through" in found
    assert any("no symptom leads to" in one and "entropy-collapse" in one for one in found)


def test_lessons_and_terms_are_checked(tmp_path: Path) -> None:
    (tmp_path / "lessons.yaml").write_text("rl:\n  - {metrics: [no_such], checks: [nor-this]}\n", encoding="utf-8")
    (tmp_path / "terms.yaml").write_text(
        "- {id: a, word: {en: a, zh: a}, meaning: {en: a, zh: 甲}, card: concepts/none, match: {en: '('}}\n"
        "- {id: a, word: {en: a, zh: a}, meaning: {en: a}}\n",
        encoding="utf-8",
    )
    found = "\n".join(problems(tmp_path))
    for part in (
        "lessons: rl has fewer than eight", "lessons/rl: there is no metric no_such", "lessons/rl: there is no finding nor-this",
        "terms: a is there twice", "terms/a: there is no card concepts/none", "terms/a: en: missing )", 
        "terms/a: meaning.zh: Field required",
    ):  # fmt: skip
        assert part in found
