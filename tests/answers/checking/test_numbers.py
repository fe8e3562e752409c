"""Every number of an answer is matched; a number that is changed afterwards is noticed."""

from __future__ import annotations

import re
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.answers.checking.numbers import Number, check, checked
from assistant.answers.grounding.context import Context
from assistant.answers.grounding.evidence import Evidence
from assistant.answers.understanding.question import understand
from assistant.answers.writing.writer import write
from assistant.diagnosis import RunView, diagnose
from assistant.lexicon import of_run
from assistant.run import Run, Style
from tests.builders import run_of

QUESTIONS = (
    "why is pg_loss positive?",
    "is the entropy normal?",
    "how did critic/score/mean develop?",
    "熵的走势如何？",
    "第 12 步的 critic/score/mean 是多少？",
    "compare score and returns",
    "what is wrong with this run?",
)


def example() -> Run:
    n = 40
    return run_of(
        {
            "actor/pg_loss": [0.01 * ((i * 7) % 5 - 2) + 0.003 for i in range(n)],
            "actor/entropy": [0.437 - 0.0031 * i for i in range(n)],
            "critic/score/mean": [0.211 + 0.0113 * i for i in range(n)],
            "critic/returns/mean": [0.187 + 0.0109 * i for i in range(n)],
            "actor/grad_norm": [0.317 + 0.01 * (i % 3) for i in range(n)],
            "timing_s/step": [61.25] * n,
            "timing_s/gen": [40.5] * n,
        },
        style=Style.FIXED3,
        era="0.4",
        algorithm="grpo",
        config={"data.train_batch_size": 256},
    )


@cache
def written(question: str) -> tuple[str, Evidence]:
    diagnosis = diagnose(example())
    asked = understand(question, run_lexicon=of_run(diagnosis.run))
    view = RunView(diagnosis.run)
    evidence = Evidence(diagnosis, view, asked.language)
    return write(Context(asked, diagnosis, view, evidence)), evidence


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_number_is_known(question: str) -> None:
    markdown, evidence = written(question)
    numbers = check(markdown, evidence, question)
    assert numbers
    assert checked(numbers)["unverified"] == 0, [n for n in numbers if n.status == "unverified"]
    facts = {fact.id: fact for fact in evidence.facts}
    for number in numbers:
        if number.status == "run" and number.fact in facts and "." in number.text:
            assert facts[number.fact].text == number.text


def stepped(markdown: str) -> list[re.Match[str]]:
    """Values written with their step."""
    return list(re.finditer(r"(-?\d+\.\d+)(?= \(step \d+\)|（第 \d+ 步）)", markdown))


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_changed_value_is_noticed(data: st.DataObject) -> None:
    question = data.draw(st.sampled_from([q for q in QUESTIONS if stepped(written(q)[0])]))
    markdown, evidence = written(question)
    place = data.draw(st.sampled_from(stepped(markdown)))
    other = data.draw(st.decimals(min_value=-3, max_value=3, places=3).map(lambda d: f"{d:.3f}").filter(lambda t: t != place[0]))
    tampered = markdown[: place.start()] + other + markdown[place.end() :]
    found = next(n for n in check(tampered, evidence, question) if n.start == place.start())
    assert found.status == "unverified"


def test_a_value_that_a_finding_computes_was_not_printed_at_a_step() -> None:
    """The scatter (0.125) stands in the finding's sentence, and without a step."""
    markdown, evidence = written("why is pg_loss positive?")
    assert "scatter of about 0.125" in markdown
    place = stepped(markdown)[0]
    tampered = f"{markdown[: place.start()]}0.125{markdown[place.end() :]}"
    assert next(n for n in check(tampered, evidence) if n.start == place.start()).status == "unverified"


def test_a_value_that_a_finding_tells_is_not_another_metrics() -> None:
    markdown, evidence = written("why is pg_loss positive?")
    told = next(f for f in evidence.facts if f.metric == "actor/pg_loss" and f.step == 40)
    lead = f"{markdown}\n\n`critic/score/mean` "
    found = {n.start: n.status for n in check(f"{lead}{told.text} (step 40)", evidence)}
    assert found[len(lead)] == "unverified"


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_a_changed_step_is_noticed(data: st.DataObject) -> None:
    """A value of the run at a step at which it was not printed is wrong, though both numbers occur in the run."""
    question = data.draw(st.sampled_from([q for q in QUESTIONS if stepped(written(q)[0])]))
    markdown, evidence = written(question)
    place = data.draw(st.sampled_from(stepped(markdown)))
    step = re.compile(r"\d+").search(markdown, place.end())
    assert step is not None
    other = data.draw(st.integers(100, 100_000))
    tampered = markdown[: step.start()] + str(other) + markdown[step.end() :]
    assert any(n.status == "unverified" for n in check(tampered, evidence, question))


def test_value_of_another_metric_is_noticed() -> None:
    _, evidence = written("compare score and returns")
    score = next(f for f in evidence.facts if f.metric == "critic/score/mean")
    returned = next(f for f in evidence.facts if f.metric == "critic/returns/mean" and f.step == score.step)
    swapped = f"`critic/score/mean` is {returned.text} (step {score.step})."
    assert next(n.status for n in check(swapped, evidence)) == "unverified"
    right = f"`critic/score/mean` is {score.text} (step {score.step})."
    assert {n.status for n in check(right, evidence)} == {"run"}


def statuses(text: str, evidence: Evidence, question: str = "") -> list[tuple[str, str]]:
    return [(n.text, n.status) for n in check(text, evidence, question)]


def test_digits_of_names_are_no_numbers() -> None:
    _, evidence = written("is the entropy normal?")
    assert statuses("`val-core/openai/gsm8k/acc/mean@1`, verl 0.6.1, H100, k3 and Qwen2.5-7B", evidence) == []


def test_numbers_of_question_and_of_no_source() -> None:
    _, evidence = written("is the entropy normal?")
    assert statuses("77.31 and 88.42", evidence, "is 77.31 too much?") == [("77.31", "question"), ("88.42", "unverified")]


def test_counts_cover_every_status() -> None:
    assert checked([Number("1", 0, "run", "E1"), Number("2", 3, "unverified")]) == {
        "run": 1,
        "derived": 0,
        "config": 0,
        "knowledge": 0,
        "question": 0,
        "unverified": 1,
    }
