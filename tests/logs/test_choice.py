"""Which format reads a log: the best fit on many lines, verl first, a name when the user gives one."""

from __future__ import annotations

import importlib
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.logs import formats, read, read_text

VERL = "".join(f"(TaskRunner pid=7) step:{i} - actor/entropy:0.4{i} - actor/lr:0.000 - critic/score/mean:0.250\n" for i in range(1, 9))
TRL = "".join(f"{{'loss': 0.{i}, 'grad_norm': 0.5, 'reward': 0.25, 'reward_std': 0.1, 'epoch': 0.1}}\n" for i in range(1, 60))


def test_verl_is_first_and_its_lines_are_not_tried_with_others() -> None:
    run = read_text(VERL)
    assert (run.format, [one.format for one in run.tried]) == ("verl-console", ["verl-console"])


def test_a_quoted_line_of_verl_does_not_turn_another_log_into_verl() -> None:
    run = read_text(VERL.splitlines(keepends=True)[0] + TRL)
    assert (run.format, run.framework, run.n_records) == ("dict", "trl", 59)


def test_a_dict_in_a_log_of_verl_does_not_turn_it_into_another() -> None:
    run = read_text(TRL.splitlines(keepends=True)[0] * 3 + VERL)
    assert (run.framework, run.n_records) == ("verl", 8)


def test_a_banner_of_another_framework_decides_nothing() -> None:
    run = read_text("🦥 Unsloth: will patch your computer\nmegatron iteration 5\n" + VERL)
    assert run.framework == "verl"


def test_metrics_that_begin_after_megabytes_of_words_are_found_in_a_stream() -> None:
    words = "INFO worker busy, nothing to see here; the weights are loaded from page 17 of the book\n" * 60_000
    run = read(io.BytesIO((words + TRL).encode()))
    assert (run.format, run.n_records, run.n_lines) == ("dict", 59, 60_059)
    assert next(run.records())["line"] == 60_001


def test_a_name_forces_a_format_or_a_framework() -> None:
    run = read_text("step: 3 - loss: 0.5, reward: 0.25, acc: 0.125\n")
    assert read(b"step: 3 - loss: 0.5, reward: 0.25, acc: 0.125\n", format="name-value").n_records == run.n_records == 1
    assert read(TRL.encode(), format="unsloth").framework == "unsloth"
    assert read(TRL.encode(), format="verl").n_rows == 0
    assert read(VERL.encode(), format="sb3").n_rows == 0


def test_what_was_tried_is_told_the_chosen_one_first() -> None:
    run = read_text("".join(f"Step {i} | loss:0.5 lr:2e-05 \n" for i in range(5)))
    assert (run.tried[0].format, run.tried[0].chosen, run.tried[0].fit.lines, run.tried[0].fit.tried) == ("torchtune", True, 5, 5)
    assert not any(one.chosen for one in run.tried[1:])


def test_lines_that_look_like_metrics_and_are_not_read_are_told() -> None:
    odd = "Step 9 | loss: 0.5, lr: 0.25, mem: 0.125, tokens: 1.5\n"
    run = read_text("".join(f"Step {i} | loss:0.5 lr:2e-05 \n" for i in range(5)) + odd)
    assert (run.unread_lines, run.unread_samples) == (1, [(6, odd.strip())])


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[None]:
    (tmp_path / "tally_format.py").write_text(
        "from assistant.logs.formats.base import SPECIFIC, Sample\n"
        "from assistant.logs.shapes.lines import VALUE, LineFormat, pairs\n"
        "from assistant.logs.shapes.rows import Reading\n"
        "import re\n"
        "HEAD, PAIR = re.compile(r'^tally (\\d+) '), re.compile(rf'(?P<key>\\w+)~{VALUE}')\n"
        "class Tally(LineFormat):\n"
        "    name, shape, frameworks, marks = 'tally', 'tally n name~value', ('tally',), (b'tally ',)\n"
        "    def find(self, text):\n"
        "        head = HEAD.search(text)\n"
        "        return Reading(pairs(PAIR, text), (head.start(1), head.end(1))) if head else None\n"
        "FORMAT = Tally()\n"
    )
    info = tmp_path / "tally_format-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tally-format\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[runwhy.formats]\ntally = tally_format:FORMAT\n")
    sys.path.insert(0, str(tmp_path))
    importlib.invalidate_caches()
    formats._offered.cache_clear()
    yield
    sys.path.remove(str(tmp_path))
    sys.modules.pop("tally_format", None)
    formats._offered.cache_clear()


@pytest.mark.usefixtures("plugin")
def test_another_package_can_add_a_format() -> None:
    run = read_text("tally 3 loss~0.5 kl~nan\ntally 4 loss~0.25 kl~1\n")
    assert (run.format, run.framework) == ("tally", "tally")
    assert list(run.records())[1] == {"step": 4, "line": 2, "values": {"loss": 0.25, "kl": 1}}
    assert "tally" in formats.names()


def test_a_log_of_verl_loads_no_other_format() -> None:
    code = (
        "import sys; from assistant.logs import read_text\n"
        f"run = read_text({VERL!r})\n"
        "loaded = [name for name in sys.modules if name.startswith('assistant.logs.formats.')]\n"
        "print(run.n_records, *(name for name in loaded if not name.endswith(('.base', '.frameworks'))))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert found.stdout.split() == ["8"]


def test_the_summary_that_wandb_prints_is_of_the_trainer_whose_names_it_holds() -> None:
    lines = ("train/loss 0.5", "train/grad_norm 1.5", "train/reward_std 0.1", "train/learning_rate 0.0")
    run = read_text("wandb: Run summary:\n" + "".join(f"wandb:   {line}\n" for line in lines))
    assert (run.format, run.framework, run.n_records) == ("wandb-summary", "trl", 1)
