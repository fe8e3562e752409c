from __future__ import annotations

import re

import pytest

from assistant.answers.grounding import tokens
from assistant.answers.grounding.tokens import counter, estimate, shortened
from assistant.answers.packed.packing import Packed, pack
from assistant.answers.understanding.question import understand
from assistant.diagnosis import Diagnosis, RunView
from assistant.lexicon import of_run
from assistant.messages import Language
from tests.answers.model.scenes import collapsed, crashed, healthy


def packed(question: str, budget: int, diagnosis: Diagnosis | None = None, language: Language | None = None) -> Packed:
    diagnosis = diagnosis or collapsed()
    view = RunView(diagnosis.run)
    present = {name.canonical for name in view.names.values()}
    asked = understand(question, run_lexicon=of_run(diagnosis.run), present=present, language=language)
    return pack(asked, diagnosis, view, budget=budget)


@pytest.mark.parametrize("budget", [600, 1200, 2700, 5000, 20_000])
@pytest.mark.parametrize("question", ["Why does actor/entropy fall?", "这次训练有什么问题？", "Where does the time go?"])
def test_the_budget_holds_and_what_is_left_out_is_said(budget: int, question: str) -> None:
    found = packed(question, budget)
    assert found.tokens <= budget
    assert found.tokens == counter()(found.text)
    assert "LEFT OUT FOR SPACE: nothing" in found.text or all(name in found.text for name in found.left_out[:3])
    assert bool(found.left_out) == ("LEFT OUT FOR SPACE: nothing" not in found.text)
    assert "entropy-collapse" in found.text, "the verdict comes before everything else"


def test_the_same_question_gives_the_same_evidence() -> None:
    first, second = packed("Why does actor/entropy fall?", 3000), packed("Why does actor/entropy fall?", 3000)
    assert first.text == second.text
    assert [fact.id for fact in first.evidence.facts] == [f"E{i + 1}" for i in range(len(first.evidence.facts))]


def test_every_number_beside_an_id_is_that_fact() -> None:
    found = packed("Why does actor/entropy fall?", 6000)
    facts = {fact.id: fact for fact in found.evidence.facts}
    shown = re.findall(r"\b(E\d+)=(\S+?)(?:@(\d+))?(?=[\s,|)]|$)", found.text)
    assert len(shown) > 30
    for name, value, step in shown:
        assert facts[name].text == value.rstrip("s ") or facts[name].text.startswith(value)
        if step:
            assert facts[name].step == int(step)


def test_the_question_decides_what_stays() -> None:
    small = 1500
    assert "timing_s/gen" in packed("Where does the time go?", small).text
    assert "response_length/mean" in packed("Is response_length/mean normal?", small).text


def test_values_at_the_steps_asked_about() -> None:
    found = packed("What was actor/entropy at step 120?", 4000)
    facts = {(f.metric, f.step) for f in found.evidence.facts}
    assert {("actor/entropy", 119), ("actor/entropy", 120), ("actor/entropy", 121)} <= facts


def test_no_fault_is_said() -> None:
    assert "no check" in packed("Is my run ok?", 3000, healthy()).text or "no-validation" in packed("Is my run ok?", 3000, healthy()).text


def test_words_of_a_crash_come_with_their_lines() -> None:
    found = packed("Why did it crash?", 4000, crashed("see core dump"))
    assert re.search(r"line \d+: torch.OutOfMemoryError", found.text)


def test_a_vocabulary_is_not_needed() -> None:
    for text in ("actor/entropy fell from 0.431 to 0.031 at step 140. " * 20, "熵从 0.431 降到 0.031，第 140 步开始坍缩。" * 20):
        exact = counter()(text)
        assert 0.8 * exact <= estimate(text) <= 1.9 * exact


def test_without_the_vocabulary_it_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "tiktoken", None)
    assert tokens.counter.__wrapped__() is estimate


def test_shortening_keeps_the_head() -> None:
    cut = shortened("word " * 500, 40, counter())
    assert cut.startswith("word word")
    assert counter()(cut) <= 42
    assert shortened("short", 40, counter()) == "short"
