"""ROLL: the metrics of a step as one JSON object on a log line, then ``pipeline step N finished``; or ``{"step", "metrics"}``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from assistant.logs.formats.base import SPECIFIC, BlockReader, Fit, Head, Sample
from assistant.logs.shapes.dict_places import find_places
from assistant.logs.shapes.lines import LinesReader
from assistant.logs.shapes.rows import Place, Reading, Row
from assistant.logs.shapes.scoring import score_lines

_FINISHED = re.compile(rb"pipeline step (\d{1,12}) (?:finished|done)")
_METRIC = re.compile(r"(?:[\w.\-]+/)+[\w.@\-/]+$|system/|reward|kl$")
_STEP = re.compile(r'\{"step": (\d{1,12}), "metrics": ')
_MIN_METRICS = 3


class RollReader(LinesReader):
    """The step comes after the metrics: they wait for it."""

    def __init__(self, marks: Sequence[bytes]) -> None:
        super().__init__(marks, self._find)
        self._waiting: list[tuple[Row, int]] = []

    def piece(self, raw: bytes, last: bool) -> None:
        if found := _FINISHED.search(raw):
            self._release(int(found[1]))
            return
        at = raw.find(b'{"')
        row = self.rows.read(raw[at:].strip()) if at >= 0 else None
        if row is None:
            return
        if row.step is not None:
            self._release(None)
            self.append(row, row.step, False)
            return
        if self._waiting and self._waiting[-1][0].layout is row.layout:
            self._release(None)
        self._waiting.append((row, self.line))

    def _release(self, step: int | None) -> None:
        waiting, self._waiting = self._waiting, []
        for number, (row, line) in enumerate(waiting):
            self.append(row, step, step is None and number > 0, line)

    @staticmethod
    def _find(text: str) -> Reading | None:
        found = find_places(text)
        step = _STEP.match(text)
        places = [
            Place(place.key.removeprefix("metrics/") if step else place.key, place.start, place.end)
            for place in found.places
            if not (step and place.key == "step")
        ]
        if sum(1 for place in places if _METRIC.match(place.key)) < _MIN_METRICS:
            return None
        return Reading(places, (step.start(1), step.end(1)) if step else None, None, found.cut, found.loose)

    def finish(self) -> None:
        self._release(None)
        super().finish()


class Roll:
    name = "roll"
    shape = "a JSON object on a log line, then pipeline step n finished"
    frameworks = ("roll",)
    rank = SPECIFIC
    console = True
    marks = (b'{"', b"pipeline step ")
    samples: Sequence[Sample] = (
        Sample(
            "[2025-08-01 10:00:00] [rlvr_pipeline.py (838)] [INFO] [DRIVER 0 / 1][PID 77]"
            ' {"critic/score/mean": 0.25, "actor/approxkl": 0.001,'
            ' "critic/entropy/mean": 0.41, "actor/pg_loss@sum": NaN}\n'
            "[2025-08-01 10:00:00] [rlvr_pipeline.py (840)] [INFO] [DRIVER 0 / 1][PID 77] pipeline step 4 finished\n",
            [{"step": 4, "values": {"critic/score/mean": 0.25, "actor/approxkl": 0.001, "actor/pg_loss@sum": "nan"}}],
            "roll",
        ),
    )

    def score(self, head: Head) -> Fit:
        if b"pipeline step " not in head.block and not (b'{"step": ' in head.block and b'"metrics": ' in head.block):
            return Fit()
        return score_lines(head, self.marks, self.reader, self.shape)

    def reader(self) -> BlockReader:
        return RollReader(self.marks)

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str:
        return "roll"


FORMATS = (Roll(),)
