"""prime-rl, orchestrator and trainer: ``SUCCESS Step 28 | Time: 73.77s | Reward: 0.3887 | …``, later without colons."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assistant.logs.formats.base import BlockReader, Sample
from assistant.logs.shapes.lines import VALUE, LineFormat, LinesReader
from assistant.logs.shapes.rows import Place, Reading, Row

_HEAD = re.compile(r"(?<![\w.])(?:Step|step) (\d{1,12}) \|")
_UNIT = r"\s?(?:%|s|ms|tokens/s|tokens/sample|GiB|GB|it/s)?"
_FIELD = re.compile(rf"\s*(?P<key>[A-Z][A-Za-z.@/\- ]{{0,60}}?):?\s*{VALUE}{_UNIT}(?:\s*\([^()|]*\))?\s*$")
_SHARE = re.compile(rf"\s*(?P<key>[A-Z][A-Za-z.@/\- ]{{0,60}}?):?\s*\d+/\d+\s*\({VALUE}%\)\s*$")
_BARE_TIME = re.compile(rf"\s*{VALUE}s\s*$")
_DETECTED = re.compile(r"Detected (\d{1,9})/(\d{1,9}) rollouts \(([\w=, ]{1,200})\)")
_COUNT = re.compile(r"(\w+)=(\d{1,9})")
_ENV = re.compile(r"^\s*[╰├└]─\s*([\w.\-/]+)\s*\|")


class PrimeReader(LinesReader):
    """What the orchestrator detected among a step's rollouts stands before the line of that step."""

    _detected: tuple[Row, int] | None = None

    def put(self, row: Row) -> None:
        if row.layout.keys[0] == "detected":
            self._detected = row, self.line
            return
        if self._detected is not None and row.step is not None:
            before, line = self._detected
            self._detected = None
            super().put(row)
            self.append(before, row.step, True, line)
            return
        super().put(row)

    def repeats(self) -> bool:
        return self._detected is None and self.latest_stands_alone()


class PrimeRl(LineFormat):
    name = "prime-rl"
    shape = "Step n | Name: value unit |"
    frameworks = ("prime-rl",)
    marks = (b"Step ", b"step ", "─ ".encode(), b" rollouts (")
    fixed = True
    follows = True
    samples: Sequence[Sample] = (
        Sample(
            "02:33:26 SUCCESS Step 28 | Time: 73.77s | Reward: 0.3887 | Throughput: 2408.9 tokens/s | Seq. Length: 345.6 tokens/sample"
            " | Async Level: 1 | Max. Off-Policy Level: 0\n",
            [{"step": 28, "values": {"Time": 73.77, "Reward": 0.3887, "Seq. Length": 345.6, "Max. Off-Policy Level": 0}}],
            "prime-rl",
        ),
        Sample(
            "16:43:42 SUCCESS Step 7 | 3.20s | Reward 0.7189 | Trainable 20/32 (62.5%) | Turns 1.0 | Truncation 3.1%\n"
            "16:43:42 SUCCESS Step 7 | 3.10s | Loss 0.0012 | Entropy 0.4211 | Mismatch KL 0.0007 | Grad. Norm 0.0312 | LR 1.00e-06\n",
            [{"step": 7, "values": {"Time": 3.1, "Reward": 0.7189, "Trainable (%)": 62.5, "Mismatch KL": 0.0007, "LR": 1e-06}}],
            "prime-rl",
        ),
        Sample(
            "orchestrator | step 12 | Time: 6.42s | Avg. Reward: 0.2345 | Throughput: 1100.0 tokens/s\n",
            [{"step": 12, "values": {"Time": 6.42, "Avg. Reward": 0.2345}}],
            "prime-rl",
        ),
        Sample(
            "16:43:50 WARNING Detected 121/128 rollouts (gibberish=2, zero_advantage=119)\n"
            "16:43:51 SUCCESS Step 3 | Time: 73.77s | Reward: 0.0311 | Throughput: 2408.9 tokens/s\n",
            [{"step": 3, "values": {"Reward": 0.0311, "zero_advantage": 119, "gibberish": 2, "rollouts": 128}}],
            "prime-rl",
        ),
    )

    def reader(self) -> BlockReader:
        return PrimeReader(self.marks, self.find, fixed=self.fixed, rounded=dict(self.rounded), follows=self.follows)

    def find(self, text: str) -> Reading | None:
        if head := _HEAD.search(text):
            places = self._fields(text, head.end(), "")
            loose = [(0, head.start())] if head.start() else []
            return Reading(places, (head.start(1), head.end(1)), loose=loose) if len(places) > 1 else None
        if found := _DETECTED.search(text):
            places = [Place("detected", *found.span(1)), Place("rollouts", *found.span(2))]
            places += [Place(one[1], *one.span(2)) for one in _COUNT.finditer(text, found.start(3), found.end(3))]
            return Reading(places)
        if env := _ENV.match(text):
            places = self._fields(text, env.end(), env[1] + "/")
            return Reading(places) if places else None
        return None

    @staticmethod
    def _fields(text: str, at: int, before: str) -> list[Place]:
        places = []
        for number, field in enumerate(text[at:].split("|")):
            if found := _SHARE.match(field):
                places.append(Place(f"{before}{found['key'].strip()} (%)", at + found.start("value"), at + found.end("value")))
            elif found := _FIELD.match(field):
                places.append(Place(before + found["key"].strip(), at + found.start("value"), at + found.end("value")))
            elif number == 0 and (found := _BARE_TIME.match(field)):
                places.append(Place(f"{before}Time", at + found.start("value"), at + found.end("value")))
            at += len(field) + 1
        return places


FORMATS = (PrimeRl(),)
