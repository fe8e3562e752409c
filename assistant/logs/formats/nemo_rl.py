"""NeMo-RL: bullets under ``📊 Training Results:``, ``⏱️ Timing:`` and ``🔍 Performance Metrics:``, after a banner with the step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from assistant.logs.formats.base import SPECIFIC, BlockReader, Fit, Head, Sample
from assistant.logs.shapes.blocks import BlockRows
from assistant.logs.shapes.lines import UNIT, VALUE
from assistant.logs.shapes.scoring import score_parts

_BANNER = re.compile(r"={5,}\s*(?:Epoch \d+/\d+,?\s*)?Step (\d{1,12})/(\d{1,12})\s*={5,}")
_HEADER = re.compile(r"(?:Training|Validation) Results:\s*$")
_BULLET = re.compile(rf"^[^\w]*(?:•|â€¢|[-*?])\s+(?P<key>[A-Za-z][^:]{{0,100}}?)\s*:\s+{VALUE}{UNIT}\s*(?:\([\d.]+%\))?\s*$")


class BulletReader(BlockRows):
    fixed = True
    lasting_step = True
    goes_on = "(?:[^\\n=]{0,80}\\n){0,3}?[^A-Za-z0-9\\n=]{0,20}(?:•|[-*?]) +[A-Za-z][^:\\n]{0,100}: +[-\\d]".encode()

    def piece(self, raw: bytes, last: bool) -> None:
        text = raw.decode("utf-8", "replace")
        if banner := _BANNER.search(text):
            self.close()
            self.step, self.total_steps = int(banner[1]), int(banner[2])
            self.step_at(banner.start(1), banner.end(1))
            self._opened = True
        elif _HEADER.search(text):
            if self.step is None and "Training" in text:
                self.close()
            self._opened = True
        elif self._opened and (found := _BULLET.match(text)):
            key = found["key"]
            if self.holds(key):
                self.close()
            self.cell(key, found["value"], found.start("value"))

    _opened = False


class NemoRl:
    name = "nemo-rl"
    shape = "bullets of • Name: value under headers"
    frameworks = ("nemo-rl",)
    rank = SPECIFIC
    console = True
    marks = ("• ".encode(), "â€¢".encode(), b"  - ", b" Results:", b"==== Step ", b"==== Epoch ", b"  ? ", b"  * ")
    samples: Sequence[Sample] = (
        Sample(
            "========================= Step 3/100 =========================\n📊 Training Results:\n  • Loss: 0.0012\n"
            "  • Avg Reward: 0.5000\n\n⏱️  Timing:\n  • Total step time: 35.70s\n  • generation: 4.95s (13.9%)\n"
            "🔍 Performance Metrics:\n  • Throughputs (per GPU):\n    - E2E (Tokens/sec/gpu): 1073.59\n",
            [{"step": 3, "values": {"Loss": 0.0012, "Avg Reward": 0.5, "Total step time": 35.7, "generation": 4.95,
                                    "E2E (Tokens/sec/gpu)": 1073.59}}],
            "nemo-rl",
        ),
    )  # fmt: skip

    def score(self, head: Head) -> Fit:
        return score_parts(head, (b"Training Results:", b"Validation Results:"), self.reader, self.shape)

    def reader(self) -> BlockReader:
        return BulletReader(self.marks)

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str:
        return "nemo-rl"


FORMATS = (NemoRl(),)
