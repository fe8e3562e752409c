"""torchtitan: ``step: 14  loss:  3.24405  grad_norm:  0.8319  memory:  9.46GiB(64.99%)  tps: 7,282``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assistant.logs.formats.base import Sample
from assistant.logs.shapes.lines import VALUE, LineFormat, pairs
from assistant.logs.shapes.rows import Reading

_HEAD = re.compile(r"(?<![\w/.])step:\s+(\d{1,15})\s+(?=[a-z_]+:\s)")
_PAIR = re.compile(rf"(?<![\w/.])(?P<key>[a-z][\w/.]*):\s+{VALUE}(?:GiB\([\d.]+%\)|GiB|MiB|%|s)?(?=\s|$)")


class Torchtitan(LineFormat):
    name = "torchtitan"
    shape = "step: n  name:  value  name:  value"
    frameworks = ("torchtitan",)
    marks = (b"step: ",)
    fixed = True
    samples: Sequence[Sample] = (
        Sample(
            "[rank0]:[titan] 2026-05-18 16:04:46,338 - root - INFO - step: 14  loss:  3.24405  grad_norm:  0.8319"
            "  memory:  9.46GiB(64.99%)  tps: 7,282  tflops: 0.52  mfu: 0.17%\n",
            [{"step": 14, "values": {"loss": 3.24405, "grad_norm": 0.8319, "memory": 9.46, "tps": 7282, "mfu": 0.17}}],
            "torchtitan",
        ),
    )

    def find(self, text: str) -> Reading | None:
        head = _HEAD.search(text)
        if head is None:
            return None
        places = pairs(_PAIR, text, head.end(1))
        return Reading(places, (head.start(1), head.end(1)), loose=[(0, head.start())] if head.start() else []) if len(places) > 1 else None


FORMATS = (Torchtitan(),)
