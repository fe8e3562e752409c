"""AReaL: ``Train step 3/6 done.``, then a boxed table with four names and values in each row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from assistant.logs.formats.base import SPECIFIC, BlockReader, Fit, Head, Sample
from assistant.logs.shapes.blocks import BlockRows
from assistant.logs.shapes.printed import NUMBER
from assistant.logs.shapes.scoring import score_parts

_STEP = re.compile(r"Train step (\d{1,12})/(\d{1,12}) done")
_BAR, _TOP = "│", "╒"
_NUMBER = re.compile(NUMBER)
_MAX_WRAPS = 3


class ArealReader(BlockRows):
    """A row that was wrapped goes on in the next lines; a new top border begins another table of the same step."""

    fixed = True
    lasting_step = True
    goes_on = "(?:├[^\\n]*\\n)?│".encode()

    def __init__(self, marks: Sequence[bytes]) -> None:
        super().__init__(marks)
        self._held: list[tuple[int, str]] = []  # line, text

    def piece(self, raw: bytes, last: bool) -> None:
        whole = raw.decode("utf-8", "replace")
        text = whole.strip()
        if step := _STEP.search(text):
            self.close()
            self.step, self.total_steps = int(step[1]), int(step[2])
            return
        if _TOP in text:
            self.close()
        if not self._held and not text.startswith(_BAR):
            return
        self._held.append((self.line, text))
        if not text.endswith(_BAR) and len(self._held) <= _MAX_WRAPS and not last:
            self.busy = True
            return
        now, self.line = self.line, self._held[0][0]
        at = whole.index(text) if len(self._held) == 1 else -1
        text = "".join(piece for _, piece in self._held)
        self._held, self.busy = [], False
        cells = text.split(_BAR)[1:-1] if text.endswith(_BAR) else text.split(_BAR)[1:]
        for number in range(0, len(cells) - 1, 2):
            key, value = cells[number].strip(), cells[number + 1].strip()
            if key and _NUMBER.fullmatch(value):
                before = sum(map(len, cells[: number + 1])) + number + 2 + cells[number + 1].index(value)
                self.cell(key, value, at + before if at >= 0 else -1)
        self.line = now


class Areal:
    name = "areal"
    shape = "a boxed table of │ name │ value │ pairs"
    frameworks = ("areal",)
    rank = SPECIFIC
    console = True
    marks = ("│".encode(), "╒".encode(), b"Train step ")
    samples: Sequence[Sample] = (
        Sample(
            "(AReaL) 20261001-18:04:04.362 StatsLogger INFO: Epoch 1/1 Step 3/6 Train step 3/6 done.\n"
            "(AReaL) 20261001-18:04:04.362 StatsLogger INFO: Stats (1/1):\n"
            "╒══════════════════╤════════════╤═════════════════════════╤═════════════╕\n"
            "│ timeperf/rollout │ 8.3138e-03 │ ppo_actor/seq_len/max   │  3.5800e+02 │\n"
            "├──────────────────┼────────────┼─────────────────────────┼─────────────┤\n"
            "│ ppo_actor/kl/avg │ 7.4281e-01 │                         │             │\n"
            "╘══════════════════╧════════════╧═════════════════════════╧═════════════╛\n",
            [{"step": 3, "values": {"timeperf/rollout": 0.0083138, "ppo_actor/seq_len/max": 358.0, "ppo_actor/kl/avg": 0.74281}}],
            "areal",
        ),
    )

    def score(self, head: Head) -> Fit:
        return score_parts(head, ("│ ".encode(),), self.reader, self.shape)

    def reader(self) -> BlockReader:
        return ArealReader(self.marks)

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str:
        return "areal"


FORMATS = (Areal(),)
