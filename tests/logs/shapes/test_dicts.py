"""Printed dicts: where they stand, what is torn, what is a config and not a metric, which step they are of."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.logs import read, read_text
from assistant.logs.shapes.dict_places import find_places
from assistant.run import Run

ROW = "{'loss': %s, 'grad_norm': 0.5, 'learning_rate': 1e-06, 'reward': 0.25, 'reward_std': 0.1, 'epoch': 0.31}"


def bar(n: int, total: int = 200) -> str:
    return f" {100 * n // total:2d}%|##        | {n}/{total} [00:{n % 60:02d}<03:10,  1.0s/it]"


def steps(run: Run) -> list[int | None]:
    return [record["step"] for record in run.records()]


def kinds(run: Run) -> set[str]:
    return {note.kind for note in run.notes}


def test_without_any_step_records_are_numbered_and_that_is_told() -> None:
    run = read_text("".join(ROW % value + "\n" for value in ("0.0", "0.1", "nan")))
    assert steps(run) == [1, 2, 3]
    assert "numbered-records" in kinds(run)


def test_a_bar_before_each_dict_is_its_step() -> None:
    run = read_text("".join(f"{bar(10 * i)}\n{ROW % '0.1'}\n" for i in range(1, 6)))
    assert steps(run) == [10, 20, 30, 40, 50]
    assert "numbered-records" not in kinds(run)
    assert run.total_steps == 200


def test_a_dict_glued_to_a_bar_behind_carriage_returns() -> None:
    text = "".join("\r" + bar(5 * i - 1) + "\r" + bar(5 * i) + " " * 20 + "\r" + ROW % "0.1" + "\n\r" + bar(5 * i) for i in range(1, 4))
    assert steps(read_text(text + "\n")) == [5, 10, 15]


def test_bars_that_were_buffered_apart_from_the_dicts_are_no_steps() -> None:
    text = "".join(bar(i) + "\n" for i in range(1, 60)) + (ROW % "0.1" + "\n") * 3 + bar(61) + "\n" + (ROW % "0.2" + "\n") * 2
    assert steps(read_text(text)) == [1, 2, 3, 4, 5]


def test_a_bar_that_is_drawn_after_the_dict_counts_when_the_first_stands_at_zero() -> None:
    text = "".join(f"{bar(i, 4)}\n{ROW % '0.1'}\n" for i in range(3)) + bar(3, 4) + "\n"
    assert steps(read_text(text)) == [1, 2, 3]


def test_the_summary_at_the_end_belongs_to_the_last_record() -> None:
    text = (ROW % "0.1" + "\n") * 2 + "{'train_runtime': 12.5, 'train_loss': 0.11, 'reward': 0.7, 'epoch': 1.0}\n"
    run = read_text(text)
    assert run.n_records == 2
    last = list(run.records())[-1]["values"]
    assert (last["train_runtime"], last["reward"]) == (12.5, 0.25)


def test_numbers_in_quotes_and_wrappers() -> None:
    text = "{'loss': '0.1234', 'grad_norm': np.float32(1.5), 'kl': tensor(0.25, device='cuda:0'), "
    text += "'reward': array(0.5, dtype=float32), 'epoch': '1e-05'}\n"
    run = read_text(text)
    assert next(run.records())["values"] == {"loss": 0.1234, "grad_norm": 1.5, "kl": 0.25, "reward": 0.5, "epoch": 1e-05}


def test_loss_is_rounded_by_the_trainer_so_zero_is_not_zero() -> None:
    run = read_text((ROW % "0.0" + "\n") * 3)
    loss, grad = run.series("loss"), run.series("grad_norm")
    assert loss is not None
    assert grad is not None
    assert (loss.text(0), loss.resolution(0)) == ("0.0", pytest.approx(0.00005))
    assert grad.resolution(0) == 0.0


def test_a_torn_start_and_a_cut_end_keep_what_is_whole() -> None:
    row = ROW % "0.1"
    run = read_text(row[8:] + "\n" + row + "\n" + row[: row.index("0.25") + 3])
    first, _, last = (record["values"] for record in run.records())
    assert first["reward"] == 0.25
    assert "reward" not in last  # 0.2 may be the beginning of 0.25
    assert last["learning_rate"] == 1e-06
    assert "cut-line" in kinds(run)


def test_a_dict_that_a_paste_wrapped_is_one_record() -> None:
    row = ROW % "0.1"
    run = read_text("".join(row[at : at + 40] + "\n" for at in range(0, len(row), 40)) + row + "\n")
    wrapped, plain = (record["values"] for record in run.records())
    assert wrapped == plain


def test_smart_quotes_and_html_entities() -> None:
    text = "{‘loss’: 0.5, ‘grad_norm’: 1.0, ‘epoch’: 0.1}\n{&#39;loss&#39;: 0.4, &#39;grad_norm&#39;: 1.0, &#39;epoch&#39;: 0.2}\n"
    assert [record["values"]["loss"] for record in read_text(text).records()] == [0.5, 0.4]


def test_a_dict_over_many_lines_knows_the_line_of_each_value() -> None:
    text = "x\nStep 4: \n{'policy/policy_lr': '0.0000',\n 'policy/policy_entropy': '0.2500',\n 'trainer/epoch': 1}\n" * 2
    run = read_text(text)
    entropy = run.series("policy/policy_entropy")
    assert entropy is not None
    assert [entropy.point(i).line for i in range(len(entropy))] == [4, 9]
    assert (run.framework, run.n_records) == ("skyrl", 2)


def test_another_process_may_print_between_the_lines_of_a_dict() -> None:
    text = (
        "(trainer pid=1) Step 4: \n(trainer pid=1) {'policy/policy_lr': '0.0001',\n(engine pid=2) INFO busy\n"
        "(trainer pid=1)  'policy/policy_entropy': '0.2500'}\n"
    )
    assert [record["values"] for record in read_text(text).records()] == [{"policy/policy_lr": 0.0001, "policy/policy_entropy": 0.25}]


def test_each_rank_printing_the_record_counts_once() -> None:
    text = "".join(f"[rank{rank}]: {ROW % value}\n" for value in ("0.1", "0.2") for rank in range(4))
    assert [record["values"]["loss"] for record in read_text(text).records()] == [0.1, 0.2]


@pytest.mark.parametrize(
    "text",
    [
        "Updated tokens: {'bos_token_id': None, 'pad_token_id': 151643}.\n",
        "TrainingArguments: {'output_dir': 'out', 'learning_rate': 1e-06, 'num_train_epochs': 3, 'loss_type': 'grpo', 'epoch': 1}\n",
        "{'prompt': 'What is 2+2?', 'completion': '4', 'reward': 1.0, 'loss': 0.1}\n",
        "{'actor_rollout_ref': {'actor': {'policy_loss': {'_target_': 'x'}, 'grad_clip': 1.0}}, 'reward_model': {'enable': False}}\n",
        "{'policy_loss': {'_target_': 'verl.PolicyLoss'}}\n",
    ],
)
def test_settings_and_samples_are_no_metrics(text: str) -> None:
    assert read_text(text * 3).n_rows == 0


def test_two_runs_whose_first_step_has_one_number_are_two_records() -> None:
    line = "step 0: {'train/loss': 0.1, 'train/pg_loss': 0.1, 'train/grad_norm': 2.0}\n"
    run = read_text(line + line.replace("'train/grad_norm': 2.0", "'train/kl_loss': 0.0"))
    assert (run.framework, run.n_records, steps(run)) == ("slime", 2, [0, 0])


def test_two_dicts_of_one_step_with_other_names_are_one_record() -> None:
    run = read_text(
        "perf 3: {'perf/rollout_time': 1.5, 'rollout/raw_reward': 0.5}\nrollout 3: {'rollout/truncated': 0.1, 'rollout/rewards': 0.0}\n"
    )
    assert (run.n_records, steps(run)) == (1, [3])


def test_a_nested_result_keeps_the_last_name_where_it_is_the_only_one() -> None:
    text = "{'env_runners': {'episode_return_mean': 12.5, 'a': {'x': 1.0}, 'b': {'x': 2.0}},"
    text += " 'learners': {'default_policy': {'vf_loss': 0.5}}}\n"
    run = read_text(text)
    assert run.framework == "rllib"
    assert next(run.records())["values"] == {"episode_return_mean": 12.5, "env_runners/a/x": 1.0, "env_runners/b/x": 2.0, "vf_loss": 0.5}


NAMES = ["loss", "grad_norm", "reward", "kl", "rewards/a/mean", "completions/max_length", "clip_ratio/low_mean"]
VALUES = st.one_of(st.floats(allow_subnormal=False), st.integers(-(2**53) + 1, 2**53 - 1))


@given(
    st.lists(st.dictionaries(st.sampled_from(NAMES), VALUES, min_size=3), min_size=1, max_size=6),
    st.sampled_from(["{!r}", "pid=1) {!r}", "{!r} tail"]),
)
def test_what_python_prints_is_read_back(rows: list[dict[str, float | int]], around: str) -> None:
    rows = [{"loss": 0.5, "grad_norm": 1.0} | row for row in rows]
    run = read_text("".join(around.format(row) + "\n" for row in rows))
    lines: dict[int, dict[str, float]] = {}
    for name in run.columns:
        series = run.series(name)
        assert series is not None
        for i in range(len(series)):
            lines.setdefault(int(series.lines[i]), {})[name] = float(series.values[i])
            want = rows[int(series.lines[i]) - 1][name]
            assert series.text(i) == repr(want)
    assert list(lines) == list(range(1, len(rows) + 1))
    for number, row in enumerate(rows, 1):
        assert lines[number].keys() == row.keys()
        assert all(lines[number][k] == v or (math.isnan(v) and math.isnan(lines[number][k])) for k, v in row.items())


@given(st.text("{}'\":,. 0nax[]()\n\\", max_size=120))
def test_finding_places_never_fails(text: str) -> None:
    for place in find_places(text).places:
        assert text[place.start : place.end].strip()


def test_a_long_log_of_one_process_is_read_in_blocks() -> None:
    noise = "INFO the engine is busy with request 12345 and prints a long line about it, as engines do\n" * 20
    text = "".join(noise + ROW % repr(i / 7) + "\n" for i in range(3000))
    run = read(text.encode())
    assert run.n_records == 3000
    loss = run.series("loss")
    assert loss is not None
    assert [loss.text(i) for i in (0, 1, 2999)] == ["0.0", repr(1 / 7), repr(2999 / 7)]
    assert [int(line) for line in loss.lines[:2]] == [21, 42]


def drawn(n: int, total: int) -> str:
    return f"\r{100 * n // total:3d}%|###   | {n}/{total} [00:10<03:10,  1.0s/it]"


def test_an_evaluation_belongs_to_the_step_before_it_and_its_own_bar_counts_no_steps() -> None:
    text = ""
    for step in range(10, 60, 10):
        text += drawn(step, 50) + "\r" + str({"loss": 1.5, "learning_rate": 1e-05, "epoch": 0.1}) + "\n" + drawn(step, 50)
        if step % 20 == 0:
            text += "\n" + drawn(1, 25) + drawn(25, 25) + "\r" + str({"eval_loss": 1.25, "eval_runtime": 2.5, "epoch": 0.1}) + "\n"
    run = read_text(text)
    assert [record["step"] for record in run.records()] == [10, 20, 30, 40, 50]
    assert [record["step"] for record in run.records() if "eval_loss" in record["values"]] == [20, 40]
    assert run.total_steps == 50


def test_a_resumed_run_goes_back_to_the_step_of_its_checkpoint() -> None:
    def part(steps: range) -> str:
        return "".join(bar(i, 90) + "\r" + str({"loss": 2.0 - i / 100, "grad_norm": 0.5, "learning_rate": 1e-05}) + "\n" for i in steps)

    run = read_text(part(range(1, 41)) + "Killed\nResuming training from checkpoint-30\n" + part(range(31, 91)))
    assert run.row_steps.tolist() == [*range(1, 41), *range(31, 91)]
    assert len(run.segments) == 2


def test_bars_that_fall_again_and_again_are_no_steps() -> None:
    text = "".join(bar(i % 5 + 1, 5) + "\r" + str({"loss": 2.0, "grad_norm": 0.5, "learning_rate": 1e-05}) + "\n" for i in range(40))
    assert read_text(text).row_steps.tolist() == list(range(1, 41))


def test_quotes_that_all_lean_one_way() -> None:
    text = str({"loss": 0.5, "learning_rate": 1e-05}).replace("'", "\u2019")
    assert [record["values"] for record in read_text(text).records()] == [{"loss": 0.5, "learning_rate": 1e-05}]
