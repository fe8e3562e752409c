from __future__ import annotations

import pytest

from assistant.diagnosis.naming import resolve
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


EVALUATION = (
    "Eval num_timesteps={step}, episode_reward={reward} +/- 12.50\nEpisode length: 200.00 +/- 0.00\nSuccess rate: 40.00%\n"
    "---------------------------------\n| eval/              |          |\n|    mean_reward     | {short:<8} |\n"
    "| time/              |          |\n|    total_timesteps | {step:<8} |\n---------------------------------\nNew best mean reward!\n"
)


def test_the_lines_of_an_evaluation_belong_to_the_table_after_them() -> None:
    run = read_text("".join(EVALUATION.format(step=10000 * i, reward=f"{100.25 + i:.2f}", short=f"{100.25 + i:.3g}") for i in range(1, 4)))
    records = list(run.records())
    assert [record["step"] for record in records] == [10000, 20000, 30000]
    assert records[0]["values"] == {
        "episode_reward": 101.25,
        "episode_reward +/-": 12.5,
        "Episode length": 200.0,
        "Episode length +/-": 0.0,
        "Success rate": 40.0,
        "eval/mean_reward": 101,
        "time/total_timesteps": 10000,
    }
    names = resolve(run.columns, "sb3")
    assert names["eval/mean_reward"].canonical == "validation"
    assert names["episode_reward"].canonical == "", "one evaluation counts once"


def test_an_evaluation_without_a_table_is_validation() -> None:
    run = read_text("Eval num_timesteps=500, episode_reward=-292.73 +/- 132.72\nEpisode length: 200.00 +/- 0.00\n")
    assert (run.framework, run.row_steps.tolist()) == ("sb3", [500, 500])
    assert resolve(run.columns, "sb3")["episode_reward"].canonical == "validation"
    assert read_text("Episode length: 200.00 +/- 0.00\n").n_rows == 0


def test_a_torn_table_teaches_nothing_about_the_whole_ones() -> None:
    """A table of which a line is missing looks like the beginning of the others."""
    tables = [TABLE.format(reward=10.5 * i, step=2048 * i, kl=0.0125) for i in range(1, 6)]
    torn = "\n".join(line for line in tables[0].split("\n") if "approx_kl" not in line)
    run = read_text(torn + "".join(tables[1:]))
    kl = run.series("train/approx_kl")
    assert kl is not None
    assert kl.steps.tolist() == [4096, 6144, 8192, 10240]
    assert (run.n_records, "approx_kl" in run.columns) == (5, False)


def test_a_torn_table_is_not_found_inside_the_next_one() -> None:
    table = TABLE.format(reward=10.5, step=2048, kl=0.0125)
    run = read_text("\n".join(table.split("\n")[4:]) + TABLE.format(reward=11.5, step=4096, kl=0.5))
    assert [record["step"] for record in run.records()] == [2048, 4096]
    assert list(run.records())[1]["values"]["train/approx_kl"] == 0.5
