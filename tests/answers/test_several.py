"""Two runs in one talk, without a model."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from assistant.answers import Answer, Turn, answer
from assistant.cli.commands import app
from assistant.diagnosis import Diagnosis, diagnose
from assistant.run import Run
from tests.builders import run_of

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases" / "long"


def run(*, lr: float, falls: bool, n: int = 200) -> Run:
    x = np.arange(n)
    noise = np.random.default_rng(int(lr * 1e7))
    entropy = 0.4 * np.exp(-x / 30) + 0.004 if falls else 0.42 - 0.0004 * x + 0.002 * noise.standard_normal(n)
    score = np.where(x < 90, 0.2 + 0.005 * x, np.maximum(0.65 - 0.008 * (x - 90), 0.03)) if falls else 0.2 + 0.0022 * x
    found = run_of(
        {
            "actor/entropy": entropy.round(6).tolist(),
            "critic/score/mean": (score + 0.004 * noise.standard_normal(n)).round(6).tolist(),
            "actor/grad_norm": (1.7 + 0.02 * noise.random(n)).round(6).tolist(),
            "response_length/mean": (400 + 3 * noise.standard_normal(n)).round(3).tolist(),
        },
        config={"actor_rollout_ref.actor.optim.lr": lr, "data.train_batch_size": 1024, "trainer.experiment_name": str(lr)},
        era="0.6",
        algorithm="grpo",
    )
    found.sha256 = f"{lr}{falls}"
    return found


@cache
def first() -> Diagnosis:
    return diagnose(run(lr=1e-5, falls=True))


@cache
def second() -> Diagnosis:
    return diagnose(run(lr=1e-6, falls=False))


def ask(question: str, *earlier: str, swapped: bool = False) -> Answer:
    turns: list[Turn] = []
    one, two = (second(), first()) if swapped else (first(), second())
    given = None
    for text in (*earlier, question):
        given = answer(text, one, others=[("fixed.log", two)], name="base.log", history=turns)
        turns.append(given.turn)
    assert given is not None
    assert given.checked["unverified"] == 0, [(n.text, given.markdown[max(0, n.start - 40) : n.start + 9]) for n in given.numbers]
    return given


def test_what_differs() -> None:
    given = ask("what differs between the two runs?")
    assert given.markdown.startswith("What was wrong in `base.log` is not there in `fixed.log`")
    assert "Only in `base.log`: The policy gives one fixed answer, since step" in given.markdown
    assert "`actor_rollout_ref.actor.optim.lr` 1e-05 → 1e-06" in given.markdown
    assert "`critic/score/mean` from step" in given.markdown
    assert "experiment_name" not in given.markdown
    assert "Likely reason: `actor_rollout_ref.actor.optim.lr` (1e-05 → 1e-06)" in given.markdown


def test_did_my_fix_work_either_way() -> None:
    assert ask("did my fix work?").markdown.startswith("Yes, it worked")
    worse = ask("did my fix work?", swapped=True).markdown
    assert worse.startswith("No, it did not help. `fixed.log` is worse")
    assert "**Why.** In `fixed.log`: Entropy is" in worse


def test_why_is_the_second_worse_is_checked_first() -> None:
    assert ask("why is the second worse?").markdown.startswith("The checks do not call `fixed.log` worse. What was wrong in `base.log`")
    assert not ask("why is the second worse?", swapped=True).markdown.startswith("The checks do not")


def test_a_metric_in_both_at_a_step() -> None:
    given = ask("entropy in both at step 120?")
    a = first().run.columns["actor/entropy"].values[119]
    b = second().run.columns["actor/entropy"].values[119]
    assert given.markdown.startswith("`actor/entropy` at step 120: ")
    rows = {(f.run, f.step): f.value for f in given.facts if f.metric == "actor/entropy" and f.kind == "run"}
    assert rows[("base.log", 120)] == pytest.approx(a)
    assert rows[("fixed.log", 120)] == pytest.approx(b)
    gap = next(f for f in given.facts if f.formula.startswith("|actor/entropy"))
    assert gap.value == pytest.approx(b - a)
    assert f"`fixed.log` is {gap.text} higher." in given.markdown


def test_a_step_that_is_printed_nowhere() -> None:
    assert ask("entropy in both at step 900?").markdown == "Neither run prints `actor/entropy` at step 900."


def test_and_in_the_other_one_keeps_metric_and_step() -> None:
    given = ask("and in the other one?", "what is the entropy at step 120?")
    assert given.markdown.startswith("About `fixed.log`:")
    assert any(f.metric == "actor/entropy" and f.step == 120 and f.run == "fixed.log" for f in given.facts)
    back = ask("and in the other one?", "what is the entropy at step 120?", "and in the other one?")
    assert back.markdown.startswith("About `base.log`:")


def test_a_follow_up_stays_with_its_run() -> None:
    assert ask("and the grad norm?", "what is the entropy in fixed.log?").markdown.startswith("About `fixed.log`:")


def test_facts_of_two_runs_have_ids_of_their_own() -> None:
    given = ask("compare the entropy")
    assert len({f.id for f in given.facts}) == len(given.facts)
    assert {f.run for f in given.facts} == {"base.log", "fixed.log"}
    row = next(f for f in given.facts if f.run == "fixed.log").to_json()
    assert row["run"] == "fixed.log"


def test_chinese() -> None:
    assert ask("两次训练有什么区别？").markdown.startswith("`base.log` 里的问题在 `fixed.log` 中不再出现")
    assert ask("改了之后有用吗？", swapped=True).markdown.startswith("没有效果。`fixed.log` 更差")
    both = ask("两次的熵在第 120 步各是多少？").markdown
    assert both.startswith("第 120 步的 `actor/entropy`：`base.log` 为 ")
    assert ask("第二个为什么更差？").markdown.startswith("按检查结果，`fixed.log` 并没有更差。")
    other = ask("另一个呢？", "熵正常吗？")
    assert other.markdown.startswith("关于 `fixed.log`：")
    assert other.language == "zh"


def test_a_single_run_is_answered_as_before() -> None:
    alone = answer("why does the entropy fall?", first())
    assert not alone.markdown.startswith("About")
    assert all(f.run == "" for f in alone.facts)
    assert "run" not in alone.facts[0].to_json()


def test_runs_without_or_with_the_same_name_are_told_apart() -> None:
    given = answer("what differs between the two runs?", first(), others=[("", second())])
    assert "`run 1`" in given.markdown
    assert "`run 2`" in given.markdown
    same = answer("what differs between the two runs?", first(), others=[("log.txt", second())], name="log.txt")
    assert "`log.txt (2)`" in same.markdown
    assert given.checked["unverified"] == same.checked["unverified"] == 0


def test_a_hostile_name_stays_in_its_code_span() -> None:
    given = answer("what differs between the two runs?", first(), others=[("x` <img src=1>\n# hi", second())], name="b")
    assert "\n# hi" not in given.markdown
    assert "x` <img" not in given.markdown


def test_suggestions_lead_on() -> None:
    assert "Did my change help?" in ask("compare the entropy").followups
    assert "And in fixed.log?" in ask("is the entropy normal in the first run?").followups


def test_command_line() -> None:
    log, other = CASES / "37_trl_hotpotqa_kl_blowup_grad_spikes" / "log.txt", CASES / "38_trl_hotpotqa_v2_936" / "log.txt"
    if not log.exists():
        pytest.skip("needs ../shared/cases")
    found = CliRunner().invoke(app, ["ask", str(log), "KL in both at step 70?", "--with", str(other), "--no-llm"])
    assert found.exit_code == 0, found.output
    assert "5.693" in found.output
    assert "38_trl_hotpotqa_v2_936/log.txt" in found.output.replace("\n", "")
