"""The table that a notebook shows while the Hugging Face trainer runs, pasted as text: ``Step | Training Loss | reward``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from assistant.logs.formats.base import SPECIFIC, BlockReader, Fit, Head, Sample
from assistant.logs.formats.frameworks import framework_by_names
from assistant.logs.shapes.blocks import BlockRows
from assistant.logs.shapes.printed import NUMBER
from assistant.logs.shapes.scoring import score_parts

_FIRST = re.compile(r"^\W{0,4}(?:Step|Epoch|step|epoch|Iteration|iter|global_step)\b")
_NUMBER = re.compile(NUMBER)
_STEP = re.compile(r"\d{1,15}(?:\.0+)?")
_RULE = re.compile(r"^[\s|:\-+]+$")
_TWO_WORDS = re.compile(r"\b(Training|Validation|Train|Eval|Test|Valid|Model|Entropy|Learning) (Loss|loss|Rate|Preparation Time)\b")
_MIN_LETTERS = re.compile(r"[A-Za-z]{2}")


def _cells(text: str, separator: str) -> list[str]:
    if separator == "|":
        return [cell.strip() for cell in re.split(r"\s*\|\s*", text.strip().strip("|").strip())]
    if separator == "\t":
        return [cell.strip() for cell in text.strip("\n\r ").split("\t")]
    return _TWO_WORDS.sub(r"\1_\2", text).split()


class NotebookReader(BlockRows):
    """A header sets the names; rows with as many cells are records until another header comes."""

    fixed = True

    def __init__(self, marks: Sequence[bytes]) -> None:
        super().__init__(marks)
        self._names: list[str] = []
        self._separator = ""
        self._idle = 0

    def piece(self, raw: bytes, last: bool) -> None:
        text = raw.decode("utf-8", "replace")
        if _FIRST.match(text) and self._header(text):
            return
        if not self.busy or _RULE.match(text):
            return
        cells = _cells(text, self._separator)
        if len(cells) != len(self._names) or not _STEP.fullmatch(cells[0]):
            self._idle += 1
            if self._idle > 50:
                self.busy = False
            return
        self._idle = 0
        self.block_step = int(float(cells[0]))
        for name, cell in zip(self._names[1:], cells[1:], strict=True):
            if _NUMBER.fullmatch(cell):
                self.cell(name, cell)
        self.close()

    def _header(self, text: str) -> bool:
        for separator in ("|", "\t", " "):
            if separator == " " and not _TWO_WORDS.search(text):
                continue
            names = [name.replace("_Loss", " Loss") if separator == " " else name for name in _cells(text, separator)]
            if len(names) > 1 and all(_MIN_LETTERS.search(name) for name in names) and not any(_NUMBER.fullmatch(n) for n in names):
                self._names, self._separator, self.busy, self._idle = names, separator, True, 0
                return True
        return False


class Notebook:
    name = "notebook-table"
    shape = "a table with a header Step | Training Loss | …"
    frameworks = ("hf-trainer", "trl", "unsloth")
    rank = SPECIFIC
    console = True
    marks = (b"Step", b"Epoch", b"step", b"epoch", b"Iteration", b"iter", b"global_step")
    samples: Sequence[Sample] = (
        Sample(
            "Step | Training Loss | reward | reward_std | kl\n-- | -- | -- | -- | --\n1 | 0.000000 | -17.250000 | 1.500000 | 0.000000\n"
            "2 | -0.000100 | -10.500000 | 1.732051 | 0.000028\n",
            [
                {"step": 1, "values": {"Training Loss": 0.0, "reward": -17.25, "kl": 0.0}},
                {"step": 2, "values": {"Training Loss": -0.0001, "reward_std": 1.732051, "kl": 0.000028}},
            ],
            "trl",
        ),
        Sample(
            "Step\tTraining Loss\tValidation Loss\n500\t1.234500\tNo log\n1000\t1.100000\t1.213000\n",
            [
                {"step": 500, "values": {"Training Loss": 1.2345}},
                {"step": 1000, "values": {"Training Loss": 1.1, "Validation Loss": 1.213}},
            ],
            "hf-trainer",
        ),
    )

    def score(self, head: Head) -> Fit:
        marks = (
            b"Step |",
            b"Step\t",
            b"Epoch\t",
            b"Epoch |",
            b"Step Training",
            b"Epoch Training",
            b"step |",
            b"step\t",
            b"Step  ",
            b"| Step",
        )
        return score_parts(head, marks, self.reader, self.shape)

    def reader(self) -> BlockReader:
        return NotebookReader(self.marks)

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str:
        return framework_by_names(
            [name.replace("Training Loss", "loss").replace("Validation Loss", "eval_loss") for name in names], seen, "hf-trainer"
        )


FORMATS = (Notebook(),)
