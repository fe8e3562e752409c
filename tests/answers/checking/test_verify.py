from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.answers.checking.verify import Verified, verify
from assistant.answers.packed.packing import Packed, pack
from assistant.answers.understanding.question import understand
from assistant.diagnosis import Diagnosis, RunView
from assistant.lexicon import of_run
from assistant.messages import Language
from tests.answers.model.scenes import collapsed, healthy


@cache
def packed(diagnosis_name: str, question: str, language: Language) -> tuple[Packed, Diagnosis]:
    diagnosis = collapsed() if diagnosis_name == "collapsed" else healthy()
    view = RunView(diagnosis.run)
    present = {name.canonical for name in view.names.values()}
    asked = understand(question, run_lexicon=of_run(diagnosis.run), present=present, language=language)
    return pack(asked, diagnosis, view, budget=6000), diagnosis


def checked(text: str, language: Language = "en", run: str = "collapsed", question: str = "Why does actor/entropy fall?") -> Verified:
    evidence, _ = packed(run, question, language)
    return verify(text, evidence.evidence, language, shown=evidence.text, said=question)


def at(metric: str, step: int) -> str:
    point = RunView(collapsed().run).printed(metric).at(step)  # type: ignore[union-attr]
    assert point is not None
    return point.text


def kinds(found: Verified) -> list[str]:
    return [issue.kind for issue in found.issues]


ENTROPY_FIRST, ENTROPY_LAST = "0.404", "0.004526"


@pytest.mark.parametrize(
    "text",
    [
        f"`actor/entropy` fell from {ENTROPY_FIRST} (step 1) to {ENTROPY_LAST} at step 200.",
        f"At step 1 entropy was {ENTROPY_FIRST}.",
        "Entropy starts at about 0.40 and ends at 0.0045.",
        "`actor/entropy` dropped by 98.9% from 0.404 to 0.004526.",
        "`actor/entropy` went from 0.404 to 0.004526, a factor of 89×.",
        "The log covers 200 steps, from step 1 to step 200.",
        "Since step 66 entropy has been low, for 134 steps.",
        "`actor_rollout_ref.actor.clip_ratio_high`: 0.2 → 0.28.",
        "`actor_rollout_ref.actor.optim.lr` is 1e-6; try a lower one.",
        "Instruct models usually start at 0.2–0.6 nats.",
        "There are two things to try: first widen the clip, then add 3 points of advice.",
        "If the score falls again, lower the learning rate.",
        "Entropy should stop falling within some tens of steps.",
        "The run is not healthy: entropy collapsed.",
        "Policy entropy collapsed, and the reward followed.",
        "Nothing is wrong with `timing_s/gen`.",
        "verl 0.6 prints `actor/entropy` before the update.",
        "1. Widen the clip.\n2. Restart from an earlier checkpoint.",
        "The score peaked and then fell.",
    ],
)
def test_true_sentences_stand(text: str) -> None:
    found = checked(text)
    assert kinds(found) == []
    assert found.markdown == text
    assert all(number.status != "unverified" for number in found.numbers)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("`actor/entropy` is 0.504 at step 1.", "number"),
        ("`actor/entropy` is 0.404 at step 2.", "number"),
        ("`actor/entropy` is -0.404 at step 1.", "number"),
        ("`actor/grad_norm` is 0.404 at step 1.", "metric"),
        ("`actor/entropy` dropped by 55% from 0.404 to 0.004526.", "number"),
        ("`actor/entropy` went from 0.404 to 0.004526, a factor of 20×.", "number"),
        ("Entropy collapsed at step 171.", "step"),
        ("The log covers 377 steps.", "number"),
        ("`actor_rollout_ref.actor.optim.lr` is 5e-6.", "setting"),
        ("The highest `actor/entropy` is 0.004526.", "number"),
        ("`actor/entropy` rose from 0.404 to 0.004526.", "direction"),
        ("`actor/entropy` is rising.", "direction"),
        ("Look at `actor/entropy_slope` next.", "name"),
        ("Set `actor_rollout_ref.actor.entropy_floor` first.", "name"),
        ("The run is healthy.", "verdict"),
        ("No problems were found in this log.", "verdict"),
        ("In short: `actor/entropy` is {{E999}}.", "placeholder"),
        ("verl 0.9.7 changed this.", "version"),
        ("See line 98765.", "line"),
        ("This is caused by gradient explosion.", "fine"),
    ],
)
def test_false_sentences_are_marked(text: str, kind: str) -> None:
    found = checked(text)
    assert kind in kinds(found)
    assert "⚠" in found.markdown
    assert "~~" in found.markdown


@pytest.mark.parametrize(
    "text",
    [
        "`actor/entropy` 从 0.404（第 1 步）降到 0.004526（第 200 步），下降了 98.9%。",
        "第 1 步的熵是 0.404。",
        "这份日志共 200 步。",
        "熵坍缩从第 66 步开始。",
        "可以把 `actor_rollout_ref.actor.clip_ratio_high` 从 0.2 调到 0.28。",
        "通常指令模型的起步熵在 0.2–0.6。",
        "如果得分继续下降，就降低学习率。",
        "这次训练并不健康。",
        "约 0.40 的熵降到百分之一左右。",
    ],
)
def test_true_chinese_sentences_stand(text: str) -> None:
    assert kinds(checked(text, "zh", question="熵为什么下降？")) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("第 1 步的熵是 0.504。", "number"),
        ("第 2 步的 `actor/entropy` 是 0.404。", "number"),
        ("`actor/grad_norm` 在第 1 步为 0.404。", "metric"),
        ("`actor/entropy` 一路上升。", "direction"),
        ("`actor/entropy` 从 0.404 上升到 0.004526。", "direction"),
        ("训练一切正常。", "verdict"),
        ("没有发现任何问题，无需调整。", "verdict"),
        ("这份日志共三百七十步。", "number"),
        ("`actor/entropy` 从 0.404 变到 0.004526，下降了百分之五十。", "number"),
    ],
)
def test_false_chinese_sentences_are_marked(text: str, kind: str) -> None:
    assert kind in kinds(checked(text, "zh", question="熵为什么下降？"))


def test_placeholders_are_filled_and_still_checked() -> None:
    evidence, _ = packed("collapsed", "Why does actor/entropy fall?", "en")
    fact = next(f for f in evidence.evidence.facts if f.metric == "actor/entropy" and f.step == 1 and f.kind == "run")
    good = checked(f"`actor/entropy` was {{{{{fact.id}}}}} at step {{{{{fact.id}.step}}}} [{fact.id}].")
    assert good.plain == f"`actor/entropy` was {fact.text} at step 1."
    assert kinds(good) == []
    assert good.numbers[0].fact == fact.id
    assert kinds(checked(f"`actor/grad_norm` was {{{{{fact.id}}}}}.")) == ["metric"]


def test_what_the_log_says_stands_beside_the_wrong_value() -> None:
    assert f"(the log says {at('actor/entropy', 100)})" in checked("`actor/entropy` is 0.9 at step 100.").markdown


def test_a_healthy_run_may_be_called_healthy_and_not_broken() -> None:
    assert kinds(checked("The run is healthy.", run="healthy")) == []
    assert kinds(checked("The reward improves.", run="healthy")) == []


def test_a_guess_is_called_a_guess() -> None:
    assert kinds(checked("The cause is a rollout mismatch.")) == ["guess"]
    assert kinds(checked("A rollout mismatch is not seen here.")) == []
    assert kinds(checked("Check whether there is a rollout mismatch.")) == []
    assert "guess" in checked("This is reward hacking.", question="Is it reward hacking?").markdown


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("![x](http://evil.example/a.png) fine", "!["),
        ("[click](http://evil.example/) fine", "]("),
        ("<img src=http://evil.example/x> fine", "<img"),
        ("<script>alert(1)</script> fine", "<script"),
        ("see https://evil.example/a?b=c fine", "https://"),
        ("[a]: http://evil.example/x\nfine", "evil"),
        ("a\x1b[31mred\x1b[0m fine", "\x1b"),
        ("hid\u200bden\u202e fine", "\u202e"),
    ],
)
def test_nothing_active_gets_through(text: str, gone: str) -> None:
    found = checked(text)
    assert gone not in found.markdown
    assert "fine" in found.markdown


def test_code_blocks_are_checked_too() -> None:
    found = checked("Set this:\n```yaml\nactor_rollout_ref.actor.made_up_key: 7\n```\nThen restart.")
    assert "name" in kinds(found)
    assert "```" not in found.markdown


def test_the_built_in_answers_pass() -> None:
    from assistant.answers import answer

    for question in ("Why does actor/entropy fall?", "What is wrong with this run?", "Where does the time go?", "What should I change?"):
        found = checked(answer(question, collapsed()).markdown, question=question)
        assert kinds(found) == [], question
    for question in ("熵为什么下降？", "这次训练有什么问题？", "时间花在哪里？"):
        assert kinds(checked(answer(question, collapsed()).markdown, "zh", question=question)) == [], question


@settings(max_examples=60, deadline=None)
@given(
    st.text(alphabet=st.characters(codec="utf-8"), max_size=160)
    | st.lists(st.sampled_from(["`", "{{E1}}", "{{E", "~~", "0.404", "step 1", "熵", "\n", "**", "[K1]", "100%", "nan"]), max_size=20).map(
        " ".join
    )
)
def test_any_text_is_survived(text: str) -> None:
    found = checked(text)
    assert all(found.plain[issue.start : issue.end] == issue.text for issue in found.issues if issue.kind not in ("verdict", "broken"))
