"""CleanRL: ``global_step=150, episodic_return=[360.]`` and ``SPS: 1234``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assistant.logs.formats.base import BlockReader, Sample
from assistant.logs.shapes.lines import VALUE, LineFormat, LinesReader, pairs
from assistant.logs.shapes.rows import Reading, Row

_STEP = re.compile(r"(?<![\w/.{])(?:global_step|eval_episode)=(\d{1,15})(?=, )")
_PAIR = re.compile(rf"(?<=, )(?P<key>[a-z]\w*(?:/\w+)?)=(?:\[|array\(\[|tensor\()?\s*{VALUE}\s*(?:\]\)|[\])]|, dtype=\w+\))?(?=,|\s|$)")
_SPS = re.compile(rf"^(?P<key>SPS): {VALUE}\s*$")


class CleanRlReader(LinesReader):
    """Several episodes may end at one step: each is a record."""

    def put(self, row: Row) -> None:
        if row.layout.keys == ("SPS",) and self.step is not None:
            self.append(row, self.step, True)
            return
        super().put(row)


class CleanRl(LineFormat):
    name = "cleanrl"
    shape = "global_step=n, episodic_return=value"
    frameworks = ("cleanrl",)
    marks = (b"global_step=", b"eval_episode=", b"SPS: ")
    samples: Sequence[Sample] = (
        Sample(
            "global_step=150, episodic_return=[360.]\nSPS: 812\nglobal_step=236, episodic_return=370.0, episodic_length=86\n",
            [
                {"step": 150, "values": {"episodic_return": 360.0, "SPS": 812}},
                {"step": 236, "values": {"episodic_return": 370.0, "episodic_length": 86}},
            ],
            "cleanrl",
        ),
    )

    def find(self, text: str) -> Reading | None:
        if head := _STEP.search(text):
            places = pairs(_PAIR, text, head.end())
            return Reading(places, (head.start(1), head.end(1)), loose=[(0, head.start())] if head.start() else []) if places else None
        if found := _SPS.match(text):
            return Reading(pairs(_SPS, text, found.start()))
        return None

    def reader(self) -> BlockReader:
        return CleanRlReader(self.marks, self.find)


FORMATS = (CleanRl(),)
