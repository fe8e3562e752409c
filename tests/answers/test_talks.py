"""Talks of several turns without a model: follow-ups, more, what else, and nothing said twice."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from assistant.answers import Answer, Turn, answer
from assistant.answers.understanding.follow_words import kind_of
from assistant.diagnosis import Diagnosis, diagnose
from assistant.logs import read
from tests.answers.model.scenes import collapsed, healthy

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"


@cache
def case(name: str) -> Diagnosis:
    found = sorted(path for path in CASES.glob(f"*/{name}*/*") if path.name != "case.json")
    if not found:
        pytest.skip("needs ../shared/cases")
    return diagnose(read(found[0]))


def talk(diagnosis: Diagnosis, *questions: str) -> list[Answer]:
    turns: list[Turn] = []
    given = []
    for question in questions:
        given.append(answer(question, diagnosis, history=turns))
        turns.append(given[-1].turn)
        assert given[-1].checked["unverified"] == 0, (question, given[-1].markdown)
    return given


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("more", "more"),
        ("details please", "more"),
        ("tell me more about it", "more"),
        ("can you explain in detail?", "more"),
        ("what else could it be?", "more"),
        ("详细说说", "more"),
        ("再详细一点", "more"),
        ("继续", "more"),
        ("还有其他原因吗？", "more"),
        ("are you sure?", "sure"),
        ("how do you know?", "sure"),
        ("真的吗？", "sure"),
        ("依据是什么", "sure"),
        ("anything else wrong?", "others"),
        ("are there other problems?", "others"),
        ("还有别的问题吗？", "others"),
        ("more epochs?", ""),
        ("which metrics have more noise", ""),
        ("有其他指标吗", ""),
        ("详细的 KL 走势", ""),
    ],
)
def test_kinds(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_more_says_what_was_left_out() -> None:
    first, second = talk(collapsed(), "why does the entropy fall?", "more")
    assert second.markdown.startswith("More on: ")
    paragraphs = [part for part in second.markdown.split("\n\n") if part.strip()]
    assert paragraphs
    assert not any(part in first.markdown for part in paragraphs)
    assert "could not tell" not in second.markdown
    assert second.turn.findings == first.turn.findings


def test_more_of_a_metric_without_a_finding() -> None:
    _, second = talk(healthy(), "what is the gradient norm at step 50?", "详细说说")
    assert "actor/grad_norm" in second.markdown
    assert second.language == "zh"


def test_sure_names_lines() -> None:
    _, second = talk(collapsed(), "what is wrong?", "are you sure?")
    assert second.markdown.startswith("This is what it rests on: ")
    assert "(line " in second.markdown
    assert "**What would speak against it.**" in second.markdown


def test_what_else() -> None:
    diagnosis = collapsed()
    first, second = talk(diagnosis, "why does the entropy fall?", "anything else wrong?")
    told = {f.id for f in diagnosis.faults if f.id in first.findings[:1]}
    assert second.markdown.startswith(("Besides that: ", "No, the checks found nothing else"))
    assert not told & set(second.findings[:1])
    rows = talk(healthy(), "is it ok?", "还有别的问题吗？", "还有问题吗？")
    assert rows[1].markdown.startswith("除此之外：没有验证") or rows[1].markdown.startswith("没有了")
    assert rows[2].markdown.startswith("没有了")


def test_why_after_an_overview_does_not_say_it_again() -> None:
    first, second = talk(collapsed(), "what is wrong?", "why?")
    assert "**Why.**" in second.markdown
    lead = first.markdown.split("\n\n")[1]
    assert lead not in second.markdown


def test_why_of_a_healthy_run() -> None:
    rows = talk(case("03_healthy_ppo"), "is my run healthy?", "why?")
    assert rows[1].markdown.startswith("There is no fault to explain: none of the ")


def test_what_to_change_keeps_its_remedy() -> None:
    rows = talk(collapsed(), "what is wrong?", "why?", "what should I change?")
    assert "**What to do.**" in rows[2].markdown


def test_steps_are_carried_on() -> None:
    rows = talk(healthy(), "what is the entropy at step 50?", "and the grad norm?", "那 score 呢？")
    assert "(step 50)" in rows[1].markdown
    assert "`actor/grad_norm`" in rows[1].markdown
    assert "第 50 步" in rows[2].markdown


def test_why_stays_with_the_metric() -> None:
    rows = talk(collapsed(), "is the score ok?", "why?")
    assert rows[1].turn.metrics == rows[0].turn.metrics


def test_the_critic_and_the_actor() -> None:
    diagnosis = case("38_ppo_vf_loss_nan")
    rows = talk(diagnosis, "critic 怎么了", "那 actor 呢？")
    assert "critic 的更新出现 nan" in rows[0].markdown
    assert rows[1].turn.metrics == ("policy_grad_norm", "policy_entropy", "policy_loss")
    none = talk(case("02_healthy_grpo"), "is it healthy?", "and the critic?")
    assert "prints no metric of a critic" in none[1].markdown


def test_the_memory_and_its_end() -> None:
    rows = talk(case("04_verl_alfworld"), "why is it slow?", "and the memory?", "will it run out?", "how do I fix it?")
    assert "Memory used on the node rose steadily" in rows[1].markdown
    assert rows[2].markdown.startswith("It may: Memory of the node keeps growing")
    assert rows[3].markdown.startswith(("Not normal: Memory of the node", "**What to do.**"))


def test_entropy_of_an_agent() -> None:
    rows = talk(case("57_sb3_ppo_breakout"), "is it learning?", "and the entropy?", "why?")
    assert rows[1].turn.metrics == ("action_entropy_loss",)
    assert rows[2].turn.metrics == ("action_entropy_loss",)


def test_a_question_is_not_suggested_again() -> None:
    rows = talk(collapsed(), "What should I change?", "What is wrong with this run?", "why?")
    asked = {"What should I change?", "What is wrong with this run?"}
    assert not asked & set(rows[2].followups)


def test_a_stuck_loss_is_explained_by_its_finding() -> None:
    rows = talk(case("15_trl_dpo_rewards_stuck"), "why is my loss stuck?", "are you sure?", "what else could it be?")
    assert rows[0].markdown.startswith("Not normal: Preference training does not separate the answers")
    assert "`rewards/margins` 0.0 (step 4)" in rows[1].markdown
    assert "could not tell" not in rows[2].markdown
