"""A log without step numbers: sentences leave the step out instead of showing a question mark."""

from __future__ import annotations

import re

import pytest

from assistant.cards import in_folder, pick
from assistant.diagnosis.stepless import without_steps

PLACE = re.compile(r"\{(\w*step\w*|since|until)\}")


@pytest.mark.parametrize(
    ("text", "names", "left"),
    [
        (
            "All advantages are {a} at step {step} (in {share}, since step {since}).",
            ("step", "since"),
            "All advantages are {a} (in {share}).",
        ),
        ("At step {step} the score is {v}.", ("step",), "The score is {v}."),
        ("It rose to {v} (step {step}); now {now}", ("step",), "It rose to {v}; now {now}"),
        ("第 {step} 步所有优势都是 {a}（占 {share}，从第 {since} 步起），因为", ("step", "since"), "所有优势都是 {a}（占 {share}），因为"),
        ("从第 {since} 步起一直偏低，现在 {now}（第 {step} 步）", ("since", "step"), "一直偏低，现在 {now}"),
        ("{n} steps at step {step}", (), "{n} steps at step {step}"),
    ],
)
def test_phrases(text: str, names: tuple[str, ...], left: str) -> None:
    assert without_steps(text, names) == left


def test_most_sentences_of_the_cards_can_do_without() -> None:
    left = total = 0
    for card in in_folder("findings"):
        for says in (card.front.get("says") or {}).values():
            for language in ("en", "zh"):
                text = pick(says, language)
                names = set(PLACE.findall(text)) - {"n_steps", "step_seconds", "steps"}
                shown = without_steps(text, names)
                assert not re.search(r"（）|\(\)|  |（，|\( ", shown), (card.id, shown)
                assert set(re.findall(r"\{(\w+)\}", text)) - names <= set(re.findall(r"\{(\w+)\}", shown)), (card.id, shown)
                total += bool(names)
                left += any(f"{{{name}}}" in shown for name in names)
    assert left < 0.2 * total  # spans from one step to another need their steps
