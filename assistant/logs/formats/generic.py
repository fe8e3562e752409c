"""Any line with names and numbers: ``step=10 loss=0.5 reward=1.2``, ``Epoch 3: loss: 0.4, acc: 0.9``, a printed dict.

The weakest format: it wins only where no other reads anything, and takes only lines whose names sound like metrics and that
come again (or a short paste).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from assistant.logs.columns import Layout
from assistant.logs.formats.base import GENERIC, BlockReader, Fit, Head, Sample
from assistant.logs.formats.dicts import is_settings
from assistant.logs.formats.frameworks import framework_by_names
from assistant.logs.shapes.dict_places import Found
from assistant.logs.shapes.dicts import OPEN, Accepts, DictReader
from assistant.logs.shapes.lines import UNIT, VALUE, LineFormat, LinesReader, pairs
from assistant.logs.shapes.repeats import Batch
from assistant.logs.shapes.rows import Place, Reading, Row
from assistant.logs.shapes.scoring import score_lines

METRIC_WORD = re.compile(
    r"(?<![a-z])(?:loss|losses|rewards?|return|returns|ret|kl|entropy|acc|accuracy|grad|gnorm|score|ppl|perplexity|clip\w*|length|len|margin"
    r"|advantages?|value|ratio|bleu|rouge|f1|auc|mse|mae|rmse|success|win|lr|learning_rate|tokens|throughput|solve)(?![a-z])",
    re.IGNORECASE,
)
_STRONG_WORD = re.compile(
    r"(?<![a-z])(?:loss|losses|rewards?|return|kl|entropy|acc|accuracy|score|ppl|perplexity|mse|margin)(?![a-z])", re.IGNORECASE
)
_KEY = r"(?P<key>[A-Za-z][\w/.@\-]{0,80}(?: [A-Za-z][\w/@\-]{0,40}){0,3}(?:\([\w/.%]+\))?)"
_PAIR = re.compile(rf"(?<![\w/.\-=:]){_KEY}\s?[=:]\s{{0,4}}\[?{VALUE}{UNIT}(?=[\s,;|\])}}]|$)")
_SPACED = re.compile(rf"(?:(?<=[,;|\]:] )|^)(?P<key>[A-Za-z][\w/]{{0,40}}(?: [a-z][\w/]{{0,30}})?) {VALUE}{UNIT}(?=\s*[,;|]|\s*$)")
"""``train loss 0.41, acc 0.8``: the weakest form, where a line holds no other."""

_PROCESS = re.compile(r"(?:^|[ _])(?:pid|ip|port|rank)$|\.(?:py|cc|cpp|cu|go|rs|java|js)$")
_STEP_NAME = re.compile(
    r"(?:global[_ ]?|train[_ ]|training[_ ]|total[_ ])?"
    r"(?:steps?|timesteps?|iterations?|iters?|its?|updates?|batch|episodes?|epochs?)$",
    re.IGNORECASE,
)
_BARE_STEP = re.compile(
    r"(?<![\w.])(?:(?:global[_ ]?|train(?:ing)?[_ ])?(?:step|iteration|iter|update|timestep|episode|batch)|Ep|epoch)s?"
    r"\s*[:=#]?\s*\[?(\d{1,12})"
    r"(?:\s*/\s*(\d{1,12}))?(?![\w.])",
    re.IGNORECASE,
)
_RANKED = ("step", "iter", "update", "timestep", "batch", "episode", "epoch")
_SENTENCE = re.compile(r"(?:[a-z]{2,} ){6,}")
_SHORT = 60
"""A paste of so few lines need not repeat itself."""

_LONG = 3000


def find(text: str) -> Reading | None:
    """The pairs of a line, without those that count steps."""
    if len(text) > 8000 or _SENTENCE.search(text):
        return None
    places = [place for place in pairs(_PAIR, text) or pairs(_SPACED, text) if not _PROCESS.search(place.key)]
    step, steps = _step(text, places)
    metrics = [place for place in places if place.start not in steps]
    words = sum(1 for place in metrics if METRIC_WORD.search(place.key))
    strong = sum(1 for place in metrics if _STRONG_WORD.search(place.key))
    if words + (step is not None) < 2 or 2 * (words + (step is not None)) < len(metrics) or (not strong and words < 3):
        return None
    first = min([place.start for place in places] + ([step[0]] if step else []))
    head = max(text.rfind(" ", 0, max(first - 60, 0)), 0)
    return Reading(metrics, step, loose=[(0, head)] if head else [])


def _step(text: str, places: Sequence[Place]) -> tuple[tuple[int, int] | None, set[int]]:
    """Where the step stands (an optimiser step before an episode before an epoch), and the starts of all that count."""
    found: list[tuple[int, tuple[int, int]]] = []
    starts = set()
    for place in places:
        name = place.key.lower()
        if _STEP_NAME.match(name.rpartition("/")[2].rpartition(" ")[2]) and re.fullmatch(r"\d{1,12}", text[place.start : place.end]):
            found.append((_order(name), (place.start, place.end)))
            starts.add(place.start)
    for bare in _BARE_STEP.finditer(text):
        if bare.start(1) not in starts:
            found.append((_order(bare[0].lower()), (bare.start(1), bare.end(1))))
            starts.add(bare.start(1))
    if not found:
        return None, starts
    return min(found)[1], starts


def _order(name: str) -> int:
    return next((number for number, word in enumerate(_RANKED) if word in name), len(_RANKED))


class GenericReader(LinesReader):
    """Rows wait until lines with the same names have come twice (the first block), or the paste turns out to be short.

    Lines without a step that stand one below the other are one record until a name comes again.
    """

    def __init__(self, marks: Sequence[bytes]) -> None:
        super().__init__(marks, find)
        self._waiting: list[tuple[Row, int] | tuple[Batch, int]] = []
        self._count: dict[int, int] = {}
        self._open_keys: set[str] = set()
        self._open_layout: Layout | None = None
        self._last_line = -2
        self._settled = False

    def feed(self, block: bytes, final: bool) -> int:
        done = super().feed(block, final)
        if not self._settled and (final or self.line > _LONG):
            self._settle(self.line <= _SHORT)
        return done

    def put(self, row: Row) -> None:
        if row.step is not None and row.step > 10**12:
            return
        mark = id(row.layout)
        self._count[mark] = self._count.get(mark, 0) + 1
        if not self._settled:
            self._waiting.append((row, self.line))
        elif self._count[mark] > 1:
            self._record(row, self.line)

    def _settle(self, short: bool) -> None:
        waiting, self._waiting = self._waiting, []
        for what, where in waiting:
            if not short and self._count[id(what.layout)] < 2:
                continue
            if isinstance(what, Batch):
                self._records(what, where)
            else:
                self._record(what, where)
        self._settled = True

    def repeats(self) -> bool:
        return (latest := self.rows.latest) is not None and latest[1]

    def put_many(self, batch: Batch) -> None:
        mark = id(batch.layout)
        self._count[mark] = self._count.get(mark, 0) + len(batch.values)
        if not self._settled:
            self._waiting.append((batch, self.line))
        else:
            self._records(batch, self.line)

    def _records(self, batch: Batch, line: int) -> None:
        keys = batch.layout.keys
        self.append_many(batch, [(0, batch.layout, 0, len(keys))], line)
        self._open_keys, self._open_layout = set(keys), batch.layout
        self._last_line = line + batch.lines[-1]

    def _record(self, row: Row, line: int) -> None:
        keys = row.layout.keys
        follows = row.step is None and line == self._last_line + 1 and len(self.table) > 0
        if follows and self._open_keys.isdisjoint(keys):
            self.append(row, self.step, True, line)
            self._open_keys.update(keys)
        else:
            self.append(row, row.step, False, line)
            if row.layout is not self._open_layout:
                self._open_keys = set(keys)
            self.step = row.step
        self._open_layout = row.layout
        self._last_line = line

    def finish(self) -> None:
        self._settle(self.line <= _SHORT)
        super().finish()


class Generic(LineFormat):
    name = "name-value"
    shape = "names and numbers: name=value or name: value"
    frameworks = ("generic",)
    rank = GENERIC
    marks = (
        b"loss",
        b"Loss",
        b"eward",
        b"return",
        b"Return",
        b"entropy",
        b"kl",
        b"KL",
        b"acc",
        b"Acc",
        b"score",
        b"Score",
        b"ppl",
        b"perplexity",
        b"length",
        b"ratio",
    )
    samples: Sequence[Sample] = (
        Sample(
            "completions/mean_length: 256   completions/clipped_ratio: 1   mean_terminated_length: 0\n"
            "reward: 0   reward_std: 0   frac_reward_zero_std: 1   loss: 0   grad_norm: 0\n",
            [{"step": 1, "values": {"completions/mean_length": 256, "reward_std": 0, "grad_norm": 0}}],
            "trl",
        ),
        Sample(
            "step 0  avg_final_rewards: 0.229\nstep 1  avg_final_rewards: 0.337    loss=0.104  grad_norm=0.22\n",
            [
                {"step": 0, "values": {"avg_final_rewards": 0.229}},
                {"step": 1, "values": {"avg_final_rewards": 0.337, "loss": 0.104, "grad_norm": 0.22}},
            ],
            "skyrl",
        ),
        Sample(
            "[2024-01-01 10:00:00] Epoch 2/10, step=300, train_loss=0.4312, acc=91.5%\n"
            "[2024-01-01 10:01:00] Epoch 2/10, step=310, train_loss=nan, acc=91.6%\n",
            [
                {"step": 300, "values": {"train_loss": 0.4312, "acc": 91.5}},
                {"step": 310, "values": {"train_loss": "nan", "acc": 91.6}},
            ],
            "generic",
        ),
        Sample(
            "iter 250: loss 2.1034, time 210.31ms, mfu 12.34%\niter 251: loss 2.0871, time 209.87ms, mfu 12.36%\n",
            [
                {"step": 250, "values": {"loss": 2.1034, "time": 210.31, "mfu": 12.34}},
                {"step": 251, "values": {"loss": 2.0871, "mfu": 12.36}},
            ],
            "generic",
            "nanoGPT",
        ),
    )

    def find(self, text: str) -> Reading | None:
        return find(text)

    def reader(self) -> BlockReader:
        return GenericReader(self.marks)

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str:
        return framework_by_names(names, seen, "generic")


def _accept(found: Found, prefixed: bool) -> bool:
    if found.nested or is_settings(found):
        return False
    keys = [place.key for place in found.places]
    words = sum(1 for key in keys if METRIC_WORD.search(key))
    return bool(keys) and words > 0 and (prefixed or (2 * words >= len(keys) + len(found.texts) and len(keys) > 1))


class AnyDict:
    name = "any-dict"
    shape = "a printed dict of names and numbers"
    frameworks = ("generic",)
    rank = GENERIC
    console = True
    samples: Sequence[Sample] = (
        Sample(
            "{'step': 3, 'mean_return': 12.5, 'success': 0.25}\n",
            [{"step": 3, "values": {"mean_return": 12.5, "success": 0.25}}],
            "generic",
        ),
    )

    def score(self, head: Head) -> Fit:
        return score_lines(head, (b"{'", b'{"'), self.reader, self.shape)

    def reader(self) -> BlockReader:
        steps = ("global_step", "step", "iteration", "iter", "update", "episode", "epoch")
        return DictReader(Accepts(quick=OPEN, accept=_accept, step_keys=steps))

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str:
        return framework_by_names(names, seen, "generic")


FORMATS = (Generic(), AnyDict())
