"""torchtune: ``Step 5 | loss:0.97 lr:2e-05 tokens_per_second_per_gpu:414.7``, and its bar ``1|52|Loss: 2.37``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from assistant.logs.formats.base import BlockReader, Sample
from assistant.logs.shapes.lines import VALUE, LineFormat, LinesReader, pairs
from assistant.logs.shapes.rows import Reading, Row

_STEP = re.compile(r"(?<![\w.])Step (\d{1,15}) \| (?=[A-Za-z_][\w/.\-]*:)")
_PAIR = re.compile(rf"(?:(?<=\s)|(?<=\|))(?P<key>[A-Za-z_][\w/.\-]{{0,80}}):{VALUE}(?=\s|$)")
_BAR = re.compile(rf"(?:^|\s)(\d+)\|(\d+)\|(?P<key>Loss): {VALUE}(?=:)")


class TorchtuneReader(LinesReader):
    """The bar counts only while no ``Step`` line was met, and once a step."""

    def put(self, row: Row) -> None:
        bar = row.layout.keys == ("Loss",)
        if bar and (self.counts_steps or row.step == self.step):
            return
        self.counts_steps = self.counts_steps or not bar
        super().put(row)

    counts_steps = False

    def repeats(self) -> bool:
        return self.counts_steps and (latest := self.rows.latest) is not None and latest[0].keys != ("Loss",)


class Torchtune(LineFormat):
    name = "torchtune"
    shape = "Step n | name:value name:value"
    frameworks = ("torchtune",)
    marks = (b"Step ", b"|Loss: ")
    samples: Sequence[Sample] = (
        Sample(
            "Step 5 | loss:0.9739330410957336 lr:2e-05 tokens_per_second_per_gpu:414.73347397639026 \n",
            [{"step": 5, "values": {"loss": 0.9739330410957336, "lr": 2e-05, "tokens_per_second_per_gpu": 414.73347397639026}}],
            "torchtune",
        ),
        Sample(
            "1|52|Loss: 2.3697006702423096:   0%|#                     | 52/25880 [00:24<3:55:01,  1.83it/s]\n",
            [{"step": 52, "values": {"Loss": 2.3697006702423096}}],
            "torchtune",
        ),
    )

    def find(self, text: str) -> Reading | None:
        if head := _STEP.search(text):
            places = pairs(_PAIR, text, head.end() - 1)
            loose = [(0, head.start())] if head.start() else []
            return Reading(places, (head.start(1), head.end(1)), loose=loose) if places else None
        if bar := _BAR.search(text):
            place = pairs(_BAR, text, bar.start(), bar.end() + 1)
            return Reading(place, (bar.start(2), bar.end(2)), loose=[(0, bar.end(1)), (bar.end("value"), len(text))])
        return None

    def reader(self) -> BlockReader:
        return TorchtuneReader(self.marks, self.find)

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str:
        return "torchtune"


FORMATS = (Torchtune(),)
