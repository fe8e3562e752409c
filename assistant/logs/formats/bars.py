"""Progress bars that carry metrics: tqdm's postfix (OpenRLHF, SkyRL) and trlX's description in front of the bar."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from assistant.logs.formats.base import FAMILY, SPECIFIC, BlockReader, Sample
from assistant.logs.formats.frameworks import framework_by_names
from assistant.logs.shapes.lines import VALUE, LineFormat, LinesReader, pairs
from assistant.logs.shapes.rows import Reading, Row

_POSTFIX = re.compile(
    r"(?<![\d./])(\d{1,12})/(\d{1,12}) \[[\d:?]*<?[\d:?]*(?:,\s*[\d.?]+\s?(?:s/\w+|\w+/s))?,\s*(?=[A-Za-z][\w/ .]*=)([^\]]*)\]?"
)
_PAIR = re.compile(rf"(?:^|(?<=[,\s]))(?P<key>[A-Za-z][\w/.]{{0,80}})={VALUE}(?=,|\s|\]|$)")
_BEFORE = re.compile(
    r"\[((?:losses|policy|old_values|values|returns|advantages)/[^\]]{0,2000})\]:\s{1,8}\d+%\|[^|]{0,600}\|\s*(\d{1,12})/(\d{1,12}) \["
)
_COLON = re.compile(rf"(?:^|(?<=[|\[\s]))(?P<key>[A-Za-z][\w/.]{{0,80}}): {VALUE}(?=\s|\]|$)")


class BarReader(LinesReader):
    """A bar is drawn again and again: of the states with one count the last is the record. Counts that start again and
    again (one bar for each rollout) are no steps: then the records are numbered."""

    def __init__(self, marks: Sequence[bytes], format: LineFormat) -> None:
        super().__init__(marks, format.find)
        self._held: tuple[Row, int] | None = None
        self._totals: set[int | None] = set()

    def put(self, row: Row) -> None:
        if self._held:
            held = self._held[0]
            full = row.step == row.total and tuple(held.values) != tuple(row.values)  # a full bar shows one state: this is another one's
            if full or (held.step, held.total, held.layout.keys) != (row.step, row.total, row.layout.keys):
                self._release()
        self._held = row, self.line

    def _release(self) -> None:
        if self._held:
            row, line = self._held
            self.append(row, row.step, False, line)
            self.total_steps = row.total
            self._totals.add(row.total)
            self._held = None

    def finish(self) -> None:
        self._release()
        steps = self.table.steps
        if any(b <= a for a, b in pairwise(steps)):
            self.counted = True
            self.total_steps = None
            for row in range(len(steps)):
                steps[row] = row + 1


class Postfix(LineFormat):
    name = "progress-bar"
    shape = "a progress bar with name=value"
    frameworks = ("openrlhf", "skyrl")
    rank = FAMILY
    marks = (b"/s, ", b"/it, ", b"<")
    samples: Sequence[Sample] = (
        Sample(
            "Train epoch [1/1]: 50%|█████     | 1/2 [00:02<00:02,"
            " pg=-0.0889, rm=0.411, ret=0.0884, glen=104, tlen=264, kl=0, act_lr=1.74e-6]\n",
            [{"step": 1, "values": {"pg": -0.0889, "glen": 104, "kl": 0, "act_lr": 1.74e-6}}],
            "openrlhf",
        ),
        Sample(
            "Policy Train epoch [1/1]: 100%|██████████| 2/2 [00:33<00:00, 16.68s/it,"
            " pg=0, glen=7988.0, policy_lr=8e-6, ent=0.26, grad_norm=0]\n",
            [{"step": 2, "values": {"pg": 0, "glen": 7988.0, "policy_lr": 8e-6, "ent": 0.26}}],
            "skyrl",
        ),
    )

    def find(self, text: str) -> Reading | None:
        bar = None
        for found in _POSTFIX.finditer(text):
            bar = found
        if bar is None:
            return None
        places = pairs(_PAIR, text, bar.start(3), bar.end(3) + 1)
        loose = [(0, bar.start(1)), (bar.end(1), places[0].start)] if places else []
        step = (bar.start(1), bar.end(1))
        return Reading(places, step, int(bar[2]), loose=[(a, b) for a, b in loose if b > a][:1]) if places else None

    def reader(self) -> BlockReader:
        return BarReader(self.marks, self)

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str:
        for name in ("openrlhf", "skyrl"):
            if name in seen:
                return name
        return framework_by_names(names, seen, "generic")


class Trlx(LineFormat):
    name = "trlx"
    shape = "[losses/total_loss: value | …]: a progress bar"
    frameworks = ("trlx",)
    rank = SPECIFIC
    marks = (b"[losses/", b"[policy/", b"[values/")
    fixed = True
    samples: Sequence[Sample] = (
        Sample(
            "[losses/total_loss: 1.64 | losses/policy_loss: 0.12 | losses/value_loss: 7.62]:  16%|████      | 1024/6400 [1:14:23<1:13:02,"
            "  1.23it/s][RANK 0] Collecting rollouts\n",
            [{"step": 1024, "values": {"losses/total_loss": 1.64, "losses/policy_loss": 0.12, "losses/value_loss": 7.62}}],
            "trlx",
        ),
    )

    def find(self, text: str) -> Reading | None:
        bar = None
        for found in _BEFORE.finditer(text):
            bar = found
        if bar is None:
            return None
        return Reading(pairs(_COLON, text, bar.start(1), bar.end(1) + 1), (bar.start(2), bar.end(2)), int(bar[3]))

    def reader(self) -> BlockReader:
        return BarReader(self.marks, self)

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str:
        return "trlx"


FORMATS = (Postfix(), Trlx())
