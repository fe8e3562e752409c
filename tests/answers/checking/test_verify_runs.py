"""Number, metric, step and run are checked together."""

from __future__ import annotations

from functools import cache

import pytest

from assistant.answers.checking.grounds import Grounds
from assistant.answers.checking.verify import Verified
from assistant.answers.checking.verify_runs import verify_runs
from assistant.answers.grounding.tokens import counter
from assistant.answers.several import pack_between, talk_about
from tests.answers.test_several import first, second

QUESTION = "entropy in both at step 120?"


@cache
def grounds(question: str = QUESTION) -> tuple[tuple[str, Grounds], ...]:
    talk = talk_about(question, first(), [("fixed.log", second())], "base.log", (), None)
    packed, _ = pack_between(talk, (), budget=5000, count=counter())
    return tuple((name, Grounds(evidence, packed.text, question)) for name, evidence in packed.runs)


def value(run: int, metric: str, step: int) -> str:
    diagnosis = (first(), second())[run]
    return f"{diagnosis.run.columns[metric].values[step - 1]:.4g}"


def checked(text: str, language: str = "en") -> Verified:
    return verify_runs(text, grounds(), language)  # type: ignore[arg-type]


A, B = value(0, "actor/entropy", 120), value(1, "actor/entropy", 120)
LAST = value(0, "actor/entropy", 200), value(1, "actor/entropy", 200)
GAP = f"{float(B) - float(A):.3f}"

RIGHT = [
    f"At step 120 `actor/entropy` is {A} in `base.log` and {B} in `fixed.log`.",
    f"In the first run `actor/entropy` at step 120 was {A}, in the second run it was {B} at step 120.",
    f"`base.log`: `actor/entropy` {A} (step 120). `fixed.log`: `actor/entropy` {B} (step 120).",
    f"At step 120 `actor/entropy` is {A} in `base.log` and {B} in `fixed.log`, {GAP} higher.",
    f"The first run fell to {LAST[0]} at step 200 in `actor/entropy`.\nIn the second run `actor/entropy` ended at {LAST[1]} at step 200.",
    "The learning rate `actor_rollout_ref.actor.optim.lr` is 1e-05 in `base.log` and 1e-06 in `fixed.log`.",
    f"第 120 步的 `actor/entropy`：`base.log` 为 {A}，`fixed.log` 为 {B}。",
    f"第一次训练的 `actor/entropy` 在第 120 步为 {A}，第二次为 {B}（第 120 步）。",
]
WRONG = [
    (f"At step 120 `actor/entropy` is {B} in `base.log` and {A} in `fixed.log`.", {(B, "run"), (A, "run")}),
    (f"In the second run `actor/entropy` at step 120 was {A}.", {(A, "run")}),
    ("In the second run `actor/entropy` at step 120 was 0.777.", {("0.777", "number")}),
    (f"At step 120 `actor/entropy` is {A} in `base.log` and {B} in `fixed.log`, 0.777 higher.", {("0.777", "number")}),
    ("In `fixed.log` `actor_rollout_ref.actor.optim.lr` is 1e-05.", {("1e-05", "run")}),
    (f"第二次训练的 `actor/entropy` 在第 120 步为 {A}。", {(A, "run")}),
    (f"`fixed.log` 的 `actor/entropy` 在第 120 步为 {A}，`base.log` 为 {A}。", {(A, "run")}),
]


@pytest.mark.parametrize("text", RIGHT)
def test_right_sentences_stand(text: str) -> None:
    found = checked(text, "zh" if "第" in text else "en")
    assert [(i.kind, i.text, i.right) for i in found.issues] == []
    assert found.markdown == text


@pytest.mark.parametrize(("text", "issues"), WRONG)
def test_a_value_of_another_run_is_marked(text: str, issues: set[tuple[str, str]]) -> None:
    found = checked(text, "zh" if "第" in text else "en")
    assert {(i.text, i.kind) for i in found.issues} == issues
    assert "⚠" in found.markdown


def test_the_mark_says_whose_value_it_is() -> None:
    found = checked(f"In the second run `actor/entropy` at step 120 was {A}.")
    assert found.issues[0].right == "base.log"
    assert f"~~{A}~~ ⚠ (a value of another run: base.log)" in found.markdown


def test_placeholders_of_both_runs_are_filled_and_checked() -> None:
    (_, one), (_, two) = grounds()
    mine = next(f for f in one.evidence.facts if f.metric == "actor/entropy" and f.step == 120)
    other = next(f for f in two.evidence.facts if f.metric == "actor/entropy" and f.step == 120)
    assert int(other.id[1:]) > 1000 > int(mine.id[1:])
    good = checked(f"At step 120 `actor/entropy` is {{{{{mine.id}}}}} in `base.log` and {{{{{other.id}}}}} in `fixed.log`.")
    assert good.issues == []
    assert good.cited == {mine.id, other.id}
    bad = checked(f"At step 120 `actor/entropy` is {{{{{other.id}}}}} in `base.log`.")
    assert [i.kind for i in bad.issues] == ["run"]


def test_directions_are_those_of_their_run() -> None:
    assert checked("In `base.log` the entropy fell steadily over the whole run.").issues == []
    assert [i.kind for i in checked("In `base.log` the entropy rose steadily over the whole run.").issues] == ["direction"]
    assert checked("`actor/entropy` is higher in `fixed.log` than in `base.log`.").issues == []


def test_verdicts_are_those_of_their_run() -> None:
    assert checked("The second run is healthy.").issues == []
    assert [i.kind for i in checked("The first run is healthy.").issues] == ["verdict"]


def test_digits_of_a_run_name_are_no_numbers() -> None:
    talk = talk_about("what differs?", first(), [("lr_1e-7_v23.log", second())], "lr_5_v22.log", (), None)
    packed, _ = pack_between(talk, (), budget=5000, count=counter())
    rows = [(name, Grounds(evidence, packed.text, "what differs?")) for name, evidence in packed.runs]
    found = verify_runs("`lr_1e-7_v23.log` is better than `lr_5_v22.log`.", rows, "en")
    assert (found.numbers, found.issues) == ([], [])


def test_the_evidence_of_two_runs_stays_in_its_budget() -> None:
    for budget in (1500, 3000, 6000):
        talk = talk_about(QUESTION, first(), [("fixed.log", second())], "base.log", (), None)
        packed, _ = pack_between(talk, (), budget=budget, count=counter())
        assert packed.tokens <= budget
        assert "RUN 1 of 2: base.log (the earlier one)" in packed.text
        assert "RUN 2 of 2: fixed.log (the later one)" in packed.text
