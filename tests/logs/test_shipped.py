"""What the way of a log put around its lines is taken off before it is read, whatever the format."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from assistant.logs import read, read_text
from assistant.logs.formats import text_formats
from assistant.run import Run

ASIDE = frozenset({"json-lines", "csv", "json", "tensorboard-download", "name-value", "tables"})
SAMPLES = {f"{one.name}-{number}": sample for one in text_formats() if one.name not in ASIDE for number, sample in enumerate(one.samples)}
REAL = sorted((Path(__file__).parents[3] / "shared" / "samples").glob("*.log"))


def lines(start: Callable[[int], str]) -> Callable[[str], str]:
    return lambda text: "\n".join(start(n) + line for n, line in enumerate(text.rstrip("\n").split("\n"))) + "\n"


PREFIXES: dict[str, Callable[[str], str]] = {
    "rank": lines(lambda n: "[rank0]: "),
    "torchrun": lines(lambda n: "[default0]:"),
    "torchrun twice": lines(lambda n: "[default0]:[rank0]: "),
    "docker": lines(lambda n: f"2025-06-01T12:00:{n % 60:02d}.123456789Z "),
    "containerd": lines(lambda n: f"2025-06-01T12:00:{n % 60:02d}.123456789Z stdout F "),
    "journald": lines(lambda n: f"Jun 01 12:00:{n % 60:02d} gpu-node-03 python[41234]: "),
    "srun": lines(lambda n: "0: "),
    "compose": lines(lambda n: "trainer-1  | "),
    "kubectl": lines(lambda n: "[pod/train-abc-0/trainer] "),
    "mpirun": lines(lambda n: "[1,0]<stdout>:"),
    "pdsh": lines(lambda n: "node-0: "),
    "hosted": lines(lambda n: "2025-06-01 12:00:00,123\tINFO\t"),
    "logger": lines(lambda n: "2025-06-01 12:00:00,123 - INFO - train.py:33 - "),
    "quoted": lines(lambda n: "> "),
    "quoted fence": lambda text: lines(lambda n: "> ")("```shell\n" + text + "```\n"),
    "list item": lambda text: "- see\n\n  ```bash\n" + lines(lambda n: "  ")(text) + "  ```\n",
    "Ray": lines(lambda n: "\x1b[36m(main pid=123, ip=10.0.0.1)\x1b[0m "),
}
SIGNS: dict[str, Callable[[str], str]] = {
    "non-breaking": lambda text: text.replace(" ", "\xa0"),
    "zero width": lambda text: text.replace("\n", "\n\u200b"),
    "full-width colons": lambda text: text.replace(": ", "："),
    "curly quotes": lambda text: re.sub(r"'([^'\n]*)'", "\u2018\\1\u2019", text),
    "a web page": lambda text: text.replace("&", "&amp;").replace("<", "&lt;").replace("'", "&#39;").replace('"', "&quot;"),
    "one colour a line": lambda text: "".join(f"\x1b[32m{line}\x1b[0m\n" for line in text.rstrip("\n").split("\n")),
    "a chat": lambda text: "张三 2025年6月1日 12:30\n" + text + "李四：这是什么问题？\n",
    "a notebook": lambda text: "[12]\n32m\n!python train.py\noutput\n" + text,
}


def records(run: Run) -> list[tuple[Any, dict[str, Any]]]:
    return [(record["step"], record["values"]) for record in run.records()]


@cache
def alone(text: str) -> tuple[str, list[tuple[Any, dict[str, Any]]]]:
    run = read_text(text)
    return run.framework, records(run)


@pytest.mark.parametrize("way", [*PREFIXES, *SIGNS])
def test_every_format_reads_the_same_whatever_way_its_log_came(way: str) -> None:
    change = (PREFIXES | SIGNS)[way]
    wrong = {}
    for name, sample in SAMPLES.items():
        sent = read_text(change(sample.text))
        if (sent.framework, records(sent)) != alone(sample.text):
            wrong[name] = records(sent)
    assert wrong == {}


@pytest.mark.skipif(not REAL, reason="the samples are not here")
@pytest.mark.parametrize("way", ["torchrun", "containerd", "journald", "compose", "quoted fence"])
def test_real_logs_read_the_same_whatever_way_they_came(way: str) -> None:
    for path in REAL:
        text = path.read_text(errors="replace").replace("\r\n", "\n")
        if len(text) < 60_000 and path.name != "rllm_2.log":  # its last number may be cut, and is left out where that shows
            sent = read_text(PREFIXES[way](text))
            assert (sent.framework, records(sent)) == alone(text), path.name


def test_lines_keep_their_numbers() -> None:
    table = "| rollout/ | |\n| ep_rew_mean | 12.5 |\n| time/ | |\n| total_timesteps | 2048 |\n-----\n"
    run = read_text(lines(lambda n: "Jun 01 12:00:00 gpu03 python[1]: ")("Using cuda device\n" + table))
    reward = run.series("rollout/ep_rew_mean") or run.series("ep_rew_mean")
    assert reward is not None
    assert (run.n_lines, int(reward.lines[0])) == (6, 3)


def test_a_long_log_loses_the_prefix_in_every_block(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    with path.open("w") as file:
        for step in range(1, 30_001):
            line = f"[2025-04-13 23:41:12] iteration {step:8d}/ 30000 | lm loss: {step}.5E+00 | grad norm: 0.5 |"
            file.write(f"2025-06-01T12:00:00.123456789Z  {line}\n")
    run = read(path)
    assert path.stat().st_size > 2 << 20
    assert (run.framework, run.n_records, run.n_lines, run.unread_lines) == ("megatron", 30_000, 30_000, 0)


def test_lines_broken_at_the_edge_of_a_screen_are_joined() -> None:
    line = " iteration {n:8d}/    1000 | consumed samples: {n:12d} | elapsed time per iteration (ms): 1147.6"
    line += " | lm loss: 7.3{n}E+00 | grad norm: 0.2{n} |"
    whole = "".join(line.format(n=n) + "\n" for n in (11, 12, 13))
    for width in (80, 100, 120):
        broken = "".join(text[at : at + width] + "\n" for text in whole.splitlines() for at in range(0, len(text), width))
        assert records(read_text(broken)) == records(read_text(whole)), width


def test_lines_of_one_length_are_no_broken_line() -> None:
    text = "INFO metrics.py:351] Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 12.3 tokens/s, Running: 1 reqs\n"
    assert read_text(text * 5).n_rows == 0


def test_processes_are_kept_where_the_log_can_be_read_with_them() -> None:
    line = "[rank{rank}]: {{'loss': 0.{n}, 'grad_norm': 1.5, 'learning_rate': 1e-05, 'epoch': 0.{n}}}\n"
    text = "".join(line.format(rank=rank, n=n) for n in range(1, 6) for rank in (0, 1))
    run = read_text(text + '[rank1]: Traceback (most recent call last):\n[rank1]:   File "a.py", line 3, in f\n[rank1]: ValueError: no\n')
    assert run.n_records == 5
    assert {event.process for event in run.events if event.kind == "exception"} == {"rank1"}


def test_a_process_id_or_a_place_in_code_is_no_metric() -> None:
    tag = "(entry pid=123, ip=10.0.0.1) avg_final_rewards: {n}, avg_response_length: 9{n}\n"
    place = "train.py:33 - avg_final_rewards: {n}, avg_response_length: 9{n}\n"
    for line in (tag, place):
        run = read_text("".join(line.format(n=n) for n in (1, 2, 3)))
        assert set(run.columns) == {"avg_final_rewards", "avg_response_length"}


def test_a_dict_whose_start_is_missing_is_read_below_other_words() -> None:
    torn = "'loss': 0.25, 'grad_norm': 1.5, 'learning_rate': 2e-07, 'reward': 0.5, 'epoch': 0.1}\n"
    assert records(read_text("My run:\n```\n" + torn + "```\n"))[0][1]["grad_norm"] == 1.5
