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


def values(run: Run, name: str) -> list[float]:
    return run.columns[name].values.tolist() if name in run.columns else []


def test_a_line_broken_inside_global_step_goes_on() -> None:
    start = "step:2 - actor/entropy:0.43511 - actor/lr:1e-06 - training/global"
    for broken in ("\n_step:2", "_\nstep:2", "_st\nep:2", "_step\n:2", "_step:\n2"):
        run = read_text(f"{start}{broken} - training/epoch:0 - critic/score/mean:0.125 - critic/score/max:1.0\n" + line(3) + "\n")
        assert steps(run) == [2, 3]
        assert (values(run, "training/global_step"), values(run, "critic/score/max")) == ([2.0], [1.0])


def test_a_line_cut_before_global_step_takes_nothing_from_the_next() -> None:
    first = "step:1 - actor/entropy:0.43511 - actor/lr:1e-06 - training/global_"
    run = read_text(first + "\nstep:2 - actor/entropy:0.5 - actor/lr:1e-06 - training/global_step:2\n")
    assert steps(run) == [1, 2]
    assert values(run, "actor/entropy") == [0.43511, 0.5]
    assert kinds(run) == ["cut-line"]


def test_a_number_broken_over_two_lines_is_put_together() -> None:
    run = read_text(
        "step:1 - actor/grad_norm:0.2057906948029995 - perf/cpu_memory_used_gb:36.8\n"
        "0875778198242 - actor/lr:1e-06 - training/global_step:1 - training/epoch:0\n"
    )
    assert values(run, "perf/cpu_memory_used_gb") == [36.80875778198242]
    assert values(run, "training/epoch") == [0.0]


def test_a_number_that_may_go_on_in_a_line_of_digits_is_left_out_and_said() -> None:
    start = "step:1 - actor/grad_norm:0.2057906948029995 - perf/mfu/actor:0.25 - perf/throughput:851.09"
    run = read_text(start + "\n62887764523\n(WorkerDict pid=1) hello\n")
    assert "perf/throughput" not in run.columns
    assert kinds(run) == ["cut-line"]


def test_a_number_before_lost_pieces_of_its_line_is_left_out() -> None:
    run = read_text(
        "step:1 - actor/grad_norm:0.2057906948029995 - perf/cpu_memory_used_gb:36.8\n(WorkerDict pid=1) hello\n"
        "0875778198242 - actor/lr:1e-06 - training/global_step:1\n" + line(2) + "\n"
    )
    assert "perf/cpu_memory_used_gb" not in run.columns
    assert steps(run) == [1, 2]
    assert kinds(run) == ["cut-line", "unread-lines"]


@pytest.mark.parametrize("head", ["s\ntep:12", "step\n:12", "step:\n12", "step:1\n2", "step:12\n", "step:12 -\n"])
def test_a_line_broken_inside_its_head_is_read(head: str) -> None:
    rest = " actor/kl:0.5 - actor/lr:1e-06" if head.endswith("-\n") else " - actor/kl:0.5 - actor/lr:1e-06"
    run = read_text(f"{line(11)}\n(TaskRunner pid=7) Training Progress: 3%| | 1/9 [00:01<00:02, 1.0s/it]{head}{rest}\n{line(13)}\n")
    assert steps(run) == [11, 12, 13]
    assert values(run, "actor/lr") == [1e-06]


def test_a_torn_first_key_is_no_metric_unless_the_log_has_it() -> None:
    after = "step:6 - actor/pg_loss:0.0124 - actor/lr:1e-06 - time_per_step:70.5 - critic/score/mean:0.25\n"
    torn = read_text("oss:0.0123 - actor/lr:1e-06 - time_per_step:71.5 - critic/score/mean:0.125\n" + after)
    assert steps(torn) == [NO_STEP, 6]
    assert (values(torn, "time_per_step"), values(torn, "critic/score/mean")) == ([71.5, 70.5], [0.125, 0.25])
    assert "oss" not in torn.columns
    assert kinds(torn) == ["cut-line"]
    whole = read_text("time_per_step:71.5 - critic/score/mean:0.125\n" + after)
    assert values(whole, "time_per_step") == [71.5, 70.5]
    assert kinds(whole) == []
    assert "raining/epoch" not in read_text("raining/epoch:0 - critic/score/mean:0.125\n" + after).columns


@pytest.mark.parametrize("end", ["0", "0.", "0.1", "-", "1e-0"])
def test_a_last_value_without_a_line_end_is_kept_only_when_it_cannot_go_on(end: str) -> None:
    full = "step:1 - actor/entropy:0.42977123456 - critic/score/mean:0.125 - critic/score/max:1.0\n"
    run = read_text(f"{full}step:2 - actor/entropy:0.42977123411 - critic/score/mean:{end}")
    assert values(run, "critic/score/mean") == [0.125]
    assert values(run, "actor/entropy") == [0.42977123456, 0.42977123411]
    assert kinds(run) == ["cut-line"]


def test_one_typed_line_without_a_line_end_is_whole() -> None:
    run = read_text("step:5 - actor/entropy:9.5 - actor/lr:1e-06 - critic/score/mean:0.25")
    assert values(run, "critic/score/mean") == [0.25]
    assert kinds(run) == []


@pytest.mark.parametrize(
    "before",
    [
        "\x1b[K", "\x1b[2K\x1b[1A", "[K", "\x1b]0;title\x07", "\x1b[0m\x1b[K", "(TaskRunner pid=7) \x1b[A",
        "Training Progress: 3%| | 1/9 [00:01<00:02, 1.0s/it]\x1b[A", "Training Progress: 3%| | 1/9 [00:01<00:02, 1.0s/it][A",
    ],
)  # fmt: skip
def test_terminal_codes_before_and_behind_a_line(before: str) -> None:
    run = read_text(f"{line(2)}\n{before}step:3 - actor/kl:0.25 - actor/lr:1e-06\x1b[K\n{line(4)}\n")
    assert steps(run) == [2, 3, 4]
    assert values(run, "actor/lr") == [1e-06]
    assert kinds(run) == []


def test_non_breaking_spaces_are_spaces() -> None:
    run = read_text((line(3) + "\n" + line(4) + "\n").replace(" - ", "\xa0-\xa0"))
    assert steps(run) == [3, 4]
    assert values(run, "actor/kl") == [0.123456, 0.123456]


def test_two_lines_without_anything_between_them() -> None:
    run = read_text("step:1 - actor/entropy:0.330 - critic/score/mean:0.500step:2 - actor/entropy:0.331 - critic/score/mean:0.501\n")
    assert steps(run) == [1, 2]
    assert (values(run, "actor/entropy"), values(run, "critic/score/mean")) == ([0.33, 0.331], [0.5, 0.501])
    assert set(run.columns) == {"actor/entropy", "critic/score/mean"}


@pytest.mark.parametrize(
    ("glued", "kept"),
    [
        ("INFO 03-01 22:42:08 worker.py:133] x", True), ("Processed prompts:  45%|███", True), ("/usr/lib/x.py:3: UserWarning", True),
        ("`", True), (", is this ok?", True), ("(WorkerDict pid=1) x", True), ("45%|███| 3/7", False), ("12:30:01 x", False),
        ("2025-03-01 12:00:01 x", False), ("127.0.0.1:80", False), ("3 warnings", False), ("3it [00:01, 2.3it/s]", False),
    ],
)  # fmt: skip
def test_output_glued_to_the_last_value(glued: str, kept: bool) -> None:
    run = read_text(f"step:1 - actor/entropy:0.33 - critic/score/mean:0.5{glued}\nstep:2 - actor/entropy:0.34 - critic/score/mean:0.51\n")
    assert steps(run) == [1, 2]
    assert values(run, "critic/score/mean") == ([0.5, 0.51] if kept else [0.51])
    assert kinds(run) == ([] if kept else ["cut-line"])
    assert set(run.columns) == {"actor/entropy", "critic/score/mean"}


def test_three_decimals_stay_three_decimals_whatever_is_glued_to_them() -> None:
    run = read_text("step:1 - actor/kl:0.330 - actor/lr:0.000 - a/b:0.5002025-03-01 12:00:01 INFO\nstep:2 - actor/kl:0.331 - a/b:0.501\n")
    assert values(run, "a/b") == [0.5, 0.501]


def test_an_error_glued_to_a_metric_line_is_found() -> None:
    run = read_text(line(1) + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n")
    assert [event.kind for event in run.events] == ["gpu-oom"]
    assert values(run, "actor/kl") == [0.123456]


def test_a_line_behind_other_output_is_read_when_it_looks_like_the_others() -> None:
    many = {f"k{i}": i / 7 for i in range(12)}
    run = read_text(f"{line(1, **many)}\nsaving done{line(2, '', **many)}\n{line(3, **many)}\n")
    assert steps(run) == [1, 2, 3]


def test_runs_that_print_side_by_side_are_told_apart() -> None:
    text = "".join(f"(TaskRunner pid={pid}) step:{i} - actor/kl:0.{pid}{i} - actor/lr:1e-06\n" for i in range(1, 5) for pid in (1, 2))
    run = read_text(text + "(TaskRunner pid=2) step:5 - actor/kl:0.25 - actor/lr:1e-06\n")
    assert steps(run) == [1, 2, 3, 4, 5]
    assert values(run, "actor/kl") == [0.21, 0.22, 0.23, 0.24, 0.25]
    assert run.row_lines.tolist() == [2, 4, 6, 8, 9]
    note = next(note for note in run.notes if note.kind == "mixed-runs")
    assert (note.line, note.data["read"], note.data["rows"], note.data["others"]) == (1, "TaskRunner pid=2", 5, "TaskRunner pid=1")


def test_attempts_one_after_another_stay_one_run() -> None:
    text = "".join(line(i, f"(TaskRunner pid={pid}) ") + "\n" for pid, first in ((1, 1), (2, 10)) for i in range(first, first + 12))
    run = read_text(text + line(13, "(TaskRunner pid=1) ") + "\n")
    assert run.n_rows == 25
    assert "mixed-runs" not in kinds(run)
