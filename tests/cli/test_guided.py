"""``runwhy guide``: walking by defaults, talking, JSON, and the first reading."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from assistant.cli.commands import app
from assistant.cli.guided import talk
from assistant.diagnosis import Diagnosis, diagnose
from assistant.logs import read

CASES = Path(__file__).parents[1] / "cases"
LOG = CASES / "a_rewards_always_zero" / "log.txt"
runner = CliRunner()


def run(*given: str, code: int = 0) -> str:
    done = runner.invoke(app, ["guide", *given])
    assert done.exit_code == code, done.output
    return done.output


@pytest.mark.parametrize(("language", "word"), [("en", "Most likely causes"), ("zh", "最可能的原因")])
def test_without_a_terminal_the_defaults_are_walked_and_printed(language: str, word: str) -> None:
    printed = run(str(LOG), "--lang", language)
    assert word in printed
    assert "critic/score/mean" in printed
    assert ("step 1 of about" if language == "en" else "第 1 步") in printed


def test_json_has_every_page_the_choices_and_the_outcome() -> None:
    found = json.loads(run(str(LOG), "--json"))
    assert found["outcome"]["findings"][0] == diagnose(read(LOG)).faults[0].id
    assert found["pages"][0]["options"][0].keys() == {"id", "label"}
    assert [one["step"] for one in found["pages"]][-1] == "end"
    again = json.loads(run(str(LOG), "--json", *(part for choice in found["choices"] for part in ("--choose", choice))))
    assert again["outcome"] == found["outcome"]


def test_a_guide_that_does_not_exist_is_refused_in_one_line() -> None:
    printed = run(str(LOG), "--symptom", "nonsense", code=2)
    assert "There is no guide nonsense" in printed
    assert "reward-flat" in printed
    assert len(printed.strip().splitlines()) == 1


@pytest.mark.parametrize("language", ["en", "zh"])
def test_teach_lists_the_numbers_with_verdicts(language: str) -> None:
    printed = run(str(LOG), "--teach", "--lang", language)
    assert "1. critic/score/mean" in printed
    assert ("needs attention" if language == "en" else "需要处理") in printed
    lessons = json.loads(run(str(LOG), "--teach", "--json"))["lessons"]
    assert 1 <= len(lessons) <= 8
    assert {"metric", "what", "should", "yours", "verdict", "line"} <= lessons[0].keys()


@pytest.fixture(scope="module")
def sick() -> Diagnosis:
    return diagnose(read(LOG))


def spoken(diagnosis: Diagnosis, *typed: str, guide: str = "start") -> tuple[str, int]:
    """What a talk prints, and how many of the typed lines it took."""
    out = io.StringIO()
    lines: Iterator[str] = iter(typed)
    taken = 0

    def ask(prompt: str) -> str:
        nonlocal taken
        try:
            answer = next(lines)
        except StopIteration:
            raise EOFError from None
        taken += 1
        return answer

    talk(diagnosis, guide, (), "en", Console(file=out, width=120), ask)
    return out.getvalue(), taken


def test_enter_takes_the_default_up_to_the_result(sick: Diagnosis) -> None:
    printed, taken = spoken(sick, *[""] * 12)
    assert "Result" in printed
    assert "What to change" in printed
    assert 3 < taken < 12


def test_q_and_the_end_of_input_end_the_talk_kindly(sick: Diagnosis) -> None:
    for typed in (["q"], [], ["", "q"]):
        printed, _ = spoken(sick, *typed)
        assert "Come back any time" in printed


def test_b_goes_back_and_nonsense_is_asked_again(sick: Diagnosis) -> None:
    printed, _ = spoken(sick, "1", "b", "b", "99", "x", "q")
    assert printed.count("What do you see?") == 2  # the first page, again after going back
    assert printed.count("Please type a number from 1 to 9") == 3  # b on the first page is none either


def test_options_can_be_typed_by_number_or_name(sick: Diagnosis) -> None:
    by_number, _ = spoken(sick, "3", "q")
    by_name, _ = spoken(sick, "output", "q")
    assert by_number == by_name
