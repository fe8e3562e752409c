"""Ray Tune's ``Result for <trial>:`` with the result below it, nested by indentation; and its table of trials."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from assistant.logs.formats.base import SPECIFIC, BlockReader, Fit, Head, Sample
from assistant.logs.prefix import split_process
from assistant.logs.shapes.blocks import BlockRows
from assistant.logs.shapes.printed import NUMBER
from assistant.logs.shapes.scoring import score_parts

_START = re.compile(r"Result for (\S+):\s*$")
_LINE = re.compile(r"^( *)(?:- )?([^\s:][^:]*):(?: (.*))?$")
_NUMBER = re.compile(NUMBER + r"|[-+]?\.(?:nan|inf)", re.IGNORECASE)
_STEPS = ("training_iteration", "iterations_since_restore", "timesteps_total")
_NO_METRICS = frozenset({"pid", "timestamp", "experiment_tag", "time_since_restore", "warmup_time"})
_NO_RESULTS = frozenset({"config", "hist_stats", "trial_config"})


class ResultReader(BlockRows):
    """Every line of a result is looked at until one stands at the left edge again."""

    def __init__(self, marks: Sequence[bytes]) -> None:
        super().__init__(marks)
        self._path: list[tuple[int, str]] = []
        self._found: list[tuple[int, str, str]] = []

    def piece(self, raw: bytes, last: bool) -> None:
        text = raw.decode("utf-8", "replace").rstrip()
        if _START.search(text):
            self._end()
            self.busy = True
            return
        if not self.busy:
            return
        line = _LINE.match(text)
        if text[:1] in "([" and split_process(raw)[0]:  # another process speaks in between
            return
        if not text.strip() or not text.startswith(" ") or line is None:
            if text.strip() and not text.startswith(" "):
                self._end()
            return
        indent, key, value = len(line[1]), line[2].strip(), (line[3] or "").strip()
        while self._path and self._path[-1][0] >= indent:
            self._path.pop()
        if not value:
            self._path.append((indent, key))
        elif _NUMBER.fullmatch(value) and key not in _NO_METRICS and not (self._path and self._path[0][1] in _NO_RESULTS):
            self._found.append((self.line, "/".join([*(name for _, name in self._path), key]), value))

    def _end(self) -> None:
        found, self._found, self._path, self.busy = self._found, [], [], False
        counts = Counter(key.rpartition("/")[2] for _, key, _ in found)
        now = self.line
        by_key = {}
        for line, key, value in found:
            leaf = key.rpartition("/")[2]
            self.line = line
            self.cell(leaf if counts[leaf] == 1 else key, value.replace(".nan", "nan").replace(".inf", "inf"))
            by_key[leaf] = value
        self.line = now
        step = next((by_key[key] for key in _STEPS if by_key.get(key, "").isdigit()), None)
        self.block_step = int(step) if step else None
        super().close()

    def close(self) -> None:
        self._end()


class Rllib:
    name = "rllib"
    shape = "Result for <trial>: and nested lines"
    frameworks = ("rllib",)
    rank = SPECIFIC
    console = True
    marks = (b"Result for ",)
    samples: Sequence[Sample] = (
        Sample(
            "Result for PPO_CartPole-v0_120b5_00000:\n  episode_reward_mean: 22.57\n  info:\n    learner:\n      default_policy:\n"
            "        learner_stats:\n          entropy: 0.6657\n          kl: .nan\n  timesteps_total: 4000\n  training_iteration: 1\n\n",
            [{"step": 1, "values": {"episode_reward_mean": 22.57, "entropy": 0.6657, "kl": "nan", "timesteps_total": 4000}}],
            "rllib",
        ),
    )

    def score(self, head: Head) -> Fit:
        return score_parts(head, self.marks, self.reader, self.shape)

    def reader(self) -> BlockReader:
        return ResultReader(self.marks)

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str:
        return "rllib"


class StatusReader(BlockRows):
    """A trial's row is a record; of several trials the one that stands first with an iteration is read."""

    fixed = True

    def __init__(self, marks: Sequence[bytes]) -> None:
        super().__init__(marks)
        self._names: list[str] = []
        self._trial = ""
        self._iteration = ""

    def piece(self, raw: bytes, last: bool) -> None:
        cells = [cell.strip() for cell in raw.decode("utf-8", "replace").strip().strip("|").split("|")]
        if cells[0] == "Trial name":
            self._names = cells
        elif len(cells) == len(self._names) and "iter" in self._names:
            row = dict(zip(self._names, cells, strict=True))
            self._take(row["Trial name"], row["iter"], row)

    def _take(self, trial: str, iteration: str, row: Mapping[str, str]) -> None:
        if not iteration.isdigit() or (self._trial and trial != self._trial) or iteration == self._iteration:
            return  # not begun, another trial, or printed again
        self._trial, self._iteration = trial, iteration
        self.block_step = int(iteration)
        for name, value in row.items():
            if name != "Trial name" and _NUMBER.fullmatch(value):
                self.cell(name, value)
        self.close()


class TuneStatus:
    name = "tune-status"
    shape = "Tune's table | Trial name | status | … | iter | … | reward |"
    frameworks = ("rllib",)
    rank = SPECIFIC
    console = True
    marks = (b"|",)
    samples: Sequence[Sample] = (
        Sample(
            "+-----------------+----------+---------------+--------+------------------+-------+----------+\n"
            "| Trial name      | status   | loc           |   iter |   total time (s) |    ts |   reward |\n"
            "|-----------------+----------+---------------+--------+------------------+-------+----------|\n"
            "| PPO_Cart_1_000  | RUNNING  | 10.0.0.4:2211 |      4 |          24.2112 | 16000 |    112.5 |\n",
            [{"step": 4, "values": {"iter": 4, "total time (s)": 24.2112, "ts": 16000, "reward": 112.5}}],
            "rllib",
        ),
    )

    def score(self, head: Head) -> Fit:
        return score_parts(head, (b"| Trial name ",), self.reader, self.shape) if b"| Trial name " in head.block else Fit()

    def reader(self) -> BlockReader:
        return StatusReader(self.marks)

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str:
        return "rllib"


FORMATS = (Rllib(), TuneStatus())
