"""JSON lines of any trainer: one object a line, flat or with the metrics one level down, with or without a step.

LLaMA-Factory's ``trainer_log.jsonl``, ms-swift's ``logging.jsonl``, RLlib's ``result.json``, Stable-Baselines3's
``progress.json``, exported wandb histories and home-made logs are of this kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from assistant.logs.files.finished import framework_of
from assistant.logs.files.json_text import line_object
from assistant.logs.files.rows import RowWriter, flattened
from assistant.logs.files.values import of_object
from assistant.logs.formats.base import FAMILY, BlockReader, Fit, Head, Sample

SCORED = 60
MOSTLY = 0.7
TEXTS = frozenset(
    {"prompt", "prompts", "response", "responses", "completion", "completions", "input", "output", "messages", "text", "question"}
)


class JsonLinesReader(BlockReader):
    """Objects line by line; a last line that is cut is told apart from lines that are no objects."""

    def __init__(self) -> None:
        super().__init__()
        self._rows = RowWriter(self)

    def feed(self, block: bytes, final: bool) -> int:
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        for index, raw in enumerate(lines):
            if raw.strip():
                found = line_object(raw)
                if found is not None:
                    self._rows.add(found, self.line)
                elif final and index == len(lines) - 1 and raw.lstrip().startswith(b"{"):
                    self.cut_lines.append(self.line)
                else:
                    self.skip(self.line, raw)
            self.line += 1
        return len(block)

    def finish(self) -> None:
        self._rows.finish()


class JsonLines:
    name = "json-lines"
    shape = "json-lines"
    frameworks = ("generic", "trl", "hf-trainer", "ms-swift", "llama-factory", "rllib", "sb3", "torchtune", "verl")
    rank = FAMILY
    console = False

    def score(self, head: Head) -> Fit:
        lines = [line for line in head.lines() if line.strip()]
        objects = [line for line in lines if line.lstrip().startswith(b"{")]
        if not objects or len(objects) < MOSTLY * len(lines):
            return Fit()
        if not head.final and len(objects) > 1 and objects[-1] is lines[-1]:
            objects.pop()
        some = objects[:: max(1, len(objects) // SCORED)]
        read = [found for line in some if (found := _quick(line)) is not None]
        if sum(is_sample(found) for found in read) * 2 > len(read):
            return Fit()
        numbers = [numbers_in(found) for found in read]
        share = len(objects) / len(some)
        good = sum(n > 0 for n in numbers)
        return Fit(round(good * share), round(len(some) * share), round(sum(numbers) * share), "objects")

    def reader(self) -> BlockReader:
        return JsonLinesReader()

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str:
        return framework_of(names, seen)

    samples = (
        Sample(
            '{"current_steps": 10, "total_steps": 500, "loss": 1.9206, "lr": 1e-06, "epoch": 0.02, "percentage": 2.0, "eta": "0:31"}\n'
            '{"current_steps": 20, "total_steps": 500, "loss": NaN, "lr": 2e-06, "epoch": 0.04, "percentage": 4.0}\n',
            ({"step": 10, "values": {"loss": 1.9206, "lr": 1e-06}}, {"step": 20, "values": {"loss": "nan", "epoch": 0.04}}),
            "llama-factory",
        ),
        Sample(
            '{"step": 4, "metrics": {"kl": 0.01, "reward": {"mean": 0.5, "max": 1.0}}}\n'
            '{"step": 5, "metrics": {"kl": 0.02, "reward": {"mean": 0.75, "max": 1.0}}}\n',
            ({"step": 4, "values": {"kl": 0.01, "reward/mean": 0.5}}, {"step": 5, "values": {"kl": 0.02, "reward/mean": 0.75}}),
            "generic",
        ),
    )


def _quick(line: bytes) -> dict[str, Any] | None:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return line_object(line)  # type: ignore[no-any-return]
    return found if isinstance(found, dict) else None


def numbers_in(found: Mapping[str, Any]) -> int:
    """How many of an object's values are numbers."""
    return sum(of_object(value) is not None for value in flattened(found).values())


def is_sample(found: Mapping[str, Any]) -> bool:
    """Whether an object is a piece of data (a prompt and its answer with a score) and no record of metrics."""
    return any(isinstance(value, (str, list)) and key in TEXTS for key, value in found.items())


FORMATS = (JsonLines(),)
