from __future__ import annotations

import pytest

from assistant.logs import read_text

TABLE = (
    "---------------------------------\n| rollout/           |          |\n|    ep_rew_mean     | {reward:<8} |\n"
    "| time/              |          |\n|    total_timesteps | {step:<8} |\n| train/             |          |\n"
    "|    approx_kl       | {kl:<8} |\n---------------------------------\n"
)


def test_each_table_is_a_record_at_its_timesteps_and_each_value_knows_its_line() -> None:
    run = read_text("".join(TABLE.format(reward=10.5 * i, step=2048 * i, kl=0.0125) for i in range(1, 4)))
    assert [record["step"] for record in run.records()] == [2048, 4096, 6144]
    kl = run.series("train/approx_kl")
    assert kl is not None
    assert [kl.point(i).line for i in range(3)] == [7, 15, 23]


def test_a_paste_that_begins_inside_a_group_keeps_the_bare_name() -> None:
    table = TABLE.format(reward=1, step=2048, kl="1.5e-05")
    run = read_text("|    value_loss           | 22.1       |\n----------------\n" + table)
    first, second = run.records()
    assert (first["step"], first["values"]) == (None, {"value_loss": 22.1})
    assert (second["step"], second["values"]["train/approx_kl"]) == (2048, 1.5e-05)


def test_three_digits_say_how_exact_a_large_number_is() -> None:
    run = read_text(TABLE.format(reward="1.11e+04", step=2048, kl="nan"))
    reward = run.series("rollout/ep_rew_mean")
    assert reward is not None
    assert (reward.text(0), reward.resolution(0)) == ("1.11e+04", pytest.approx(50.0))
    assert next(run.records())["values"]["train/approx_kl"] == "nan"


def test_a_table_in_a_code_fence_and_behind_quotation_marks() -> None:
    quoted = "".join("> " + line + "\n" for line in TABLE.format(reward=5, step=1024, kl=0.5).splitlines())
    run = read_text("```\n" + quoted + "```\n")
    assert next(run.records())["values"] == {"rollout/ep_rew_mean": 5, "time/total_timesteps": 1024, "train/approx_kl": 0.5}


def test_other_tables_of_two_columns_are_not_read() -> None:
    assert read_text("| setting | value |\n|---|---|\n| seed | 42 |\n| gamma | 0.99 |\n| layers | 3 |\n").n_rows == 0
    assert read_text("|=====|\n| GPU  Name | 0 |\n| Fan | 30 |\n").n_rows == 0
