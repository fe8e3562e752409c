"""DeepSpeed-Chat's three steps, and the lines that the DeepSpeed engine prints under any trainer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from assistant.logs.formats.base import GENERIC, SPECIFIC, BlockReader, Fit, Head, Sample
from assistant.logs.shapes.lines import UNIT, VALUE, LineFormat, LinesReader, pairs
from assistant.logs.shapes.rows import Place, Reading, Row

_PPO = re.compile(r"(?:^|\s)[Ee]poch: ?(\d+) ?\| ?[Ss]tep: ?(\d+) ?\| ?(?=[A-Za-z])")
_FIELD = re.compile(rf"(?:^|\|)\s*(?P<key>[A-Za-z][\w. /]{{0,60}}?)\s?[:=]\s?{VALUE}{UNIT}\s*(?:\([\d.]+%\))?\s*(?=\||$)")
_REWARD = re.compile(rf"(?:^|\| )(?P<key>(?:[Aa]verage|EMA) reward score): {VALUE}(?=\s|$)")
_LATENCY = re.compile(r"(?:End-to-End|Generation|Training) +=> ")
_COMMA = re.compile(
    rf"(?:^|[,>]|\) )\s*(?P<key>[A-Za-z][\w .\-]{{0,60}}?)(?: \((?:higher|lower) is better\))?\s?[:=]\s?{VALUE}{UNIT}(?=,|\s|$)"
)
_PPL = re.compile(rf"^(?P<key>ppl): {VALUE}(?=,|\s*$)|(?<=, )(?P<key2>loss): (?P<value2>\S+)\s*$")
_CHOSEN = re.compile(r"^(?:chosen_last_scores|chosen) ?(?:\(higher is better\))? ?: ")
_EPOCH_LOSS = re.compile(rf"^Epoch \d+/\d+ with (?P<key>loss) {VALUE}\s*$")
_ENGINE = re.compile(r"(?<![\w.])step=(\d+), skipped=\d+, lr=\[")
_TIMER = re.compile(r"(?<![\w.])(?:epoch=\d+/)?(?:micro_step=\d+/)?global_step=(\d+), (?=\w+SamplesPerSec=)")
_OLD_TIMER = re.compile(r"(?<![\w./])\d+/(\d+), (?=(?:\w*SamplesPerSec)=)")
_EQUALS = re.compile(rf"(?<![\w.])(?P<key>skipped|lr|\w*SamplesPerSec|\w*MemAllocated)=\[?{VALUE}")
_ENGINE_KEYS = frozenset({"skipped", "lr", "RunningAvgSamplesPerSec", "CurrSamplesPerSec", "SamplesPerSec"})
_TIMES = re.compile(r"time \(ms\) \| ")


def _loose(text: str, end: int) -> list[tuple[int, int]]:
    return [(0, end)] if end > 0 and text[:end].strip() else []


class ChatReader(LinesReader):
    """The lines after ``epoch: 0|step: 3|…`` belong to that step (the engines count their own); evaluation lines to the last
    step of the engine."""

    _ppo = False

    def put(self, row: Row) -> None:
        self._ppo = self._ppo or row.layout.keys[0] == "epoch"
        if self._ppo and row.layout.keys[0] in _ENGINE_KEYS:
            row = row._replace(step=None)
        if row.step is None and self.step is None:
            self.append(row, None, False)
            return
        super().put(row)


class Engine(LineFormat):
    name = "deepspeed"
    shape = "step=n, skipped=n, lr=[…] and timer lines"
    frameworks: Sequence[str] = ("deepspeed",)
    rank = GENERIC + 2
    """It stands beside the lines of a trainer: those come first wherever there are any."""

    marks: Sequence[bytes] = (b"skipped=", b"SamplesPerSec=", b"time (ms) |")
    follows = True
    samples: Sequence[Sample] = (
        Sample(
            "[2023-04-18 01:46:59,142] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=6, lr=[9.65e-06, 9.65e-06],"
            " mom=[(0.9, 0.95), (0.9, 0.95)]\n"
            "[2023-04-18 01:46:59,171] [INFO] [timer.py:199:stop] epoch=0/micro_step=10/global_step=10,"
            " RunningAvgSamplesPerSec=173.4, CurrSamplesPerSec=171.9, MemAllocated=3.96GB, MaxMemAllocated=22.95GB\n",
            [{"step": 10, "values": {"skipped": 6, "lr": 9.65e-06, "RunningAvgSamplesPerSec": 173.4, "MaxMemAllocated": 22.95}}],
            "deepspeed",
        ),
    )

    def find(self, text: str) -> Reading | None:
        return engine_line(text)

    def reader(self) -> BlockReader:
        return ChatReader(self.marks, self.find, follows=True)

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str:
        return "deepspeed-chat" if "deepspeed-chat" in seen else "deepspeed"


def engine_line(text: str) -> Reading | None:
    """The engine's step, its timer, and its break-down of times."""
    head = _ENGINE.search(text) or _TIMER.search(text) or _OLD_TIMER.search(text)
    if head is not None:
        places = pairs(_EQUALS, text, head.start())
        tail = text.find("]", places[-1].end) if places and places[-1].key == "lr" else -1
        loose = _loose(text, head.start()) + ([(places[-1].end, len(text))] if tail >= 0 else [])
        return Reading(places, (head.start(1), head.end(1)), loose=loose) if places else None
    if times := _TIMES.search(text):
        return Reading(pairs(_FIELD, text, times.end() - 2), loose=_loose(text, times.start()))
    return None


class Chat(Engine):
    name = "deepspeed-chat"
    shape = "epoch: n|step: n|act_loss: value, and the lines after it"
    frameworks = ("deepspeed-chat", "deepspeed")
    rank = SPECIFIC
    own: Sequence[bytes] = (
        b"poch: ",
        b"reward score: ",
        b"ppl: ",
        b"chosen",
        b"End-to-End",
        b"E2E latency",
        b"Generation",
        b"Training",
        b"with loss ",
    )
    marks = (*Engine.marks, *own)
    samples: Sequence[Sample] = (
        Sample(
            "epoch: 0|step: 3|ppo_ep: 1|act_loss: 0.2099609375|cri_loss: 0.12042236328125|unsuper_loss: 0.0\n"
            "average reward score: -0.67919921875\n-----------------------------------------\n"
            "|E2E latency=7.99s |Gather latency=0.00s (0.00%) |Generate time=5.26s (65.81%) |Others=0.22 (2.73%)|CurrSamplesPerSec=8.01\n",
            [{"step": 3, "values": {"act_loss": 0.2099609375, "cri_loss": 0.12042236328125, "average reward score": -0.67919921875,
                                    "E2E latency": 7.99, "Generate time": 5.26}}],
            "deepspeed-chat",
        ),
        Sample(
            "Epoch: 0 | Step: 4 | PPO Epoch: 1 | Actor Loss: 0.02 | Critic Loss: 0.31 | Unsupervised Loss: 0.0\n"
            "End-to-End => Latency: 2.51s, TFLOPs: 20.1, Samples/sec: 3.19, Time/seq 0.31s\n"
            "Average reward score: 1.25 | EMA reward score: 1.1\n",
            [{"step": 4, "values": {"Actor Loss": 0.02, "Critic Loss": 0.31, "Average reward score": 1.25, "EMA reward score": 1.1}}],
            "deepspeed-chat",
        ),
        Sample(
            "***** Evaluating perplexity, Epoch 0/16 *****\nppl: 4998.29638671875, loss: 8.5\n",
            [{"step": 1, "values": {"ppl": 4998.29638671875, "loss": 8.5}}],
            "deepspeed-chat",
        ),
    )  # fmt: skip

    def score(self, head: Head) -> Fit:
        if not any(
            mark in head.block for mark in (b"act_loss", b"Actor Loss", b"ppl: ", b"reward score: ", b"chosen_last_scores", b"with loss ")
        ):
            return Fit()
        return super().score(head)

    def find(self, text: str) -> Reading | None:
        if head := _PPO.search(text):
            places = [Place("epoch", head.start(1), head.end(1)), *pairs(_FIELD, text, head.end() - 1)]
            places += pairs(_FIELD, "|" + text[head.end() :])[:0]
            first = re.compile(rf"(?P<key>[A-Za-z][\w. ]{{0,60}}?): ?{VALUE}(?=\||\s|$)").match(text, head.end())
            if first:
                places.insert(1, Place(first["key"], first.start("value"), first.end("value")))
            return Reading(places, (head.start(2), head.end(2)), loose=_loose(text, head.start())) if len(places) > 2 else None
        if found := pairs(_REWARD, text):
            return Reading(found)
        if "E2E latency" in text:
            return Reading(pairs(_FIELD, text))
        if times := _LATENCY.match(text):
            name = text[: text.index(" ")]
            return Reading([place._replace(key=f"{name} {place.key}") for place in pairs(_COMMA, text, times.end() - 1)])
        if text.startswith("ppl: "):
            places = pairs(_COMMA, text)
            return Reading(places) if places else None
        if _CHOSEN.match(text):
            return Reading(pairs(_COMMA, text))
        if loss := _EPOCH_LOSS.match(text):
            return Reading([Place("loss", loss.start("value"), loss.end("value"))])
        return engine_line(text)

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str:
        return "deepspeed-chat"


FORMATS = (Chat(), Engine())
