"""Console logs as they really come: glued, wrapped, interleaved, restarted, quoted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.logs import read_text
from assistant.run import NO_STEP, Run


def line(step: int, process: str = "(TaskRunner pid=7) ", **values: float) -> str:
    values = values or {"entropy": 0.5 + step / 1000, "pg_loss": step / 7000, "kl": 0.123456}
    return f"{process}step:{step} - " + " - ".join(f"actor/{key}:{value!r}" for key, value in values.items())


def steps(run: Run) -> list[int]:
    return [int(step) for step in run.row_steps]


def kinds(run: Run) -> list[str]:
    return [note.kind for note in run.notes]


def test_global_step_inside_a_line_starts_no_line() -> None:
    run = read_text("step:5 - actor/kl:0.1 - training/global_step:5 - training/epoch:0\n")
    assert steps(run) == [5]
    assert run.columns["training/global_step"].values.tolist() == [5.0]


@given(st.integers(60, 110), st.booleans(), st.booleans())
def test_a_line_broken_anywhere_by_copy_and_paste_is_joined(width: int, repeat_prefix: bool, more: bool) -> None:
    prefix = "(TaskRunner pid=7) "
    keys = ("response_length/mean", "actor/pg_loss", "critic/rewards/mean", "perf/throughput", "timing_s/gen")
    whole = prefix + "step:3 - " + " - ".join(f"{key}:{(i + 1) * 1.0731257:.6f}1" for i, key in enumerate(keys))
    pieces = [whole[i : i + width] for i in range(0, len(whole), width)]
    text = ("\n" + (prefix if repeat_prefix else "")).join(pieces)
    run = read_text(text + "\n" + (line(4) + "\n" if more else "(WorkerDict pid=1) hello\n"))
    assert steps(run) == ([3, 4] if more else [3])
    assert [run.columns[key].values[0] for key in keys] == [float(f"{(i + 1) * 1.0731257:.6f}1") for i in range(len(keys))]
    assert run.unread_lines == 0


def test_prose_with_dashes_after_a_metric_line_is_not_joined() -> None:
    run = read_text(line(1) + "\n - She has 16 - 3 - 4 = 9 eggs: 9 - done\n- note: 5 - other: 6\n" + line(2) + "\n")
    assert set(run.columns) == {"actor/entropy", "actor/pg_loss", "actor/kl"}
    assert steps(run) == [1, 2]


def test_several_lines_of_one_step_are_one_record() -> None:
    run = read_text("step:3 - actor/kl:0.1\nstep:3 - val/test_score/x:0.5\nstep:4 - actor/kl:0.2\n")
    assert run.n_records == 2
    assert [record["values"] for record in run.records()] == [{"actor/kl": 0.1, "val/test_score/x": 0.5}, {"actor/kl": 0.2}]


def test_a_restart_makes_segments_and_says_so() -> None:
    text = "".join(line(i) + "\n" for i in (*range(1, 31), *range(21, 41)))
    run = read_text(text)
    assert [(s.first_step, s.last_step, s.first_line) for s in run.segments] == [(1, 30, 1), (21, 40, 31)]
    assert kinds(run) == ["restarted", "repeated-steps"]
    assert next(n for n in run.notes if n.kind == "repeated-steps").data["n"] == 10


def test_doubled_lines_do_not_make_two_records() -> None:
    run = read_text("".join((line(i) + "\n") * 2 for i in range(1, 6)))
    assert (run.n_rows, run.n_records, len(run.segments)) == (10, 5, 1)


def test_a_late_validation_line_starts_no_segment() -> None:
    run = read_text(line(5) + "\n" + line(6) + "\nstep:5 - val-core/x/acc/mean@1:0.5\n" + line(7) + "\n")
    assert len(run.segments) == 1


def test_a_version_change_in_mid_log_is_noted_with_its_line() -> None:
    old = "".join(
        f"step:{i} - actor/kl:0.{100 + i} - actor/lr:0.000 - a/c:0.120 - a/d:0.130 - a/e:1.000 - a/f:2.000\n" for i in range(1, 9)
    )
    new = "".join(
        f"step:{i} - actor/kl:{i / 777!r} - actor/lr:1e-06 - a/c:{i / 9!r} - a/d:0.1321 - a/e:1.0 - a/f:2.0\n" for i in range(9, 17)
    )
    note = next(n for n in read_text(old + new).notes if n.kind == "version-change")
    assert note.line == 9


@pytest.mark.parametrize("tail", ["- actor/gr", " - actor/grad_norm:", " - actor/grad_norm:np.float64(0.1", " -", " - actor/grad_norm:-"])
def test_an_unfinished_end_is_left_out_and_noted(tail: str) -> None:
    run = read_text(line(1) + "\n" + line(2) + tail)
    assert "actor/grad_norm" not in run.columns
    assert run.columns["actor/pg_loss"].values.tolist() == [1 / 7000, 2 / 7000]
    assert "cut-line" in kinds(run)


def test_a_last_value_with_fewer_decimals_than_the_others_is_cut() -> None:
    run = read_text(
        "step:1 - actor/kl:0.123 - actor/loss:0.100 - actor/lr:0.001\nstep:2 - actor/kl:0.124 - actor/loss:0.101 - actor/lr:0.0"
    )
    assert run.columns["actor/lr"].values.tolist() == [0.001]
    assert "cut-line" in kinds(run)


def test_a_complete_last_line_without_line_end_is_kept_whole() -> None:
    run = read_text("step:1 - actor/kl:0.123 - actor/lr:0.001\nstep:2 - actor/kl:0.124 - actor/lr:0.002")
    assert run.columns["actor/lr"].values.tolist() == [0.001, 0.002]
    assert kinds(run) == []


def test_a_line_that_wandb_cut_at_4096_characters_loses_its_last_value() -> None:
    body = "step:1 - " + " - ".join(f"val-aux/a{i}/acc/mean@8:{i / 7 + 0.01!r}" for i in range(120))
    run = read_text(body[:4096] + "\n" + line(2) + "\n")
    last = list(run.columns)[-4]
    assert body[:4096].rindex(last) < body[:4096].rindex(" - ")
    assert "cut-line" in kinds(run)


SAMPLE = """(TaskRunner pid=7) [prompt] what is wrong?
(TaskRunner pid=7) [response] look:
(TaskRunner pid=7) step:999 - actor/entropy:9.9 - actor/pg_loss:9.9 - actor/kl:9.9
(TaskRunner pid=7) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB
(TaskRunner pid=7) Traceback (most recent call last):
(TaskRunner pid=7)   File "/x/y.py", line 3, in f
(TaskRunner pid=7) ValueError: not real
(TaskRunner pid=7) [ground_truth] 5
(TaskRunner pid=7) [score] 0.0
"""


def test_what_a_printed_sample_says_is_no_data() -> None:
    run = read_text(line(1) + "\n" + SAMPLE + line(2) + "\n")
    assert steps(run) == [1, 2]
    assert run.events == []


def test_a_sample_that_never_ends_does_not_swallow_the_run() -> None:
    run = read_text(line(1) + "\n(TaskRunner pid=7) [prompt] a\n" + line(2) + "\n" + line(3) + "\n")
    assert steps(run) == [1, 2, 3]


def test_a_fork_that_ends_its_samples_in_another_way_loses_no_step() -> None:
    text = "".join(f"(TaskRunner pid=7) [prompt] a\n(TaskRunner pid=7) [reward] 1\n{line(i)}\n" for i in range(1, 6))
    assert steps(read_text(text)) == [1, 2, 3, 4, 5]
    assert steps(read_text("(TaskRunner pid=7) [prompt] a\n" + "".join(line(i) + "\n" for i in range(1, 5000)))) == list(range(1, 5000))


@pytest.mark.parametrize(
    "prefix",
    [
        "[rank0]: ", "[1,0]<stdout>:", "node-0: ", "12:", "trainer-0  | ", "2025-03-10 12:00:01,123 INFO: ", "> ", "```",
        "[2025-03-10 12:00:01,123][__main__][INFO] - ", "2025-03-10T12:00:01.1Z stdout F (TaskRunner pid=7) ",
        "INFO:2026-08-22 10:11:12,345:",
    ],
)  # fmt: skip
def test_what_launchers_and_loggers_write_before_a_line(prefix: str) -> None:
    run = read_text("".join(line(i, prefix) + "\n" for i in (1, 2)))
    assert steps(run) == [1, 2]
    assert kinds(run) == []


def test_lines_of_another_process_are_read_while_a_sample_is_printed() -> None:
    run = read_text("(RewardManager pid=9) [prompt] a\n" + line(1) + "\n(RewardManager pid=9) [score] 1\n" + line(2) + "\n")
    assert steps(run) == [1, 2]


def test_a_quoted_metric_line_is_not_data_but_is_told() -> None:
    run = read_text(line(1) + "\n(TaskRunner pid=7) The answer says step:77 - actor/kl:0.5 - actor/x:1.0 and ends\n" + line(2) + "\n")
    assert steps(run) == [1, 2]
    assert run.unread_lines == 1


def test_a_question_and_a_log_in_one_line_are_read() -> None:
    run = read_text("why is my loss positive? step:5 - actor/pg_loss:0.021 - actor/kl:0.001 step:6 - actor/pg_loss:0.022 - actor/kl:0.002")
    assert steps(run) == [5, 6]
    assert "doubtful-lines" in kinds(run)


def test_a_paste_that_begins_inside_a_line_is_a_row_without_a_step() -> None:
    run = read_text("eward/mean:0.5 - timing_s/adv:10751.941 - timing_s/step:11000.5\n" + line(8) + "\n")
    assert [int(s) for s in run.row_steps] == [NO_STEP, 8]
    assert run.columns["timing_s/adv"].values.tolist() == [10751.941]
    assert run.n_records == 2


def test_line_numbers_count_through_noise_and_blocks() -> None:
    noise = "(WorkerDict pid=1) " + "x" * 80 + "\n"
    text = "".join(noise * 37 + line(i) + "\n" for i in range(1, 1500))
    run = read_text(text)
    assert run.row_lines.tolist() == [38 * i for i in range(1, 1500)]
    assert run.n_lines == 38 * 1499


def test_a_bar_glued_before_a_line_gives_progress() -> None:
    run = read_text("(TaskRunner pid=7) Training Progress:   3%|▎         | 13/435 [12:02<6:28:10, 55.19s/it]" + line(13) + "\n")
    assert steps(run) == [13]
    assert run.total_steps == 435
    progress = next(e for e in run.events if e.kind == "progress")
    assert progress.data == {"done": 13, "total": 435, "seconds_per_step": 55.19}


@pytest.mark.parametrize(
    "message", ["\x1b[36m(WorkerDict pid=3)\x1b[0m note - there:5", "Training Progress:   3%| | 1/9 [00:01<00:02, 1.0s/it] - x:1"]
)
def test_a_message_glued_to_the_end_of_a_line_is_no_metric(message: str) -> None:
    run = read_text(line(1) + message + "\n" + line(2) + "\n")
    assert steps(run) == [1, 2]
    assert set(run.columns) == {"actor/entropy", "actor/pg_loss", "actor/kl"}
    assert run.columns["actor/kl"].values.tolist() == [0.123456, 0.123456]


def test_keys_that_come_and_go_keep_their_rows() -> None:
    text = "".join(line(i, entropy=i / 10) + (f" - val/x:{i / 3!r}" if i % 5 == 0 else "") + "\n" for i in range(1, 3001))
    run = read_text(text)
    assert run.columns["val/x"].rows.tolist() == [i - 1 for i in range(5, 3001, 5)]
    assert run.columns["actor/entropy"].rows.tolist() == list(range(3000))
    assert np.array_equal(run.columns["actor/entropy"].values, np.array([i / 10 for i in range(1, 3001)]))


def test_a_summary_of_wandb_is_one_record_when_there_are_no_steps() -> None:
    summary = "wandb: Run summary:\nwandb:   actor/lr 0.0\nwandb: critic/score/mean 1e-05\nwandb:   name text\nwandb:\n"
    run = read_text(summary)
    assert (run.n_records, run.framework, run.format) == (1, "verl", "wandb-summary")
    assert {name: column.values[0] for name, column in run.columns.items()} == {"actor/lr": 0.0, "critic/score/mean": 1e-05}
    assert read_text(line(1) + "\n" + summary).n_records == 1
