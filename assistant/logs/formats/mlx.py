"""MLX fine-tuning: ``Iter 25: Train loss 1.593, Learning Rate 7.000e-05, It/sec 0.999``; mlx-lm-lora: ``Iter 25: loss 1.593,
lr 7.000e-05, it/s 0.999``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from assistant.logs.formats.base import SPECIFIC, BlockReader, Fit, Head, Sample
from assistant.logs.shapes.blocks import BlockRows
from assistant.logs.shapes.lines import VALUE, LineFormat, pairs
from assistant.logs.shapes.rows import Reading
from assistant.logs.shapes.scoring import score_parts

_HEAD = re.compile(r"(?<![\w.])Iter (\d{1,12}): (?=(?:Train|Val|Test|[A-Z][\w/ ]*) |loss \S+, .*\b(?:it/s|tok/s|peak_mem) )")
_PAIR = re.compile(rf"(?:: |, )(?P<key>[A-Za-z][A-Za-z/ _]{{0,40}}?)\s{VALUE}\s?(?:GB|MB|s|ms|tokens)?(?=,|\s*$)")


class Mlx(LineFormat):
    name = "mlx"
    shape = "Iter n: Name value, Name value"
    frameworks = ("mlx",)
    marks = (b"Iter ",)
    fixed = True
    samples: Sequence[Sample] = (
        Sample(
            "Iter 1: Val loss 2.086, Val took 17.177s\n"
            "Iter 25: Train loss 1.593, Learning Rate 7.000e-05, It/sec 0.999, Tokens/sec 387.697, Trained Tokens 9699, Peak mem 8.104 GB\n"
            "Iter 25: Saved adapter weights to checkpoints/25_adapters.npz.\n",
            [
                {"step": 1, "values": {"Val loss": 2.086, "Val took": 17.177}},
                {"step": 25, "values": {"Train loss": 1.593, "Learning Rate": 7e-05, "Trained Tokens": 9699, "Peak mem": 8.104}},
            ],
            "mlx",
        ),
        Sample(
            "\nIter 10: loss 0.693, chosen_r 0.012, rejected_r -0.004, acc 0.500, margin 0.016, lr 1.000e-05, it/s 0.412, tok/s 310.250,"
            " peak_mem 7.512GB\n",
            [{"step": 10, "values": {"loss": 0.693, "rejected_r": -0.004, "acc": 0.5, "margin": 0.016, "lr": 1e-05, "tok/s": 310.25}}],
            "mlx",
            "mlx-lm-lora, DPO",
        ),
    )

    def find(self, text: str) -> Reading | None:
        head = _HEAD.search(text)
        if head is None or "Saved" in text:
            return None
        places = pairs(_PAIR, text, head.end() - 2)
        return Reading(places, (head.start(1), head.end(1)), loose=[(0, head.start())] if head.start() else []) if places else None


_OPENING = re.compile(r"^Iter (\d{1,12}):\s*$")
_RULE = re.compile(r"^[=-]{10,}\s*$")
_NAMED = re.compile(r"^(?:\s*•\s)?\s*(?P<name>[A-Za-z][\w .\-]{0,80}?):\s+(?P<rest>\S.*)$")
_PART = re.compile(rf"(?:^|,\s+)(?:(?P<key>μ|σ|cov|low|high|total)=)?{VALUE}\s?(?P<unit>%|it/s|tok/s|GB)?(?=,|\s|$)")


class GrpoReader(BlockRows):
    """A block lasts from ``Iter n:`` alone on its line to the second rule of equal signs."""

    def piece(self, raw: bytes, last: bool) -> None:
        text = raw.decode("utf-8", "replace").rstrip()
        if opening := _OPENING.match(text):
            self.close()
            self.busy = True
            self.block_step = int(opening[1])
            self.step_at(opening.start(1), opening.end(1))
        elif _RULE.match(text):
            if text.startswith("=") and self.n_cells:
                self.close()
                self.busy = False
        elif self.busy and (named := _NAMED.match(text)):
            at = named.start("rest")
            for part in _PART.finditer(text[at:]):
                unit = part["unit"]
                words = [unit if unit in ("it/s", "tok/s") else named["name"], part["key"], "(%)" if unit == "%" else None]
                name = " ".join(word for word in words if word)
                if not self.holds(name):
                    self.cell(name, part["value"], at + part.start("value"))


class MlxGrpo:
    name = "mlx-grpo"
    shape = "Iter n: and lines of Name: value between rules"
    frameworks: Sequence[str] = ("mlx",)
    rank = SPECIFIC
    console = True
    marks = (b"Iter ",)
    samples: Sequence[Sample] = (
        Sample(
            "=" * 80 + "\nIter 10:\n" + "-" * 80 + "\nLoss: 0.007\nTotal Rewards:  μ=0.445, σ=0.179\nKL Divergence: 0.001015389541\n"
            "KL saturation: 1.00%\n" + "-" * 80 + "\nGeneration Stats:\n  • Avg tokens: 175.6\n  • Max tokens: 512 (limit: 512)\n"
            "  • Hit limit: 25.0%\n" + "-" * 80 + "\nIndividual Reward Functions:\n  • accuracy: μ=0.500, σ=0.200, cov=100.00%\n" + "-" * 80
            + "\nClipping:  low=0.000, high=0.001, total=0.001\nLearning Rate: 1.0000e-05\nSpeed: 0.200 it/s, 300.0 tok/s\n"
            "Memory: 12.300GB\n" + "=" * 80 + "\n",
            [{"step": 10, "values": {"Loss": 0.007, "Total Rewards μ": 0.445, "Total Rewards σ": 0.179, "KL Divergence": 0.001015389541,
                                     "KL saturation (%)": 1.0, "Avg tokens": 175.6, "Max tokens": 512, "Hit limit (%)": 25.0,
                                     "accuracy μ": 0.5, "accuracy cov (%)": 100.0, "Clipping total": 0.001, "Learning Rate": 1e-05,
                                     "it/s": 0.2, "tok/s": 300.0, "Memory": 12.3}}],
            "mlx",
            "mlx-lm-lora, GRPO",
        ),
    )  # fmt: skip

    def score(self, head: Head) -> Fit:
        if b"Iter " not in head.block or "μ=".encode() not in head.block:
            return Fit()
        return score_parts(head, self.marks, self.reader, self.shape)

    def reader(self) -> BlockReader:
        return GrpoReader(self.marks)

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str:
        return "mlx"


FORMATS = (Mlx(), MlxGrpo())
