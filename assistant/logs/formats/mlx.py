"""MLX fine-tuning: ``Iter 25: Train loss 1.593, Learning Rate 7.000e-05, It/sec 0.999``; mlx-lm-lora: ``Iter 25: loss 1.593,
lr 7.000e-05, it/s 0.999``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assistant.logs.formats.base import Sample
from assistant.logs.shapes.lines import VALUE, LineFormat, pairs
from assistant.logs.shapes.rows import Reading

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


FORMATS = (Mlx(),)
