"""Megatron-LM and its forks (Megatron-DeepSpeed, GPT-NeoX, Megatron-LLM): ``iteration 10/ 1000 | lm loss: 7.4E+00 | …``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from assistant.logs.formats.base import BlockReader, Sample
from assistant.logs.shapes.lines import VALUE, LineFormat, LinesReader, pairs
from assistant.logs.shapes.rows import Reading

_ITERATION = re.compile(r"(?<![\w.])iteration\s+(\d+)\s*(?:/\s*(\d+|infinity))?\s*\|")
_VALIDATION = re.compile(r"(?:validation|test) loss at (?:iteration|the end of training)\s*(\d+)?[^|]*\|")
_FIELD = re.compile(rf"(?:^|\|)\s*(?P<key>[A-Za-z][^|:]{{0,80}}?)\s*(?::|\s)\s*{VALUE}\s*[A-Za-z%/]*\s*(?=\||$)")
_STEPS = re.compile(r"(?:^|\s)steps: (\d+) loss: ")
_WORD = re.compile(rf"(?P<key>[A-Za-z][\w/. ]{{0,60}}?(?: \(\w+\))?): {VALUE}(?=\s|$)")
_TIMES = re.compile(r"time \(ms\) \|")


class MegatronReader(LinesReader):
    """``time (ms) | …`` belongs to the iteration before it."""

    def piece(self, raw: bytes, last: bool) -> None:
        if b"time (ms) |" in raw and self.step is None:
            return
        super().piece(raw, last)

    def repeats(self) -> bool:
        return self.latest_stands_alone()


class Megatron(LineFormat):
    name = "megatron"
    shape = "iteration n/total | name: value |"
    frameworks = ("megatron",)
    marks = (b"iteration ", b"steps: ", b"time (ms) |", b"loss at ")
    fixed = True
    follows = True
    samples: Sequence[Sample] = (
        Sample(
            " [2025-04-13 23:41:12] iteration       20/    1000 | consumed samples:          320 |"
            " elapsed time per iteration (ms): 1147.6 |"
            " learning rate: 2.500000E-06 | global batch size:    16 | lm loss: 7.399415E+00 | loss scale: 16384.0 | grad norm: 2.918 |"
            " number of skipped iterations:   0 | number of nan iterations:   0 |\n",
            [{"step": 20, "values": {"lm loss": 7.399415, "learning rate": 2.5e-06, "grad norm": 2.918, "number of nan iterations": 0}}],
            "megatron",
        ),
        Sample(
            "steps: 2 loss: 11.4175 iter time (s): 2.441 samples/sec: 6.554\n"
            " samples/sec: 6.551 | iteration        2/    2140 | elapsed time per iteration (ms): 2442.3 | lm_loss: 1.141750E+01 |\n",
            [{"step": 2, "values": {"loss": 11.4175, "lm_loss": 11.4175, "elapsed time per iteration (ms)": 2442.3}}],
            "megatron",
            "GPT-NeoX on DeepSpeed",
        ),
    )

    def find(self, text: str) -> Reading | None:
        if head := _ITERATION.search(text):
            total = int(head[2]) if head[2] and head[2].isdigit() else None
            return self._fields(text, head.start(), head.end() - 1, (head.start(1), head.end(1)), total)
        if head := _VALIDATION.search(text):
            step = (head.start(1), head.end(1)) if head[1] else None
            return self._fields(text, head.start(), head.end() - 1, step, None)
        if head := _TIMES.search(text):
            return Reading(pairs(_FIELD, text, head.end() - 1), loose=[(0, head.start())] if head.start() else [])
        if head := _STEPS.search(text):
            places = pairs(_WORD, text, head.end(1))
            return Reading(places, (head.start(1), head.end(1)), loose=[(0, head.start())] if head.start() else [])
        return None

    @staticmethod
    def _fields(text: str, start: int, bar: int, step: tuple[int, int] | None, total: int | None) -> Reading | None:
        before = pairs(_FIELD, text, 0, start) if "|" in text[:start] else []
        places = [*before, *pairs(_FIELD, text, bar)]
        cut = bool(places) and not text.rstrip().endswith("|")
        if cut and places[-1].end >= len(text.rstrip()) - 1:
            places.pop()
        first = min([place.start for place in before], default=start)
        loose = [(0, first)] if not before and first else []
        return Reading(places, step, total, cut, loose) if places else None

    def reader(self) -> BlockReader:
        return MegatronReader(self.marks, self.find, fixed=True, follows=True)

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str:
        """DeepSpeed's pipeline engine prints its line (``steps: 2 loss: …``) for whoever trains with it."""
        known = set(names)
        return "deepspeed" if "iter time (s)" in known and "elapsed time per iteration (ms)" not in known else "megatron"


FORMATS = (Megatron(),)
