"""Stable-Baselines (2 and 3): tables of ``| name | value |``, names indented under ``| group/ | |``, and the lines that its
evaluation prints: ``Eval num_timesteps=10000, episode_reward=115.83 +/- 3.20``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from assistant.logs.formats.base import SPECIFIC, BlockReader, Fit, Head, Sample
from assistant.logs.shapes.blocks import BlockRows
from assistant.logs.shapes.printed import NUMBER
from assistant.logs.shapes.scoring import score_parts

_ROW = re.compile(rb"^(?P<before>[^|]{0,200})\|(?P<indent> *)(?P<key>[^|]*?)\s*\|\s*(?P<value>[^|]*?)\s*\|\s*$")
_BORDER = re.compile(rb"^[\s>]*-{8,}\s*$")
_NUMBER = re.compile(NUMBER + r"|True|False|None")
_EVAL = re.compile(
    rb"(?:.*\s)?Eval num_timesteps=(?P<step>\d{1,15}), (?P<key>episode_reward)=(?P<value>[-\w.+]+) (?P<spread>\+/-) (?P<std>[\w.+]+)\s*$"
)
_EVAL_MORE = re.compile(rb"(?P<key>Episode length|Success rate): (?P<value>[-\w.+]+)(?: (?P<spread>\+/-) (?P<std>[\w.+]+)|%)\s*$")
_STEPS = ("time/total_timesteps", "total_timesteps", "time/total timesteps", "total timesteps")
_KNOWN = re.compile(
    r"(?:.*/)?(?:total_?\s?timesteps|ep_(?:rew|len)_mean|mean_reward|mean_ep_length|fps|approx_?kl|clip_?frac(?:tion)?|explained_variance"
    r"|policy_\w*loss|value_loss|entropy_loss|policy_entropy|n_?updates|episodes|ep_?rew_?mean|eprewmean|exploration_rate|actor_loss|critic_loss"
    r"|mean 100 episode reward)$"
)


_EXPLORING = "% time spent exploring"
_EVALUATES = b"Eval num_timesteps="


class TableReader(BlockRows):
    """A border, or a name that comes again, ends a record."""

    goes_on = rb"[^|\n]{0,200}\|"

    def __init__(self, marks: Sequence[bytes]) -> None:
        super().__init__(marks)
        self._group = ""
        self._known = False
        self._evaluating = -1  # the line of an evaluation read last

    def piece(self, raw: bytes, last: bool) -> None:
        row = _ROW.match(raw)
        if row is None:
            if evaluation := _EVAL.match(raw):
                self.close()
                self.block_step = int(evaluation["step"])
                self.step_at(*(len(raw[:at].decode("utf-8", "replace")) for at in evaluation.span("step")))
                self._printed(evaluation, raw)
            elif self.line == self._evaluating + 1 and (more := _EVAL_MORE.match(raw)):
                self._printed(more, raw)
            elif _BORDER.match(raw):
                self.close()
            return
        key = row["key"].decode("utf-8", "replace").strip()
        value = row["value"].decode("utf-8", "replace")
        place = len(raw[: row.start("value")].decode("utf-8", "replace"))
        if not key or set(key) <= {"-", ":"}:
            return
        if not value:
            self._group = key if key.endswith("/") else ""
            return
        if len(row["indent"]) >= 3:
            full = self._group + key
        else:
            full = key
            self._group = ""
        if not _NUMBER.fullmatch(value):
            return
        if self.holds(full):
            group = self._group
            self.close()
            self._group = group
        of_dqn = full == "steps" and self.holds(_EXPLORING)  # how Stable-Baselines 2 calls them there
        if (full in _STEPS or of_dqn) and value.isdigit():
            self.block_step = int(value)
            self.step_at(place, place + len(value))
        self._known = self._known or _KNOWN.match(full) is not None
        self.cell(full, value, place)

    def _printed(self, found: re.Match[bytes], raw: bytes) -> None:
        """A mean of an evaluation, and its spread over the episodes."""
        for name, group in (("", "value"), (" +/-", "std")):
            digits = (found[group] or b"").decode()
            if _NUMBER.fullmatch(digits):
                self.cell(found["key"].decode() + name, digits, len(raw[: found.start(group)].decode("utf-8", "replace")))
        self._known = True
        self._evaluating = self.line

    def close(self) -> None:
        if self.n_cells and not self._known:
            self.open_block()
        self._known = False
        self._group = ""
        super().close()


class Sb3:
    name = "sb3"
    shape = "a table of | name | value |"
    frameworks = ("sb3",)
    rank = SPECIFIC
    console = True
    marks = (b"|", b"--------", _EVALUATES, b"Episode length: ", b"Success rate: ")
    samples: Sequence[Sample] = (
        Sample(
            "-----------------------------------\n| rollout/           |            |\n|    ep_rew_mean     | -1.02e+03  |\n"
            "| time/              |            |\n|    total_timesteps | 24576      |\n| train/             |            |\n"
            "|    approx_kl       | 0.05522362 |\n|    entropy_loss    | -2.5       |\n-----------------------------------\n",
            [{"step": 24576, "values": {"rollout/ep_rew_mean": -1020.0, "train/approx_kl": 0.05522362, "train/entropy_loss": -2.5}}],
            "sb3",
        ),
        Sample(
            "| approxkl        | 6.661338e-16 |\n| policy_entropy  | 1.4189396    |\n| total_timesteps | 54480        |\n",
            [{"step": 54480, "values": {"approxkl": 6.661338e-16, "policy_entropy": 1.4189396}}],
            "sb3",
            "Stable-Baselines 2",
        ),
        Sample(
            "Eval num_timesteps=10000, episode_reward=115.83 +/- 3.20\nEpisode length: 160.00 +/- 0.00\nSuccess rate: 25.00%\n"
            "New best mean reward!\n",
            [
                {
                    "step": 10000,
                    "values": {"episode_reward": 115.83, "episode_reward +/-": 3.2, "Episode length": 160.0, "Success rate": 25.0},
                }
            ],
            "sb3",
            "an evaluation without a table",
        ),
    )

    def score(self, head: Head) -> Fit:
        if b"|" not in head.block and _EVALUATES not in head.block:
            return Fit()
        return score_parts(head, (b"| ", _EVALUATES), self.reader, self.shape)

    def reader(self) -> BlockReader:
        return TableReader(self.marks)

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str:
        return "sb3"


FORMATS = (Sb3(),)
