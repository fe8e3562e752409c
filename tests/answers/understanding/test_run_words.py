from __future__ import annotations

import pytest

from assistant.answers.understanding.run_words import BOTH_RUNS, OTHER_ONE, meant_runs, mentions, spellings

NAMES = ("base.log", "runs/fixed_kl.log")


@pytest.mark.parametrize(
    ("question", "earlier", "runs", "fix"),
    [
        ("what differs between the two runs?", (), (0, 1), False),
        ("why is the second worse?", (), (0, 1), False),
        ("did my fix work?", (), (0, 1), True),
        ("entropy in both at step 120?", (), (0, 1), False),
        ("which run is better?", (), (0, 1), False),
        ("compare grad_norm", (), (0, 1), False),
        ("fixed_kl against base.log: entropy?", (), (0, 1), False),
        ("Is run B healthy?", (), (1,), False),
        ("the second run at step 50: entropy?", (), (1,), False),
        ("and in the other one?", ("what is the entropy?",), (1,), False),
        ("and in the other one?", ("entropy in fixed_kl?",), (0,), False),
        ("and the critic?", ("what about the second run?",), (1,), False),
        ("and at step 100?", ("entropy in both at step 120?",), (0, 1), False),
        ("why is pg_loss positive?", (), (0,), False),
        ("what is the difference between actor/loss and actor/pg_loss?", (), (0,), False),
        ("is step 10 different from step 20?", (), (0,), False),
        ("Should I run a longer training?", (), (0,), False),
        ("what should I change first?", (), (0,), False),
        ("上一个的熵是多少", (), (0,), False),
        ("第二个为什么更差？", (), (0, 1), False),
        ("两次训练有什么区别", (), (0, 1), False),
        ("改了之后有用吗", (), (0, 1), True),
        ("修好了吗？", (), (0, 1), True),
        ("两次的熵在第 120 步各是多少", (), (0, 1), False),
        ("base.log 和 fixed_kl 的 KL 对比", (), (0, 1), False),
        ("另一个呢？", ("第二次的熵",), (0,), False),
        ("第一步的熵", ("fixed_kl 怎么样",), (1,), False),
        ("第一个值是多少", (), (0,), False),
    ],
)
def test_the_runs_that_a_question_means(question: str, earlier: tuple[str, ...], runs: tuple[int, ...], fix: bool) -> None:
    found = meant_runs(question, NAMES, earlier)
    assert (found.runs, found.fix) == (runs, fix)


def test_the_run_that_is_called_worse() -> None:
    assert meant_runs("why is the second worse?", NAMES).subject == 1
    assert meant_runs("why is base.log worse?", NAMES).subject == 0
    assert meant_runs("what differs?", NAMES).subject is None


def test_names_of_runs_leave_the_question() -> None:
    assert "fixed" not in meant_runs("what is the entropy in fixed_kl.log at step 3?", NAMES).rest
    assert "step 3" in meant_runs("what is the entropy in fixed_kl.log at step 3?", NAMES).rest


def test_one_run_is_always_meant() -> None:
    assert meant_runs("what differs between the two runs?", ("a.log",)).runs == (0,)


def test_spellings_and_mentions() -> None:
    assert spellings("runs/fixed_kl.log.gz") == ["runs/fixed_kl.log.gz", "fixed_kl.log.gz", "fixed_kl", "runs"]
    found = mentions("`base.log` and the other run, both runs, the previous run and the newest run", NAMES)
    assert [one.run for one in found] == [0, OTHER_ONE, BOTH_RUNS, 0, 1]


def test_three_runs_are_told_apart() -> None:
    names = ("a1.log", "b2.log", "c3.log")
    assert meant_runs("did it help?", names).runs == (1, 2)
    assert meant_runs("what differs between the first run and the third run?", names).runs == (0, 2)
    assert meant_runs("how is the third run?", names).runs == (2,)


def test_a_name_that_both_runs_share_means_neither() -> None:
    assert [one.run for one in mentions("log.txt is long", ("old_lr/log.txt", "new_lr/log.txt"))] == []
    assert [one.run for one in mentions("new_lr is better than old_lr/log.txt", ("old_lr/log.txt", "new_lr/log.txt"))] == [1, 0]
